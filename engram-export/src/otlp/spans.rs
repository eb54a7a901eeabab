//! The spans of a tape: the session, its turns, its responses and its calls.

use std::collections::{BTreeMap, HashMap};

use engram_core::event::*;
use serde_json::json;

use super::content::Cutter;
use super::conventions::*;
use super::ids::{Of, span_id};
use super::wire::{Attributes, CLIENT, INTERNAL, Link, Span, SpanEvent, failed};
use super::{CLAMPED, Options, Part, events, facts};
use crate::losses::Losses;
use crate::session::{Response, Session, Unit};
use crate::text::owned;

/// Marks spans whose times are not those of single events of the log.
const TIME: &str = "engram.time";

/// The spans of one tape.
#[derive(Debug)]
pub(super) struct Spans {
    /// All of them, the session first.
    pub(super) spans: Vec<Span>,
    root: String,
    calls: HashMap<String, String>,
}

impl Spans {
    /// The spans of a tape; `None` if it has no time.
    pub(super) fn of<'s, 't: 's>(
        part: &Part<'s, 't>,
        trace: &'s str,
        parent: Option<String>,
        options: Options,
        losses: &mut Losses,
    ) -> Option<Spans> {
        let writer = Writer::new(part, trace, parent, options, losses)?;
        Some(writer.run())
    }

    /// The span that a sub-agent belongs to: that of the call that started it, else that of the session.
    pub(super) fn parent_for(&self, call: Option<&str>) -> String {
        call.and_then(|id| self.calls.get(id))
            .unwrap_or(&self.root)
            .clone()
    }
}

struct Writer<'s, 't, 'l> {
    session: &'s Session<'t>,
    harness: &'s str,
    session_id: String,
    agent_id: String,
    input: String,
    trace: &'s str,
    options: Options,
    cutter: Cutter<'l>,
    /// The time of each event that is exported.
    times: Vec<Option<i64>>,
    turns: BTreeMap<u64, usize>,
    spans: Vec<Span>,
    calls: HashMap<String, String>,
    clamped: u64,
}

impl<'s, 't: 's, 'l> Writer<'s, 't, 'l> {
    fn new(
        part: &Part<'s, 't>,
        trace: &'s str,
        parent: Option<String>,
        options: Options,
        losses: &'l mut Losses,
    ) -> Option<Self> {
        let session = part.session;
        let first = session.events.first()?;
        let times = facts::times(session, losses);
        facts::count_losses(session, losses);
        let (start, end) = (
            times.iter().flatten().min().copied()?,
            times.iter().flatten().max().copied()?,
        );
        let input = session
            .events
            .iter()
            .find_map(|record| match &record.event {
                Event::Meta(Meta::TapeStop(stop)) => Some(stop.input.hash.to_string()),
                _ => None,
            });
        let mut writer = Writer {
            session,
            harness: first.source.harness,
            session_id: first
                .source
                .session_id
                .map_or_else(|| part.name.to_owned(), owned),
            agent_id: first.source.agent_id.map(owned).unwrap_or_default(),
            input: input.unwrap_or_default(),
            trace,
            options,
            cutter: Cutter::new(options, losses),
            times,
            turns: BTreeMap::new(),
            spans: Vec::new(),
            calls: HashMap::new(),
            clamped: 0,
        };
        let mut root = writer.agent(Of::Session, parent.unwrap_or_default(), start, end);
        let title = session
            .events
            .iter()
            .rev()
            .find_map(|record| match &record.event {
                Event::Meta(Meta::Session(facts)) if !record.replay => facts.title.map(owned),
                _ => None,
            });
        if let Some(title) = title {
            root.attributes.push(super::wire::KeyValue {
                key: "engram.session.title".to_owned(),
                value: title.into(),
            });
        }
        let total = session
            .events
            .iter()
            .filter_map(|record| match &record.event {
                Event::Meta(Meta::Session(facts)) if !record.replay => {
                    facts.cost_total_usd?.as_str().parse::<f64>().ok()
                }
                _ => None,
            });
        // With its sub-agents: `engram.cost.usd` of responses is not added to it.
        if let Some(total) = total.reduce(f64::max) {
            root.attributes.push(super::wire::KeyValue {
                key: "engram.session.cost.usd".to_owned(),
                value: total.into(),
            });
        }
        writer.spans.push(root);
        Some(writer)
    }

    fn run(mut self) -> Spans {
        self.turn_spans();
        let mut compacted = false;
        let mut heard: Vec<serde_json::Value> = Vec::new();
        for unit in &self.session.units {
            match unit {
                Unit::Response(at) => {
                    let response = &self.session.responses[*at];
                    self.response(response, &mut compacted, &mut heard);
                }
                Unit::Event(index) => self.event(*index, &mut compacted, &mut heard),
            }
        }
        let clamped = self.clamped;
        let root = self.id(Of::Session);
        for index in 0..self.session.events.len() {
            if self.times[index].is_some() {
                self.cutter.left_out(&self.session.events[index].event);
            }
        }
        self.cutter.count(&CLAMPED, clamped);
        Spans {
            spans: self.spans,
            root,
            calls: self.calls,
        }
    }

    fn id(&self, of: Of) -> String {
        span_id(&self.session_id, &self.agent_id, &self.input, of)
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
        attributes.set(CONVERSATION, self.session_id.as_str());
        if self.options.semconv.has_agent_id() && !self.agent_id.is_empty() {
            attributes.set(AGENT_ID, self.agent_id.as_str());
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
        for (index, time) in self.times.iter().enumerate() {
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
            span.attributes.append(&mut attributes.0);
            self.turns.insert(turn, self.spans.len());
            self.spans.push(span);
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
        self.spans[self.around(index)].span_id.clone()
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
    ) {
        let session = self.session;
        let all = response.events.iter().chain(&response.usage).copied();
        let timed: Vec<usize> = all.filter(|index| self.times[*index].is_some()).collect();
        let (Some(first), Some(end)) = (
            timed.first().copied(),
            timed.iter().filter_map(|index| self.times[*index]).max(),
        ) else {
            return;
        };
        let mut attributes = Attributes::default();
        let start = self.request_time(first).unwrap_or(end);
        let is_known = self.request_time(first).is_some();
        attributes.set(OPERATION, inference(self.harness));
        let provider = provider_name(facts::provider(session, first).as_deref(), self.harness);
        self.options
            .semconv
            .provider()
            .iter()
            .for_each(|key| attributes.set(key, provider.as_str()));
        let model = facts::model(session, response);
        attributes.maybe(REQUEST_MODEL, model.clone());
        attributes.maybe(RESPONSE_ID, response.message_id.clone());
        facts::usage(session, response, self.options.semconv, &mut attributes);
        if std::mem::take(compacted) {
            attributes.set(COMPACTED, true);
        }
        if is_known {
            attributes.set(TIME, "derived");
        }
        let said: Vec<serde_json::Value> = timed
            .iter()
            .filter_map(|index| match &session.events[*index].event {
                Event::MsgOut(message) => self.cutter.said(message),
                Event::ToolCall(call) => self.cutter.call(call),
                _ => None,
            })
            .collect();
        if !heard.is_empty() {
            attributes.set(
                INPUT_MESSAGES,
                serde_json::Value::Array(std::mem::take(heard)).to_string(),
            );
        }
        if !said.is_empty() {
            attributes.set(
                OUTPUT_MESSAGES,
                json!([{ "role": "assistant", "parts": said, "finish_reason": facts::finish_reason(session, response) }]).to_string(),
            );
        }
        if self.cutter.take_cut() {
            attributes.set("engram.truncated", true);
        }
        let (start, end) = self.clamp(start, end, &mut attributes);
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
        let id = span.span_id.clone();
        self.spans.push(span);
        for &index in &response.events {
            if let (Event::ToolCall(call), Some(time)) =
                (&session.events[index].event, self.times[index])
            {
                self.call(index, call, time, &id, heard);
            }
        }
    }

    /// When the request for a response began: with the result or input before it.
    fn request_time(&self, first: usize) -> Option<i64> {
        let is_input = |index: &usize| {
            matches!(
                self.session.events[*index].event,
                Event::MsgIn(_) | Event::ToolResult(_)
            )
        };
        (0..first)
            .rev()
            .find(is_input)
            .and_then(|index| self.times[index])
    }

    fn call(
        &mut self,
        index: usize,
        call: &ToolCall<'_>,
        time: i64,
        response: &str,
        heard: &mut Vec<serde_json::Value>,
    ) {
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
            let (Event::ToolResult(result), Some(done)) =
                (&session.events[at].event, self.times[at])
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
        span.events = of_call.filter_map(|at| self.span_event(*at)).collect();
        if let Some(id) = call.call_id {
            self.calls.insert(owned(id), span.span_id.clone());
        }
        self.spans.push(span);
    }

    /// An event that belongs to no response and no call.
    fn event(&mut self, index: usize, compacted: &mut bool, heard: &mut Vec<serde_json::Value>) {
        if self.times[index].is_none() {
            return;
        }
        match &self.session.events[index].event {
            Event::MsgIn(message) => heard.extend(self.cutter.heard(message)),
            Event::Meta(Meta::Compaction { .. }) => *compacted = true,
            _ => {}
        }
        let Some(event) = self.span_event(index) else {
            return;
        };
        let at = self.around(index);
        let is_error = matches!(
            self.session.events[index].event,
            Event::Meta(Meta::Error { .. })
        );
        if is_error && !self.has_output_after(index) {
            self.spans[at].status = failed("");
        }
        self.spans[at].events.push(event);
    }

    /// True if the model says or calls something later in the turn.
    fn has_output_after(&self, index: usize) -> bool {
        let turn = self.session.turns[index];
        let later = self
            .session
            .events
            .iter()
            .zip(&self.session.turns)
            .skip(index + 1);
        later
            .take_while(|(_, of)| **of == turn)
            .any(|(record, _)| matches!(record.event, Event::MsgOut(_) | Event::ToolCall(_)))
    }

    fn span_event(&self, index: usize) -> Option<SpanEvent> {
        events::span_event(
            &self.session.events[index].event,
            self.times[index]?,
            self.options.content,
        )
    }
}
