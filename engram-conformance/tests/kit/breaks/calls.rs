//! Broken adapters that are wrong about calls, their results, and reads.

use engram_core::error::AdapterError;

use super::{Break, WRONG_HASH, change, converts, events, over, set, without_record};
use crate::adapter::Real;
use crate::tape::Tape;

/// A recording with a read of a file that nobody changes.
const UNCHANGED: &[&str] = &["claude-code/2.0.10/n_skills"];

/// Calls, results and reads.
pub(super) const CALLS: &[Break] = &[
    events("loses a call", "call.all", |tape| {
        if let Some(at) = tape.find(&["\"k\":\"tool.call\"", "/src/a.py\"}"]) {
            tape.remove(at);
        }
    }),
    events("invents a call", "call.once", |tape| {
        let call = without_record(
            tape,
            2,
            "tool.call",
            "\"tool\":\"Read\",\"kind\":\"read\",\"call_id\":\"toolu_none\",\"args\":{}",
        );
        tape.insert(3, call);
    }),
    converts(
        "takes a call for a repeat if its id occurred before",
        "call.id_repeated",
        without_repeated_ids,
    ),
    events("changes the arguments of a call", "call.facts", |tape| {
        change(
            tape,
            &["\"tool\":\"Grep\"", "\"pattern\":\"NEW\""],
            "NEW",
            "OLD",
        )
    }),
    events(
        "adds an argument that the log does not have",
        "call.facts",
        |tape| {
            change(
                tape,
                &["\"tool\":\"Grep\"", "\"pattern\":\"NEW\""],
                "\"pattern\":\"NEW\"",
                "\"pattern\":\"NEW\",\"glob\":\"*.rs\"",
            )
        },
    ),
    events("emits the wrong kind of a tool", "call.kind", |tape| {
        change(
            tape,
            &["\"tool\":\"Grep\"", "\"kind\":\"search\""],
            "\"kind\":\"search\"",
            "\"kind\":\"list\"",
        )
    }),
    events("duplicates a result", "result.once", |tape| {
        if let Some(at) = tape.find(&["\"k\":\"tool.result\"", "\"tool\":\"Grep\""]) {
            tape.insert(at + 1, tape.line(at).to_owned());
        }
    }),
    events(
        "emits a failed command as successful",
        "result.facts",
        |tape| {
            change(
                tape,
                &[
                    "\"k\":\"tool.result\"",
                    "\"tool\":\"Bash\"",
                    "\"status\":\"error\"",
                ],
                "\"status\":\"error\"",
                "\"status\":\"ok\"",
            );
        },
    ),
    Break {
        adapter: "codex",
        fixtures: &["codex/0.169.0/deny"],
        ..events("loses a denial", "permission.denied", |tape| {
            if let Some(at) = tape.find(&["\"label\":\"permission\"", "\"decision\":\"deny\""]) {
                tape.remove(at);
            }
        })
    },
    over(
        UNCHANGED,
        events("reads the wrong lines", "read.range", |tape| {
            set(tape, &["\"k\":\"code.read\""], "range", "[4")
        }),
    ),
    over(
        UNCHANGED,
        events("hashes the wrong lines of a read", "read.hash", |tape| {
            set(tape, &["\"k\":\"code.read\""], "hash", WRONG_HASH)
        }),
    ),
    Break {
        adapter: "gemini",
        fixtures: &["gemini/0.61.0/g_hooks"],
        ..events(
            "reads the words of a hook as lines",
            "read.file",
            Tape::read_whole_result,
        )
    },
    Break {
        adapter: "opencode",
        fixtures: &["opencode/1.18.34/main"],
        ..events(
            "hashes lines that the file never had, without a real result",
            "read.file",
            |tape| {
                set(
                    tape,
                    &["\"k\":\"code.read\"", "\"range\":[5,14]"],
                    "hash",
                    WRONG_HASH,
                );
            },
        )
    },
    events("emits a read for a failed call", "read.applied", |tape| {
        if let Some(at) = tape.find(&[
            "\"k\":\"tool.result\"",
            "\"tool\":\"Read\"",
            "\"status\":\"error\"",
        ]) {
            let (id, parent) = (
                tape.field(at, "call_id").unwrap_or_default(),
                tape.field(at, "parent").unwrap_or_default(),
            );
            let read = without_record(
                tape,
                at,
                "code.read",
                &format!(
                    "\"call_id\":{id},\"file\":\"/home/dev/proj/missing.txt\",\"parent\":{parent}"
                ),
            );
            tape.insert(at + 1, read);
        }
    }),
];

/// The tape without the calls whose id an earlier call has.
fn without_repeated_ids(real: &Real, input: &str) -> Result<String, AdapterError> {
    let mut tape = Tape::of(&real.convert(input)?);
    let mut ids: Vec<String> = Vec::new();
    let mut repeated = Vec::new();
    for at in tape.all(&["\"k\":\"tool.call\""]) {
        let id = tape.field(at, "call_id").unwrap_or_default().to_owned();
        if ids.contains(&id) {
            repeated.push(at)
        } else {
            ids.push(id)
        }
    }
    repeated
        .into_iter()
        .rev()
        .for_each(|at| drop(tape.remove(at)));
    Ok(tape.sealed())
}
