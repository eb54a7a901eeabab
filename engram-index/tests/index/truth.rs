//! Every line that tier 1 or 2 gives to a call was made by that call.

use std::collections::{BTreeMap, BTreeSet};

use engram_conformance::{Recording, Truth};
use engram_index::{Index, Query, Tier, Words};
use serde_json::Value;

use crate::blame::{RealFile, real_files};
use crate::recorded::{all, made};

/// What the index said about the lines of one harness.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Tally {
    files: usize,
    /// Files whose whole text is what an edit left, and files with a line of tier 1 or 2.
    by_state: usize,
    by_span: usize,
    unknown: usize,
    lines: [usize; 4],
    /// Lines of tier 1 and 2 that the turn of their call made, by a comparison of the texts around it.
    strict: usize,
    /// Lines that the call wrote, where that comparison gives them to another turn: it wrote them again.
    again: usize,
    wrong: usize,
    /// Of tier 3.
    anchor_right: usize,
}

/// The ground truth, where ids may be missing.
pub fn truth_of(recording: &Recording) -> Truth {
    let mut truth = recording.truth.clone();
    for key in ["calls", "results"] {
        for entry in truth[key].as_array_mut().into_iter().flatten() {
            if !entry["id"].is_string() {
                entry["id"] = Value::from("");
            }
        }
    }
    for edit in truth["edits"].as_array_mut().into_iter().flatten() {
        if let Some(ids) = edit["call_ids"].as_array_mut() {
            ids.retain(Value::is_string);
        }
    }
    serde_json::from_value(truth).unwrap_or_default()
}

fn judge(recording: &Recording, wrong: &mut Vec<String>) -> Tally {
    let mut tally = Tally::default();
    let files = real_files(&truth_of(recording));
    if files.is_empty() {
        return tally;
    }
    let made = made(&[recording]);
    let index = made.open();
    for file in &files {
        judge_file(recording, &index, file, &mut tally, wrong);
    }
    tally
}

/// Where recordings have their project.
const ROOTS: [&str; 3] = [
    "/home/dev/proj",
    "/home/dev/work/demo-app",
    "/private/home/dev/proj",
];

fn judge_file(
    recording: &Recording,
    index: &Index,
    file: &RealFile,
    tally: &mut Tally,
    wrong: &mut Vec<String>,
) {
    let mut query = Query::new(&file.text);
    query.paths = ROOTS
        .iter()
        .map(|root| format!("{root}/{}", file.name))
        .collect();
    let attributed = index.attribute(&query).unwrap();
    query.words = Words::None;
    query.limit = usize::MAX;
    let answer = index.explain(&query).unwrap();
    assert_eq!(attributed.len(), file.made_in.len());
    tally.files += 1;
    tally.by_state += usize::from(answer.state_known);
    let has_proof = attributed
        .iter()
        .any(|made| matches!(made.tier, Tier::State | Tier::Span));
    tally.by_span += usize::from(!answer.state_known && has_proof);
    tally.unknown += usize::from(
        !answer.state_known && attributed.iter().all(|made| made.tier == Tier::Unknown),
    );
    let text = crate::blame::lines(Some(&file.text));
    for (at, made) in attributed.iter().enumerate() {
        tally.lines[made.tier as usize] += 1;
        if made.tier == Tier::Unknown {
            continue;
        }
        let item = answer
            .items
            .iter()
            .find(|item| {
                item.lines
                    .iter()
                    .any(|[first, last]| (*first..=*last).contains(&(at + 1)))
            })
            .unwrap();
        let call = item.call.as_ref().unwrap();
        let on_tape = chain(&call.tape, call.seq);
        let is_of = |turn: usize| {
            let turn = &file.turns[turn];
            let is_one = |id: &String| {
                turn.calls.contains(id) || turn.calls.iter().any(|known| same_number(known, id))
            };
            match &call.call_id {
                Some(_) if !turn.calls.is_empty() => on_tape.ids.iter().any(is_one),
                _ => call
                    .tool
                    .as_ref()
                    .is_some_and(|tool| turn.tools.contains(tool)),
            }
        };
        let is_strict = [&file.made_in, &file.made_in_text]
            .iter()
            .any(|made_in| made_in[at].is_some_and(is_of));
        let bare = |line: &str| line.trim_end_matches(['\r', '\n']).to_owned();
        let count = |lines: &[String]| {
            lines
                .iter()
                .filter(|line| bare(line) == bare(&text[at]))
                .count()
        };
        // The call wrote the line again: it stands in its arguments as a whole line.
        let is_whole = on_tape
            .lines
            .contains(text[at].trim_end_matches(['\r', '\n']));
        let wrote = |turn: &usize| {
            let of = &file.turns[*turn];
            is_of(*turn)
                && count(&of.after) > 0
                && (is_whole || count(&of.after) > count(&of.before))
        };
        let is_again = (0..file.turns.len()).any(|turn| wrote(&turn));
        if made.tier == Tier::Anchor {
            tally.anchor_right += usize::from(is_strict || is_again);
        } else if is_strict {
            tally.strict += 1;
        } else if is_again {
            tally.again += 1;
        } else {
            tally.wrong += 1;
            wrong.push(format!(
                "{}: {}:{} `{}` by {} given to {:?} {:?} ({:?}), really {:?}",
                recording.directory.display(),
                file.name,
                at + 1,
                text[at],
                made.tier.as_str(),
                call.tool,
                call.call_id,
                item.op,
                file.made_in[at].map(|turn| &file.turns[turn].calls)
            ));
        }
    }
}

/// A call on its tape: its id and those of the calls that it is part of, and the lines of its arguments.
struct OnTape {
    ids: Vec<String>,
    lines: BTreeSet<String>,
}

fn chain(tape: &str, seq: i64) -> OnTape {
    let text = std::fs::read_to_string(tape).unwrap();
    let events: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_default())
        .collect();
    let (mut ids, mut lines) = (Vec::new(), BTreeSet::new());
    strings(&events[seq as usize]["args"], &mut lines);
    let mut at = Some(seq as u64);
    while let Some(event) = at.and_then(|at| events.get(at as usize)) {
        ids.extend(event["call_id"].as_str().map(str::to_owned));
        at = event["parent"]
            .as_u64()
            .filter(|parent| Some(*parent) != at);
    }
    OnTape { ids, lines }
}

fn strings(value: &Value, lines: &mut BTreeSet<String>) {
    match value {
        // A patch marks what it adds.
        Value::String(text) => text.lines().for_each(|line| {
            lines.insert(line.to_owned());
            lines.extend(line.strip_prefix('+').map(str::to_owned));
        }),
        Value::Array(list) => list.iter().for_each(|value| strings(value, lines)),
        Value::Object(members) => members.values().for_each(|value| strings(value, lines)),
        _ => {}
    }
}

/// One API of the model server of the recordings uses another prefix for the same number.
fn same_number(known: &str, id: &str) -> bool {
    let number = |id: &str| {
        id.trim_start_matches("toolu_")
            .trim_start_matches("call_")
            .to_owned()
    };
    number(known) == number(id)
}

#[test]
fn no_line_is_given_to_a_call_that_did_not_make_it() {
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    let mut wrong = Vec::new();
    let all = all();
    for recording in &all {
        let one = judge(recording, &mut wrong);
        let sum = tallies.entry(recording.harness.clone()).or_default();
        sum.files += one.files;
        sum.by_state += one.by_state;
        sum.by_span += one.by_span;
        sum.unknown += one.unknown;
        sum.strict += one.strict;
        sum.again += one.again;
        sum.wrong += one.wrong;
        sum.anchor_right += one.anchor_right;
        sum.lines
            .iter_mut()
            .zip(one.lines)
            .for_each(|(sum, one)| *sum += one);
    }
    println!(
        "harness      files state span unknown | lines state span anchor unknown | compared again wrong | anchor right"
    );
    for (harness, t) in &tallies {
        println!(
            "{harness:12} {:5} {:5} {:4} {:7} | {:11} {:4} {:6} {:7} | {:8} {:5} {:5} | {}",
            t.files,
            t.by_state,
            t.by_span,
            t.unknown,
            t.lines[0],
            t.lines[1],
            t.lines[2],
            t.lines[3],
            t.strict,
            t.again,
            t.wrong,
            t.anchor_right
        );
    }
    wrong.iter().take(40).for_each(|wrong| println!("{wrong}"));
    assert!(
        tallies.values().map(|tally| tally.by_state).sum::<usize>() > 0,
        "nothing was proven"
    );
    assert_eq!(wrong.len(), 0, "lines with a wrong call");
    let likeness = |count: fn(&Tally) -> usize| tallies.values().map(count).sum::<usize>();
    assert_eq!(
        likeness(|tally| tally.lines[Tier::Anchor as usize]),
        likeness(|tally| tally.anchor_right),
        "lines of tier 3 with a wrong call"
    );
}
