//! The last said session facts. `meta session` is emitted only when one of them changes.

use engram_core::event::SessionFacts;
use engram_core::text::Text;

use crate::opencode::readers::Model;
use crate::shared::value::{Field, non_empty_text};

/// The last said value of each fact that messages repeat.
#[derive(Default)]
pub struct LastStated {
    cwd: LastValue,
    agent: LastValue,
    model: LastValue,
    provider: LastValue,
    effort: LastValue,
    at_end: SessionValues,
}

/// Values of the session's own record, as raw JSON: those that the session had last.
#[derive(Default)]
pub struct SessionValues {
    pub agent: Option<String>,
    pub model: Option<String>,
    pub provider: Option<String>,
    pub effort: Option<String>,
}

/// The raw JSON text of a value.
type LastValue = Option<String>;

impl LastStated {
    /// The last said working directory. None if it has escapes.
    pub fn cwd(&self) -> Option<&str> {
        let token = self.cwd.as_deref()?;
        token
            .strip_prefix('"')?
            .strip_suffix('"')
            .filter(|path| !path.contains('\\'))
    }

    /// The working directory, if it changed.
    pub fn changed_cwd<'a>(&mut self, value: Field<'a>) -> Option<Text<'a>> {
        changed(&mut self.cwd, value)
    }

    /// The agent, if it changed.
    pub fn changed_agent<'a>(&mut self, value: Field<'a>) -> Option<Text<'a>> {
        changed(&mut self.agent, value)
    }

    /// The model, if it changed.
    pub fn changed_model<'a>(&mut self, value: Field<'a>) -> Option<Text<'a>> {
        changed(&mut self.model, value)
    }

    /// The effort of reasoning, if it changed.
    pub fn changed_effort<'a>(&mut self, value: Field<'a>) -> Option<Text<'a>> {
        changed(&mut self.effort, value)
    }

    /// The effort of a prompt that names none, if it changed. Sessions of older versions do not know efforts.
    pub fn default_effort(&mut self) -> Option<Text<'static>> {
        const DEFAULT: &str = "\"default\"";
        let is_known = self.effort.is_some() || self.at_end.effort.is_some();
        if !is_known || self.effort.as_deref() == Some(DEFAULT) {
            return None;
        }
        self.effort = Some(DEFAULT.to_owned());
        Some(Text::Token(DEFAULT))
    }

    /// The provider, if it changed.
    pub fn changed_provider<'a>(&mut self, value: Field<'a>) -> Option<Text<'a>> {
        changed(&mut self.provider, value)
    }
}

impl LastStated {
    /// Remembers what the session's own record says: the harness writes it again at each change, so it holds at the end of the session, and
    /// what held before is in the messages.
    pub fn set_end(&mut self, agent: Field<'_>, model: &Model<'_>) {
        let raw = |value: Field<'_>| {
            non_empty_text(value)
                .and(value)
                .map(|value| value.raw().to_owned())
        };
        self.at_end = SessionValues {
            agent: raw(agent),
            model: raw(model.id()),
            provider: raw(model.provider_id()),
            effort: raw(model.variant()),
        };
    }

    /// What the session's own record says and the messages did not say last.
    pub fn changed_at_end(&mut self) -> SessionValues {
        let mut end = std::mem::take(&mut self.at_end);
        for (value, last) in [
            (&mut end.agent, &self.agent),
            (&mut end.model, &self.model),
            (&mut end.provider, &self.provider),
            (&mut end.effort, &self.effort),
        ] {
            *value = value.take().filter(|value| last.as_ref() != Some(value));
        }
        end
    }
}

impl SessionValues {
    /// The facts of these values. None if there are none.
    pub fn facts(&self) -> Option<SessionFacts<'_>> {
        fn text(value: &Option<String>) -> Option<Text<'_>> {
            value.as_deref().map(Text::Token)
        }
        let values = [&self.agent, &self.model, &self.provider, &self.effort];
        values
            .iter()
            .any(|value| value.is_some())
            .then(|| SessionFacts {
                agent: text(&self.agent),
                model: text(&self.model),
                provider: text(&self.provider),
                effort: text(&self.effort),
                ..SessionFacts::default()
            })
    }
}

/// The value as text, if it differs from the last one, which it replaces.
fn changed<'a>(last: &mut LastValue, value: Field<'a>) -> Option<Text<'a>> {
    let value = value.filter(|value| last.as_deref() != Some(value.raw()))?;
    let text = non_empty_text(Some(value))?;
    *last = Some(value.raw().to_owned());
    Some(text)
}
