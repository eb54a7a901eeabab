//! Compares edits with the real files: none is missing, none is invented, and every hash and range is right.

use engram_core::event::Kind;
use engram_core::hash::{Hash, is_lossless};

use super::attribution;
use super::behind_hook::{is_behind_hook, is_of_call_behind_hook};
use super::call_edits::{CallEdits, call_edits, is_alone, is_edit_of, is_of, matching};
use super::spans::{self, Lines};
use crate::case::Case;
use crate::converted_session::{ConvertedSession, escaped};
use crate::gaps::{names_only, split_at_cr};
use crate::ground_truth::{Call, FileState, RealEdit, is_outside_project};
use crate::outcome::Findings;
use crate::subject::Subject;
use crate::tape::Event;

/// The gap of edits of a file without its byte order mark.
const UNMARKED: &str = "edit.bom";
/// The gap of edits of files that a hook changed behind the call.
const HOOK: &str = super::behind_hook::GAP;
/// The gap of calls of which the log does not say which script made them.
const NESTED: &str = "call.nested_parent";
/// The gap of edits by a harness that takes a bare CR for a line end.
const BARE_CR: &str = "edit.bare_cr";

/// The file of every `code.edit` really changed, unless the call failed or the edit itself says that nothing changed.
pub fn real(case: &Case<'_>, findings: &mut Findings) {
    for edits in call_edits(case) {
        let Some(first) = edits.events.first() else {
            continue;
        };
        if case.truth.edits.iter().any(|real| is_of(real, &edits)) {
            findings.count_many("edit spans", edits.events.len() as u64);
            continue;
        }
        let last = edits.events.last().unwrap_or(first);
        let is_as_before = first.text("file_before_hash").is_some()
            && first.text("file_before_hash") == last.text("file_after_hash");
        let is_no_change = edits.events.iter().all(|event| {
            let same = |before, after| {
                event.text(before).is_some() && event.text(before) == event.text(after)
            };
            same("file_before_hash", "file_after_hash") || same("before_hash", "after_hash")
        });
        if edits.is_request() {
            findings.count("edits marked as requests only");
        } else if is_outside_project(&edits.file) {
            findings.note("edits outside of the project");
        } else if case.is_formatted() || attribution::is_shared(case, &edits.file) {
            findings.note("edits of files that others change at the same time");
        } else if attribution::has_happened(case, &edits) {
            findings.note("edits that the ground truth has under another call");
        } else if attribution::is_shown(case, &edits) {
            findings.note("edits that the result shows and no snapshot has");
        } else if attribution::writes_same_text(case, &edits) {
            findings.note("files that were written again with the text that they had");
        } else if attribution::is_through_link(case, &edits) {
            findings.note("edits of a file that a link leads to");
        } else if is_no_change || is_as_before {
            findings.count("edits with equal hashes before and after");
        } else if !edits.session.has_failed(first) {
            let calls = edits.call_chain.join(" < ");
            findings.fail(
                case.place_of(edits.session, first),
                format!(
                    "code.edit of {calls} on {}: nothing changed in the real file",
                    edits.file
                ),
            );
        }
    }
}

/// Compares the first file hash before and the last file hash after with the real files of the turn.
pub fn whole_files(subject: &Subject<'_>, case: &Case<'_>, findings: &mut Findings) {
    let edits = call_edits(case);
    for real in case.truth.edits.iter().filter(|real| !real.is_revert()) {
        let events: Vec<(&ConvertedSession, &Event)> = matching(&edits, real)
            .into_iter()
            .filter(|edits| edits.file == real.file)
            .flat_map(|edits| edits.events.iter().map(|event| (edits.session, *event)))
            .collect();
        let (Some(first), Some(last)) = (events.first(), events.last()) else {
            continue;
        };
        let is_move = first.1.text("op") == Some("move");
        let others = real.call_ids.len() > 1 && events.len() < real.call_ids.len();
        compare_hash(
            (subject, case),
            findings,
            *first,
            "file_before_hash",
            real.state_before(),
            others,
        );
        let is_written =
            |text: &str| last.1.text("file_after_hash") == Some(&*Hash::of_text(text).to_string());
        if !is_move && is_of_call_behind_hook((subject, case), *last, real, is_written) {
            findings.gap(HOOK);
        } else if !is_move {
            compare_hash(
                (subject, case),
                findings,
                *last,
                "file_after_hash",
                real.state_after(),
                others,
            );
        }
    }
}

fn compare_hash(
    (subject, case): (&Subject<'_>, &Case<'_>),
    findings: &mut Findings,
    (session, event): (&ConvertedSession, &Event),
    key: &'static str,
    text: FileState<'_>,
    others: bool,
) {
    let Some(actual) = event.text(key) else {
        return;
    };
    let id = event.text("call_id").unwrap_or_default();
    let expected = text
        .text()
        .filter(|text| is_lossless(text))
        .map(|text| Hash::of_text(text).to_string());
    let why = match text {
        FileState::Text(_) if expected.as_deref() == Some(actual) => {
            return findings.count("file hashes");
        }
        FileState::Text(text)
            if subject.declares_for(session.schema(), Kind::CodeEdit, UNMARKED)
                && text
                    .strip_prefix('\u{feff}')
                    .is_some_and(|bare| Hash::of_text(bare).to_string() == actual) =>
        {
            return findings.gap(UNMARKED);
        }
        _ if others => return findings.note("file hashes between the calls of one turn"),
        // A harness logs a file that is not UTF-8 with U+FFFD.
        FileState::Unknown
            if !case
                .sessions
                .iter()
                .any(|session| session.record_contains(id, "\u{fffd}")) =>
        {
            return findings.note("file hashes of files without a recorded text");
        }
        FileState::Unknown => "the file was not UTF-8",
        FileState::Absent => "there was no file",
        FileState::Text(text) if !is_lossless(text) => "its text contains U+FFFD",
        FileState::Text(_) => "the file has another hash",
    };
    findings.fail(
        case.place_of(session, event),
        format!("{key} is wrong: {why}"),
    );
}

/// Compares spans and op with the real file, for every call that changed a file alone.
pub fn spans(subject: &Subject<'_>, case: &Case<'_>, findings: &mut Findings) {
    let edits = call_edits(case);
    for real in case.truth.edits.iter().filter(|real| !real.is_revert()) {
        if let [only] = matching(&edits, real).as_slice()
            && is_alone(case, real, only)
            && !only.is_request()
        {
            if attribution::has_parallel_command(case, only) {
                findings
                    .note("edits of files that another command may have changed at the same time");
                continue;
            }
            ops(subject, case, findings, real, only);
            ranges(subject, case, findings, real, only);
        }
    }
}

/// The op says whether the file existed before and after.
fn ops(
    subject: &Subject<'_>,
    case: &Case<'_>,
    findings: &mut Findings,
    real: &RealEdit,
    edits: &CallEdits<'_>,
) {
    let (before, after) = (real.state_before(), real.state_after());
    let ops: Vec<&str> = edits
        .events
        .iter()
        .filter_map(|event| event.text("op"))
        .collect();
    if let [first @ .., "create" | "overwrite"] = ops.as_slice()
        && (first.contains(&"delete") || first.contains(&"move"))
    {
        return findings.note("files that a call deletes or moves, and creates again");
    }
    for event in &edits.events {
        let op = event.text("op").unwrap_or_default();
        let (fits, was) = match (before, after) {
            (FileState::Absent, _) => (op == "create", "did not exist before"),
            (_, FileState::Absent) => (matches!(op, "delete" | "move"), "did not exist after"),
            _ => (
                matches!(op, "update" | "overwrite"),
                "existed before and after",
            ),
        };
        // A patch may add a file over an existing one. Then the edit must state nothing about the old file.
        let has_no_before = ["before_range", "before_hash", "file_before_hash"]
            .iter()
            .all(|key| !event.has(key));
        if fits {
            findings.count("ops");
        } else if op == "create"
            && has_no_before
            && subject.declares_for(edits.session.schema(), Kind::CodeEdit, "edit.add_over_file")
        {
            findings.gap("edit.add_over_file");
        } else if op == "update"
            && names_only(event)
            && subject.declares_for(
                edits.session.schema(),
                Kind::CodeEdit,
                "edit.shell_names_only",
            )
        {
            // The source names a changed file, not how it changed.
            findings.gap("edit.shell_names_only");
        } else {
            findings.fail(
                case.place_of(edits.session, event),
                format!("op `{op}` on {}, but the file {was}", edits.file),
            );
        }
    }
}

/// True if the span is that of the file without its byte order mark, and the log is declared to lack marks.
fn is_unmarked(
    subject: &Subject<'_>,
    edits: &CallEdits<'_>,
    event: &Event,
    part: &str,
    real: &RealEdit,
) -> bool {
    let state = if part == "before" {
        real.state_before()
    } else {
        real.state_after()
    };
    let bare = state
        .text()
        .and_then(|text| text.strip_prefix('\u{feff}'))
        .map(Lines::new);
    subject.declares_for(edits.session.schema(), Kind::CodeEdit, UNMARKED)
        && bare.is_some_and(|bare| spans::refuted(event, part, Some(&bare)).is_none())
}

/// True if the spans are right for these texts, divided into lines in this way.
fn fit(edits: &CallEdits<'_>, texts: [FileState<'_>; 2], lines: &dyn Fn(&str) -> Lines) -> bool {
    let [before, after] = texts.map(|state| state.text().map(lines));
    let is_refuted = |part, text: &Option<Lines>| {
        let mut events = edits.events.iter();
        events.any(|event| spans::refuted(event, part, text.as_ref()).is_some())
    };
    !is_refuted("before", &before)
        && !is_refuted("after", &after)
        && (before.zip(after)).is_none_or(|(before, after)| {
            spans::explain(&edits.events, &before, &after) != Some(false)
        })
}

/// True if the spans are wrong for the lines of the file, and right if every bare CR ends a line.
fn counts_bare_cr(edits: &CallEdits<'_>, before: FileState<'_>, after: FileState<'_>) -> bool {
    let fit = |lines: &dyn Fn(&str) -> Lines| fit(edits, [before, after], lines);
    let split = |text: &str| Lines::new(&split_at_cr(text).unwrap_or_else(|| text.to_owned()));
    [before, after]
        .iter()
        .any(|state| state.text().and_then(split_at_cr).is_some())
        && !fit(&Lines::new)
        && fit(&split)
}

/// Every span is right, and together the spans explain the whole change.
fn ranges(
    subject: &Subject<'_>,
    case: &Case<'_>,
    findings: &mut Findings,
    real: &RealEdit,
    edits: &CallEdits<'_>,
) {
    let (before, after) = (real.state_before(), real.state_after());
    let is_unknown = [
        ("before", before == FileState::Unknown),
        ("after", after == FileState::Unknown),
    ];
    if subject.declares_for(edits.session.schema(), Kind::CodeEdit, BARE_CR)
        && counts_bare_cr(edits, before, after)
    {
        return findings.gap(BARE_CR);
    }
    if let Some(last) = edits.events.last()
        && is_of_call_behind_hook((subject, case), (edits.session, last), real, |text| {
            fit(edits, [before, FileState::Text(text)], &Lines::new)
        })
    {
        return findings.gap(HOOK);
    }
    let (before, after) = (before.text().map(Lines::new), after.text().map(Lines::new));
    for ((part, is_unknown), text) in is_unknown.into_iter().zip([&before, &after]) {
        for event in &edits.events {
            if is_unknown || (event.text("op") == Some("move") && part == "after") {
                continue;
            }
            match spans::refuted(event, part, text.as_ref()) {
                Some(_) if is_unmarked(subject, edits, event, part, real) => findings.gap(UNMARKED),
                Some(why) => findings.fail(
                    case.place_of(edits.session, event),
                    format!("{}: {why}", edits.file),
                ),
                None if event.range(&format!("{part}_range")).is_some() => findings.count("ranges"),
                None => {}
            }
        }
    }
    let (Some(before), Some(after), Some(first)) = (&before, &after, edits.events.first()) else {
        return;
    };
    match spans::explain(&edits.events, before, after) {
        Some(true) => findings.count("edits that explain the whole change"),
        Some(false) if attribution::has_other_agents(case, real) => {
            findings.note("edits of files that other agents may have changed at the same time")
        }
        Some(false) => findings.fail(
            case.place_of(edits.session, first),
            format!("{} also changed outside of the spans", edits.file),
        ),
        None => findings.note("edits with missing ranges"),
    }
}

/// True if the log has a text with the hash in the call of an edit, and the file may contain it: a harness may trim the texts of a call before
/// it applies them, and logs what it applies. `call.facts` compares the arguments with the ground truth.
fn is_logged_text(edits: &CallEdits<'_>, event: &Event, file: Option<&str>, hash: &str) -> bool {
    let Some(call) = edits.session.call_of(event) else {
        return false;
    };
    let has_hash = |text: &&str| Hash::of_text(text).to_string() == hash;
    let text = spans::strings(&call.0["args"]).into_iter().find(has_hash);
    text.is_some_and(|text| {
        file.is_none_or(|file| {
            file.replace("\r\n", "\n")
                .contains(&text.replace("\r\n", "\n"))
        })
    })
}

/// A snippet hashes a text from its call, or whole lines of the file.
pub fn snippets(case: &Case<'_>, findings: &mut Findings) {
    for edits in call_edits(case) {
        let Some(real) = case.truth.edits.iter().find(|real| is_of(real, &edits)) else {
            continue;
        };
        let calls: Vec<&Call> = edits
            .call_chain
            .iter()
            .filter_map(|root| case.call(root))
            .collect();
        let known: Vec<String> = calls
            .iter()
            .flat_map(|call| spans::strings(&call.args))
            .map(|text| Hash::of_text(text).to_string())
            .collect();
        for event in edits
            .events
            .iter()
            .filter(|event| event.text("basis") == Some("snippet"))
        {
            for (key, text) in [
                ("before_hash", real.before.as_deref()),
                ("after_hash", real.after.as_deref()),
            ] {
                let Some(actual) = event.text(key) else {
                    continue;
                };
                let count = event.number(&key.replace("_hash", "_lines"));
                let in_call = known.iter().any(|hash| hash == actual)
                    || calls
                        .iter()
                        .any(|call| spans::in_patch(&call.args, actual, count))
                    || is_logged_text(&edits, event, text, actual);
                match in_call.then_some(true).or_else(|| {
                    text.map_or(Some(false), |text| spans::in_text(text, actual, count))
                }) {
                    Some(true) => findings.count("snippets"),
                    Some(false) => findings.fail(
                        case.place_of(edits.session, event),
                        format!(
                            "{key} matches no text of the call and no lines of {}",
                            edits.file
                        ),
                    ),
                    None => findings.note("snippets of long files without a line count"),
                }
            }
        }
    }
}

/// True if all sessions that have the call claim to have no edits.
fn is_only_in_sessions_without_edits(case: &Case<'_>, id: &str) -> bool {
    let has_call = |session: &&ConvertedSession| {
        session
            .events
            .iter()
            .any(|event| event.is(Kind::ToolCall) && event.text("call_id") == Some(id))
    };
    let mut sessions = case.sessions.iter().filter(has_call).peekable();
    sessions.peek().is_some()
        && sessions.all(|session| session.claim(Kind::CodeEdit) == Some("none"))
}

/// Every logged edit by an edit tool is on the tape, with everything that the log allows.
pub fn logged_edits_are_there(subject: &Subject<'_>, case: &Case<'_>, findings: &mut Findings) {
    let edits = call_edits(case);
    for real in &case.truth.edits {
        let of_real = matching(&edits, real);
        let calls: Vec<&Call> = real
            .call_ids
            .iter()
            .filter_map(|id| case.call(id))
            .filter(|call| is_edit_of(case, call, &real.file))
            .collect();
        for call in &calls {
            if !case.logs_call(&call.id) {
                findings.note("edits that are not logged");
                continue;
            }
            if may_fail_after_edit(subject, case, call) {
                findings.gap("edit.after_error");
                continue;
            }
            let of_call: Vec<(&ConvertedSession, &Event)> = of_real
                .iter()
                .filter(|edits| edits.call_chain.contains(&call.id.as_str()))
                .flat_map(|edits| edits.events.iter().map(|event| (edits.session, *event)))
                .collect();
            if of_call.is_empty() && is_only_in_sessions_without_edits(case, &call.id) {
                findings.note("edits in sessions that claim none");
                continue;
            }
            if of_call.is_empty() && !of_real.is_empty() && has_not_run(case, call, real) {
                findings.note("calls that failed or were denied, beside one that changed the file");
                continue;
            }
            if of_call.is_empty() && is_by_unnamed_script(subject, case, &edits, &real.file) {
                findings.gap(NESTED);
                continue;
            }
            if of_call.is_empty() {
                findings.fail(
                    case.recording.name(),
                    format!(
                        "no code.edit of {} ({}) on {}",
                        call.id, call.tool, real.file
                    ),
                );
                continue;
            }
            findings.count("edits");
            let is_only = real.call_ids.len() == 1 && calls.len() == 1;
            is_complete((subject, case), findings, (real, call), &of_call, is_only);
        }
    }
}

/// True if a call that no logged call made has edited the file, and the session claims that the log may not say which script made a call.
fn is_by_unnamed_script(
    subject: &Subject<'_>,
    case: &Case<'_>,
    edits: &[CallEdits<'_>],
    file: &str,
) -> bool {
    edits
        .iter()
        .filter(|edits| edits.file == file)
        .any(|edits| {
            edits.call_chain.iter().all(|id| case.call(id).is_none())
                && subject.declares_for(edits.session.schema(), Kind::ToolCall, NESTED)
        })
}

/// True if the log says that the call was not successful, and the file does not have a text of its arguments that is new.
fn has_not_run(case: &Case<'_>, call: &Call, real: &RealEdit) -> bool {
    let is_of = |result: &Event| result.text("call_id") == Some(call.id.as_str());
    let mut results = case
        .events(Kind::ToolResult)
        .filter(|(_, result)| is_of(result))
        .peekable();
    let is_unsuccessful = |result: &Event| {
        matches!(
            result.text("status"),
            Some("error" | "denied" | "cancelled")
        )
    };
    let (before, after) = (
        real.before.as_deref().unwrap_or_default(),
        real.after.as_deref().unwrap_or_default(),
    );
    let is_new = |text: &&str| after.contains(text) && !before.contains(text);
    results.peek().is_some()
        && results.all(|(_, result)| is_unsuccessful(result))
        && !spans::strings(&call.args).iter().any(is_new)
}

/// True if the log says that the call failed, or one that it made, and is one of those where it may still have written the file.
fn may_fail_after_edit(subject: &Subject<'_>, case: &Case<'_>, call: &Call) -> bool {
    case.events(Kind::ToolResult).any(|(session, result)| {
        result.text("status") == Some("error")
            && session.call_chain(result).contains(&call.id.as_str())
            && subject.declares_for(session.schema(), Kind::CodeEdit, "edit.after_error")
    })
}

/// True if a record of this call contains a text. Records of this call are the record of its event, and records that name this call and no
/// other call. A record with a history names many calls.
fn is_in_record(case: &Case<'_>, call: &Call, own: Option<&[u8]>, text: &str) -> bool {
    let text = escaped(text);
    let has = |record: &[u8], text: &str| memchr::memmem::find(record, text.as_bytes()).is_some();
    let others = || case.truth.calls.iter().filter(|other| other.id != call.id);
    let is_history = |record: &[u8]| others().any(|other| has(record, &other.id));
    case.sessions.iter().any(|session| {
        session
            .records_with(&call.id)
            .any(|record| has(record, &text) && (own == Some(record) || !is_history(record)))
    })
}

/// True if the log has the whole text of a file beside the call that changed it.
pub fn is_file_logged(
    case: &Case<'_>,
    call: &Call,
    own: Option<&[u8]>,
    text: Option<&str>,
) -> bool {
    text.is_some_and(|text| {
        let is_file = text.lines().count() > 1 && is_lossless(text);
        is_file && is_in_record(case, call, own, &text.replace("\r\n", "\n"))
    })
}

/// An edit has its lines, and the hash of the file if the call's record contains the whole file.
fn is_complete(
    (subject, case): (&Subject<'_>, &Case<'_>),
    findings: &mut Findings,
    (real, call): (&RealEdit, &Call),
    events: &[(&ConvertedSession, &Event)],
    is_only: bool,
) {
    for (session, event) in events
        .iter()
        .filter(|(_, event)| event.text("basis") == Some("snippet"))
    {
        match subject.missing_lines_gap(session, event) {
            Some(code) => findings.gap(code),
            None => findings.fail(
                case.place_of(session, event),
                format!(
                    "{} has no lines, and no declared gap explains this",
                    real.file
                ),
            ),
        }
    }
    let has_no_result = events
        .iter()
        .any(|(_, event)| event.text("basis") == Some("snippet") || event.has("confirmed"));
    if has_no_result
        || !is_only
        || !call.is_main()
        || events
            .iter()
            .any(|(_, event)| event.text("op") == Some("move"))
    {
        return;
    }
    for (key, text) in [
        ("file_before_hash", real.before.as_deref()),
        ("file_after_hash", real.after.as_deref()),
    ] {
        // A deletion leaves no file, and a creation finds none.
        let absent = if key == "file_after_hash" {
            "delete"
        } else {
            "create"
        };
        let lacks_hash = |event: &Event| !event.has(key) && event.text("op") != Some(absent);
        let Some((session, event)) = events.iter().find(|(_, event)| lacks_hash(event)) else {
            continue;
        };
        if !is_file_logged(case, call, session.record_of(event), text) {
            continue;
        }
        let is_after = key == "file_after_hash";
        if let Some(code) = subject.missing_hash_gap(session, event) {
            findings.gap(code);
        } else if is_after && is_behind_hook((subject, case), session, event) {
            findings.gap(HOOK);
        } else {
            findings.fail(
                case.place_of(session, event),
                format!(
                    "no {key} of {}, but the call's record contains the whole file",
                    real.file
                ),
            );
        }
    }
}
