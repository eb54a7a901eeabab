//! What the compatibility kit needs to know about OpenCode.

use engram_conformance::Case;
use engram_conformance::gaps::{
    EDITORS, GapRow, READ_BOM, edits_by, has_event, has_no_hashes, is_snippet,
    lacks_file_before_hash, split_at_cr,
};
use engram_conformance::tape::Event;
use engram_core::event::Kind;
use serde_json::Value;

use crate::certification::Certification;

/// See [`Certification`].
pub(super) const CERTIFICATION: Certification = Certification::new()
    .with_gap_rows(GAP_ROWS)
    .with_printed_sessions();

/// How recordings show the gaps of this harness only.
const GAP_ROWS: &[GapRow] = &[
    READ_BOM,
    GapRow::new("edit.bom", Kind::CodeEdit, |case| {
        edits_by(case, EDITORS, |edit, real| {
            let begins = edit
                .range("before_range")
                .is_some_and(|(first, last)| first == 1 && last > 0);
            begins
                && edit.has("before_hash")
                && real
                    .before
                    .as_deref()
                    .is_some_and(|text| text.starts_with('\u{feff}'))
        })
    }),
    GapRow::new("read.bare_cr", Kind::CodeRead, |case| {
        has_event(case, Kind::CodeRead, |read| {
            let file = read.text("file").unwrap_or_default();
            let real = case
                .truth
                .edits
                .iter()
                .filter(|real| file.ends_with(&real.file));
            real.filter_map(|real| real.before.as_deref())
                .any(|text| counts_bare_cr(read, text))
        })
    }),
    GapRow::new("edit.formatter", Kind::CodeEdit, |case| {
        edits_by(case, EDITORS, |edit, real| {
            is_snippet(edit)
                && !edit.has("file_after_hash")
                && real.after.is_some()
                && is_write(case, edit)
        })
    })
    .without_lines(|edit| is_snippet(edit) && !edit.has("file_after_hash")),
    GapRow::new("edit.no_file_hash", Kind::CodeEdit, |case| {
        edits_by(case, EDITORS, |edit, real| {
            edit.range("after_range").is_some()
                && lacks_file_before_hash(edit)
                && !edit.has("file_after_hash")
                && real.after.is_some()
        })
    })
    .without_hash(|edit| !edit.has("file_after_hash") || lacks_file_before_hash(edit)),
    GapRow::new("edit.altered_diff", Kind::CodeEdit, |case| {
        edits_by(case, EDITORS, |edit, real| {
            has_no_hashes(edit)
                && !edit.has("after_hash")
                && edit.range("after_range").is_some()
                && real.after.is_some()
        })
    })
    .without_hash(has_no_hashes),
    GapRow::new("edit.patch_text", Kind::CodeEdit, |case| {
        edits_by(case, EDITORS, |edit, _| names_file_alone(edit))
    })
    .without_lines(names_file_alone)
    .without_hash(names_file_alone),
    GapRow::new("prompt.command", Kind::MsgIn, has_template).with_mistaken_author(is_template),
    GapRow::new("prompt.attached_text", Kind::MsgIn, |case| {
        has_event(case, Kind::MsgIn, has_attached_text)
    })
    .with_mistaken_author(|_, prompt| has_attached_text(prompt)),
    GapRow::new("prompt.reverted", Kind::MsgIn, lacks_prompt),
    GapRow::new("session.title", Kind::Meta, |case| {
        has_event(case, Kind::Meta, |event| {
            event.text("label") == Some("session") && event.has("title")
        })
    }),
    GapRow::new("usage.last_request", Kind::Meta, |case| {
        let is_old = |start: &Event| schema(start) == Some("message-parts");
        case.sessions
            .iter()
            .filter(|session| session.events.first().is_some_and(is_old))
            .any(|session| {
                let count = |is: fn(&Event) -> bool| {
                    session.events.iter().filter(|event| is(event)).count()
                };
                count(|event| event.is(Kind::ToolCall)) > count(is_usage)
            })
    }),
    GapRow::new("usage.cached_input", Kind::Meta, |case| {
        has_event(case, Kind::Meta, |event| {
            is_usage(event)
                && event.0.pointer("/tokens/cache_read").is_some()
                && event.0.pointer("/tokens/input").is_none()
        })
    }),
    GapRow::new("stream.no_reasoning", Kind::MsgOut, |case| {
        let is_stream =
            |start: &Event| schema(start).is_some_and(|schema| schema.ends_with("-stream"));
        let reasoned = |event: &Event| {
            event
                .0
                .pointer("/tokens/reasoning")
                .and_then(Value::as_u64)
                .is_some_and(|tokens| tokens > 0)
        };
        case.sessions
            .iter()
            .filter(|session| session.events.first().is_some_and(is_stream))
            .any(|session| {
                session.events.iter().any(reasoned)
                    && !session
                        .events
                        .iter()
                        .any(|event| event.text("channel") == Some("reasoning"))
            })
    }),
];

/// True if a read has more lines of a file than line feeds end, as many as CRs and line feeds end.
fn counts_bare_cr(read: &Event, text: &str) -> bool {
    let ended = |text: &str| text.lines().count() as u64;
    let split = split_at_cr(text).map(|split| ended(&split));
    split.is_some_and(|split| split != ended(text) && read.number("total_lines") == Some(split))
}

/// True for an update of which only the file is known.
fn names_file_alone(edit: &Event) -> bool {
    let is_known = |member: &&str| edit.has(member);
    edit.text("op") == Some("update")
        && ![
            "before_range",
            "after_range",
            "before_hash",
            "after_hash",
            "file_after_hash",
        ]
        .iter()
        .any(is_known)
}

fn schema(start: &Event) -> Option<&str> {
    start.0.pointer("/harness/schema").and_then(Value::as_str)
}

fn is_usage(event: &Event) -> bool {
    event.text("label") == Some("usage")
}

/// The text of a prompt. The command line adds quotes, and old versions a line end.
fn plain(prompt: &str) -> String {
    let prompt = prompt.trim();
    prompt
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .unwrap_or(prompt)
        .replace("\\\"", "\"")
}

/// The prompts of all sessions that a person wrote.
fn prompts(case: &Case<'_>) -> Vec<String> {
    let events = case.sessions.iter().flat_map(|session| &session.events);
    let of_person =
        events.filter(|event| event.is(Kind::MsgIn) && event.text("by") == Some("person"));
    of_person
        .filter_map(|event| event.text("text"))
        .map(plain)
        .collect()
}

/// How the template begins of the command that recordings with `serve` have: their command lines do not show it.
const SERVED_TEMPLATE: &str = "Run the demo with ";

/// True for the text that a template gave: it has the words of a command that was run, and nobody sent it as it is. The command line puts quotes
/// around words.
fn is_template(case: &Case<'_>, prompt: &Event) -> bool {
    let Some(text) = prompt.text("text").map(plain) else {
        return false;
    };
    let lines = case.recording.command_lines();
    let mut words = lines
        .iter()
        .filter(|line| line.iter().any(|word| word == "--command"))
        .filter_map(|line| line.last());
    let bare = text.replace('"', "");
    let has_words_of = |typed: &String| match typed.strip_prefix('/') {
        Some(command) => command
            .split_once(' ')
            .is_some_and(|(_, words)| text.contains(words)),
        None => !text.starts_with(typed.as_str()) && bare.starts_with(typed.as_str()),
    };
    text.starts_with(SERVED_TEMPLATE)
        || words.any(|words| text.contains(words.as_str()))
        || case.truth.prompts.iter().any(has_words_of)
}

/// True for a prompt with the text of a file behind it.
fn has_attached_text(prompt: &Event) -> bool {
    prompt
        .text("text")
        .is_some_and(|text| text.contains("\n\n<file name=\"") && text.ends_with("</file>"))
}

/// A prompt that nobody typed, in a recording whose other prompts are known.
fn has_template(case: &Case<'_>) -> bool {
    let typed: Vec<String> = case
        .truth
        .prompts
        .iter()
        .map(|prompt| plain(prompt))
        .collect();
    let is_typed = |prompt: &String| {
        typed
            .iter()
            .any(|typed| prompt.contains(typed.as_str()) || typed.contains(prompt.as_str()))
    };
    !typed.is_empty() && prompts(case).iter().any(|prompt| !is_typed(prompt))
}

/// A prompt that is in no session, in a recording with sessions that have prompts.
fn lacks_prompt(case: &Case<'_>) -> bool {
    let found = prompts(case);
    !found.is_empty()
        && case
            .truth
            .prompts
            .iter()
            .map(|prompt| plain(prompt))
            .any(|typed| !found.iter().any(|prompt| prompt.contains(&typed)))
}

/// True if the edit's call contains the complete new file.
fn is_write(case: &Case<'_>, edit: &Event) -> bool {
    let call = edit.text("call_id").and_then(|id| case.tool_call(id));
    call.is_some_and(|call| call.text("kind") == Some("write"))
}
