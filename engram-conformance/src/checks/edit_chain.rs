//! Follows the states of each file from edit to edit, from its real first state to its real last.

use std::collections::{BTreeMap, BTreeSet};

use engram_core::event::Kind;
use engram_core::hash::Hash;

use super::behind_hook::{GAP, is_behind_hook};
use super::edits::is_file_logged;
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
            has_unlogged_text: false,
            is_broken: false,
            is_behind_hook: false,
        };
        let first = steps.first().map_or(State::Unstated, |step| {
            real_state(step.real.before.as_deref())
        });
        let last = steps
            .iter()
            .fold(first, |state, step| chain.step(state, step));
        chain.end(&last, steps.last());
        let Chain {
            gaps,
            has_unlogged_change,
            has_unlogged_text,
            is_broken,
            ..
        } = chain;
        match (is_broken, gaps.is_empty()) {
            (true, _) => {}
            (false, true) if has_unlogged_change => {
                findings.count("files with a change that is not logged")
            }
            (false, true) if has_unlogged_text => {
                findings.count("files with a change whose log does not have their text")
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
    /// The log does not have the text of the file at a change.
    has_unlogged_text: bool,
    is_broken: bool,
    /// A hook may have changed the file behind the last edit.
    is_behind_hook: bool,
}

impl Chain<'_, '_> {
    /// Returns the state after a change.
    fn step(&mut self, before: State, step: &Step<'_>) -> State {
        let mut state = before;
        // All spans of one call share its two file hashes.
        let mut of_call: Option<(&str, State)> = None;
        for (session, event) in &step.edits {
            let was_behind_hook = self.is_behind_hook;
            self.is_behind_hook = is_behind_hook((self.subject, self.case), session, event);
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
                    self.without_hash(step.real, session, event)
                };
                continue;
            }
            if let (Some(hash), State::Known(known)) = (event.text("file_before_hash"), &from)
                && hash != known
            {
                self.differs(
                    was_behind_hook,
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
                None => self.without_hash(step.real, session, event),
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

    /// An edit that does not hash its file: a declared gap must explain this, if the log has the text of the file.
    fn without_hash(
        &mut self,
        real: &RealEdit,
        session: &ConvertedSession,
        event: &Event,
    ) -> State {
        let own = session.record_of(event);
        let calls = session.call_chain(event);
        let mut calls = calls.iter().filter_map(|id| self.case.call(id));
        let is_logged = calls.any(|call| {
            let texts = [real.before.as_deref(), real.after.as_deref()];
            let mut texts = texts.into_iter();
            texts.any(|text| is_file_logged(self.case, call, own, text))
        });
        match self.subject.missing_hash_gap(session, event) {
            Some(code) => drop(self.gaps.insert(code)),
            None if self.is_behind_hook => drop(self.gaps.insert(GAP)),
            None if !is_logged => self.has_unlogged_text = true,
            None => self.breaks(
                session,
                event,
                "the edit does not hash the file, and no declared gap explains this",
            ),
        }
        State::Lost
    }

    /// Reports a state that is not the one before, unless a hook may have made it.
    fn differs(
        &mut self,
        is_behind_hook: bool,
        session: &ConvertedSession,
        event: &Event,
        why: &str,
    ) {
        match is_behind_hook {
            true => drop(self.gaps.insert(GAP)),
            false => self.breaks(session, event, why),
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
            self.differs(
                self.is_behind_hook,
                session,
                event,
                "the last state is not the real one",
            );
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

#[cfg(test)]
mod tests {
    use engram_core::adapter::{AdapterId, HarnessAdapter, SideInfo};
    use engram_core::coverage::{Coverage, Grade};
    use engram_core::descriptor::{AdapterDescriptor, UnknownVersionPolicy};
    use engram_core::error::AdapterError;
    use engram_core::version::VersionMatrix;
    use serde_json::json;

    use super::super::behind_hook::hooked_calls;
    use super::*;
    use crate::options::Capabilities;
    use crate::outcome::Verdict;
    use crate::recording::Recording;
    use crate::session::{Form, Session};

    /// An adapter with claims alone.
    struct Claims(Grade);

    impl HarnessAdapter for Claims {
        fn id(&self) -> AdapterId {
            AdapterId("toy")
        }

        fn convert_to_tape_jsonl(&self, _: &str) -> Result<String, AdapterError> {
            Ok(String::new())
        }

        fn descriptor(&self) -> AdapterDescriptor {
            AdapterDescriptor {
                adapter_id: "toy",
                adapter_version: "0.1.0",
                harness_family: "toy",
                matrix: VersionMatrix {
                    revisions: &[],
                    swept: &[],
                    known_bad: &[],
                },
                schema_detection_strategy: "a test",
                coverage: Coverage {
                    meta: Grade::None,
                    msg_in: Grade::None,
                    msg_out: Grade::None,
                    tool_call: Grade::None,
                    tool_result: Grade::None,
                    code_read: Grade::None,
                    code_edit: self.0,
                    span_link: Grade::None,
                },
                unknown_version_policy: UnknownVersionPolicy::PermissiveDegrade,
                record_type: &["/type"],
                members: None,
                gaps: &[],
                omission_rules: &[],
            }
        }
    }

    const BEFORE: &str = "a\nb\n";
    const WRITTEN: &str = "c\nb\n";
    /// A hook has changed what was written.
    const LEFT: &str = "c\n\nb\n";
    const NEXT: &str = "c\n\nd\n";
    /// The states of the file.
    const STATES: [&str; 4] = [BEFORE, LEFT, NEXT, "d\n\ne\n"];

    fn hash(text: &str) -> Option<String> {
        Some(Hash::of_text(text).to_string())
    }

    /// The verdict on edits, each with the hash of the file before and after it, of which the log has these records.
    fn verdict(claim: Grade, edits: &[[Option<String>; 2]], records: &[&str]) -> Verdict {
        let edit = |(at, [before, after]): (usize, &[Option<String>; 2])| {
            let (call, line) = (format!("call{at}"), at + 1);
            let mut edit = json!({"seq": 2 * at + 1, "k": "code.edit", "call_id": call, "op": "update", "file": "f", "parent": 2 * at,
                "origin": {"line": line}});
            for (key, hash) in [("file_before_hash", before), ("file_after_hash", after)] {
                if let Some(hash) = hash {
                    edit[key] = json!(hash);
                }
            }
            let call =
                json!({"seq": 2 * at, "k": "tool.call", "call_id": call, "origin": {"line": line}});
            format!("{call}\n{edit}\n")
        };
        let input = Session {
            name: "log".to_owned(),
            path: "log".into(),
            bytes: (records.join("\n") + "\n").into_bytes(),
            context: SideInfo::default(),
            form: Form::Stored,
            is_exported_by_opener: false,
        };
        let session = ConvertedSession::new(input, edits.iter().enumerate().map(edit).collect());
        let real = |at: usize| json!({"call_ids": [format!("call{at}")], "file": "f", "before": STATES[at], "after": STATES[at + 1]});
        let call = |at: usize| json!({"id": format!("call{at}"), "tool": "edit", "args": {}});
        let all = 0..edits.len();
        let recording = Recording {
            harness: "toy".to_owned(),
            version: "1".to_owned(),
            scenario: "s".to_owned(),
            directory: "d".into(),
            truth: json!({"calls": all.clone().map(call).collect::<Vec<_>>(), "edits": all.map(real).collect::<Vec<_>>()}),
            declared: None,
        };
        let mut case = Case::new(&recording, vec![session], Vec::new());
        case.hooked_calls = hooked_calls(&case);
        let mut findings = Findings::default();
        let adapter = Claims(claim);
        let subject = Subject::new(&adapter, Capabilities::default());
        links(&subject, &case, &mut findings);
        findings.outcome().verdict
    }

    const RECORDS: [&str; 3] = [
        r#"{"id":"call0"}"#,
        r#"{"id":"call1"}"#,
        r#"{"id":"call2"}"#,
    ];

    #[test]
    fn a_hook_may_change_a_file_between_two_edits() {
        let edits = [[hash(BEFORE), hash(WRITTEN)], [hash(LEFT), hash(NEXT)]];
        let claim = Grade::Partial(&[GAP]);
        let hooked = [r#"{"id":"call0","hook":"format"}"#, RECORDS[1]];
        assert_eq!(verdict(claim, &edits, &hooked), Verdict::Gap);
        // No hook ran, or the adapter does not say that one may.
        assert_eq!(verdict(claim, &edits, &RECORDS), Verdict::Fail);
        assert_eq!(verdict(Grade::Full, &edits, &hooked), Verdict::Fail);
        // An edit behind a hook has no hash of what was left.
        let edits = [
            [hash(BEFORE), None],
            [hash(LEFT), hash(NEXT)],
            [hash(NEXT), hash(STATES[3])],
        ];
        let whole = r#"{"id":"call0","file":"c\n\nb\n"}"#;
        let with_hook = r#"{"id":"call0","file":"c\n\nb\n","hook":"format"}"#;
        let records = |first| [first, RECORDS[1], RECORDS[2]];
        assert_eq!(verdict(claim, &edits, &records(with_hook)), Verdict::Gap);
        assert_eq!(verdict(claim, &edits, &records(whole)), Verdict::Fail);
    }

    #[test]
    fn a_file_that_the_log_does_not_have_has_no_hash() {
        let edits = [
            [hash(BEFORE), hash(LEFT)],
            [None, None],
            [hash(NEXT), hash(STATES[3])],
        ];
        assert_eq!(verdict(Grade::Full, &edits, &RECORDS), Verdict::Pass);
        let whole = r#"{"id":"call1","file":"c\n\nd\n"}"#;
        let records = [RECORDS[0], whole, RECORDS[2]];
        assert_eq!(verdict(Grade::Full, &edits, &records), Verdict::Fail);
    }
}
