//! What several readers of lines need: the facts that lines repeat, and replacements of texts.

use super::readers::{Line, ListedReplacement};
use crate::shared::value::{Field, Value, is_true};

/// Session facts that many lines repeat.
#[derive(Clone, Copy)]
pub(super) enum Fact {
    Session,
    Version,
    AgentType,
    Cwd,
    Branch,
    Model,
    /// The call that started a sub-agent.
    Parent,
    PermissionMode,
    Effort,
}

impl Fact {
    /// The number of facts, from the first, that any line says.
    pub const OF_ANY_LINE: usize = 2;
    /// The number of facts, from the first, that are fields of nearly every line of the conversation.
    pub const REPEATED: usize = 5;
}

impl<'a> Line<'a> {
    /// The repeated facts, in the order of [`Fact`].
    pub fn facts(&self) -> impl Iterator<Item = Field<'a>> {
        let facts: [Field<'a>; Fact::REPEATED] = [
            self.session_id(),
            self.version(),
            self.agent_type(),
            self.cwd(),
            self.git_branch(),
        ];
        facts.into_iter()
    }
}

/// One replacement of an Edit or MultiEdit.
#[derive(Clone, Copy)]
pub(super) struct Replacement<'a> {
    pub old: Field<'a>,
    pub new: Field<'a>,
    /// Replace every occurrence of the old text.
    pub everywhere: bool,
}

impl<'a> Replacement<'a> {
    /// The replacements of a list; if it has none, the single one given.
    pub fn list_or(list: Field<'a>, single: Replacement<'a>) -> Vec<Replacement<'a>> {
        let listed = list
            .into_iter()
            .flat_map(Value::elements)
            .map(ListedReplacement::lenient);
        let mut all: Vec<_> = listed
            .map(|listed| Replacement {
                old: listed.old_string(),
                new: listed.new_string(),
                everywhere: is_true(listed.replace_all()),
            })
            .collect();
        if all.is_empty() {
            all.push(single);
        }
        all
    }
}
