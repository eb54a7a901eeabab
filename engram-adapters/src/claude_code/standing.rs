//! What has been said of the session, and holds until a line says otherwise.

use super::record::{Record, SYNTHETIC};
use super::schema::{Fact, Line};
use crate::shared::value::{Field, raw_str};

/// What was stated last, as the source spells it. Empty where nothing was.
#[derive(Default)]
pub(super) struct Standing {
    facts: [String; Fact::REPEATED],
    model: String,
    pub title: String,
    pub agent_name: String,
    pub permission_mode: String,
    pub mode: String,
    pub cost: String,
    /// The agent whose line was the last, decoded.
    pub agent_id: Option<String>,
    /// The facts from around the file have been said.
    introduced: bool,
}

/// Puts the source's spelling of a value in its place. True when it is new.
pub(super) fn changed(slot: &mut String, value: Field<'_>) -> bool {
    let Some(value) = value.map(|value| value.raw()) else { return false };
    let is_new = slot != value;
    if is_new {
        renew(slot, value);
    }
    is_new
}

#[cold]
fn renew(slot: &mut String, value: &str) {
    slot.clear();
    slot.push_str(value);
}

/// Which facts are stated otherwise than before: a bit for each.
#[derive(Clone, Copy)]
pub(super) struct News(u8);

impl News {
    /// True when this fact is.
    pub fn has(self, fact: Fact) -> bool {
        self.0 & (1 << fact as u8) != 0
    }

    /// True when one is that only lines of the conversation state.
    pub fn is_of_conversation(self) -> bool {
        self.0 >> Fact::OF_ANY_LINE != 0
    }

    fn with(self, fact: Fact, is_new: bool) -> News {
        News(self.0 | u8::from(is_new) << fact as u8)
    }
}

impl Standing {
    /// The next line states its session anew.
    pub fn forget_session(&mut self) {
        self.facts[Fact::Session as usize].clear();
    }

    /// Puts the first `count` facts of a line in their places. Nearly always none of them is new.
    #[inline(never)]
    pub fn note(&mut self, line: &Line<'_>, count: usize) -> News {
        let facts = self.facts.iter_mut().zip(line.facts()).take(count).enumerate();
        News(facts.fold(0, |news, (number, (slot, value))| news | u8::from(changed(slot, value)) << number))
    }

    /// As `note`, for what only lines of the conversation state.
    pub fn note_conversation(&mut self, record: &Record<'_>, news: News) -> News {
        let model = record.message.model();
        // What the harness says in the model's place is of no model.
        let is_new_model = record.kind == "assistant" && raw_str(model) != SYNTHETIC && changed(&mut self.model, model);
        let is_first_of_agent = record.line.agent_id().is_some() && !std::mem::replace(&mut self.introduced, true);
        news.with(Fact::Model, is_new_model).with(Fact::Parent, is_first_of_agent)
    }
}
