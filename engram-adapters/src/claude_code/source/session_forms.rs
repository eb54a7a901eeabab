//! The forms in which Claude Code leaves one session: its transcript, before 1.0 rows of a database, and what Cowork keeps beside it.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use crate::session_form::{FormPlace, SessionForm, id_in_name};
use crate::shared::value::{StructuralIndex, parse, text};

/// The directory of all transcripts, which has a directory per project.
const PROJECTS: &str = "projects";

/// What Cowork prints of its sessions, in a directory with the name of the session of Cowork.
const AUDIT: (&str, &str) = ("local_", "audit.jsonl");

/// The first line of such a file is not longer than this.
const FIRST_LINE_BYTES: u64 = 256 * 1024;

/// Captures are not listed: a person's own program saved them, anywhere, and they have costs that nothing else has. That of Cowork is in its
/// place, and counts what responses had cost when they began.
pub(in crate::claude_code) const FORMS: &[SessionForm] = &[
    SessionForm {
        name: "transcript",
        only_here: "",
        session_id: of_transcript,
    },
    #[cfg(feature = "sqlite")]
    SessionForm {
        name: "session in the database",
        only_here: "",
        session_id: of_database,
    },
    SessionForm {
        name: "audit log of Cowork",
        only_here: "running totals",
        session_id: of_audit,
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

#[cfg(feature = "sqlite")]
fn of_database(place: FormPlace<'_>) -> Option<String> {
    use super::legacy_db::KIND;
    match place {
        FormPlace::Stored(KIND, session) => Some(session.id.clone()),
        _ => None,
    }
}

/// The session that the first line of the file names. A session of Cowork is mostly one of them.
fn of_audit(place: FormPlace<'_>) -> Option<String> {
    let FormPlace::File(path) = place else {
        return None;
    };
    let name = |path: &Path| Some(path.file_name()?.to_str()?.to_owned());
    let is_audit = name(path)? == AUDIT.1 && name(path.parent()?)?.starts_with(AUDIT.0);
    let file = File::open(path).ok().filter(|_| is_audit)?;
    let mut line = String::new();
    BufReader::new(file.take(FIRST_LINE_BYTES))
        .read_line(&mut line)
        .ok()?;
    let mut index = StructuralIndex::default();
    let line = parse(line.trim_end(), &mut index).ok()?;
    text(line.member("session_id")).map(|id| id.decode_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_audit_log_of_cowork_is_a_form_of_the_session_that_it_names() {
        let home = tempfile::tempdir().unwrap();
        let id_of = |directory: &str, line: &str| {
            let path = home.path().join(directory).join("audit.jsonl");
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, line).unwrap();
            of_audit(FormPlace::File(&path))
        };
        let line = "{\"type\":\"user\",\"session_id\":\"s-1\"}\n{}\n";
        assert_eq!(id_of("local_1", line).as_deref(), Some("s-1"));
        assert_eq!(id_of("another", line), None);
        assert_eq!(id_of("local_2", "not JSON"), None);
    }
}
