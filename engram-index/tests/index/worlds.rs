//! Random worlds: sessions edit and write files, people change them in between, and each line knows who made it.

use std::fs;

use engram_index::{Index, Query, Writer};
use proptest::prelude::*;

use crate::synthetic::{ROOT, Tape};

/// Who made a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Session(usize),
    Person,
}

#[derive(Debug, Clone)]
struct Line {
    text: String,
    who: Who,
}

/// What happens to the file.
#[derive(Debug, Clone)]
enum Step {
    /// Lines are put somewhere: new ones, or common ones.
    Insert {
        by: Option<usize>,
        at: usize,
        count: usize,
        common: bool,
    },
    /// Lines are removed.
    Remove {
        by: Option<usize>,
        at: usize,
        count: usize,
    },
    /// Lines are replaced by new ones.
    Replace {
        by: Option<usize>,
        at: usize,
        count: usize,
    },
    /// A person doubles a block.
    Double { at: usize, count: usize },
    /// A session writes the whole file again, with a few more lines.
    Write { by: usize, at: usize },
}

const SESSIONS: usize = 3;
const COMMON: [&str; 5] = ["}", "", "    return", "    pass", "else:"];

fn step() -> impl Strategy<Value = Step> {
    let by = || prop::option::of(0..SESSIONS);
    prop_oneof![
        3 => (by(), 0..40_usize, 1..6_usize, any::<bool>()).prop_map(|(by, at, count, common)| Step::Insert { by, at, count, common }),
        1 => (by(), 0..40_usize, 1..4_usize).prop_map(|(by, at, count)| Step::Remove { by, at, count }),
        2 => (by(), 0..40_usize, 1..4_usize).prop_map(|(by, at, count)| Step::Replace { by, at, count }),
        1 => (0..40_usize, 1..6_usize).prop_map(|(at, count)| Step::Double { at, count }),
        1 => (0..SESSIONS, 0..40_usize).prop_map(|(by, at)| Step::Write { by, at }),
    ]
}

#[derive(Default)]
struct World {
    lines: Vec<Line>,
    made: usize,
    /// Texts that somebody has removed: who writes one again is not told apart from who wrote it first.
    removed: Vec<String>,
}

impl World {
    fn new_lines(&mut self, who: Who, count: usize, common: bool) -> Vec<Line> {
        let line = |_| {
            self.made += 1;
            let text = match common {
                true => COMMON[self.made % COMMON.len()].to_owned(),
                false => format!("    value_{} = compute_{}(input)", self.made, self.made * 7),
            };
            Line { text, who }
        };
        (0..count).map(line).collect()
    }

    fn put(&mut self, range: std::ops::Range<usize>, lines: Vec<Line>) {
        let gone = self.lines.splice(range, lines);
        self.removed.extend(gone.map(|line| line.text));
    }

    /// Makes a step, and returns the session that made it.
    fn make(&mut self, step: &Step) -> Option<usize> {
        let len = self.lines.len();
        let who = |by: Option<usize>| by.map_or(Who::Person, Who::Session);
        let range = |at: usize, count: usize| at.min(len)..(at + count).min(len);
        match *step {
            Step::Insert {
                by,
                at,
                count,
                common,
            } => {
                let lines = self.new_lines(who(by), count, common);
                self.put(range(at, 0), lines);
                by
            }
            Step::Remove { by, at, count } => {
                self.put(range(at, count), Vec::new());
                by
            }
            Step::Replace { by, at, count } => {
                let lines = self.new_lines(who(by), count, false);
                self.put(range(at, count), lines);
                by
            }
            Step::Double { at, count } => {
                let block: Vec<Line> = self.lines[range(at, count)]
                    .iter()
                    .map(|line| Line {
                        who: Who::Person,
                        ..line.clone()
                    })
                    .collect();
                let end = range(at, count).end;
                self.put(end..end, block);
                None
            }
            Step::Write { by, at } => {
                let lines = self.new_lines(Who::Session(by), 2, false);
                self.put(range(at, 0), lines);
                Some(by)
            }
        }
    }

    fn text(&self) -> String {
        self.lines
            .iter()
            .map(|line| format!("{}\n", line.text))
            .collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, rng_seed: prop::test_runner::RngSeed::Fixed(11), ..ProptestConfig::default() })]
    #[test]
    fn no_line_of_another_is_given_to_a_session(steps in prop::collection::vec(step(), 3..24)) {
        let directory = tempfile::tempdir().unwrap();
        let mut world = World::default();
        let mut tapes = Vec::new();
        world.lines = world.new_lines(Who::Person, 8, false);
        for (n, step) in steps.iter().enumerate() {
            let before = world.text();
            let by = world.make(step);
            if let Some(by) = by {
                // Each step is a session of its own: the index must put them in order.
                let mut tape = Tape::new(&format!("s{by}-{n}"), 1_750_000_000_000 + n as i64 * 100_000);
                tape.prompt("change it");
                if n % 3 == 0 {
                    tape.read("src/a.py", &before);
                }
                tape.edit("src/a.py", Some(&before), &world.text());
                tapes.push(tape.end());
            }
        }
        for (n, tape) in tapes.iter().enumerate() {
            fs::write(directory.path().join(format!("{n}.tape.jsonl")), tape).unwrap();
        }
        let place = directory.path().join("index");
        let added = Writer::open(&place, || ()).unwrap().add(&[directory.path().to_owned()], &mut |_| ()).unwrap();
        prop_assert!(added.failed.is_empty(), "{:?}", added.failed);
        let (index, text) = (Index::open(&place).unwrap(), world.text());
        let answer = index.explain(&Query { limit: usize::MAX, words: engram_index::Words::None, ..Query::of_file(&format!("{ROOT}/src/a.py"), &text) }).unwrap();
        for item in &answer.items {
            let Some(call) = &item.call else { continue };
            let session = call.session.as_deref().unwrap_or_default();
            for at in item.lines.iter().flat_map(|[first, last]| first - 1..*last) {
                let line = &world.lines[at];
                let is_right = matches!(line.who, Who::Session(by) if session.starts_with(&format!("s{by}-")));
                // A session that wrote an equal line beside it, or a line that was removed and written again, is no wrong answer.
                let wrote_too = world.lines.iter().any(|other| other.text == line.text && matches!(other.who, Who::Session(by) if session.starts_with(&format!("s{by}-"))));
                let is_right = is_right || (line.who != Who::Person && wrote_too) || world.removed.contains(&line.text);
                prop_assert!(is_right, "line {} {:?} of {:?} is given to {session} by {:?}\n{text}", at + 1, line.text, line.who, item.tier);
            }
        }
    }
}
