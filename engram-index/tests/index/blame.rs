//! What really happened to each line of a file, from its texts before and after each turn.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use engram_conformance::{RealEdit, Truth};

/// A turn that changed the file.
#[derive(Debug, Default)]
pub struct Turn {
    pub file: String,
    pub calls: BTreeSet<String>,
    pub tools: BTreeSet<String>,
    pub before: Vec<String>,
    pub after: Vec<String>,
}

impl Turn {
    /// False if the truth names no call: a person, or the harness itself, changed the file.
    pub fn has_call(&self) -> bool {
        !self.calls.is_empty() || !self.tools.is_empty()
    }
}

/// What really happened to one file.
#[derive(Debug, Default, Clone)]
pub struct RealFile {
    pub name: String,
    /// The last text; empty if nobody knows it.
    pub text: String,
    /// The file is not there any more, or nobody knows its text.
    pub is_gone: bool,
    /// The lines of the text, without line ends.
    pub lines: Vec<String>,
    /// The turn that made each line; `None` if it was there before, or a person made it.
    pub made_in: Vec<Option<Rc<Turn>>>,
    /// The turns that changed the file, and the file that it was moved from.
    pub turns: Vec<Rc<Turn>>,
}

/// The files that were changed and are there at the end.
pub fn real_files(truth: &Truth) -> Vec<RealFile> {
    let mut files: BTreeMap<&str, RealFile> = BTreeMap::new();
    for step in truth.edits.chunk_by(is_one_step) {
        // A file that goes in the step in which another one comes may be that one.
        let gone: Vec<RealFile> = step
            .iter()
            .filter(|edit| edit.after_sha256.is_none())
            .filter_map(|edit| {
                files
                    .get(edit.file.as_str())
                    .cloned()
                    .or_else(|| first(edit))
            })
            .collect();
        for edit in step {
            let old = files.remove(edit.file.as_str()).or_else(|| first(edit));
            let old = match edit.before_sha256 {
                None => most_alike(edit, &gone)
                    .or_else(|| copied(edit, files.values()))
                    .or(old),
                Some(_) => old,
            };
            files.insert(&edit.file, after(old.unwrap_or_default(), edit));
        }
    }
    files.into_values().filter(|file| !file.is_gone).collect()
}

fn is_one_step(one: &RealEdit, other: &RealEdit) -> bool {
    one.call_ids == other.call_ids && one.tools == other.tools && one.file != other.file
}

/// The file as it was before its first edit.
fn first(edit: &RealEdit) -> Option<RealFile> {
    edit.before.as_deref().map(|text| RealFile {
        lines: lines(text),
        made_in: vec![None; lines(text).len()],
        ..RealFile::default()
    })
}

/// The file that a new file has half of its lines from.
fn most_alike(edit: &RealEdit, gone: &[RealFile]) -> Option<RealFile> {
    let new = lines(edit.after.as_deref()?);
    let count = |file: &&RealFile| common(&file.lines, &new).len();
    let best = gone.iter().max_by_key(count)?;
    (2 * count(&best) >= new.len()).then(|| best.clone())
}

/// The file that a command copied: the new one has its text, byte for byte.
fn copied<'f>(edit: &RealEdit, files: impl Iterator<Item = &'f RealFile>) -> Option<RealFile> {
    const WRITE: [&str; 4] = ["write", "edit", "patch", "create"];
    let is_written = |tool: &String| {
        let tool = tool.to_lowercase();
        WRITE.iter().any(|word| tool.contains(word))
    };
    let text = edit.after.as_deref().filter(|text| !text.is_empty())?;
    let mut same = files.filter(|file| !file.is_gone && file.text == text);
    let file = same.next().filter(|_| same.next().is_none())?;
    (!edit.tools.iter().any(is_written)).then(|| file.clone())
}

fn after(mut file: RealFile, edit: &RealEdit) -> RealFile {
    let (before, after) = (edit.before.as_deref(), edit.after.as_deref());
    let turn = Turn {
        file: edit.file.clone(),
        calls: edit.call_ids.iter().cloned().collect(),
        tools: edit.tools.iter().cloned().collect(),
        before: lines(before.unwrap_or_default()),
        after: lines(after.unwrap_or_default()),
    };
    // The call that started a sub-agent has the changes of the sub-agent too.
    let is_again = |last: &&Rc<Turn>| {
        (&last.file, &last.before, &last.after) == (&turn.file, &turn.before, &turn.after)
    };
    if file.turns.last().filter(is_again).is_some() {
        return joined(file, turn);
    }
    if before.is_some() {
        file.made_in = carry(&file.lines, &turn.before, &file.made_in, None);
        file.lines.clone_from(&turn.before);
    }
    let turn = Rc::new(turn);
    let made_in = carry(&file.lines, &turn.after, &file.made_in, Some(&turn));
    (file.name, file.lines, file.made_in) = (edit.file.clone(), turn.after.clone(), made_in);
    file.text = after.unwrap_or_default().to_owned();
    file.is_gone = after.is_none();
    file.turns.push(turn);
    file
}

/// The last turn with the calls of one that has the same change.
fn joined(mut file: RealFile, mut turn: Turn) -> RealFile {
    let Some(last) = file.turns.pop() else {
        return file;
    };
    turn.calls.extend(last.calls.iter().cloned());
    turn.tools.extend(last.tools.iter().cloned());
    let turn = Rc::new(turn);
    let of_last = |made: &Rc<Turn>| Rc::ptr_eq(made, &last);
    for made in file
        .made_in
        .iter_mut()
        .flatten()
        .filter(|made| of_last(made))
    {
        *made = turn.clone();
    }
    file.turns.push(turn);
    file
}

/// The lines of a text without their ends: a change of line ends makes no line.
pub fn lines(text: &str) -> Vec<String> {
    text.split_inclusive('\n')
        .map(|line| line.trim_end_matches(['\r', '\n']).to_owned())
        .collect()
}

/// The makers of lines after a change: those of lines that stayed, and `maker` of new ones.
fn carry(
    before: &[String],
    after: &[String],
    made_in: &[Option<Rc<Turn>>],
    maker: Option<&Rc<Turn>>,
) -> Vec<Option<Rc<Turn>>> {
    let mut carried = vec![maker.cloned(); after.len()];
    for (old, new) in common(before, after) {
        carried[new].clone_from(&made_in[old]);
    }
    carried
}

/// The longest common lines of two texts, as pairs of places; nothing of texts that are too large to compare.
fn common(old: &[String], new: &[String]) -> Vec<(usize, usize)> {
    let start = old
        .iter()
        .zip(new)
        .take_while(|(one, other)| one == other)
        .count();
    let ends = old[start..].iter().rev().zip(new[start..].iter().rev());
    let end = ends.take_while(|(one, other)| one == other).count();
    let (old_end, new_end) = (old.len() - end, new.len() - end);
    let middle = longest(&old[start..old_end], &new[start..new_end]);
    let middle = middle.into_iter().map(|(o, n)| (start + o, start + n));
    let beginning = (0..start).map(|at| (at, at));
    let ending = (0..end).map(|at| (old_end + at, new_end + at));
    beginning.chain(middle).chain(ending).collect()
}

fn longest(old: &[String], new: &[String]) -> Vec<(usize, usize)> {
    if old.len() * new.len() > 16_000_000 {
        return Vec::new();
    }
    let mut best = vec![vec![0_u32; new.len() + 1]; old.len() + 1];
    for (o, old) in old.iter().enumerate().rev() {
        for (n, new) in new.iter().enumerate().rev() {
            best[o][n] = match old == new {
                true => best[o + 1][n + 1] + 1,
                false => best[o + 1][n].max(best[o][n + 1]),
            };
        }
    }
    let (mut o, mut n, mut pairs) = (0, 0, Vec::new());
    while o < old.len() && n < new.len() {
        if old[o] == new[n] {
            pairs.push((o, n));
            (o, n) = (o + 1, n + 1);
        } else if best[o + 1][n] >= best[o][n + 1] {
            o += 1;
        } else {
            n += 1;
        }
    }
    pairs
}
