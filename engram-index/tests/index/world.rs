//! A file that sessions and a person change, where each line knows who made it; and the tapes of the sessions.

use std::collections::HashSet;
use std::ops::Range;

use proptest::prelude::*;

use crate::synthetic::Tape;

/// Who made a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    Session(usize),
    Person,
}

#[derive(Debug, Clone)]
pub struct Line {
    pub text: String,
    pub who: Who,
    /// Who made it by what the tapes say: of two equal lines at the ends of what a session wrote, a tape names either.
    pub told: Who,
    /// Who wrote its words, whoever changed its white space since.
    pub words: Who,
    /// The same line has the same number, wherever it stands.
    pub id: usize,
    /// The line that it was copied from.
    copy_of: Option<usize>,
    /// `who` and `told` before a person changed its white space.
    formatted: Option<(Who, Who)>,
}

/// What lines are like.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    Long,
    /// Each is another one, and has few letters.
    Short,
    /// They stand in any file.
    Common,
}

/// What happens to the file. `by` is the session, or `None` for a person.
#[derive(Debug, Clone)]
pub enum Step {
    Insert {
        by: Option<usize>,
        at: usize,
        count: usize,
        kind: Kind,
    },
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
        kind: Kind,
    },
    /// Lines are written once more, at another place.
    Again {
        by: Option<usize>,
        at: usize,
        count: usize,
        to: usize,
    },
    /// A session writes the whole file again, with two more lines.
    Write { by: usize, at: usize },
    /// All lines are removed.
    Empty { by: Option<usize> },
    /// A person doubles a block where it stands.
    Double { at: usize, count: usize },
    /// A person puts a block somewhere else.
    Move { at: usize, count: usize },
    /// A person turns the order of lines round.
    Turn { at: usize, count: usize },
    /// A person runs a formatter: other white space at the beginning of each line.
    Reformat,
    /// A person takes back the last changes, as `git checkout` does.
    Revert { steps: usize },
}

/// How the log of a session has a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A range of lines, and hashes of the file.
    Span,
    /// Strings that replace each other, with so many lines around them. Nothing says where.
    Strings(usize),
    /// The text of the whole file after the change.
    Text,
}

pub const SESSIONS: usize = 3;
const COMMON: [&str; 8] = [
    "}",
    "",
    "    return",
    "    pass",
    "else:",
    "x = 1",
    "i += 1",
    "    break",
];

pub fn form() -> impl Strategy<Value = Form> {
    prop_oneof![
        4 => Just(Form::Span),
        2 => (0..4_usize).prop_map(Form::Strings),
        1 => Just(Form::Text),
    ]
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![3 => Just(Kind::Long), 1 => Just(Kind::Short), 3 => Just(Kind::Common)]
}

/// A step of somebody.
pub fn step() -> impl Strategy<Value = Step> {
    let by = || prop::option::of(0..SESSIONS);
    let place = |counts: Range<usize>| (0..40_usize, counts);
    prop_oneof![
        6 => (by(), place(1..6), kind()).prop_map(|(by, (at, count), kind)| Step::Insert { by, at, count, kind }),
        2 => (by(), place(1..4)).prop_map(|(by, (at, count))| Step::Remove { by, at, count }),
        4 => (by(), place(1..4), kind()).prop_map(|(by, (at, count), kind)| Step::Replace { by, at, count, kind }),
        1 => (by(), place(1..9), 0..40_usize).prop_map(|(by, (at, count), to)| Step::Again { by, at, count, to }),
        2 => (0..SESSIONS, 0..40_usize).prop_map(|(by, at)| Step::Write { by, at }),
        2 => by_person(),
    ]
}

/// What only a person does.
fn by_person() -> impl Strategy<Value = Step> {
    let place = |counts: Range<usize>| (0..40_usize, counts);
    prop_oneof![
        8 => place(1..6).prop_map(|(at, count)| Step::Double { at, count }),
        8 => place(1..12).prop_map(|(at, count)| Step::Move { at, count }),
        2 => place(2..12).prop_map(|(at, count)| Step::Turn { at, count }),
        2 => (1..4_usize).prop_map(|steps| Step::Revert { steps }),
        2 => Just(Step::Reformat),
        1 => Just(Step::Empty { by: None }),
    ]
}

/// A step of a person at last.
pub fn at_last() -> impl Strategy<Value = Step> {
    let mine = |mut step| {
        if let Step::Insert { by, .. }
        | Step::Remove { by, .. }
        | Step::Replace { by, .. }
        | Step::Again { by, .. } = &mut step
        {
            *by = None;
        }
        match step {
            Step::Write { at, .. } => Step::Double { at, count: 3 },
            step => step,
        }
    };
    step().prop_map(mine)
}

#[derive(Default)]
pub struct World {
    pub lines: Vec<Line>,
    made: usize,
    /// Texts that may come back, without white space around them.
    removed: HashSet<String>,
    /// Lines that a person put somewhere else.
    moved: HashSet<usize>,
    /// The texts before each step.
    earlier: Vec<Vec<Line>>,
}

impl World {
    /// A file of a person.
    pub fn new() -> World {
        let mut world = World::default();
        world.lines = world.new_lines(Who::Person, 8, Kind::Long);
        world
    }

    fn new_lines(&mut self, who: Who, count: usize, kind: Kind) -> Vec<Line> {
        let line = |_| {
            self.made += 1;
            let n = self.made;
            let text = match kind {
                Kind::Common => COMMON[n % COMMON.len()].to_owned(),
                Kind::Long if !n.is_multiple_of(4) => {
                    format!("    value_{n} = compute_{}(input)", n * 7)
                }
                _ => format!("    v{n} = {}", n * 7),
            };
            made_by(who, text, n)
        };
        (0..count).map(line).collect()
    }

    /// Who writes again what was removed is not told apart from who wrote it first, if a person removed it, or if it is no common line.
    fn put(&mut self, by: Option<usize>, range: Range<usize>, lines: Vec<Line>) {
        let before = self.lines.clone();
        let gone: Vec<Line> = self.lines.splice(range, lines).collect();
        let is_common = |line: &Line| COMMON.iter().any(|text| text.trim() == line.text.trim());
        self.remember(gone.iter().filter(|line| by.is_none() || !is_common(line)));
        if let Some(by) = by {
            self.tell(&before, Who::Session(by));
        }
    }

    fn remember<'l>(&mut self, gone: impl Iterator<Item = &'l Line>) {
        let texts = gone.map(|line| line.text.trim().to_owned());
        self.removed.extend(texts);
    }

    /// True if such a line was removed, and somebody may have written it again.
    pub fn may_be_again(&self, line: &Line) -> bool {
        self.removed.contains(line.text.trim())
    }

    /// True for a copy of a line that a person put somewhere else: in the text, the copy stands where the line stood.
    pub fn stands_for_another(&self, line: &Line) -> bool {
        line.copy_of.is_some_and(|id| self.moved.contains(&id))
    }

    /// What a tape says of an edit: new are the lines between the longest common beginning and the longest common end of the rest, but for those
    /// that stand on both sides.
    fn tell(&mut self, before: &[Line], by: Who) {
        fn equal((line, old): &(&mut Line, &Line)) -> bool {
            line.text == old.text
        }
        let first = self
            .lines
            .iter_mut()
            .zip(before)
            .take_while(equal)
            .map(|(line, old)| line.told = old.told)
            .count();
        let (new, old) = (&mut self.lines[first..], &before[first..]);
        let last = new
            .iter_mut()
            .rev()
            .zip(old.iter().rev())
            .take_while(equal)
            .map(|(line, old)| line.told = old.told)
            .count();
        let end = new.len() - last;
        let gone = &old[..old.len() - last];
        for line in &mut new[..end] {
            // A line that stands on both sides is the older one's.
            let older = gone.iter().find(|old| old.text == line.text);
            line.told = older.map_or(by, |old| old.told);
        }
    }

    /// Makes a step, and returns the session that made it.
    pub fn make(&mut self, step: &Step) -> Option<usize> {
        self.earlier.push(self.lines.clone());
        let len = self.lines.len();
        let who = |by: Option<usize>| by.map_or(Who::Person, Who::Session);
        let range = |at: usize, count: usize| at.min(len)..(at + count).min(len);
        match *step {
            Step::Insert {
                by,
                at,
                count,
                kind,
            } => {
                let lines = self.new_lines(who(by), count, kind);
                self.put(by, range(at, 0), lines);
                by
            }
            Step::Remove { by, at, count } => {
                self.put(by, range(at, count), Vec::new());
                by
            }
            Step::Replace {
                by,
                at,
                count,
                kind,
            } => {
                let lines = self.new_lines(who(by), count, kind);
                self.put(by, range(at, count), lines);
                by
            }
            Step::Again { by, at, count, to } => {
                let lines = self.again(who(by), range(at, count));
                self.put(by, range(to, 0), lines);
                by
            }
            Step::Write { by, at } => {
                let lines = self.new_lines(Who::Session(by), 2, Kind::Long);
                self.put(Some(by), range(at, 0), lines);
                Some(by)
            }
            Step::Empty { by } => {
                self.put(by, 0..len, Vec::new());
                by
            }
            Step::Double { at, count } => {
                let block = self.again(Who::Person, range(at, count));
                let end = range(at, count).end;
                self.put(None, end..end, block);
                None
            }
            Step::Move { at, count } => {
                let block: Vec<Line> = self.lines.drain(range(at, count)).collect();
                self.moved.extend(block.iter().map(|line| line.id));
                let to = (at * 7 + count) % (self.lines.len() + 1);
                self.lines.splice(to..to, block);
                None
            }
            Step::Turn { at, count } => {
                let block = &mut self.lines[range(at, count)];
                self.moved.extend(block.iter().map(|line| line.id));
                block.reverse();
                None
            }
            Step::Reformat => {
                self.reformat();
                None
            }
            Step::Revert { steps } => {
                let back = self.earlier[self.earlier.len().saturating_sub(steps + 1)].clone();
                let gone = std::mem::replace(&mut self.lines, back);
                self.remember(gone.iter());
                None
            }
        }
    }

    /// Lines that somebody writes once more.
    fn again(&mut self, who: Who, range: Range<usize>) -> Vec<Line> {
        let copied: Vec<Line> = self.lines[range].to_vec();
        let line = |line: Line| {
            self.made += 1;
            Line {
                copy_of: Some(line.id),
                ..made_by(who, line.text, self.made)
            }
        };
        copied.into_iter().map(line).collect()
    }

    fn reformat(&mut self) {
        for line in &mut self.lines {
            let text = match line.text.strip_prefix('\t') {
                Some(rest) => format!("    {rest}"),
                None => line.text.replacen("    ", "\t", 1),
            };
            if text != line.text {
                line.text = text;
                // The second time, the line is again as it was written.
                (line.who, line.told) = match line.formatted.take() {
                    Some(written) => written,
                    None => {
                        line.formatted = Some((line.who, line.told));
                        (Who::Person, Who::Person)
                    }
                };
            }
        }
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        let lines = self.lines.iter();
        lines.map(|line| format!("{}\n", line.text)).collect()
    }
}

fn made_by(who: Who, text: String, id: usize) -> Line {
    Line {
        text,
        who,
        told: who,
        words: who,
        id,
        copy_of: None,
        formatted: None,
    }
}

/// The tape of a session with one change.
pub fn tape(name: &str, n: usize, form: Form, before: &str, after: &str) -> String {
    // The index puts the sessions in order by their times.
    let mut tape = Tape::new(name, 1_750_000_000_000 + n as i64 * 100_000);
    tape.prompt("change it");
    if n.is_multiple_of(3) {
        tape.read("src/a.py", before);
    }
    match form {
        Form::Strings(context) => {
            if !tape.replace("src/a.py", before, after, context) {
                tape.edit("src/a.py", Some(before), after);
            }
        }
        Form::Text => tape.write("src/a.py", after),
        Form::Span => tape.edit("src/a.py", Some(before), after),
    }
    tape.end()
}
