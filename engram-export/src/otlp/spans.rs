//! The spans of a tape: the session, its turns, its responses and its calls.

use std::collections::{BTreeMap, HashMap};
use std::io;

use engram_core::event::*;
use serde_json::json;

use super::content::Cutter;
use super::conventions::*;
use super::facts::Facts;
use super::ids::{Of, span_id};
use super::options::{Content, Options, Part};
use super::rules::CLAMPED;
use super::wire::{Attributes, CLIENT, INTERNAL, Link, Span, SpanEvent, failed};
use super::{events, facts};
use crate::losses::Losses;
use crate::scratch::Scratch;
use crate::session::{Response, Session, Unit};
use crate::text::owned;

/// Marks spans whose times are not those of single events of the log.
const TIME: &str = "engram.time";
/// How the provider is known: `derived` from the name of the model.
const PROVIDER: &str = "engram.provider";

/// The spans of one tape. Those of responses and calls are kept in the scratch.
#[derive(Debug)]
pub(super) struct Spans {
    /// The session and its turns.
    pub(super) own: Vec<Span>,
    /// What the tape says of itself.
    pub(super) facts: Facts,
    /// The harness.
    pub(super) harness: String,
    ids: SpanIds,
    /// The event of each call.
    calls: HashMap<String, usize>,
}

impl Spans {
    /// The spans of a tape; `None` if it has no time.
    pub(super) fn of(
        part: &Part<'_, '_>,
        trace: &str,
        parent: Option<String>,
        options: Options,
        losses: &mut Losses,
        scratch: &mut Scratch,
    ) -> io::Result<Option<Spans>> {
        let mut facts = Facts::of(&part.session, options.content, losses)?;
        let times = facts.times.iter().flatten();
        let (Some(start), Some(end)) = (times.clone().min(), times.max()) else {
            return Ok(None);
        };
        let (start, end) = (*start, *end);
        let source = part.session.source.clone();
        let writer = Writer {
            session: &part.session,
            harness: &source.harness,
            ids: SpanIds {
                session: source.session_id.unwrap_or_else(|| part.name.to_owned()),
                agent: source.agent_id.unwrap_or_default(),
                input: std::mem::take(&mut facts.input),
            },
            trace,
            options,
            cutter: Cutter::new(options, losses),
            facts,
            turns: BTreeMap::new(),
            own: Vec::new(),
            from: scratch.bytes(),
            scratch,
            calls: HashMap::new(),
            clamped: 0,
        };
        writer.run(parent.unwrap_or_default(), start, end).map(Some)
    }

    /// The span that a sub-agent belongs to: that of the call that started it, else that of the session.
    pub(super) fn parent_for(&self, call: Option<&str>) -> String {
        let call = call.and_then(|id| self.calls.get(id));
        self.ids
            .of(call.map_or(Of::Session, |index| Of::Call(*index)))
    }
}

/// What the ids of the spans of a tape are made from.
#[derive(Debug)]
struct SpanIds {
    session: String,
    agent: String,
    input: String,
}

impl SpanIds {
    fn of(&self, of: Of) -> String {
        span_id(&self.session, &self.agent, &self.input, of)
    }
}

struct Writer<'s, 't, 'l> {
    session: &'s Session<'t>,
    harness: &'s str,
    ids: SpanIds,
    trace: &'s str,
    options: Options,
    cutter: Cutter<'l>,
    facts: Facts,
    turns: BTreeMap<u64, usize>,
    /// The spans of the session and its turns.
    own: Vec<Span>,
    /// Where the other spans begin.
    from: u64,
    scratch: &'s mut Scratch,
    calls: HashMap<String, usize>,
    clamped: u64,
}

impl Writer<'_, '_, '_> {
    fn run(mut self, parent: String, start: i64, end: i64) -> io::Result<Spans> {
        let root = self.root(parent, start, end);
        self.own.push(root);
        self.turn_spans();
        let mut compacted = false;
        let mut heard: Vec<serde_json::Value> = Vec::new();
        for unit in &self.session.units {
            match unit {
                Unit::Response(at) => {
                    let response = &self.session.responses[*at];
                    self.response(response, &mut compacted, &mut heard)?;
                }
                Unit::Event(index) => self.event(*index, &mut compacted, &mut heard)?,
            }
        }
        self.cutter.count(&CLAMPED, self.clamped);
        Ok(Spans {
            own: self.own,
            facts: self.facts,
            harness: self.harness.to_owned(),
            ids: self.ids,
            calls: self.calls,
        })
    }

    fn root(&self, parent: String, start: i64, end: i64) -> Span {
        let mut root = self.agent(Of::Session, parent, start, end);
        let mut attributes = Attributes::default();
        attributes.maybe("engram.session.title", self.facts.title.clone());
        // With its sub-agents: `engram.cost.usd` of responses is not added to it.
        attributes.maybe("engram.session.cost.usd", self.facts.total);
        root.attributes.append(&mut attributes.0);
        root
    }

    /// Keeps a span of a response or a call.
    fn keep(&mut self, span: &Span) -> io::Result<()> {
        self.scratch.add_item(self.from, span)
    }

    fn id(&self, of: Of) -> String {
        self.ids.of(of)
    }

    fn span(&self, of: Of, parent: String, name: String, kind: u8, start: i64, end: i64) -> Span {
        Span {
            trace_id: self.trace.to_owned(),
            span_id: self.id(of),
            parent_span_id: parent,
            name,
            kind,
            start_time_unix_nano: start,
            end_time_unix_nano: end,
            ..Span::default()
        }
    }

    /// A span of the agent: the session, or a turn of it.
    fn agent(&self, of: Of, parent: String, start: i64, end: i64) -> Span {
        let mut attributes = Attributes::default();
        attributes.set(OPERATION, INVOKE_AGENT);
        attributes.set(AGENT_NAME, self.harness);
        attributes.set(CONVERSATION, self.ids.session.as_str());
        if self.options.semconv.has_agent_id() && !self.ids.agent.is_empty() {
            attributes.set(AGENT_ID, self.ids.agent.as_str());
        }
        let mut span = self.span(
            of,
            parent,
            format!("{INVOKE_AGENT} {}", self.harness),
            INTERNAL,
            start,
            end,
        );
        span.attributes = attributes.0;
        span
    }

    /// A span for each turn, if there is more than one.
    fn turn_spans(&mut self) {
        let mut ends: BTreeMap<u64, (i64, i64)> = BTreeMap::new();
        for (index, time) in self.facts.times.iter().enumerate() {
            if let (Some(time), Some(turn)) = (*time, self.session.turns[index]) {
                let (start, end) = ends.entry(turn).or_insert((time, time));
                *start = time.min(*start);
                *end = time.max(*end);
            }
        }
        if ends.len() < 2 {
            return;
        }
        let root = self.id(Of::Session);
        for (number, (turn, (start, end))) in ends.into_iter().enumerate() {
            let seq = usize::try_from(turn).unwrap_or_default();
            let mut attributes = Attributes::default();
            attributes.set("engram.turn", number as u64 + 1);
            if self.session.rewound.get(seq).copied().unwrap_or_default() {
                attributes.set("engram.rewound", true);
            }
            let mut span = self.agent(Of::Turn(seq), root.clone(), start, end);
            attributes.maybe("engram.agent.id", self.session.inside.get(&seq).cloned());
            span.attributes.append(&mut attributes.0);
            self.turns.insert(turn, self.own.len());
            self.own.push(span);
        }
    }

    /// The span that what happens at an event belongs to: its turn, or the session.
    fn around(&self, index: usize) -> usize {
        self.session.turns[index]
            .and_then(|turn| self.turns.get(&turn))
            .copied()
            .unwrap_or(0)
    }

    fn parent(&self, index: usize) -> String {
        self.own[self.around(index)].span_id.clone()
    }

    /// A span that ends before it starts has no length: back ends drop a whole batch with such a span.
    fn clamp(&mut self, start: i64, end: i64, attributes: &mut Attributes) -> (i64, i64) {
        if start <= end {
            return (start, end);
        }
        self.clamped += 1;
        attributes.set(TIME, "clamped");
        (end, end)
    }

    fn response(
        &mut self,
        response: &Response,
        compacted: &mut bool,
        heard: &mut Vec<serde_json::Value>,
    ) -> io::Result<()> {
        let session = self.session;
        let all = response.events.iter().chain(&response.usage).copied();
        let timed: Vec<usize> = all
            .filter(|index| self.facts.times[*index].is_some())
            .collect();
        let (Some(first), Some(end)) = (
            timed.first().copied(),
            timed
                .iter()
                .filter_map(|index| self.facts.times[*index])
                .max(),
        ) else {
            return Ok(());
        };
        let mut attributes = Attributes::default();
        let requested = self.facts.request_time(first);
        attributes.set(OPERATION, inference(self.harness));
        let model = self.facts.model(session, response)?;
        let stated = self.facts.provider(first);
        let provider = provider_of(stated, self.harness, model.as_deref());
        self.options
            .semconv
            .provider()
            .iter()
            .for_each(|key| attributes.set(key, provider.name.as_str()));
        if provider.is_derived {
            attributes.set(PROVIDER, "derived");
        }
        attributes.maybe(REQUEST_MODEL, model.clone());
        attributes.maybe(RESPONSE_ID, response.message_id.clone());
        let reason = facts::usage(session, response, self.options.semconv, &mut attributes)?;
        if std::mem::take(compacted) {
            attributes.set(COMPACTED, true);
        }
        if requested.is_some() {
            attributes.set(TIME, "derived");
        }
        let said = self.said(&timed)?;
        if !heard.is_empty() {
            attributes.set(
                INPUT_MESSAGES,
                serde_json::Value::Array(std::mem::take(heard)).to_string(),
            );
        }
        if !said.is_empty() {
            attributes.set(
                OUTPUT_MESSAGES,
                json!([{ "role": "assistant", "parts": said, "finish_reason": reason }])
                    .to_string(),
            );
        }
        if self.cutter.take_cut() {
            attributes.set("engram.truncated", true);
        }
        let (start, end) = self.clamp(requested.unwrap_or(end), end, &mut attributes);
        let name = format!(
            "{} {}",
            inference(self.harness),
            model.as_deref().unwrap_or("unknown")
        );
        let mut span = self.span(
            Of::Response(first),
            self.parent(first),
            name,
            CLIENT,
            start,
            end,
        );
        span.attributes = attributes.0;
        self.keep(&span)?;
        for &index in &response.events {
            let line = session.line(index)?;
            if let (Event::ToolCall(call), Some(time)) =
                (&line.record()?.event, self.facts.times[index])
            {
                self.call(index, call, time, &span.span_id, heard)?;
            }
        }
        Ok(())
    }

    /// What the model said and called, as parts of a message.
    fn said(&mut self, events: &[usize]) -> io::Result<Vec<serde_json::Value>> {
        let mut said = Vec::new();
        if self.options.content == Content::None {
            return Ok(said);
        }
        for index in events {
            let line = self.session.line(*index)?;
            said.extend(match &line.record()?.event {
                Event::MsgOut(message) => self.cutter.said(message),
                Event::ToolCall(call) => self.cutter.call(call),
                _ => None,
            });
        }
        Ok(said)
    }

    fn call(
        &mut self,
        index: usize,
        call: &ToolCall<'_>,
        time: i64,
        response: &str,
        heard: &mut Vec<serde_json::Value>,
    ) -> io::Result<()> {
        let session = self.session;
        let mut attributes = Attributes::default();
        attributes.set(OPERATION, EXECUTE_TOOL);
        attributes.set(TOOL_NAME, owned(call.tool));
        attributes.maybe(TOOL_CALL_ID, call.call_id.map(owned));
        attributes.set(
            TOOL_TYPE,
            if call.server.is_some() {
                "extension"
            } else {
                "function"
            },
        );
        attributes.set("engram.tool.kind", call.kind.as_str());
        attributes.maybe(TOOL_ARGUMENTS, self.cutter.arguments(call));
        let (mut start, mut end, mut status) = (time, time, None);
        let results = session.results.get(&index).into_iter().flatten();
        for &at in results {
            let line = session.line(at)?;
            let (Event::ToolResult(result), Some(done)) =
                (&line.record()?.event, self.facts.times[at])
            else {
                continue;
            };
            end = done;
            if let Some(milliseconds) = result.duration_ms {
                start = done.saturating_sub(
                    i64::try_from(milliseconds)
                        .unwrap_or(i64::MAX)
                        .saturating_mul(1_000_000),
                );
            }
            attributes.maybe(EXIT_CODE, result.exit);
            let error = match result.status {
                Some(Status::Error) => Some("tool_error"),
                Some(Status::Denied) => Some("denied"),
                Some(Status::Cancelled) => Some("cancelled"),
                Some(Status::Ok) | None => None,
            };
            attributes.maybe(ERROR_TYPE, error);
            status = status.or(error.and_then(failed));
            attributes.maybe(TOOL_RESULT, self.cutter.result(result));
            heard.extend(self.cutter.result_message(result));
        }
        if session.results.get(&index).is_none_or(Vec::is_empty) {
            attributes.set("engram.result", "missing");
        }
        if self.cutter.take_cut() {
            attributes.set("engram.truncated", true);
        }
        let (start, end) = self.clamp(start, end, &mut attributes);
        let mut span = self.span(
            Of::Call(index),
            self.parent(index),
            format!("{EXECUTE_TOOL} {}", owned(call.tool)),
            INTERNAL,
            start,
            end,
        );
        span.attributes = attributes.0;
        span.links = vec![Link {
            trace_id: self.trace.to_owned(),
            span_id: response.to_owned(),
            attributes: Vec::new(),
        }];
        span.status = status;
        let of_call = session
            .code
            .get(&index)
            .into_iter()
            .chain(session.permissions.get(&index))
            .flatten();
        for at in of_call {
            span.events.extend(self.span_event(*at)?);
        }
        if let Some(id) = call.call_id {
            self.calls.insert(owned(id), index);
        }
        self.keep(&span)
    }

    /// An event that belongs to no response and no call.
    fn event(
        &mut self,
        index: usize,
        compacted: &mut bool,
        heard: &mut Vec<serde_json::Value>,
    ) -> io::Result<()> {
        let Some(time) = self.facts.times[index] else {
            return Ok(());
        };
        let line = self.session.line(index)?;
        let record = line.record()?;
        match &record.event {
            Event::MsgIn(message) => heard.extend(self.cutter.heard(message)),
            Event::Meta(Meta::Compaction { .. }) => *compacted = true,
            _ => {}
        }
        let content = self.options.content;
        let Some(event) = events::span_event(&record.event, time, content) else {
            return Ok(());
        };
        let at = self.around(index);
        let is_error = matches!(record.event, Event::Meta(Meta::Error { .. }));
        if is_error && !self.facts.has_output_after[index] {
            self.own[at].status = failed("");
        }
        self.own[at].events.push(event);
        Ok(())
    }

    fn span_event(&self, index: usize) -> io::Result<Option<SpanEvent>> {
        let Some(time) = self.facts.times[index] else {
            return Ok(None);
        };
        let line = self.session.line(index)?;
        let event = events::span_event(&line.record()?.event, time, self.options.content);
        Ok(event)
    }
}
