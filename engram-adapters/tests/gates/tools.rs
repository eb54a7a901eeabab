//! Tool names: every name that a fixture or recording shows has a kind in its adapter's table.

use std::collections::BTreeSet;

use engram_core::event::Kind;
use rayon::prelude::*;

use crate::report::{self, Tally};
use crate::tape::{Event, events, tape_of};
use crate::tree::{Artifact, Corpus};

/// Names of tools that do not exist, which models called all the same; and of a server's, of a harness that does not say so.
const NO_TOOLS: &[&str] = &["NoSuchTool", "no_such_tool", "mockmcp_echo", "mockmcp_boom"];

fn of_tape(artifact: &Artifact, events: &[Event], tally: &mut Tally) -> BTreeSet<String> {
    let mut unknown = BTreeSet::new();
    for event in events.iter().filter(|event| event.is(Kind::ToolCall)) {
        let tool = event.text("tool").unwrap_or_default();
        tally.count("calls");
        let Some(kind) = artifact.entry.tools.resolve(tool) else {
            // Servers name their tools as they like; where the record names the server, no table is needed.
            if !NO_TOOLS.contains(&tool) && event.text("kind") != Some("mcp") {
                unknown.insert(format!("{}: tool `{tool}` has no kind", artifact.case.harness));
            }
            continue;
        };
        if event.text("kind") != Some(kind.as_str()) {
            unknown.insert(format!(
                "{}: tool `{tool}` has kind {:?}, the table says {}",
                artifact.case.harness,
                event.text("kind"),
                kind.as_str()
            ));
        }
    }
    unknown
}

fn findings(corpus: &'static Corpus) -> (Tally, Vec<String>) {
    let artifacts: Vec<&'static Artifact> = corpus.artifacts().collect();
    let checked: Vec<(Tally, BTreeSet<String>)> = artifacts
        .par_iter()
        .map(|artifact| {
            let mut tally = Tally::default();
            let unknown = match tape_of(artifact) {
                Ok(tape) => of_tape(artifact, &events(&tape.text), &mut tally),
                Err(error) => BTreeSet::from([error]),
            };
            (tally, unknown)
        })
        .collect();
    let mut total = Tally::default();
    let mut unknown = BTreeSet::new();
    for (tally, found) in checked {
        total.add(&tally);
        unknown.extend(found);
    }
    (total, unknown.into_iter().collect())
}

#[test]
fn every_tool_has_a_kind() {
    let tally = report::run("tools", findings);
    assert!(tally.of("calls") > 0);
}

#[test]
fn an_unknown_tool_is_a_finding() {
    let artifact = crate::tree::fixtures().artifacts().next().expect("there are fixtures");
    let call = |tool: &str| Event(serde_json::json!({"k": "tool.call", "tool": tool, "kind": "other"}));
    let mut tally = Tally::default();
    assert_eq!(of_tape(artifact, &[call("QuantumToaster")], &mut tally).len(), 1);
    assert_eq!(of_tape(artifact, &[call("NoSuchTool")], &mut tally).len(), 0);
    let (known, _) = artifact.entry.tools.names.iter().find(|(_, kind)| kind.as_str() != "other").expect("tables hold tools");
    assert_eq!(of_tape(artifact, &[call(known)], &mut tally).len(), 1, "a kind that the table does not give");
}
