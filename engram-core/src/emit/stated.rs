//! What a session says once and later events leave out: the directory of relative paths, and the model of a response.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::event::{CodeEdit, CodeRead, Event, Meta, SessionFacts, SpanLink, Usage};
use crate::file_path::full_path;
use crate::text::{Text, push_text};

/// The directories and the models that the sessions said last.
#[derive(Debug, Clone, Default)]
pub(super) struct Stated {
    /// By session. Empty if it is not Unicode.
    cwds: BTreeMap<Option<String>, String>,
    /// By session and sub-agent, as canonical JSON strings.
    models: BTreeMap<(Option<String>, Option<String>), String>,
}

/// Whose facts are meant, as canonical JSON strings.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Speaker<'s> {
    /// The session, in an artifact that has several.
    pub(super) session: Option<&'s str>,
    /// The sub-agent.
    pub(super) agent: Option<&'s str>,
}

impl Speaker<'_> {
    fn session(self) -> Option<String> {
        self.session.map(str::to_owned)
    }

    fn key(self) -> (Option<String>, Option<String>) {
        (self.session(), self.agent.map(str::to_owned))
    }
}

/// The most sessions and sub-agents of one artifact whose facts are kept.
const MAX_SPEAKERS: usize = 256;

/// Sets a value, unless there would be too many.
fn set<K: Ord>(values: &mut BTreeMap<K, String>, key: K, value: String) {
    if values.len() < MAX_SPEAKERS || values.contains_key(&key) {
        values.insert(key, value);
    }
}

impl Stated {
    /// Notes the directory and the model that these facts state.
    pub(super) fn remember(&mut self, facts: &SessionFacts<'_>, speaker: Speaker<'_>) {
        if let Some(cwd) = facts.cwd {
            set(
                &mut self.cwds,
                speaker.session(),
                cwd.decode().map(Cow::into_owned).unwrap_or_default(),
            );
        }
        if let Some(model) = facts.model {
            let mut name = String::new();
            push_text(&mut name, model);
            set(&mut self.models, speaker.key(), name);
        }
    }

    /// What the event leaves to the session. `None` if it lacks nothing, or if the session does not state it.
    pub(super) fn missing(&self, event: &Event<'_>, speaker: Speaker<'_>) -> Option<Missing> {
        match event {
            Event::CodeRead(read) => self.full(read.file, speaker).map(Missing::File),
            Event::CodeEdit(edit) => self.full(edit.file, speaker).map(Missing::File),
            Event::SpanLink(link) => match (
                self.full(link.from_file, speaker),
                self.full(link.to_file, speaker),
            ) {
                (None, None) => None,
                (from, to) => Some(Missing::Link { from, to }),
            },
            Event::Meta(Meta::Usage(usage)) if usage.model.is_none() => {
                self.models.get(&speaker.key()).cloned().map(Missing::Model)
            }
            _ => None,
        }
    }

    /// The absolute form of a relative path.
    #[inline]
    fn full(&self, file: Text<'_>, speaker: Speaker<'_>) -> Option<String> {
        if file.starts_with("/") {
            None
        } else {
            self.full_of_relative(file, speaker)
        }
    }

    #[cold]
    fn full_of_relative(&self, file: Text<'_>, speaker: Speaker<'_>) -> Option<String> {
        let path = file.decode().ok()?;
        // A shell replaces `~` by the home, which the log need not state.
        if path.is_empty() || path.starts_with('~') {
            return None;
        }
        match full_path(self.cwds.get(&speaker.session())?, &path) {
            Cow::Owned(full) => Some(full),
            Cow::Borrowed(_) => None,
        }
    }
}

/// What an event leaves to the session.
pub(super) enum Missing {
    /// The absolute path of its file.
    File(String),
    /// The absolute paths of a link, where they are relative.
    Link {
        from: Option<String>,
        to: Option<String>,
    },
    /// The model of a response, as a canonical JSON string.
    Model(String),
}

impl Missing {
    /// The event with what it lacks.
    pub(super) fn complete<'c>(&'c self, event: &Event<'c>) -> Event<'c> {
        let or = |full: &'c Option<String>, stated: Text<'c>| {
            full.as_deref().map_or(stated, Text::Plain)
        };
        match (self, event) {
            (Missing::File(file), Event::CodeRead(read)) => CodeRead {
                file: Text::Plain(file),
                ..read.clone()
            }
            .into(),
            (Missing::File(file), Event::CodeEdit(edit)) => CodeEdit {
                file: Text::Plain(file),
                ..edit.clone()
            }
            .into(),
            (Missing::Link { from, to }, Event::SpanLink(link)) => SpanLink {
                from_file: or(from, link.from_file),
                to_file: or(to, link.to_file),
                ..link.clone()
            }
            .into(),
            (Missing::Model(name), Event::Meta(Meta::Usage(usage))) => Meta::Usage(Usage {
                model: Some(Text::Canonical(name)),
                ..*usage
            })
            .into(),
            _ => event.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{EditOp, Tokens};

    fn of_agent(agent: &str) -> Speaker<'_> {
        Speaker {
            agent: Some(agent),
            ..Speaker::default()
        }
    }

    fn of_session(session: &str) -> Speaker<'_> {
        Speaker {
            session: Some(session),
            ..Speaker::default()
        }
    }

    fn after(
        stated: &Stated,
        cwd: Option<&'static str>,
        model: Option<&'static str>,
        speaker: Speaker<'_>,
    ) -> Stated {
        let facts = SessionFacts {
            cwd: cwd.map(Text::Plain),
            model: model.map(Text::Plain),
            ..SessionFacts::default()
        };
        let mut after = stated.clone();
        after.remember(&facts, speaker);
        after
    }

    /// The path of an edit of this file.
    fn file(stated: &Stated, file: Text<'_>) -> Option<String> {
        file_of(stated, file, Speaker::default())
    }

    fn file_of(stated: &Stated, file: Text<'_>, speaker: Speaker<'_>) -> Option<String> {
        let event = CodeEdit::new(EditOp::Update, file).into();
        let missing = stated.missing(&event, speaker)?;
        let Event::CodeEdit(edit) = missing.complete(&event) else {
            panic!("another event")
        };
        Some(edit.file.decode_lossy().into_owned())
    }

    #[test]
    fn relative_paths_are_completed_by_the_directory_that_was_stated_last() {
        let none = Stated::default();
        assert_eq!(file(&none, Text::Plain("a")), None);
        let first = after(&none, Some("/p"), None, Speaker::default());
        assert_eq!(
            file(&first, Text::Token(r#""e/../e/\u0061.txt""#)).as_deref(),
            Some("/p/e/a.txt")
        );
        let second = after(
            &after(&first, None, Some("m"), Speaker::default()),
            Some("/q"),
            None,
            Speaker::default(),
        );
        assert_eq!(file(&second, Text::Plain("../a")).as_deref(), Some("/a"));
        for complete in ["/a/../b", "C:\\a", "~/a", ""] {
            assert_eq!(file(&second, Text::Plain(complete)), None, "{complete}");
        }
        let link = SpanLink {
            call_id: None,
            from_file: Text::Plain("a"),
            from_range: None,
            to_file: Text::Plain("/b"),
            to_range: None,
            note: None,
        };
        let event = link.into();
        let missing = second.missing(&event, Speaker::default()).unwrap();
        let Event::SpanLink(link) = missing.complete(&event) else {
            panic!("another event")
        };
        assert!(link.from_file.eq_str("/q/a") && link.to_file.eq_str("/b"));
    }

    #[test]
    fn a_response_has_the_model_of_its_own_agent() {
        let usage = Event::from(Meta::Usage(Usage {
            tokens: Tokens::default(),
            ..Usage::default()
        }));
        let stated = after(
            &after(&Stated::default(), None, Some("m"), of_agent("a")),
            None,
            Some("n"),
            of_agent("b"),
        );
        assert!(
            stated.missing(&usage, Speaker::default()).is_none()
                && Stated::default()
                    .missing(&usage, Speaker::default())
                    .is_none()
        );
        let missing = stated.missing(&usage, of_agent("a")).unwrap();
        let Event::Meta(Meta::Usage(complete)) = missing.complete(&usage) else {
            panic!("another event")
        };
        assert!(complete.model.is_some_and(|model| model.eq_str("m")));
        let own = Usage {
            model: Some(Text::Plain("own")),
            ..Usage::default()
        };
        assert!(
            stated
                .missing(&Meta::Usage(own).into(), of_agent("a"))
                .is_none()
        );
    }

    #[test]
    fn what_a_session_states_does_not_reach_another() {
        let stated = after(&Stated::default(), Some("/p"), Some("m"), of_session("a"));
        let usage = Event::from(Meta::Usage(Usage {
            tokens: Tokens::default(),
            ..Usage::default()
        }));
        assert_eq!(
            file_of(&stated, Text::Plain("x"), of_session("a")).as_deref(),
            Some("/p/x")
        );
        assert_eq!(file_of(&stated, Text::Plain("x"), of_session("b")), None);
        assert!(
            stated.missing(&usage, of_session("a")).is_some()
                && stated.missing(&usage, of_session("b")).is_none()
        );
    }
}
