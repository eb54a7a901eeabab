//! The forms in which Claude Code leaves one session: its transcript, and before 1.0 rows of a database.

use super::legacy_db::KIND;
use crate::session_form::{FormPlace, SessionForm, id_in_name};

/// The directory of all transcripts, which has a directory per project.
const PROJECTS: &str = "projects";

/// Captures are not listed: a person's own program saved them, anywhere, and they have costs that nothing else has.
pub(in crate::claude_code) const FORMS: &[SessionForm] = &[
    SessionForm {
        name: "transcript",
        only_here: "",
        session_id: of_transcript,
    },
    SessionForm {
        name: "session in the database",
        only_here: "",
        session_id: of_database,
    },
];

fn of_transcript(place: FormPlace<'_>) -> Option<String> {
    let FormPlace::File(path) = place else {
        return None;
    };
    let above = path.parent()?.parent()?;
    above
        .ends_with(PROJECTS)
        .then(|| id_in_name(path, ".jsonl"))?
}

fn of_database(place: FormPlace<'_>) -> Option<String> {
    match place {
        FormPlace::Stored(KIND, session) => Some(session.id.clone()),
        _ => None,
    }
}
