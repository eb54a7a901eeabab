//! The last said session facts. `meta session` is emitted only when one of them changes.

use engram_core::text::Text;

use crate::shared::value::{Field, non_empty_text};

/// The last said value of each fact that messages repeat.
#[derive(Default)]
pub struct LastStated {
    cwd: LastValue,
    agent: LastValue,
    model: LastValue,
    provider: LastValue,
    effort: LastValue,
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

    /// The provider, if it changed.
    pub fn changed_provider<'a>(&mut self, value: Field<'a>) -> Option<Text<'a>> {
        changed(&mut self.provider, value)
    }
}

/// The value as text, if it differs from the last one, which it replaces.
fn changed<'a>(last: &mut LastValue, value: Field<'a>) -> Option<Text<'a>> {
    let value = value.filter(|value| last.as_deref() != Some(value.raw()))?;
    let text = non_empty_text(Some(value))?;
    *last = Some(value.raw().to_owned());
    Some(text)
}
