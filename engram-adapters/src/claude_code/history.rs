//! What a transcript says twice: copies of another session's history, and messages that were appended again.

use std::borrow::Cow;
use std::sync::LazyLock;

use engram_core::head::Head;
use memchr::memmem::Finder;

use super::record::{Record, SYNTHETIC};
use super::revisions::Dialect;
use super::schema::{Line, Message};
use crate::shared::seen_set::SeenSet;
use engram_core::keys::{KeyMap, hash64};

use crate::shared::time::millis;
use crate::shared::value::{Value, find_line, is_true, raw_str, text};

/// Two records of one copying run lie at most this far apart, in milliseconds. No model answers that fast.
const COPY_STEP: i64 = 1;

/// What is remembered to tell copies from news.
pub(super) struct History {
    agents_share_the_file: bool,
    messages_return: bool,
    /// While the file begins with records that were copied at one moment.
    restamped: Option<Copies>,
    /// The head shows that copied records reach up to this one, by its `uuid`.
    copied_until: Option<String>,
    /// The last prompt was queued at this time, in this session. Records that are older were not written for it.
    floor: Option<(String, String)>,
    /// A run of records older than the floor is being read.
    copying: bool,
    /// Nothing but copies has been read.
    only_copies: bool,
    /// The session that the copies come from, until it is said.
    origin: Option<String>,
    origin_said: bool,
    /// The root of every sidechain record, by its `uuid`.
    sidechains: KeyMap<usize>,
    roots: Vec<String>,
    /// Blocks and lines that have been said.
    said: SeenSet,
    /// Calls that have been said.
    calls: SeenSet,
    /// Calls whose results have been said.
    results: SeenSet,
    /// The message whose blocks are being written, and those that are over.
    current: Option<u64>,
    over: SeenSet,
}

/// A run of records that were copied at one moment.
#[derive(Default)]
struct Copies {
    /// The time of the last of them, in milliseconds.
    last: Option<i64>,
    /// The first of them is a prompt that is a string.
    prompts_are_strings: bool,
}

impl History {
    /// Looks at the head for signs of a copied history.
    pub fn open(head: &Head<'_>, dialect: Dialect) -> Self {
        let restamped = dialect.copies_are_restamped && begins_with_copies(head);
        History {
            agents_share_the_file: dialect.agents_share_the_file,
            messages_return: dialect.messages_return,
            restamped: restamped.then(Copies::default),
            copied_until: last_foreign_request(head),
            floor: None,
            copying: false,
            only_copies: true,
            origin: None,
            origin_said: false,
            sidechains: KeyMap::default(),
            roots: Vec::new(),
            said: SeenSet::default(),
            calls: SeenSet::default(),
            results: SeenSet::default(),
            current: None,
            over: SeenSet::default(),
        }
    }

    /// True when a record that was copied has named the session that it comes from.
    pub fn has_origin(&self) -> bool {
        self.origin.is_some()
    }

    /// The session that the copies come from, once.
    pub fn take_origin(&mut self) -> Option<String> {
        let origin = self.origin.take()?;
        (!std::mem::replace(&mut self.origin_said, true)).then_some(origin)
    }

    /// The sub-agent whose line this is. Sidechains without an agent id go by the `uuid` of their first record.
    pub fn agent<'a>(&mut self, line: &Line<'a>) -> Option<Cow<'a, str>> {
        match text(line.agent_id()) {
            Some(agent) => Some(agent.decode_lossy()),
            None if is_true(line.is_sidechain()) && self.agents_share_the_file => self.sidechain(line),
            None => None,
        }
    }

    #[inline(never)]
    fn sidechain<'a>(&mut self, line: &Line<'a>) -> Option<Cow<'a, str>> {
        let uuid = text(line.uuid())?.decode_lossy();
        let known = text(line.parent_uuid()).and_then(|parent| self.sidechains.get(&hash64(parent.decode_lossy())).copied());
        let root = known.unwrap_or_else(|| {
            self.roots.push(uuid.clone().into_owned());
            self.roots.len() - 1
        });
        self.sidechains.insert(hash64(&uuid), root);
        self.roots.get(root).map(|root| Cow::Owned(root.clone()))
    }

    /// A prompt was put into the queue: what belongs to it is written from now on.
    pub fn queued(&mut self, time: Option<&str>, session: Option<&str>) {
        if let (Some(time), Some(session)) = (time, session) {
            self.floor = Some((time.to_owned(), session.to_owned()));
        }
    }

    /// True when the record repeats another session's history, as far as the source shows it.
    pub fn is_replay(&mut self, record: &Record<'_>) -> bool {
        let may_be_foreign = record.line.request_session_id().is_some() || self.copied_until.is_some();
        let replay = (self.restamped.is_some() && self.is_restamped(record))
            || (may_be_foreign && self.is_foreign(record))
            || (self.floor.is_some() && self.is_older(record));
        self.only_copies &= replay;
        replay
    }

    /// Up to 2.0.10: the file begins with records that all carry the moment of copying. Where copied prompts are lists of
    /// blocks (1.0.45 and later), the first prompt that is a string is a new one.
    #[inline(never)]
    fn is_restamped(&mut self, record: &Record<'_>) -> bool {
        let Some(copies) = &mut self.restamped else { return false };
        let is_string = record.kind == "user" && text(record.message.content()).is_some();
        let continues = match (record.time.as_deref().and_then(millis), copies.last) {
            (Some(now), None) => {
                *copies = Copies { last: Some(now), prompts_are_strings: is_string };
                true
            }
            (Some(now), Some(last)) => {
                let step = if copies.prompts_are_strings { 0 } else { COPY_STEP };
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

    /// 2.1.329: copied answers name the session that asked for them.
    #[inline(never)]
    fn is_foreign(&mut self, record: &Record<'_>) -> bool {
        let asked_by = text(record.line.request_session_id()).filter(|id| record.session().is_some_and(|session| !id.eq_str(&session)));
        if let Some(origin) = asked_by {
            self.origin.get_or_insert_with(|| origin.decode_lossy().into_owned());
        }
        let Some(until) = &self.copied_until else { return asked_by.is_some() };
        if text(record.line.uuid()).is_some_and(|uuid| uuid.eq_str(until)) {
            self.copied_until = None;
        }
        true
    }

    /// 2.0.30 and later: records that are older than the queued prompt which this file was opened for, or that come from
    /// another session and are older than the prompt queued last.
    #[inline(never)]
    fn is_older(&mut self, record: &Record<'_>) -> bool {
        let (Some((floor, own)), Some(time)) = (&self.floor, record.time.as_deref()) else { return false };
        if time >= floor.as_str() {
            self.floor = None;
            self.copying = false;
            return false;
        }
        let foreign = record.session().filter(|session| session != own);
        if let (Some(session), "user") = (foreign, record.kind) {
            self.copying = true;
            self.origin.get_or_insert_with(|| session.into_owned());
        }
        self.copying |= self.only_copies;
        self.copying
    }

    /// States that blocks of this message follow.
    pub fn message(&mut self, message: Option<u64>) {
        if self.messages_return && self.current != message {
            if let Some(last) = self.current {
                self.over.insert(last);
            }
            self.current = message;
        }
    }

    /// True when the block is news. A message that another one has followed may be appended again.
    pub fn is_new_block(&mut self, content: Value<'_>) -> bool {
        let (true, Some(message)) = (self.messages_return, self.current) else { return true };
        let new = self.said.insert((message, content.raw()));
        new || !self.over.contains(message)
    }

    /// True when this line, which another one wraps, has not been said.
    pub fn is_new_line(&mut self, line: &Line<'_>) -> bool {
        text(line.uuid()).is_none_or(|uuid| self.said.insert(("line", uuid.decode_lossy())))
    }

    /// True when a result of this call has been said.
    pub fn has_result(&self, call: u64) -> bool {
        self.results.contains(call)
    }

    /// True when no result of this call has been said.
    pub fn is_new_result(&mut self, call: u64) -> bool {
        self.results.insert(call)
    }

    /// True when this call has not been said.
    pub fn is_new_call(&mut self, call: u64) -> bool {
        self.calls.insert(call)
    }
}

/// True when the first answer of a model has the time of the record before it.
fn begins_with_copies(head: &Head<'_>) -> bool {
    let mut before = None;
    let answer = find_line(head.lines(), |line| {
        let line = Line::lenient(line);
        let model = Message::lenient(line.message()?).model();
        let time = millis(raw_str(line.timestamp()));
        if raw_str(line.kind()) == "assistant" && raw_str(model) != SYNTHETIC {
            return Some((before, time));
        }
        before = time;
        None
    });
    matches!(answer, Some((Some(before), Some(time))) if (0..=COPY_STEP).contains(&(time - before)))
}

/// Copied answers that say who asked for them begin within so many bytes, for a copy begins with the first prompt.
const COPIES_BEGIN_WITHIN: usize = 256 << 10;

/// The last record of the head whose answer another session asked for. Copies stand before all else: the search ends with the first
/// answer that its own session asked for. Answers of old versions do not say who asked.
fn last_foreign_request(head: &Head<'_>) -> Option<String> {
    static REQUEST_SESSION: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\"requestSessionId\":"));
    // Nearly every head says so nowhere, and its beginning is searched in one go.
    REQUEST_SESSION.find(&head.bytes()[..head.bytes().len().min(COPIES_BEGIN_WITHIN)])?;
    let mut last = None;
    find_line(head.lines().filter(|line| REQUEST_SESSION.find(line.as_bytes()).is_some()), |line| {
        let line = Line::lenient(line);
        let (asked_by, session) = (text(line.request_session_id())?, text(line.session_id())?);
        line.message()?;
        if asked_by.eq_str(&session.decode_lossy()) {
            return Some(());
        }
        last = text(line.uuid()).map(|uuid| uuid.decode_lossy().into_owned());
        None
    });
    last
}
