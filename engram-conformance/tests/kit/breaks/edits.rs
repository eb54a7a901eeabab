//! Broken adapters that are wrong about edits and the files that they change.

use engram_core::hash::Hash;

use super::{Break, WRONG_HASH, change, events, of_codex, over, set, without_record};
use crate::tape::Tape;

/// Edits and moves.
pub(super) const EDITS: &[Break] = &[
    events("emits an edit for a failed call", "edit.applied", |tape| {
        if let Some(at) = tape.find(&[
            "\"k\":\"tool.result\"",
            "\"tool\":\"Edit\"",
            "\"status\":\"error\"",
        ]) {
            let (id, parent) = (
                tape.field(at, "call_id").unwrap_or_default(),
                tape.field(at, "parent").unwrap_or_default(),
            );
            let fields = format!(
                "\"call_id\":{id},\"op\":\"update\",\"file\":\"/home/dev/proj/src/a.py\",\"parent\":{parent}"
            );
            let edit = without_record(tape, at, "code.edit", &fields);
            tape.insert(at + 1, edit);
        }
    }),
    events("leaves a path relative", "file.absolute", |tape| {
        set(
            tape,
            &["\"k\":\"code.edit\"", "uni.txt"],
            "file",
            "\"uni.txt\"",
        );
    }),
    events("gives a new file lines before", "edit.sides", |tape| {
        if let Some(at) = tape.find(&["\"k\":\"code.edit\"", "\"op\":\"create\""]) {
            tape.replace(
                at,
                ",\"after_range\"",
                ",\"before_range\":[1,0],\"after_range\"",
            );
        }
    }),
    events("loses an edit", "edit.all", |tape| {
        if let Some(at) = tape.find(&["\"k\":\"code.edit\"", "uni.txt"]) {
            tape.remove(at);
        }
    }),
    events(
        "emits an edit of a file that did not change",
        "edit.real",
        |tape| {
            if let Some(at) = tape.find(&["\"k\":\"code.edit\"", "uni.txt"]) {
                let fields = "\"op\":\"update\",\"file\":\"/home/dev/proj/untouched.txt\"";
                let edit = without_record(tape, at, "code.edit", fields);
                tape.insert(at + 1, edit);
            }
        },
    ),
    events("has one wrong hash of a span", "edit.span", |tape| {
        set(
            tape,
            &["\"k\":\"code.edit\"", "uni.txt"],
            "after_hash",
            WRONG_HASH,
        )
    }),
    events("has one wrong hash of a file", "edit.file", |tape| {
        set(
            tape,
            &["\"k\":\"code.edit\"", "uni.txt"],
            "file_after_hash",
            WRONG_HASH,
        )
    }),
    events(
        "starts an edit from the wrong state",
        "edit.chain",
        |tape| {
            set(
                tape,
                &[
                    "\"k\":\"code.edit\"",
                    "src/a.py",
                    "\"before_range\":[10,10]",
                ],
                "file_before_hash",
                WRONG_HASH,
            );
        },
    ),
    over(
        &["claude-code/2.1.332/m_tuifork"],
        events(
            "says that files stayed when a person went back",
            "edit.chain",
            |tape| {
                change(tape, &["\"label\":\"rewind\""], ",\"files\":true", "");
            },
        ),
    ),
    of_codex(events(
        "hashes a text that is not in the call",
        "edit.snippet",
        |tape| {
            set(
                tape,
                &[
                    "\"k\":\"code.edit\"",
                    "\"basis\":\"snippet\"",
                    "\"before_hash\"",
                ],
                "before_hash",
                WRONG_HASH,
            );
        },
    )),
    of_codex(events(
        "hashes more of a call than the file had",
        "edit.statements",
        |tape| hash_whole_arguments(tape, "before"),
    )),
    Break {
        adapter: "opencode",
        ..over(
            &["opencode/1.18.33/o_patch"],
            events(
                "hashes more of a call than a formatter leaves",
                "edit.statements",
                |tape| hash_whole_arguments(tape, "after"),
            ),
        )
    },
    of_codex(events(
        "leaves out the number of lines of a snippet",
        "snippet.lines",
        |tape| {
            if let Some(at) = tape.find(&[
                "\"k\":\"code.edit\"",
                "\"basis\":\"snippet\"",
                "\"before_hash\"",
            ]) {
                let lines = tape
                    .field(at, "before_lines")
                    .unwrap_or_default()
                    .to_owned();
                tape.replace(at, &format!(",\"before_lines\":{lines}"), "");
            }
        },
    )),
    of_codex(events(
        "does not name the move of a link",
        "move.linked",
        |tape| {
            if let Some(at) = tape.find(&["\"k\":\"span.link\""]) {
                let parent = tape.field(at, "parent").unwrap_or_default().to_owned();
                tape.replace(at, &format!(",\"parent\":{parent}"), "");
            }
        },
    )),
];

/// The hash of the whole patch in the call of a snippet, in place of its own.
fn hash_whole_arguments(tape: &mut Tape, side: &str) {
    let hash = format!("\"{side}_hash\"");
    let Some(at) = tape.find(&["\"k\":\"code.edit\"", "\"basis\":\"snippet\"", &hash]) else {
        return;
    };
    let id = tape.field(at, "call_id").unwrap_or_default().to_owned();
    let Some(call) = tape.find(&["\"k\":\"tool.call\"", &id]) else {
        return;
    };
    let call: serde_json::Value = serde_json::from_str(tape.line(call)).unwrap_or_default();
    let args = &call["args"];
    let patch = args.as_str().or_else(|| args["patchText"].as_str());
    let patch = patch.unwrap_or_default();
    for (key, value) in [
        ("hash", format!("\"{}\"", Hash::of_text(patch))),
        ("lines", patch.lines().count().to_string()),
    ] {
        let key = format!("{side}_{key}");
        if let Some(old) = tape.field(at, &key).map(str::to_owned) {
            tape.replace(
                at,
                &format!("\"{key}\":{old}"),
                &format!("\"{key}\":{value}"),
            );
        }
    }
}
