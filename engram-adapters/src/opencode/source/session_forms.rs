//! The forms in which OpenCode leaves one session: in its store, and as an export that a person made of it.

use crate::open::beginning;
use crate::session_form::{FormPlace, SessionForm};

pub(in crate::opencode) const FORMS: &[SessionForm] = &[
    SessionForm {
        name: "session in the store",
        only_here: "",
        session_id: of_store,
    },
    SessionForm {
        name: "export",
        only_here: "",
        session_id: of_export,
    },
];

fn of_store(place: FormPlace<'_>) -> Option<String> {
    match place {
        FormPlace::Stored(_, session) => Some(session.id.clone()),
        FormPlace::File(_) => None,
    }
}

/// An export begins with the session's record, and that with its id.
fn of_export(place: FormPlace<'_>) -> Option<String> {
    let FormPlace::File(path) = place else {
        return None;
    };
    if path.extension().is_none_or(|ending| ending != "json") {
        return None;
    }
    let first = beginning(path).ok()?;
    let mut rest = std::str::from_utf8(&first).ok()?.trim_ascii_start();
    for token in ["{", "\"info\"", ":", "{", "\"id\"", ":", "\""] {
        rest = rest.strip_prefix(token)?.trim_ascii_start();
    }
    rest.split_once('"')
        .map(|(id, _)| id)
        .filter(|id| id.starts_with("ses_"))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn an_export_names_its_session_at_its_beginning() {
        let directory = tempfile::tempdir().unwrap();
        let id = |name: &str, text: &str| {
            let path = directory.path().join(name);
            fs::write(&path, text).unwrap();
            of_export(FormPlace::File(&path))
        };
        let indented = "{\n  \"info\": {\n    \"id\": \"ses_e025f63bdffeYseDm3rPjfcXrM\",\n    \"slug\": \"s\"";
        assert_eq!(
            id("a.json", indented).as_deref(),
            Some("ses_e025f63bdffeYseDm3rPjfcXrM")
        );
        assert_eq!(
            id("b.json", "{\"info\":{\"id\":\"ses_1\"}}").as_deref(),
            Some("ses_1")
        );
        assert_eq!(
            [
                id("c.txt", indented),
                id("d.json", "{\"id\":\"ses_1\"}"),
                id("e.json", "{\"info\":{\"id\":\"ses_1")
            ],
            [None, None, None]
        );
    }
}
