//! Compares line ranges, hashes and fingerprints with the text of real files.

use engram_core::anchor::anchors;
use engram_core::error::excerpt;
use engram_core::hash::{Hash, is_lossless};
use serde_json::Value;

use crate::tape::Event;

/// A text as lines, with normalised line ends.
pub struct Lines(Vec<String>);

impl Lines {
    /// Splits a text into lines. A final line end does not begin another line.
    pub fn new(text: &str) -> Lines {
        let text = text.replace("\r\n", "\n");
        let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        if lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        Lines(lines)
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.0.len() as u64
    }

    /// The text of a range (from 1, inclusive); `None` if the text has no such lines.
    fn span(&self, (first, last): (usize, usize)) -> Option<String> {
        Some(self.0.get(first.checked_sub(1)?..last)?.join("\n"))
    }
}

/// Why the real text refutes one part of an edit (`before` or `after`) or a read (empty `part`), if it does.
pub fn refuted(event: &Event, part: &str, text: Option<&Lines>) -> Option<String> {
    let field = |name: &str| {
        if part.is_empty() {
            name.to_owned()
        } else {
            format!("{part}_{name}")
        }
    };
    let range = event.range(&field("range"))?;
    let Some(text) = text else {
        return Some(format!(
            "{part}_range {range:?} of a file that did not exist or was not UTF-8"
        ))
        .filter(|_| range != (1, 0) && range != (0, 0));
    };
    let Some(span) = text.span(range) else {
        return Some(format!(
            "{part}_range {range:?} of a file of {} lines",
            text.0.len()
        ));
    };
    let actual = event.text(&field("hash"));
    if actual
        .is_some_and(|actual| !is_lossless(&span) || actual != Hash::of_text(&span).to_string())
    {
        return Some(format!(
            "{part}_hash is not that of lines {range:?}, `{}`",
            excerpt(&span)
        ));
    }
    let found = event
        .0
        .get(field("anchor_hashes"))
        .and_then(Value::as_array)?;
    let real: Vec<Value> = anchors(&span)
        .iter()
        .map(|anchor| Value::from(format!("{anchor:016x}")))
        .collect();
    (*found != real).then(|| format!("{part}_anchor_hashes are not those of lines {range:?}"))
}

/// True if the lines outside the spans are equal before and after; `None` if a span has no range.
pub fn explain(events: &[&Event], before: &Lines, after: &Lines) -> Option<bool> {
    let rest = |key: &str, lines: &Lines| -> Option<Vec<Option<String>>> {
        let mut kept: Vec<Option<String>> = lines.0.iter().cloned().map(Some).collect();
        for event in events.iter().rev() {
            let (first, last) = event.range(key)?;
            if first == 0 || last > kept.len() || last + 1 < first {
                return Some(Vec::new());
            }
            // Each span leaves a marker, so that the spans of both texts are compared in order.
            kept.splice(first - 1..last, [None]);
        }
        Some(kept)
    };
    let (before, after) = (rest("before_range", before)?, rest("after_range", after)?);
    Some(!before.is_empty() && before == after)
}

/// All strings in a JSON value, at any depth.
pub fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(strings).collect(),
        Value::Object(fields) => fields.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}

/// The most bytes that are hashed to find lines of an unknown number.
const MAX_SEARCHED: usize = 64 << 20;

/// True if some complete lines of the text, with or without the last line end, have the hash. If `count` is known, only so many lines.
/// `None` if the text is too long to try all runs of lines.
pub fn in_text(text: &str, hash: &str, count: Option<u64>) -> Option<bool> {
    let text = text.replace("\r\n", "\n");
    if is_hashed("", hash) {
        // Nothing, or an empty line without its end.
        return Some(count.is_none_or(|count| count <= 1));
    }
    // A final line end does not begin another line.
    let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
    let starts: Vec<usize> = starts.filter(|at| *at < text.len()).collect();
    let ends: Vec<usize> = starts.iter().skip(1).copied().chain([text.len()]).collect();
    let mut searched = 0;
    for (first, from) in starts.iter().enumerate() {
        let counts = match count.and_then(|count| usize::try_from(count).ok()) {
            Some(count) => count..count + 1,
            None => 1..starts.len() - first + 1,
        };
        for count in counts.filter(|count| first + count <= starts.len()) {
            let run = &text[*from..if count == 0 {
                *from
            } else {
                ends[first + count - 1]
            }];
            searched += run.len();
            if is_hashed(run, hash)
                || run
                    .strip_suffix('\n')
                    .is_some_and(|run| is_hashed(run, hash))
            {
                return Some(true);
            }
            if searched > MAX_SEARCHED {
                return None;
            }
        }
    }
    Some(false)
}

fn is_hashed(text: &str, hash: &str) -> bool {
    Hash::of_text(text).to_string() == hash
}

/// True if some complete lines of a patch hunk in the arguments, before or after the patch, have the hash.
pub fn in_patch(args: &Value, hash: &str, count: Option<u64>) -> bool {
    sides_of_patches(args)
        .iter()
        .any(|side| in_text(side, hash, count) == Some(true))
}

/// A text without what a formatter changes.
pub fn without_layout(text: &str) -> String {
    text.chars()
        .filter(|character| !character.is_whitespace())
        .collect()
}

/// The text of each hunk of the patches in the arguments, before and after it. In a script the lines of a patch are escaped.
pub fn sides_of_patches(args: &Value) -> Vec<String> {
    let is_patch = |text: &&str| text.contains("*** Begin Patch");
    let patches: Vec<String> = strings(args)
        .into_iter()
        .filter(is_patch)
        .map(|text| match text.contains("*** Begin Patch\\n") {
            true => text.replace("\\n", "\n"),
            false => text.to_owned(),
        })
        .collect();
    let side = |hunk: &[&str], sign: char| {
        let kept: Vec<&str> = hunk
            .iter()
            .filter_map(|line| line.strip_prefix([sign, ' ']))
            .collect();
        kept.join("\n")
    };
    patches
        .iter()
        .flat_map(|patch| hunks(patch))
        .flat_map(|hunk| [side(&hunk, '-'), side(&hunk, '+')])
        .collect()
}

/// The lines of each hunk of a patch.
fn hunks(patch: &str) -> Vec<Vec<&str>> {
    let mut hunks: Vec<Vec<&str>> = vec![Vec::new()];
    for line in patch.split('\n') {
        match hunks.last_mut() {
            Some(hunk) if line.starts_with(['+', '-', ' ']) => hunk.push(line),
            _ => hunks.push(Vec::new()),
        }
    }
    hunks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_lines_are_found_with_and_without_their_number() {
        let hash = |text: &str| Hash::of_text(text).to_string();
        let text = "a\nb\r\nc\n";
        assert_eq!(in_text(text, &hash(""), Some(2)), Some(false));
        for (run, count) in [("a", 1), ("b\nc", 2), ("b\nc\n", 2), (text, 3)] {
            assert_eq!(in_text(text, &hash(run), None), Some(true), "{run:?}");
            assert_eq!(
                in_text(text, &hash(run), Some(count)),
                Some(true),
                "{run:?}"
            );
            assert_eq!(
                in_text(text, &hash(run), Some(count + 1)),
                Some(false),
                "{run:?}"
            );
        }
        assert_eq!(in_text(text, &hash("a\nc"), None), Some(false));
    }

    #[test]
    fn long_texts_are_not_searched_for_ever() {
        let text = "the same line\n".repeat(10_000);
        assert_eq!(in_text(&text, "none", None), None);
        assert_eq!(in_text(&text, "none", Some(3)), Some(false));
    }
}
