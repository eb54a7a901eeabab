//! A session with some of its lines written again, and what its tape says.

use std::collections::BTreeMap;

use engram_core::keys::hash64;

use crate::converted_session::ConvertedSession;
use crate::subject::Subject;
use crate::tape::Event;

/// Where lines are written again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Each directly after itself.
    After,
    /// Each of them twice, after itself or later lines that a seed chooses.
    Between,
    /// All of them after the last line, in their order.
    AtEnd,
}

/// Decides after which lines other lines are written again.
const SEED: u64 = 31;
/// How often a line is written again among later ones.
const TIMES: usize = 2;

impl Way {
    /// Words for messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Way::After => "directly after it",
            Way::Between => "twice among later lines",
            Way::AtEnd => "at the end",
        }
    }
}

/// What changes on the tape if these lines (from 0, ascending) are written again. `None` if nothing does.
pub fn difference_with_repeats(
    subject: &Subject<'_>,
    session: &ConvertedSession,
    lines: &[usize],
    way: Way,
) -> Option<String> {
    let input = &session.input;
    let again = input.with_bytes(with_lines_again(&input.bytes, lines, way));
    match subject.tape(&again) {
        Ok(tape) => first_difference(&session.tape, &tape.text),
        Err(error) => Some(error.to_string()),
    }
}

/// True if the session itself still gives the same tape. Otherwise repeats prove nothing.
pub fn is_steady(subject: &Subject<'_>, session: &ConvertedSession) -> bool {
    subject
        .tape(&session.input)
        .is_ok_and(|tape| tape.text == session.tape)
}

/// The source with these lines written again.
fn with_lines_again(source: &[u8], lines: &[usize], way: Way) -> Vec<u8> {
    let mut changed = Vec::with_capacity(2 * source.len());
    let texts: Vec<&[u8]> = source.split_inclusive(|byte| *byte == b'\n').collect();
    let mut again: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for line in lines.iter().copied() {
        for after in places(line, texts.len(), way) {
            again.entry(after).or_default().push(line);
        }
    }
    for (at, text) in texts.iter().enumerate() {
        add_line(&mut changed, text);
        again
            .remove(&at)
            .into_iter()
            .flatten()
            .for_each(|line| add_line(&mut changed, texts[line]));
    }
    changed
}

/// The lines after which a line is written again, in a log with `count` lines.
fn places(line: usize, count: usize, way: Way) -> Vec<usize> {
    match way {
        Way::After => vec![line],
        Way::AtEnd => vec![count - 1],
        Way::Between => (0..TIMES)
            .map(|time| line + hash64((SEED, line, time)) as usize % (count - line))
            .collect(),
    }
}

fn add_line(text: &mut Vec<u8>, line: &[u8]) {
    if text.last().is_some_and(|last| *last != b'\n') {
        text.push(b'\n');
    }
    text.extend(line);
}

/// The first event that one of two tapes has and the other one has not, apart from what counts records and names their lines.
fn first_difference(one: &str, other: &str) -> Option<String> {
    let (mut lines, mut others) = (one.lines(), other.lines());
    loop {
        match (lines.next(), others.next()) {
            (None, None) => return None,
            (line, other) if line.map(without_place) == other.map(without_place) => {}
            (line, other) => return Some(format!("{} instead of {}", named(other), named(line))),
        }
    }
}

/// An event without the line of its record; the last event without its counts, and with its time.
fn without_place(event: &str) -> (&str, &str) {
    const ORIGIN: &str = "\"origin\":{\"line\":";
    const STOP: &str = "\"label\":\"tape.stop\"";
    if let Some(at) = event.find(STOP).filter(|_| !event.contains(ORIGIN)) {
        return (
            &event[..at],
            if event.ends_with("\"complete\":false}") {
                "incomplete"
            } else {
                "complete"
            },
        );
    }
    match event.rfind(ORIGIN) {
        Some(at) => (
            &event[..at],
            event[at + ORIGIN.len()..].trim_start_matches(|digit: char| digit.is_ascii_digit()),
        ),
        None => (event, ""),
    }
}

/// The kind and label of an event.
fn named(line: Option<&str>) -> String {
    let event = line
        .and_then(|line| crate::tape::parse(line).ok())
        .map(Event);
    match &event {
        None => "nothing".to_owned(),
        Some(event) => [event.text("k"), event.label()]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_written_again_behind_themselves_or_at_the_end() {
        let text = |lines: &[usize], way| {
            String::from_utf8(with_lines_again(b"a\nb\nc", lines, way)).unwrap()
        };
        assert_eq!(text(&[0, 2], Way::After), "a\na\nb\nc\nc");
        assert_eq!(text(&[0, 1], Way::AtEnd), "a\nb\nc\na\nb\n");
        assert_eq!(text(&[2], Way::AtEnd), "a\nb\nc\nc");
    }

    #[test]
    fn lines_are_written_again_twice_among_later_ones() {
        let source: String = (0..40).map(|line| format!("{line}\n")).collect();
        let lines: Vec<usize> = (0..40).collect();
        let text =
            String::from_utf8(with_lines_again(source.as_bytes(), &lines, Way::Between)).unwrap();
        for line in 0..40 {
            assert_eq!(
                text.lines()
                    .filter(|other| *other == line.to_string())
                    .count(),
                1 + TIMES
            );
        }
        let firsts: Vec<&str> = text
            .lines()
            .enumerate()
            .filter(|(at, line)| !text.lines().take(*at).any(|other| other == *line))
            .map(|(_, line)| line)
            .collect();
        assert!(
            firsts
                .iter()
                .enumerate()
                .all(|(at, line)| *line == at.to_string()),
            "the first of each stays in its order"
        );
        assert_ne!(places(3, 40, Way::Between), [3, 3]);
    }

    #[test]
    fn tapes_differ_by_events_and_not_by_lines_or_counts() {
        let one = r#"{"seq":0,"k":"msg.in","text":"x","origin":{"line":2,"id":"a"}}
{"seq":1,"k":"meta","label":"tape.stop","counts":{"meta":1},"complete":true}"#;
        let other = one
            .replace("\"line\":2", "\"line\":13")
            .replace("\"meta\":1", "\"meta\":2");
        assert_eq!(first_difference(one, &other), None);
        let other = one.replace("\"x\"", "\"y\"");
        assert_eq!(
            first_difference(one, &other).as_deref(),
            Some("msg.in instead of msg.in")
        );
        let other = one.lines().last().unwrap_or_default();
        assert_eq!(
            first_difference(one, other).as_deref(),
            Some("meta tape.stop instead of msg.in")
        );
        assert!(first_difference(one, &one.replace("true", "false")).is_some());
        assert!(
            first_difference(
                one,
                &one.replace("\"seq\":1,", "\"seq\":1,\"t\":\"2026-01-01T00:00:00Z\",")
            )
            .is_some()
        );
    }
}
