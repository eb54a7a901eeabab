//! A session with some of its lines written again, and what its tape says.

use crate::subject::Subject;
use crate::tape::Event;
use crate::{converted_session::ConvertedSession, session::Session};

/// Where lines are written again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Each directly after itself.
    After,
    /// All of them after the last line, in their order.
    AtEnd,
}

impl Way {
    /// Words for messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Way::After => "directly after it",
            Way::AtEnd => "at the end",
        }
    }
}

/// What changes on the tape if these lines (from 0, ascending) are written again. `None` if nothing does.
pub fn changed_session(subject: &Subject<'_>, session: &ConvertedSession, lines: &[usize], way: Way) -> Option<String> {
    let input = &session.input;
    let again = Session {
        name: input.name.clone(),
        path: input.path.clone(),
        bytes: with_lines_again(&input.bytes, lines, way),
        context: input.context.clone(),
        form: input.form,
        is_exported_by_opener: input.is_exported_by_opener,
    };
    match subject.tape(&again) {
        Ok(tape) => first_difference(&session.tape, &tape),
        Err(error) => Some(error.to_string()),
    }
}

/// True if the session itself still gives the same tape. Otherwise repeats prove nothing.
pub fn is_steady(subject: &Subject<'_>, session: &ConvertedSession) -> bool {
    subject.tape(&session.input).is_ok_and(|tape| tape == session.tape)
}

/// The source with these lines written again.
fn with_lines_again(source: &[u8], lines: &[usize], way: Way) -> Vec<u8> {
    let mut changed = Vec::with_capacity(2 * source.len());
    let mut next = lines.iter().copied().peekable();
    let mut at_end: Vec<&[u8]> = Vec::new();
    for (at, line) in source.split_inclusive(|byte| *byte == b'\n').enumerate() {
        add_line(&mut changed, line);
        if next.next_if_eq(&at).is_some() {
            match way {
                Way::After => add_line(&mut changed, line),
                Way::AtEnd => at_end.push(line),
            }
        }
    }
    at_end.into_iter().for_each(|line| add_line(&mut changed, line));
    changed
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

/// An event without the line of its record; the last event without its counts.
fn without_place(event: &str) -> (&str, &str) {
    const ORIGIN: &str = "\"origin\":{\"line\":";
    const STOP: &str = "\"label\":\"tape.stop\"";
    if event.contains(STOP) && !event.contains(ORIGIN) {
        return (STOP, if event.ends_with("\"complete\":false}") { "incomplete" } else { "complete" });
    }
    match event.rfind(ORIGIN) {
        Some(at) => (&event[..at], event[at + ORIGIN.len()..].trim_start_matches(|digit: char| digit.is_ascii_digit())),
        None => (event, ""),
    }
}

/// The kind and label of an event.
fn named(line: Option<&str>) -> String {
    let event = line.and_then(|line| crate::tape::parse(line).ok()).map(Event);
    match &event {
        None => "nothing".to_owned(),
        Some(event) => [event.text("k"), event.label()].into_iter().flatten().collect::<Vec<_>>().join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_written_again_behind_themselves_or_at_the_end() {
        let text = |lines: &[usize], way| String::from_utf8(with_lines_again(b"a\nb\nc", lines, way)).unwrap();
        assert_eq!(text(&[0, 2], Way::After), "a\na\nb\nc\nc");
        assert_eq!(text(&[0, 1], Way::AtEnd), "a\nb\nc\na\nb\n");
        assert_eq!(text(&[2], Way::AtEnd), "a\nb\nc\nc");
    }

    #[test]
    fn tapes_differ_by_events_and_not_by_lines_or_counts() {
        let one = r#"{"seq":0,"k":"msg.in","text":"x","origin":{"line":2,"id":"a"}}
{"seq":1,"k":"meta","label":"tape.stop","counts":{"meta":1},"complete":true}"#;
        let other = one.replace("\"line\":2", "\"line\":13").replace("\"meta\":1", "\"meta\":2");
        assert_eq!(first_difference(one, &other), None);
        let other = one.replace("\"x\"", "\"y\"");
        assert_eq!(first_difference(one, &other).as_deref(), Some("msg.in instead of msg.in"));
        let other = one.lines().last().unwrap_or_default();
        assert_eq!(first_difference(one, other).as_deref(), Some("meta tape.stop instead of msg.in"));
        assert!(first_difference(one, &one.replace("true", "false")).is_some());
    }
}
