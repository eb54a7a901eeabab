//! A session as messages: what was said to the model, what it said, and what its tools gave.

use std::collections::HashSet;
use std::io;

use engram_core::event::*;
use engram_core::text::{Text, canonical_json, replace_lone_surrogates};

use super::rules::{
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

/// Takes what was said.
type Each<'e> = &'e mut dyn FnMut(Said) -> io::Result<()>;

impl Said {
    /// Something that was said with an event.
    fn at(record: &EventRecord<'_>, speaker: Speaker, content: String) -> Said {
        let nanoseconds = if record.t_basis == Some(TimeBasis::Absent) {
            None
        } else {
            moment(record.t).nanoseconds()
        };
        Said {
            speaker,
            content,
            reasoning: None,
            calls: Vec::new(),
            call_id: None,
            milliseconds: nanoseconds.map(|time| time.div_euclid(1_000_000)),
            model: None,
        }
    }
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
}

impl<'s, 't> Conversation<'s, 't> {
    pub(super) fn new(session: &'s Session<'t>, losses: &'s mut Losses) -> Self {
        Conversation {
            session,
            losses,
            decoder: Decoder::default(),
        }
    }

    /// Passes what was said, in order.
    pub(super) fn run(mut self, each: Each<'_>) -> io::Result<()> {
        self.count_what_is_left_out()?;
        for unit in &self.session.units {
            match unit {
                Unit::Response(at) => self.response(&self.session.responses[*at], each)?,
                Unit::Event(index) => self.event(*index, each)?,
            }
        }
        if self.decoder.take_lossy() {
            self.losses.count(&SURROGATE);
        }
        Ok(())
    }

    fn count_what_is_left_out(&mut self) -> io::Result<()> {
        let session = self.session;
        session.each(&mut |index, _, record| {
            if record.replay {
                self.losses.count(&REPLAY);
                return Ok(());
            }
            if session.rewound[index] {
                self.losses.count(&REWOUND);
                return Ok(());
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
            Ok(())
        })
    }

    fn event(&mut self, index: usize, each: Each<'_>) -> io::Result<()> {
        let line = self.session.line(index)?;
        let record = line.record()?;
        if self.is_left_out(index, &record) {
            return Ok(());
        }
        match &record.event {
            Event::MsgIn(message) => {
                let speaker = match (message.role, message.by) {
                    (Role::System | Role::Developer, _) => Speaker::System,
                    (Role::User, Author::Harness) => Speaker::Harness,
                    (Role::User, Author::Person | Author::Agent) => Speaker::Person,
                };
                let content = self.text(message.text).unwrap_or_default();
                each(Said::at(&record, speaker, content))
            }
            Event::ToolResult(_) => {
                self.losses.count(&NO_CALL);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn is_left_out(&self, index: usize, record: &EventRecord<'_>) -> bool {
        self.session.rewound[index] || record.replay
    }

    fn response(&mut self, response: &Response, each: Each<'_>) -> io::Result<()> {
        let (mut texts, mut reasoning, mut model) = (Vec::new(), Vec::new(), None);
        let (mut said, mut ids, mut results) = (None::<Said>, HashSet::new(), Vec::new());
        for &index in &response.events {
            let line = self.session.line(index)?;
            let record = line.record()?;
            if self.is_left_out(index, &record) {
                continue;
            }
            let said = said.get_or_insert_with(|| Said::at(&record, Speaker::Model, String::new()));
            match &record.event {
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
                    let call = self.call(index, call, &mut ids);
                    let of_call = self.session.results.get(&index).into_iter().flatten();
                    results.extend(of_call.map(|at| (*at, call.id.clone())));
                    said.calls.push(call);
                }
                _ => {}
            }
        }
        let Some(mut said) = said
            .filter(|said| !(texts.is_empty() && reasoning.is_empty() && said.calls.is_empty()))
        else {
            return Ok(());
        };
        self.losses.count_many(
            &BLOCKS,
            (texts.len().saturating_sub(1) + reasoning.len().saturating_sub(1)) as u64,
        );
        said.content = texts.join("\n\n");
        said.reasoning = (!reasoning.is_empty()).then(|| reasoning.join("\n\n"));
        said.model = model;
        each(said)?;
        results.sort();
        results
            .into_iter()
            .try_for_each(|(index, id)| self.result(index, id, each))
    }

    /// A call. Its id is its own in the response.
    fn call(&mut self, index: usize, call: &ToolCall<'_>, ids: &mut HashSet<String>) -> Call {
        let id = self
            .text(call.call_id)
            .filter(|id| !ids.contains(id))
            .unwrap_or_else(|| format!("seq-{index}"));
        ids.insert(id.clone());
        let arguments = call.args.map_or_else(
            || "{}".to_owned(),
            |args| replace_lone_surrogates(&canonical_json(args)).into_owned(),
        );
        Call {
            id,
            tool: self.text(Some(call.tool)).unwrap_or_default(),
            arguments,
        }
    }

    fn result(&mut self, index: usize, id: String, each: Each<'_>) -> io::Result<()> {
        let line = self.session.line(index)?;
        let record = line.record()?;
        let Event::ToolResult(result) = &record.event else {
            return Ok(());
        };
        if self.is_left_out(index, &record) {
            return Ok(());
        }
        let outputs: Vec<String> = [result.stdout, result.stderr]
            .into_iter()
            .filter_map(|text| self.text(text))
            .collect();
        self.losses
            .count_many(&OUTPUTS, u64::from(outputs.len() == 2));
        each(Said {
            call_id: Some(id),
            ..Said::at(&record, Speaker::Tool, outputs.join("\n"))
        })
    }

    fn text(&mut self, text: Option<Text<'_>>) -> Option<String> {
        text.map(|text| self.decoder.text(text).to_owned())
    }
}
