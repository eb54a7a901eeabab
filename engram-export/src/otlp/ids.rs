//! Ids of traces and spans: made from what a tape is about, so that the same tape gives the same trace.

use std::fmt::Write;

/// The key of all ids.
const CONTEXT: &str = "engram otlp ids v1";

/// The id of the trace of a session: 32 hex digits.
pub(super) fn trace_id(harness: &str, session: &str) -> String {
    hex::<16>(&[harness, session])
}

/// What a span stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    Session,
    Turn(usize),
    Response(usize),
    Call(usize),
}

/// The id of a span: 16 hex digits. Sub-agents may share a session id, so the log's hash is in it.
pub(super) fn span_id(session: &str, agent: &str, input: &str, of: Of) -> String {
    let of = match of {
        Of::Session => "session".to_owned(),
        Of::Turn(seq) => format!("turn {seq}"),
        Of::Response(seq) => format!("response {seq}"),
        Of::Call(seq) => format!("call {seq}"),
    };
    hex::<8>(&[session, agent, input, &of])
}

fn hex<const BYTES: usize>(parts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let mut id = String::with_capacity(2 * BYTES);
    for byte in &hasher.finalize().as_bytes()[..BYTES] {
        let _ = write!(id, "{byte:02x}");
    }
    id
}
