//! Drives a black-box agent: the only one who acts is the driver, and whatever it does is in the ledger.

use std::sync::Arc;
use std::time::{Duration, Instant};

use engram_profiles::canonical;
use engram_profiles::episode::{
    Decision, Driver as DriverSays, EndStatus, Event, Header, Part, Record, Said, SchemaName,
    ToolOutput,
};
use engram_profiles::grammar::{self, Answer, Limits, Line, LineKind, Request, Response, Scanner};
use engram_profiles::ledger::{self, Entry};
use engram_profiles::nonce::Nonce;
use engram_profiles::profile::{Continuation, InputMode, Profile, Tier, ToolBridge};
use engram_profiles::receipt::{
    Decided, Egress, Ended as EpisodeEnd, ExecutionEnv, Mounts, Permission, PolicySnapshot,
    Requested, SandboxSummary, Started, ToolReceipt, ToolStart, hash_of,
};

use super::actuator::{self, Sandbox, decide, execute};
use super::command::{self, Agent, model, stream_message};
use super::evidence::{self, Evidence, Run, RunOfAgent, collect};
use super::job::{Driven, Plan};
use super::journal::{Journal, Times};
use super::output::{Block, Decoder, Part as Printed};
use super::prompt;
use super::turn::{self, Command, Heard, Reply};
use crate::error::{Fault, RecorderError};
use crate::process::End;
use crate::server::{Server, Stage};
use crate::stop::Stop;
use crate::tools::{OpTable, Place};

/// What a scripted nonce is made of, beside the episode's id.
const SEED: &str = "engram-lab episode";
/// The most bytes of a result in the log, and in the agent's prompt.
const EXCERPT: usize = 16 << 10;
/// The most bytes of a prompt that is an argument: Linux takes 128 KiB.
const MAX_ARGUMENT: usize = 120_000;

/// Carries out a plan, and leaves everything but the review in its directory.
///
/// # Errors
/// If it cannot even begin, or something cannot be written.
pub fn run(plan: &Plan, stop: &Stop) -> Result<Driven, RecorderError> {
    let mut driver = Driver::begin(plan, stop)?;
    let reason = driver.converse()?;
    driver.end(reason)
}

struct Driver<'p> {
    plan: &'p Plan,
    stop: &'p Stop,
    profile: Profile,
    bridge: ToolBridge,
    nonce: Nonce,
    journal: Journal,
    stage: Arc<Stage>,
    server: Server,
    sandbox: Sandbox,
    deadline: Instant,
    scanner: Scanner,
    decoder: Decoder,
    /// The whole conversation. An agent without a memory gets it again in each prompt.
    said: String,
    /// Lines of the agent that are not in the log yet.
    block: Block,
    /// Requests that are not decided yet.
    open: Vec<Request>,
    last_line: String,
    has_ended: bool,
    allowed: u64,
    /// Denials that the agent did not see yet, and those that did not reach its model.
    denials: Vec<String>,
    printed: u64,
    run: Run,
}

impl Driver<'_> {
    fn begin<'p>(plan: &'p Plan, stop: &'p Stop) -> Result<Driver<'p>, RecorderError> {
        let profile = plan.profile()?;
        let wrong = |what: &str| {
            RecorderError::new(
                Fault::Misconfigured,
                format!("{}: {what}", profile.profile_id),
            )
        };
        let bridge = profile
            .tool_bridge
            .clone()
            .ok_or_else(|| wrong("a profile without a tool bridge has no episodes"))?;
        if profile.requires_pty {
            return Err(wrong("the driver has no terminal"));
        }
        let nonce = Nonce::scripted(SEED, &plan.ids.episode_id);
        let places = &plan.places;
        let (home, project) = (
            places.home.to_string_lossy().into_owned(),
            places.project.to_string_lossy().into_owned(),
        );
        let stage = Stage::new(
            &plan.script.scenario(&nonce)?,
            OpTable::default(),
            Place { project, home },
            places.project.clone(),
        );
        let sources = evidence::implicit(&plan.script)
            .map(|(_, text)| evidence::first_line(text))
            .collect();
        let stage = Arc::new(stage.with_mark(prompt::MARK).with_watch(sources));
        let server = Server::start(Arc::clone(&stage), command::documents(&profile))?;
        let sandbox = Sandbox::open(&places.project)
            .map_err(|error| RecorderError::io(&places.project, &error))?;
        let mut journal = Journal::create(&plan.out, plan.ids.clone(), plan.times)?;
        let limits = Limits::of(&profile);
        let header = Header {
            schema: SchemaName::V1,
            ids: plan.ids.clone(),
            harness: profile.harness.as_str().to_owned(),
            version: Some(plan.version.clone()),
            model: model(&profile).map(str::to_owned),
            nonce_hash: nonce.hash().as_str().to_owned(),
            capability_map: profile.capability_map.clone(),
            tool_limits: limits.into(),
            t: journal.now(),
        };
        journal.log(&header)?;
        journal.keep_profile(plan.profile.as_bytes())?;
        let (harness, version, nonce_hash) =
            (header.harness, plan.version.clone(), header.nonce_hash);
        journal.entry(Entry::EpisodeStarted(Started {
            harness,
            version,
            nonce_hash,
        }))?;
        let deadline = plan.deadline(&profile);
        Ok(Driver {
            plan,
            stop,
            decoder: decoder(&profile, &limits),
            scanner: Scanner::new(nonce.hash(), limits),
            profile,
            bridge,
            nonce,
            journal,
            stage,
            server,
            sandbox,
            deadline,
            said: String::new(),
            block: Block::default(),
            open: Vec::new(),
            last_line: String::new(),
            has_ended: false,
            allowed: 0,
            denials: Vec::new(),
            printed: 0,
            run: Run::new(&plan.script.id, plan.tier, plan.times, plan.egress),
        })
    }

    /// Runs the agent until it is done. Returns why it failed, if it did.
    fn converse(&mut self) -> Result<Option<String>, RecorderError> {
        let preamble = prompt::preamble(&self.profile, self.nonce.as_str());
        let hidden = prompt::preamble(&self.profile, prompt::HIDDEN);
        let task = self.plan.script.task.clone();
        self.says(hidden, Some(Part::Preamble), None)?;
        self.says(task.clone(), Some(Part::Task), None)?;
        let mut words = prompt::first(&preamble, &task);
        loop {
            if let Some(reason) = self.turn(&words)? {
                return Ok(Some(reason));
            }
            let open = std::mem::take(&mut self.open);
            if open.is_empty() {
                break;
            }
            let mut answers = String::new();
            for request in open {
                // What was asked before a stop is not carried out after it.
                if self.stop.is_asked() {
                    return Ok(Some(violation(turn::STOP)));
                }
                answers.push_str(&self.answer(request)?);
            }
            match self.bridge.continuation {
                Continuation::Restart => words = prompt::again(&preamble, &task, &self.said),
                Continuation::Resume => words = answers,
                Continuation::Stream | Continuation::None => break,
            }
        }
        // Without an answer, nothing says that the work is done.
        Ok((!prompt::is_final(&self.last_line)).then(|| violation("end")))
    }

    /// One run. Returns why it failed, if it did.
    fn turn(&mut self, words: &str) -> Result<Option<String>, RecorderError> {
        if self.profile.input_mode == InputMode::Arg && words.len() > MAX_ARGUMENT {
            return Ok(Some(violation("prompt_size")));
        }
        let at = self.run.runs.len();
        let agent = Agent {
            plan: self.plan,
            profile: &self.profile,
            port: self.server.port,
        };
        let call = agent.call(at, words)?;
        let (argv, env, stderr, stdin, listens) =
            (call.argv, call.env, call.stderr, call.stdin, call.listens);
        let directory = self.plan.places.project.clone();
        let command = Command {
            argv: &argv,
            directory: &directory,
            env: &env,
            stderr: &stderr,
            stdin,
            listens,
        };
        let used = self.printed + self.journal.bytes();
        let (stage, bounds, requests) = (
            Arc::clone(&self.stage),
            agent.bounds(self.deadline, used, self.stop),
            self.stage.requests(),
        );
        self.decoder = decoder(&self.profile, &Limits::of(&self.profile));
        let ended = turn::run(command, &stage, &bounds, &mut |bytes| self.hear(bytes))?;
        let mut fault = ended.end.as_ref().err().copied();
        if fault.is_none() {
            let mut parts = Vec::new();
            self.decoder.end(&mut parts);
            for part in parts {
                fault = fault.or(self.part(part)?.err());
            }
        }
        self.flush()?;
        self.seen(requests);
        let policy = &self.profile.evidence_policy;
        self.printed += ended.stderr.len() as u64;
        let times = self.plan.times;
        self.run.runs.push(RunOfAgent {
            end: ended.end.ok(),
            milliseconds: (times == Times::Kept).then_some(ended.milliseconds),
            stdout: Evidence::of(times.keep(policy.stdout), &ended.stdout, &mut self.journal)?,
            stderr: Evidence::of(times.keep(policy.stderr), &ended.stderr, &mut self.journal)?,
            survivors: ended.survivors as u64,
        });
        Ok(match (fault, ended.end.ok()) {
            (Some("start"), _) => Some("ADAPTER_MISCONFIGURED/start".to_owned()),
            (Some(reason), _) => Some(violation(reason)),
            (None, Some(End::Exit(0))) if ended.survivors == 0 => None,
            _ => Some(violation("end")),
        })
    }

    /// Takes what the agent prints, as far as all that is kept of it has room.
    fn hear(&mut self, bytes: &[u8]) -> Result<Heard, RecorderError> {
        self.printed += bytes.len() as u64;
        let kept = self.printed + self.journal.bytes() + self.block.bytes();
        if kept > command::most_evidence(&self.profile) {
            return Ok(Err("budget_evidence"));
        }
        let mut parts = Vec::new();
        if self.decoder.push(bytes, &mut parts).is_err() {
            return Ok(Err("line_size"));
        }
        let mut reply = Reply::default();
        for part in parts {
            match self.part(part)? {
                Ok(more) => {
                    reply.stdin.extend(more.stdin);
                    reply.is_last |= more.is_last;
                }
                Err(reason) => return Ok(Err(reason)),
            }
        }
        Ok(Ok(reply))
    }

    fn part(&mut self, part: Printed) -> Result<Heard, RecorderError> {
        let mut lines = Vec::new();
        let is_end = part != Printed::EndOfBlock && !matches!(part, Printed::Text(_));
        let ends_block = part == Printed::EndOfBlock;
        match part {
            Printed::Text(text) => self.scanner.push(&text, &mut lines),
            Printed::EndOfBlock | Printed::EndOfTurn => self.scanner.end_block(&mut lines),
        }
        let mut reply = Reply::default();
        for line in lines {
            match self.line(line)? {
                Ok(stdin) => reply.stdin.extend(stdin),
                Err(reason) => return Ok(Err(reason)),
            }
            if self.block.is_full() {
                self.flush()?;
            }
        }
        if ends_block {
            self.flush()?;
        }
        // A stream goes on as long as the agent asks.
        reply.is_last = is_end && reply.stdin.is_empty();
        Ok(Ok(reply))
    }

    /// Takes a line of the agent. Returns what the agent reads next.
    fn line(&mut self, line: Line) -> Result<Result<Vec<u8>, &'static str>, RecorderError> {
        self.block.push(&line.text);
        match line.kind {
            LineKind::Text => {
                let lines = line.text.split_inclusive('\n');
                for text in lines.filter(|text| !text.trim().is_empty()) {
                    self.last_line = text.to_owned();
                    self.has_ended |= prompt::is_final(text);
                }
            }
            LineKind::Foreign => self.run.foreign_frames += 1,
            LineKind::Violation(violation) => return Ok(Err(violation.code())),
            LineKind::Request(_) if self.has_ended => return Ok(Err("after_end")),
            LineKind::Request(request) => {
                if self.bridge.continuation != Continuation::Stream {
                    self.open.push(request);
                    return Ok(Ok(Vec::new()));
                }
                self.flush()?;
                if self.stop.is_asked() {
                    return Ok(Err(turn::STOP));
                }
                let answer = self.answer(request)?;
                let is_stream = self.profile.input_mode == InputMode::StreamJson;
                return Ok(Ok(if is_stream {
                    stream_message(&answer)
                } else {
                    answer.into_bytes()
                }));
            }
        }
        Ok(Ok(Vec::new()))
    }

    /// Adds the agent's block to the log.
    fn flush(&mut self) -> Result<(), RecorderError> {
        let text = self.block.take();
        if text.is_empty() {
            return Ok(());
        }
        self.said.push_str(&text);
        if !text.ends_with('\n') {
            self.said.push('\n');
        }
        let t = self.journal.now();
        self.journal.record(Record::Agent(Said {
            t,
            part: None,
            text,
            result: None,
        }))
    }

    fn says(
        &mut self,
        text: String,
        part: Option<Part>,
        result: Option<ToolOutput>,
    ) -> Result<(), RecorderError> {
        let t = self.journal.now();
        self.journal.record(Record::Driver(DriverSays::Said(Said {
            t,
            part,
            text,
            result,
        })))
    }

    /// Decides a request, carries it out, and returns the answer as the agent sees it.
    fn answer(&mut self, request: Request) -> Result<String, RecorderError> {
        let args_hash = self.journal.keep(request.args.as_bytes())?;
        let (id, tool) = (request.id.clone(), request.tool.clone());
        self.journal.entry(Entry::ToolRequested(Requested {
            request_id: id.clone(),
            tool,
            args_hash: args_hash.clone(),
        }))?;
        let decided = decide(&self.profile, self.plan.tier, &self.sandbox, &request);
        let calls_left = self.profile.budget_defaults.tool_calls.get() - self.allowed;
        let decided = decided.and_then(|action| {
            if calls_left == 0 {
                Err(actuator::BUDGET)
            } else {
                Ok(action)
            }
        });
        let reason = decided.as_ref().err().map(|reason| (*reason).to_owned());
        let decision = if reason.is_some() {
            Decision::Deny
        } else {
            Decision::Allow
        };
        let t = self.journal.now();
        let event = Event::ToolDecided {
            t,
            id: id.clone(),
            decision,
        };
        let policy_snapshot = PolicySnapshot {
            tier: self.plan.tier,
            tool_class: self.profile.tool_class(&request.tool).as_str().to_owned(),
            calls_left,
        };
        self.journal.entry(Entry::ToolDecided(Decided {
            request_id: id.clone(),
            decision,
            reason: reason.clone(),
            policy_snapshot,
        }))?;
        self.journal
            .record(Record::Driver(DriverSays::Event(event)))?;
        let (answer, result) = match decided {
            Err(reason) => (Answer::Denied(reason.to_owned()), None),
            Ok(action) => {
                let (hash, output) = self.act(action, &request, args_hash)?;
                (Answer::Ok(hash), Some(output))
            }
        };
        let frame = grammar::response_frame(&self.nonce, &Response { id, answer });
        if reason.is_some() {
            self.denials.push(frame.trim_end().to_owned());
        }
        let text = prompt::answer(
            &frame,
            result.as_ref().map(|result| result.text.as_str()),
            EXCERPT,
        );
        self.says(frame, None, result)?;
        self.said.push_str(&text);
        Ok(text)
    }

    /// Carries out what was allowed, and writes its receipt.
    fn act(
        &mut self,
        action: actuator::Action,
        request: &Request,
        args_hash: String,
    ) -> Result<(String, ToolOutput), RecorderError> {
        self.allowed += 1;
        let start = self.start(&request.id);
        self.journal.entry(Entry::ToolStarted(start.clone()))?;
        let begun = Instant::now();
        let most = usize::try_from(self.bridge.max_result_bytes.get()).unwrap_or(usize::MAX);
        let limit = Duration::from_millis(self.bridge.tool_timeout_ms.get());
        let envelope = execute(action, &self.sandbox, most, limit);
        let bytes =
            canonical::to_vec(&envelope).map_err(|error| RecorderError::new(Fault::Io, error))?;
        let result_hash = self.journal.keep(&bytes)?;
        let taken = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.journal.entry(Entry::ToolExecuted(ToolReceipt {
            request_id: request.id.clone(),
            tool: request.tool.clone(),
            tool_class: self.profile.tool_class(&request.tool).as_str().to_owned(),
            args_hash,
            decision: Decision::Allow,
            executed_by: start.executed_by,
            execution_env: start.execution_env,
            sandbox: start.sandbox,
            result_hash: result_hash.clone(),
            result_bytes: bytes.len() as u64,
            status: envelope.status,
            duration_ms: (self.plan.times == Times::Kept).then_some(taken),
        }))?;
        if self.plan.script.stop_after == Some(self.allowed) {
            self.stop.ask();
        }
        let excerpt = &envelope.text[..envelope.text.floor_char_boundary(EXCERPT)];
        let (text, text_bytes) = (excerpt.to_owned(), envelope.text.len() as u64);
        Ok((
            result_hash,
            ToolOutput {
                bytes: bytes.len() as u64,
                status: envelope.status,
                text,
                text_bytes,
            },
        ))
    }

    /// Who acts for a request, and where.
    fn start(&self, id: &str) -> ToolStart {
        ToolStart {
            request_id: id.to_owned(),
            executed_by: format!("engram-driver/{}", env!("CARGO_PKG_VERSION")),
            execution_env: ExecutionEnv {
                os: std::env::consts::OS.to_owned(),
                mounts: mounts(self.plan.egress),
            },
            sandbox: reach(self.plan.tier, self.plan.egress),
        }
    }

    /// Notes which denials the agent passed on to its model in a run.
    fn seen(&mut self, requests_before: u64) {
        let asked = self.stage.requests() > requests_before;
        if !asked || self.denials.is_empty() {
            return;
        }
        let heard = self.stage.heard();
        let unheard = self
            .denials
            .drain(..)
            .filter(|frame| !heard.contains(frame.as_str()))
            .count();
        self.run.denials_unheard += unheard as u64;
    }

    /// Writes the end, and how it went.
    fn end(mut self, reason: Option<String>) -> Result<Driven, RecorderError> {
        let is_stop = |reason: &str| {
            let bounds = ["/stall", "/start", "/stop"];
            reason.contains("/budget_") || bounds.iter().any(|bound| reason.ends_with(bound))
        };
        let status = match reason.as_deref() {
            None => EndStatus::Completed,
            Some(reason) if is_stop(reason) => EndStatus::Stopped,
            Some(_) => EndStatus::Failed,
        };
        let t = self.journal.now();
        self.journal
            .record(Record::Driver(DriverSays::Event(Event::EpisodeEnded {
                t,
                status,
            })))?;
        // From here on nobody else acts.
        let left = crate::left::end_left(&self.plan.places.home);
        let index = ledger::index(&self.journal.lines()?)
            .and_then(|index| hash_of(&index))
            .map_err(|error| RecorderError::new(Fault::Violation, error))?;
        let log_hash = self.journal.log_hash();
        self.run.left_running = left;
        self.run.reason = reason.clone();
        self.run.denials_unseen = self.denials.len() as u64;
        self.run.model_requests = self.stage.requests();
        self.run.tokens = self.stage.tokens();
        collect(
            &mut self.run,
            self.plan,
            &self.profile,
            &self.stage,
            &mut self.journal,
        )?;
        let run_hash = self.run.write(&mut self.journal)?;
        self.journal.entry(Entry::EpisodeEnded(EpisodeEnd {
            status,
            log_hash,
            tool_log_index_hash: index,
            run_hash,
        }))?;
        Ok(Driven {
            reason,
            ledger_hash: self.journal.last_hash().to_owned(),
            bytes: self.journal.bytes(),
        })
    }
}

/// Whose files and processes a driver has.
pub(super) fn mounts(egress: Egress) -> Mounts {
    if egress == Egress::Refused {
        Mounts::Private
    } else {
        Mounts::Shared
    }
}

/// What a driver reaches in an episode of this tier.
pub(super) fn reach(tier: Tier, egress: Egress) -> SandboxSummary {
    SandboxSummary {
        root: "{sandbox}".to_owned(),
        writes: if tier == Tier::Observe {
            Permission::Refused
        } else {
            Permission::Allowed
        },
        egress,
    }
}

fn decoder(profile: &Profile, limits: &Limits) -> Decoder {
    // A line of JSON has the escapes of a line of text, and what is around it.
    Decoder::new(
        profile.output_mode,
        profile.harness,
        limits.max_line_bytes.saturating_mul(8),
    )
}

/// The reason of a violation.
pub fn violation(code: &str) -> String {
    format!("ADAPTER_PROTOCOL_VIOLATION/{code}")
}
