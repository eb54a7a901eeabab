//! What an event must not leave to others: absolute paths, the model of a response, and only the sides of a file that existed.

use engram_core::event::Kind;

use crate::case::Case;
use crate::converted_session::ConvertedSession;
use crate::outcome::Findings;
use crate::tape::Event;

/// What the session said last, of one sub-agent or of none.
#[derive(Default)]
struct Stated<'s> {
    has_cwd: bool,
    /// The sub-agents with a model.
    models: Vec<Option<&'s str>>,
}

impl<'s> Stated<'s> {
    fn add(&mut self, event: &'s Event) {
        if !event.is_meta("session") {
            return;
        }
        self.has_cwd |= event.has("cwd");
        if event.has("model") && !self.models.contains(&agent(event)) {
            self.models.push(agent(event));
        }
    }
}

fn agent(event: &Event) -> Option<&str> {
    event.0.pointer("/source/agent_id")?.as_str()
}

/// True for an event of a command, which may change its directory.
fn is_of_command(session: &ConvertedSession, event: &Event) -> bool {
    session
        .call_of(event)
        .is_some_and(|call| call.text("kind") == Some("execute"))
}

/// Compares each event with what its tape said before it.
fn each<'s>(
    case: &'s Case<'_>,
    compare: impl Fn(&'s ConvertedSession, &'s Event, &Stated<'s>) -> Option<bool>,
    message: &str,
    findings: &mut Findings,
) {
    for session in &case.sessions {
        let mut stated = Stated::default();
        for event in &session.events {
            match compare(session, event, &stated) {
                Some(true) => findings.count("events"),
                Some(false) => findings.fail(case.place_of(session, event), message),
                None => {}
            }
            stated.add(event);
        }
    }
}

/// The file of a read or edit is absolute if the tape said a directory before.
pub fn paths(case: &Case<'_>, findings: &mut Findings) {
    let compare = |session: &ConvertedSession, event: &Event, stated: &Stated<'_>| {
        let file = event
            .text("file")
            .filter(|_| stated.has_cwd && (event.is(Kind::CodeRead) || event.is(Kind::CodeEdit)))?;
        let is_absolute = file.starts_with(['/', '\\', '~']) || file.get(1..2) == Some(":");
        (is_absolute || !is_of_command(session, event)).then_some(is_absolute)
    };
    each(
        case,
        compare,
        "a relative path, although the tape has the directory",
        findings,
    );
}

/// A usage has a model if the tape said one before.
pub fn models(case: &Case<'_>, findings: &mut Findings) {
    let compare = |_: &ConvertedSession, event: &Event, stated: &Stated<'_>| {
        let is_stated = event.is_meta("usage") && stated.models.contains(&agent(event));
        is_stated.then(|| event.has("model"))
    };
    each(
        case,
        compare,
        "a usage without the model that the session states",
        findings,
    );
}

/// There is nothing before an edit that created a file, and nothing after one that deleted it.
pub fn sides(case: &Case<'_>, findings: &mut Findings) {
    let compare = |_: &ConvertedSession, event: &Event, _: &Stated<'_>| {
        let side = match event.text("op").filter(|_| event.is(Kind::CodeEdit))? {
            "create" => "before",
            "delete" => "after",
            _ => return None,
        };
        Some(
            !["range", "hash", "anchor_hashes", "lines"]
                .iter()
                .any(|key| event.has(&format!("{side}_{key}"))),
        )
    };
    each(
        case,
        compare,
        "lines or a hash of a file that did not exist",
        findings,
    );
}
