//! Last said session facts (cwd, branch, model, title ...). An event is emitted only when one of them changes.

use crate::claude_code::readers::Line;
use crate::claude_code::record::{Record, SYNTHETIC_MODEL};
use crate::claude_code::schema::Fact;
use crate::shared::value::{Field, amount, raw_str};

/// The last said values, as raw JSON; empty if none was given.
#[derive(Default)]
pub struct LastStated {
    facts: [String; Fact::REPEATED],
    model: String,
    title: String,
    agent_name: String,
    permission_mode: String,
    effort: String,
    mode: String,
    cost: String,
    /// The sub-agent of the last line.
    agent_id: Option<String>,
    /// The facts from the files around the transcript have been emitted.
    has_parent: bool,
}

/// Which facts a line changes: one bit for each [`Fact`].
#[derive(Clone, Copy)]
pub struct Changes(u16);

impl Changes {
    /// True if the line changes this fact.
    pub fn has(self, fact: Fact) -> bool {
        self.0 & (1 << fact as u8) != 0
    }

    /// True if the line changes a fact that only lines of the conversation state.
    pub fn has_conversation_fact(self) -> bool {
        self.0 >> Fact::OF_ANY_LINE != 0
    }

    fn with(self, fact: Fact, changed: bool) -> Changes {
        Changes(self.0 | u16::from(changed) << fact as u8)
    }
}

impl LastStated {
    /// Makes the next line state its session again.
    pub fn forget_session(&mut self) {
        self.facts[Fact::Session as usize].clear();
    }

    /// Stores the first `count` facts of a line. Hardly any line changes one.
    #[inline(never)]
    pub fn set_facts(&mut self, line: &Line<'_>, count: usize) -> Changes {
        let facts = self
            .facts
            .iter_mut()
            .zip(line.facts())
            .take(count)
            .enumerate();
        Changes(facts.fold(0, |changes, (number, (stored, value))| {
            changes | u16::from(set(stored, value)) << number
        }))
    }

    /// Stores the facts that only lines of the conversation state, and adds their changes.
    pub fn set_conversation_facts(&mut self, record: &Record<'_>, changes: Changes) -> Changes {
        let model = record.message.model();
        let is_models = record.kind == "assistant" && raw_str(model) != SYNTHETIC_MODEL;
        let model_changed = is_models && set(&mut self.model, model);
        let is_first_of_agent = record.line.agent_id().is_some() && !self.has_parent;
        if is_first_of_agent {
            self.has_parent = true;
        }
        let mode_changed =
            record.kind == "user" && set(&mut self.permission_mode, record.line.permission_mode());
        let effort_changed =
            record.kind == "assistant" && set(&mut self.effort, record.line.effort());
        let changes = changes
            .with(Fact::PermissionMode, mode_changed)
            .with(Fact::Effort, effort_changed);
        changes
            .with(Fact::Model, model_changed)
            .with(Fact::Parent, is_first_of_agent)
    }

    /// True if the last line belongs to this sub-agent, or to none.
    pub fn is_agent(&self, agent: Option<&str>) -> bool {
        self.agent_id.as_deref() == agent
    }

    /// Stores the sub-agent of the line.
    pub fn set_agent(&mut self, agent: Option<&str>) {
        self.agent_id = agent.map(str::to_owned);
    }

    /// Stores the directory and the branch. Returns whether one of them changed.
    pub fn set_place(&mut self, cwd: Field<'_>, branch: Field<'_>) -> bool {
        let has_cwd_changed = set(&mut self.facts[Fact::Cwd as usize], cwd);
        set(&mut self.facts[Fact::Branch as usize], branch) || has_cwd_changed
    }

    /// Stores the session's title. Returns whether it changed.
    pub fn set_title(&mut self, title: Field<'_>) -> bool {
        set(&mut self.title, title)
    }

    /// Stores the session's name among agents. Returns whether it changed.
    pub fn set_agent_name(&mut self, name: Field<'_>) -> bool {
        set(&mut self.agent_name, name)
    }

    /// Stores the permission mode. Returns whether it changed.
    pub fn set_permission_mode(&mut self, mode: Field<'_>) -> bool {
        set(&mut self.permission_mode, mode)
    }

    /// Stores the mode. Returns whether it changed.
    pub fn set_mode(&mut self, mode: Field<'_>) -> bool {
        set(&mut self.mode, mode)
    }

    /// Stores the session's cost so far, if it is an amount. Returns whether it changed.
    pub fn set_cost(&mut self, cost: Field<'_>) -> bool {
        set(
            &mut self.cost,
            cost.filter(|cost| amount(Some(*cost)).is_some()),
        )
    }
}

/// Stores the raw JSON of a value. Returns whether it changed; an absent value changes nothing.
fn set(stored: &mut String, value: Field<'_>) -> bool {
    let Some(value) = value.map(|value| value.raw()) else {
        return false;
    };
    let changed = stored.as_str() != value;
    if changed {
        value.clone_into(stored);
    }
    changed
}
