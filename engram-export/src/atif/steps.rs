//! The steps of a document: one for each response, each message to the agent and each notice.

use std::collections::{HashMap, HashSet};
use std::io;

use engram_core::event::*;
use engram_core::text::{Text, canonical_json, replace_lone_surrogates};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::document::{
    Child, ChildDocument, Metrics, Observation, ObservationResult, Step, SubagentRef, ToolCall,
};
use super::root::add_cost;
use super::rules::{ARGS, ATTACHMENT, BLOCKS, OUTPUTS};
use crate::fields::fields;
use crate::losses::Losses;
use crate::session::{Response, Session, Unit};
use crate::text::owned;

/// The steps on their way.
pub(super) struct Steps<'s, 't> {
    session: &'s Session<'t>,
    /// The sub-agents that each call started.
    children: HashMap<&'s str, Vec<SubagentRef>>,
    losses: &'s mut Losses,
}

impl<'s, 't> Steps<'s, 't> {
    pub(super) fn new(
        session: &'s Session<'t>,
        children: &'s [Child],
        losses: &'s mut Losses,
    ) -> Self {
        let mut by_call: HashMap<&str, Vec<SubagentRef>> = HashMap::new();
        for child in children {
            if let Some(call) = &child.call_id {
                by_call.entry(call).or_default().push(reference(child));
            }
        }
        Steps {
            session,
            children: by_call,
            losses,
        }
    }

    /// Passes all steps, numbered from 1.
    pub(super) fn run(&mut self, each: &mut dyn FnMut(Step) -> io::Result<()>) -> io::Result<()> {
        let mut steps = 0;
        for unit in &self.session.units {
            let step = match unit {
                Unit::Response(at) => Some(self.response(&self.session.responses[*at])?),
                Unit::Event(index) => self.event(*index)?,
            };
            if let Some(step) = step {
                steps += 1;
                each(Step {
                    step_id: steps,
                    ..step
                })?;
            }
        }
        Ok(())
    }

    /// A step at the place of an event.
    fn step(
        &self,
        index: usize,
        record: &EventRecord<'_>,
        source: &'static str,
        message: String,
    ) -> Step {
        let mut extra = Map::new();
        if record.t_basis == Some(TimeBasis::Inherited) {
            extra.insert("time".to_owned(), "inherited".into());
        }
        if self.session.rewound[index] {
            extra.insert("rewound".to_owned(), true.into());
        }
        if let Some(agent) = self.session.inside.get(&index) {
            extra.insert("agent_id".to_owned(), agent.as_str().into());
        }
        let timestamp = (record.t_basis != Some(TimeBasis::Absent)).then(|| record.t.to_owned());
        Step {
            timestamp,
            source,
            message,
            is_copied_context: record.replay.then_some(true),
            extra,
            ..Step::default()
        }
    }

    /// The step of an event that belongs to no response.
    fn event(&mut self, index: usize) -> io::Result<Option<Step>> {
        let line = self.session.line(index)?;
        let record = &line.record()?;
        let text = |text: Option<Text<'_>>| text.map(owned).unwrap_or_default();
        let labelled = |steps: &Self, message: String| {
            let mut step = steps.step(index, record, "system", message);
            let mut extra = fields(record);
            extra.remove("text");
            step.extra.append(&mut extra);
            step
        };
        let step = match &record.event {
            Event::MsgIn(message) => {
                let is_user = message.role == Role::User && message.by != Author::Harness;
                let mut step = self.step(
                    index,
                    record,
                    if is_user { "user" } else { "system" },
                    text(message.text),
                );
                step.extra
                    .insert("role".to_owned(), message.role.as_str().into());
                step.extra
                    .insert("by".to_owned(), message.by.as_str().into());
                self.attachments(record, &message.attachments, &mut step.extra);
                step
            }
            Event::Meta(Meta::Compaction {
                text: summary,
                trigger,
            }) => {
                let mut step = self.step(index, record, "system", text(*summary));
                let mut management =
                    Map::from_iter([("type".to_owned(), Value::from("compaction"))]);
                management
                    .extend(trigger.map(|trigger| ("trigger".to_owned(), owned(trigger).into())));
                // A reader of ATIF looks for it at this place, not below `engram`.
                let engram = std::mem::take(&mut step.extra);
                return Ok(Some(Step {
                    extra: with_engram(engram, [("context_management", Value::Object(management))]),
                    ..step
                }));
            }
            Event::Meta(
                Meta::Error { text: message, .. }
                | Meta::Interrupt { text: message }
                | Meta::System { text: message, .. },
            ) => labelled(self, text(*message)),
            Event::Meta(Meta::Context(context)) if context.text.is_some() => {
                labelled(self, text(context.text))
            }
            Event::Meta(Meta::Permission(permission)) => labelled(self, text(permission.text)),
            Event::Meta(Meta::Rewind { .. }) => labelled(self, String::new()),
            Event::ToolResult(result) => {
                let mut step = self.step(index, record, "system", String::new());
                step.observation = Some(Observation {
                    results: vec![self.result(record, result, None)],
                });
                step
            }
            Event::CodeRead(_) | Event::CodeEdit(_) | Event::SpanLink(_) => {
                labelled(self, String::new())
            }
            Event::Meta(_) | Event::MsgOut(_) | Event::ToolCall(_) => return Ok(None),
        };
        let engram = step.extra;
        Ok(Some(Step {
            extra: with_engram(engram, []),
            ..step
        }))
    }

    fn response(&mut self, response: &Response) -> io::Result<Step> {
        let first = self.session.line(response.first())?;
        let mut step = self.step(response.first(), &first.record()?, "agent", String::new());
        let (mut messages, mut reasoning, mut redacted): (Vec<String>, Vec<String>, u64) =
            (Vec::new(), Vec::new(), 0);
        let (mut results, mut code): (Vec<(usize, ObservationResult)>, Vec<Value>) =
            (Vec::new(), Vec::new());
        let mut ids = HashSet::new();
        for &index in &response.events {
            let line = self.session.line(index)?;
            match &line.record()?.event {
                Event::MsgOut(message) => {
                    let texts = if message.channel == Some(Channel::Reasoning) {
                        &mut reasoning
                    } else {
                        &mut messages
                    };
                    texts.extend(message.text.map(owned));
                    redacted += u64::from(message.redacted);
                    step.model_name = step.model_name.take().or_else(|| message.model.map(owned));
                }
                Event::ToolCall(call) => {
                    let made = self.call(index, call, &mut ids)?;
                    results.extend(self.results(index, call, &made.tool_call_id)?);
                    for at in self.session.code.get(&index).into_iter().flatten() {
                        let line = self.session.line(*at)?;
                        code.push(code_of(&line.record()?, &made.tool_call_id));
                    }
                    step.tool_calls.push(made);
                }
                _ => {}
            }
        }
        self.losses.count_many(
            &BLOCKS,
            (messages.len().saturating_sub(1) + reasoning.len().saturating_sub(1)) as u64,
        );
        step.message = messages.join("\n\n");
        step.reasoning_content = (!reasoning.is_empty()).then(|| reasoning.join("\n\n"));
        results.sort_by_key(|(at, _)| *at);
        let results: Vec<ObservationResult> =
            results.into_iter().map(|(_, result)| result).collect();
        step.observation = (!results.is_empty()).then_some(Observation { results });
        self.metrics(response, &mut step)?;
        let mut engram = std::mem::take(&mut step.extra);
        engram.extend(
            response
                .message_id
                .clone()
                .map(|id| ("message_id".to_owned(), id.into())),
        );
        if redacted > 0 {
            engram.insert("redacted".to_owned(), redacted.into());
        }
        if !code.is_empty() {
            engram.insert("code".to_owned(), Value::Array(code));
        }
        step.extra = with_engram(engram, []);
        Ok(step)
    }

    /// A call. Its id is its own in the response.
    fn call(
        &mut self,
        index: usize,
        call: &engram_core::event::ToolCall<'_>,
        ids: &mut HashSet<String>,
    ) -> io::Result<ToolCall> {
        let id = call
            .call_id
            .map(owned)
            .filter(|id| !ids.contains(id))
            .unwrap_or_else(|| format!("seq-{index}"));
        ids.insert(id.clone());
        let mut extra = Map::from_iter([("kind".to_owned(), Value::from(call.kind.as_str()))]);
        extra.extend(
            call.server
                .map(|server| ("server".to_owned(), owned(server).into())),
        );
        if self.session.rewound[index] {
            extra.insert("rewound".to_owned(), true.into());
        }
        let decisions = self.session.permissions.get(&index).into_iter().flatten();
        let decisions: Vec<Value> = decisions
            .map(|at| Ok(Value::Object(fields(&self.session.line(*at)?.record()?))))
            .collect::<io::Result<_>>()?;
        if !decisions.is_empty() {
            extra.insert("permission".to_owned(), Value::Array(decisions));
        }
        let args = call
            .args
            .map(|args| replace_lone_surrogates(&canonical_json(args)).into_owned());
        let arguments = match args {
            None => "{}".to_owned(),
            Some(args) if args.starts_with('{') => args,
            Some(args) => {
                self.losses.count(&ARGS);
                extra.insert("args".to_owned(), "wrapped".into());
                format!("{{\"value\":{args}}}")
            }
        };
        Ok(ToolCall {
            tool_call_id: id,
            function_name: owned(call.tool),
            arguments: RawValue::from_string(arguments)
                .unwrap_or_else(|_| RawValue::NULL.to_owned()),
            extra: json!({ "engram": extra }),
        })
    }

    /// The results of a call, with their places. A sub-agent whose call has no result is linked from one without content.
    fn results(
        &mut self,
        index: usize,
        call: &engram_core::event::ToolCall<'_>,
        id: &str,
    ) -> io::Result<Vec<(usize, ObservationResult)>> {
        let mut results = Vec::new();
        for &at in self.session.results.get(&index).into_iter().flatten() {
            let line = self.session.line(at)?;
            let record = line.record()?;
            if let Event::ToolResult(result) = &record.event {
                results.push((at, self.result(&record, result, Some(id))));
            }
        }
        let call_id = call.call_id.map(owned);
        let refs = call_id.and_then(|call_id| self.children.get(call_id.as_str()).cloned());
        let refs = refs.unwrap_or_default();
        if refs.is_empty() {
            return Ok(results);
        }
        match results.first_mut() {
            Some((_, result)) => result.subagent_trajectory_ref = refs,
            None => {
                let result = ObservationResult {
                    source_call_id: Some(id.to_owned()),
                    subagent_trajectory_ref: refs,
                    ..ObservationResult::default()
                };
                results.push((index, result));
            }
        }
        Ok(results)
    }

    fn result(
        &mut self,
        record: &EventRecord<'_>,
        result: &ToolResult<'_>,
        id: Option<&str>,
    ) -> ObservationResult {
        let outputs: Vec<String> = [result.stdout, result.stderr]
            .into_iter()
            .flatten()
            .map(owned)
            .collect();
        self.losses
            .count_many(&OUTPUTS, u64::from(outputs.len() == 2));
        let mut extra = fields(record);
        ["stdout", "stderr", "attachments"]
            .into_iter()
            .for_each(|key| drop(extra.remove(key)));
        if id.is_some() {
            ["call_id", "tool"]
                .into_iter()
                .for_each(|key| drop(extra.remove(key)));
        }
        if record.t_basis != Some(TimeBasis::Absent) {
            extra.insert("t".to_owned(), record.t.into());
        }
        self.attachments(record, &result.attachments, &mut extra);
        ObservationResult {
            source_call_id: id.map(str::to_owned),
            content: (!outputs.is_empty()).then(|| outputs.join("\n")),
            subagent_trajectory_ref: Vec::new(),
            extra: with_engram(extra, []),
        }
    }

    fn attachments(
        &mut self,
        record: &EventRecord<'_>,
        attachments: &[Attachment<'_>],
        extra: &mut Map<String, Value>,
    ) {
        if !attachments.is_empty() {
            self.losses
                .count_many(&ATTACHMENT, attachments.len() as u64);
            extra.extend(
                fields(record)
                    .remove("attachments")
                    .map(|value| ("attachments".to_owned(), value)),
            );
        }
    }

    /// What the response cost. Several usages add up.
    fn metrics(&mut self, response: &Response, step: &mut Step) -> io::Result<()> {
        let mut metrics = Metrics::default();
        let mut raw = Vec::new();
        for &index in &response.usage {
            let line = self.session.line(index)?;
            let record = line.record()?;
            let Event::Meta(Meta::Usage(usage)) = &record.event else {
                continue;
            };
            let Tokens {
                input,
                cache_read,
                cache_write,
                output,
                ..
            } = usage.tokens;
            step.model_name = step.model_name.take().or_else(|| usage.model.map(owned));
            add(
                &mut metrics.prompt_tokens,
                input.into_iter().chain(cache_read).chain(cache_write),
            );
            add(&mut metrics.cached_tokens, cache_read);
            add(&mut metrics.completion_tokens, output);
            add_cost(
                &mut metrics.cost_usd,
                usage.cost_usd.and_then(|cost| cost.as_str().parse().ok()),
            );
            let mut fields = fields(&record);
            fields.remove("label");
            raw.push(Value::Object(fields));
        }
        if !raw.is_empty() {
            step.llm_call_count = Some(raw.len() as u64);
            metrics.extra = with_engram(
                Map::from_iter([("usage".to_owned(), Value::Array(raw))]),
                [],
            );
            step.metrics = Some(metrics);
        }
        Ok(())
    }
}

fn add(sum: &mut Option<u64>, counts: impl IntoIterator<Item = u64>) {
    for count in counts {
        *sum = Some(sum.unwrap_or_default().saturating_add(count));
    }
}

/// `extra` with what is Engram's own below its name.
fn with_engram<const N: usize>(
    engram: Map<String, Value>,
    others: [(&str, Value); N],
) -> Map<String, Value> {
    let mut extra: Map<String, Value> = others
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect();
    if !engram.is_empty() {
        extra.insert("engram".to_owned(), Value::Object(engram));
    }
    extra
}

fn code_of(record: &EventRecord<'_>, call: &str) -> Value {
    let mut code = fields(record);
    code.remove("call_id");
    code.insert("k".to_owned(), record.event.kind().as_str().into());
    code.insert("tool_call_id".to_owned(), call.into());
    Value::Object(code)
}

fn reference(child: &Child) -> SubagentRef {
    match &child.document {
        ChildDocument::Embedded(document) => SubagentRef {
            trajectory_id: document.trajectory_id.clone(),
            trajectory_path: None,
        },
        ChildDocument::Linked(reference) => reference.clone(),
    }
}
