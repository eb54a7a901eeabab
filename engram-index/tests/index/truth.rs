//! Every line that an answer gives to a call was made by that call: on files as sessions left them, and after a person changed them.
//!
//! `cargo test -p engram-tape-index --test index -- truth --nocapture` prints the tables; `ENGRAM_RECORDINGS` adds recordings.

use std::collections::BTreeMap;

use engram_conformance::{Recording, Truth};
use engram_index::{Index, Made, Query, Tier};
use serde_json::{Value, json};

use crate::blame::{RealFile, real_files};
use crate::changes::{CHANGES, Change, Line};
use crate::judge::{Calls, Verdict, verdict, verdict_of_reformatted};
use crate::recorded::{made, with_all_fixtures};

/// What the index said about the lines of one harness.
#[derive(Debug, Default)]
struct Tally {
    files: usize,
    lines: usize,
    /// Lines that a call made, and those of them that are found.
    owned: usize,
    found: usize,
    verdicts: BTreeMap<Verdict, usize>,
    tiers: BTreeMap<&'static str, usize>,
    /// Lines that a call made and that are said to be older, which is not true.
    older: usize,
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

/// What the ground truth says of files. Ids may be missing.
pub fn truth_of(recording: &Recording) -> Truth {
    let mut edits = recording.truth["edits"].clone();
    for edit in edits.as_array_mut().into_iter().flatten() {
        if let Some(ids) = edit["call_ids"].as_array_mut() {
            ids.retain(Value::is_string);
        }
    }
    match edits {
        Value::Null => Truth::default(),
        edits => serde_json::from_value(json!({"edits": edits})).unwrap(),
    }
}

/// Where recordings have their project.
const ROOTS: [&str; 3] = [
    "/home/dev/proj",
    "/home/dev/work/demo-app",
    "/private/home/dev/proj",
];

/// The paths that a file of a recording may have.
pub fn paths(name: &str) -> Vec<String> {
    ROOTS.iter().map(|root| format!("{root}/{name}")).collect()
}

fn ask(index: &Index, paths: Vec<String>, text: &str) -> Vec<Made> {
    let mut query = Query::new(text);
    query.paths = paths;
    index.attribute(&query).unwrap()
}

/// Prints what `ENGRAM_SHOW` asks for.
fn show(what: &str, line: impl FnOnce() -> String) {
    if std::env::var("ENGRAM_SHOW").is_ok_and(|wanted| what.starts_with(&wanted)) {
        println!("{what}: {}", line());
    }
}

/// A recording under judgement.
struct Judged<'r> {
    recording: &'r Recording,
    index: Index,
    calls: Calls,
    faults: &'r mut Vec<String>,
}

fn judge(recording: &Recording, tally: &mut Tally, faults: &mut Vec<String>) {
    let truth = truth_of(recording);
    let files = real_files(&truth);
    if files.is_empty() {
        return;
    }
    let made = made(&[recording]);
    let mut judged = Judged {
        recording,
        index: made.open(),
        calls: Calls::of(&made.tapes, &truth, recording),
        faults,
    };
    for file in &files {
        let answers = ask(&judged.index, paths(&file.name), &file.text);
        assert_eq!(answers.len(), file.lines.len());
        tally.files += 1;
        judged.untouched(file, &answers, tally);
        judged.changed(file, &answers, tally);
    }
}

impl Judged<'_> {
    fn place(&self, file: &RealFile, at: usize, text: &str) -> String {
        let directory = self.recording.directory.display();
        format!("{directory}: {}:{} {text:?}", file.name, at + 1)
    }

    fn untouched(&mut self, file: &RealFile, answers: &[Made], tally: &mut Tally) {
        for (at, answer) in answers.iter().enumerate() {
            tally.lines += 1;
            *tally.tiers.entry(answer.tier.as_str()).or_default() += 1;
            let maker = file.made_in[at].as_deref().filter(|turn| turn.has_call());
            tally.owned += usize::from(maker.is_some());
            let place = self.place(file, at, &file.lines[at]);
            if let Some(call) = &answer.call {
                let call = self.calls.get(call);
                let verdict = match answer.reformatted {
                    true => verdict_of_reformatted(file, at, call),
                    false => verdict(&self.calls, file, at, call),
                };
                *tally.verdicts.entry(verdict).or_default() += 1;
                tally.found += usize::from(maker.is_some() && verdict < Verdict::Reformatted);
                let line = || format!("{place} by {} given to {call:?}", answer.tier.as_str());
                show(&format!("{verdict:?}"), line);
                if verdict == Verdict::Wrong {
                    self.faults.push(format!("wrong: {}", line()));
                }
            } else if maker.is_none() {
                show(&format!("Not made: {:?}", answer.why), || place);
            } else if let Some(maker) = maker {
                let why = answer
                    .why
                    .map_or("Older".to_owned(), |why| format!("{why:?}"));
                let reason = format!("{}: {why}", self.calls.kind_of(maker));
                let place = format!("{place} made by {:?}", maker.calls);
                show(&reason, || place.clone());
                tally.older += usize::from(answer.tier == Tier::Older);
                *tally.reasons.entry(reason).or_default() += 1;
            }
        }
    }

    fn changed(&mut self, file: &RealFile, answers: &[Made], tally: &mut Tally) {
        if file.text.contains('\r')
            || file.lines.len() < 5
            || answers.iter().all(|answer| answer.call.is_none())
        {
            return;
        }
        let lines: Vec<Line> = file
            .lines
            .iter()
            .enumerate()
            .map(|(at, line)| Line::kept(line, at))
            .collect();
        for change in CHANGES {
            let after = tally.after.entry(change.name).or_default();
            self.one_change(file, answers, &lines, change, after);
        }
    }

    fn one_change(
        &mut self,
        file: &RealFile,
        answers: &[Made],
        lines: &[Line],
        change: &Change,
        after: &mut After,
    ) {
        let Some(changed) = (change.change)(lines) else {
            return;
        };
        let line_end = change.line_end;
        let with_end = |line: &Line| format!("{}{line_end}", line.text);
        let text: String = changed.iter().map(with_end).collect();
        let paths = paths(&file.name);
        let paths = paths.iter().map(|path| (change.place)(path)).collect();
        let found = ask(&self.index, paths, &text);
        for (at, (line, answer)) in changed.iter().zip(&found).enumerate() {
            let place = format!("{}: {}", change.name, self.place(file, at, &line.text));
            match (line.from.map(|at| &answers[at].call), &answer.call) {
                (None, found) => {
                    after.by_hand += 1;
                    if found.is_some() {
                        after.given += 1;
                        self.faults.push(format!("given: {place}"));
                    }
                }
                (Some(None), found) => after.gained += usize::from(found.is_some()),
                (Some(Some(known)), found) => {
                    after.lines += 1;
                    match found {
                        Some(found) if self.calls.is_same(found, known) => after.kept += 1,
                        Some(_) => {
                            after.other += 1;
                            self.faults.push(format!("other: {place}"));
                        }
                        None => show(&format!("lost {}", change.name), || {
                            format!("{place} {:?} {:?}", answer.tier, answer.why)
                        }),
                    }
                }
            }
        }
    }
}

fn percent(part: usize, all: usize) -> f64 {
    100.0 * part as f64 / all.max(1) as f64
}

fn print(tallies: &BTreeMap<String, Tally>) {
    for (harness, tally) in tallies {
        println!(
            "{harness}: {} files, {} lines, {} made by calls, {} of them found ({:.1} %), {} said to be older, {:?}; {:?}",
            tally.files,
            tally.lines,
            tally.owned,
            tally.found,
            percent(tally.found, tally.owned),
            tally.older,
            tally.verdicts,
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
                percent(after.kept, after.lines),
                after.lines,
                after.other,
                after.given,
                after.by_hand,
                after.gained
            );
        }
    }
}

/// Fewer lines than this say little: a few short lines of one session would be several percent.
const MANY_LINES: usize = 200;

#[test]
fn no_line_is_given_to_a_call_that_did_not_make_it_and_answers_stay_when_a_person_changes_the_file()
{
    let (mut tallies, mut faults) = (BTreeMap::<String, Tally>::new(), Vec::new());
    for recording in &with_all_fixtures() {
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
        let lines = of(|after| after.lines);
        assert!(
            lines >= MANY_LINES,
            "{name}: {lines} lines are too few to tell"
        );
        assert!(
            100 * of(|after| after.kept) >= 95 * lines,
            "{name}: {} of {lines} lines are kept",
            of(|after| after.kept)
        );
    }
}
