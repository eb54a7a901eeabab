//! Counts over one or many tapes, from typed events: sessions, prompts, calls, edited files and tokens.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;

use serde::{Deserialize, Serialize};

use crate::event::*;
use crate::sink::EventSink;
use crate::text::Text;
use crate::tool_kind::ToolKind;

/// The name in [`Counts::calls`] for calls whose result states no status, or that have no result.
pub const NO_STATUS: &str = "unknown";

/// The name in [`Counts::tokens`] for usage of a model that the log does not name.
pub const NO_MODEL: &str = "unknown";

/// Counts of [`Stats`]. Events that repeat another session's history (`replay`) are not counted.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Counts {
    /// Tapes of sessions.
    pub sessions: u64,
    /// Tapes of sub-agents.
    pub sub_agents: u64,
    /// Messages of role `user` that the harness did not write itself.
    pub prompts: u64,
    /// Messages of the agent, without its reasoning.
    pub answers: u64,
    /// Calls per tool kind, then per status of their result.
    pub calls: BTreeMap<&'static str, BTreeMap<&'static str, u64>>,
    /// The number of different files that were edited.
    pub files_edited: u64,
    /// Edits per operation.
    pub edits: BTreeMap<&'static str, u64>,
    /// Tokens per model.
    pub tokens: BTreeMap<String, TokenCounts>,
}

/// Sums of token counts, as the logs state them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct TokenCounts {
    /// Input tokens.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Input tokens read from a cache.
    pub cache_read: u64,
    /// Input tokens written to a cache.
    pub cache_write: u64,
    /// Output tokens spent on reasoning.
    pub reasoning: u64,
    /// Cost in US dollars.
    pub cost_usd: f64,
}

/// A sink that counts. It can take any number of tapes, one after the other.
///
/// ```
/// use engram_core::stats::Stats;
/// use engram_core::tape::replay;
///
/// let tape = concat!(
///     r#"{"seq":0,"t":"2026-01-02T03:04:05Z","k":"msg.in","source":{"harness":"toy"},"role":"user","by":"person","text":"fix it"}"#,
///     "\n"
/// );
/// let mut stats = Stats::default();
/// replay(tape.as_bytes(), &mut stats)?;
/// assert_eq!(stats.counts().prompts, 1);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Stats {
    counts: Counts,
    files: BTreeSet<String>,
    tape: Tape,
    pending: Vec<Fact>,
}

/// The state of the current tape.
#[derive(Debug, Default)]
struct Tape {
    /// Calls without a status so far.
    calls: HashMap<Seq, ToolKind>,
    /// The session's model, as last stated.
    model: Option<String>,
}

/// The contribution of one event.
#[derive(Debug)]
enum Fact {
    Tape {
        is_sub_agent: bool,
    },
    Prompt,
    Answer,
    Call(Seq, ToolKind),
    Result(Seq, Status),
    /// A number of edits of one file.
    Edits(EditOp, String, u64),
    Model(String),
    Usage(Option<String>, TokenCounts),
}

impl Stats {
    /// The counts so far.
    pub fn counts(&self) -> Counts {
        Counts { files_edited: self.files.len() as u64, ..self.counts.clone() }
    }

    /// Adds what another sink counted. A file that both have counts once.
    pub fn merge(&mut self, other: Stats) {
        let Counts { sessions, sub_agents, prompts, answers, calls, files_edited: _, edits, tokens } = other.counts;
        self.counts.sessions += sessions;
        self.counts.sub_agents += sub_agents;
        self.counts.prompts += prompts;
        self.counts.answers += answers;
        for (kind, statuses) in calls {
            let sums = self.counts.calls.entry(kind).or_default();
            statuses.into_iter().for_each(|(status, calls)| *sums.entry(status).or_default() += calls);
        }
        for (op, edits) in edits {
            *self.counts.edits.entry(op).or_default() += edits;
        }
        for (model, more) in tokens {
            self.counts.tokens.entry(model).or_default().add(more);
        }
        self.files.extend(other.files);
    }

    fn count(&mut self, fact: Fact) {
        match fact {
            Fact::Tape { is_sub_agent } => {
                self.tape = Tape::default();
                *(if is_sub_agent { &mut self.counts.sub_agents } else { &mut self.counts.sessions }) += 1;
            }
            Fact::Prompt => self.counts.prompts += 1,
            Fact::Answer => self.counts.answers += 1,
            Fact::Call(seq, kind) => {
                self.tape.calls.insert(seq, kind);
                *self.calls_with(kind, NO_STATUS) += 1;
            }
            Fact::Result(call, status) => {
                if let Some(kind) = self.tape.calls.remove(&call) {
                    *self.calls_with(kind, NO_STATUS) -= 1;
                    *self.calls_with(kind, status.as_str()) += 1;
                }
            }
            Fact::Edits(op, file, edits) => {
                self.files.insert(file);
                *self.counts.edits.entry(op.as_str()).or_default() += edits;
            }
            Fact::Model(model) => self.tape.model = Some(model),
            Fact::Usage(model, tokens) => {
                let model = model.or_else(|| self.tape.model.clone()).unwrap_or_else(|| NO_MODEL.to_owned());
                self.counts.tokens.entry(model).or_default().add(tokens);
            }
        }
    }

    fn calls_with(&mut self, kind: ToolKind, status: &'static str) -> &mut u64 {
        self.counts.calls.entry(kind.as_str()).or_default().entry(status).or_default()
    }
}

impl EventSink for Stats {
    fn event(&mut self, record: &EventRef<'_>) -> io::Result<()> {
        // One call can change many places of a file.
        match (record.event, self.pending.last_mut()) {
            (Event::CodeEdit(edit), Some(Fact::Edits(op, file, edits))) if !record.replay && edit.op == *op && edit.file.eq_str(file) => {
                *edits += 1;
            }
            _ => self.pending.extend(fact(record)),
        }
        Ok(())
    }

    fn commit(&mut self) -> io::Result<()> {
        for fact in std::mem::take(&mut self.pending) {
            self.count(fact);
        }
        Ok(())
    }

    fn rollback(&mut self) {
        self.pending.clear();
    }

    fn finish(&mut self) -> io::Result<()> {
        for statuses in self.counts.calls.values_mut() {
            statuses.retain(|_, calls| *calls > 0);
        }
        Ok(())
    }
}

fn fact(record: &EventRef<'_>) -> Option<Fact> {
    if record.replay {
        return None;
    }
    match record.event {
        Event::Meta(Meta::TapeStart(_)) => Some(Fact::Tape { is_sub_agent: record.source.agent_id.is_some() }),
        Event::Meta(Meta::Session(facts)) => facts.model.map(|model| Fact::Model(owned(model))),
        Event::Meta(Meta::Usage(usage)) => Some(Fact::Usage(usage.model.map(owned), TokenCounts::of(usage))),
        Event::MsgIn(message) => (message.role == Role::User && message.by == Author::Person).then_some(Fact::Prompt),
        Event::MsgOut(message) => (message.channel != Some(Channel::Reasoning)).then_some(Fact::Answer),
        Event::ToolCall(call) => Some(Fact::Call(record.seq, call.kind)),
        Event::ToolResult(result) => Some(Fact::Result(record.parent?, result.status?)),
        Event::CodeEdit(edit) => Some(Fact::Edits(edit.op, owned(edit.file), 1)),
        Event::Meta(_) | Event::CodeRead(_) | Event::SpanLink(_) => None,
    }
}

fn owned(text: Text<'_>) -> String {
    text.decode_lossy().into_owned()
}

impl TokenCounts {
    fn of(usage: &Usage<'_>) -> TokenCounts {
        let Tokens { input, cache_read, cache_write, cache_write_1h: _, output, reasoning } = usage.tokens;
        TokenCounts {
            input: input.unwrap_or_default(),
            output: output.unwrap_or_default(),
            cache_read: cache_read.unwrap_or_default(),
            cache_write: cache_write.unwrap_or_default(),
            reasoning: reasoning.unwrap_or_default(),
            cost_usd: usage.cost_usd.and_then(|cost| cost.as_str().parse().ok()).unwrap_or_default(),
        }
    }

    /// Adds other counts.
    pub fn add(&mut self, more: TokenCounts) {
        // A log can contain any number.
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.input, more.input);
        add(&mut self.output, more.output);
        add(&mut self.cache_read, more.cache_read);
        add(&mut self.cache_write, more.cache_write);
        add(&mut self.reasoning, more.reasoning);
        self.cost_usd += more.cost_usd;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::replay;

    fn line(seq: u64, rest: &str) -> String {
        format!("{{\"seq\":{seq},\"t\":\"2026-01-02T03:04:05Z\",{}\n", rest.replacen("\",", "\",\"source\":{\"harness\":\"toy\"},", 1))
    }

    fn counts(lines: &[&str]) -> Counts {
        let tape: String = lines.iter().enumerate().map(|(seq, rest)| line(seq as u64, rest)).collect();
        let mut stats = Stats::default();
        replay(tape.as_bytes(), &mut stats).unwrap();
        stats.counts()
    }

    #[test]
    fn calls_are_counted_by_kind_and_status_of_their_result() {
        let counts = counts(&[
            r#""k":"tool.call","tool":"a","kind":"read","call_id":"1"}"#,
            r#""k":"tool.call","tool":"a","kind":"read","call_id":"2"}"#,
            r#""k":"tool.result","status":"error","parent":1}"#,
            r#""k":"tool.result","status":"ok","parent":1}"#,
        ]);
        assert_eq!(counts.calls["read"], BTreeMap::from([("error", 1), (NO_STATUS, 1)]));
    }

    #[test]
    fn a_file_is_counted_once_and_replayed_events_and_harness_texts_are_not_counted() {
        let counts = counts(&[
            r#""k":"code.edit","op":"update","file":"f"}"#,
            r#""k":"code.edit","op":"update","file":"f"}"#,
            r#""k":"code.edit","op":"create","file":"g","replay":true}"#,
            r#""k":"msg.in","role":"user","by":"harness","text":"x"}"#,
            r#""k":"msg.in","role":"user","by":"person","text":"x"}"#,
        ]);
        assert_eq!((counts.files_edited, counts.edits, counts.prompts), (1, BTreeMap::from([("update", 2)]), 1));
    }

    #[test]
    fn usage_without_a_model_counts_for_the_model_of_the_session() {
        let counts = counts(&[
            r#""k":"meta","label":"session","model":"m"}"#,
            r#""k":"meta","label":"usage","tokens":{"input":3,"output":4},"cost_usd":0.5}"#,
            r#""k":"meta","label":"usage","model":"n","tokens":{"input":1}}"#,
        ]);
        assert_eq!((counts.tokens["m"].output, counts.tokens["m"].cost_usd, counts.tokens["n"].input), (4, 0.5, 1));
    }

    #[test]
    fn events_that_are_rolled_back_are_not_counted() {
        let tape = line(0, r#""k":"msg.in","role":"user","by":"person","text":"x"}"#);
        let record = EventRecord::parse(tape.trim_end()).unwrap();
        let mut stats = Stats::default();
        stats.event(&record.as_event_ref()).unwrap();
        stats.rollback();
        stats.event(&record.as_event_ref()).unwrap();
        stats.commit().unwrap();
        assert_eq!(stats.counts().prompts, 1);
    }
}
