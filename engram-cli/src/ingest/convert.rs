//! Converts one session to a temporary file, on any thread.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use engram_adapters::sessions::{SessionOptions, Stamp};
use engram_command::inputs::{SessionInput, is_no_session};
use engram_command::interrupt;
use engram_core::error::AdapterError;
use engram_core::hash::StreamHasher;
use engram_core::overview::Overview;
use engram_core::pipeline::Summary;

use crate::args::Ingest;
use crate::tape_dir::{Finished, Key, OutDir, files};
use crate::write::write_tape;

/// What became of one input.
pub enum Outcome {
    /// Its tape is written, but has no name yet: names are given in the order of the input.
    Converted(Box<Converted>),
    /// A session that the filters leave out.
    Filtered(Box<Overview>),
    /// A session of a harness that the filters leave out. Nothing is known of it but that.
    OtherHarness,
    /// A session of a store that belongs to no chosen unit.
    OtherUnit,
    /// A file in a searched directory that is not a session.
    NoSession,
    /// The run has ended before it: there is no room for more tapes.
    Stopped,
    /// It cannot be read, converted or written.
    Failed(Box<AdapterError>),
}

/// A session whose tape is written.
pub struct Converted {
    /// What the tape is about.
    pub overview: Overview,
    /// What the conversion reports.
    pub summary: Summary,
    /// The tape.
    pub tape: Finished,
    /// The name of the tape if the content has no session id.
    pub fallback_id: String,
    /// True if the text of the older tape's source is the beginning of this one's.
    pub extends_old: bool,
}

/// What the index has of a source.
#[derive(Debug, Clone)]
pub struct Before {
    /// The size and hash of the text that the older tape was made from.
    pub text: Option<(u64, String)>,
}

/// One source to convert.
pub struct Work {
    /// The source.
    pub input: Result<SessionInput, AdapterError>,
    /// Its place in the index.
    pub key: Option<Key>,
    /// Its state before it is opened.
    pub stamp: Option<Stamp>,
    /// What the index has of it.
    pub before: Before,
}

/// Converts a session to a temporary file in the directory of its tape.
pub fn convert(args: &Ingest, options: &SessionOptions, work: &Work, out: &OutDir) -> Outcome {
    let input = match &work.input {
        Ok(input) => input,
        Err(error) => return Outcome::Failed(Box::new(error.clone())),
    };
    if let (SessionInput::At(location), Some(chosen)) = (input, &args.chosen)
        && !chosen.wants(location)
    {
        return Outcome::OtherUnit;
    }
    let prefix = Arc::new(Mutex::new(Prefix::of(&work.before)));
    let opened = match &work.before.text {
        Some(_) => input.open_with_copy(PrefixWriter(Arc::clone(&prefix)), options),
        None => input.open(options),
    };
    let source = match opened {
        Ok(source) => source,
        Err(error) if is_no_session(&error) && !input.is_named() => return Outcome::NoSession,
        Err(error) => return Outcome::Failed(Box::new(error)),
    };
    let harness = source.harness();
    if !args.filter.wants_harness(harness) {
        return Outcome::OtherHarness;
    }
    let registration = source.registration();
    let directory = out.path(&OutDir::directory_name(harness));
    let at_directory =
        |error: io::Error| AdapterError::from(error).path(directory.to_string_lossy());
    let written = out
        .temporary(harness)
        .map_err(at_directory)
        .and_then(|mut file| {
            let path = file.path().to_owned();
            let written = write_tape(
                source,
                args.form(),
                &mut files::Writer(&mut file),
                &directory,
            );
            let kept = written.map(|written| {
                let is_wanted = args.filter.wants(&written.overview);
                (written, is_wanted.then(|| file.into_temp_path()))
            });
            if !matches!(kept, Ok((_, Some(_)))) {
                interrupt::forget(&path);
            }
            kept
        });
    match written {
        Err(error) => Outcome::Failed(Box::new(error)),
        Ok((written, None)) => Outcome::Filtered(Box::new(written.overview)),
        Ok((written, Some(file))) => {
            let extends_old = prefix
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .is_whole();
            let tape = Finished {
                file: Some(file),
                hash: written.hash,
                bytes: written.bytes,
            };
            let (overview, summary) = (written.overview, written.summary);
            let fallback_id = input.fallback_id(registration).into_owned();
            Outcome::Converted(Box::new(Converted {
                overview,
                summary,
                tape,
                fallback_id,
                extends_old,
            }))
        }
    }
}

/// Finds out whether a text begins with another one, of which only size and hash are known.
struct Prefix {
    missing: u64,
    hash: String,
    hasher: StreamHasher,
}

impl Prefix {
    fn of(before: &Before) -> Prefix {
        let (missing, hash) = before.text.clone().unwrap_or_default();
        Prefix {
            missing,
            hash,
            hasher: StreamHasher::default(),
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        let taken = usize::try_from(self.missing)
            .unwrap_or(usize::MAX)
            .min(bytes.len());
        self.hasher.update(&bytes[..taken]);
        self.missing -= taken as u64;
    }

    /// True if the whole text has been seen.
    fn is_whole(&self) -> bool {
        !self.hash.is_empty()
            && self.missing == 0
            && self.hasher.finish().0.to_string() == self.hash
    }
}

/// Takes a text while it is read.
struct PrefixWriter(Arc<Mutex<Prefix>>);

impl Write for PrefixWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .add(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use engram_core::hash::Hash;

    use super::*;

    #[test]
    fn a_text_begins_with_another_one_or_does_not() {
        let is_prefix = |old: &str, new: &str| {
            let text = Some((old.len() as u64, Hash::of_bytes(old.as_bytes()).to_string()));
            let mut prefix = Prefix::of(&Before { text });
            new.as_bytes().chunks(2).for_each(|chunk| prefix.add(chunk));
            prefix.is_whole()
        };
        assert!(is_prefix("abc", "abcd") && is_prefix("abc", "abc") && is_prefix("", "abc"));
        assert!(!is_prefix("abc", "ab") && !is_prefix("abc", "abx") && !is_prefix("abc", ""));
        assert!(!Prefix::of(&Before { text: None }).is_whole());
    }
}
