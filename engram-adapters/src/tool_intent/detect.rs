//! Detection by the header, and the identity that it says.

use engram_core::adapter::{Evidence, Framing, Identity};
use engram_core::head::Head;
use engram_profiles::profile::HarnessName;
use memchr::memmem;

use super::format::mark;
use super::readers::Header;
use super::revisions;
use crate::shared::time::tape_time;
use crate::shared::value::{StructuralIndex, has_members, parse, raw_str, text};

/// What the name of every version of the log begins with.
pub(super) const SCHEMAS: &str = "engram.episode/";

/// Members of every header.
const HEADER: &[&str] = &["schema", "episode_id", "nonce_hash"];

/// Reads the header, if the head begins with one.
fn with_header<T>(head: &Head<'_>, then: impl FnOnce(Header<'_>) -> T) -> Option<T> {
    // Most heads are of other harnesses. Searching for one member is faster than parsing their first line.
    let first = head.lines().next()?;
    memmem::find(first.as_bytes(), b"\"nonce_hash\"")?;
    let mut index = StructuralIndex::default();
    let value = parse(first, &mut index).ok()?;
    has_members(value, HEADER).then(|| then(Header::lenient(value)))
}

/// Evidence if the head begins with the header of an episode.
pub(super) fn probe(head: &Head<'_>) -> Option<Evidence> {
    with_header(head, |_| Evidence {
        marks: vec![mark::HEADER],
        framing: Framing::Lines,
    })
}

/// Session, start, and the schema if the version is known.
pub(super) fn identify(head: &Head<'_>) -> Identity {
    let identity = |header: Header<'_>| Identity {
        family: family(raw_str(header.harness())),
        session_id: text(header.session_id()).map(|id| id.decode_lossy().into_owned()),
        start: tape_time(header.t()).map(|time| time.into_owned()),
        schema: Some(revisions::V1).filter(|_| !is_other_version(raw_str(header.schema()))),
        ..Identity::default()
    };
    with_header(head, identity).unwrap_or_default()
}

/// The family of an agent that profiles know. The driver's own loop has none.
fn family(agent: &str) -> Option<&'static str> {
    serde_json::from_value::<HarnessName>(agent.into())
        .ok()?
        .adapter_id()
}

/// True for the name of another version. A name of something else is a fault of the header, not a version.
fn is_other_version(schema: &str) -> bool {
    schema.starts_with(SCHEMAS) && schema != revisions::V1_NAME
}
