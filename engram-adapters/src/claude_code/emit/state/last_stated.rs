//! What lines before said: the session's facts (cwd, branch, model, title ...), of which an event is emitted only when one changes, and what shows
//! the author of a text: commands and what they print, and what the harness adds to a result.

use engram_core::event::SessionFacts;
use engram_core::keys::hash64;
use engram_core::text::Text;

use crate::claude_code::readers::Line;
use crate::claude_code::record::{Fact, Record, SYNTHETIC_MODEL};
use crate::claude_code::revisions::Dialect;
use crate::shared::value::{Field, Value, amount, raw_str, text};

/// The last said values, as raw JSON; empty if none was given.
#[derive(Default)]
pub struct LastStated {
    facts: [String; Fact::REPEATED],
    said: [String; Said::COUNT],
    /// The sub-agent of the last line.
    agent_id: Option<String>,
    /// The facts from the files around the transcript have been emitted.
    has_parent: bool,
}

/// Other values, each said by lines of several types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    Model,
    Title,
    AgentName,
    PermissionMode,
    Effort,
    Mode,
    Cost,
}

impl Said {
    const COUNT: usize = Said::Cost as usize + 1;

    /// Sets the member of an event.
    pub fn set_in<'a>(self, facts: &mut SessionFacts<'a>, value: Field<'a>) {
        match self {
            Said::Model => facts.model = text(value),
            Said::Title => facts.title = text(value),
            Said::AgentName => facts.agent = text(value),
            Said::PermissionMode => facts.permission_mode = text(value),
            Said::Effort => facts.effort = text(value),
            Said::Cost => facts.cost_total_usd = amount(value),
            Said::Mode => {}
        }
    }
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
        let model_changed = is_models && self.set(Said::Model, model);
        let is_first_of_agent = record.line.agent_id().is_some() && !self.has_parent;
        if is_first_of_agent {
            self.has_parent = true;
        }
        let mode_changed =
            record.kind == "user" && self.set(Said::PermissionMode, record.line.permission_mode());
        let effort_changed =
            record.kind == "assistant" && self.set(Said::Effort, record.line.effort());
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

    /// Stores a value. Returns whether it changed. A cost without an amount is not stored.
    pub fn set(&mut self, said: Said, value: Field<'_>) -> bool {
        let value = value.filter(|value| said != Said::Cost || amount(Some(*value)).is_some());
        set(&mut self.said[said as usize], value)
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

/// The first of the messages that the harness adds to a result begins so (0.2.96): files that it has read again.
const FIRST_NOTE: &str = "⎿  ";

/// What the lines before show.
#[derive(Default)]
pub struct Words {
    /// The last text in the user's place was a command, or what one printed.
    pub follows_command: bool,
    /// Of a capture: the last `user` line has the result of a call that starts a command. Captures state no parents.
    pub is_next_launched: bool,
    /// Hash of the last command that was typed, with its prompt id.
    typed: Option<u64>,
    /// Hash of the `uuid` of the last result that says that a command was started.
    launched: Option<u64>,
    /// Hash of the `uuid` of the last result, or of the last message that was added to it. The model answers a result at once, so that a
    /// person can write nothing in between.
    last_result: Option<u64>,
    last_is_note: bool,
}

impl Words {
    /// A person typed this text.
    pub fn set_typed(&mut self, line: &Line<'_>, typed: Text<'_>) {
        if typed.starts_with("/") {
            self.typed = command_key(line, &typed.decode_lossy());
        }
    }

    /// True if the line before said this command as it was typed: both have the same prompt id.
    pub fn is_typed_again(&self, line: &Line<'_>, typed: &str) -> bool {
        self.typed.is_some() && self.typed == command_key(line, typed)
    }

    /// The line has a result, which may launch a command.
    pub fn set_result(&mut self, line: &Line<'_>, dialect: Dialect) {
        let is_launched =
            |result: Value<'_>| result.is_object() && result.member("commandName").is_some();
        if line.tool_use_result().is_some_and(is_launched) {
            self.launched = key(line.uuid());
        }
        if dialect.notes_are_messages() {
            (self.last_result, self.last_is_note) = (key(line.uuid()), false);
        }
    }

    /// True if the line follows the result of a call that launches a command.
    pub fn is_launched(&self, line: &Line<'_>) -> bool {
        self.is_next_launched
            || (self.launched.is_some() && self.launched == key(line.parent_uuid()))
    }

    /// True for a text that the harness adds to a result: the child of a result that begins as these do, or the child of one.
    pub fn is_note(&mut self, line: &Line<'_>, text: Text<'_>) -> bool {
        let follows = self.last_result.is_some() && self.last_result == key(line.parent_uuid());
        let is_note = follows && (self.last_is_note || text.starts_with(FIRST_NOTE));
        if is_note {
            (self.last_result, self.last_is_note) = (key(line.uuid()), true);
        }
        is_note
    }
}

fn command_key(line: &Line<'_>, typed: &str) -> Option<u64> {
    let prompt = raw_str(line.object().member("promptId"));
    (!prompt.is_empty()).then(|| hash64((prompt, typed)))
}

fn key(uuid: Field<'_>) -> Option<u64> {
    text(uuid).map(|uuid| hash64(uuid.raw()))
}
