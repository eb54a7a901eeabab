//! Every line that an answer gives to a call was made by that call: on files as sessions left them, and after a person changed them.
//!
//! `cargo test -p engram-tape-index --test index -- truth --nocapture` prints the tables; `ENGRAM_RECORDINGS` adds recordings.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use engram_conformance::{Recording, Truth};
use engram_index::{Index, Made, Query, Tier};
use serde_json::Value;

use crate::blame::{RealFile, Turn, all_files, lines, real_files};
use crate::changes::{CHANGES, Change, Line};
use crate::recorded::{all, made};

/// What the index said about the lines of one harness.
#[derive(Debug, Default)]
struct Tally {
    files: usize,
    lines: usize,
    /// Lines that a call made, and those of them that are found.
    owned: usize,
    found: usize,
    wrong: usize,
    tiers: BTreeMap<&'static str, usize>,
    /// Lines that a call made and that are not found, by reason.
    reasons: BTreeMap<String, usize>,
    after: BTreeMap<&'static str, After>,
}

/// What became of the answers after a change.
#[derive(Debug, Default)]
struct After {
    lines: usize,
    kept: usize,
    other: usize,
    by_hand: usize,
    given: usize,
    gained: usize,
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

/// Where recordings have their project.
const ROOTS: [&str; 3] = [
    "/home/dev/proj",
    "/home/dev/work/demo-app",
    "/private/home/dev/proj",
];

fn paths(name: &str) -> Vec<String> {
    ROOTS.iter().map(|root| format!("{root}/{name}")).collect()
}

fn ask(index: &Index, paths: Vec<String>, text: &str) -> Vec<Made> {
    let mut query = Query::new(text);
    query.paths = paths;
    index.attribute(&query).unwrap()
}

/// The calls of tapes: their ids with those of the calls that they are part of, and what they are.
#[derive(Default)]
struct Calls(BTreeMap<(PathBuf, i64), (Vec<String>, String, String)>);

impl Calls {
    fn get(&mut self, call: &(PathBuf, i64)) -> &(Vec<String>, String, String) {
        if !self.0.contains_key(call) {
            let text = std::fs::read_to_string(&call.0).unwrap();
            let events: Vec<Value> = text
                .lines()
                .map(|line| serde_json::from_str(line).unwrap_or_default())
                .collect();
            for (seq, event) in events.iter().enumerate() {
                let (mut ids, mut at) = (Vec::new(), Some(seq as u64));
                while let Some(event) = at.and_then(|at| events.get(at as usize)) {
                    ids.extend(event["call_id"].as_str().map(str::to_owned));
                    at = event["parent"]
                        .as_u64()
                        .filter(|parent| Some(*parent) != at);
                }
                let word = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
                self.0.insert(
                    (call.0.clone(), seq as i64),
                    (ids, word("tool"), word("kind")),
                );
            }
        }
        &self.0[call]
    }

    fn kind_of(&self, ids: &BTreeSet<String>) -> Option<&str> {
        let known = self.0.values().find(|(own, ..)| {
            own.first()
                .is_some_and(|own| ids.iter().any(|id| same_number(id, own)))
        });
        known.map(|(.., kind)| kind.as_str())
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

/// True if the call made this line: in one of its turns the line was added, or stands more often than before. A file that was moved has lines
/// that were made in another one. A turn without calls says nothing.
fn is_right(
    files: &[RealFile],
    file: &RealFile,
    at: usize,
    text: &[String],
    (ids, tool, _): &(Vec<String>, String, String),
) -> bool {
    let is_of = |turn: &Turn| {
        if ids.is_empty() || turn.calls.is_empty() {
            return turn.tools.contains(tool) || turn.calls.is_empty() && turn.tools.is_empty();
        }
        ids.iter()
            .any(|id| turn.calls.iter().any(|known| same_number(known, id)))
    };
    let bare = |line: &str| line.trim_end_matches(['\r', '\n']).to_owned();
    let count = |lines: &[String]| {
        lines
            .iter()
            .filter(|line| bare(line) == bare(&text[at]))
            .count()
    };
    let grew = |turn: &Turn| is_of(turn) && count(&turn.after) > count(&turn.before);
    let was_gone = |other: &RealFile| {
        other
            .turns
            .iter()
            .any(|turn| count(&turn.after) < count(&turn.before))
            && other.turns.iter().any(grew)
    };
    // A sub-agent, or a hook that names calls in its own way: the truth has other ids for what it did.
    let is_named = files
        .iter()
        .flat_map(|file| &file.turns)
        .flat_map(|turn| &turn.calls)
        .any(|known| ids.iter().any(|id| same_number(known, id)));
    if !is_named {
        return file
            .turns
            .iter()
            .any(|turn| count(&turn.after) > count(&turn.before))
            || file.made_in_text[at].is_some();
    }
    // The call put a blank line beside one that was there.
    if text[at].trim().is_empty() && file.turns.iter().any(is_of) {
        return true;
    }
    [&file.made_in, &file.made_in_text]
        .iter()
        .any(|made_in| made_in[at].is_some_and(|turn| is_of(&file.turns[turn])))
        || file.turns.iter().any(grew)
        || files.iter().any(was_gone)
}

fn judge(recording: &Recording, tally: &mut Tally, faults: &mut Vec<String>) {
    let files = real_files(&truth_of(recording));
    if files.is_empty() {
        return;
    }
    let with_gone = all_files(&truth_of(recording));
    let made = made(&[recording]);
    let index = made.open();
    let mut calls = Calls::default();
    for tape in std::fs::read_dir(&made.tapes).unwrap() {
        calls.get(&(tape.unwrap().path(), 0));
    }
    for file in &files {
        let answers = ask(&index, paths(&file.name), &file.text);
        let text = lines(Some(&file.text));
        assert_eq!(answers.len(), text.len());
        tally.files += 1;
        for (at, answer) in answers.iter().enumerate() {
            tally.lines += 1;
            *tally.tiers.entry(answer.tier.as_str()).or_default() += 1;
            let owner = file.made_in_text[at];
            tally.owned += usize::from(owner.is_some());
            if let Some(call) = &answer.call {
                if is_right(&with_gone, file, at, &text, calls.get(call)) {
                    tally.found += usize::from(owner.is_some());
                } else {
                    tally.wrong += 1;
                    let call = calls.get(call);
                    faults.push(format!(
                        "wrong: {}: {}:{} {:?} by {} given to {call:?}",
                        recording.directory.display(),
                        file.name,
                        at + 1,
                        text[at],
                        answer.tier.as_str()
                    ));
                }
            } else if let Some(turn) = owner {
                let kind = calls
                    .kind_of(&file.turns[turn].calls)
                    .unwrap_or("call not on a tape");
                let why = answer
                    .why
                    .map_or(String::from("older"), |why| format!("{why:?}"));
                let reason = format!("{kind}: {why}");
                if std::env::var("ENGRAM_SHOW").is_ok_and(|show| show == reason) {
                    println!(
                        "{reason}: {}: {}:{} {:?}",
                        recording.directory.display(),
                        file.name,
                        at + 1,
                        text[at]
                    );
                }
                *tally.reasons.entry(reason).or_default() += 1;
            }
        }
        after_changes(recording, &index, file, &answers, &mut calls, tally, faults);
    }
}

fn after_changes(
    recording: &Recording,
    index: &Index,
    file: &RealFile,
    answers: &[Made],
    calls: &mut Calls,
    tally: &mut Tally,
    faults: &mut Vec<String>,
) {
    let text = lines(Some(&file.text));
    if file.text.contains('\r')
        || text.len() < 5
        || answers.iter().all(|answer| answer.call.is_none())
    {
        return;
    }
    let before: Vec<Line> = text
        .iter()
        .enumerate()
        .map(|(at, line)| Line::kept(line.trim_end_matches('\n'), at))
        .collect();
    for Change {
        name,
        change,
        place,
        line_end,
    } in CHANGES
    {
        let Some(changed) = change(&before) else {
            continue;
        };
        let after = tally.after.entry(name).or_default();
        let text: String = changed
            .iter()
            .map(|line| format!("{}{line_end}", line.text))
            .collect();
        let found = ask(
            index,
            paths(&file.name).iter().map(|path| place(path)).collect(),
            &text,
        );
        for (at, line) in changed.iter().enumerate() {
            let (tier, why) = (found[at].tier, found[at].why);
            let found = &found[at].call;
            let mut fault = |what: &str| {
                faults.push(format!(
                    "{what}: {name}: {}: {}:{} {:?}",
                    recording.directory.display(),
                    file.name,
                    at + 1,
                    line.text
                ))
            };
            match line.from.map(|at| &answers[at].call) {
                None => {
                    after.by_hand += 1;
                    if found.is_some() {
                        after.given += 1;
                        fault("given");
                    }
                }
                Some(None) => after.gained += usize::from(found.is_some()),
                Some(known) => {
                    after.lines += 1;
                    // One call may stand on several tapes of its session.
                    let mut id = |call: &Option<(PathBuf, i64)>| {
                        call.as_ref()
                            .map(|call| (calls.get(call).0.clone(), call.1))
                            .map(|(ids, seq)| {
                                if ids.is_empty() {
                                    vec![seq.to_string()]
                                } else {
                                    ids
                                }
                            })
                    };
                    let is_same = found == known || id(found) == id(known);
                    after.kept += usize::from(is_same);
                    if found.is_none()
                        && std::env::var("ENGRAM_SHOW").is_ok_and(|show| show == *name)
                    {
                        println!(
                            "lost: {name}: {}: {}:{} {:?} {tier:?} {why:?}",
                            recording.directory.display(),
                            file.name,
                            at + 1,
                            line.text
                        );
                    }
                    if found.is_some() && !is_same {
                        after.other += 1;
                        fault("other");
                    }
                }
            }
        }
    }
}

fn print(tallies: &BTreeMap<String, Tally>) {
    for (harness, tally) in tallies {
        println!(
            "{harness}: {} files, {} lines, {} made by calls, {} of them found ({:.1} %), {} wrong; {:?}",
            tally.files,
            tally.lines,
            tally.owned,
            tally.found,
            100.0 * tally.found as f64 / tally.owned.max(1) as f64,
            tally.wrong,
            tally.tiers
        );
        let mut reasons: Vec<_> = tally.reasons.iter().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        reasons
            .iter()
            .for_each(|(reason, count)| println!("    {count:5} not found: {reason}"));
        for Change { name, .. } in CHANGES {
            let Some(after) = tally.after.get(name) else {
                continue;
            };
            println!(
                "    {name:34} kept {:5.1} % of {:5}, {} other, {} of {} by hand given, {} gained",
                100.0 * after.kept as f64 / after.lines.max(1) as f64,
                after.lines,
                after.other,
                after.given,
                after.by_hand,
                after.gained
            );
        }
    }
}

#[test]
fn no_line_is_given_to_a_call_that_did_not_make_it_and_answers_stay_when_a_person_changes_the_file()
{
    let (mut tallies, mut faults) = (BTreeMap::<String, Tally>::new(), Vec::new());
    for recording in &all() {
        judge(
            recording,
            tallies.entry(recording.harness.clone()).or_default(),
            &mut faults,
        );
    }
    print(&tallies);
    faults.iter().take(60).for_each(|fault| println!("{fault}"));
    assert!(
        tallies
            .values()
            .any(|tally| tally.tiers.contains_key(Tier::State.as_str())),
        "nothing was proven"
    );
    assert_eq!(faults.len(), 0, "lines with a wrong call");
    // The rows that begin with `+` ask for nothing but that no line of a person is given to a call.
    for Change { name, .. } in CHANGES
        .iter()
        .filter(|change| !change.name.starts_with('+'))
    {
        let of = |count: fn(&After) -> usize| {
            tallies
                .values()
                .filter_map(|tally| tally.after.get(name))
                .map(count)
                .sum::<usize>()
        };
        assert!(
            100 * of(|after| after.kept) >= 95 * of(|after| after.lines),
            "{name}"
        );
    }
}
