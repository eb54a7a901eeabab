//! `engram acp -- COMMAND`: stands between an editor and an agent that speak the Agent Client Protocol, passes every byte on, and keeps a log
//! that `engram ingest` reads.
//!
//! The bytes come first: no fault of the log stops them.

mod log;
mod queue;
mod relay;

use std::env;
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

use clap::Args;
use engram_command::exit::Exit;
use engram_command::output::{create, make_directory};
use engram_command::places::data_dir;
use engram_command::report::{Reporter, shown};
use jiff::Timestamp;

use self::log::{End, Header, Log};
use self::queue::Queue;

/// How long the log may take to write what waits for it after the agent has ended.
const PATIENCE: Duration = Duration::from_secs(10);

/// Arguments of `engram acp`.
#[derive(Debug, Args)]
pub struct Acp {
    /// The log: a new file, or a directory for one. A file that is there is not written to [default: a new file in engram/acp in your data
    /// directory]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Replace keys and tokens in the log by `[redacted:<rule>]`. What is passed on is never changed
    #[arg(long)]
    pub redact: bool,
    /// The agent and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// Runs the agent, and ends as it ends.
///
/// # Errors
/// If the standard streams cannot be used.
pub fn run(args: &Acp, report: &Reporter) -> io::Result<Exit> {
    let [program, arguments @ ..] = args.command.as_slice() else {
        return Ok(report.usage("no command"));
    };
    #[cfg(unix)]
    let signals = relay::Signals::hear()?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut agent = match command.spawn() {
        Ok(agent) => agent,
        Err(error) => {
            report.finding("acp", &format!("{program}: {error}"));
            return Ok(Exit::Misconfigured);
        }
    };
    #[cfg(unix)]
    signals.pass_to(&agent)?;
    let queue = Arc::new(Queue::default());
    let (told, end) = sync_channel(1);
    let written = keep(args, &queue, end, report)?;
    let status = relay::relay(&mut agent, &queue)?;
    let end = relay::end_of(status);
    // The log may have stopped long ago.
    let _ = told.send(end);
    queue.close();
    let _ = written.recv_timeout(PATIENCE);
    // The code is that of the agent, and no thread that still waits for the editor keeps the process.
    process::exit(match end {
        End::Exit(code) => code,
        End::Signal(signal) => 128 + signal,
    })
}

/// Starts to write the log, in a thread: to open it, too, may take any time. What this returns says when all is written.
fn keep(
    args: &Acp,
    queue: &Arc<Queue>,
    end: Receiver<End>,
    report: &Reporter,
) -> io::Result<Receiver<()>> {
    let (done, written) = sync_channel(1);
    let (queue, report) = (Arc::clone(queue), report.redacting(args.redact));
    let cwd = env::current_dir().unwrap_or_default();
    let header = Header::new(
        cwd.to_string_lossy().into_owned(),
        args.command.clone(),
        args.redact,
    );
    let place = args.out.clone();
    let name = format!("{}-{}.jsonl", now(), process::id());
    thread::Builder::new()
        .name("acp-log".to_owned())
        .spawn(move || {
            if let Err((place, error)) = write(place, &name, &header, &queue, &end) {
                let place = place.as_deref().map(shown).unwrap_or("the log".into());
                report.finding(
                    "acp_log",
                    &format!(
                        "{place}: {error}. The connection goes on, and is not logged from here on"
                    ),
                );
                while queue.next().is_some() {}
            }
            let _ = done.send(());
        })?;
    Ok(written)
}

/// A failure to write, and where.
type Failure = (Option<PathBuf>, io::Error);

fn write(
    place: Option<PathBuf>,
    name: &str,
    header: &Header,
    queue: &Queue,
    end: &Receiver<End>,
) -> Result<(), Failure> {
    let path = path(place, name).map_err(|error| (None, error))?;
    let failed = |error| (Some(path.clone()), error);
    let file = open(&path).map_err(failed)?;
    let mut log = Log::new(BufWriter::new(file), header).map_err(failed)?;
    pass(&mut log, queue, end).map_err(failed)
}

fn pass(log: &mut Log<BufWriter<File>>, queue: &Queue, end: &Receiver<End>) -> io::Result<()> {
    log.flush()?;
    while let Some(first) = queue.next() {
        log.add(&first)?;
        while let Some(more) = queue.next_now() {
            log.add(&more)?;
        }
        // All that was passed on so far is in the file, whatever becomes of this process.
        log.flush()?;
    }
    match end.try_recv() {
        Ok(end) => log.end(end),
        Err(_) => Ok(()),
    }
}

/// The file of the log: the one that was named, or a new one in the directory that was named, or in Engram's own.
fn path(place: Option<PathBuf>, name: &str) -> io::Result<PathBuf> {
    match place {
        Some(place) if place.is_dir() => Ok(place.join(name)),
        Some(place) => Ok(place),
        None => {
            let data = data_dir().ok_or_else(|| {
                io::Error::new(
                    ErrorKind::NotFound,
                    "no data directory: `--out` names a file",
                )
            })?;
            let directory = data.join("engram").join("acp");
            make_directory(&directory, true)?;
            Ok(directory.join(name))
        }
    }
}

/// A new file for its owner only. A pipe or a device is opened as it is.
fn open(path: &Path) -> io::Result<File> {
    match create(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && !path.is_file() => {
            File::options().write(true).open(path)
        }
        opened => opened,
    }
}

/// The time for the name of a file.
fn now() -> String {
    Timestamp::now()
        .strftime("%Y-%m-%dT%H-%M-%S-%3fZ")
        .to_string()
}
