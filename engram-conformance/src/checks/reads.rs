//! Compares reads with the ground truth: a `code.read` names the lines that the model saw, and hashes their text.

use engram_core::anchor::anchors;
use engram_core::event::Kind;
use engram_core::hash::{Hash, is_lossless};
use serde_json::Value;

use crate::case::Case;
use crate::converted_session::ConvertedSession;
use crate::outcome::Findings;
use crate::tape::Event;

/// The places of a line number before `|`.
const PADDED: usize = 6;

/// A read whose result shows the lines, with their numbers or as they are.
struct Read<'s> {
    session: &'s ConvertedSession,
    event: &'s Event,
    range: (usize, usize),
    shown: Vec<(usize, &'s str)>,
}

impl Read<'_> {
    /// True if the range is that of the lines in the result. A harness may number the empty line after the last one.
    fn is_right(&self) -> bool {
        let (first, last) = self.range;
        let shown_last = self.shown.last().map_or(0, |(number, _)| *number);
        let dropped = self
            .shown
            .last()
            .is_some_and(|(_, line)| line.trim_end_matches('\r').is_empty());
        self.shown
            .first()
            .is_some_and(|(number, _)| *number == first)
            && (last == shown_last || (dropped && last + 1 == shown_last))
    }

    /// The text of the lines. A carriage return at the end of each of several lines is a part of their line ends; else it may be a part
    /// of the line.
    /// None if the text contains U+FFFD, so that it may differ from the file.
    fn texts(&self) -> Vec<String> {
        let (first, last) = self.range;
        let lines = || {
            self.shown
                .iter()
                .filter(|(number, _)| (first..=last).contains(number))
                .map(|(_, line)| *line)
        };
        let bare: Vec<&str> = lines()
            .map(|line| line.strip_suffix('\r').unwrap_or(line))
            .collect();
        let has_windows_ends = last > first && lines().all(|line| line.ends_with('\r'));
        let as_shown = (!has_windows_ends).then(|| lines().collect::<Vec<_>>().join("\n"));
        [Some(bare.join("\n")), as_shown]
            .into_iter()
            .flatten()
            .filter(|text| is_lossless(text))
            .collect()
    }
}

/// Every read with the lines of its result. Notes the reads that cannot be compared.
fn reads<'s>(case: &'s Case<'_>, findings: &mut Findings) -> Vec<Read<'s>> {
    let mut reads = Vec::new();
    for (session, event) in case.events(Kind::CodeRead) {
        let id = event.text("call_id").unwrap_or_default();
        let Some(returned) = case.truth.results.iter().find(|returned| returned.id == id) else {
            continue;
        };
        let range = event.range("range");
        match (
            range,
            numbered(&returned.text).or_else(|| plain(&returned.text, range?)),
        ) {
            (Some(range), Some(shown)) if returned.is_error != Some(true) && !returned.is_cut() => {
                reads.push(Read {
                    session,
                    event,
                    range,
                    shown,
                })
            }
            _ => findings.note("reads without the lines in their result"),
        }
    }
    reads
}

/// Every `code.read` has the range of the lines in its result.
pub fn ranges(case: &Case<'_>, findings: &mut Findings) {
    for read in reads(case, findings) {
        if read.is_right() {
            findings.count("reads");
        } else {
            let ((first, last), shown) = (
                read.range,
                read.shown.last().map_or(0, |(number, _)| *number),
            );
            findings.fail(
                case.place_of(read.session, read.event),
                format!("range [{first},{last}], the model saw up to line {shown}"),
            );
        }
    }
}

/// Every `code.read` has the hash and the fingerprints of those lines, or none if the lines contain U+FFFD.
pub fn hashes(case: &Case<'_>, findings: &mut Findings) {
    for read in reads(case, findings).into_iter().filter(Read::is_right) {
        findings.count("reads");
        let texts = read.texts();
        let hash = read.event.text("hash");
        let text = texts
            .iter()
            .find(|text| Some(Hash::of_text(text).to_string().as_str()) == hash)
            .or(texts.first());
        let expected = text.map(|text| Hash::of_text(text).to_string());
        if hash != expected.as_deref() {
            findings.fail(
                case.place_of(read.session, read.event),
                format!(
                    "hash {}, the lines hash to {}",
                    hash.unwrap_or("none"),
                    expected.as_deref().unwrap_or("none")
                ),
            );
        }
        let actual: Vec<&str> = read
            .event
            .0
            .get("anchor_hashes")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let real: Vec<String> = text
            .into_iter()
            .flat_map(|text| anchors(text))
            .map(|anchor| format!("{anchor:016x}"))
            .collect();
        if actual != real {
            findings.fail(
                case.place_of(read.session, read.event),
                format!(
                    "{} fingerprints, the lines have {}",
                    actual.len(),
                    real.len()
                ),
            );
        }
    }
}

/// A failed call has no `code.read`.
pub fn of_failed(case: &Case<'_>, findings: &mut Findings) {
    for (session, event) in case.events(Kind::CodeRead) {
        findings.count("reads");
        if session.has_failed(event) {
            findings.fail(
                case.place_of(session, event),
                "a code.read of a failed call",
            );
        }
    }
}

/// The numbered lines of a result, up to the first line without a number.
fn numbered(text: &str) -> Option<Vec<(usize, &str)>> {
    let lines: Vec<(usize, &str)> = text.split('\n').map_while(numbered_line).collect();
    (!lines.is_empty()).then_some(lines)
}

/// The lines of a result that is nothing but the lines of the range. A final line end begins no line.
fn plain(text: &str, (first, last): (usize, usize)) -> Option<Vec<(usize, &str)>> {
    let lines = || text.strip_suffix('\n').unwrap_or(text).split('\n');
    (lines().count() == (last + 1).checked_sub(first)?).then(|| (first..).zip(lines()).collect())
}

/// A number and a mark, then the line. With the mark `|` the number has six places, so that a file with such lines is not taken for numbers.
fn numbered_line(line: &str) -> Option<(usize, &str)> {
    let (number, rest) = line.split_once(['\t', '→', '|'])?;
    let is_bar = line[number.len()..].starts_with('|');
    if is_bar && !(number.len() >= PADDED && number.starts_with(' ')) {
        return None;
    }
    Some((number.trim_start().parse().ok()?, rest))
}

#[test]
fn line_numbers_stand_before_a_tab_an_arrow_or_in_six_places_before_a_bar() {
    for text in ["1\ta|b", "     1→a|b", "     1|a|b"] {
        assert_eq!(numbered_line(text), Some((1, "a|b")), "{text}");
    }
    for text in ["1|a", "a|b", "      |a", "1 a"] {
        assert_eq!(numbered_line(text), None, "{text}");
    }
}
