//! Plays a scenario: chooses the answer to each request, and keeps what really happened.

mod aside;
mod happened;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use super::message::{Block, Dialect, Ending, Reply, Request, Usage};
use crate::sandbox::{Snapshot, snapshot};
use crate::scenario::{Op, Scenario, Step, marker};
use crate::tools::{Call, Form, OpTable, Place};
use crate::truth::{Counted, Truth};
use aside::{aside, is_compaction, summary};

/// The most requests of a recording: a harness that asks for ever is answered with an error.
const MAX_REQUESTS: u64 = 5_000;
/// The most tokens of one kind in one answer.
const MAX_TOKENS: u64 = 1 << 40;
/// What a request for a suggestion begins with: it offers tools, yet nobody asked it.
const SUGGESTION: &str = "SUGGESTION MODE";
/// What the system prompt of a request for a title says.
const TITLES: &str = "title generator";

/// What the model says when a player has no call any more.
const ALL_SAID: &str = "Nothing more.";

/// What kind of request it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// A turn of a conversation of the scenario.
    Turn(String),
    /// The harness wants a summary of the history.
    Compaction,
    /// The harness asks on its own behalf: a title, a check.
    Aside,
}

/// Plays one scenario.
pub struct Stage {
    inner: Mutex<Inner>,
}

struct Inner {
    threads: BTreeMap<String, Vec<Step>>,
    at: BTreeMap<String, usize>,
    begun: BTreeMap<String, usize>,
    main: BTreeSet<String>,
    current: String,
    ops: OpTable,
    place: Place,
    project: PathBuf,
    seed: String,
    files: Snapshot,
    in_flight: Vec<Sent>,
    last_step: Vec<Sent>,
    known: BTreeMap<String, Value>,
    requests: u64,
    calls: u64,
    truth: Truth,
    /// Of a black box: what a text of a user has in each turn.
    mark: Option<&'static str>,
    /// The hash of the body of each request.
    bodies: Vec<String>,
    /// The texts of a user in the last turn.
    heard: String,
    /// Chooses the call of each turn, instead of the scenario.
    player: Option<Player>,
    /// Words that are looked for in requests, and where each was first.
    watched: Vec<String>,
    seen: BTreeMap<String, Seen>,
}

/// Where a watched word was first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seen {
    /// The number of the request.
    pub request: u64,
    /// The first byte in its body.
    pub at: usize,
    /// The tools that were called just before.
    pub tools: String,
}

/// Chooses the call of a turn: none if all is said.
pub type Player = Box<dyn FnMut(&Request) -> Option<Call> + Send>;

/// A call whose result has not come back.
#[derive(Clone)]
struct Sent {
    id: Option<String>,
    /// Where it is among the calls of the ground truth.
    place: usize,
    tool: String,
}

impl Stage {
    /// A stage for a scenario. `project` is where the files are, `place` how the harness names it.
    pub fn new(scenario: &Scenario, ops: OpTable, place: Place, project: PathBuf) -> Stage {
        let main = scenario.main_threads();
        let inner = Inner {
            threads: scenario.threads.clone(),
            at: BTreeMap::new(),
            begun: BTreeMap::new(),
            current: main.iter().next().cloned().unwrap_or_default(),
            main,
            ops,
            place,
            files: snapshot(&project),
            project,
            seed: scenario.id.clone(),
            in_flight: Vec::new(),
            last_step: Vec::new(),
            known: BTreeMap::new(),
            requests: 0,
            calls: 0,
            truth: Truth::default(),
            mark: None,
            bodies: Vec::new(),
            heard: String::new(),
            player: None,
            watched: Vec::new(),
            seen: BTreeMap::new(),
        };
        Stage {
            inner: Mutex::new(inner),
        }
    }

    /// A stage for a black box, which offers no tools to its model: a request is a turn if a text of a user has this mark.
    pub fn with_mark(self, mark: &'static str) -> Stage {
        self.inner().mark = Some(mark);
        self
    }

    /// The same with calls that do not come from the scenario.
    pub fn with_player(self, player: Player) -> Stage {
        self.inner().player = Some(player);
        self
    }

    /// The same with words that are looked for in requests.
    pub fn with_watch(self, words: Vec<String>) -> Stage {
        self.inner().watched = words;
        self
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says which conversation a run leads: requests without a marker belong to it.
    pub fn enter(&self, prompt: &str) {
        let mut inner = self.inner();
        if let Some(key) = marker(prompt) {
            inner.current = key.to_owned();
        }
        inner.truth.prompts.push(prompt.to_owned());
    }

    /// How many answers of a conversation were begun.
    pub fn begun(&self, thread: &str) -> usize {
        self.inner().begun.get(thread).copied().unwrap_or_default()
    }

    /// How many requests there were.
    pub fn requests(&self) -> u64 {
        self.inner().requests
    }

    /// The tokens of all answers, in and out.
    pub fn tokens(&self) -> u64 {
        let sum = |counted: &Counted| {
            counted.input + counted.cache_read + counted.cache_write + counted.output
        };
        self.inner()
            .truth
            .usage
            .iter()
            .map(sum)
            .fold(0, u64::saturating_add)
    }

    /// Keeps the hash of a request's body, and looks for watched words in it.
    pub fn arrived(&self, body: &[u8]) {
        let inner = &mut *self.inner();
        let tools: Vec<&str> = inner
            .last_step
            .iter()
            .map(|sent| sent.tool.as_str())
            .collect();
        for word in &inner.watched {
            if let Some(at) = memchr::memmem::find(body, word.as_bytes()) {
                let seen = || Seen {
                    request: inner.requests,
                    at,
                    tools: tools.join(" "),
                };
                inner.seen.entry(word.clone()).or_insert_with(seen);
            }
        }
        if (inner.bodies.len() as u64) < MAX_REQUESTS {
            inner
                .bodies
                .push(format!("blake3:{}", blake3::hash(body).to_hex()));
        }
    }

    /// The watched words that a request had.
    pub fn seen(&self) -> BTreeMap<String, Seen> {
        self.inner().seen.clone()
    }

    /// The hashes of all requests.
    pub fn bodies(&self) -> Vec<String> {
        self.inner().bodies.clone()
    }

    /// What the agent passed on to its model in the last turn.
    pub fn heard(&self) -> String {
        self.inner().heard.clone()
    }

    /// What has changed so far is how the project was set up.
    pub fn settle(&self) {
        let mut inner = self.inner();
        inner.files = snapshot(&inner.project);
    }

    /// A run has ended: what has changed since belongs to its calls, and no result will come any more.
    pub fn leave(&self) {
        let mut inner = self.inner();
        inner.look();
        inner.in_flight.clear();
        inner.last_step.clear();
    }

    /// What really happened.
    pub fn truth(&self) -> Truth {
        self.inner().truth.clone()
    }

    /// The answer has been sent to its end.
    pub fn delivered(&self, id: &str) {
        let mut inner = self.inner();
        inner
            .truth
            .usage
            .iter_mut()
            .filter(|counted| counted.message_id == id)
            .for_each(|counted| counted.cut_off = false);
    }

    /// A request that is no turn: a list of models, telemetry, a count of tokens.
    pub fn note(&self, line: String) {
        self.inner().truth.other_requests.insert(line);
    }

    /// What kind of request it is.
    pub fn asked(&self, request: &Request) -> Asked {
        let suggests = request.last.contains(SUGGESTION);
        let (mark, current) = {
            let inner = self.inner();
            (inner.mark, inner.current.clone())
        };
        if let Some(mark) = mark {
            let is_turn = request.users.iter().any(|text| text.contains(mark))
                && !request.system.contains(TITLES);
            return if is_turn {
                Asked::Turn(current)
            } else {
                Asked::Aside
            };
        }
        if is_compaction(request) {
            return Asked::Compaction;
        }
        if suggests
            || request.schema.is_some()
            || request.tools.iter().all(|tool| tool.name == "web_search")
        {
            return Asked::Aside;
        }
        let key = request.users.iter().rev().find_map(|text| marker(text));
        Asked::Turn(key.map_or(current, str::to_owned))
    }

    /// The answer to a request.
    pub fn answer(&self, request: &Request) -> Reply {
        let asked = self.asked(request);
        let mut inner = self.inner();
        inner.requests += 1;
        inner.take_results(request);
        if matches!(asked, Asked::Turn(_)) {
            inner.heard = request.users.join("\n");
        }
        inner
            .truth
            .offered(request.tools.iter().map(|tool| tool.name.as_str()));
        let reply = match &asked {
            _ if inner.requests > MAX_REQUESTS => {
                inner.refused("the recording has too many requests")
            }
            Asked::Turn(key) => inner.turn(key, request),
            Asked::Compaction => {
                let key = request
                    .users
                    .iter()
                    .rev()
                    .find_map(|text| marker(text))
                    .map_or_else(|| inner.current.clone(), str::to_owned);
                inner.reply(request, vec![summary(request, &key)])
            }
            Asked::Aside => inner.reply(request, vec![Block::Say(aside(request), None)]),
        };
        inner.keep(&asked, request.dialect, &reply);
        reply
    }
}

impl Inner {
    /// The next step of a conversation. Steps are skipped whose tools are not offered.
    fn turn(&mut self, key: &str, request: &Request) -> Reply {
        *self.begun.entry(key.to_owned()).or_default() += 1;
        if let Some(player) = &mut self.player {
            let call = player(request);
            let block = call.map_or_else(
                || Block::Say(ALL_SAID.to_owned(), None),
                |call| self.numbered(call, request),
            );
            return self.reply(request, vec![block]);
        }
        loop {
            let at = self.at.entry(key.to_owned()).or_default();
            let Some(step) = self
                .threads
                .get(key)
                .and_then(|steps| steps.get(*at))
                .cloned()
            else {
                return self.reply(
                    request,
                    vec![Block::Say(
                        format!("Nothing more is written for {key}."),
                        None,
                    )],
                );
            };
            *at += 1;
            let place = format!("{key}#{}", *at - 1);
            let has_calls = step.iter().any(Op::is_call);
            let reply = self.step(&place, &step, request);
            if reply.calls() || !has_calls {
                return reply;
            }
        }
    }

    fn step(&mut self, place: &str, step: &Step, request: &Request) -> Reply {
        let mut reply = self.reply(request, Vec::new());
        for op in step {
            match op.name.as_str() {
                "say" => reply.blocks.push(Block::Say(
                    self.placed(op.text("text")),
                    Some(op.text("phase").to_owned()).filter(|phase| !phase.is_empty()),
                )),
                "think" => reply.blocks.push(Block::Think(op.text("text").to_owned())),
                "redacted" => reply
                    .blocks
                    .push(Block::Redacted(op.text("text").to_owned())),
                "item" => reply
                    .blocks
                    .push(Block::Item(Value::Object(op.fields.clone()))),
                "stop" => reply.stop = Some(op.text("text").to_owned()),
                "sleep" => reply.delay = Duration::from_millis(op.number("ms")),
                "pace" => reply.pace = Duration::from_millis(op.number("ms")),
                "stall" => {
                    reply.stall = Some((
                        reply.blocks.len().saturating_sub(1),
                        Duration::from_millis(op.number("ms")),
                    ))
                }
                "cut" => reply.ending = Ending::Cut,
                "fail" => reply.ending = Ending::Fails(op.text("text").to_owned()),
                "usage" => reply.usage = usage(op, reply.usage),
                "error" => reply.ending = refusal(op),
                _ => match self.call(op, request) {
                    Some(block) => reply.blocks.push(block),
                    None => self
                        .truth
                        .skipped_steps
                        .push(format!("{place} {}", op.name)),
                },
            }
        }
        reply
    }

    fn placed(&self, text: &str) -> String {
        text.replace("{project}", &self.place.project)
            .replace("{home}", &self.place.home)
    }

    fn call(&mut self, op: &Op, request: &Request) -> Option<Block> {
        let mut call = self
            .ops
            .call(op, &request.tools, &self.place, &self.known)?;
        // Arguments that are broken on purpose are a text; only one API could not send them.
        if call.form == Form::Function
            && call.args.is_string()
            && request.dialect == Dialect::AnthropicMessages
        {
            call.args = json!({"broken": call.args});
        }
        Some(self.numbered(call, request))
    }

    /// A call with its id.
    fn numbered(&mut self, call: Call, request: &Request) -> Block {
        self.calls += 1;
        let id = match request.dialect {
            Dialect::AnthropicMessages => format!("toolu_{}", self.digest("call", self.calls)),
            _ => format!("call_{}", self.digest("call", self.calls)),
        };
        Block::Call(id, call)
    }

    /// An id that is the same in every recording of the scenario.
    fn digest(&self, what: &str, number: u64) -> String {
        blake3::hash(format!("{}\0{what}\0{number}", self.seed).as_bytes())
            .to_hex()
            .as_str()[..24]
            .to_owned()
    }

    fn reply(&self, request: &Request, blocks: Vec<Block>) -> Reply {
        let id = self.digest("answer", self.requests);
        let id = match request.dialect {
            Dialect::AnthropicMessages => format!("msg_{id}"),
            Dialect::OpenaiResponses => format!("resp_{id}"),
            Dialect::OpenaiChat => format!("chatcmpl-{id}"),
            Dialect::GeminiGenerate => id,
        };
        // Counts that tell answers apart.
        let n = self.requests;
        let cache_write = if request.dialect == Dialect::AnthropicMessages {
            30 + n
        } else {
            0
        };
        let reasoning = if request.dialect == Dialect::AnthropicMessages {
            0
        } else {
            16 + n
        };
        let usage = Usage {
            input: 2000 + 7 * n,
            cache_read: 500 + n,
            cache_write,
            output: 100 + 3 * n,
            reasoning,
        };
        Reply {
            id,
            model: request.model.clone(),
            blocks,
            usage,
            stop: None,
            ending: Ending::Whole,
            delay: Duration::ZERO,
            pace: Duration::ZERO,
            stall: None,
        }
    }

    fn refused(&self, message: &str) -> Reply {
        let ending = Ending::Refused {
            status: 400,
            kind: "invalid_request_error".to_owned(),
            message: message.to_owned(),
            headers: Vec::new(),
        };
        Reply {
            id: String::new(),
            model: String::new(),
            blocks: Vec::new(),
            usage: Usage::default(),
            stop: None,
            ending,
            delay: Duration::ZERO,
            pace: Duration::ZERO,
            stall: None,
        }
    }
}

fn usage(op: &Op, before: Usage) -> Usage {
    // The server adds them up for the harness: the sums must fit.
    let number = |field: &str, before: u64| {
        op.fields
            .get(field)
            .and_then(Value::as_u64)
            .unwrap_or(before)
            .min(MAX_TOKENS)
    };
    Usage {
        input: number("input", before.input),
        cache_read: number("cache_read", before.cache_read),
        cache_write: number("cache_write", before.cache_write),
        output: number("output", before.output),
        reasoning: number("reasoning", before.reasoning),
    }
}

fn refusal(op: &Op) -> Ending {
    let headers = op
        .fields
        .get("headers")
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    Ending::Refused {
        status: u16::try_from(op.number("status")).unwrap_or(500),
        kind: op.text("kind").to_owned(),
        message: op.text("message").to_owned(),
        headers: headers
            .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
            .collect(),
    }
}
