//! The forms in which Gemini CLI leaves one session: 0.39.0 and later copy a document into a log of lines beside it when they resume it, and go
//! on there.

use crate::session_form::{FormPlace, SessionForm, id_in_name};

pub(in crate::gemini) const FORMS: &[SessionForm] = &[
    SessionForm {
        name: "log of lines",
        only_here: "",
        session_id: |place| session(place, ".jsonl"),
    },
    SessionForm {
        name: "document",
        only_here: "",
        session_id: |place| session(place, ".json"),
    },
];

/// The name of a session's file without its ending; the log of lines has that of the document.
fn session(place: FormPlace<'_>, ending: &str) -> Option<String> {
    let FormPlace::File(path) = place else {
        return None;
    };
    id_in_name(path, ending).filter(|name| name.starts_with("session-"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn both_forms_of_a_session_have_one_name() {
        let id = |name: &str| {
            let mut forms = FORMS.iter().enumerate();
            forms.find_map(|(rank, form)| {
                Some((rank, (form.session_id)(FormPlace::File(Path::new(name)))?))
            })
        };
        let stem = "session-2026-02-26T20-09-c8133f43";
        assert_eq!(id(&format!("chats/{stem}.jsonl")), Some((0, stem.into())));
        assert_eq!(id(&format!("chats/{stem}.json")), Some((1, stem.into())));
        assert_eq!(id("logs.json"), None);
        assert_eq!(id("chats/c8133f43/0ade5f64.jsonl"), None);
    }
}
