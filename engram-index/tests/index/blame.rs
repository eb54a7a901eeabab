//! What really happened to each line of a file, from its texts before and after each turn.

use std::collections::BTreeSet;

use engram_conformance::{RealEdit, Truth};

/// A turn that changed the file.
pub struct Turn {
    pub calls: BTreeSet<String>,
    pub tools: BTreeSet<String>,
    pub before: Vec<String>,
    pub after: Vec<String>,
}

/// What really happened to one file.
pub struct RealFile {
    pub name: String,
    /// The last text; nothing if nobody knows it.
    pub text: String,
    /// The file is not there any more, or nobody knows its text.
    pub is_gone: bool,
    pub turns: Vec<Turn>,
    /// The turn that made each line; `None` if it was there before, or nobody knows.
    pub made_in: Vec<Option<usize>>,
    /// The same, where line ends do not count.
    pub made_in_text: Vec<Option<usize>>,
}

/// The files that were changed and are there at the end.
pub fn real_files(truth: &Truth) -> Vec<RealFile> {
    all_files(truth)
        .into_iter()
        .filter(|file| !file.is_gone)
        .collect()
}

/// The files that were changed, also those that are gone.
pub fn all_files(truth: &Truth) -> Vec<RealFile> {
    let names: BTreeSet<&str> = truth.edits.iter().map(|edit| edit.file.as_str()).collect();
    names
        .into_iter()
        .filter_map(|name| real_file(name, truth.edits.iter().filter(|edit| edit.file == name)))
        .collect()
}

fn real_file<'t>(name: &str, edits: impl Iterator<Item = &'t RealEdit>) -> Option<RealFile> {
    let mut turns: Vec<Turn> = Vec::new();
    let mut made_in: Vec<Option<usize>> = Vec::new();
    let mut made_in_text: Vec<Option<usize>> = Vec::new();
    let mut text: Option<&str> = None;
    let mut is_known = false;
    for edit in edits {
        let (before, after) = (lines(edit.before.as_deref()), lines(edit.after.as_deref()));
        let calls: BTreeSet<String> = edit.call_ids.iter().cloned().collect();
        // The call that started a sub-agent has the changes of the sub-agent too.
        if let Some(last) = turns
            .last_mut()
            .filter(|last| last.before == before && last.after == after)
        {
            last.calls.extend(calls);
            last.tools.extend(edit.tools.iter().cloned());
            continue;
        }
        let current = turns
            .last()
            .map(|turn| turn.after.clone())
            .unwrap_or_else(|| before.clone());
        if made_in.is_empty() {
            (made_in, made_in_text) = (vec![None; current.len()], vec![None; current.len()]);
        }
        made_in = carry(&current, &before, &made_in, None);
        made_in = carry(&before, &after, &made_in, Some(turns.len()));
        made_in_text = carry(&plain(&current), &plain(&before), &made_in_text, None);
        made_in_text = carry(
            &plain(&before),
            &plain(&after),
            &made_in_text,
            Some(turns.len()),
        );
        turns.push(Turn {
            calls,
            tools: edit.tools.iter().cloned().collect(),
            before,
            after,
        });
        (text, is_known) = (
            edit.after.as_deref(),
            edit.after.is_some() || edit.after_sha256.is_none(),
        );
    }
    let is_gone = text.is_none() || !is_known;
    Some(RealFile {
        name: name.to_owned(),
        text: text.unwrap_or_default().to_owned(),
        is_gone,
        turns,
        made_in,
        made_in_text,
    })
}

/// The lines with their ends: a change of line ends changes lines.
pub fn lines(text: Option<&str>) -> Vec<String> {
    text.unwrap_or_default()
        .split_inclusive('\n')
        .map(str::to_owned)
        .collect()
}

fn plain(lines: &[String]) -> Vec<String> {
    lines
        .iter()
        .map(|line| line.trim_end_matches(['\r', '\n']).to_owned())
        .collect()
}

/// The causes of lines after a change: those of lines that stayed, and `cause` for new ones.
fn carry(
    before: &[String],
    after: &[String],
    made_in: &[Option<usize>],
    cause: Option<usize>,
) -> Vec<Option<usize>> {
    let start = before
        .iter()
        .zip(after)
        .take_while(|(one, other)| one == other)
        .count();
    let end = before[start..]
        .iter()
        .rev()
        .zip(after[start..].iter().rev())
        .take_while(|(one, other)| one == other)
        .count();
    let mut carried = made_in[..start].to_vec();
    let (old, new) = (
        &before[start..before.len() - end],
        &after[start..after.len() - end],
    );
    let kept = common(old, new);
    carried.extend((0..new.len()).map(|at| {
        kept.iter()
            .find(|(_, n)| *n == at)
            .map_or(cause, |(o, _)| made_in[start + o])
    }));
    carried.extend_from_slice(&made_in[before.len() - end..]);
    carried
}

/// The longest common lines of two texts, as pairs of places.
fn common(old: &[String], new: &[String]) -> Vec<(usize, usize)> {
    if old.len() * new.len() > 16_000_000 {
        return Vec::new();
    }
    let mut best = vec![vec![0_u32; new.len() + 1]; old.len() + 1];
    for (o, old) in old.iter().enumerate().rev() {
        for (n, new) in new.iter().enumerate().rev() {
            best[o][n] = if old == new {
                best[o + 1][n + 1] + 1
            } else {
                best[o + 1][n].max(best[o][n + 1])
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
