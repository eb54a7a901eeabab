//! Tapes as the gates see them: made of an artifact in a given way, and parsed without the crate's own reader.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock};

use engram_core::adapter::{Context, StreamAdapter};
use engram_core::drive::{Input, Options, Summary, convert};
use engram_core::error::AdapterError;
use engram_core::event::Kind;
use engram_core::head::Head;
use engram_core::limits::Limits;
use engram_core::policy::Policy;
use serde_json::Value;

use crate::tree::Artifact;

/// A converted artifact.
pub struct Tape {
    /// The tape's bytes.
    pub text: String,
    /// What the driver says of it.
    pub summary: Summary,
}

/// Converts bytes by one adapter.
pub fn convert_bytes(adapter: &dyn StreamAdapter, bytes: &[u8], policy: Policy, context: Context) -> Result<Tape, AdapterError> {
    let options = Options { policy, context, ..Options::default() };
    let mut out = Vec::new();
    let summary = convert(adapter, Input::new(bytes, options.limits), &options, &mut out)?;
    Ok(Tape { text: String::from_utf8(out).expect("a tape is UTF-8"), summary })
}

/// What the files around an artifact say.
pub fn surroundings(artifact: &Artifact) -> Context {
    if let Some(context) = &artifact.stored {
        return context.clone();
    }
    let mut input = Input::new(artifact.bytes.as_slice(), Limits::default());
    let head: Head<'_> = input.head().expect("memory can be read");
    (artifact.entry.surroundings)(&artifact.path, &head)
}

/// Converts an artifact as the command does, with its surroundings.
pub fn convert_artifact(artifact: &Artifact) -> Result<Tape, AdapterError> {
    convert_bytes(artifact.entry.adapter, &artifact.bytes, policy_for(artifact), surroundings(artifact))
}

/// Strict, since every session of the tree is of a supported version; but for the few that record no version and
/// whose structure proves no schema, which the strict policy has to refuse.
pub fn policy_for(artifact: &Artifact) -> Policy {
    let mut input = Input::new(artifact.bytes.as_slice(), Limits::default());
    let identity = artifact.entry.adapter.identify(&input.head().expect("memory can be read"));
    let is_identified = identity.version.is_some() || identity.schema.is_some();
    if is_identified { Policy::Strict } else { Policy::Permissive }
}

/// As [`convert_artifact`], each artifact once for all gates.
pub fn tape_of(artifact: &'static Artifact) -> Result<&'static Tape, String> {
    type Made = OnceLock<Result<Tape, String>>;
    static TAPES: OnceLock<Mutex<HashMap<usize, &'static Made>>> = OnceLock::new();
    let made: &'static Made = {
        let mut tapes = TAPES.get_or_init(Mutex::default).lock().expect("no gate panics while it holds the table");
        tapes.entry(std::ptr::from_ref(artifact) as usize).or_insert_with(|| Box::leak(Box::default()))
    };
    made.get_or_init(|| convert_artifact(artifact).map_err(|error| format!("{}: {error}", artifact.full_name())))
        .as_ref()
        .map_err(Clone::clone)
}

/// One parsed event.
#[derive(Debug, Clone)]
pub struct Event(pub Value);

impl Event {
    /// Its kind.
    pub fn kind(&self) -> Kind {
        Kind::from_name(self.text("k").unwrap_or_default()).expect("the checker gate proves kinds")
    }

    /// True when it is of that kind.
    pub fn is(&self, kind: Kind) -> bool {
        self.kind() == kind
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

/// The events of a tape.
pub fn events(tape: &str) -> Vec<Event> {
    tape.lines().map(|line| Event(parse(line).unwrap_or_else(|error| panic!("a tape line is JSON: {error}: {line}")))).collect()
}

/// Parses JSON whose strings may escape lone surrogates, which then count as U+FFFD.
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
