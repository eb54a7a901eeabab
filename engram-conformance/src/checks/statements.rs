//! Compares edits with further statements of the same change: texts of snippets, all calls of a turn, files that a record names.

use engram_core::event::Kind;
use memchr::memmem;

use super::call_edits::{
    CallEdits, call_edits, is_alone, is_edit_of, matching, moved_to, text_of, touches,
};
use super::spans::{self, Lines, without_layout};
use crate::case::Case;
use crate::converted_session::{ConvertedSession, escaped};
use crate::ground_truth::{Call, RealEdit, in_project};
use crate::outcome::Findings;
use crate::subject::Subject;
use crate::tape::Event;

/// Kinds of tools that change no file.
const LOOKERS: &[&str] = &[
    "read",
    "search",
    "list",
    "fetch",
    "web_search",
    "think",
    "plan",
    "ask",
];
/// The gap of edits that a formatter may have changed behind the call.
const FORMATTER: &str = "edit.formatter";
/// The two sides of an edit.
const SIDES: [&str; 2] = ["before", "after"];

/// What an edit hashes is text that the file really had before or after the change.
pub fn agree(subject: &Subject<'_>, case: &Case<'_>, findings: &mut Findings) {
    let edits = call_edits(case);
    for real in case.truth.edits.iter().filter(|real| !real.is_revert()) {
        let of_file: Vec<&CallEdits<'_>> = matching(&edits, real)
            .into_iter()
            .filter(|edits| edits.file == real.file)
            .collect();
        match of_file.as_slice() {
            [only] if is_alone(case, real, only) && !only.is_request() => {
                snippet_texts((subject, case), findings, real, only)
            }
            several if several.len() > 1 && are_all(case, real, several) => {
                ends_of_turn(case, findings, real, several)
            }
            _ => findings.note("changes by calls without an edit"),
        }
    }
}

/// True if every call of the turn that may have changed the file has edits of it, all on one tape, and none of them may be that of another
/// change: agents that work at the same time change a file one after the other.
fn are_all(case: &Case<'_>, real: &RealEdit, edits: &[&CallEdits<'_>]) -> bool {
    let has_edits = |id: &String| {
        edits
            .iter()
            .any(|edits| edits.call_chain.contains(&id.as_str()))
    };
    let cannot = |id: &String| case.call(id).is_some_and(|call| !touches(call, &real.file));
    let is_one_tape = edits
        .windows(2)
        .all(|pair| pair[0].session.name() == pair[1].session.name());
    let may_be_of = |edits: &CallEdits<'_>| {
        let call = edits.call_chain.first();
        let changes = case
            .truth
            .edits
            .iter()
            .filter(|other| other.file == real.file);
        changes
            .filter(|other| call.is_some_and(|call| other.call_ids.iter().any(|id| id == call)))
            .count()
    };
    is_one_tape
        && edits.iter().all(|edits| may_be_of(edits) < 2)
        && real.call_ids.iter().all(|id| has_edits(id) || cannot(id))
        && !edits.iter().any(|edits| edits.is_request())
}

/// The text of a snippet is in the file, in one of the states that are known: agents that work at the same time change it in any order.
/// Of several edits of a call the later ones may start from what the earlier ones left.
fn snippet_texts(
    (subject, case): (&Subject<'_>, &Case<'_>),
    findings: &mut Findings,
    real: &RealEdit,
    edits: &CallEdits<'_>,
) {
    let calls: Vec<&Call> = edits
        .call_chain
        .iter()
        .filter_map(|id| case.call(id))
        .collect();
    let of_file = case
        .truth
        .edits
        .iter()
        .filter(|other| other.file == real.file);
    let states: Vec<String> = of_file
        .flat_map(|real| [&real.before, &real.after])
        .flatten()
        .map(|text| text.replace("\r\n", "\n"))
        .collect();
    for (side, event, file) in [
        ("before", edits.events.first(), &real.before),
        ("after", edits.events.last(), &real.after),
    ] {
        let (Some(event), true) = (event, file.is_some()) else {
            continue;
        };
        // The text before a move is that of another file.
        let is_moved = side == "before" && is_target_of_move(edits);
        let Some(hash) = event
            .text(&format!("{side}_hash"))
            .filter(|_| is_snippet(event) && !is_moved)
        else {
            continue;
        };
        match text_of(&calls, hash) {
            None => findings.note("snippets of texts that are not in the call"),
            Some(text) if states.iter().any(|state| is_in(&text, state)) => {
                findings.count("snippets")
            }
            Some(text)
                if side == "before"
                    && states
                        .iter()
                        .any(|state| is_in(&loose(&text), &loose(state))) =>
            {
                match subject.loose_text_gap(edits.session, event) {
                    Some(code) => findings.gap(code),
                    None => findings.fail(
                        case.place_of(edits.session, event),
                        format!(
                            "{side}_hash is that of a text that only resembles the text of {}",
                            real.file
                        ),
                    ),
                }
            }
            // A formatter ran behind the call, and the log does not tell. It lays the text out in another way, and leaves the text itself.
            Some(text)
                if side == "after"
                    && states
                        .iter()
                        .any(|state| without_layout(state).contains(&without_layout(&text)))
                    && subject.declares_for(edits.session.schema(), Kind::CodeEdit, FORMATTER) =>
            {
                findings.gap(FORMATTER);
            }
            Some(_) => findings.fail(
                case.place_of(edits.session, event),
                format!(
                    "{side}_hash is that of a text that {} did not have",
                    real.file
                ),
            ),
        }
    }
}

/// True if a file was moved to this place by the call.
fn is_target_of_move(edits: &CallEdits<'_>) -> bool {
    let call = edits
        .events
        .first()
        .and_then(|event| event.text("call_id").map(|_| event.number("parent")));
    edits.session.events.iter().any(|link| {
        link.is(Kind::SpanLink)
            && link.text("to_file").map(in_project).as_ref() == Some(&edits.file)
            && Some(link.number("parent")) == call
    })
}

/// True if a file contains the text. A harness may write a file without its last line end.
fn is_in(text: &str, file: &str) -> bool {
    let text = text.replace("\r\n", "\n");
    file.contains(&text)
        || text
            .strip_suffix('\n')
            .is_some_and(|text| file.ends_with(text))
}

/// A text as tools compare it that find the old text of a patch by likeness: without the white space around its lines, and with plain
/// quotes and dashes.
fn loose(text: &str) -> String {
    let plain = |character: char| match character {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    };
    let lines: Vec<String> = text
        .lines()
        .map(|line| {
            line.chars()
                .map(plain)
                .collect::<String>()
                .trim()
                .to_owned()
        })
        .collect();
    lines.join("\n")
}

fn is_snippet(event: &Event) -> bool {
    event.text("basis") == Some("snippet")
}

/// Of several calls in one turn the first one starts from the real text, and the last one ends with it.
fn ends_of_turn(
    case: &Case<'_>,
    findings: &mut Findings,
    real: &RealEdit,
    edits: &[&CallEdits<'_>],
) {
    for (side, edits, text) in [
        ("before", edits.first(), &real.before),
        ("after", edits.last(), &real.after),
    ] {
        let (Some(edits), Some(text)) = (edits, text) else {
            continue;
        };
        let lines = Lines::new(text);
        for event in edits
            .events
            .iter()
            .filter(|event| event.range(&format!("{side}_range")).is_some())
        {
            match spans::refuted(event, side, Some(&lines)) {
                Some(why) => findings.fail(
                    case.place_of(edits.session, event),
                    format!("{}: {why}", real.file),
                ),
                None => findings.count("ranges"),
            }
        }
    }
}

/// A changed file has an edit if the record of a call names it. `edit.all` looks at the calls whose arguments do.
pub fn files(case: &Case<'_>, findings: &mut Findings) {
    let edits = call_edits(case);
    for real in case
        .truth
        .edits
        .iter()
        .filter(|real| !real.is_revert() && real.before_sha256 != real.after_sha256)
    {
        let naming: Vec<&str> = real
            .call_ids
            .iter()
            .map(String::as_str)
            .filter(|id| names_as_changed(case, id, &real.file))
            .collect();
        if naming.is_empty() {
            findings.note("changes of files that no record names");
        } else if edits.iter().any(|edits| is_edit(edits, real)) {
            findings.count("files");
        } else if case.truth.edits.iter().any(|other| {
            is_same_change(other, real) && edits.iter().any(|edits| is_edit(edits, other))
        }) {
            findings.count("files that a sub-agent of the call changed");
        } else if naming
            .iter()
            .all(|id| is_changed_meanwhile(case, id, &real.file))
        {
            findings.note("files that another call changed at the same time");
        } else {
            findings.fail(
                case.recording.name(),
                format!(
                    "no code.edit of {}, which the record of {} names",
                    real.file,
                    naming.join(", ")
                ),
            );
        }
    }
}

/// True if a tape has an edit of the file by another call, between this call and its result: which of them changed it is not known.
fn is_changed_meanwhile(case: &Case<'_>, id: &str, file: &str) -> bool {
    case.sessions.iter().any(|session| {
        let is_of_call = |event: &&Event| event.text("call_id") == Some(id);
        let during = session
            .events
            .iter()
            .skip_while(|event| !is_of_call(event))
            .skip(1);
        let until_result =
            during.take_while(|event| !(event.is(Kind::ToolResult) && is_of_call(event)));
        until_result
            .filter(|event| event.is(Kind::CodeEdit))
            .any(|edit| {
                !is_of_call(&edit) && edit.text("file").map(in_project).as_deref() == Some(file)
            })
    })
}

/// True for the same change, of which the ground truth names the call of a sub-agent, and the call that started the sub-agent.
fn is_same_change(one: &RealEdit, other: &RealEdit) -> bool {
    let states = |real: &RealEdit| {
        (
            real.file.clone(),
            real.before_sha256.clone(),
            real.after_sha256.clone(),
        )
    };
    states(one) == states(other) && one.call_ids != other.call_ids
}

/// True if these edits are of the real change, or of its file when the log gives another id for the call.
fn is_edit(edits: &CallEdits<'_>, real: &RealEdit) -> bool {
    let is_of_call = edits
        .call_chain
        .iter()
        .any(|id| real.call_ids.iter().any(|of| of == id));
    is_of_call && (edits.file == real.file || moved_to(edits).any(|to| to == real.file))
}

/// True if a record of this call alone, apart from the arguments and from requests for permission, has the whole path of the file as a
/// value or a key, and the call is one that may change files and did not fail.
fn names_as_changed(case: &Case<'_>, id: &str, file: &str) -> bool {
    let Some(call) = case.tool_call(id) else {
        return false;
    };
    let is_editor = case
        .call(id)
        .is_some_and(|call| is_edit_of(case, call, file));
    if is_editor
        || call
            .text("kind")
            .is_some_and(|kind| LOOKERS.contains(&kind))
        || has_failed(case, id)
    {
        return false;
    }
    let path = format!("/{}\"", escaped(file));
    let of_call = |session: &ConvertedSession, record: &[u8]| {
        let is_result = session
            .events
            .iter()
            .any(|event| event.is(Kind::ToolResult) && event.text("call_id") == Some(id));
        let is_request = session
            .events
            .iter()
            .any(|event| asks_permission(event) && session.record_of(event) == Some(record));
        is_result
            && !is_request
            && is_named_beside_args(record, &path, &call.0["args"])
            && !has_other_call(session, record, id)
    };
    case.sessions.iter().any(|session| {
        session
            .records_with(id)
            .any(|record| of_call(session, record))
    })
}

/// True if the event is the question whether a call may run. What it names is not changed yet.
fn asks_permission(event: &Event) -> bool {
    event.is_meta("permission") && event.text("decision") == Some("ask")
}

/// True if a record has the id of another call.
fn has_other_call(session: &ConvertedSession, record: &[u8], id: &str) -> bool {
    let calls = session
        .events
        .iter()
        .filter(|event| event.is(Kind::ToolCall))
        .filter_map(|event| event.text("call_id"));
    calls
        .filter(|other| *other != id)
        .any(|other| memmem::find(record, escaped(other).as_bytes()).is_some())
}

/// True if the log says that the call failed.
fn has_failed(case: &Case<'_>, id: &str) -> bool {
    case.events(Kind::ToolResult).any(|(_, result)| {
        result.text("call_id") == Some(id)
            && matches!(
                result.text("status"),
                Some("error" | "denied" | "cancelled")
            )
    })
}

/// True if a record has an absolute path more often than the arguments of its call.
fn is_named_beside_args(record: &[u8], path: &str, args: &serde_json::Value) -> bool {
    let is_absolute = |at: usize| {
        memchr::memrchr(b'"', &record[..at])
            .is_some_and(|start| record.get(start + 1) == Some(&b'/'))
    };
    let in_record = memmem::find_iter(record, path.as_bytes())
        .filter(|at| is_absolute(*at))
        .count();
    let args = args.to_string();
    let has_args = memmem::find(record, args.as_bytes()).is_some();
    in_record
        > if has_args {
            args.matches(path).count()
        } else {
            0
        }
}

/// A snippet has the number of its lines for each side that it hashes.
pub fn line_counts(case: &Case<'_>, findings: &mut Findings) {
    for (session, event) in case
        .events(Kind::CodeEdit)
        .filter(|(_, event)| is_snippet(event))
    {
        let calls: Vec<&Call> = session
            .call_chain(event)
            .into_iter()
            .filter_map(|id| case.call(id))
            .collect();
        for side in SIDES {
            let hash = event.text(&format!("{side}_hash"));
            let count = event.number(&format!("{side}_lines"));
            match (hash, count) {
                (None, None) => {}
                (Some(hash), Some(count)) => match line_count(case, &calls, event, hash, count) {
                    Some(real) if real != count => {
                        findings.fail(
                            case.place_of(session, event),
                            format!("{side}_lines is {count}, the text has {real}"),
                        );
                    }
                    Some(_) => findings.count("snippets"),
                    None => findings.note("snippets of unknown texts"),
                },
                (Some(_), None) => findings.fail(
                    case.place_of(session, event),
                    format!("{side}_hash without {side}_lines"),
                ),
                (None, Some(_)) => findings.fail(
                    case.place_of(session, event),
                    format!("{side}_lines without {side}_hash"),
                ),
            }
        }
    }
}

/// How many lines the text with this hash has, if it is known: it is in the call, or so many lines of the real file have the hash.
fn line_count(
    case: &Case<'_>,
    calls: &[&Call],
    event: &Event,
    hash: &str,
    stated: u64,
) -> Option<u64> {
    if let Some(text) = text_of(calls, hash) {
        return Some(Lines::new(&text).count());
    }
    if calls
        .iter()
        .any(|call| spans::in_patch(&call.args, hash, Some(stated)))
    {
        return Some(stated);
    }
    let file = in_project(event.text("file").unwrap_or_default());
    let of_file = case.truth.edits.iter().filter(|real| real.file == file);
    let mut texts = of_file
        .flat_map(|real| [&real.before, &real.after])
        .flatten();
    texts
        .any(|text| spans::in_text(text, hash, Some(stated)) == Some(true))
        .then_some(stated)
}
