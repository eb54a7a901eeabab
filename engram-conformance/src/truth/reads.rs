//! Reads: a `code.read` names the lines that the model was really shown, and hashes their text.

use engram_core::anchor::anchors;
use engram_core::event::Kind;
use engram_core::hash::{Hash, is_lossless};
use serde_json::Value;

use super::edits::in_project;
use super::spans::{self, Lines};
use crate::outcome::Found;
use crate::scene::{Scene, Side};
use crate::tape::Event;

/// A read whose result shows its lines with their numbers.
struct Read<'s> {
    side: &'s Side,
    event: &'s Event,
    range: (usize, usize),
    shown: Vec<(usize, &'s str)>,
}

impl Read<'_> {
    /// True when the range is that of the lines shown. A harness may number the empty line after the last one.
    fn is_right(&self) -> bool {
        let (first, last) = self.range;
        let shown_last = self.shown.last().map_or(0, |(number, _)| *number);
        let dropped = self.shown.last().is_some_and(|(_, line)| line.is_empty());
        self.shown.first().is_some_and(|(number, _)| *number == first) && (last == shown_last || (dropped && last + 1 == shown_last))
    }

    /// The text of the lines, if it can stand for that of the file.
    fn text(&self) -> Option<String> {
        let (first, last) = self.range;
        let lines = self.shown.iter().filter(|(number, _)| (first..=last).contains(number)).map(|(_, line)| *line);
        Some(lines.collect::<Vec<_>>().join("\n")).filter(|text| is_lossless(text))
    }
}

/// Every read with the numbered lines of its result. Counts those that cannot be judged.
fn reads<'s>(scene: &'s Scene<'_>, found: &mut Found) -> Vec<Read<'s>> {
    let mut reads = Vec::new();
    for (side, event) in scene.events(Kind::CodeRead) {
        let id = event.text("call_id").unwrap_or_default();
        let Some(returned) = scene.truth.results.iter().find(|returned| returned.id == id) else {
            continue;
        };
        match (event.range("range"), numbered(&returned.text)) {
            (Some(range), Some(shown)) if returned.is_error != Some(true) => reads.push(Read { side, event, range, shown }),
            _ => found.note("reads without lines"),
        }
    }
    reads
}

/// Every `code.read` has the range of the lines that its result shows.
pub fn ranges(scene: &Scene<'_>, found: &mut Found) {
    for read in reads(scene, found) {
        if read.is_right() {
            found.count("reads");
        } else {
            let ((first, last), shown) = (read.range, read.shown.last().map_or(0, |(number, _)| *number));
            found.fail(scene.at(read.side, read.event), format!("range [{first},{last}], the model saw up to line {shown}"));
        }
    }
}

/// A read whose result truth does not hold, against the texts that the file is known to have had.
fn of_known_files(scene: &Scene<'_>, found: &mut Found) {
    for (side, event) in scene.events(Kind::CodeRead) {
        let id = event.text("call_id").unwrap_or_default();
        if scene.truth.results.iter().any(|returned| returned.id == id) {
            continue;
        }
        let file = in_project(event.text("file").unwrap_or_default());
        let of_file = scene.truth.edits.iter().filter(|real| real.file == file);
        let texts: Vec<Lines> = of_file.flat_map(|real| [&real.before, &real.after]).flatten().map(|text| Lines::new(text)).collect();
        if texts.is_empty() || event.range("range").is_none() {
            found.note("reads of files that truth does not know");
            continue;
        }
        let total = event.number("total_lines");
        let is_of = |text: &Lines| total.is_none_or(|total| total == text.count()) && spans::refuted(event, "", Some(text)).is_none();
        if texts.iter().any(is_of) {
            found.count("reads of known files");
        } else {
            found.fail(scene.at(side, event), format!("range, total_lines, hash or fingerprints fit no text that {file} had"));
        }
    }
}

/// Every `code.read` has the hash and the fingerprints of those lines, or none where U+FFFD stands in them.
pub fn hashes(scene: &Scene<'_>, found: &mut Found) {
    of_known_files(scene, found);
    for read in reads(scene, found).into_iter().filter(Read::is_right) {
        found.count("reads");
        let text = read.text();
        let expected = text.as_deref().map(|text| Hash::of_text(text).to_string());
        if read.event.text("hash") != expected.as_deref() {
            let said = read.event.text("hash").unwrap_or("none");
            found
                .fail(scene.at(read.side, read.event), format!("hash {said}, the lines hash to {}", expected.as_deref().unwrap_or("none")));
        }
        let said: Vec<&str> =
            read.event.0.get("anchor_hashes").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        let real: Vec<String> = text.iter().flat_map(|text| anchors(text)).map(|anchor| format!("{anchor:016x}")).collect();
        if said != real {
            found.fail(scene.at(read.side, read.event), format!("{} fingerprints, the lines have {}", said.len(), real.len()));
        }
    }
}

/// No `code.read` of a call that failed.
pub fn of_failed(scene: &Scene<'_>, found: &mut Found) {
    for (side, event) in scene.events(Kind::CodeRead) {
        found.count("reads");
        if side.has_failed(event) {
            found.fail(scene.at(side, event), "a code.read of a call that failed");
        }
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
