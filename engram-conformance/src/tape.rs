//! Tapes as the checks see them: parsed by an ordinary JSON reader, not by the code that wrote them.

use engram_core::event::Kind;
use serde_json::Value;

/// One parsed event.
#[derive(Debug, Clone)]
pub struct Event(pub Value);

impl Event {
    /// Its kind, if it is one of the eight.
    pub fn kind(&self) -> Option<Kind> {
        Kind::from_name(self.text("k").unwrap_or_default())
    }

    /// True when it is of that kind.
    pub fn is(&self, kind: Kind) -> bool {
        self.kind() == Some(kind)
    }

    /// True for a `meta` of that label.
    pub fn is_meta(&self, label: &str) -> bool {
        self.is(Kind::Meta) && self.label() == Some(label)
    }

    /// The line of the source that it comes from.
    pub fn line(&self) -> Option<u64> {
        self.0.pointer("/origin/line").and_then(Value::as_u64)
    }

    /// A field that counts something.
    pub fn number(&self, key: &str) -> Option<u64> {
        self.0.get(key).and_then(Value::as_u64)
    }

    /// True when it has the field.
    pub fn has(&self, key: &str) -> bool {
        self.0.get(key).is_some()
    }

    /// A string field.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(Value::as_str)
    }

    /// True when it repeats another session's history.
    pub fn is_replay(&self) -> bool {
        self.0.get("replay") == Some(&Value::Bool(true))
    }

    /// The label of a `meta` event.
    pub fn label(&self) -> Option<&str> {
        self.text("label")
    }

    /// A line range.
    pub fn range(&self, key: &str) -> Option<(usize, usize)> {
        let range = self.0.get(key)?.as_array()?;
        Some((usize::try_from(range.first()?.as_u64()?).ok()?, usize::try_from(range.get(1)?.as_u64()?).ok()?))
    }
}

/// The events of a tape. What is no JSON is left out: `tape.canonical` says so.
pub fn events(tape: &str) -> Vec<Event> {
    tape.split('\n').filter_map(|line| parse(line).ok().filter(Value::is_object).map(Event)).collect()
}

/// Reads JSON whose strings may escape lone surrogates, which then count as U+FFFD.
///
/// # Errors
/// As [`serde_json`] gives them.
pub fn parse(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(text).or_else(|error| match without_lone_surrogates(text) {
        Some(replaced) => serde_json::from_str(&replaced),
        None => Err(error),
    })
}

fn without_lone_surrogates(text: &str) -> Option<String> {
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
    u16::from_str_radix(digits, 16).ok().filter(|unit| (0xd800..0xe000).contains(unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lone_surrogates_do_not_hide_a_tape_from_the_gates() {
        assert_eq!(parse(r#"["\ud83d\ude00 \ud800 \\ud800 \udc00"]"#).unwrap()[0], "😀 \u{fffd} \\ud800 \u{fffd}");
        assert!(parse("[").is_err());
    }
}
