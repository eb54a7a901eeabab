//! Opens a recording into cases: converts its sessions, and finds out which gaps and scenarios they show.

use std::collections::{BTreeMap, BTreeSet};

use crate::case::Case;
use crate::checks::behind_hook::hooked_calls;
use crate::converted_session::ConvertedSession;
use crate::gaps::{self, GapRow};
use crate::recording::Recording;
use crate::scenario;
use crate::session::{Form, Session};
use crate::subject::Subject;

/// Converts the sessions of a recording. One case for each form in which it contains its sessions; at least one case.
pub fn open<'a>(subject: &Subject<'_>, recording: &'a Recording) -> Vec<Case<'a>> {
    let mut forms: BTreeMap<Form, Vec<Session>> = BTreeMap::new();
    let open_error = match subject.capabilities.open.sessions(&recording.directory) {
        Ok(sessions) => {
            sessions
                .into_iter()
                .for_each(|session| forms.entry(session.form).or_default().push(session));
            None
        }
        Err(error) => Some(error),
    };
    if forms.is_empty() {
        forms.insert(Form::Stored, Vec::new());
    }
    let mut cases: Vec<Case<'_>> = forms
        .into_values()
        .flat_map(|sessions| convert(subject, recording, sessions))
        .collect();
    cases[0].open_error = open_error;
    // A recording shows a scenario if one of its forms does, and a hook ran if one of them says so.
    let scenarios: BTreeSet<&'static str> = cases
        .iter()
        .flat_map(|case| case.scenarios.iter().copied())
        .collect();
    let hooked_calls: BTreeSet<String> = cases
        .iter()
        .flat_map(|case| case.hooked_calls.iter().cloned())
        .collect();
    for case in &mut cases {
        case.scenarios.clone_from(&scenarios);
        case.hooked_calls.clone_from(&hooked_calls);
    }
    cases
}

fn convert<'a>(
    subject: &Subject<'_>,
    recording: &'a Recording,
    sessions: Vec<Session>,
) -> Vec<Case<'a>> {
    let (mut converted, mut failures) = (Vec::new(), Vec::new());
    for session in sessions {
        match subject.tape(&session) {
            Ok(tape) => converted.push(ConvertedSession::of(session, tape)),
            Err(error) => failures.push((session, error)),
        }
    }
    let cases = by_schema(converted).into_iter().map(|sessions| {
        let mut case = Case::new(recording, sessions, std::mem::take(&mut failures));
        find_gaps(&mut case, subject.capabilities.gaps);
        case.scenarios = scenario::shown_by(&case);
        case.hooked_calls = hooked_calls(&case);
        case
    });
    cases.collect()
}

/// Finds the gaps that the case exhibits, and for each schema those that its own sessions exhibit.
fn find_gaps(case: &mut Case<'_>, rows: &[GapRow]) {
    case.gaps = gaps::exhibited_by(case, rows);
    let schemas: BTreeSet<String> = case.sessions.iter().map(schema_of).collect();
    if schemas.len() == 1 {
        case.gaps_by_schema.extend(
            schemas
                .into_iter()
                .map(|schema| (schema, case.gaps.clone())),
        );
        return;
    }
    let mut all: Vec<Option<ConvertedSession>> = std::mem::take(&mut case.sessions)
        .into_iter()
        .map(Some)
        .collect();
    for schema in schemas {
        let is_own = |session: &Option<ConvertedSession>| {
            session
                .as_ref()
                .is_some_and(|session| schema_of(session) == schema)
        };
        let own: Vec<usize> = (0..all.len()).filter(|at| is_own(&all[*at])).collect();
        case.sessions = own.iter().filter_map(|at| all[*at].take()).collect();
        // What is in the sessions of another schema is not lost.
        let gaps = &gaps::exhibited_by(case, rows) & &case.gaps;
        own.into_iter()
            .zip(case.sessions.drain(..))
            .for_each(|(at, session)| all[at] = Some(session));
        case.gaps_by_schema.insert(schema, gaps);
    }
    case.sessions = all.into_iter().flatten().collect();
}

fn schema_of(session: &ConvertedSession) -> String {
    session.schema().unwrap_or_default().to_owned()
}

/// A harness may write the same session in several schemas at once, such as a transcript and a database. Then each schema is a form of its
/// own. Returns at least one list of sessions.
fn by_schema(sessions: Vec<ConvertedSession>) -> Vec<Vec<ConvertedSession>> {
    let mut schemas: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for session in &sessions {
        let ids = schemas.entry(schema_of(session)).or_default();
        ids.extend(session.session_id().map(str::to_owned));
    }
    let mut seen = BTreeSet::new();
    if schemas.values().flatten().all(|id| seen.insert(id)) {
        return vec![sessions];
    }
    let mut forms: BTreeMap<String, Vec<ConvertedSession>> = BTreeMap::new();
    for session in sessions {
        forms.entry(schema_of(&session)).or_default().push(session);
    }
    forms.into_values().collect()
}
