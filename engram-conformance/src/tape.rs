//! Reads tapes with an ordinary JSON parser, independently of the code that writes them.

use engram_core::event::Kind;
use serde_json::Value;

/// One parsed event.
#[derive(Debug, Clone)]
pub struct Event(pub Value);

impl Event {
    /// Its kind; `None` if it is not one of the eight.
    pub fn kind(&self) -> Option<Kind> {
        Kind::from_name(self.text("k").unwrap_or_default())
    }

    /// True if it has this kind.
    pub fn is(&self, kind: Kind) -> bool {
        self.kind() == Some(kind)
    }

    /// True for a `meta` event with this label.
    pub fn is_meta(&self, label: &str) -> bool {
        self.is(Kind::Meta) && self.label() == Some(label)
    }

    /// The source line that it comes from, from 1.
    pub fn line(&self) -> Option<u64> {
        self.0.pointer("/origin/line").and_then(Value::as_u64)
    }

    /// An unsigned number field.
    pub fn number(&self, key: &str) -> Option<u64> {
        self.0.get(key).and_then(Value::as_u64)
    }

    /// True if it has the field.
    pub fn has(&self, key: &str) -> bool {
        self.0.get(key).is_some()
    }

    /// A string field.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(Value::as_str)
    }

    /// True if it repeats the history of another session.
    pub fn is_replay(&self) -> bool {
        self.0.get("replay") == Some(&Value::Bool(true))
    }

    /// The label of a `meta` event.
    pub fn label(&self) -> Option<&str> {
        self.text("label")
    }

    /// A line range: first and last line, both inclusive.
    pub fn range(&self, key: &str) -> Option<(usize, usize)> {
        let range = self.0.get(key)?.as_array()?;
        Some((
            usize::try_from(range.first()?.as_u64()?).ok()?,
            usize::try_from(range.get(1)?.as_u64()?).ok()?,
        ))
    }
}

/// The events of a tape. Skips lines that are not JSON objects; the check `tape.canonical` reports them.
pub fn events(tape: &str) -> Vec<Event> {
    tape.split('\n')
        .filter_map(|line| parse(line).ok().filter(Value::is_object).map(Event))
        .collect()
}

/// Parses JSON. Escaped lone surrogates, which serde_json refuses, become U+FFFD.
///
/// # Errors
/// Those of [`serde_json`].
pub fn parse(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(text).or_else(|error| match without_lone_surrogates(text) {
        Some(replaced) => serde_json::from_str(&replaced),
        None => Err(error),
    })
}

/// The text with U+FFFD for each escaped lone surrogate. `None` if it has none.
pub(crate) fn without_lone_surrogates(text: &str) -> Option<String> {
    let (mut out, mut rest, mut found) = (String::with_capacity(text.len()), text, false);
    while let Some(at) = rest.find('\\') {
        let (unit, next) = (surrogate(rest, at), surrogate(rest, at + 6));
        let (keep, take) = match (unit, next) {
            (Some(high), Some(low)) if high < 0xdc00 && low >= 0xdc00 => (true, 12),
            (Some(_), _) => (false, 6),
            (None, _) => (true, 2),
        };
        let end = (at + take).min(rest.len());
        let end = (end..=rest.len()).find(|end| rest.is_char_boundary(*end))?;
        out.push_str(&rest[..at]);
        out.push_str(if keep { &rest[at..end] } else { "\u{fffd}" });
        found |= !keep;
        rest = &rest[end..];
    }
    out.push_str(rest);
    found.then_some(out)
}

fn surrogate(text: &str, at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    u16::from_str_radix(digits, 16)
        .ok()
        .filter(|unit| (0xd800..0xe000).contains(unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lone_surrogates_become_replacement_characters() {
        assert_eq!(
            parse(r#"["\ud83d\ude00 \ud800 \\ud800 \udc00"]"#).unwrap()[0],
            "😀 \u{fffd} \\ud800 \u{fffd}"
        );
        assert!(parse("[").is_err());
    }
}
