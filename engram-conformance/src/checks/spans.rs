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
    let field = |name: &str| if part.is_empty() { name.to_owned() } else { format!("{part}_{name}") };
    let range = event.range(&field("range"))?;
    let Some(text) = text else {
        return Some(format!("{part}_range {range:?} of a file that did not exist or was not UTF-8"))
            .filter(|_| range != (1, 0) && range != (0, 0));
    };
    let Some(span) = text.span(range) else {
        return Some(format!("{part}_range {range:?} of a file of {} lines", text.0.len()));
    };
    let actual = event.text(&field("hash"));
    if actual.is_some_and(|actual| !is_lossless(&span) || actual != Hash::of_text(&span).to_string()) {
        return Some(format!("{part}_hash is not that of lines {range:?}, `{}`", excerpt(&span)));
    }
    let found = event.0.get(field("anchor_hashes")).and_then(Value::as_array)?;
    let real: Vec<Value> = anchors(&span).iter().map(|anchor| Value::from(format!("{anchor:016x}"))).collect();
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

/// True if some complete lines of the text, with or without the last line end, have the hash.
pub fn in_text(text: &str, hash: &str) -> bool {
    let text = text.replace("\r\n", "\n");
    let starts: Vec<usize> = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    starts.iter().enumerate().any(|(n, from)| {
        starts[n..].iter().chain([&text.len()]).any(|to| {
            let run = &text[*from..*to];
            Hash::of_text(run).to_string() == hash || run.strip_suffix('\n').is_some_and(|run| Hash::of_text(run).to_string() == hash)
        })
    })
}

/// True if some complete lines of a patch hunk in the arguments, before or after the patch, have the hash.
pub fn in_patch(args: &Value, hash: &str) -> bool {
    let patches = strings(args).into_iter().filter(|text| text.contains("*** Begin Patch"));
    patches.flat_map(hunks).any(|hunk| {
        ['-', '+'].into_iter().any(|sign| {
            let kept: Vec<&str> = hunk.iter().filter_map(|line| line.strip_prefix([sign, ' '])).collect();
            in_text(&kept.join("\n"), hash)
        })
    })
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
