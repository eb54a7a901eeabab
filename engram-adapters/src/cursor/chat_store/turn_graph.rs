//! The turn graph of a chat: its steps, with outcomes and times that the messages for the model do not have.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use engram_core::error::AdapterError;
use engram_core::limits::Limits;
use serde::Deserialize;

use super::chat_proto::{self, Layout, push_message};
use crate::open::lines::{Lines, Size, quoted};

/// Matches a step with the part of a message that has the same content.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum StepKey {
    /// A prompt, without the sections that the harness adds around it.
    Prompt(String),
    /// A message of the agent.
    Answer(String),
    /// Reasoning of the agent.
    Reasoning(String),
    /// A call, by its id.
    Call(String),
}

/// The bytes that a step takes in addition to its text.
const STEP_BYTES: usize = 128;

/// One step of a turn.
struct Step {
    turn: usize,
    /// The type of its line.
    record: &'static str,
    /// Its JSON.
    json: String,
    joined: bool,
}

/// All steps of a chat, in order.
pub(super) struct TurnGraph {
    steps: Vec<Step>,
    by_key: HashMap<StepKey, VecDeque<usize>>,
    /// The turns of agents by the ids of their requests.
    requests: HashMap<String, usize>,
    /// The number of turns.
    turns: usize,
    /// The blobs of turns that the store does not have, or that are not messages.
    missing: Vec<String>,
    /// What all of this takes. Ids may name one turn, and one step of it, many times.
    size: Size,
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
    request_id: Option<String>,
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

/// Returns a blob by its id.
pub(super) type Blobs<'b> = dyn Fn(&str) -> Result<Option<Vec<u8>>, AdapterError> + 'b;

impl TurnGraph {
    /// Reads the turns of a root. The graph is two levels deep, so it has no cycles.
    ///
    /// # Errors
    /// `limit_exceeded` if the steps are more than one record may be; those of the store.
    pub(super) fn read(
        ids: &[String],
        blobs: &Blobs<'_>,
        limits: Limits,
    ) -> Result<TurnGraph, AdapterError> {
        let mut graph = TurnGraph {
            steps: Vec::new(),
            by_key: HashMap::new(),
            requests: HashMap::new(),
            turns: ids.len(),
            missing: Vec::new(),
            size: Size::new(limits),
        };
        for (turn, id) in ids.iter().enumerate() {
            let Some(json) = graph.message(id, &chat_proto::TURN, blobs)? else {
                continue;
            };
            let Ok(content) = serde_json::from_str::<Turn>(&json) else {
                continue;
            };
            if let Some(agent) = content.agent_conversation_turn {
                graph.agent_turn(turn, agent, blobs)?;
            } else if let Some(shell) = content.shell_conversation_turn {
                for (id, record, layout) in [
                    (
                        shell.shell_command,
                        "shell_command",
                        &chat_proto::SHELL_COMMAND,
                    ),
                    (
                        shell.shell_output,
                        "shell_output",
                        &chat_proto::SHELL_OUTPUT,
                    ),
                ] {
                    if let Some(json) = id
                        .map(|id| graph.message(&id, layout, blobs))
                        .transpose()?
                        .flatten()
                    {
                        graph.add(turn, record, json, None)?;
                    }
                }
            }
        }
        Ok(graph)
    }

    fn agent_turn(
        &mut self,
        turn: usize,
        agent: AgentTurn,
        blobs: &Blobs<'_>,
    ) -> Result<(), AdapterError> {
        if let Some(request) = agent.request_id {
            self.requests.entry(request).or_insert(turn);
        }
        if let Some(json) = agent
            .user_message
            .map(|id| self.message(&id, &chat_proto::USER_MESSAGE, blobs))
            .transpose()?
            .flatten()
        {
            let prompt = serde_json::from_str::<WithText>(&json)
                .ok()
                .and_then(|message| message.text);
            self.add(turn, "user_message", json, prompt.map(StepKey::Prompt))?;
        }
        for id in &agent.steps {
            let Some(json) = self.message(id, &chat_proto::STEP, blobs)? else {
                continue;
            };
            let key = serde_json::from_str::<StepContent>(&json)
                .ok()
                .and_then(|content| {
                    let answer = content
                        .assistant_message
                        .and_then(|message| message.text)
                        .map(StepKey::Answer);
                    let reasoning = || {
                        content
                            .thinking_message
                            .and_then(|message| message.text)
                            .map(StepKey::Reasoning)
                    };
                    let call = || {
                        content
                            .tool_call
                            .and_then(|call| call.tool_call_id)
                            .map(StepKey::Call)
                    };
                    answer.or_else(reasoning).or_else(call)
                });
            self.add(turn, "step", json, key)?;
        }
        Ok(())
    }

    fn message(
        &mut self,
        id: &str,
        layout: &Layout,
        blobs: &Blobs<'_>,
    ) -> Result<Option<String>, AdapterError> {
        let mut json = String::new();
        let read = blobs(id)?.is_some_and(|bytes| push_message(&mut json, &bytes, layout).is_ok());
        if !read {
            self.size.add(id.len() + STEP_BYTES)?;
            self.missing.push(id.to_owned());
        }
        Ok(read.then_some(json))
    }

    fn add(
        &mut self,
        turn: usize,
        record: &'static str,
        json: String,
        key: Option<StepKey>,
    ) -> Result<(), AdapterError> {
        // The text of a step is also its key.
        self.size.add(2 * json.len() + STEP_BYTES)?;
        if let Some(key) = key {
            self.by_key
                .entry(key)
                .or_default()
                .push_back(self.steps.len());
        }
        self.steps.push(Step {
            turn,
            record,
            json,
            joined: false,
        });
        Ok(())
    }

    /// The number of turns.
    pub(super) fn turns(&self) -> usize {
        self.turns
    }

    /// The turn that began with this request.
    pub(super) fn turn_of_request(&self, request_id: &str) -> Option<usize> {
        self.requests.get(request_id).copied()
    }

    /// Joins the first step with this key with a part of a message, and returns its turn and its JSON.
    pub(super) fn join(&mut self, key: &StepKey) -> Option<(usize, &str)> {
        let at = self.by_key.get_mut(key)?.pop_front()?;
        let step = self.steps.get_mut(at)?;
        step.joined = true;
        Some((step.turn, &step.json))
    }

    /// Writes the steps of these turns that no message has: a compaction removed their messages, or the turn was stopped.
    pub(super) fn write(&self, lines: &mut Lines, turns: Range<usize>) -> Result<(), AdapterError> {
        // Steps are in the order of their turns.
        let before = |turn: usize| self.steps.partition_point(|step| step.turn < turn);
        let steps = self
            .steps
            .get(before(turns.start)..before(turns.end))
            .unwrap_or_default();
        for step in steps.iter().filter(|step| !step.joined) {
            lines.line(&[("store", &quoted(step.record)), ("step", &step.json)])?;
        }
        Ok(())
    }

    /// Writes the blobs that are missing.
    pub(super) fn write_missing(&self, lines: &mut Lines) -> Result<(), AdapterError> {
        self.missing
            .iter()
            .try_for_each(|id| lines.line(&[("store", "\"missing\""), ("blob", &quoted(id))]))
    }
}
