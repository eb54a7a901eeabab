//! Tier 1: every session gives a tape that has all its text, and trouble is told to machines.

use engram_core::error::ErrorCode;
use engram_core::event::Kind;
use engram_core::policy::Policy;
use serde_json::Value;

use crate::convert::Trouble;
use crate::outcome::Found;
use crate::scene::{Scene, Side};
use crate::tape::{Event, events};

/// The most pieces of lost text of one session that are reported.
const MOST_PIECES: usize = 4;
/// Longer sessions are not damaged on purpose: what matters in them is in shorter ones too.
const DAMAGED_BYTES: usize = 512 << 10;
/// A line that is no record of any format that has records.
const NO_RECORD: &str = "this line is no record of any harness";

/// Every session gives a tape.
pub fn converts(scene: &Scene<'_>, found: &mut Found) {
    found.count_many("sessions", scene.sides.len() as u64);
    for (session, trouble) in &scene.troubles {
        found.fail(format!("{}/{}", scene.recording.name(), session.name), trouble.to_string());
    }
    for reason in scene.unopened.iter().chain(&scene.bad_truth) {
        found.fail(scene.recording.name(), reason);
    }
    let is_empty = scene.sides.is_empty() && scene.troubles.is_empty() && scene.unopened.is_none();
    match (is_empty, scene.recording.declared.is_some()) {
        (true, true) => found.fail(scene.recording.name(), "no session in it"),
        (true, false) => found.note("recordings in which the harness left no session"),
        _ => {}
    }
}

/// The adapter recognises every session, and says by which marks.
pub fn detected(scene: &Scene<'_>, found: &mut Found) {
    let Some(stream) = scene.subject.offered.stream else { return };
    for side in &scene.sides {
        let mut input = engram_core::pipeline::Input::new(side.source(), engram_core::limits::Limits::default());
        let evidence = input.head().ok().and_then(|head| stream.probe(&head));
        match evidence {
            Some(evidence) if !evidence.marks.is_empty() => found.count("sessions"),
            Some(_) => found.fail(scene.place(side), "recognised without a mark"),
            None => found.fail(scene.place(side), "not recognised"),
        }
    }
}

/// A recording shows what it declares.
pub fn scenarios(scene: &Scene<'_>, found: &mut Found) {
    let Some(declared) = &scene.recording.declared else {
        return found.fail(scene.recording.name(), "scenarios.tsv does not name this recording");
    };
    found.count_many("scenarios", declared.len() as u64);
    for name in declared.difference(&scene.shows) {
        found.fail(scene.recording.name(), format!("declares `{name}`, and does not show it"));
    }
    for name in scene.shows.difference(declared) {
        found.fail(scene.recording.name(), format!("shows `{name}`, and does not declare it"));
    }
}

/// Nothing of the source is lost in silence.
pub fn text(scene: &Scene<'_>, found: &mut Found) {
    for side in &scene.sides {
        let report = match side.audit(&scene.subject.descriptor) {
            Ok(report) => report,
            // What cannot be read as a tape is told by the checks of the format.
            Err(_) if !side.violations().is_empty() => {
                found.note("tapes that break the format");
                continue;
            }
            Err(error) => {
                found.fail(scene.place(side), error);
                continue;
            }
        };
        found.count_many("strings in tapes", report.in_tape.strings);
        found.count_many("strings under rules", report.omitted.values().chain(report.opaque.values()).map(|amount| amount.strings).sum());
        for left in report.examples.iter().take(MOST_PIECES) {
            let place = format!("{}:{}", scene.place(side), left.line);
            found.fail(place, format!("lost: {} {} `{}`", left.record, left.pointer, left.excerpt));
        }
        for differs in report.disagreements.iter().take(MOST_PIECES) {
            found.fail(scene.place(side), differs);
        }
    }
}

/// A prompt is followed by an answer, unless the recording is of what prevents one.
pub fn answer(scene: &Scene<'_>, found: &mut Found) {
    if ["killed", "interrupt", "api_error"].iter().any(|name| scene.shows.contains(name)) {
        return found.note("recordings of turns that may end without one");
    }
    if scene.truth.calls.last().is_some_and(|last| !scene.is_logged(&last.id)) {
        return found.note("recordings of turns that are not logged to their end");
    }
    let is_prompt =
        |event: &Event| event.is(Kind::MsgIn) && event.text("role") == Some("user") && !event.has("synthetic") && !event.is_replay();
    let claims_answers =
        |side: &&Side| side.events.first().and_then(|start| start.0.pointer("/coverage/msg.out")).and_then(Value::as_str) != Some("none");
    let is_answer = |event: &Event| event.is(Kind::MsgOut) && event.has("text");
    let prompted: Vec<&Side> = scene.sides.iter().filter(claims_answers).filter(|side| side.events.iter().any(is_prompt)).collect();
    // A turn that stops at a call that failed has no answer.
    let stops = |side: &&Side| side.events.iter().rev().find(|event| !event.is(Kind::Meta)).is_some_and(|last| side.has_failed(last));
    if !prompted.is_empty() && prompted.iter().all(stops) {
        return found.note("recordings of turns that stop at a failed call");
    }
    let is_answered = |side: &Side| side.events.iter().skip_while(|event| !is_prompt(event)).any(is_answer);
    // A turn that failed may leave a session without an answer, and without a word about it.
    let answered = prompted.iter().filter(|side| is_answered(side)).count();
    found.count_many("sessions with an answer", answered as u64);
    if let Some(side) = prompted.first().filter(|_| answered == 0) {
        found.fail(scene.place(side), "a prompt, and no answer in any session of the recording");
    }
}

/// True for sessions of lines that are JSON records.
fn has_records(side: &Side) -> bool {
    let lines: Vec<&[u8]> = side.source().split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).collect();
    let is_json = |line: &&[u8]| serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok();
    side.events.iter().any(|event| event.line().is_some()) && lines.len() > 1 && lines.iter().all(is_json)
}

/// A line that is no record, before the last line.
pub fn broken_record(scene: &Scene<'_>, found: &mut Found) {
    for side in scene.sides.iter().filter(|side| side.source().len() < DAMAGED_BYTES) {
        if !has_records(side) {
            found.note("sessions that are not lines of JSON");
            continue;
        }
        let text = side.source().strip_suffix(b"\n").unwrap_or(side.source());
        let at = memchr::memrchr(b'\n', text).map_or(0, |at| at + 1);
        let broken = [&text[..at], NO_RECORD.as_bytes(), b"\n", &text[at..], b"\n"].concat();
        let line = memchr::memchr_iter(b'\n', &text[..at]).count() as u64 + 1;
        for policy in [Policy::Strict, Policy::Permissive] {
            let Some(made) = scene.subject.under(policy, &broken) else { continue };
            match wrong_about_line(made, line) {
                None => found.count("broken records"),
                Some(why) => found.fail(format!("{}:{line}", scene.place(side)), format!("a broken record under {policy} policy: {why}")),
            }
        }
    }
}

/// What is wrong with how a broken line was met.
fn wrong_about_line(made: Result<String, Trouble>, line: u64) -> Option<String> {
    match made {
        Err(Trouble::Refused(error)) if is_about_version(error.code) => None,
        Err(Trouble::Refused(error)) if error.code == ErrorCode::MalformedRecord && error.line == Some(line) => None,
        Err(Trouble::Refused(error)) => Some(format!("`{error}` is not malformed_record in this line")),
        Err(trouble) => Some(trouble.to_string()),
        Ok(tape) if tape.contains(NO_RECORD) => None,
        Ok(_) => Some("neither an error nor in the tape".to_owned()),
    }
}

fn is_about_version(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::UnknownHarnessVersion | ErrorCode::KnownBadVersion)
}

/// A session that ends in the middle of its last record.
pub fn cut(scene: &Scene<'_>, found: &mut Found) {
    for side in scene.sides.iter().filter(|side| side.source().len() < DAMAGED_BYTES) {
        let text = side.source().trim_ascii_end();
        let last = memchr::memrchr(b'\n', text).map_or(0, |at| at + 1);
        let cut = &text[..last + (text.len() - last) / 2];
        let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(&text[last..]).is_ok();
        for policy in [Policy::Strict, Policy::Permissive] {
            let Some(made) = scene.subject.under(policy, cut) else { continue };
            match made {
                Err(Trouble::Refused(_) | Trouble::NotText) => found.count("sessions cut off"),
                Err(Trouble::Panicked) => found.fail(scene.place(side), "the adapter panics when the session is cut off"),
                Ok(tape) if !is_json || is_incomplete(&tape) => found.count("sessions cut off"),
                Ok(_) => found.fail(scene.place(side), format!("cut off, and complete under {policy} policy")),
            }
        }
    }
}

fn is_incomplete(tape: &str) -> bool {
    events(tape).last().is_some_and(|stop| stop.0.get("complete") == Some(&Value::Bool(false)))
}
