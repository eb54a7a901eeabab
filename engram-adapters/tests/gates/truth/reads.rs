//! Reads: a `code.read` hashes the lines that the model was really shown.

use engram_core::anchor::anchors;
use engram_core::event::Kind;
use engram_core::hash::{Hash, is_pinned};
use serde_json::Value;

use super::Scene;
use super::edits::in_project;
use super::spans::{self, Lines};
use crate::tape::Event;

/// Every `code.read` against the numbered lines of its result.
pub fn check(scene: &mut Scene<'_>) {
    let reads: Vec<_> = scene.events(Kind::CodeRead).collect();
    for (_, event) in reads {
        let id = event.text("call_id").unwrap_or_default();
        let Some(returned) = scene.truth.results.iter().find(|returned| returned.id == id) else {
            of_file(scene, event);
            continue;
        };
        if returned.is_error == Some(true) {
            scene.find(format!("code.read of {id}, which failed"));
            continue;
        }
        let (Some((first, last)), Some(shown)) = (event.range("range"), numbered(&returned.text)) else {
            scene.tally.count("reads without lines");
            continue;
        };
        scene.tally.count("reads");
        let text = shown.iter().filter(|(number, _)| (first..=last).contains(number)).map(|(_, line)| *line).collect::<Vec<_>>();
        let shown_last = shown.last().map_or(0, |(number, _)| *number);
        let dropped = shown.last().is_some_and(|(_, line)| line.is_empty());
        if shown.first().is_some_and(|(number, _)| *number != first) || (last != shown_last && !(dropped && last + 1 == shown_last)) {
            scene.find(format!("code.read of {id} has range [{first},{last}], the model saw up to line {shown_last}"));
            continue;
        }
        let text = text.join("\n");
        let expected = is_pinned(&text).then(|| Hash::of_text(&text).to_string());
        if event.text("hash") != expected.as_deref() {
            scene.find(format!(
                "code.read of {id} has hash {:?} over lines {first} to {last}, which hash to {expected:?}",
                event.text("hash")
            ));
        }
        let said: Vec<&str> =
            event.0.get("anchor_hashes").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        let real: Vec<String> =
            if is_pinned(&text) { anchors(&text).iter().map(|anchor| format!("{anchor:016x}")).collect() } else { Vec::new() };
        if said != real {
            scene.find(format!("code.read of {id} has {} anchors, its text has {}", said.len(), real.len()));
        }
    }
}

/// A read whose result truth does not hold, against the texts that the file is known to have had.
fn of_file(scene: &mut Scene<'_>, event: &Event) {
    let file = in_project(event.text("file").unwrap_or_default());
    let of_file = scene.truth.edits.iter().filter(|real| real.file == file);
    let texts: Vec<Lines> = of_file.flat_map(|real| [&real.before, &real.after]).flatten().map(|text| Lines::new(text)).collect();
    if texts.is_empty() || event.range("range").is_none() {
        return scene.tally.count("reads of files that truth does not know");
    }
    scene.tally.count("reads of known files");
    let total = event.0.get("total_lines").and_then(Value::as_u64);
    let is_of = |text: &Lines| total.is_none_or(|total| total == text.count()) && spans::refuted(event, "", Some(text)).is_none();
    if !texts.iter().any(is_of) {
        let id = event.text("call_id").unwrap_or_default();
        scene.find(format!("code.read of {id} on {file}: range, total_lines, hash or anchors fit no text that the file had"));
    }
}

/// The lines of a result that shows them with their numbers, up to the first line without one.
fn numbered(text: &str) -> Option<Vec<(usize, &str)>> {
    let lines: Vec<(usize, &str)> = text.split('\n').map_while(numbered_line).collect();
    (!lines.is_empty()).then_some(lines)
}

fn numbered_line(line: &str) -> Option<(usize, &str)> {
    let (number, rest) = line.split_once(['\t', '→'])?;
    Some((number.trim_start().parse().ok()?, rest.strip_suffix('\r').unwrap_or(rest)))
}
