//! Passes the bytes of both directions on as they come, and tells the log of them.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use super::log::End;
use super::queue::{From, Queue};

/// The most bytes that are read at once.
const CHUNK: usize = 256 << 10;
/// What each pipe holds, where the system allows it: a long message then takes few steps from one program to the next. Linux gives a pipe 64 KiB.
#[cfg(target_os = "linux")]
const PIPE: usize = 1 << 20;
/// How long the output of an agent that has ended is read, if nothing comes: a process that it left behind may hold the pipe open.
const QUIET: Duration = Duration::from_millis(500);

/// One direction: what it has passed on, and whether it waits for the reader.
#[derive(Debug, Default)]
struct Progress {
    bytes: AtomicU64,
    is_writing: AtomicBool,
}

/// Passes everything on until the agent has ended, and returns how it ended.
///
/// # Errors
/// If the standard streams cannot be used, or the agent cannot be waited for.
pub fn relay(child: &mut Child, queue: &Arc<Queue>) -> io::Result<ExitStatus> {
    let (input, output) = streams()?;
    let (to_agent, from_agent) = (child.stdin.take(), child.stdout.take());
    #[cfg(target_os = "linux")]
    {
        widen(&input);
        widen(&output);
        to_agent.as_ref().into_iter().for_each(widen);
        from_agent.as_ref().into_iter().for_each(widen);
    }
    spawn("acp-out", {
        let queue = Arc::clone(queue);
        move || to(input, to_agent, &queue)
    })?;
    let progress = Arc::new(Progress::default());
    let (ended, end) = sync_channel::<()>(1);
    spawn("acp-in", {
        let (queue, progress) = (Arc::clone(queue), Arc::clone(&progress));
        move || {
            from(from_agent, output, &queue, &progress);
            let _ = ended.send(());
        }
    })?;
    let status = child.wait()?;
    wait_for_the_rest(&end, &progress);
    Ok(status)
}

/// Makes a pipe hold more. What is no pipe stays as it is.
#[cfg(target_os = "linux")]
fn widen(pipe: &impl std::os::fd::AsFd) {
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, PIPE);
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .map(drop)
}

/// What the client sends. An agent that no longer reads is no reason to stop reading: the client would wait for ever.
fn to(mut client: File, mut agent: Option<ChildStdin>, queue: &Queue) {
    let mut buffer = vec![0; CHUNK];
    while let Some(bytes) = read(&mut client, &mut buffer) {
        // The log gets it first: the answer must not be there before the question.
        queue.add(From::Client, bytes);
        agent = agent.and_then(|mut pipe| pipe.write_all(bytes).is_ok().then_some(pipe));
    }
    drop(agent);
    queue.end(From::Client);
}

/// What the agent sends. If the client no longer reads, the pipe of the agent is closed, as it would be without this command.
fn from(agent: Option<ChildStdout>, mut client: File, queue: &Queue, progress: &Progress) {
    let Some(mut agent) = agent else {
        return;
    };
    let mut buffer = vec![0; CHUNK];
    while let Some(bytes) = read(&mut agent, &mut buffer) {
        queue.add(From::Agent, bytes);
        progress.is_writing.store(true, Ordering::SeqCst);
        let written = client.write_all(bytes);
        progress.is_writing.store(false, Ordering::SeqCst);
        progress
            .bytes
            .fetch_add(bytes.len() as u64, Ordering::SeqCst);
        if written.is_err() {
            break;
        }
    }
    queue.end(From::Agent);
}

/// The next bytes; none at the end.
fn read<'b>(from: &mut impl Read, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
    loop {
        match from.read(buffer) {
            Ok(0) => return None,
            Ok(length) => return buffer.get(..length),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

/// Waits until the output of the agent has ended, or nothing of it comes any more.
fn wait_for_the_rest(end: &Receiver<()>, progress: &Progress) {
    let mut before = None;
    while end.recv_timeout(QUIET) == Err(RecvTimeoutError::Timeout) {
        let now = progress.bytes.load(Ordering::SeqCst);
        let is_quiet = before == Some(now) && !progress.is_writing.load(Ordering::SeqCst);
        if is_quiet {
            return;
        }
        before = Some(now);
    }
}

/// Standard input and output without the buffers of the library: nothing waits for the end of a line.
#[cfg(unix)]
fn streams() -> io::Result<(File, File)> {
    use std::os::fd::AsFd;
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    Ok((input.into(), output.into()))
}

#[cfg(windows)]
fn streams() -> io::Result<(File, File)> {
    use std::os::windows::io::AsHandle;
    let input = io::stdin().as_handle().try_clone_to_owned()?;
    let output = io::stdout().as_handle().try_clone_to_owned()?;
    Ok((input.into(), output.into()))
}

/// Sends the signals of this process to the agent. They were heard since this was made, so none is missed before the agent runs.
#[cfg(unix)]
pub struct Signals(signal_hook::iterator::Signals);

#[cfg(unix)]
impl Signals {
    /// Hears signals from now on.
    ///
    /// # Errors
    /// If the system refuses a handler.
    pub fn hear() -> io::Result<Signals> {
        use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
        let all = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCONT];
        signal_hook::iterator::Signals::new(all).map(Signals)
    }

    /// Passes them on to a child from now on.
    ///
    /// # Errors
    /// If the system has no more threads.
    pub fn pass_to(mut self, child: &Child) -> io::Result<()> {
        let Some(child) = rustix::process::Pid::from_raw(child.id().cast_signed()) else {
            return Ok(());
        };
        spawn("acp-signals", move || {
            for number in self.0.forever() {
                if let Some(signal) = rustix::process::Signal::from_named_raw(number) {
                    // The agent may have ended just now.
                    let _ = rustix::process::kill_process(child, signal);
                }
            }
        })
    }
}

/// How the agent ended.
pub fn end_of(status: ExitStatus) -> End {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return End::Signal(signal);
    }
    End::Exit(status.code().unwrap_or(1))
}
