//! Follows the states of each file from edit to edit, from its real first state to its real last.

use std::collections::{BTreeMap, BTreeSet};

use engram_core::event::Kind;
use engram_core::hash::Hash;

use crate::case::Case;
use crate::converted_session::ConvertedSession;
use crate::ground_truth::{RealEdit, in_project};
use crate::outcome::Findings;
use crate::subject::Subject;
use crate::tape::Event;

/// The gap of changes by shell commands.
const SHELL: &str = "edit.shell";

/// One real change of a file, with its edits on the tapes.
struct Step<'s> {
    real: &'s RealEdit,
    edits: Vec<(&'s ConvertedSession, &'s Event)>,
}

/// A state of a file between two changes.
#[derive(Clone, PartialEq)]
enum State {
    /// The hash of its text.
    Known(String),
    /// A gap or an unlogged change: any state may follow.
    Lost,
    /// Neither the ground truth nor an edit says it.
    Unstated,
}

/// Every edit starts from the state that the edit before it left, and the first and last states are the real ones.
pub fn links(subject: &Subject<'_>, case: &Case<'_>, findings: &mut Findings) {
    if case.is_formatted() {
        return findings.note("recordings in which hooks change files");
    }
    for (file, steps) in files(case) {
        let hashed = steps
            .iter()
            .flat_map(|step| &step.edits)
            .filter(|(_, event)| has_hash(event))
            .count();
        // One edit is no chain. `edit.file` compares its two hashes with the real file.
        if hashed < 2 {
            findings.note("files with fewer than two edits that hash the file");
            continue;
        }
        let mut chain = Chain {
            subject,
            case,
            findings,
            file,
            gaps: BTreeSet::new(),
            has_unlogged_change: false,
            is_broken: false,
        };
        let first = steps.first().map_or(State::Unstated, |step| {
            real_state(step.real.before.as_deref())
        });
        let last = steps
            .iter()
            .fold(first, |state, step| chain.step(state, step));
        chain.end(&last, steps.last());
        let (gaps, has_unlogged_change, is_broken) =
            (chain.gaps, chain.has_unlogged_change, chain.is_broken);
        match (is_broken, gaps.is_empty()) {
            (true, _) => {}
            (false, true) if has_unlogged_change => {
                findings.count("files with a change that is not logged")
            }
            (false, true) => findings.count("files with an unbroken chain"),
            (false, false) => {
                findings.note("files with a declared gap in the chain");
                gaps.iter().for_each(|code| findings.gap(code));
            }
        }
    }
}

/// The real changes of every file in order, each with the edits of its calls. A change that a person took back left no state.
fn files<'s>(case: &'s Case<'_>) -> BTreeMap<&'s str, Vec<Step<'s>>> {
    let mut files: BTreeMap<&str, Vec<Step<'_>>> = BTreeMap::new();
    for real in case.truth.edits.iter().filter(|real| !real.is_revert()) {
        let is_of = |session: &ConvertedSession, event: &Event| {
            in_project(event.text("file").unwrap_or_default()) == real.file
                && session
                    .call_chain(event)
                    .iter()
                    .any(|id| real.call_ids.iter().any(|of| of == id))
        };
        let mut edits: Vec<(&ConvertedSession, &Event)> = case
            .own_events(Kind::CodeEdit)
            .filter(|(session, event)| is_of(session, event))
            .collect();
        if !edits.is_empty()
            && edits
                .iter()
                .all(|(session, event)| session.is_taken_back(event))
        {
            continue;
        }
        // The calls of one turn may be on the tapes of several agents.
        edits.sort_by_key(|(_, event)| event.text("t").unwrap_or_default());
        files
            .entry(&real.file)
            .or_default()
            .push(Step { real, edits });
    }
    files
}

fn has_hash(event: &Event) -> bool {
    event.has("file_before_hash") || event.has("file_after_hash")
}

fn real_state(text: Option<&str>) -> State {
    text.map_or(State::Unstated, |text| {
        State::Known(Hash::of_text(text).to_string())
    })
}

struct Chain<'c, 's> {
    subject: &'c Subject<'c>,
    case: &'c Case<'s>,
    findings: &'c mut Findings,
    file: &'c str,
    gaps: BTreeSet<&'static str>,
    /// A change in between is not logged.
    has_unlogged_change: bool,
    is_broken: bool,
}

impl Chain<'_, '_> {
    /// Returns the state after a change.
    fn step(&mut self, before: State, step: &Step<'_>) -> State {
        let mut state = before;
        // All spans of one call share its two file hashes.
        let mut of_call: Option<(&str, State)> = None;
        for (session, event) in &step.edits {
            let call = event.text("call_id").unwrap_or_default();
            if of_call.as_ref().is_none_or(|(known, _)| *known != call) {
                of_call = Some((call, state.clone()));
            }
            let from = of_call
                .as_ref()
                .map_or(State::Unstated, |(_, from)| from.clone());
            // Nothing is left at the path of a file that was moved away.
            if !has_hash(event) {
                let is_move = event.text("op") == Some("move");
                state = if is_move {
                    State::Unstated
                } else {
                    self.without_hash(session, event)
                };
                continue;
            }
            if let (Some(hash), State::Known(known)) = (event.text("file_before_hash"), &from)
                && hash != known
            {
                self.breaks(
                    session,
                    event,
                    "does not start from the state that the edit before it left",
                );
            }
            state = match event.text("file_after_hash") {
                Some(hash) => State::Known(hash.to_owned()),
                None if event.text("op") == Some("delete") || event.text("op") == Some("move") => {
                    State::Unstated
                }
                None => self.without_hash(session, event),
            };
        }
        if step.edits.is_empty() {
            return self.without_edit(step);
        }
        // A shell command in the same turn may have changed the file too, without an edit.
        let known: BTreeSet<&str> = step
            .edits
            .iter()
            .flat_map(|(session, event)| session.call_chain(event))
            .collect();
        let others = step
            .real
            .call_ids
            .iter()
            .any(|id| !known.contains(id.as_str()));
        if others && state != real_state(step.real.after.as_deref()) {
            self.shell_gap(step)
        } else {
            state
        }
    }

    /// A change without an edit: a shell command made it, or it is not logged.
    fn without_edit(&mut self, step: &Step<'_>) -> State {
        let kinds: Vec<Option<&str>> = step
            .real
            .call_ids
            .iter()
            .filter_map(|id| self.case.tool_call(id))
            .map(|call| call.text("kind"))
            .collect();
        if kinds.contains(&Some("execute")) {
            return self.shell_gap(step);
        }
        self.has_unlogged_change = true;
        State::Lost
    }

    /// An edit that does not hash its file: a declared gap must explain this.
    fn without_hash(&mut self, session: &ConvertedSession, event: &Event) -> State {
        match self.subject.missing_hash_gap(session, event) {
            Some(code) => {
                self.gaps.insert(code);
                State::Lost
            }
            None => {
                self.breaks(
                    session,
                    event,
                    "the edit does not hash the file, and no declared gap explains this",
                );
                State::Lost
            }
        }
    }

    /// A change by a shell command: a session with one of the calls must declare the gap.
    fn shell_gap(&mut self, step: &Step<'_>) -> State {
        let of_change = |call: &Event| {
            call.text("call_id")
                .is_some_and(|id| step.real.call_ids.iter().any(|of| of == id))
        };
        // That a session names no schema is a finding of another check.
        let declares = |session: &ConvertedSession| {
            session.schema().is_none()
                || self
                    .subject
                    .declares_for(session.schema(), Kind::CodeEdit, SHELL)
        };
        if !self
            .case
            .events(Kind::ToolCall)
            .any(|(session, call)| of_change(call) && declares(session))
        {
            self.is_broken = true;
            self.findings.fail(
                self.case.recording.name(),
                format!(
                    "{}: the gap {SHELL} breaks the chain, and it is not declared",
                    self.file
                ),
            );
        }
        self.gaps.insert(SHELL);
        State::Lost
    }

    /// Compares the last state with the real one.
    fn end(&mut self, last: &State, step: Option<&Step<'_>>) {
        let Some(step) = step else { return };
        if let (State::Known(last), State::Known(real), Some((session, event))) = (
            last,
            real_state(step.real.after.as_deref()),
            step.edits.last(),
        ) && *last != real
        {
            self.breaks(session, event, "the last state is not the real one");
        }
    }

    fn breaks(&mut self, session: &ConvertedSession, event: &Event, why: &str) {
        self.is_broken = true;
        self.findings.fail(
            self.case.place_of(session, event),
            format!("{}: {why}", self.file),
        );
    }
}
