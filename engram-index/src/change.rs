//! One change of a file by a call: the texts that the call has for it, and what it makes of the text before.

use std::collections::HashMap;

use engram_core::hash::Hash;

use crate::arguments::{Arguments, Replaced, sides};
use crate::line_key::{self, Key, key};
use crate::rows::{Digest, SpanRow, What, digest};
use crate::text_state::{Line, State, bounds, is_hash, line};

/// A change of one file by one call: its spans in order, with their texts where the tape has them.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) rows: Vec<SpanRow>,
    pub(crate) texts: Vec<[Option<String>; 2]>,
}

/// A hunk with its place.
#[derive(Debug)]
pub(crate) struct Spanned {
    pub(crate) before: (i64, i64),
    pub(crate) after: (i64, i64),
    pub(crate) old: Vec<Line>,
    pub(crate) new: Vec<Line>,
}

/// Texts that a call has, by their hashes.
pub(crate) struct Pool(HashMap<Digest, String>);

impl Pool {
    pub(crate) fn of(change: &Change, arguments: &Arguments) -> Pool {
        let mut pool = Pool(HashMap::new());
        change
            .texts
            .iter()
            .flatten()
            .flatten()
            .for_each(|text| pool.add(text));
        arguments.strings.iter().for_each(|text| pool.add(text));
        for hunk in arguments.patches.iter().flat_map(|patch| &patch.hunks) {
            let (old, new) = sides(hunk);
            pool.add(&old.join("\n"));
            pool.add(&new.join("\n"));
            for run in hunk.chunk_by(|(one, _), (other, _)| (*one == ' ') == (*other == ' ')) {
                let (old, new) = sides(run);
                pool.add(&old.join("\n"));
                pool.add(&new.join("\n"));
            }
        }
        pool
    }

    /// With and without its last line end: a span has none.
    pub(crate) fn add(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n");
        if let Some(bare) = text.strip_suffix('\n') {
            self.0.insert(digest(&Hash::of_text(bare)), bare.to_owned());
        }
        self.0.insert(digest(&Hash::of_text(&text)), text);
    }

    pub(crate) fn find(&self, hash: &Digest) -> Option<String> {
        self.0.get(hash).cloned()
    }
}

/// The whole text that a change left, if the call has it.
pub(crate) fn whole(
    change: &Change,
    arguments: &Arguments,
    hunks: &Option<Vec<Spanned>>,
) -> Option<State> {
    let [row] = change.rows.as_slice() else {
        // A text that was written whole is in the arguments, whatever its spans are.
        let content = arguments.content.as_deref()?;
        return Some(State::of(content)).filter(|state| state.may_be(change.rows[0].fah.as_ref()));
    };
    let is_whole = matches!(row.what, What::Create | What::Overwrite);
    let content = arguments
        .content
        .as_deref()
        .filter(|_| arguments.replaced.is_empty());
    let of_text = [content].into_iter().flatten().map(State::of);
    let of_patch = arguments
        .patch_of(&row.file.full())
        .filter(|patch| patch.is_new)
        .map(|patch| {
            let (_, new) = patch
                .hunks
                .first()
                .map(|hunk| sides(hunk))
                .unwrap_or_default();
            State {
                lines: new.into_iter().map(line).collect(),
                whole: true,
                blank_end: false,
            }
        });
    let of_string = arguments
        .replaced
        .first()
        .filter(|strings| is_whole && strings.old.is_empty());
    let of_span = hunks
        .as_deref()
        .filter(|_| is_whole && row.after.is_some_and(|after| after.0 == 1))
        .and_then(|hunks| {
            let only = hunks
                .first()
                .filter(|_| row.what == What::Create || row.fah.is_some())?;
            Some(State {
                lines: only.new.clone(),
                whole: true,
                blank_end: false,
            })
        });
    let of_snippet = change.texts[0][1]
        .as_deref()
        .filter(|_| is_whole && row.after.is_none());
    of_text
        .chain(of_patch)
        .chain(of_string.map(|strings| State::of(&strings.new)))
        .chain(of_span)
        .chain(of_snippet.map(State::of))
        .find(|state| state.may_be(row.fah.as_ref()))
}

/// The text before hunks, from the text after them.
pub(crate) fn unapplied(after: &State, hunks: &[Spanned]) -> Option<State> {
    let mut before = after.clone();
    for hunk in hunks.iter().rev() {
        let (first, last) = bounds(hunk.after)?;
        let run = before.lines.get(first..last)?;
        if run
            .iter()
            .zip(&hunk.new)
            .any(|(one, other)| one.key != other.key)
        {
            return None;
        }
        before.lines.splice(first..last, hunk.old.iter().cloned());
    }
    Some(before)
}

/// Fills in what the hunks say about the text before, and returns the text after. `None` if they do not fit.
pub(crate) fn put(before: &mut State, hunks: &[Spanned]) -> Option<State> {
    for hunk in hunks {
        let (first, last) = bounds(hunk.before)?;
        let run = before.lines.get(first..last)?;
        let differs = |(known, old): (&Line, &Line)| {
            let is_known = |line: &Line| !line_key::is_hole(line.key);
            is_known(known) && is_known(old) && known.key != old.key
        };
        if run.iter().zip(&hunk.old).any(differs) {
            return None;
        }
        before.lines.splice(first..last, hunk.old.iter().cloned());
    }
    let mut after = before.clone();
    for hunk in hunks.iter().rev() {
        let (first, last) = bounds(hunk.before)?;
        after.lines.splice(first..last, hunk.new.iter().cloned());
    }
    Some(after)
}

/// The text after a patch; `None` if a hunk has no place.
pub(crate) fn patched(before: &State, hunks: &[Vec<(char, String)>]) -> Option<State> {
    let mut after = before.clone();
    let mut at = 0;
    for hunk in hunks.iter().filter(|hunk| !hunk.is_empty()) {
        let (old, new) = sides(hunk);
        let old: Vec<Key> = old.into_iter().map(key).collect();
        let place = match old.as_slice() {
            [] => after.lines.len(),
            old => {
                at + after
                    .lines
                    .get(at..)?
                    .windows(old.len())
                    .position(|run| run.iter().map(|line| &line.key).eq(old))?
            }
        };
        at = place + new.len();
        after
            .lines
            .splice(place..place + old.len(), new.into_iter().map(line));
    }
    Some(after)
}

/// The text after strings were replaced; `None` if a string that is replaced once does not stand there once.
pub(crate) fn strings_replaced(before: &State, replaced: &[Replaced]) -> Option<State> {
    if replaced.is_empty() {
        return None;
    }
    let mut text = before.whole_text()? + "\n";
    for strings in replaced {
        let count = if strings.old.is_empty() {
            0
        } else {
            text.matches(&strings.old).count()
        };
        if count == 0 || (count > 1 && !strings.every) {
            return None;
        }
        text = text.replace(&strings.old, &strings.new);
    }
    // Without its last line end, nobody knows whether an empty line stood behind it: a read does not tell.
    text.ends_with('\n').then(|| State::of(&text))
}

/// A span after strings were replaced in it, if it has this hash.
pub(crate) fn replaced_to(old: &str, replaced: &[Replaced], hash: &Digest) -> Option<String> {
    let every = |text: String, strings: &Replaced| {
        if strings.old.is_empty() {
            text
        } else {
            text.replace(&strings.old, &strings.new)
        }
    };
    let all = replaced.iter().fold(old.to_owned(), every);
    let single = replaced
        .iter()
        .filter(|strings| !strings.old.is_empty())
        .flat_map(|strings| {
            [
                old.replacen(&strings.old, &strings.new, 1),
                old.replace(&strings.old, &strings.new),
            ]
        });
    single.chain([all]).find(|text| is_hash(text, hash))
}

/// A heading before a text in the output of a call has fewer lines.
const MAX_HEADING: usize = 64;

/// The line that ends the heading which a harness puts before the output of a command.
const END_OF_HEADING: &str = "Output:\n";
/// Such a heading has few lines.
const MAX_COMMAND_HEADING: usize = 12;

/// The output of a command without the heading.
pub(crate) fn without_heading(output: &str) -> &str {
    let mut rest = output;
    for line in output.split_inclusive('\n').take(MAX_COMMAND_HEADING) {
        rest = &rest[line.len()..];
        if line == END_OF_HEADING {
            return rest;
        }
    }
    output
}

/// The whole text with this hash at the end of the output of a call.
pub(crate) fn shown_whole(output: &str, hash: &Digest) -> Option<State> {
    let mut rest = Some(output);
    for _ in 0..MAX_HEADING {
        let text = rest?;
        if let Some(state) = State::of(text).fitting(Some(hash)) {
            return Some(state);
        }
        rest = text.split_once('\n').map(|(_, rest)| rest);
    }
    None
}

/// The lines of a range in the output of a read: with a number before each line, or as they are. They have the hash that the tape states.
pub(crate) fn numbered(output: &str, (first, last): (i64, i64), hash: &Digest) -> Option<String> {
    let output = output.replace("\r\n", "\n");
    let mut of_range: Vec<&str> = Vec::new();
    let all: Vec<&str> = output.split('\n').collect();
    for text in &all {
        let wanted = first + of_range.len() as i64;
        if wanted <= last
            && let Some(rest) = without_number(text, wanted)
        {
            of_range.push(rest);
        }
    }
    let count = usize::try_from(last - first + 1)
        .ok()
        .filter(|count| *count > 0)?;
    let joined = of_range.join("\n");
    if of_range.len() == count && is_hash(&joined, hash) {
        return Some(joined);
    }
    let runs = all
        .windows(count)
        .take(MAX_HEADING)
        .map(|run| run.join("\n"));
    runs.into_iter().find(|run| is_hash(run, hash))
}

/// The text behind the number of a line: `   12→text`, `12: text`, `12|text`, `<content>12: text`.
pub(crate) fn without_number(line: &str, number: i64) -> Option<&str> {
    let line = line.trim_start();
    let line = match line.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
        Some((_, rest)) => rest,
        None => line,
    };
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    if line[..digits].parse() != Ok(number) {
        return None;
    }
    let rest = &line[digits..];
    ["→", "\t", ": ", "| ", "|", ":"]
        .iter()
        .find_map(|sign| rest.strip_prefix(sign))
}
