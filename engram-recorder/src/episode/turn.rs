//! One run of an agent: its output as it comes, its health, and its end.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Fault, RecorderError};
use crate::process::{End, Running};
use crate::server::Stage;
use crate::stop::Stop;

/// Why an agent is stopped that the caller does not want any more.
pub const STOP: &str = "stop";
/// How often a running agent is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// How long what was printed may take to come after the end.
const DRAIN: Duration = Duration::from_millis(500);
/// Bytes that are read at once, and how many such pieces may wait.
const PIECE: usize = 64 << 10;
const WAITING: usize = 16;

/// The command of a run.
pub struct Command<'c> {
    /// The program and its arguments.
    pub argv: &'c [String],
    /// Where it runs.
    pub directory: &'c Path,
    /// Its whole environment.
    pub env: &'c BTreeMap<String, String>,
    /// Where what it prints as errors goes.
    pub stderr: &'c Path,
    /// What it reads from standard input first.
    pub stdin: Vec<u8>,
    /// Whether standard input stays open for answers.
    pub listens: bool,
}

/// What a run may use.
#[derive(Debug, Clone, Copy)]
pub struct Bounds<'b> {
    /// The longest time until its first output or request.
    pub start: Duration,
    /// So long without output and without a request is a stall.
    pub stall: Duration,
    /// So many stalls are borne.
    pub max_stalls: u64,
    /// The time between TERM and KILL.
    pub grace: Duration,
    /// When the episode must be over.
    pub deadline: Instant,
    /// The most bytes that it may print.
    pub bytes: u64,
    /// The most tokens of the episode.
    pub tokens: u64,
    /// The wish that it ends.
    pub stop: &'b Stop,
}

/// What the driver wants after it has heard something.
#[derive(Debug, Default)]
pub struct Reply {
    /// What the agent reads next.
    pub stdin: Vec<u8>,
    /// Whether standard input is closed.
    pub is_last: bool,
}

/// What the driver wants, or why it stops the agent.
pub type Heard = Result<Reply, &'static str>;

/// What became of a run.
#[derive(Debug)]
pub struct Ended {
    /// How it ended by itself; `Err` has the reason why it was stopped.
    pub end: Result<End, &'static str>,
    /// What it printed.
    pub stdout: Vec<u8>,
    /// What it printed as errors, as far as the bounds go.
    pub stderr: Vec<u8>,
    /// Processes of its group that are left.
    pub survivors: usize,
    /// How long it took, in milliseconds.
    pub milliseconds: u64,
}

/// Runs an agent. `hear` gets what it prints, and stops it with a reason.
///
/// # Errors
/// `adapter_misconfigured` if it cannot be started, and errors of `hear`.
pub fn run(
    command: Command<'_>,
    stage: &Stage,
    bounds: &Bounds<'_>,
    hear: &mut dyn FnMut(&[u8]) -> Result<Heard, RecorderError>,
) -> Result<Ended, RecorderError> {
    let failed = |error: std::io::Error| {
        RecorderError::new(
            Fault::Misconfigured,
            format!("{}: {error}", command.argv[0]),
        )
    };
    let running = Running::start(
        command.argv,
        command.directory,
        command.env,
        Stdio::piped(),
        command.stderr,
    )
    .map_err(failed)?;
    let mut running = running.with_grace(bounds.grace);
    let chunks = listen(&mut running);
    let words = running.words();
    words.say(command.stdin);
    let mut words = command.listens.then_some(words);
    let mut health = Health::new(stage);
    let (mut stdout, mut ended): (Vec<u8>, Option<(End, Instant)>) = (Vec::new(), None);
    let end = loop {
        let is_over = match chunks.recv_timeout(LOOK) {
            Ok(bytes) => {
                health.active();
                stdout.extend_from_slice(&bytes);
                match hear(&bytes)? {
                    Err(reason) => break Err(reason),
                    Ok(reply) => {
                        if let Some(words) = &words {
                            words.say(reply.stdin);
                        }
                        if reply.is_last {
                            words = None;
                        }
                    }
                }
                false
            }
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => {
                thread::sleep(LOOK);
                true
            }
        };
        if ended.is_none() {
            ended = running
                .ended()
                .map_err(failed)?
                .map(|end| (end, Instant::now()));
        }
        let printed = stdout.len() as u64 + running.errors_len();
        if printed > bounds.bytes {
            break Err("budget_evidence");
        }
        if let Some((end, at)) = ended {
            if is_over || at.elapsed() > DRAIN {
                break Ok(end);
            }
        } else if let Some(reason) = health.fault(stage, bounds) {
            break Err(reason);
        }
    };
    let milliseconds = u64::try_from(health.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    let stderr = running.errors(bounds.bytes);
    Ok(Ended {
        end,
        stdout,
        stderr,
        survivors: running.stop(),
        milliseconds,
    })
}

/// Reads what a command prints, in the background: something that it leaves behind may keep the pipe open.
fn listen(running: &mut Running) -> Receiver<Vec<u8>> {
    let (send, chunks) = mpsc::sync_channel(WAITING);
    if let Some(mut pipe) = running.child().stdout.take() {
        thread::spawn(move || {
            let mut piece = vec![0; PIECE];
            while let Ok(read @ 1..) = pipe.read(&mut piece) {
                if send.send(piece[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
    }
    chunks
}

/// Whether an agent still works.
struct Health {
    begun: Instant,
    active: Instant,
    has_begun: bool,
    requests: u64,
    stalls: u64,
}

impl Health {
    fn new(stage: &Stage) -> Health {
        let now = Instant::now();
        Health {
            begun: now,
            active: now,
            has_begun: false,
            requests: stage.requests(),
            stalls: 0,
        }
    }

    fn active(&mut self) {
        (self.active, self.has_begun) = (Instant::now(), true);
    }

    /// Why it must be stopped.
    fn fault(&mut self, stage: &Stage, bounds: &Bounds<'_>) -> Option<&'static str> {
        if stage.requests() != self.requests {
            self.requests = stage.requests();
            self.active();
        }
        if self.active.elapsed() > bounds.stall && self.has_begun {
            self.stalls += 1;
            self.active = Instant::now();
        }
        if bounds.stop.is_asked() {
            Some(STOP)
        } else if !self.has_begun && self.begun.elapsed() > bounds.start {
            Some("start")
        } else if self.stalls > bounds.max_stalls {
            Some("stall")
        } else if Instant::now() > bounds.deadline {
            Some("budget_wall_clock")
        } else if stage.tokens() > bounds.tokens {
            Some("budget_tokens")
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use engram_profiles::nonce::Nonce;

    use super::*;
    use crate::episode::Script;
    use crate::tools::{OpTable, Place};

    #[test]
    fn agent_that_does_not_read_is_stopped_in_time() {
        let directory = tempfile::tempdir().unwrap();
        let place = Place {
            project: "/".to_owned(),
            home: "/".to_owned(),
        };
        let scenario = Script::find("look_and_write")
            .unwrap()
            .scenario(&Nonce::scripted("s", "e"))
            .unwrap();
        let stage = Stage::new(
            &scenario,
            OpTable::default(),
            place,
            directory.path().to_owned(),
        );
        let argv = ["/bin/sh", "-c", "while echo ask; do sleep 0.01; done"].map(str::to_owned);
        let env = BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
        let stderr = directory.path().join("err");
        let command = Command {
            argv: &argv,
            directory: directory.path(),
            env: &env,
            stderr: &stderr,
            stdin: vec![b'x'; 1 << 20],
            listens: true,
        };
        let second = Duration::from_secs(1);
        let bounds = Bounds {
            start: 20 * second,
            stall: 20 * second,
            max_stalls: 0,
            grace: Duration::from_millis(50),
            deadline: Instant::now() + second,
            bytes: u64::MAX,
            tokens: u64::MAX,
            stop: &Stop::default(),
        };
        let mut hear = |_: &[u8]| {
            Ok(Ok(Reply {
                stdin: vec![b'x'; 1 << 16],
                is_last: false,
            }))
        };
        let ended = run(command, &stage, &bounds, &mut hear).unwrap();
        assert_eq!((ended.end, ended.survivors), (Err("budget_wall_clock"), 0));
    }
}
