//! Tier 2: every event conforms to the format, is in its right place, and comes from the source.

use std::collections::BTreeSet;

use engram_core::check::Rule;
use engram_core::event::Kind;
use engram_core::tool_kind::ToolKind;

use crate::case::Case;
use crate::converted_session::ConvertedSession;
use crate::outcome::Findings;
use crate::subject::Subject;
use crate::tape::Event;

/// The most violations of one tape that a check reports.
const MAX_VIOLATIONS: usize = 5;

/// The rules of the tape format, by the check that reports them. Every rule is listed once.
pub const RULES: &[(&str, &[Rule])] = &[
    (
        "tape.canonical",
        &[
            Rule::Utf8,
            Rule::Bom,
            Rule::BlankLine,
            Rule::LineEnd,
            Rule::Json,
            Rule::Canonical,
            Rule::KeyOrder,
            Rule::Empty,
        ],
    ),
    (
        "tape.envelope",
        &[
            Rule::UnknownKey,
            Rule::MissingKey,
            Rule::Shape,
            Rule::Word,
            Rule::Hash,
            Rule::Anchors,
            Rule::Range,
            Rule::Origin,
            Rule::Pointer,
            Rule::Span,
            Rule::SpanText,
            Rule::Redacted,
            Rule::Content,
        ],
    ),
    ("tape.kinds", &[Rule::Kind]),
    ("tape.seq", &[Rule::Seq]),
    ("tape.source", &[Rule::Source]),
    ("tape.bracket", &[Rule::Start, Rule::Stop, Rule::Counts]),
    ("tape.parent", &[Rule::Parent, Rule::MissingParent]),
    ("permission.denied", &[Rule::Denied]),
    ("tape.ledger", &[Rule::Ledger]),
    ("tape.time", &[Rule::Time, Rule::TimeBasis]),
    ("tape.policy", &[Rule::Policy]),
    ("claim.none", &[Rule::Coverage]),
];

/// Reports the violations of a check's rules.
fn rules(case: &Case<'_>, findings: &mut Findings, id: &str) {
    let rules: Vec<Rule> = RULES
        .iter()
        .filter(|(check, _)| *check == id)
        .flat_map(|(_, rules)| rules.iter().copied())
        .collect();
    for session in &case.sessions {
        findings.count("tapes");
        for violation in session
            .violations()
            .iter()
            .filter(|violation| rules.contains(&violation.rule))
            .take(MAX_VIOLATIONS)
        {
            findings.fail(
                case.place(session),
                format!(
                    "line {} of the tape: {}: {}",
                    violation.line, violation.rule, violation.what
                ),
            );
        }
    }
}

macro_rules! of_rules {
    ($($name:ident = $id:literal),+ $(,)?) => {$(
        #[doc = concat!("Reports violations of the format rules of `", $id, "`.")]
        pub fn $name(case: &Case<'_>, findings: &mut Findings) {
            rules(case, findings, $id);
        }
    )+};
}
of_rules! {
    canonical = "tape.canonical",
    envelope = "tape.envelope",
    kinds = "tape.kinds",
    seq = "tape.seq",
    source = "tape.source",
    bracket = "tape.bracket",
    denied = "permission.denied",
    ledger = "tape.ledger",
    time = "tape.time",
    policy = "tape.policy",
    unclaimed = "claim.none",
}

/// Events name their call as parent, and come after it.
pub fn parent(case: &Case<'_>, findings: &mut Findings) {
    rules(case, findings, "tape.parent");
    for session in &case.sessions {
        let mut called: BTreeSet<&str> = BTreeSet::new();
        let calls: BTreeSet<&str> = ids(session, Kind::ToolCall).collect();
        for event in &session.events {
            let Some(id) = event.text("call_id") else {
                continue;
            };
            match event.kind() {
                Some(Kind::ToolCall) => drop(called.insert(id)),
                Some(Kind::ToolResult | Kind::CodeRead | Kind::CodeEdit)
                    if calls.contains(id) && !called.contains(id) =>
                {
                    // A harness that logs a call only when it ends may log the result first.
                    match (event.line(), session.call_of(event).and_then(Event::line)) {
                        (Some(result), Some(call)) if result < call => {
                            findings.note("results that precede their call in the source")
                        }
                        _ => findings.fail(
                            case.place_of(session, event),
                            format!("comes before its call {id}"),
                        ),
                    }
                }
                _ => {}
            }
        }
    }
}

fn ids(session: &ConvertedSession, kind: Kind) -> impl Iterator<Item = &str> {
    session
        .events
        .iter()
        .filter(move |event| event.is(kind))
        .filter_map(|event| event.text("call_id"))
}

/// The source contains every time that has no other basis, to the second.
pub fn recorded_time(case: &Case<'_>, findings: &mut Findings) {
    for session in &case.sessions {
        let times = super::clock::times_in(session.source());
        for event in session.events.iter().filter(|event| !event.has("t_basis")) {
            let t = event.text("t").unwrap_or_default();
            if t.get(..19).is_some_and(|second| times.contains(second)) {
                findings.count("times");
            } else {
                findings.fail(
                    case.place_of(session, event),
                    format!("t is {t}, but the source does not contain this time"),
                );
            }
        }
    }
}

/// Events are in the order of their source lines. Exceptions name the line of their own record: usage comes when its message ends, a rewind
/// before the prompt that the log has before it, a prompt where it was delivered, a title when the line that it names comes, a result after a call that was written later, and facts
/// that only the end of the session decides come last.
pub fn order(case: &Case<'_>, findings: &mut Findings) {
    for session in &case.sessions {
        let mut last = 0;
        let mut late: Option<&Event> = None;
        let is_placed = |event: &&Event| {
            !["tape.stop", "usage", "rewind"]
                .iter()
                .any(|label| event.is_meta(label))
        };
        for event in session.events.iter().filter(is_placed) {
            let Some(line) = event.line() else { continue };
            findings.count("events");
            if line >= last {
                if let Some(early) = late.take() {
                    findings.fail(
                        case.place_of(session, early),
                        format!("comes after line {last}, but line {line} follows"),
                    );
                }
                last = line;
            } else if !may_be_late(session, event, line) {
                late = late.or(Some(event));
            }
        }
    }
}

/// True for a prompt, a title, and the events of a line with a result whose call is on a later line.
fn may_be_late(session: &ConvertedSession, event: &Event, line: u64) -> bool {
    let follows_its_call = |result: &&Event| {
        session
            .call_of(result)
            .and_then(Event::line)
            .is_some_and(|call| call > line)
    };
    event.is(Kind::MsgIn)
        || (event.is_meta("session") && event.has("title"))
        || session
            .events
            .iter()
            .filter(|other| other.is(Kind::ToolResult) && other.line() == Some(line))
            .any(|result| follows_its_call(&result))
}

/// No record of a supported version is unrecognized.
pub fn known(case: &Case<'_>, findings: &mut Findings) {
    for session in &case.sessions {
        let ledger = session
            .events
            .last()
            .and_then(|stop| stop.0.get("ledger"))
            .cloned()
            .unwrap_or_default();
        findings.count_many("records", ledger["records"].as_u64().unwrap_or_default());
        for event in session
            .events
            .iter()
            .filter(|event| event.is_meta("unrecognized"))
        {
            findings.fail(
                case.place_of(session, event),
                format!("unrecognized: {}", event.text("name").unwrap_or("a record")),
            );
        }
    }
}

/// True for a call of a tool that does not exist: the ground truth has the call, and its result is an error.
fn is_nonexistent_tool(case: &Case<'_>, session: &ConvertedSession, call: &Event) -> bool {
    let was_called = call
        .text("call_id")
        .is_some_and(|id| case.call(id).is_some());
    was_called && session.has_failed(call)
}

/// The table has every tool except those of servers, and the tape has a kind of the table.
pub fn tool_kinds(subject: &Subject<'_>, case: &Case<'_>, findings: &mut Findings) {
    let Some(tools) = subject.capabilities.tools else {
        return;
    };
    for (session, call) in case.events(Kind::ToolCall) {
        let (tool, kind) = (
            call.text("tool").unwrap_or_default(),
            call.text("kind").unwrap_or_default(),
        );
        let known: Vec<&str> = tools(tool).into_iter().map(ToolKind::as_str).collect();
        match known.first() {
            Some(_) if known.contains(&kind) => findings.count("calls"),
            Some(_) => findings.fail(
                case.place_of(session, call),
                format!(
                    "tool `{tool}` has kind `{kind}`, but {} in the table",
                    known.join(" or ")
                ),
            ),
            None if kind == "mcp" => findings.count("calls of MCP tools"),
            None if is_nonexistent_tool(case, session, call) => {
                findings.note("calls of tools that do not exist")
            }
            None => findings.fail(
                case.place_of(session, call),
                format!("tool `{tool}` has no kind in the table"),
            ),
        }
    }
}

/// Each result of parallel calls names a real call.
pub fn parallel(case: &Case<'_>, findings: &mut Findings) {
    for session in case
        .sessions
        .iter()
        .filter(|session| session.has_parallel_calls())
    {
        for result in session
            .events
            .iter()
            .filter(|event| event.is(Kind::ToolResult))
        {
            let id = result.text("call_id");
            let is_real =
                session.call_of(result).is_some() || id.is_some_and(|id| case.call(id).is_some());
            if is_real {
                findings.count("results");
            } else if let Some(id) = id {
                findings.fail(
                    case.place_of(session, result),
                    format!("a result of {id}, but there is no such call"),
                );
            } else {
                findings.note("results of calls without ids");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_rule_belongs_to_one_check() {
        for rule in Rule::ALL {
            let checks = RULES
                .iter()
                .filter(|(_, rules)| rules.contains(rule))
                .count();
            assert_eq!(checks, 1, "{rule}");
        }
    }
}
