//! Hugging Face: session traces that the Hub's viewer and `datasets` read, and conversations for training.
//!
//! What was rewound and what repeats another session's history is left out. Sub-agents have traces of their own.

mod card;
mod conversation;
mod rules;

use std::io::{self, Write};

use engram_core::event::{Event, Meta};
use serde::Serialize;
use serde_json::{Value, json};

pub use self::card::{MESSAGES_FILE, TRACES_DIRECTORY, card};
use self::conversation::{Conversation, Said, Speaker};
use self::rules::NOTHING;
pub use self::rules::RULES;
use crate::Wrote;
use crate::losses::Losses;
use crate::session::Session;
use crate::text::owned;

/// Facts about the session of a trace.
#[derive(Debug, Default, Serialize)]
struct Facts {
    harness: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    session_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    started: Option<String>,
}

impl Facts {
    fn of(name: &str, session: &Session<'_>) -> io::Result<Facts> {
        let source = session.source.clone();
        let mut facts = Facts {
            harness: source.harness,
            session_id: source.session_id.unwrap_or_else(|| name.to_owned()),
            agent_id: source.agent_id,
            ..Facts::default()
        };
        session.each(&mut |_, _, record| {
            if facts.started.is_none() && record.t_basis.is_none() && !record.replay {
                facts.started = Some(record.t.to_owned());
            }
            match &record.event {
                Event::Meta(Meta::TapeStart(start)) => {
                    facts.version = start.harness.version.map(owned)
                }
                Event::Meta(Meta::Session(stated)) if !record.replay => {
                    facts.model = facts.model.take().or_else(|| stated.model.map(owned));
                    facts.title = stated.title.map(owned).or(facts.title.take());
                    facts.parent_session_id = facts
                        .parent_session_id
                        .take()
                        .or_else(|| stated.parent_session_id.map(owned));
                }
                Event::MsgOut(message) if !record.replay => {
                    facts.model = facts.model.take().or_else(|| message.model.map(owned))
                }
                _ => {}
            }
            Ok(())
        })?;
        Ok(facts)
    }
}

/// Writes traces and conversations, and counts what is lost.
#[derive(Debug)]
pub struct Traces {
    losses: Losses,
}

impl Default for Traces {
    fn default() -> Self {
        Traces {
            losses: Losses::new("hf", &[RULES]),
        }
    }
}

impl Traces {
    /// What was lost so far.
    pub fn losses(&self) -> &Losses {
        &self.losses
    }

    /// Writes the trace of a session: a line with the session, and one for each message. `name` is used where the tape has no session id.
    ///
    /// # Errors
    /// Those of reading the tape and of writing.
    pub fn trace(
        &mut self,
        name: &str,
        session: &Session<'_>,
        out: &mut dyn Write,
    ) -> io::Result<Wrote> {
        let facts = Facts::of(name, session)?;
        let title = facts
            .title
            .clone()
            .unwrap_or_else(|| facts.session_id.clone());
        let head = json!({ "type": "session", "harness": facts.harness, "id": facts.session_id, "name": title });
        self.said(session, &mut |number, said| {
            if number == 0 {
                writeln!(out, "{head}")?;
            }
            writeln!(out, "{}", message_of_trace(&said))
        })
    }

    /// Writes the conversation of a session as one line, for training. `name` is used where the tape has no session id.
    ///
    /// # Errors
    /// Those of reading the tape and of writing.
    pub fn messages(
        &mut self,
        name: &str,
        session: &Session<'_>,
        out: &mut dyn Write,
    ) -> io::Result<Wrote> {
        let wrote = self.said(session, &mut |number, said| {
            let before = if number == 0 { "{\"messages\":[" } else { "," };
            write!(out, "{before}{}", message_for_training(&said))
        })?;
        if wrote == Wrote::Nothing {
            return Ok(wrote);
        }
        let tool = |name| json!({ "type": "function", "function": { "name": name } });
        let tools: Vec<Value> = session.tools()?.into_iter().map(tool).collect();
        let (facts, tools) = (json!(Facts::of(name, session)?), Value::Array(tools));
        writeln!(out, "],\"metadata\":{facts},\"tools\":{tools}}}")?;
        Ok(wrote)
    }

    /// Passes what was said, numbered from 0.
    fn said(
        &mut self,
        session: &Session<'_>,
        each: &mut dyn FnMut(u64, Said) -> io::Result<()>,
    ) -> io::Result<Wrote> {
        self.losses.tape();
        let mut said = 0;
        Conversation::new(session, &mut self.losses).run(&mut |one| {
            said += 1;
            each(said - 1, one)
        })?;
        if said == 0 {
            self.losses.count(&NOTHING);
            return Ok(Wrote::Nothing);
        }
        Ok(Wrote::Session)
    }
}

fn message_of_trace(said: &Said) -> Value {
    let mut message = json!({ "role": said.speaker.in_traces(), "content": said.content });
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            message[key] = value;
        }
    };
    set("reasoningContent", said.reasoning.clone().map(Value::from));
    let call = |call: &conversation::Call| json!({ "id": call.id, "function": { "name": call.tool, "arguments": call.arguments } });
    set(
        "toolCalls",
        (!said.calls.is_empty()).then(|| said.calls.iter().map(call).collect()),
    );
    set("toolCallId", said.call_id.clone().map(Value::from));
    set("timestamp", said.milliseconds.map(Value::from));
    set("model", said.model.clone().map(Value::from));
    json!({ "type": "message", "message": message })
}

fn message_for_training(said: &Said) -> Value {
    let mut message = json!({ "role": said.speaker.in_training(), "content": said.content });
    if let Some(reasoning) = &said.reasoning {
        message["reasoning_content"] = reasoning.as_str().into();
    }
    if let Some(id) = &said.call_id {
        message["tool_call_id"] = id.as_str().into();
    }
    if !said.calls.is_empty() {
        let call = |call: &conversation::Call| json!({ "id": call.id, "type": "function", "function": { "name": call.tool, "arguments": call.arguments } });
        message["tool_calls"] = said.calls.iter().map(call).collect();
    }
    message
}

impl Speaker {
    /// What the harness wrote is no `user`: a reader begins a turn with each of those.
    fn in_traces(self) -> &'static str {
        match self {
            Speaker::Person => "user",
            Speaker::Harness | Speaker::System => "system",
            Speaker::Model => "assistant",
            Speaker::Tool => "tool",
        }
    }

    /// The role in which the model saw it.
    fn in_training(self) -> &'static str {
        match self {
            Speaker::Person | Speaker::Harness => "user",
            Speaker::System => "system",
            Speaker::Model => "assistant",
            Speaker::Tool => "tool",
        }
    }
}
