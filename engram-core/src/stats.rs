//! Counts over one or many tapes, from typed events: sessions, prompts, calls, edited files and tokens.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use serde::Serialize;

mod breakdown;
mod cost;
pub(crate) mod tokens;

pub use breakdown::{Breakdown, NO_TIME, Split};
pub use cost::{Basis, Cost, Costs, Spent, TapeCost};
pub use tokens::{Partial, TokenCounts};

use self::tokens::{MAX_COST, amount};
use crate::event::*;
use crate::file_path::comparable;
use crate::keys::{PlaceMap, hash64};
use crate::prices::{Prices, tier_of};
use crate::sink::EventSink;
use crate::text::Text;
use crate::tool_kind::ToolKind;

/// The name in [`Counts::calls`] for calls whose result has no status, or that have no result.
pub const NO_STATUS: &str = "unknown";

/// The name in [`Counts::tokens`] for usage of a model that the log does not name.
pub const NO_MODEL: &str = "unknown";

/// Counts of [`Stats`]. Events that repeat another session's history (`replay`) are not counted.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Counts {
    /// Sessions: the ids that tapes and their events name. One with several tapes, such as captures of its runs, counts once. A tape of several
    /// sessions, such as two captures in one file, counts each.
    pub sessions: u64,
    /// Sub-agents, as sessions: those with a tape of their own, and those whose events are on the tape of their session.
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

/// A sink that counts. It can take any number of tapes, one after the other. Tokens are the sum of the usages of the tapes: whether two
/// records are one response is decided by the converter, which marks repeats as `replay`.
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
    /// The tapes that name their session. The others are in `counts`.
    sessions: BTreeSet<TapeOf>,
    costs: Costs,
    tape: Tape,
}

/// Whose tape it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct TapeOf {
    is_sub_agent: bool,
    /// The session and the sub-agent; `None` if the log names no session.
    id: Option<u64>,
    /// Harness and session: whose total has what the tape costs.
    session: Option<u64>,
}

/// The key of a session in [`Costs`].
pub fn session_key(harness: &str, session: &str) -> u64 {
    hash64((harness, session))
}

impl TapeOf {
    fn of(source: &EventSource<'_>) -> TapeOf {
        let session = source.session_id.map(owned);
        let session = session.map(|session| session_key(source.harness, &session));
        TapeOf::agent_of(session, source.agent_id.map(owned).as_deref())
    }

    /// The session itself without an agent.
    fn agent_of(session: Option<u64>, agent: Option<&str>) -> TapeOf {
        TapeOf {
            is_sub_agent: agent.is_some(),
            id: session.map(|session| hash64((session, agent))),
            session,
        }
    }
}

/// What a response costs by its tokens and these prices, in US dollars. `None` where its log states a cost, or there is no price. A response that
/// names no model has that of its session.
pub fn computed_cost(
    usage: &Usage<'_>,
    model_of_session: Option<&str>,
    prices: &Prices,
) -> Option<f64> {
    let response = Response::of(usage);
    let tokens = response.tokens;
    if tokens.cost_usd.is_some() || tokens.all().is_none() {
        return None;
    }
    let model = response.model.as_deref().or(model_of_session)?;
    prices.cost(
        &priced_as(model, response.tier.as_deref()),
        tier_of(&tokens),
        &tokens,
    )
}

/// The name under which a response has its price. The prices of other service tiers are not known.
fn priced_as(model: &str, tier: Option<&str>) -> String {
    match tier {
        Some(tier) => format!("{model} ({tier})"),
        None => model.to_owned(),
    }
}

/// The state of the current tape.
#[derive(Debug, Default)]
struct Tape {
    /// Calls without a status so far.
    calls: PlaceMap<Seq, ToolKind>,
    /// The session's model, as last said.
    model: Option<String>,
    /// The session, without its sub-agent.
    session: Option<u64>,
    /// The session that the last event named.
    last_session: Option<String>,
    /// It is that of a sub-agent.
    is_of_agent: bool,
    /// The sub-agents that have events on the tape, and the one that the last event named.
    agents: BTreeSet<u64>,
    last_agent: Option<String>,
}

/// The contribution of one event.
#[derive(Debug)]
enum Fact {
    Tape(TapeOf),
    Prompt,
    Answer,
    Call(Seq, ToolKind),
    Result(Seq, Status),
    /// An edit of a file.
    Edit(EditOp, String),
    Session(SaidOfSession),
    Usage(Response),
}

/// What an event says of its session.
#[derive(Debug)]
struct SaidOfSession {
    model: Option<String>,
    /// What the session cost so far.
    total: Option<f64>,
    /// It was copied from another session.
    is_copy: bool,
}

/// What one response says.
#[derive(Debug)]
struct Response {
    model: Option<String>,
    tokens: TokenCounts,
    /// The service tier, if it is not the usual one.
    tier: Option<String>,
}

impl Response {
    fn of(usage: &Usage<'_>) -> Response {
        let tier = usage.service_tier.map(owned);
        Response {
            model: usage.model.map(owned),
            tokens: TokenCounts::of(usage),
            tier: tier.filter(|tier| !USUAL_TIERS.contains(&tier.as_str())),
        }
    }

    /// The same, of this model if it names none.
    fn with_model(mut self, model: &str) -> Response {
        self.model.get_or_insert_with(|| model.to_owned());
        self
    }
}

/// The service tiers at the usual price. A response of another one has no computed cost.
const USUAL_TIERS: [&str; 3] = ["standard", "default", "auto"];

impl Stats {
    /// The counts so far.
    pub fn counts(&self) -> Counts {
        let agents = self.sessions.iter().filter(|tape| tape.is_sub_agent);
        let agents = agents.count() as u64;
        Counts {
            sessions: self.counts.sessions + self.sessions.len() as u64 - agents,
            sub_agents: self.counts.sub_agents + agents,
            files_edited: self.files.len() as u64,
            ..self.counts.clone()
        }
    }

    /// What the tapes say about costs.
    pub fn costs(&self) -> &Costs {
        &self.costs
    }

    /// As [`Stats::costs`].
    pub fn costs_mut(&mut self) -> &mut Costs {
        &mut self.costs
    }

    /// Adds what another sink counted. A session or a file that both have counts once.
    pub fn merge(&mut self, other: Stats) {
        self.add(&other);
    }

    /// As [`Stats::merge`], without taking the other counts.
    pub fn add(&mut self, other: &Stats) {
        let Counts {
            sessions,
            sub_agents,
            prompts,
            answers,
            calls,
            files_edited: _,
            edits,
            tokens,
        } = &other.counts;
        self.counts.sessions += sessions;
        self.counts.sub_agents += sub_agents;
        self.counts.prompts += prompts;
        self.counts.answers += answers;
        for (kind, statuses) in calls {
            let sums = self.counts.calls.entry(kind).or_default();
            statuses
                .iter()
                .for_each(|(status, calls)| *sums.entry(status).or_default() += calls);
        }
        for (op, edits) in edits {
            *self.counts.edits.entry(op).or_default() += edits;
        }
        for (model, more) in tokens {
            self.counts
                .tokens
                .entry(model.clone())
                .or_default()
                .add(*more);
        }
        self.files.extend(other.files.iter().cloned());
        self.sessions.extend(&other.sessions);
        self.costs.add(&other.costs);
    }

    fn count(&mut self, fact: Fact) {
        match fact {
            Fact::Tape(tape) => {
                self.tape = Tape {
                    session: tape.session,
                    is_of_agent: tape.is_sub_agent,
                    ..Tape::default()
                };
                let own = TapeCost {
                    is_sub_agent: tape.is_sub_agent,
                    ..TapeCost::default()
                };
                self.costs.begin(tape.session, own);
                self.count_whose(tape);
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
            Fact::Edit(op, file) => {
                self.files.insert(comparable(&file).into_owned());
                *self.counts.edits.entry(op.as_str()).or_default() += 1;
            }
            Fact::Session(said) => {
                self.tape.model = said.model.or(self.tape.model.take());
                let costs = self.costs.last(self.tape.session);
                if said.is_copy {
                    costs.copied();
                }
                if let Some(total) = said.total {
                    costs.total(total);
                }
            }
            Fact::Usage(response) => self.count_response(response),
        }
    }

    /// Counts the sub-agent of an event, if it is on the tape of its session. It counts once, also where it went on under another session, and where
    /// it has a tape of its own, too.
    fn note_agent(&mut self, record: &EventRef<'_>) {
        let Some(agent) = record.source.agent_id.filter(|_| !record.replay) else {
            return;
        };
        let agent = agent.comparable();
        if self.tape.last_agent.as_deref() == Some(&*agent) {
            return;
        }
        // The start of the tape has counted the first one.
        let is_own = self.tape.is_of_agent && self.tape.agents.is_empty();
        if self.tape.agents.insert(hash64(&*agent)) && !is_own {
            self.count_whose(TapeOf::agent_of(self.tape.session, Some(&agent)));
        }
        self.tape.last_agent = Some(agent.into_owned());
    }

    /// Counts a session or a sub-agent, unless it is counted.
    fn count_whose(&mut self, tape: TapeOf) {
        match tape.id {
            Some(_) => drop(self.sessions.insert(tape)),
            None if tape.is_sub_agent => self.counts.sub_agents += 1,
            None => self.counts.sessions += 1,
        }
    }

    /// Counts the session of an event, if the tape began with another one.
    fn note_session(&mut self, record: &EventRef<'_>) {
        let Some(session) = record.worked_in() else {
            return;
        };
        let session = session.comparable();
        if self.tape.last_session.as_deref() == Some(&*session) {
            return;
        }
        // The start of the tape has counted the first one.
        if self.tape.last_session.is_some() {
            self.sessions.insert(TapeOf::of(&record.source));
        }
        self.tape.last_session = Some(session.into_owned());
    }

    fn count_response(&mut self, response: Response) {
        let Response {
            model,
            tokens,
            tier,
        } = response;
        let model = model
            .or_else(|| self.tape.model.clone())
            .unwrap_or_else(|| NO_MODEL.to_owned());
        self.costs
            .last(self.tape.session)
            .response(&priced_as(&model, tier.as_deref()), tokens);
        self.counts.tokens.entry(model).or_default().add(tokens);
    }

    fn calls_with(&mut self, kind: ToolKind, status: &'static str) -> &mut u64 {
        self.counts
            .calls
            .entry(kind.as_str())
            .or_default()
            .entry(status)
            .or_default()
    }
}

impl EventSink for Stats {
    fn event(&mut self, record: &EventRef<'_>) -> io::Result<()> {
        if let Some(fact) = fact(record) {
            self.count(fact);
        }
        self.note_session(record);
        self.note_agent(record);
        Ok(())
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
        Event::Meta(Meta::TapeStart(_)) => Some(Fact::Tape(TapeOf::of(&record.source))),
        Event::Meta(Meta::Session(facts)) => {
            let total = facts.cost_total_usd.and_then(|cost| amount(cost.as_str()));
            let total = total.map(|total| total.clamp(0.0, MAX_COST));
            let is_copy = facts.fork_of.is_some();
            let says_anything = facts.model.is_some() || total.is_some() || is_copy;
            says_anything.then(|| {
                Fact::Session(SaidOfSession {
                    model: facts.model.map(owned),
                    total,
                    is_copy,
                })
            })
        }
        Event::Meta(Meta::Usage(usage)) => Some(Fact::Usage(Response::of(usage))),
        Event::MsgIn(message) => {
            (message.role == Role::User && message.by == Author::Person).then_some(Fact::Prompt)
        }
        Event::MsgOut(message) => {
            (message.channel != Some(Channel::Reasoning)).then_some(Fact::Answer)
        }
        Event::ToolCall(call) => Some(Fact::Call(record.seq, call.kind)),
        Event::ToolResult(result) => Some(Fact::Result(record.parent?, result.status?)),
        Event::CodeEdit(edit) => Some(Fact::Edit(edit.op, owned(edit.file))),
        Event::Meta(_) | Event::CodeRead(_) | Event::SpanLink(_) => None,
    }
}

fn owned(text: Text<'_>) -> String {
    text.decode_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::replay;

    fn line(seq: u64, rest: &str) -> String {
        format!(
            "{{\"seq\":{seq},\"t\":\"2026-01-02T03:04:05Z\",{}\n",
            rest.replacen("\",", "\",\"source\":{\"harness\":\"toy\"},", 1)
        )
    }

    fn counts(lines: &[&str]) -> Counts {
        let tape: String = lines
            .iter()
            .enumerate()
            .map(|(seq, rest)| line(seq as u64, rest))
            .collect();
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
        assert_eq!(
            counts.calls["read"],
            BTreeMap::from([("error", 1), (NO_STATUS, 1)])
        );
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
        assert_eq!(
            (counts.files_edited, counts.edits, counts.prompts),
            (1, BTreeMap::from([("update", 2)]), 1)
        );
    }

    #[test]
    fn usage_without_a_model_counts_for_the_model_of_the_session() {
        let counts = counts(&[
            r#""k":"meta","label":"session","model":"m"}"#,
            r#""k":"meta","label":"usage","tokens":{"input":3,"output":4},"cost_usd":0.5}"#,
            r#""k":"meta","label":"usage","model":"n","tokens":{"input":1}}"#,
        ]);
        let (m, n) = (counts.tokens["m"], counts.tokens["n"]);
        assert_eq!(
            (m.output, m.cost_usd, n.input),
            (Some(4), Some(0.5), Some(1))
        );
    }

    #[test]
    fn tokens_are_the_sum_of_all_usages_that_are_no_replay() {
        let usage = |id: &str, output: u64, more: &str| {
            format!(
                r#""k":"meta","label":"usage","message_id":"{id}","model":"m","tokens":{{"output":{output}}}{more}}}"#
            )
        };
        let lines = [
            usage("a", 2, ""),
            usage("b", 4, ""),
            usage("a", 9, ""),
            usage("a", 9, r#","replay":true"#),
        ];
        let tokens = counts(&lines.each_ref().map(String::as_str)).tokens["m"];
        assert_eq!((tokens.responses, tokens.output), (3, Some(15)));
    }

    #[test]
    fn a_session_with_several_tapes_counts_once() {
        let tape_of = |source: &str| {
            let start = concat!(
                r#""k":"meta","label":"tape.start","schema":"engram.tape/1","adapter":{"id":"toy","version":"1"},"harness":{"family":"toy"},"policy":"strict","#,
                r#""anchors":"a","support":"tested","coverage":{"meta":"none","msg.in":"none","msg.out":"none","tool.call":"none","tool.result":"none","code.read":"none","code.edit":"none","span.link":"none"},"degraded":[]}"#
            );
            let line = format!(
                "{{\"seq\":0,\"t\":\"2026-01-02T03:04:05Z\",{}\n",
                start.replacen(
                    "\"meta\",",
                    &format!("\"meta\",\"source\":{{\"harness\":\"toy\"{source}}},"),
                    1
                )
            );
            let mut stats = Stats::default();
            replay(line.as_bytes(), &mut stats).unwrap();
            stats
        };
        let mut sum = Stats::default();
        for source in [
            r#","session_id":"s""#,
            r#","session_id":"s""#,
            r#","session_id":"s","agent_id":"a""#,
            r#","session_id":"t""#,
            "",
            "",
        ] {
            sum.merge(tape_of(source));
        }
        let counts = sum.counts();
        assert_eq!((counts.sessions, counts.sub_agents), (4, 1));
    }

    #[test]
    fn a_tape_of_several_sessions_counts_each_once() {
        let prompt = |session: &str, more: &str| {
            format!(
                r#"{{"seq":0,"t":"2026-01-02T03:04:05Z","k":"msg.in","source":{{"harness":"toy","session_id":"{session}"}},"role":"user","by":"person","text":"x"{more}}}"#
            ) + "\n"
        };
        let own = |session: &str| prompt(session, "");
        let of_agent =
            |session: &str| prompt(session, "").replace("\"},", "\",\"agent_id\":\"a\"},");
        let replayed = prompt("r", r#","replay":true"#);
        let notice = r#"{"seq":0,"t":"2026-01-02T03:04:05Z","k":"meta","source":{"harness":"toy","session_id":"v"},"label":"system","name":"hook"}"#.to_owned() + "\n";
        let tape = own("s")
            + &own("t")
            + &own("s")
            + &replayed
            + &of_agent("u")
            + &notice
            + &own("s")
            + &of_agent("s");
        let mut stats = Stats {
            sessions: BTreeSet::from([TapeOf::agent_of(Some(session_key("toy", "s")), None)]),
            ..Stats::default()
        };
        replay(tape.as_bytes(), &mut stats).unwrap();
        let counts = stats.counts();
        assert_eq!(
            (counts.sessions, counts.sub_agents, counts.prompts),
            (2, 1, 6)
        );
    }

    #[test]
    fn what_no_response_states_is_unknown_and_a_sum_without_some_is_partial() {
        let usage = |rest: &str| format!(r#""k":"meta","label":"usage","model":"m",{rest}}}"#);
        let of = |rests: &[&str]| {
            let lines: Vec<String> = rests.iter().map(|rest| usage(rest)).collect();
            counts(&lines.iter().map(String::as_str).collect::<Vec<_>>()).tokens["m"]
        };
        let known = of(&[
            r#""tokens":{"input":1},"cost_usd":0.5"#,
            r#""tokens":{"input":0},"cost_usd":0.0"#,
        ]);
        assert_eq!(
            (known.input, known.cost_usd, known.output, known.partial),
            (Some(1), Some(0.5), None, Partial::default())
        );
        let partial = of(&[
            r#""tokens":{"input":1}"#,
            r#""tokens":{"input":2},"cost_usd":0.5"#,
            r#""tokens":{}"#,
        ]);
        assert_eq!(
            (partial.responses, partial.input, partial.cost_usd),
            (3, Some(3), Some(0.5))
        );
        assert_eq!(
            partial.partial,
            Partial {
                input: true,
                cost_usd: true,
                ..Partial::default()
            }
        );
        let json = serde_json::to_string(&partial).unwrap();
        assert_eq!(
            json,
            r#"{"responses":3,"input":3,"cost_usd":0.5,"partial":{"input":true,"cost_usd":true}}"#
        );
        assert_eq!(
            (partial.all(), of(&[r#""tokens":{}"#]).all()),
            (Some((3, true)), None)
        );
    }
}
