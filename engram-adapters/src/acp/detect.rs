//! Detection by the first line, and the identity that the first messages say.

use engram_core::adapter::{Evidence, Framing, Identity};
use engram_core::head::Head;
use memchr::memmem;

use super::format::{LogKind, mark};
use super::message::{at, session_of, time_of};
use super::revisions;
use crate::shared::value::{StructuralIndex, Value, has_members, owned, parse, raw_str};

/// How many messages the head is searched for a session and a version.
const FIRST: usize = 200;

/// Evidence if one of the first lines is the header of a log, or a message. One line may be damaged.
pub(super) fn probe(head: &Head<'_>) -> Option<Evidence> {
    let mark = head.lines().take(2).find_map(mark_of)?;
    Some(Evidence {
        marks: vec![mark],
        framing: Framing::Lines,
    })
}

/// The first session that the first bytes of a log name.
pub(super) fn first_session(first: &[u8]) -> Option<String> {
    if !begins(first) {
        return None;
    }
    let mut lines = first.split(|byte| *byte == b'\n').take(FIRST);
    lines.find_map(|line| {
        let mut index = StructuralIndex::default();
        session_in(parse(std::str::from_utf8(line).ok()?, &mut index).ok()?)
    })
}

/// The session that a line is of. The request for a fork names the other session.
fn session_in(value: Value<'_>) -> Option<String> {
    let is_fork = raw_str(at(value, "m/method")) == "session/fork";
    owned(session_of(value).filter(|_| !is_fork))
}

/// True for the first bytes of a log, which may end within a line.
pub(super) fn begins(first: &[u8]) -> bool {
    let has = |name: &[u8]| memmem::find(first, name).is_some();
    has(b"\"engram-acp\"") || has(b"\"dir\"") && has(b"\"jsonrpc\"")
}

fn mark_of(line: &str) -> Option<&'static str> {
    // Most heads are of other harnesses. Searching for a name is faster than parsing their lines.
    let names: [&[u8]; 2] = [b"\"engram-acp\"", b"\"jsonrpc\""];
    names
        .iter()
        .find_map(|name| memmem::find(line.as_bytes(), name))?;
    let mut index = StructuralIndex::default();
    let value = parse(line, &mut index).ok()?;
    let is_header = raw_str(value.member("log")) == LogKind::EngramAcp.name();
    match is_header {
        true => Some(mark::HEADER),
        false => is_message(value).then_some(mark::MESSAGE),
    }
}

fn is_message(value: Value<'_>) -> bool {
    has_members(value, &["dir", "t", "m"]) && raw_str(at(value, "m/jsonrpc")) == "2.0"
}

/// The first session, the time of the first line, and the schema if the version of the protocol is known.
pub(super) fn identify(head: &Head<'_>) -> Identity {
    let mut identity = Identity::default();
    let (mut asked, mut answered) = (None, None);
    for line in head.lines().filter(|line| !line.is_empty()).take(FIRST) {
        let mut index = StructuralIndex::default();
        let Ok(value) = parse(line, &mut index) else {
            continue;
        };
        if identity.start.is_none() {
            identity.start = time_of(value);
        }
        let version = |field| at(value, field).and_then(Value::unsigned);
        asked = asked.or(version("m/params/protocolVersion"));
        answered = answered.or(version("m/result/protocolVersion"));
        identity.session_id = session_in(value);
        if identity.session_id.is_some() {
            break;
        }
    }
    // The agent decides. One that does not answer has the version that it was asked for.
    let version = answered.or(asked);
    let is_known = version.is_none_or(|version| version == revisions::PROTOCOL);
    identity.schema = is_known.then_some(revisions::ACP);
    identity
}
