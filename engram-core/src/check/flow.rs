//! Checks of all lines together: order, times, parents, counts and claims.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hasher, RandomState};

use super::finding::Finding;
use super::line::Checked;
use super::rule::Rule;
use crate::emit::NO_TIME;
use crate::event::{Kind, SPANS_TEXT};
use crate::hash::Hash;
use crate::ledger::{Ledger, Omitted};
use crate::members::{DEGRADED_BY_MEMBERS, MAX_UNKNOWN_MEMBERS, UnknownMembers};
use crate::tape::object::{Object, Value};
use crate::version::Support;

/// The state of the tape up to the current line.
#[derive(Debug, Default)]
pub(super) struct Flow {
    next_seq: u64,
    counts: [u64; 8],
    /// True if some event had a known time.
    has_time: bool,
    family: Option<String>,
    strict: bool,
    /// True if `tape.start` names the rules of a redaction.
    redacted: bool,
    /// True if reads and edits have their texts, as `tape.start` says.
    has_span_text: bool,
    claims_none: [bool; 8],
    /// The `seq` of each `tool.call` so far, and the hash of its `call_id`.
    calls: HashMap<u64, Option<u64>>,
    /// The hash of each `call_id` so far, with its session: a capture may have several.
    call_ids: HashSet<u64>,
    /// The same of each call that was denied, until its result.
    denied: HashSet<u64>,
    hasher: RandomState,
    stopped: bool,
}

impl Flow {
    /// Checks the next event.
    pub fn event(&mut self, event: &Checked<'_, '_>, found: &mut Vec<Finding>) {
        let members = event.members;
        self.order(event, found);
        self.time(event, found);
        self.claim(event, found);
        self.parent(event, found);
        origin(event, found);
        match event.kind {
            Kind::MsgIn => content(members, &["text", "attachments"], found),
            Kind::MsgOut => message_out(members, found),
            Kind::CodeRead => {
                read_span(members, found);
                self.span_text(members, ("hash", "text"), found);
            }
            Kind::CodeEdit => {
                edit_spans(members, found);
                self.span_text(members, ("before_hash", "before_text"), found);
                self.span_text(members, ("after_hash", "after_text"), found);
            }
            Kind::ToolResult => self.result(event, found),
            Kind::Meta if event.label == Some("permission") => self.permission(event),
            Kind::Meta if event.label == Some("unrecognized") => self.unrecognized(members, found),
            Kind::Meta if event.label == Some("tape.stop") => self.stop(members, found),
            _ => {}
        }
    }

    /// Checks that the tape is complete.
    pub fn end(&self, found: &mut Vec<Finding>) {
        if self.counts == [0; 8] {
            found.push(Finding::new(Rule::Start, "the tape has no events"));
        }
        if !self.stopped {
            found.push(Finding::new(
                Rule::Stop,
                "the tape does not end with `tape.stop`",
            ));
        }
    }

    fn order(&mut self, event: &Checked<'_, '_>, found: &mut Vec<Finding>) {
        let is_start = event.label == Some("tape.start");
        if is_start != (self.counts == [0; 8]) {
            let what = if is_start {
                "a second `tape.start`"
            } else {
                "the first event is not `tape.start`"
            };
            found.push(Finding::new(Rule::Start, what));
        }
        if self.stopped {
            found.push(Finding::new(Rule::Stop, "an event after `tape.stop`"));
        }
        self.stopped |= event.label == Some("tape.stop");
        if let Some(seq) = event.members.count("seq") {
            if seq != self.next_seq {
                found.push(Finding::new(
                    Rule::Seq,
                    format!("{seq} instead of {}", self.next_seq),
                ));
            }
            self.next_seq = seq.saturating_add(1);
        }
        self.counts[event.kind as usize] += 1;
        let harness = event
            .members
            .object("source")
            .and_then(|source| source.word("harness"));
        if is_start {
            self.start(event.members);
        }
        if harness != self.family.as_deref() {
            found.push(Finding::quoting(
                Rule::Source,
                "source.harness",
                harness.unwrap_or("absent"),
            ));
        }
    }

    fn start(&mut self, members: Object<'_, '_>) {
        self.family = members
            .object("harness")
            .and_then(|harness| harness.word("family").map(str::to_owned));
        self.strict = members.word("policy") == Some("strict");
        self.redacted = members.get("redaction").is_some();
        self.has_span_text = members.word("spans") == Some(SPANS_TEXT);
    }

    fn time(&mut self, event: &Checked<'_, '_>, found: &mut Vec<Finding>) {
        let (t, basis) = (event.members.word("t"), event.members.word("t_basis"));
        match basis {
            Some("absent") if t != Some(NO_TIME) => found.push(Finding::quoting(
                Rule::TimeBasis,
                "the absent time",
                t.unwrap_or("absent"),
            )),
            Some("absent") if self.has_time => found.push(Finding::new(
                Rule::TimeBasis,
                "absent, but an earlier event has a time",
            )),
            Some("absent") => {}
            None if has_no_record(event) => found.push(Finding::new(
                Rule::TimeBasis,
                "an event without a record has a time that is not inherited",
            )),
            // An inherited time may come from a record without events.
            _ => self.has_time = true,
        }
    }

    /// Checks the claims of `tape.start` and `revision`, and later events against them.
    fn claim(&mut self, event: &Checked<'_, '_>, found: &mut Vec<Finding>) {
        if !matches!(event.label, Some("tape.start" | "revision")) {
            let is_claimed = !matches!(event.label, Some("tape.stop" | "unrecognized"));
            if self.claims_none[event.kind as usize] && is_claimed {
                found.push(Finding::quoting(
                    Rule::Coverage,
                    "an event of a kind claimed as none",
                    event.kind.as_str(),
                ));
            }
            return;
        }
        let coverage = event.members.object("coverage").unwrap_or_default();
        self.claims_none = Kind::ALL.map(|kind| coverage.word(kind.as_str()) == Some("none"));
        let reasons: Vec<String> = event
            .members
            .get("degraded")
            .and_then(|list| serde_json::from_str(list.raw()).ok())
            .unwrap_or_default();
        let degraded = !reasons.is_empty();
        // Unknown members lower the claims of some kinds only.
        let lowers_all = reasons.iter().any(|reason| reason != DEGRADED_BY_MEMBERS);
        let claims_full = Kind::ALL
            .iter()
            .any(|kind| coverage.word(kind.as_str()) == Some("full"));
        let required = event
            .members
            .word("support")
            .and_then(Support::named)
            .and_then(Support::degradation);
        if lowers_all && claims_full {
            found.push(Finding::new(
                Rule::Coverage,
                "degraded, but a kind is claimed as full",
            ));
        }
        if let Some(reason) = required.filter(|reason| !reasons.iter().any(|given| given == reason))
        {
            found.push(Finding::new(
                Rule::Coverage,
                format!("the support level requires `{reason}` in `degraded`"),
            ));
        }
        if self.strict && degraded {
            found.push(Finding::new(Rule::Policy, "degraded under strict policy"));
        }
    }

    fn parent(&mut self, event: &Checked<'_, '_>, found: &mut Vec<Finding>) {
        let (seq, call_id) = (
            event.members.count("seq"),
            event.members.get("call_id").map(|id| self.hash_of(id)),
        );
        let in_session = call_id.map(|id| self.hash_in_session(event, id));
        let parent = event
            .members
            .get("parent")
            .and(event.members.count("parent"));
        if event
            .members
            .count("to")
            .is_some_and(|to| to >= event.members.count("seq").unwrap_or_default())
        {
            found.push(Finding::new(Rule::Parent, "`to` is not an earlier event"));
        }
        let carries_id = matches!(
            event.kind,
            Kind::ToolResult | Kind::CodeRead | Kind::CodeEdit
        );
        match parent.map(|parent| (parent, self.calls.get(&parent))) {
            Some((parent, None)) => found.push(Finding::new(
                Rule::Parent,
                format!("{parent} is not an earlier tool.call"),
            )),
            Some((parent, Some(called)))
                if carries_id && call_id.is_some() && *called != call_id =>
            {
                found.push(Finding::new(
                    Rule::Parent,
                    format!("{parent} is a call with another call_id"),
                ));
            }
            None if carries_id && in_session.is_some_and(|id| self.call_ids.contains(&id)) => {
                found.push(Finding::new(
                    Rule::MissingParent,
                    "the tape has its tool.call",
                ));
            }
            _ => {}
        }
        if event.kind == Kind::ToolCall
            && let Some(seq) = seq
        {
            self.calls.insert(seq, call_id);
            self.call_ids.extend(in_session);
        }
    }

    fn permission(&mut self, event: &Checked<'_, '_>) {
        if event.members.word("decision") == Some("deny") {
            self.denied.extend(self.call_in_session(event));
        }
    }

    fn result(&mut self, event: &Checked<'_, '_>, found: &mut Vec<Finding>) {
        let Some(call) = self.call_in_session(event) else {
            return;
        };
        let is_denied = event.members.word("status") == Some("denied");
        if !self.denied.remove(&call) && is_denied {
            found.push(Finding::new(
                Rule::Denied,
                "no permission that was denied before it",
            ));
        }
    }

    /// The hash of the `call_id` of an event, with its session.
    fn call_in_session(&self, event: &Checked<'_, '_>) -> Option<u64> {
        let call_id = self.hash_of(event.members.get("call_id")?);
        Some(self.hash_in_session(event, call_id))
    }

    /// The hash of a `call_id`. Canonical strings are equal if their tokens are.
    fn hash_of(&self, value: Value<'_, '_>) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(value.raw().as_bytes());
        hasher.finish()
    }

    /// The hash of a call with the session of an event.
    fn hash_in_session(&self, event: &Checked<'_, '_>, call_id: u64) -> u64 {
        let source = event.members.object("source").unwrap_or_default();
        let mut hasher = self.hasher.build_hasher();
        hasher.write(source.word("session_id").unwrap_or_default().as_bytes());
        hasher.write_u64(call_id);
        hasher.finish()
    }

    /// Checks that a span has its text if the tape has such texts, and that the hash is that of the text.
    fn span_text(
        &self,
        members: Object<'_, '_>,
        (hash, text): (&str, &str),
        found: &mut Vec<Finding>,
    ) {
        let fault = match (members.word(hash), members.text(text)) {
            (_, Some(_)) if !self.has_span_text => {
                format!("`{text}` without `spans` in `tape.start`")
            }
            (None, Some(_)) => format!("`{text}` without `{hash}`"),
            (Some(_), None) if self.has_span_text => format!("`{hash}` without `{text}`"),
            (Some(stated), Some(covered))
                if covered.decode().map_or(true, |covered| {
                    Hash::of_text(&covered).to_string() != stated
                }) =>
            {
                format!("`{hash}` is not the hash of `{text}`")
            }
            _ => return,
        };
        found.push(Finding::new(Rule::SpanText, fault));
    }

    fn unrecognized(&self, members: Object<'_, '_>, found: &mut Vec<Finding>) {
        if self.strict {
            found.push(Finding::new(
                Rule::Policy,
                "an unrecognized record under strict policy",
            ));
        }
        let (bytes, hash) = (
            members.get("bytes").is_some(),
            members.get("hash").is_some(),
        );
        if members.get("raw").is_some() == (bytes && hash) || bytes != hash {
            found.push(Finding::new(
                Rule::Content,
                "needs either `raw`, or `bytes` and `hash`",
            ));
        }
    }

    fn stop(&self, members: Object<'_, '_>, found: &mut Vec<Finding>) {
        let counts = members.object("counts").unwrap_or_default();
        for kind in Kind::ALL {
            let (stated, counted) = (counts.count(kind.as_str()), self.counts[kind as usize]);
            if stated.is_some_and(|stated| stated != counted) {
                found.push(Finding::new(
                    Rule::Counts,
                    format!("{} is not {counted}", kind.as_str()),
                ));
            }
        }
        if let Some(ledger) = members.object("ledger").and_then(read_ledger) {
            check_ledger(&ledger, self.strict, found);
            check_redactions(&ledger, self.redacted, found);
        }
        if self.strict
            && members
                .get("complete")
                .is_some_and(|complete| complete.raw() == "false")
        {
            found.push(Finding::new(Rule::Policy, "incomplete under strict policy"));
        }
    }
}

/// True for events that no record gave. Their time is inherited or absent.
fn has_no_record(event: &Checked<'_, '_>) -> bool {
    matches!(event.label, Some("tape.start" | "tape.stop"))
}

fn origin(event: &Checked<'_, '_>, found: &mut Vec<Finding>) {
    let Some(origin) = event.members.object("origin") else {
        return;
    };
    if has_no_record(event) {
        found.push(Finding::new(
            Rule::Origin,
            "an event without a record has an origin",
        ));
    }
    if origin.count("line") == Some(0) {
        found.push(Finding::new(Rule::Origin, "line 0"));
    }
    if origin.count("part") == Some(0) {
        found.push(Finding::new(Rule::Origin, "part 0 must be left out"));
    }
    if origin.get("part").is_some() && origin.get("line").is_none() {
        found.push(Finding::new(Rule::Origin, "a part without a line"));
    }
}

fn message_out(members: Object<'_, '_>, found: &mut Vec<Finding>) {
    content(members, &["text", "redacted"], found);
    if members.get("redacted").is_some() && members.get("text").is_some() {
        found.push(Finding::new(Rule::Redacted, "a redacted message has text"));
    }
}

fn content(members: Object<'_, '_>, any_of: &[&str], found: &mut Vec<Finding>) {
    if any_of.iter().all(|key| members.get(key).is_none()) {
        found.push(Finding::new(
            Rule::Content,
            format!("needs one of {}", any_of.join(", ")),
        ));
    }
}

fn read_span(members: Object<'_, '_>, found: &mut Vec<Finding>) {
    let has = |key| members.get(key).is_some();
    if has("hash") && !has("range") {
        found.push(Finding::new(Rule::Span, "`hash` without `range`"));
    }
    if has("anchor_hashes") && !has("hash") {
        found.push(Finding::new(Rule::Span, "`anchor_hashes` without `hash`"));
    }
}

fn edit_spans(members: Object<'_, '_>, found: &mut Vec<Finding>) {
    let has = |key| members.get(key).is_some();
    let snippet = has("basis");
    let sides = [
        ("before_range", "before_hash", "before_anchor_hashes"),
        ("after_range", "after_hash", "after_anchor_hashes"),
    ];
    for (range, hash, anchors) in sides {
        if snippet && has(range) {
            found.push(Finding::new(
                Rule::Span,
                format!("a snippet with `{range}`"),
            ));
        }
        if has(hash) && !has(range) && !snippet {
            found.push(Finding::new(
                Rule::Span,
                format!("`{hash}` without `{range}`, but not a snippet"),
            ));
        }
        if has(anchors) && !has(hash) {
            found.push(Finding::new(
                Rule::Span,
                format!("`{anchors}` without `{hash}`"),
            ));
        }
    }
    if snippet && !has("before_hash") && !has("after_hash") {
        found.push(Finding::new(Rule::Span, "a snippet without a hash"));
    }
}

fn read_ledger(ledger: Object<'_, '_>) -> Option<Ledger> {
    let rows = ledger.get("omitted")?.items()?;
    let omitted = rows.map(read_omitted).collect::<Option<Vec<_>>>()?;
    Some(Ledger {
        records: ledger.count("records")?,
        mapped: ledger.count("mapped")?,
        duplicate: ledger.count("duplicate")?,
        bookkeeping: ledger.count("bookkeeping")?,
        unrecognized: ledger.count("unrecognized")?,
        malformed: ledger.count("malformed")?,
        omitted,
        unknown: read_unknown(ledger)?,
        redactions: match ledger.get("redactions") {
            Some(list) => serde_json::from_str(list.raw()).ok()?,
            None => Vec::new(),
        },
    })
}

fn read_unknown(ledger: Object<'_, '_>) -> Option<UnknownMembers> {
    let listed = ledger
        .get("unknown_members")
        .map(|list| serde_json::from_str(list.raw()).ok());
    let more = ledger
        .get("unknown_members_more")
        .map(|_| ledger.count("unknown_members_more"));
    Some(UnknownMembers {
        listed: listed.unwrap_or(Some(Vec::new()))?,
        more: more.unwrap_or(Some(0))?,
    })
}

fn read_omitted(row: Value<'_, '_>) -> Option<Omitted> {
    let row = row.object()?;
    let (record, rule) = (
        row.text("type")?.decode_lossy().into_owned(),
        row.text("rule")?.decode_lossy().into_owned(),
    );
    Some(Omitted {
        record: record.into(),
        rule: rule.into(),
        count: row.count("count")?,
    })
}

fn check_redactions(ledger: &Ledger, redacted: bool, found: &mut Vec<Finding>) {
    let redactions = &ledger.redactions;
    if !redacted && !redactions.is_empty() {
        found.push(Finding::new(
            Rule::Ledger,
            "`redactions` of a tape that is not redacted",
        ));
    }
    if !redactions.is_sorted_by(|row, next| row.rule < next.rule)
        || redactions.iter().any(|row| row.count == 0)
    {
        found.push(Finding::new(
            Rule::Ledger,
            "`redactions` is not sorted by rule, repeats one, or has a row with count 0",
        ));
    }
}

fn check_ledger(ledger: &Ledger, strict: bool, found: &mut Vec<Finding>) {
    if !ledger.balances() {
        found.push(Finding::new(Rule::Ledger, "the sums are wrong"));
    }
    if !ledger
        .omitted
        .is_sorted_by(|row, next| (&row.record, &row.rule) < (&next.record, &next.rule))
    {
        found.push(Finding::new(
            Rule::Ledger,
            "`omitted` is not sorted by type, then rule, or repeats a row",
        ));
    }
    if ledger.omitted.iter().any(|row| row.count == 0) {
        found.push(Finding::new(
            Rule::Ledger,
            "`omitted` has a row with count 0",
        ));
    }
    if ledger.unknown.listed.len() > MAX_UNKNOWN_MEMBERS
        || ledger.unknown.listed.iter().any(|member| member.count == 0)
    {
        found.push(Finding::new(
            Rule::Ledger,
            "`unknown_members` has more than 64 rows, or a row with count 0",
        ));
    }
    if strict && !ledger.unknown.is_empty() {
        found.push(Finding::new(
            Rule::Policy,
            "unknown members under strict policy",
        ));
    }
    if strict && (ledger.unrecognized > 0 || ledger.malformed > 0) {
        found.push(Finding::new(
            Rule::Policy,
            "unrecognized or malformed records under strict policy",
        ));
    }
}
