//! The forms in which Cursor leaves one session, and whose session each is.

use crate::cursor::run_store::files::CHECKPOINTS;
use crate::cursor::source::store_kinds::{CHATS, EDITOR, RUNS, RUNS_OF};
use crate::session_form::{FormPlace, SessionForm, id_in_name};

/// The directory of all transcripts of a project.
pub(in crate::cursor) const TRANSCRIPTS: &str = "agent-transcripts";

/// Captures, message streams and hook logs are not listed: a person's own program saved them, anywhere, and they have facts of their own.
pub(in crate::cursor) const FORMS: &[SessionForm] = &[
    SessionForm {
        name: "chat store",
        only_here: "",
        session_id: of_chat,
    },
    SessionForm {
        name: "conversation in the editor's store",
        only_here: "",
        session_id: of_editor,
    },
    SessionForm {
        name: "run store",
        only_here: "the reads of files and the times of messages",
        session_id: of_runs,
    },
    SessionForm {
        name: "transcript",
        only_here: "",
        session_id: of_transcript,
    },
];

fn of_chat(place: FormPlace<'_>) -> Option<String> {
    match place {
        FormPlace::Stored(CHATS, session) => Some(session.id.clone()),
        FormPlace::Stored(RUNS, session) if session.path.ends_with(CHECKPOINTS) => {
            Some(session.id.clone())
        }
        _ => None,
    }
}

fn of_editor(place: FormPlace<'_>) -> Option<String> {
    match place {
        FormPlace::Stored(EDITOR, session) => Some(session.id.clone()),
        _ => None,
    }
}

fn of_runs(place: FormPlace<'_>) -> Option<String> {
    match place {
        FormPlace::Stored(RUNS, session) if !session.path.ends_with(CHECKPOINTS) => Some(
            session
                .id
                .strip_suffix(RUNS_OF)
                .unwrap_or(&session.id)
                .to_owned(),
        ),
        _ => None,
    }
}

/// Transcripts state no id: that in their path is the session's. A text transcript has no form, because its tape has no id.
fn of_transcript(place: FormPlace<'_>) -> Option<String> {
    let FormPlace::File(path) = place else {
        return None;
    };
    let id = id_in_name(path, ".jsonl").or_else(|| id_in_name(path, ".json"))?;
    path.ancestors()
        .skip(1)
        .take(3)
        .any(|directory| directory.file_name() == Some(TRANSCRIPTS.as_ref()))
        .then_some(id)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_transcript_has_the_id_of_its_path() {
        let id = |path: &str| of_transcript(FormPlace::File(Path::new(path)));
        assert_eq!(
            id("/p/agent-transcripts/a-1/a-1.jsonl").as_deref(),
            Some("a-1")
        );
        assert_eq!(
            id("/p/agent-transcripts/a-1/subagents/b.jsonl").as_deref(),
            Some("b")
        );
        assert_eq!(id("/p/agent-transcripts/c.json").as_deref(), Some("c"));
        assert_eq!(
            [
                id("/p/a-1.jsonl"),
                id("/p/agent-transcripts/a/worker.log"),
                id("/p/agent-transcripts/a%20b.jsonl")
            ],
            [None, None, None]
        );
    }
}
