//! A session as messages: what was said to the model, what it said, and what its tools gave.

use engram_core::event::*;
use engram_core::text::{Text, canonical_json, replace_lone_surrogates};

use super::{
    ATTACHMENT, BLOCKS, CODE, META, NO_CALL, OUTPUTS, REDACTED, REPLAY, REWOUND, STATUS, USAGE,
};
use crate::losses::{Losses, SURROGATE, UNKNOWN_LABEL};
use crate::session::{Response, Session, Unit};
use crate::text::Decoder;
use crate::time::moment;

/// Who says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    /// A person, or a model that started a sub-agent.
    Person,
    /// The harness, in the role of the user.
    Harness,
    /// The system, or a developer.
    System,
    /// The model.
    Model,
    /// A tool.
    Tool,
}

/// A message.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) speaker: Speaker,
    pub(super) content: String,
    pub(super) reasoning: Option<String>,
    pub(super) calls: Vec<Call>,
    pub(super) call_id: Option<String>,
    pub(super) milliseconds: Option<i64>,
    pub(super) model: Option<String>,
}

/// A call of a tool.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) tool: String,
    /// JSON, as text.
    pub(super) arguments: String,
}

/// The messages on their way.
pub(super) struct Conversation<'s, 't> {
    session: &'s Session<'t>,
    losses: &'s mut Losses,
    decoder: Decoder,
    said: Vec<Said>,
}

impl<'s, 't> Conversation<'s, 't> {
    pub(super) fn new(session: &'s Session<'t>, losses: &'s mut Losses) -> Self {
        Conversation {
            session,
            losses,
            decoder: Decoder::default(),
            said: Vec::new(),
        }
    }

    pub(super) fn run(mut self) -> Vec<Said> {
        self.count_what_is_left_out();
        for unit in &self.session.units {
            match unit {
                Unit::Response(at) => self.response(&self.session.responses[*at]),
                Unit::Event(index) => self.event(*index),
            }
        }
        if self.decoder.take_lossy() {
            self.losses.count(&SURROGATE);
        }
        self.said
    }

    fn is_left_out(&self, index: usize) -> bool {
        self.session.rewound[index] || self.session.events[index].replay
    }

    fn count_what_is_left_out(&mut self) {
        for (index, record) in self.session.events.iter().enumerate() {
            if record.replay {
                self.losses.count(&REPLAY);
                continue;
            }
            if self.session.rewound[index] {
                self.losses.count(&REWOUND);
                continue;
            }
            match &record.event {
                Event::Meta(Meta::Usage(_)) => self.losses.count(&USAGE),
                Event::Meta(Meta::Other(_)) => self.losses.count(&UNKNOWN_LABEL),
                Event::Meta(Meta::TapeStart(_) | Meta::TapeStop(_)) => {}
                Event::Meta(_) => self.losses.count(&META),
                Event::CodeRead(_) | Event::CodeEdit(_) | Event::SpanLink(_) => {
                    self.losses.count(&CODE)
                }
                Event::ToolResult(result) => {
                    let is_more = result.status.is_some_and(|status| status != Status::Ok)
                        || result.exit.is_some()
                        || result.duration_ms.is_some();
                    self.losses.count_many(&STATUS, u64::from(is_more));
                    self.losses
                        .count_many(&ATTACHMENT, result.attachments.len() as u64);
                }
                Event::MsgIn(message) => self
                    .losses
                    .count_many(&ATTACHMENT, message.attachments.len() as u64),
                Event::MsgOut(message) => self
                    .losses
                    .count_many(&REDACTED, u64::from(message.redacted)),
                Event::ToolCall(_) => {}
            }
        }
    }

    fn event(&mut self, index: usize) {
        if self.is_left_out(index) {
            return;
        }
        match &self.session.events[index].event {
            Event::MsgIn(message) => {
                let speaker = match (message.role, message.by) {
                    (Role::System | Role::Developer, _) => Speaker::System,
                    (Role::User, Author::Harness) => Speaker::Harness,
                    (Role::User, Author::Person | Author::Agent) => Speaker::Person,
                };
                let content = self.text(message.text).unwrap_or_default();
                self.say(index, speaker, content);
            }
            Event::ToolResult(_) => self.losses.count(&NO_CALL),
            _ => {}
        }
    }

    fn say(&mut self, index: usize, speaker: Speaker, content: String) -> &mut Said {
        let record = &self.session.events[index];
        let nanoseconds = if record.t_basis == Some(TimeBasis::Absent) {
            None
        } else {
            moment(record.t).nanoseconds()
        };
        let milliseconds = nanoseconds.map(|time| time.div_euclid(1_000_000));
        self.said.push(Said {
            speaker,
            content,
            reasoning: None,
            calls: Vec::new(),
            call_id: None,
            milliseconds,
            model: None,
        });
        let last = self.said.len() - 1;
        &mut self.said[last]
    }

    fn response(&mut self, response: &Response) {
        let (mut texts, mut reasoning, mut calls, mut model) =
            (Vec::new(), Vec::new(), Vec::new(), None);
        let mut results = Vec::new();
        let mut first = None;
        for &index in &response.events {
            if self.is_left_out(index) {
                continue;
            }
            first = first.or(Some(index));
            match &self.session.events[index].event {
                Event::MsgOut(message) => {
                    let text = self.text(message.text);
                    if message.channel == Some(Channel::Reasoning) {
                        reasoning.extend(text)
                    } else {
                        texts.extend(text)
                    }
                    model = model.or_else(|| self.text(message.model));
                }
                Event::ToolCall(call) => {
                    let call = self.call(index, call, &calls);
                    let of_call = self
                        .session
                        .results
                        .get(&index)
                        .into_iter()
                        .flatten()
                        .filter(|at| !self.is_left_out(**at));
                    results.extend(of_call.map(|at| (*at, call.id.clone())));
                    calls.push(call);
                }
                _ => {}
            }
        }
        let Some(first) =
            first.filter(|_| !(texts.is_empty() && reasoning.is_empty() && calls.is_empty()))
        else {
            return;
        };
        self.losses.count_many(
            &BLOCKS,
            (texts.len().saturating_sub(1) + reasoning.len().saturating_sub(1)) as u64,
        );
        let said = self.say(first, Speaker::Model, texts.join("\n\n"));
        said.reasoning = (!reasoning.is_empty()).then(|| reasoning.join("\n\n"));
        said.calls = calls;
        said.model = model;
        results.sort();
        results
            .into_iter()
            .for_each(|(index, id)| self.result(index, id));
    }

    fn call(&mut self, index: usize, call: &ToolCall<'_>, before: &[Call]) -> Call {
        let id = self
            .text(call.call_id)
            .filter(|id| before.iter().all(|other| other.id != *id));
        let arguments = call.args.map_or_else(
            || "{}".to_owned(),
            |args| replace_lone_surrogates(&canonical_json(args)).into_owned(),
        );
        Call {
            id: id.unwrap_or_else(|| format!("seq-{index}")),
            tool: self.text(Some(call.tool)).unwrap_or_default(),
            arguments,
        }
    }

    fn result(&mut self, index: usize, id: String) {
        let Event::ToolResult(result) = &self.session.events[index].event else {
            return;
        };
        let outputs: Vec<String> = [result.stdout, result.stderr]
            .into_iter()
            .filter_map(|text| self.text(text))
            .collect();
        self.losses
            .count_many(&OUTPUTS, u64::from(outputs.len() == 2));
        self.say(index, Speaker::Tool, outputs.join("\n")).call_id = Some(id);
    }

    fn text(&mut self, text: Option<Text<'_>>) -> Option<String> {
        text.map(|text| self.decoder.text(text).to_owned())
    }
}
