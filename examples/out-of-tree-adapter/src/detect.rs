//! Detection and identification: what the head of a log proves.

use engram_adapters::shared::time::from_seconds;
use engram_adapters::shared::value::{StructuralIndex, Value, integer, parse};
use engram_core::adapter::{Evidence, Framing, Identity};
use engram_core::head::Head;

use crate::descriptor::SCHEMA;
use crate::schema::{HEADER_FIELDS, Message};

/// The one detection mark: a header line.
pub const HEADER_MARK: &str = "goose.header";

/// Recognises a Goose log by its header.
pub fn probe(head: &Head<'_>) -> Option<Evidence> {
    let line = head.lines().next()?;
    let is_header = line.contains("\"working_dir\"") && line.contains("\"message_count\"");
    is_header.then(|| Evidence {
        marks: vec![HEADER_MARK],
        framing: Framing::Lines,
    })
}

/// Logs name no version. A header of known fields proves the schema; any other header is unknown, not guessed.
pub fn identify(head: &Head<'_>) -> Identity {
    let mut index = StructuralIndex::default();
    let mut lines = head.lines();
    let is_proven = lines
        .next()
        .is_some_and(|line| parse(line, &mut index).is_ok_and(is_known_header));
    let start = lines.next().and_then(|line| {
        let message = Message::lenient(parse(line, &mut index).ok()?);
        from_seconds(integer(message.created())?)
    });
    Identity {
        schema: is_proven.then_some(SCHEMA),
        start,
        ..Identity::default()
    }
}

fn is_known_header(header: Value<'_>) -> bool {
    header.is_object()
        && header
            .members()
            .all(|(name, _)| HEADER_FIELDS.contains(&name))
}
