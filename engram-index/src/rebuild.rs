//! The texts that a file had on one tape, rebuilt from its reads and edits, and written as steps from one to the next.
//!
//! A tape has hashes of spans, ranges, arguments and results. A text is taken from an argument, a result or an earlier text, and believed
//! where it has the hash that the tape states. What cannot be rebuilt is a gap in the text (a [hole](crate::line_key::hole)), a piece
//! without a place, or a lost step; nothing is guessed.

mod reads;
mod rewinds;

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use engram_core::file_path::full_path;
use engram_core::hash::Hash;

use crate::arguments::{Arguments, sides};
use crate::change::{
    Change, Pool, Spanned, numbered, patched, put, replaced_to, shown_whole, strings_replaced,
    unapplied, whole,
};
use crate::diff;
use crate::line_key::{Key, hole, key, lines};
use crate::rows::{FileRef, Kind, SpanRow, StepRow, What};
use crate::shell::{self, Effect};
use crate::text_state::{Line, MAX_LINES, State, bounds, is_hash, line};

/// Arguments and results that are kept for the edits and reads that follow them.
const MAX_KEPT_BYTES: usize = 64 << 20;
/// Longest result in which the text of a file is looked for.
const MAX_SHOWN: usize = 256 << 10;

/// What is known of a file.
#[derive(Debug, Default)]
struct File {
    now: Now,
    /// The lines that the last step left, which the next one is written against.
    written: Vec<Key>,
    /// The place of the last step.
    last: Option<usize>,
    /// How many commands there were at the last step.
    commands: u64,
}

#[derive(Debug, Default, Clone)]
enum Now {
    /// Nothing.
    #[default]
    Unknown,
    /// There is no such file.
    Absent,
    /// This text.
    Known(State),
}

/// What is kept of a call.
#[derive(Debug, Clone, Copy)]
enum Kept {
    Arguments,
    Result,
}

/// Rebuilds the files of one tape.
#[derive(Debug, Default)]
pub struct Rebuild {
    files: HashMap<FileRef, File>,
    arguments: HashMap<u64, Rc<Arguments>>,
    results: HashMap<u64, Rc<str>>,
    /// Calls in the order in which they were kept, with what is kept of them and its bytes.
    kept: VecDeque<(u64, Kept, usize)>,
    kept_bytes: usize,
    open: Option<Change>,
    steps: Vec<StepRow>,
    /// Files that calls edited, each with the event.
    edited: Vec<(u64, FileRef)>,
    /// Commands so far.
    commands: u64,
    /// Names the holes of this tape.
    name: String,
}

impl Rebuild {
    /// A line of the tape that names it: holes of two tapes are different lines.
    pub fn add_to_name(&mut self, line: &str) {
        self.name = Hash::of_text(&format!("{}{line}", self.name)).to_string();
    }

    /// Keeps the arguments of a call.
    pub fn call(&mut self, seq: u64, args: &str) {
        if let Ok(value) = serde_json::from_str(args) {
            self.arguments.insert(seq, Rc::new(Arguments::of(&value)));
            self.keep(seq, Kept::Arguments, args.len());
        }
    }

    /// What a command that succeeded did to files, as far as its text says all of it.
    pub fn effects(&self, call: u64, directory: &str) -> Vec<Effect> {
        let Some(arguments) = self.arguments.get(&call) else {
            return Vec::new();
        };
        let directory = match &arguments.directory {
            Some(own) => full_path(directory, own).into_owned(),
            None => directory.to_owned(),
        };
        arguments
            .command
            .as_deref()
            .map_or_else(Vec::new, |command| shell::effects(command, &directory))
    }

    /// Keeps the output of a call that may show the text of a file.
    pub fn result(&mut self, call: u64, output: &str) {
        self.results.insert(call, output.into());
        self.keep(call, Kept::Result, output.len());
    }

    /// A command ended: it may have changed any file.
    pub fn command(&mut self) {
        self.flush();
        self.commands += 1;
    }

    fn keep(&mut self, seq: u64, what: Kept, bytes: usize) {
        self.kept.push_back((seq, what, bytes));
        self.kept_bytes += bytes;
        while self.kept_bytes > MAX_KEPT_BYTES
            && self.kept.len() > 1
            && let Some((old, what, bytes)) = self.kept.pop_front()
        {
            self.kept_bytes -= bytes;
            match what {
                Kept::Arguments => drop(self.arguments.remove(&old)),
                Kept::Result => drop(self.results.remove(&old)),
            }
        }
    }

    /// The steps in the order of the tape. Reads of files that no step changes say nothing about who made a line.
    pub fn finish(mut self) -> Vec<StepRow> {
        self.flush();
        let changed: std::collections::HashSet<FileRef> = self
            .steps
            .iter()
            .filter(|step| step.kind != Kind::Seen)
            .flat_map(|step| std::iter::once(&step.file).chain(&step.other))
            .cloned()
            .collect();
        self.steps.retain(|step| changed.contains(&step.file));
        self.steps.sort_by_key(|step| step.seq);
        for at in 1..self.steps.len() {
            if self.steps[at].seq == self.steps[at - 1].seq {
                self.steps[at].nth = self.steps[at - 1].nth + 1;
            }
        }
        self.steps
    }

    fn hole(&self, row: &SpanRow, n: usize) -> Line {
        Line {
            key: hole(&format!("{} {}", self.name, row.seq), n),
            text: None,
        }
    }

    fn file(&mut self, file: &FileRef) -> &mut File {
        if !self.files.contains_key(file) {
            self.files.insert(file.clone(), File::default());
        }
        self.files.entry(file.clone()).or_default()
    }

    /// A confirmed edit. The spans of one call and file that follow each other are one change.
    pub fn edit(&mut self, row: &SpanRow, texts: [Option<&str>; 2]) {
        let texts = texts.map(|text| text.map(str::to_owned));
        self.edited.push((row.seq, row.file.clone()));
        if let Some(open) = &mut self.open
            && (open.rows[0].call, &open.rows[0].file) == (row.call, &row.file)
            && row.call.is_some()
        {
            open.rows.push(row.clone());
            open.texts.push(texts);
            return;
        }
        self.flush();
        self.open = Some(Change {
            rows: vec![row.clone()],
            texts: vec![texts],
        });
    }

    /// A file that became another one, or was copied.
    pub fn link(&mut self, row: &SpanRow, kind: Kind) {
        self.flush();
        let Some(from) = &row.other else { return };
        let now = self.file(from).now.clone();
        if kind == Kind::Moved {
            self.file(from).now = Now::Absent;
        }
        let state = match now {
            Now::Known(state) => state,
            _ => State::default(),
        };
        self.step(row, kind, None, state);
    }

    /// A command whose whole effect is known left this text.
    pub fn written(&mut self, row: &SpanRow, text: &str, appended: bool) {
        self.flush();
        let now = self.file(&row.file).now.clone();
        match (appended, now) {
            (false, now) => {
                let before = match now {
                    Now::Known(state) => Some(state),
                    _ => None,
                };
                self.step(row, Kind::Changed, before, State::of(text));
            }
            (true, Now::Known(before)) if before.whole => {
                let mut after = before.clone();
                after.lines.extend(State::of(text).lines);
                self.step(row, Kind::Changed, Some(before), after);
            }
            (true, Now::Absent) => self.step(row, Kind::Created, None, State::of(text)),
            (true, _) => self.part(row, Kind::Appended, &[], &lines(text).collect::<Vec<_>>()),
        }
    }

    /// A command whose whole effect is known replaced a text by another one in each line.
    pub fn replaced(&mut self, row: &SpanRow, old: &str, new: &str, every: bool) {
        self.flush();
        let before = match &self.file(&row.file).now {
            Now::Known(state) => state.clone(),
            _ => return self.lost(row),
        };
        let Some(text) = before.whole_text() else {
            return self.lost(row);
        };
        let replaced = |line: &str| match every {
            true => line.replace(old, new),
            false => line.replacen(old, new, 1),
        };
        let after: Vec<String> = lines(&text).map(replaced).collect();
        self.step(
            row,
            Kind::Changed,
            Some(before),
            State::of(&after.join("\n")),
        );
    }

    /// A file was changed, nobody knows how.
    pub fn lost(&mut self, row: &SpanRow) {
        self.flush();
        self.file(&row.file).now = Now::Unknown;
        self.bare(row, Kind::Lost);
    }

    /// A file was removed.
    pub fn removed(&mut self, row: &SpanRow) {
        self.flush();
        self.bare(row, Kind::Deleted);
        self.file(&row.file).now = Now::Absent;
    }

    fn flush(&mut self) {
        if let Some(change) = self.open.take() {
            self.change(&change);
        }
    }

    fn change(&mut self, change: &Change) {
        let row = &change.rows[0];
        let arguments = row
            .call
            .and_then(|call| self.arguments.get(&call))
            .cloned()
            .unwrap_or_default();
        if row.what == What::Delete {
            self.bare(row, Kind::Deleted);
            self.file(&row.file).now = Now::Absent;
            return;
        }
        if row.what == What::Create && self.was_new(row) {
            return;
        }
        let patch = arguments.patch_of(&row.file.full());
        let now = std::mem::take(&mut self.file(&row.file).now);
        let is_new = row.what == What::Create || matches!(now, Now::Absent);
        let known = match now {
            Now::Known(state) => state.fitting(row.fbh.as_ref()),
            _ => None,
        };
        if row.what == What::Move && patch.is_none_or(|patch| patch.hunks.iter().all(Vec::is_empty))
        {
            self.file(&row.file).now = known.map_or(Now::Unknown, Now::Known);
            return;
        }
        let hunks = self.hunks(change, &arguments, known.as_ref());
        let after = whole(change, &arguments, &hunks);
        if let Some(after) = after.or_else(|| shown_whole(self.shown(row)?, row.fah.as_ref()?)) {
            let before = hunks
                .as_deref()
                .and_then(|hunks| unapplied(&after, hunks))
                .filter(|_| row.what != What::Create);
            let before = before.or(known).filter(|state| !is_new && state.whole);
            let kind = if is_new { Kind::Created } else { Kind::Changed };
            return self.step(row, kind, before, after);
        }
        if let Some((before, after)) = hunks
            .as_deref()
            .and_then(|hunks| self.applied(row, known.as_ref(), hunks))
        {
            return self.step(row, Kind::Changed, Some(before), after);
        }
        if let Some(before) = known.filter(|state| state.whole) {
            let by_patch = patch.and_then(|patch| patched(&before, &patch.hunks));
            let after = by_patch.or_else(|| strings_replaced(&before, &arguments.replaced));
            if let Some(after) = after.filter(|after| after.may_be(row.fah.as_ref())) {
                return self.step(row, Kind::Changed, Some(before), after);
            }
            if let Some(after) = self.with_holes(change, &before) {
                return self.step(row, Kind::Changed, Some(before), after);
            }
        }
        match self.part_of_line(change) {
            Some((before, after)) => self.step(row, Kind::Changed, Some(before), after),
            None => self.pieces(change, &arguments),
        }
    }

    /// The texts before and after a first change, within one line of a text that nobody has seen: no line of them is known, and the hash of the
    /// file may prove that a later text is the one after it.
    fn part_of_line(&self, change: &Change) -> Option<(State, State)> {
        let [row] = change.rows.as_slice() else {
            return None;
        };
        let is_first = self
            .files
            .get(&row.file)
            .is_none_or(|file| file.last.is_none());
        let is_another = row.ah.is_some() && row.bh.is_some() && row.ah != row.bh;
        let (at, after) = (row.before?, row.after?);
        if !is_first || !is_another || at.0 != at.1 || at != after || row.fah.is_none() {
            return None;
        }
        // Other holes than the one that the change leaves.
        let holes = (0..bounds(at)?.1).map(|n| self.hole(row, MAX_LINES + n));
        let before = State {
            lines: holes.collect(),
            ..State::default()
        };
        let after = self.with_holes(change, &before)?;
        Some((before, after))
    }

    /// True if a command of this call wrote the file: the log says now that the file is new.
    fn was_new(&mut self, row: &SpanRow) -> bool {
        let last = self.file(&row.file).last;
        let last = last.and_then(|at| self.steps.get_mut(at));
        let written = last
            .filter(|step| step.kind == Kind::Changed && step.call == row.call && !step.has_before);
        written.map(|step| step.kind = Kind::Created).is_some()
    }

    /// What the result of the call of a change shows. Some show the lines around it, or the whole text.
    fn shown(&self, row: &SpanRow) -> Option<&str> {
        let shown = self.results.get(&row.call?)?;
        (shown.len() <= MAX_SHOWN).then_some(shown)
    }

    /// The hunks of a change with ranges and texts of both sides; `None` if one of them is not known.
    fn hunks(
        &self,
        change: &Change,
        arguments: &Arguments,
        known: Option<&State>,
    ) -> Option<Vec<Spanned>> {
        let pool = Pool::of(change, arguments);
        let spans = change.rows.iter().map(|row| {
            let before = row
                .before
                .or((row.what == What::Create).then_some((1, 0)))?;
            let after = row.after?;
            let lines_of = |text: &str, range: (i64, i64)| {
                let lines: Vec<Line> = if range.1 < range.0 {
                    Vec::new()
                } else {
                    text.split('\n').map(line).collect()
                };
                (lines.len() as i64 == (range.1 - range.0 + 1).max(0)).then_some(lines)
            };
            let of_state = |range| known.and_then(|state: &State| state.text(range));
            let new = match row.ah {
                _ if after.1 < after.0 => Some(String::new()),
                Some(hash) => pool
                    .find(&hash)
                    .or_else(|| arguments.run_of_new(after, &hash))
                    .or_else(|| numbered(self.shown(row)?, after, &hash)),
                None => return None,
            };
            let old = match row.bh {
                _ if before.1 < before.0 => Some(String::new()),
                Some(hash) => pool
                    .find(&hash)
                    .or_else(|| arguments.run_of_old(before, &hash))
                    .or_else(|| of_state(before).filter(|text| is_hash(text, &hash))),
                None => return None,
            };
            let new = match (new, &old, row.ah) {
                (Some(new), ..) => new,
                (None, Some(old), Some(hash)) => replaced_to(old, &arguments.replaced, &hash)?,
                _ => return None,
            };
            // One line that differs from all lines after it: its content does not matter.
            let one_of_new = || {
                new.split('\n')
                    .find(|text| row.bh.is_some_and(|hash| is_hash(text, &hash)))
            };
            let old = match old {
                Some(old) => old,
                None if before.0 != before.1 => return None,
                None => match one_of_new() {
                    Some(old) => old.to_owned(),
                    None => {
                        // None of the lines that are left out before it.
                        let hole = vec![self.hole(row, MAX_LINES)];
                        return Some(Spanned {
                            before,
                            after,
                            old: hole,
                            new: lines_of(&new, after)?,
                        });
                    }
                },
            };
            Some(Spanned {
                before,
                after,
                old: lines_of(&old, before)?,
                new: lines_of(&new, after)?,
            })
        });
        spans.collect()
    }

    /// The text before and after hunks, in what is known of the file; else in a text of which only these lines are known.
    fn applied(
        &self,
        row: &SpanRow,
        known: Option<&State>,
        hunks: &[Spanned],
    ) -> Option<(State, State)> {
        let last = hunks.iter().map(|hunk| hunk.before.1).max()?;
        let last = usize::try_from(last)
            .ok()
            .filter(|last| *last <= MAX_LINES)?;
        for state in known.cloned().into_iter().chain([State::default()]) {
            let mut before = state;
            self.fill(row, &mut before, last);
            if let Some(after) = put(&mut before, hunks)
                && after.may_be(row.fah.as_ref())
            {
                return Some((before, after));
            }
        }
        None
    }

    /// A whole text in which a change without texts has left holes.
    fn with_holes(&self, change: &Change, before: &State) -> Option<State> {
        let mut after = before.clone();
        for row in change.rows.iter().rev() {
            let (first, last) = bounds(row.before?)?;
            let (from, to) = bounds(row.after?)?;
            if last > after.lines.len() {
                return None;
            }
            let holes: Vec<Line> = (from..to).map(|n| self.hole(row, n)).collect();
            after.lines.splice(first..last, holes);
        }
        Some(after)
    }

    /// A change whose place is not known.
    fn pieces(&mut self, change: &Change, arguments: &Arguments) {
        let row = &change.rows[0];
        let before = self.steps.len();
        if let Some(patch) = arguments.patch_of(&row.file.full()) {
            for hunk in patch.hunks.iter().filter(|hunk| !hunk.is_empty()) {
                let (old, new) = sides(hunk);
                self.part(row, Kind::Piece, &old, &new);
            }
        } else if !arguments.replaced.is_empty() {
            for strings in &arguments.replaced {
                self.strings(row, &strings.old, &strings.new);
            }
        } else {
            for texts in &change.texts {
                let [old, new] = texts
                    .each_ref()
                    .map(|text| text.as_deref().unwrap_or_default());
                self.strings(row, old, new);
            }
        }
        if self.steps.len() == before {
            self.bare(row, Kind::Lost);
        }
    }

    /// Writes a string that became another one. A line may go on behind its end: an empty last line of the new string is no line of the file, and
    /// one of the old string may be, unless the new one ends in the same way.
    fn strings(&mut self, row: &SpanRow, old: &str, new: &str) {
        let is_whole = old.is_empty() || new.ends_with('\n');
        let old: Vec<&str> = match is_whole {
            true => lines(old).collect(),
            false => old.split('\n').collect(),
        };
        self.part(row, Kind::Piece, &old, &lines(new).collect::<Vec<_>>());
    }

    /// Writes a part of a text whose place is not known, or is the end.
    fn part(&mut self, row: &SpanRow, kind: Kind, old: &[&str], new: &[&str]) {
        if old.is_empty() && new.is_empty() {
            return;
        }
        let of = |lines: &[&str]| lines.iter().map(|line| key(line)).collect::<Vec<_>>();
        let (old, new) = (of(old), of(new));
        let mut data = Vec::new();
        diff::encode(&[], &old, &mut data);
        diff::encode(&old, &new, &mut data);
        self.push(row, kind, false, false, data);
        self.file(&row.file).now = Now::Unknown;
    }

    /// Writes a step to a text that is known.
    fn step(&mut self, row: &SpanRow, kind: Kind, before: Option<State>, after: State) {
        let file = self.file(&row.file);
        let mut data = Vec::new();
        let written = std::mem::take(&mut file.written);
        let before = before.map(|before| before.before(&after));
        let (old, new) = (before.as_ref().map(State::keys), after.keys());
        if let Some(old) = &old {
            diff::encode(&written, old, &mut data);
        }
        diff::encode(old.as_ref().unwrap_or(&written), &new, &mut data);
        file.written = new;
        let whole = after.whole;
        file.now = Now::Known(after);
        self.push(row, kind, whole, old.is_some(), data);
    }

    /// A step without a text.
    fn bare(&mut self, row: &SpanRow, kind: Kind) {
        self.push(row, kind, false, false, Vec::new());
    }

    fn push(&mut self, row: &SpanRow, kind: Kind, whole: bool, has_before: bool, data: Vec<u8>) {
        let (at, commands) = (self.steps.len(), self.commands);
        let file = self.file(&row.file);
        file.last = Some(at);
        let commands_before = std::mem::replace(&mut file.commands, commands);
        self.steps.push(StepRow {
            seq: row.seq,
            nth: 0,
            call: row.call,
            file: row.file.clone(),
            other: row.other.clone(),
            kind,
            whole,
            has_before,
            after_command: commands_before < commands,
            t: row.t,
            data,
        });
    }
}
