//! The catalogue of broken adapters: what each does wrong, and the check that must find it.

mod calls;
mod edits;
mod messages;
mod records;
mod support;

use engram_core::adapter::HarnessAdapter;
use engram_core::descriptor::AdapterDescriptor;
use engram_core::error::AdapterError;
use engram_core::policy::Policy;
use engram_core::version::{Revision, VersionMatrix};

use crate::adapter::{Changed, Real};
use crate::claims;
use crate::tape::Tape;

/// One broken adapter.
pub struct Break {
    /// What it does wrong.
    pub name: &'static str,
    /// The check that exists for it.
    pub check: &'static str,
    /// The registered adapter that it changes.
    pub adapter: &'static str,
    /// Its policy.
    pub policy: Policy,
    /// The fixtures for the test; if empty, all fixtures with their declared scenarios.
    pub fixtures: &'static [&'static str],
    /// Also provide the streaming form of the real adapter.
    pub with_stream: bool,
    /// What it changes.
    pub change: Change,
}

/// What a broken adapter changes.
#[derive(Clone, Copy)]
pub enum Change {
    /// Events of the tape. Numbers, parents and counts are corrected afterwards.
    Events(fn(&mut Tape)),
    /// Bytes of the tape.
    Bytes(fn(&mut Tape)),
    /// How a session is converted.
    Convert(fn(&Real, &str) -> Result<String, AdapterError>),
    /// The descriptor, and the claims of each tape.
    Descriptor(fn(AdapterDescriptor) -> AdapterDescriptor),
}

impl Break {
    /// The adapter.
    pub fn adapter(&self) -> Changed {
        let mut changed = Changed::unchanged(self.adapter, self.policy);
        match self.change {
            Change::Events(change) => {
                changed.convert =
                    Box::new(move |real, input| edited(real, input, change, Tape::sealed))
            }
            Change::Bytes(change) => {
                changed.convert =
                    Box::new(move |real, input| edited(real, input, change, Tape::text))
            }
            Change::Convert(convert) => changed.convert = Box::new(convert),
            Change::Descriptor(descriptor) => {
                changed.descriptor = descriptor;
                let claims = changed.descriptor();
                changed.convert = Box::new(move |real, input| {
                    real.convert(input)
                        .map(|tape| claims::with_claims_of(&tape, &claims))
                });
            }
        }
        changed
    }
}

fn edited(
    real: &Real,
    input: &str,
    change: fn(&mut Tape),
    text: fn(&Tape) -> String,
) -> Result<String, AdapterError> {
    let mut tape = Tape::of(&real.convert(input)?);
    change(&mut tape);
    Ok(text(&tape))
}

/// The fixture for most broken adapters.
pub const EDIT: &[&str] = &["claude-code/2.0.10/b_edit"];
const PATCHES: &[&str] = &["codex/0.125.0/main"];

const fn events(name: &'static str, check: &'static str, change: fn(&mut Tape)) -> Break {
    Break {
        name,
        check,
        adapter: "claude-code",
        policy: Policy::Permissive,
        fixtures: EDIT,
        with_stream: false,
        change: Change::Events(change),
    }
}

const fn bytes(name: &'static str, check: &'static str, change: fn(&mut Tape)) -> Break {
    Break {
        change: Change::Bytes(change),
        ..events(name, check, change)
    }
}

const fn converts(
    name: &'static str,
    check: &'static str,
    convert: fn(&Real, &str) -> Result<String, AdapterError>,
) -> Break {
    Break {
        change: Change::Convert(convert),
        ..events(name, check, |_| {})
    }
}

const fn describes(
    name: &'static str,
    check: &'static str,
    descriptor: fn(AdapterDescriptor) -> AdapterDescriptor,
) -> Break {
    Break {
        change: Change::Descriptor(descriptor),
        ..events(name, check, |_| {})
    }
}

const fn over(fixtures: &'static [&'static str], broken: Break) -> Break {
    Break { fixtures, ..broken }
}

const fn strict(broken: Break) -> Break {
    Break {
        policy: Policy::Strict,
        ..broken
    }
}

const fn of_codex(broken: Break) -> Break {
    Break {
        adapter: "codex",
        fixtures: PATCHES,
        ..broken
    }
}

/// Uses all fixtures of the smallest harness, because only a complete tree proves claims.
const fn on_all(broken: Break) -> Break {
    Break {
        adapter: "gemini",
        fixtures: &[],
        with_stream: true,
        ..broken
    }
}

/// Replaces a text in the first event that contains all of these texts.
fn change(tape: &mut Tape, texts: &[&str], from: &str, to: &str) {
    if let Some(at) = tape.find(texts) {
        tape.replace(at, from, to);
    }
}

/// Sets a field of the first event that contains all of these texts.
fn set(tape: &mut Tape, texts: &[&str], key: &str, value: &str) {
    if let Some(at) = tape.find(texts)
        && let Some(old) = tape.field(at, key).map(str::to_owned)
    {
        tape.replace(
            at,
            &format!("\"{key}\":{old}"),
            &format!("\"{key}\":{value}"),
        );
    }
}

const WRONG_HASH: &str =
    "\"blake3:0000000000000000000000000000000000000000000000000000000000000000\"";

/// An event with the envelope of the one at an index, but without a record.
pub fn without_record(tape: &Tape, at: usize, kind: &str, fields: &str) -> String {
    let (head, rest) = tape.line(at).split_once("\"k\":").unwrap_or_default();
    let source = rest
        .split_once("\"source\":")
        .and_then(|(_, rest)| rest.split_once('}'))
        .unwrap_or_default()
        .0;
    format!(
        "{{\"seq\":90000{},\"k\":\"{kind}\",\"source\":{source}}},{fields}}}",
        head.split_once(',')
            .map(|(_, time)| format!(",{}", time.trim_end_matches(',')))
            .unwrap_or_default()
    )
}

/// The descriptor's matrix with other revisions.
pub fn matrix(descriptor: &AdapterDescriptor, revisions: Vec<Revision>) -> VersionMatrix {
    VersionMatrix {
        revisions: Box::leak(revisions.into_boxed_slice()),
        ..descriptor.matrix
    }
}

/// Every broken adapter.
pub fn breaks() -> Vec<&'static Break> {
    [
        support::SUPPORT,
        records::RECORDS,
        messages::MESSAGES,
        calls::CALLS,
        edits::EDITS,
    ]
    .into_iter()
    .flatten()
    .collect()
}
