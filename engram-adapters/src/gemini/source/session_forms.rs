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
    use crate::sessions::{SessionFinder, SessionOptions};

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

    #[test]
    fn a_document_that_a_log_of_lines_continues_is_skipped() {
        const HEADER: &str = r#""sessionId":"s","projectHash":"bb97ae4cdb5b0dd7e32b198a7ebcb35332fca3343779f0895ffb11258627aa8f","startTime":"2026-11-21T09:58:15.922Z","lastUpdated":"2026-11-21T09:58:15.922Z""#;
        let prompt = |id: &str, text: &str| {
            format!(
                r#"{{"id":"{id}","timestamp":"2026-11-21T09:58:16.010Z","type":"user","content":[{{"text":"{text}"}}]}}"#
            )
        };
        let directory = tempfile::tempdir().unwrap();
        let chats = directory.path().join("chats");
        std::fs::create_dir(&chats).unwrap();
        let name = |ending: &str| chats.join(format!("session-2026-11-21T09-58-s{ending}"));
        let document = format!(
            "{{{HEADER},\"messages\":[{}]}}",
            [prompt("a", "one"), prompt("b", "two")].join(",")
        );
        std::fs::write(name(".json"), document).unwrap();
        let found = |prompts: &[String]| {
            let lines = format!("{{{HEADER},\"kind\":\"main\"}}\n{}\n", prompts.join("\n"));
            std::fs::write(name(".jsonl"), lines).unwrap();
            let options = SessionOptions::default();
            let mut finder = SessionFinder::new(&options);
            finder.add(directory.path());
            finder.finish().locations.len()
        };
        let again = [prompt("a", "one"), prompt("b", "two"), prompt("c", "three")];
        assert_eq!(found(&again), 1);
        assert_eq!(found(&again[1..]), 2, "the document has a prompt more");
    }
}
