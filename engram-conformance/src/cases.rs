//! Opens a recording into cases: converts its sessions, and finds out which gaps and scenarios they show.

use std::collections::{BTreeMap, BTreeSet};

use crate::case::Case;
use crate::converted_session::ConvertedSession;
use crate::recording::Recording;
use crate::session::{Form, Session};
use crate::subject::Subject;
use crate::{gaps, scenario};

/// Converts the sessions of a recording. One case for each form in which it contains its sessions; at least one case.
pub fn open<'a>(subject: &Subject<'_>, recording: &'a Recording) -> Vec<Case<'a>> {
    let mut forms: BTreeMap<Form, Vec<Session>> = BTreeMap::new();
    let open_error = match subject.capabilities.open.sessions(&recording.folder) {
        Ok(sessions) => {
            sessions.into_iter().for_each(|session| forms.entry(session.form).or_default().push(session));
            None
        }
        Err(error) => Some(error),
    };
    if forms.is_empty() {
        forms.insert(Form::Stored, Vec::new());
    }
    let mut cases: Vec<Case<'_>> = forms.into_values().map(|sessions| convert(subject, recording, sessions)).collect();
    cases[0].open_error = open_error;
    // A recording shows a scenario if one of its forms does.
    let scenarios: BTreeSet<&'static str> = cases.iter().flat_map(|case| case.scenarios.iter().copied()).collect();
    cases.iter_mut().for_each(|case| case.scenarios.clone_from(&scenarios));
    cases
}

fn convert<'a>(subject: &Subject<'_>, recording: &'a Recording, sessions: Vec<Session>) -> Case<'a> {
    let (mut converted, mut failures) = (Vec::new(), Vec::new());
    for session in sessions {
        match subject.tape(&session) {
            Ok(tape) => converted.push(ConvertedSession::new(session, tape)),
            Err(error) => failures.push((session, error)),
        }
    }
    let (converted, gaps_by_schema) = gaps_by_schema(subject, recording, converted);
    let mut case = Case::new(recording, converted, failures);
    case.gaps = gaps::exhibited_by(&case, subject.capabilities.gaps);
    case.gaps.extend(gaps_by_schema.values().flatten());
    case.gaps_by_schema = gaps_by_schema;
    case.scenarios = scenario::shown_by(&case);
    case
}

/// The gaps that the sessions of each schema exhibit, where a recording has several schemas: a revision answers for its own sessions.
/// Returns the sessions in their order.
fn gaps_by_schema(
    subject: &Subject<'_>,
    recording: &Recording,
    sessions: Vec<ConvertedSession>,
) -> (Vec<ConvertedSession>, BTreeMap<String, BTreeSet<&'static str>>) {
    let mut schemas: BTreeMap<String, (Vec<usize>, Vec<ConvertedSession>)> = BTreeMap::new();
    for (at, session) in sessions.into_iter().enumerate() {
        let (places, of_schema) = schemas.entry(session.schema().unwrap_or_default().to_owned()).or_default();
        places.push(at);
        of_schema.push(session);
    }
    let (has_several, mut gaps, mut all) = (schemas.len() > 1, BTreeMap::new(), Vec::new());
    for (schema, (places, of_schema)) in schemas {
        let case = Case::new(recording, of_schema, Vec::new());
        if has_several {
            gaps.insert(schema, gaps::exhibited_by(&case, subject.capabilities.gaps));
        }
        all.extend(places.into_iter().zip(case.sessions));
    }
    all.sort_by_key(|(at, _)| *at);
    (all.into_iter().map(|(_, session)| session).collect(), gaps)
}
