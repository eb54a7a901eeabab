//! Runs a command in a group of its own, and ends the group.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde::{Deserialize, Serialize};

use crate::will::Will;

/// How often a running command is looked at.
const LOOK: Duration = Duration::from_millis(25);
/// How long a group has between TERM and KILL.
const GRACE: Duration = Duration::from_secs(2);
/// The most bytes that a command may print to files.
const MAX_PRINTED: u64 = 256 << 20;

/// Keeps the files that this process was started with from what it starts: an open directory of the caller would lead out of private mounts.
pub(crate) fn keep_files() {
    // From 3 on: input, output and errors are chosen for each command.
    close_fds::set_fds_cloexec_threadsafe(3, &[]);
}

fn signal_group(group: u32, signal: Signal) {
    if let Some(group) = i32::try_from(group).ok().and_then(Pid::from_raw) {
        // The group may be gone already.
        let _ = kill_process_group(group, signal);
    }
}

/// A command line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invocation {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// What it reads from standard input.
    pub stdin: Vec<u8>,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// By itself, with this code.
    Exit(i32),
    /// By a signal that was not ours.
    Signal(i32),
    /// Killed because the scenario says so.
    Killed,
    /// Killed because it took too long.
    Timeout,
    /// Killed because it printed too much.
    Flood,
}

/// A command that runs. Its group is ended when it is dropped, or when this process ends in any other way.
pub struct Running {
    child: Child,
    grace: Duration,
    /// By its open file: the command may put something else under the name.
    stderr: File,
    _will: Will,
}

/// What a command reads, in the background: one that does not read must not stop the clock. How much may wait is bounded by those who say
/// it. Standard input is closed when this is dropped.
pub struct Words(Option<Sender<Vec<u8>>>);

impl Words {
    fn to(pipe: Option<ChildStdin>) -> Words {
        Words(pipe.map(|mut pipe| {
            let (words, queue) = mpsc::channel::<Vec<u8>>();
            thread::spawn(move || {
                // A command that ends without reading closes the pipe, and is seen by its end.
                for bytes in queue {
                    if pipe.write_all(&bytes).and_then(|()| pipe.flush()).is_err() {
                        return;
                    }
                }
            });
            words
        }))
    }

    /// Says this next.
    pub fn say(&self, bytes: Vec<u8>) {
        if let Some(words) = &self.0 {
            let _ = words.send(bytes);
        }
    }
}

impl Running {
    /// Starts a command with exactly this environment. The file for its errors must be new.
    ///
    /// # Errors
    /// If the program cannot be started, or the files for its output cannot be made.
    pub fn start(
        argv: &[String],
        directory: &Path,
        env: &BTreeMap<String, String>,
        stdout: Stdio,
        stderr: &Path,
    ) -> io::Result<Running> {
        let [program, arguments @ ..] = argv else {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        };
        let errors = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(stderr)?;
        keep_files();
        let mut will = Will::for_group()?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(directory)
            .env_clear()
            .envs(env)
            .process_group(0);
        command
            .stdin(Stdio::piped())
            .stdout(stdout)
            .stderr(errors.try_clone()?);
        let child = command.spawn()?;
        // A shell that has gone is no reason to stop.
        let _ = will.names(child.id());
        Ok(Running {
            child,
            grace: GRACE,
            stderr: errors,
            _will: will,
        })
    }

    /// The same with another time between TERM and KILL.
    pub fn with_grace(mut self, grace: Duration) -> Running {
        self.grace = grace;
        self
    }

    /// The running process.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Its standard input.
    pub fn words(&mut self) -> Words {
        Words::to(self.child.stdin.take())
    }

    /// How much it has printed as errors.
    pub fn errors_len(&self) -> u64 {
        self.stderr.metadata().map_or(0, |meta| meta.len())
    }

    /// What it has printed as errors, at most so many bytes.
    pub fn errors(&self, most: u64) -> Vec<u8> {
        let length = usize::try_from(self.errors_len().min(most)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; length];
        match self.stderr.read_exact_at(&mut bytes, 0) {
            Ok(()) => bytes,
            // It is shorter by now.
            Err(_) => Vec::new(),
        }
    }

    /// Waits until it ends, is to be killed, has taken too long, or has printed too much to its errors and this file. The group is ended in
    /// any case.
    ///
    /// # Errors
    /// If the process cannot be waited for.
    pub fn wait(
        mut self,
        limit: Duration,
        out: &Path,
        mut is_killed: impl FnMut() -> bool,
    ) -> io::Result<End> {
        let begun = Instant::now();
        let end = loop {
            if let Some(status) = self.child.try_wait()? {
                break end_of(status);
            }
            if is_killed() {
                self.end_group(Signal::KILL);
                break End::Killed;
            }
            if begun.elapsed() > limit {
                break End::Timeout;
            }
            if self.errors_len() + out.metadata().map_or(0, |meta| meta.len()) > MAX_PRINTED {
                break End::Flood;
            }
            thread::sleep(LOOK);
        };
        Ok(end)
    }

    /// How it ended, if it has.
    ///
    /// # Errors
    /// If the process cannot be waited for.
    pub fn ended(&mut self) -> io::Result<Option<End>> {
        Ok(self.child.try_wait()?.map(end_of))
    }

    /// Ends the group, and returns how many processes of it are left: none, if the system does as it is told.
    pub fn stop(mut self) -> usize {
        self.end();
        members(self.child.id())
    }

    /// TERM, a little time, KILL.
    fn end(&mut self) {
        self.end_group(Signal::TERM);
        let begun = Instant::now();
        while begun.elapsed() < self.grace {
            // Reaps the process, so that its group can vanish.
            let _ = self.child.try_wait();
            if self.is_group_gone() {
                return;
            }
            thread::sleep(LOOK);
        }
        self.end_group(Signal::KILL);
        let _ = self.child.wait();
        // A process that got KILL is still there for a moment.
        let begun = Instant::now();
        while begun.elapsed() < GRACE && members(self.child.id()) > 0 {
            thread::sleep(LOOK);
        }
    }

    fn end_group(&self, signal: Signal) {
        signal_group(self.child.id(), signal);
    }

    fn is_group_gone(&self) -> bool {
        let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        group.is_none_or(|group| rustix::process::test_kill_process_group(group).is_err())
    }
}

impl Drop for Running {
    /// Also ends what the command left behind in its group.
    fn drop(&mut self) {
        self.end();
    }
}

/// How many processes of a group are alive. One that has ended may wait as a zombie for a parent that never asks.
fn members(group: u32) -> usize {
    let is_member = |stat: &str| {
        // Behind the name, which may contain anything: state, parent, group.
        let mut fields = stat
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .split_whitespace();
        let (state, found) = (
            fields.next().unwrap_or_default(),
            fields.nth(1).unwrap_or_default(),
        );
        !matches!(state, "Z" | "X") && found == group.to_string()
    };
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let stats =
        processes.filter_map(|process| std::fs::read_to_string(process.path().join("stat")).ok());
    stats.filter(|stat| is_member(stat)).count()
}

pub(crate) fn end_of(status: ExitStatus) -> End {
    status.code().map_or_else(
        || End::Signal(status.signal().unwrap_or_default()),
        End::Exit,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str, limit: Duration, killed: bool) -> (End, Duration, String) {
        let directory = tempfile::tempdir().unwrap();
        let out = directory.path().join("out");
        let argv = ["/bin/sh", "-c", script].map(str::to_owned);
        let env = BTreeMap::from([
            ("PATH".to_owned(), "/usr/bin:/bin".to_owned()),
            ("OWN".to_owned(), "1".to_owned()),
        ]);
        let begun = Instant::now();
        let stdout = Stdio::from(File::create(&out).unwrap());
        let mut running = Running::start(
            &argv,
            directory.path(),
            &env,
            stdout,
            &directory.path().join("err"),
        )
        .unwrap();
        running.words().say(b"input\n".to_vec());
        let end = running
            .wait(limit, &out, || {
                killed && out.metadata().is_ok_and(|meta| meta.len() > 0)
            })
            .unwrap();
        (end, begun.elapsed(), std::fs::read_to_string(&out).unwrap())
    }

    #[test]
    fn command_sees_its_own_environment_only() {
        let (end, _, out) = run(
            "cat; env | cut -d= -f1 | sort | tr '\\n' ' '",
            Duration::from_secs(20),
            false,
        );
        assert_eq!(end, End::Exit(0));
        let names: Vec<&str> = out
            .strip_prefix("input\n")
            .unwrap()
            .split_whitespace()
            .filter(|name| !matches!(*name, "_" | "SHLVL" | "PWD" | "OLDPWD"))
            .collect();
        assert_eq!(names, ["OWN", "PATH"]);
    }

    #[test]
    fn group_ends_with_the_command_or_at_the_limit() {
        let (end, _, out) = run(
            "sleep 100 & echo $!; exit 3",
            Duration::from_secs(20),
            false,
        );
        assert_eq!(end, End::Exit(3));
        assert!(!is_alive(&out), "{out}");
        let (end, took, _) = run("sleep 100", Duration::from_millis(100), false);
        assert!(end == End::Timeout && took < Duration::from_secs(20));
        let (end, _, out) = run("echo $$; sleep 100", Duration::from_secs(20), true);
        assert_eq!(end, End::Killed);
        assert!(!is_alive(&out), "{out}");
    }

    #[test]
    fn group_that_does_not_hear_term_is_killed() {
        let directory = tempfile::tempdir().unwrap();
        let argv = [
            "/bin/sh",
            "-c",
            "trap '' TERM; sleep 100 & echo up; while :; do sleep 1; done",
        ]
        .map(str::to_owned);
        let env = BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
        let out = directory.path().join("out");
        let stdout = Stdio::from(File::create(&out).unwrap());
        let mut running = Running::start(
            &argv,
            directory.path(),
            &env,
            stdout,
            &directory.path().join("err"),
        )
        .unwrap();
        while out.metadata().unwrap().len() == 0 {
            assert_eq!(running.ended().unwrap(), None);
            thread::sleep(LOOK);
        }
        let group = running.child().id();
        assert!(members(group) >= 2 || !Path::new("/proc/self/stat").exists());
        assert_eq!(running.with_grace(Duration::from_millis(50)).stop(), 0);
        assert_eq!(members(group), 0);
    }

    /// A process that was ended may wait as a zombie for a parent that never asks.
    fn is_alive(pid: &str) -> bool {
        let state =
            std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        !state.is_empty()
            && !state
                .rsplit(')')
                .next()
                .unwrap_or_default()
                .trim_start()
                .starts_with('Z')
    }
}
