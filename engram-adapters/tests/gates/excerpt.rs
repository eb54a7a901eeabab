//! Excerpts of big tapes: how many events of each kind, and every event with its long strings cut. A changed excerpt shows what
//! changed in a tape that is stored compressed.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use engram_core::hash::Hash;
use serde_json::Value;

/// Strings up to this length are not cut.
const STRING_BYTES: usize = 40;
/// The number of characters of a string's hash that are shown.
const HASH_CHARACTERS: usize = 8;

/// The excerpt of a tape. It changes with every byte of the tape, because it contains the tape's hash.
pub fn excerpt(tape: &str) -> String {
    let mut text = format!(
        "{} bytes, {}\n",
        tape.len(),
        Hash::of_bytes(tape.as_bytes())
    );
    for (kind, events) in events_by_kind(tape) {
        let _ = writeln!(text, "{events:6} {kind}");
    }
    let source = source(tape);
    for (index, line) in tape.lines().enumerate() {
        let line = if index == 0 {
            line.to_owned()
        } else {
            line.replacen(source, "", 1)
        };
        let _ = writeln!(text, "{}", with_strings_cut(&line));
    }
    text
}

/// The number of events of each kind and label.
fn events_by_kind(tape: &str) -> BTreeMap<String, u64> {
    let mut events = BTreeMap::new();
    for line in tape.lines() {
        let event: Value = serde_json::from_str(line).unwrap_or_default();
        let words = ["k", "label"].map(|key| event[key].as_str().unwrap_or_default());
        *events
            .entry(words.join(" ").trim_end().to_owned())
            .or_default() += 1;
    }
    events
}

/// The member `source` of the first event with its comma. Nearly every event has the same one, so the excerpt shows it once.
fn source(tape: &str) -> &str {
    let member = tape.find("\"source\":{").map_or("", |start| &tape[start..]);
    member.split_inclusive("},").next().unwrap_or_default()
}

/// An event's line, with the beginning, length and hash of each long string in its place.
fn with_strings_cut(line: &str) -> String {
    let (mut out, mut rest) = (String::new(), line);
    while let Some((before, after)) = rest.split_once('"') {
        let (string, rest_of_line) = after.split_at(end_of_string(after));
        let _ = write!(out, "{before}\"{}", cut(string));
        rest = rest_of_line
            .strip_prefix('"')
            .map_or(rest_of_line, |following| {
                out.push('"');
                following
            });
    }
    out + rest
}

/// The position of the closing quote.
fn end_of_string(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.bytes().position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    });
    end.unwrap_or(text.len())
}

fn cut(string: &str) -> String {
    if string.len() <= STRING_BYTES {
        return string.to_owned();
    }
    let hash = Hash::of_text(string).to_string();
    let digits: String = hash
        .rsplit(':')
        .next()
        .unwrap_or_default()
        .chars()
        .take(HASH_CHARACTERS)
        .collect();
    format!(
        "{}… {} bytes {digits}",
        &string[..string.floor_char_boundary(STRING_BYTES)],
        string.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_strings_are_cut() {
        let long = "é".repeat(STRING_BYTES);
        let line = format!(r#"{{"k":"meta","short":"a \"b\" \\","long":"{long}","n":[1,2]}}"#);
        let shown = with_strings_cut(&line);
        assert!(
            shown.starts_with(r#"{"k":"meta","short":"a \"b\" \\","long":"éé"#),
            "{shown}"
        );
        assert!(
            shown.contains("é… 80 bytes ") && shown.ends_with(r#"","n":[1,2]}"#),
            "{shown}"
        );
        assert!(shown.len() < line.len());
    }

    #[test]
    fn change_in_the_cut_part_changes_the_line() {
        let line = |end: &str| format!(r#"{{"text":"{}{end}"}}"#, "x".repeat(2 * STRING_BYTES));
        assert_ne!(with_strings_cut(&line("a")), with_strings_cut(&line("b")));
    }

    #[test]
    fn unterminated_string_is_kept() {
        assert_eq!(with_strings_cut(r#"{"k":"me"#), r#"{"k":"me"#);
    }

    #[test]
    fn source_is_shown_once_and_kinds_are_counted() {
        let tape = "{\"seq\":0,\"k\":\"meta\",\"source\":{\"harness\":\"x\"},\"label\":\"tape.start\"}\n{\"seq\":1,\"k\":\"msg.in\",\"source\":{\"harness\":\"x\"},\"text\":\"y\"}\n";
        let excerpt = excerpt(tape);
        assert_eq!(excerpt.matches("source").count(), 1, "{excerpt}");
        assert!(
            excerpt.contains("\n     1 meta tape.start\n     1 msg.in\n"),
            "{excerpt}"
        );
        assert!(
            excerpt.ends_with("{\"seq\":1,\"k\":\"msg.in\",\"text\":\"y\"}\n"),
            "{excerpt}"
        );
    }
}
