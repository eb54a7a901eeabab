//! The turn graph of a chat: what was said and done, with outcomes and times that the messages for the model do not hold.

use std::collections::{HashMap, VecDeque};

use engram_core::error::AdapterError;
use serde::Deserialize;

use super::layout::{self, Layout, push_message};
use crate::open::lines::{Lines, quoted};

/// What tells that a step and a part of a message are the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// A prompt, without the sections that the harness puts around it.
    Prompt(String),
    /// What the agent said.
    Said(String),
    /// What the agent thought.
    Thought(String),
    /// A call, by its id.
    Call(String),
}

/// One step of a turn.
struct Step {
    turn: usize,
    /// The name of its line.
    name: &'static str,
    /// Its JSON.
    json: String,
    taken: bool,
}

/// All steps of a chat, in order.
#[derive(Default)]
pub(super) struct Turns {
    steps: Vec<Step>,
    by_key: HashMap<Key, VecDeque<usize>>,
    /// The blobs that turns name and the store does not hold, or that are no messages.
    missing: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Turn {
    agent_conversation_turn: Option<AgentTurn>,
    shell_conversation_turn: Option<ShellTurn>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AgentTurn {
    user_message: Option<String>,
    #[serde(default)]
    steps: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ShellTurn {
    shell_command: Option<String>,
    shell_output: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StepContent {
    assistant_message: Option<WithText>,
    thinking_message: Option<WithText>,
    tool_call: Option<WithId>,
}

#[derive(Deserialize)]
struct WithText {
    text: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WithId {
    tool_call_id: Option<String>,
}

/// Gives a blob by its id.
pub(super) type Blobs<'b> = dyn Fn(&str) -> Result<Option<Vec<u8>>, AdapterError> + 'b;

impl Turns {
    /// Reads the turns that a root names. The graph is two levels deep, so it has no cycles.
    pub(super) fn read(ids: &[String], blobs: &Blobs<'_>) -> Result<Turns, AdapterError> {
        let mut turns = Turns::default();
        for (turn, id) in ids.iter().enumerate() {
            let Some(json) = turns.message(id, &layout::TURN, blobs)? else { continue };
            let Ok(content) = serde_json::from_str::<Turn>(&json) else { continue };
            if let Some(agent) = content.agent_conversation_turn {
                turns.agent_turn(turn, agent, blobs)?;
            } else if let Some(shell) = content.shell_conversation_turn {
                for (id, name, layout) in [
                    (shell.shell_command, "shell_command", &layout::SHELL_COMMAND),
                    (shell.shell_output, "shell_output", &layout::SHELL_OUTPUT),
                ] {
                    if let Some(json) = id.map(|id| turns.message(&id, layout, blobs)).transpose()?.flatten() {
                        turns.add(turn, name, json, None);
                    }
                }
            }
        }
        Ok(turns)
    }

    fn agent_turn(&mut self, turn: usize, agent: AgentTurn, blobs: &Blobs<'_>) -> Result<(), AdapterError> {
        if let Some(json) = agent.user_message.map(|id| self.message(&id, &layout::USER_MESSAGE, blobs)).transpose()?.flatten() {
            let prompt = serde_json::from_str::<WithText>(&json).ok().and_then(|message| message.text);
            self.add(turn, "user_message", json, prompt.map(Key::Prompt));
        }
        for id in &agent.steps {
            let Some(json) = self.message(id, &layout::STEP, blobs)? else { continue };
            let key = serde_json::from_str::<StepContent>(&json).ok().and_then(|content| {
                let said = content.assistant_message.and_then(|message| message.text).map(Key::Said);
                let thought = || content.thinking_message.and_then(|message| message.text).map(Key::Thought);
                let call = || content.tool_call.and_then(|call| call.tool_call_id).map(Key::Call);
                said.or_else(thought).or_else(call)
            });
            self.add(turn, "step", json, key);
        }
        Ok(())
    }

    fn message(&mut self, id: &str, layout: &Layout, blobs: &Blobs<'_>) -> Result<Option<String>, AdapterError> {
        let mut json = String::new();
        let read = blobs(id)?.is_some_and(|bytes| push_message(&mut json, &bytes, layout).is_ok());
        if !read {
            self.missing.push(id.to_owned());
        }
        Ok(read.then_some(json))
    }

    fn add(&mut self, turn: usize, name: &'static str, json: String, key: Option<Key>) {
        if let Some(key) = key {
            self.by_key.entry(key).or_default().push_back(self.steps.len());
        }
        self.steps.push(Step { turn, name, json, taken: false });
    }

    /// Takes the first step that is the same as a part of a message, and gives its JSON.
    pub(super) fn take(&mut self, key: &Key) -> Option<&str> {
        let at = self.by_key.get_mut(key)?.pop_front()?;
        let step = self.steps.get_mut(at)?;
        step.taken = true;
        Some(&step.json)
    }

    /// Writes the steps that no message says, of the turns before the first that messages say: a compaction took the messages away.
    pub(super) fn write_before(&self, lines: &mut Lines) -> Result<(), AdapterError> {
        let first = self.steps.iter().find(|step| step.taken).map_or(0, |step| step.turn);
        self.write(lines, |turn| turn < first)
    }

    /// Writes the other steps that no message says, and the blobs that are not there.
    pub(super) fn write_after(&self, lines: &mut Lines) -> Result<(), AdapterError> {
        let first = self.steps.iter().find(|step| step.taken).map_or(0, |step| step.turn);
        self.write(lines, |turn| turn >= first)?;
        self.missing.iter().try_for_each(|id| lines.line(&[("store", "\"missing\""), ("blob", &quoted(id))]))
    }

    fn write(&self, lines: &mut Lines, wanted: impl Fn(usize) -> bool) -> Result<(), AdapterError> {
        for step in self.steps.iter().filter(|step| !step.taken && wanted(step.turn)) {
            lines.line(&[("store", &quoted(step.name)), ("step", &step.json)])?;
        }
        Ok(())
    }
}
