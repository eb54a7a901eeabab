//! Copies of another session's history, with which resumed and forked sessions begin.

use std::sync::LazyLock;

use engram_core::head::Head;
use memchr::memmem::Finder;

use crate::claude_code::record::{Record, SYNTHETIC_MODEL};
use crate::claude_code::revisions::Dialect;
use crate::claude_code::schema::{Line, Message};
use crate::shared::restorable::Restorable;
use crate::shared::time::millis;
use crate::shared::value::{Value, find_line, is_true, raw_str, text};

/// The longest time between two records that were copied together, in milliseconds. No model answers that fast.
const COPY_STEP_MS: i64 = 1;

/// Distinguishes copied records from new ones.
pub struct ReplayDetector {
    /// While the file begins with records that were copied at one moment.
    restamped: Option<RestampedCopies>,
    /// The `uuid` of the last copied record, if the head shows it.
    copied_until: Option<String>,
    /// The time at which the last prompt was queued, and its session. Older records were not written for it.
    queued_at: Option<(String, String)>,
    /// The records that are being read are older than the queued prompt.
    copying: bool,
    /// The file begins with records that are older than the prompt for which it was created.
    begins_older: bool,
    /// The agent that writes the summary of a compaction has been asked for it: what comes before is the session's history.
    summary_asked: bool,
    /// All records so far are copies.
    only_copies: bool,
    /// The session that the last copies come from, until it is emitted.
    origin: Restorable<Option<String>>,
    origin_taken: Restorable<bool>,
}

/// Records that were copied at one moment and have its time.
#[derive(Default)]
struct RestampedCopies {
    /// The time of the last of them, in milliseconds since the epoch.
    last: Option<i64>,
    /// The first of them is a prompt that is a string, not a list of blocks.
    prompts_are_strings: bool,
    /// The `uuid` of the last answer that has no request id, if the head shows it.
    until: Option<String>,
}

impl ReplayDetector {
    /// Looks for copied history in the head.
    pub fn new(head: &Head<'_>, dialect: Dialect) -> Self {
        let is_restamped = dialect.copies_are_restamped && begins_with_copies(head);
        ReplayDetector {
            restamped: is_restamped.then(|| RestampedCopies { until: last_answer_without_request(head), ..RestampedCopies::default() }),
            copied_until: last_foreign_request(head),
            queued_at: None,
            copying: false,
            begins_older: begins_older(head),
            summary_asked: false,
            only_copies: true,
            origin: Restorable::default(),
            origin_taken: Restorable::default(),
        }
    }

    /// True if a copied record has named the session that it comes from, and it was not taken yet.
    pub fn has_origin(&self) -> bool {
        self.origin.is_some()
    }

    /// The session that the copies come from. Given once.
    pub fn take_origin(&mut self) -> Option<String> {
        let origin = (*self.origin).clone()?;
        self.origin.set(None);
        let is_first = !*self.origin_taken;
        self.origin_taken.set(true);
        is_first.then_some(origin)
    }

    /// The record is converted: what was taken stays taken.
    pub(super) fn commit(&mut self) {
        self.origin.commit();
        self.origin_taken.commit();
    }

    /// The record is malformed: what it took can be taken again.
    pub(super) fn roll_back(&mut self) {
        self.origin.roll_back();
        self.origin_taken.roll_back();
    }

    fn set_origin(&mut self, session: &str) {
        // A copy of a copy has records of several sessions: the last one is the one that was forked.
        if self.origin.as_deref() != Some(session) {
            self.origin.set(Some(session.to_owned()));
        }
    }

    /// A prompt was queued at this time. Records that belong to it are not older.
    pub fn set_queued_at(&mut self, time: Option<&str>, session: Option<&str>) {
        if let (Some(time), Some(session)) = (time, session) {
            self.queued_at = Some((time.to_owned(), session.to_owned()));
        }
    }

    /// True if the log shows that the record is a copy of another session's history.
    pub fn is_replay(&mut self, record: &Record<'_>, dialect: Dialect) -> bool {
        if record.agent.as_deref().is_some_and(|agent| agent.starts_with(COMPACTING_AGENT)) {
            return self.is_before_summary(record);
        }
        let may_be_foreign = record.line.request_session_id().is_some() || self.copied_until.is_some();
        let replay = (self.restamped.is_some() && self.is_restamped(record, dialect))
            || (may_be_foreign && self.is_foreign(record))
            || (self.queued_at.is_some() && self.is_older(record));
        self.only_copies &= replay;
        replay
    }

    /// 2.1.90: a sub-agent writes the summary of a compaction. Its file begins with the history, under the same ids.
    #[cold]
    fn is_before_summary(&mut self, record: &Record<'_>) -> bool {
        let asked = text(record.message.content()).is_some_and(|content| SUMMARY_REQUESTS.iter().any(|text| content.starts_with(text)));
        self.summary_asked |= record.kind == "user" && asked;
        !self.summary_asked
    }

    /// Up to 2.0.29: the file begins with records that all have the time of copying. If copied prompts are lists of blocks
    /// (1.0.45 and later), the first prompt that is a string is new.
    #[inline(never)]
    fn is_restamped(&mut self, record: &Record<'_>, dialect: Dialect) -> bool {
        if !dialect.copies_are_restamped {
            // A newer version has resumed the session.
            self.restamped = None;
        }
        let Some(copies) = &mut self.restamped else { return false };
        // Warm-up lines of sub-agents may come before the copies (2.0.20).
        if copies.last.is_none() && is_true(record.line.is_sidechain()) {
            return false;
        }
        let is_string = record.kind == "user" && text(record.message.content()).is_some();
        if let Some(until) = &copies.until
            && copies.last.is_some()
        {
            if text(record.line.uuid()).is_some_and(|uuid| uuid.eq_str(until)) {
                copies.until = None;
            }
            copies.last = record.time.as_deref().and_then(millis).or(copies.last);
            return true;
        }
        let continues = match (record.time.as_deref().and_then(millis), copies.last) {
            (Some(now), None) => {
                (copies.last, copies.prompts_are_strings) = (Some(now), is_string);
                true
            }
            (Some(now), Some(last)) => {
                // An answer or a result that comes as fast as that is a copy. A prompt may be new.
                let step = if copies.prompts_are_strings && is_string { 0 } else { COPY_STEP_MS };
                copies.last = Some(now);
                (0..=step).contains(&(now - last)) && (copies.prompts_are_strings || !is_string)
            }
            (None, _) => false,
        };
        if !continues {
            self.restamped = None;
        }
        continues
    }

    /// 2.1.329: copied answers name the session that requested them.
    #[inline(never)]
    fn is_foreign(&mut self, record: &Record<'_>) -> bool {
        let requested_by =
            text(record.line.request_session_id()).filter(|id| record.session_id().is_some_and(|session| !id.eq_str(&session)));
        if let Some(origin) = requested_by {
            self.set_origin(&origin.decode_lossy());
        }
        let Some(until) = &self.copied_until else { return requested_by.is_some() };
        if text(record.line.uuid()).is_some_and(|uuid| uuid.eq_str(until)) {
            self.copied_until = None;
        }
        true
    }

    /// 2.0.30 and later: records older than the queued prompt for which the file was created, and records of another session
    /// that are older than the last queued prompt.
    #[inline(never)]
    fn is_older(&mut self, record: &Record<'_>) -> bool {
        let (Some((queued_at, own_session)), Some(time)) = (&self.queued_at, record.time.as_deref()) else { return false };
        if time >= queued_at.as_str() {
            self.queued_at = None;
            self.copying = false;
            return false;
        }
        // The first line of a conversation is older than the prompt only if it is a copy. Hooks run before the prompt.
        let is_first =
            record.line.parent_uuid().is_none() && (record.kind == "user" || raw_str(record.line.subtype()) == "compact_boundary");
        let foreign = record.session_id().filter(|session| session != own_session);
        if let (Some(session), "user") = (foreign, record.kind) {
            self.copying = true;
            self.set_origin(&session);
        }
        self.copying |= is_first || (self.only_copies && self.begins_older);
        self.copying
    }
}

/// The `uuid` of the last copied answer in the head: copies have no request id, and copied prompts are lists of blocks (1.0.45 to 2.0.29).
fn last_answer_without_request(head: &Head<'_>) -> Option<String> {
    let mut last = None;
    let mut has_prompt = false;
    find_line(head.lines(), |line| {
        let line = Line::lenient(line);
        let message = Message::lenient(line.message()?);
        match raw_str(line.kind()) {
            "user" if message.content().is_some_and(Value::is_array) => has_prompt = true,
            "user" => return Some(()),
            "assistant" if line.request_id().is_some() || !has_prompt => return Some(()),
            "assistant" => last = text(line.uuid()).map(|uuid| uuid.decode_lossy().into_owned()),
            _ => {}
        }
        None
    });
    last
}

/// The id of the sub-agent that writes the summary of a compaction begins with this.
pub const COMPACTING_AGENT: &str = "acompact";

/// How that sub-agent is asked for the summary.
const SUMMARY_REQUESTS: &[&str] = &["CRITICAL: Respond with TEXT ONLY", "Your task is to create a detailed summary"];

/// True if the first prompt or answer is older than the prompt that was queued before it.
fn begins_older(head: &Head<'_>) -> bool {
    let mut queued_at: Option<String> = None;
    let is_older = find_line(head.lines(), |line| {
        let line = Line::lenient(line);
        let time = raw_str(line.timestamp());
        match raw_str(line.kind()) {
            "queue-operation" => queued_at = Some(time.to_owned()),
            "user" | "assistant" => return Some(queued_at.as_deref().is_some_and(|queued_at| time < queued_at)),
            _ => {}
        }
        None
    });
    is_older == Some(true)
}

/// True if the first answer of the model has the same time as the record before it.
fn begins_with_copies(head: &Head<'_>) -> bool {
    let mut before = None;
    let answer = find_line(head.lines(), |line| {
        let line = Line::lenient(line);
        let model = Message::lenient(line.message()?).model();
        let time = millis(raw_str(line.timestamp()));
        if is_true(line.is_sidechain()) {
            return None;
        }
        if raw_str(line.kind()) == "assistant" && raw_str(model) != SYNTHETIC_MODEL {
            return Some((before, time));
        }
        before = time;
        None
    });
    matches!(answer, Some((Some(before), Some(time))) if (0..=COPY_STEP_MS).contains(&(time - before)))
}

/// Copied answers that name their session begin within this many bytes, because a copy begins with the first prompt.
const COPIES_BEGIN_WITHIN: usize = 256 << 10;

/// The `uuid` of the last answer in the head that another session requested. Copies come first, so the search ends with the first
/// answer that its own session requested. Answers of old versions do not name the requesting session.
fn last_foreign_request(head: &Head<'_>) -> Option<String> {
    static REQUEST_SESSION: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\"requestSessionId\""));
    // Hardly any head has the field: one search of its beginning spares reading the lines.
    REQUEST_SESSION.find(&head.bytes()[..head.bytes().len().min(COPIES_BEGIN_WITHIN)])?;
    let mut last = None;
    find_line(head.lines().filter(|line| REQUEST_SESSION.find(line.as_bytes()).is_some()), |line| {
        let line = Line::lenient(line);
        let (requested_by, session) = (text(line.request_session_id())?, text(line.session_id())?);
        line.message()?;
        if requested_by.eq_str(&session.decode_lossy()) {
            return Some(());
        }
        last = text(line.uuid()).map(|uuid| uuid.decode_lossy().into_owned());
        None
    });
    last
}
