//! Tier 1: every session converts without losing text, and errors are machine-readable.

use engram_core::error::ErrorCode;
use engram_core::event::Kind;
use engram_core::policy::Policy;
use serde_json::Value;

use crate::case::Case;
use crate::convert::ConversionError;
use crate::converted_session::{ConvertedSession, escaped};
use crate::outcome::Findings;
use crate::session::{Form, files, read_decompressed};
use crate::subject::Subject;
use crate::tape::{Event, events};

/// The most lost texts of one session that are reported.
const MAX_LOST_TEXTS: usize = 4;
/// Only sessions below this size are damaged on purpose: it takes time, and longer ones show nothing more.
const MAX_DAMAGED_BYTES: usize = 512 << 10;
/// Shorter prompts and ids occur anywhere.
const LEAST_TELLING: usize = 8;
/// A line that is not a record of any harness.
const BROKEN_RECORD: &str = "this line is no record of any harness";

/// Every session converts.
pub fn converts(case: &Case<'_>, findings: &mut Findings) {
    findings.count_many("sessions", case.sessions.len() as u64);
    for session in &case.sessions {
        if let Some(refusal) = &session.refusal {
            findings.fail(case.place(session), refusal.to_string());
        }
    }
    for (session, error) in &case.failures {
        findings.fail(
            format!("{}/{}", case.recording.name(), session.name),
            error.to_string(),
        );
    }
    for reason in case.open_error.iter().chain(&case.truth_error) {
        findings.fail(case.recording.name(), reason);
    }
    let is_empty =
        case.sessions.is_empty() && case.failures.is_empty() && case.open_error.is_none();
    match (is_empty, case.recording.declared.is_some()) {
        (true, true) => findings.fail(case.recording.name(), "it has no session"),
        (true, false) => findings.note("recordings without a session"),
        _ => {}
    }
}

/// A recording whose files contain a prompt or a call gives a tape with messages or calls.
pub fn store_not_empty(case: &Case<'_>, findings: &mut Findings) {
    let is_conversation = |event: &Event| {
        [Kind::MsgIn, Kind::MsgOut, Kind::ToolCall]
            .into_iter()
            .any(|kind| event.is(kind))
    };
    let has_refused = !case.failures.is_empty() || case.open_error.is_some();
    if case
        .sessions
        .iter()
        .any(|session| session.events.iter().any(is_conversation))
    {
        findings.count("recordings");
    } else if has_refused {
        findings.note("recordings that are refused");
    } else if let Some(file) = file_with_facts(case) {
        findings.fail(
            format!("{}/{file}", case.recording.name()),
            "it contains a prompt or a call, but the tapes are empty",
        );
    } else {
        findings.note("recordings without a logged prompt or call");
    }
}

/// A file of the sessions that contains a prompt or a call id of the ground truth.
fn file_with_facts(case: &Case<'_>) -> Option<String> {
    let ids = case.truth.calls.iter().map(|call| call.id.as_str());
    let facts: Vec<&str> = ids
        .chain(case.truth.prompts.iter().map(String::as_str))
        .filter(|fact| fact.len() >= LEAST_TELLING)
        .collect();
    let spelled: Vec<String> = facts.into_iter().map(escaped).collect();
    let has_fact = |bytes: &[u8]| {
        spelled
            .iter()
            .any(|fact| memchr::memmem::find(bytes, fact.as_bytes()).is_some())
    };
    // Exports and streams of the same sessions may have less than what is stored.
    if let Some(session) = case
        .sessions
        .first()
        .filter(|session| session.input.form != Form::Stored)
    {
        return case
            .sessions
            .iter()
            .any(|session| has_fact(session.source()))
            .then(|| session.name().to_owned());
    }
    let directory = case.recording.directory.join("session");
    let found = files(&directory)
        .into_iter()
        .find(|path| has_fact(&read_decompressed(path).unwrap_or_default()))?;
    Some(
        found
            .strip_prefix(&directory)
            .unwrap_or(&found)
            .to_string_lossy()
            .replace('\\', "/"),
    )
}

/// The adapter detects every session, and names its evidence.
pub fn detected(subject: &Subject<'_>, case: &Case<'_>, findings: &mut Findings) {
    let Some(stream) = subject.capabilities.stream else {
        return;
    };
    for session in &case.sessions {
        let mut input = engram_core::pipeline::Input::new(
            session.source(),
            engram_core::limits::Limits::default(),
        );
        let evidence = input.head().ok().and_then(|head| stream.probe(&head));
        match evidence {
            Some(evidence) if !evidence.marks.is_empty() => findings.count("sessions"),
            Some(_) => findings.fail(case.place(session), "detected without evidence"),
            None => findings.fail(case.place(session), "not detected"),
        }
    }
}

/// A recording shows exactly the scenarios that it declares.
pub fn scenarios(case: &Case<'_>, findings: &mut Findings) {
    let Some(declared) = &case.recording.declared else {
        return findings.fail(
            case.recording.name(),
            "scenarios.tsv does not name this recording",
        );
    };
    findings.count_many("scenarios", declared.len() as u64);
    for name in declared.difference(&case.scenarios) {
        findings.fail(
            case.recording.name(),
            format!("declares `{name}`, but does not show it"),
        );
    }
    for name in case.scenarios.difference(declared) {
        findings.fail(
            case.recording.name(),
            format!("shows `{name}`, but does not declare it"),
        );
    }
}

/// No text of the source is lost silently.
pub fn text(subject: &Subject<'_>, case: &Case<'_>, findings: &mut Findings) {
    for session in &case.sessions {
        let report = match session.audit(&subject.descriptor) {
            Ok(report) => report,
            // The checks of the format report tapes that cannot be read.
            Err(_) if !session.violations().is_empty() => {
                findings.note("tapes that break the format");
                continue;
            }
            Err(error) => {
                findings.fail(case.place(session), error);
                continue;
            }
        };
        findings.count_many("strings in tapes", report.in_tape.strings);
        findings.count_many(
            "strings omitted by rules",
            report
                .omitted
                .values()
                .chain(report.opaque.values())
                .map(|amount| amount.strings)
                .sum(),
        );
        // Examples of other values than content strings are for `leaf.audited`.
        for lost in report
            .examples
            .iter()
            .take(if report.left_over.strings > 0 {
                MAX_LOST_TEXTS
            } else {
                0
            })
        {
            let place = format!("{}:{}", case.place(session), lost.line);
            findings.fail(
                place,
                format!("lost: {} {} `{}`", lost.record, lost.pointer, lost.excerpt),
            );
        }
        for disagreement in report.disagreements.iter().take(MAX_LOST_TEXTS) {
            findings.fail(case.place(session), disagreement);
        }
    }
}

/// An answer follows the first prompt, unless the scenario of the recording prevents one.
pub fn answer(subject: &Subject<'_>, case: &Case<'_>, findings: &mut Findings) {
    if ["killed", "interrupt", "api_error"]
        .iter()
        .any(|name| case.scenarios.contains(name))
    {
        return findings.note("recordings with an interrupted or failed turn");
    }
    if case
        .truth
        .calls
        .last()
        .is_some_and(|last| !case.is_logged(&last.id))
    {
        return findings.note("recordings with an incomplete log of the last turn");
    }
    let is_prompt = |event: &Event| {
        event.is(Kind::MsgIn)
            && event.text("role") == Some("user")
            && event.text("by") == Some("person")
            && !event.is_replay()
    };
    let may_lack_answers = |session: &ConvertedSession| {
        subject.declares_for(session.schema(), Kind::MsgOut, "message.not_logged")
    };
    let claims_answers = |session: &&ConvertedSession| {
        session.claim(Kind::MsgOut) != Some("none") && !may_lack_answers(session)
    };
    let is_answer = |event: &Event| event.is(Kind::MsgOut) && event.has("text");
    let prompted: Vec<&ConvertedSession> = case
        .sessions
        .iter()
        .filter(claims_answers)
        .filter(|session| session.events.iter().any(is_prompt))
        .collect();
    // A turn that ends with a failed call has no answer.
    let stops = |session: &&ConvertedSession| {
        session
            .events
            .iter()
            .rev()
            .find(|event| !event.is(Kind::Meta))
            .is_some_and(|last| session.has_failed(last))
    };
    if !prompted.is_empty() && prompted.iter().all(stops) {
        return findings.note("recordings that end with a failed call");
    }
    // Without a text behind the prompts, the harness has logged no answer. `text.all` finds texts that are in the log only.
    let has_text = |event: &Event| {
        !event.is(Kind::MsgIn) && ["text", "args", "stdout"].iter().any(|key| event.has(key))
    };
    let is_silent = |session: &&ConvertedSession| {
        !session
            .events
            .iter()
            .skip_while(|event| !is_prompt(event))
            .any(has_text)
    };
    if !prompted.is_empty() && prompted.iter().all(is_silent) {
        return findings.note("recordings without a logged answer");
    }
    let is_answered = |session: &ConvertedSession| {
        session
            .events
            .iter()
            .skip_while(|event| !is_prompt(event))
            .any(is_answer)
    };
    // A failed turn may leave one session without an answer and without an error.
    let answered = prompted
        .iter()
        .filter(|session| is_answered(session))
        .count();
    findings.count_many("sessions with an answer", answered as u64);
    if let Some(session) = prompted.first().filter(|_| answered == 0) {
        findings.fail(
            case.place(session),
            "a prompt, but no answer in any session of the recording",
        );
    }
}

/// True if every line of the session is a JSON record.
fn has_records(session: &ConvertedSession) -> bool {
    let lines: Vec<&[u8]> = session
        .source()
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.trim_ascii().is_empty())
        .collect();
    let is_json = |line: &&[u8]| serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok();
    session.events.iter().any(|event| event.line().is_some())
        && lines.len() > 1
        && lines.iter().all(is_json)
}

/// Inserts a broken record before the last line: it must be reported.
pub fn broken_record(subject: &Subject<'_>, case: &Case<'_>, findings: &mut Findings) {
    for session in case
        .sessions
        .iter()
        .filter(|session| session.source().len() < MAX_DAMAGED_BYTES)
    {
        if !has_records(session) {
            findings.note("sessions that are not JSON Lines");
            continue;
        }
        let text = session
            .source()
            .strip_suffix(b"\n")
            .unwrap_or(session.source());
        let at = memchr::memrchr(b'\n', text).map_or(0, |at| at + 1);
        let broken = [
            &text[..at],
            BROKEN_RECORD.as_bytes(),
            b"\n",
            &text[at..],
            b"\n",
        ]
        .concat();
        let line = memchr::memchr_iter(b'\n', &text[..at]).count() as u64 + 1;
        for policy in [Policy::Strict, Policy::Permissive] {
            let Some(result) = subject.under(policy, &broken) else {
                continue;
            };
            match broken_line_problem(result, line) {
                None => findings.count("broken records"),
                Some(why) => findings.fail(
                    format!("{}:{line}", case.place(session)),
                    format!("a broken record under {policy} policy: {why}"),
                ),
            }
        }
    }
}

/// What is wrong with the result for a broken line.
fn broken_line_problem(result: Result<String, ConversionError>, line: u64) -> Option<String> {
    match result {
        Err(ConversionError::Refused(error)) if is_version_error(error.code) => None,
        Err(ConversionError::Refused(error))
            if error.code == ErrorCode::MalformedRecord && error.line == Some(line) =>
        {
            None
        }
        Err(ConversionError::Refused(error)) => {
            Some(format!("`{error}` is not malformed_record in this line"))
        }
        Err(error) => Some(error.to_string()),
        Ok(tape) if tape.contains(BROKEN_RECORD) => None,
        Ok(_) => Some("neither an error nor in the tape".to_owned()),
    }
}

fn is_version_error(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::UnknownHarnessVersion | ErrorCode::KnownBadVersion
    )
}

/// Truncates a session in the middle of its last record: the adapter must notice it and not panic.
pub fn truncated(subject: &Subject<'_>, case: &Case<'_>, findings: &mut Findings) {
    for session in case
        .sessions
        .iter()
        .filter(|session| session.source().len() < MAX_DAMAGED_BYTES)
    {
        let text = session.source().trim_ascii_end();
        let last = memchr::memrchr(b'\n', text).map_or(0, |at| at + 1);
        let cut = &text[..last + (text.len() - last) / 2];
        let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(&text[last..]).is_ok();
        for policy in [Policy::Strict, Policy::Permissive] {
            let Some(result) = subject.under(policy, cut) else {
                continue;
            };
            match result {
                Err(ConversionError::Refused(_) | ConversionError::NotUtf8) => {
                    findings.count("truncated sessions")
                }
                Err(ConversionError::Panicked) => findings.fail(
                    case.place(session),
                    "the adapter panics when the session is truncated",
                ),
                Ok(tape) if !is_json || is_incomplete(&tape) => {
                    findings.count("truncated sessions")
                }
                Ok(_) => findings.fail(
                    case.place(session),
                    format!("truncated, but complete under {policy} policy"),
                ),
            }
        }
    }
}

fn is_incomplete(tape: &str) -> bool {
    events(tape)
        .last()
        .is_some_and(|stop| stop.0.get("complete") == Some(&Value::Bool(false)))
}
