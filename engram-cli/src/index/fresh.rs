//! An answer is as new as the sessions on this machine: before a question, what is new in the homes is taken in.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use clap::Parser;
use engram_adapters::Registry;
use engram_command::homes;
use engram_command::inputs::session_options;
use engram_command::report::Reporter;
use engram_index::{Error, Index, Taken, Writer};

use crate::args::Ingest;
use crate::ingest;
use crate::tape_dir;
use crate::unicode::Unicode;

/// How long a question waits for another process that writes the index.
const PATIENCE: Duration = Duration::from_secs(10);
/// The pause before it looks again.
const PAUSE: Duration = Duration::from_millis(20);

/// `engram ingest` without arguments.
#[derive(Parser)]
struct Plain {
    #[command(flatten)]
    ingest: Ingest,
}

/// Converts the sessions of the homes that are new or have grown, in the form that the tapes of the directory have. A session that cannot be
/// converted is no reason to leave a question unanswered: `engram ingest` names it.
pub fn convert(tapes: &Path, registry: &Registry, report: &Reporter) {
    let quiet = report.silenced();
    let paths = homes::paths(&[], registry, &quiet);
    let Ok(Plain { ingest: mut args }) = Plain::try_parse_from(["engram"]) else {
        return;
    };
    if paths.is_empty() {
        return;
    }
    if let Ok(made) = tape_dir::Index::load(tapes) {
        args.zstd = made.tape_forms().has_zstd;
        args.redact = made.has_made_with("redacted");
        args.span_text = made.has_made_with("span-text");
        args.conversion.every_form = made.has_made_with("every-form");
        if made.has_made_with("unicode-replaced") {
            args.unicode = Unicode::Replace;
        }
    }
    if let Ok(options) = session_options(&args.conversion, registry, quiet.bar()) {
        ingest::convert_homes(&args, tapes, &paths, options, &quiet);
    }
}

/// Adds the new tapes of a directory to an index. Makes the index if it is missing. If the tapes cannot be added, the old index still answers,
/// and this function returns a note: why the answer may be older than the tapes.
///
/// # Errors
/// If there is no index that could answer.
pub fn take_in(directory: &Path, tapes: &Path, report: &Reporter) -> Result<Option<String>, Error> {
    let wait = || report.note("another engram is making the index; waiting for it");
    let taken = match Index::open(directory) {
        Ok(index) => index.taken(tapes)?,
        Err(Error::NoIndex(_)) => {
            return add(Writer::open(directory, wait)?, tapes, report).map(|()| None);
        }
        Err(error) => return Err(error),
    };
    // An index that is still being made has a part of the sessions: an answer from it would be wrong, not old.
    let patience = match taken {
        Taken::All => return Ok(None),
        Taken::Older => Some(PATIENCE),
        Taken::Never => None,
    };
    // An index that cannot be written still answers.
    Ok(match writer(directory, patience, wait) {
        Ok(Some(writer)) => add(writer, tapes, report)
            .err()
            .map(|error| format!("new sessions are not taken in: {error}")),
        Ok(None) => {
            Some("another engram is writing the index; the answer is from before".to_owned())
        }
        Err(error) => Some(format!("new sessions are not taken in: {error}")),
    })
}

/// The index for writing, as soon as no other process writes it; `None` if that takes longer than the patience, which may have no end.
fn writer(
    directory: &Path,
    patience: Option<Duration>,
    wait: impl FnOnce(),
) -> Result<Option<Writer>, Error> {
    let Some(patience) = patience else {
        return Writer::open(directory, wait).map(Some);
    };
    let until = Instant::now() + patience;
    loop {
        match Writer::try_open(directory)? {
            None if Instant::now() < until => thread::sleep(PAUSE),
            writer => return Ok(writer),
        }
    }
}

fn add(mut writer: Writer, tapes: &Path, report: &Reporter) -> Result<(), Error> {
    if !tapes.is_dir() {
        return Ok(());
    }
    let added = writer.add(&[tapes.to_owned()], &mut |_| ())?;
    let count = added.new + added.grew;
    if count > 0 {
        report.detail(&format!(
            "indexed     {count} tapes that are new since the last question"
        ));
    }
    if !added.failed.is_empty() {
        let (count, place) = (added.failed.len(), tapes.display());
        report.note(&format!(
            "warning     {count} files in {place} are no valid tapes; `engram index add` names them"
        ));
    }
    Ok(())
}

/// How old an answer is for which nothing was taken in.
pub fn age(index: &Index) -> String {
    let age = index
        .written()
        .and_then(|time| SystemTime::now().duration_since(time).ok());
    let age = age.map_or_else(
        || "of an unknown age".to_owned(),
        |age| format!("{} old", in_words(age.as_secs())),
    );
    format!("nothing was taken in; the index is {age}")
}

fn in_words(seconds: u64) -> String {
    let (count, unit) = match seconds {
        0..60 => (seconds, "second"),
        60..3600 => (seconds / 60, "minute"),
        3600..86_400 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_waits_for_the_first_run_to_its_end_and_for_later_ones_as_long_as_its_patience() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_owned();
        let first = Writer::open(&path, || ()).unwrap();
        assert!(writer(&path, Some(PAUSE), || ()).unwrap().is_none());
        let (waits, waiting) = std::sync::mpsc::channel();
        let question = thread::spawn(move || {
            writer(&path, None, || waits.send(()).unwrap())
                .unwrap()
                .is_some()
        });
        waiting.recv().unwrap();
        thread::sleep(3 * PAUSE);
        assert!(!question.is_finished());
        drop(first);
        assert!(question.join().unwrap());
    }

    #[test]
    fn ages_have_words() {
        let words = [1, 59, 60, 7300, 90_000].map(in_words);
        assert_eq!(
            words,
            ["1 second", "59 seconds", "1 minute", "2 hours", "1 day"]
        );
    }
}
