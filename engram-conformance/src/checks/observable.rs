//! Tier 2: every event is what the format says, stands where it should, and comes from the source.

use std::collections::BTreeSet;

use engram_core::check::Rule;
use engram_core::event::Kind;

use super::super::tape::Event;
use crate::outcome::Found;
use crate::scene::{Scene, Side};
use crate::truth::Truth;

/// The most violations of one tape that a check reports.
const MOST_VIOLATIONS: usize = 5;

/// The rules of the tape format, by the check that reports them. Every rule stands here once.
pub const RULES: &[(&str, &[Rule])] = &[
    ("tape.canonical", &[Rule::Utf8, Rule::Bom, Rule::BlankLine, Rule::LineEnd, Rule::Json, Rule::Canonical, Rule::KeyOrder, Rule::Empty]),
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
            Rule::Redacted,
            Rule::Content,
        ],
    ),
    ("tape.kinds", &[Rule::Kind]),
    ("tape.seq", &[Rule::Seq]),
    ("tape.source", &[Rule::Source]),
    ("tape.bracket", &[Rule::Start, Rule::Stop, Rule::Counts]),
    ("tape.parent", &[Rule::Parent, Rule::MissingParent]),
    ("tape.ledger", &[Rule::Ledger]),
    ("tape.time", &[Rule::Time, Rule::TimeBasis]),
    ("tape.policy", &[Rule::Policy]),
    ("claim.none", &[Rule::Coverage]),
];

fn rules(scene: &Scene<'_>, found: &mut Found, id: &str) {
    let rules: Vec<Rule> = RULES.iter().filter(|(check, _)| *check == id).flat_map(|(_, rules)| rules.iter().copied()).collect();
    for side in &scene.sides {
        found.count("tapes");
        for violation in side.violations().iter().filter(|violation| rules.contains(&violation.rule)).take(MOST_VIOLATIONS) {
            found.fail(scene.place(side), format!("line {} of the tape: {}: {}", violation.line, violation.rule, violation.what));
        }
    }
}

macro_rules! of_rules {
    ($($name:ident = $id:literal),+ $(,)?) => {$(
        #[doc = concat!("The rules of the format that belong to `", $id, "`.")]
        pub fn $name(scene: &Scene<'_>, found: &mut Found) {
            rules(scene, found, $id);
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
    ledger = "tape.ledger",
    time = "tape.time",
    policy = "tape.policy",
    unclaimed = "claim.none",
}

/// Parents, and that calls come before what they cause.
pub fn parent(scene: &Scene<'_>, found: &mut Found) {
    rules(scene, found, "tape.parent");
    for side in &scene.sides {
        let mut called: BTreeSet<&str> = BTreeSet::new();
        let calls: BTreeSet<&str> = ids(side, Kind::ToolCall).collect();
        for event in &side.events {
            let Some(id) = event.text("call_id") else { continue };
            match event.kind() {
                Some(Kind::ToolCall) => drop(called.insert(id)),
                Some(Kind::ToolResult | Kind::CodeRead | Kind::CodeEdit) if calls.contains(id) && !called.contains(id) => {
                    // A harness that starts a call before it logs it may log the result first.
                    match (event.line(), side.call_of(event).and_then(Event::line)) {
                        (Some(result), Some(call)) if result < call => found.note("results that the source has before their call"),
                        _ => found.fail(scene.at(side, event), format!("comes before its call {id}")),
                    }
                }
                _ => {}
            }
        }
    }
}

fn ids(side: &Side, kind: Kind) -> impl Iterator<Item = &str> {
    side.events.iter().filter(move |event| event.is(kind)).filter_map(|event| event.text("call_id"))
}

/// Every time that a record is said to have stands in the source, to the second.
pub fn recorded_time(scene: &Scene<'_>, found: &mut Found) {
    for side in &scene.sides {
        let stated = super::clock::stated(side.source());
        for event in side.events.iter().filter(|event| !event.has("t_basis")) {
            let t = event.text("t").unwrap_or_default();
            if t.get(..19).is_some_and(|second| stated.contains(second)) {
                found.count("times");
            } else {
                found.fail(scene.at(side, event), format!("t is {t}, which the source does not state"));
            }
        }
    }
}

/// Lines of the source come in their order. What only the end of a message decides, its usage, comes when the message has ended;
/// what only the end of a session decides comes last. Both have the place of their record.
pub fn order(scene: &Scene<'_>, found: &mut Found) {
    for side in &scene.sides {
        let mut last = 0;
        let mut late: Option<&Event> = None;
        for event in side.events.iter().filter(|event| !event.is_meta("tape.stop") && !event.is_meta("usage")) {
            let Some(line) = event.line() else { continue };
            found.count("events");
            if line >= last {
                if let Some(early) = late.take() {
                    found.fail(scene.at(side, early), format!("comes after line {last}, and is no late fact: line {line} follows"));
                }
                last = line;
            } else {
                late = late.or(Some(event));
            }
        }
    }
}

/// The ledger of a supported version has nothing unknown.
pub fn known(scene: &Scene<'_>, found: &mut Found) {
    for side in &scene.sides {
        let ledger = side.events.last().and_then(|stop| stop.0.get("ledger")).cloned().unwrap_or_default();
        found.count_many("records", ledger["records"].as_u64().unwrap_or_default());
        for event in side.events.iter().filter(|event| event.is_meta("unrecognized")) {
            found.fail(scene.at(side, event), format!("unrecognized: {}", event.text("name").unwrap_or("a record")));
        }
    }
}

/// Names of tools that do not exist, which models call all the same: truth has the call, and its result is an error.
fn is_no_tool(scene: &Scene<'_>, side: &Side, call: &Event) -> bool {
    let Truth { calls, .. } = &scene.truth;
    let id = call.text("call_id");
    let was_called = calls.iter().any(|real| Some(real.id.as_str()) == id);
    was_called && side.has_failed(call)
}

/// The table knows every tool, and the tape says what the table says. Servers name their tools as they like.
pub fn tool_kinds(scene: &Scene<'_>, found: &mut Found) {
    let Some(tools) = scene.subject.offered.tools else { return };
    for (side, call) in scene.events(Kind::ToolCall) {
        let (tool, kind) = (call.text("tool").unwrap_or_default(), call.text("kind").unwrap_or_default());
        match tools(tool) {
            Some(known) if known.as_str() == kind => found.count("calls"),
            Some(known) => found.fail(scene.at(side, call), format!("tool `{tool}` has kind `{kind}`, the table says {}", known.as_str())),
            None if kind == "mcp" => found.count("calls of servers"),
            None if is_no_tool(scene, side, call) => found.note("calls of tools that do not exist"),
            None => found.fail(scene.at(side, call), format!("tool `{tool}` has no kind in the table")),
        }
    }
}

/// Each result of calls that run side by side names one of the calls that were made.
pub fn parallel(scene: &Scene<'_>, found: &mut Found) {
    for side in scene.sides.iter().filter(|side| crate::scenario::has_parallel_calls(side)) {
        for result in side.events.iter().filter(|event| event.is(Kind::ToolResult)) {
            let id = result.text("call_id");
            let is_real = side.call_of(result).is_some() || id.is_some_and(|id| scene.call(id).is_some());
            if is_real {
                found.count("results");
            } else if let Some(id) = id {
                found.fail(scene.at(side, result), format!("a result of {id}, which is none of the calls that were made"));
            } else {
                found.note("results of calls without ids");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_of_the_format_is_reported_by_one_check() {
        for rule in Rule::ALL {
            let checks = RULES.iter().filter(|(_, rules)| rules.contains(rule)).count();
            assert_eq!(checks, 1, "{rule}");
        }
    }
}
