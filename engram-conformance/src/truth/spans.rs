//! Line spans of real files: what a range and a hash say, and whether the file agrees.

use engram_core::anchor::anchors;
use engram_core::hash::{Hash, is_lossless};
use serde_json::Value;

use crate::tape::Event;

/// A text as lines, line ends normalised.
pub struct Lines(Vec<String>);

impl Lines {
    /// The lines of a text. A final line end ends the last line and begins none.
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

    /// The lines of a 1-based inclusive range, or none where the text does not have them.
    fn span(&self, (first, last): (usize, usize)) -> Option<String> {
        Some(self.0.get(first.checked_sub(1)?..last)?.join("\n"))
    }
}

/// Why the real text refutes one side of an edit (`before`, `after`), or a read (no side), if it does.
pub fn refuted(event: &Event, side: &str, text: Option<&Lines>) -> Option<String> {
    let field = |name: &str| if side.is_empty() { name.to_owned() } else { format!("{side}_{name}") };
    let range = event.range(&field("range"))?;
    let Some(text) = text else {
        return Some(format!("{side}_range {range:?} of a file that was not there or not UTF-8"))
            .filter(|_| range != (1, 0) && range != (0, 0));
    };
    let Some(span) = text.span(range) else {
        return Some(format!("{side}_range {range:?} of a file of {} lines", text.0.len()));
    };
    let said = event.text(&field("hash"));
    if said.is_some_and(|said| !is_lossless(&span) || said != Hash::of_text(&span).to_string()) {
        return Some(format!("{side}_hash is not that of lines {range:?}, `{}`", crate::scene::short(&span)));
    }
    let found = event.0.get(field("anchor_hashes")).and_then(Value::as_array)?;
    let real: Vec<Value> = anchors(&span).iter().map(|anchor| Value::from(format!("{anchor:016x}"))).collect();
    (*found != real).then(|| format!("{side}_anchor_hashes are not those of lines {range:?}"))
}

/// True when what lies outside the spans is the same before and after; none where a span has no range.
pub fn explain(events: &[&Event], before: &Lines, after: &Lines) -> Option<bool> {
    let rest = |key: &str, lines: &Lines| -> Option<Vec<Option<String>>> {
        let mut kept: Vec<Option<String>> = lines.0.iter().cloned().map(Some).collect();
        for event in events.iter().rev() {
            let (first, last) = event.range(key)?;
            if first == 0 || last > kept.len() || last + 1 < first {
                return Some(Vec::new());
            }
            // Each span leaves a mark, so that spans on the two sides answer each other in order.
            kept.splice(first - 1..last, [None]);
        }
        Some(kept)
    };
    let (before, after) = (rest("before_range", before)?, rest("after_range", after)?);
    Some(!before.is_empty() && before == after)
}

/// The strings in a JSON value, at any depth.
pub fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(strings).collect(),
        Value::Object(fields) => fields.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}

/// True when a run of whole lines of the text, with its last line end or without, has the hash.
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

/// True when a run of whole lines of a patch hunk in the arguments, as they were or as they become, has the hash.
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
