//! What an episode leaves, as it happens: its log, its ledger, and the objects that these name by their hashes.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use engram_profiles::ProfileHash;
use engram_profiles::episode::{Ids, Record};
use engram_profiles::hash;
use engram_profiles::ledger::{self, Entry, Ledger, Line};
use engram_profiles::profile::Keep;
use jiff::{Timestamp, ToSpan};
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};

use crate::bounded;
use crate::error::{Fault, RecorderError};
use crate::sandbox::write;

/// The log of the episode, as it also is among the objects.
pub const LOG: &str = "episode.jsonl";
/// The ledger.
pub const LEDGER: &str = "ledger.jsonl";
/// The objects, each under the hexadecimal digits of its hash.
pub const OBJECTS: &str = "cas";
/// The tape, as it also is among the objects.
pub const TAPE: &str = "tape.jsonl";
/// How the run went, as it also is among the objects.
pub const RUN: &str = "run.json";
/// The hash of every other file, one a line: `<hex>  <path>`.
pub const SUMS: &str = "sums.txt";

/// The most bytes of one file of an episode.
pub(super) const MAX_FILE: u64 = 1 << 30;

/// Whether an episode has times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Times {
    /// Each record has one.
    Kept,
    /// None has, nor has it what an agent prints, sends and leaves, since that has times and ids of its own: a scripted episode has the same
    /// bytes whenever it is repeated.
    LeftOut,
}

impl Times {
    /// What is kept of something that differs whenever an episode is repeated.
    pub const fn keep(self, policy: Keep) -> Keep {
        match self {
            Times::Kept => policy,
            Times::LeftOut => Keep::Drop,
        }
    }
}

/// A clock on which no moment comes twice: two records with the same bytes would be one.
#[derive(Debug)]
pub struct Clock {
    times: Times,
    last: Option<Timestamp>,
}

impl Clock {
    /// A clock.
    pub fn new(times: Times) -> Clock {
        Clock { times, last: None }
    }

    /// The time, in milliseconds.
    pub fn now(&mut self) -> Option<String> {
        if self.times == Times::LeftOut {
            return None;
        }
        let now = Timestamp::now();
        let next = self.last.map_or(now, |last| {
            now.max(last.saturating_add(1.milliseconds()).unwrap_or(last))
        });
        self.last = Some(next);
        Some(format!("{next:.3}"))
    }
}

/// Writes an episode. Every line is on the disk before the next thing happens.
#[derive(Debug)]
pub struct Journal {
    directory: PathBuf,
    /// By its open file: the agent may put something else under the name.
    folder: File,
    objects: File,
    log: File,
    ledger_file: File,
    ledger: Ledger,
    ledger_bytes: usize,
    clock: Clock,
    bytes: u64,
    /// Of the log as it was written: the file may be changed while the agent runs.
    log_hash: blake3::Hasher,
    kept: HashSet<String>,
}

impl Journal {
    /// A new episode in a directory that is empty or not there.
    ///
    /// # Errors
    /// `io`.
    pub fn create(directory: &Path, ids: Ids, times: Times) -> Result<Journal, RecorderError> {
        let io = |error: std::io::Error| RecorderError::io(directory, &error);
        fs::create_dir_all(directory.join(OBJECTS)).map_err(io)?;
        let log = File::create_new(directory.join(LOG)).map_err(io)?;
        // It is read again by this handle: the agent may put something else under the name.
        let ledger_file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(directory.join(LEDGER))
            .map_err(io)?;
        let folder = File::open(directory).map_err(io)?;
        let objects = File::open(directory.join(OBJECTS)).map_err(io)?;
        let directory = directory.to_owned();
        let (log_hash, kept) = (blake3::Hasher::new(), HashSet::new());
        Ok(Journal {
            directory,
            folder,
            objects,
            log,
            ledger_file,
            ledger: Ledger::new(ids),
            ledger_bytes: 0,
            clock: Clock::new(times),
            bytes: 0,
            log_hash,
            kept,
        })
    }

    /// The time of the next record.
    pub fn now(&mut self) -> Option<String> {
        self.clock.now()
    }

    /// Adds a line to the log.
    ///
    /// # Errors
    /// `io`.
    pub fn log(&mut self, line: &impl Serialize) -> Result<(), RecorderError> {
        let mut text =
            serde_json::to_vec(line).map_err(|error| RecorderError::new(Fault::Io, error))?;
        text.push(b'\n');
        self.bytes += text.len() as u64;
        self.log_hash.update(&text);
        self.log
            .write_all(&text)
            .map_err(|error| RecorderError::io(&self.directory.join(LOG), &error))
    }

    /// Adds a record to the log.
    ///
    /// # Errors
    /// `io`.
    pub fn record(&mut self, record: Record) -> Result<(), RecorderError> {
        self.log(&record)
    }

    /// Adds a line to the ledger.
    ///
    /// # Errors
    /// `io`.
    pub fn entry(&mut self, entry: Entry) -> Result<(), RecorderError> {
        let time = self.clock.now();
        let line = self
            .ledger
            .line(time.as_deref(), entry)
            .map_err(|error| RecorderError::new(Fault::Io, error))?;
        self.bytes += line.len() as u64;
        self.ledger_bytes += line.len();
        self.ledger_file
            .write_all(line.as_bytes())
            .map_err(|error| RecorderError::io(&self.directory.join(LEDGER), &error))
    }

    /// The lines of the ledger as they are on the disk.
    ///
    /// # Errors
    /// `io`; `adapter_protocol_violation` if they are not those that were written.
    pub fn lines(&self) -> Result<Vec<Line>, RecorderError> {
        let broken =
            |error: String| RecorderError::new(Fault::Violation, format!("{LEDGER}: {error}"));
        let mut bytes = vec![0; self.ledger_bytes];
        self.ledger_file
            .read_exact_at(&mut bytes, 0)
            .map_err(|error| broken(error.to_string()))?;
        let lines = ledger::verify(&bytes).map_err(|error| broken(error.to_string()))?;
        if ledger::last_hash(&bytes) == self.ledger.last_hash() {
            Ok(lines)
        } else {
            Err(broken("it is another one".to_owned()))
        }
    }

    /// The hash of the last line of the ledger, which stands for all of it.
    pub fn last_hash(&self) -> &str {
        self.ledger.last_hash()
    }

    /// Keeps an object under its hash, and returns the hash.
    ///
    /// # Errors
    /// `io`.
    pub fn keep(&mut self, bytes: &[u8]) -> Result<String, RecorderError> {
        let hash = hash::of_bytes(bytes);
        self.object(&hash, bytes)?;
        Ok(hash)
    }

    /// Keeps the profile under its own hash.
    ///
    /// # Errors
    /// `io`.
    pub fn keep_profile(&mut self, bytes: &[u8]) -> Result<(), RecorderError> {
        self.object(ProfileHash::of(bytes).as_str(), bytes)
    }

    fn object(&mut self, hash: &str, bytes: &[u8]) -> Result<(), RecorderError> {
        if !self.kept.insert(hash.to_owned()) {
            return Ok(());
        }
        self.bytes += bytes.len() as u64;
        make(&self.objects, digits(hash), bytes)
            .map_err(|error| RecorderError::io(&object(&self.directory, hash), &error))
    }

    /// Adds a file beside the log.
    ///
    /// # Errors
    /// `io`, also if something is there already.
    pub fn file(&mut self, name: &str, bytes: &[u8]) -> Result<(), RecorderError> {
        self.bytes += bytes.len() as u64;
        make(&self.folder, name, bytes)
            .map_err(|error| RecorderError::io(&self.directory.join(name), &error))
    }

    /// The hash of the log so far.
    pub fn log_hash(&self) -> String {
        format!("blake3:{}", self.log_hash.finalize().to_hex())
    }

    /// The bytes that were written.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Makes a file in the directory that was made, and only if nobody else has put something there.
fn make(directory: &File, name: &str, bytes: &[u8]) -> std::io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(directory, name, flags, Mode::from_raw_mode(0o666));
    File::from(opened?).write_all(bytes)
}

/// Keeps an object of an episode that has been driven, if it is not there yet, and returns its hash.
///
/// # Errors
/// `io`.
pub fn keep(directory: &Path, bytes: &[u8]) -> Result<String, RecorderError> {
    let hash = hash::of_bytes(bytes);
    let path = object(directory, &hash);
    if !path.exists() {
        write(&path, bytes)?;
    }
    Ok(hash)
}

/// Where an object is.
pub fn object(directory: &Path, hash: &str) -> PathBuf {
    directory.join(OBJECTS).join(digits(hash))
}

fn digits(hash: &str) -> &str {
    hash.trim_start_matches("blake3:")
}

/// Adds a line to the ledger of an episode that has ended, or begins the ledger of one that could not begin.
///
/// # Errors
/// `io`; `adapter_protocol_violation` if the ledger is not whole.
pub fn close(directory: &Path, ids: &Ids, times: Times, entry: Entry) -> Result<(), RecorderError> {
    let path = directory.join(LEDGER);
    let io = |error: std::io::Error| RecorderError::io(&path, &error);
    fs::create_dir_all(directory).map_err(io)?;
    let before = if path.exists() {
        fs::read(&path).map_err(io)?
    } else {
        Vec::new()
    };
    let mut ledger = match before.is_empty() {
        true => Ledger::new(ids.clone()),
        false => Ledger::resume(&before)
            .map_err(|error| RecorderError::new(Fault::Violation, format!("{LEDGER}: {error}")))?,
    };
    let time = Clock::new(times).now();
    let line = ledger
        .line(time.as_deref(), entry)
        .map_err(|error| RecorderError::new(Fault::Io, error))?;
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .map_err(io)?;
    file.write_all(line.as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(io)
}

/// The sums of every file of a directory but [`SUMS`].
///
/// # Errors
/// `io`.
pub fn sums(directory: &Path) -> Result<String, RecorderError> {
    let mut text = String::new();
    for path in engram_conformance::files(directory) {
        let name = path
            .strip_prefix(directory)
            .unwrap_or(&path)
            .to_string_lossy()
            .into_owned();
        if name != SUMS {
            let bytes =
                bounded::read_left(&path, MAX_FILE).map_err(|error| match error.kind() {
                    ErrorKind::InvalidInput | ErrorKind::FileTooLarge => {
                        RecorderError::new(Fault::Violation, format!("{name}: {error}"))
                    }
                    _ => RecorderError::io(&path, &error),
                })?;
            text.push_str(&format!("{}  {name}\n", blake3::hash(&bytes).to_hex()));
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_moment_comes_twice() {
        let mut clock = Clock::new(Times::Kept);
        let times: Vec<String> = (0..50).filter_map(|_| clock.now()).collect();
        assert!(
            times.len() == 50 && times.windows(2).all(|pair| pair[0] < pair[1]),
            "{times:?}"
        );
        assert!(
            times[0].ends_with('Z') && times[0].len() == 24,
            "{}",
            times[0]
        );
        assert_eq!(Clock::new(Times::LeftOut).now(), None);
    }
}
