//! The tapes that an export reads: each with a name, in the order of the names, without those that newer ones supersede.

use std::collections::BTreeSet;
use std::io::{self, BufRead};
use std::path::{Path, PathBuf};

use engram_command::exit::Tally;
use engram_command::report::{Reporter, shown};
use engram_core::check::{Violation, check_stream};
use engram_core::error::{AdapterError, ErrorCode};
use engram_core::event::EventRecord;
use engram_core::form_facts::Identity;
use engram_core::policy::Policy;

use crate::tape_dir::{Index, stem};
use crate::tapes::{begins_as_tape, open_tape, tape_error, tapes_at};

/// A tape to export.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TapeFile {
    /// `<harness>/<file name without its ending>`. The export knows it by this name.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// Whose tape it is, as its first event says; `None` if the log names no session, and for a tape that can be read only once.
    pub of: Option<Identity>,
}

/// The tapes at these paths that follow the format. Others are reported and counted.
pub fn tapes(paths: &[PathBuf], report: &Reporter, tally: &mut Tally) -> Vec<TapeFile> {
    let mut found = Vec::new();
    for path in paths.iter().flat_map(|path| current_tapes(path, report)) {
        match path.and_then(|path| named(&path)) {
            Ok(tape) => found.push(tape),
            Err(error) => tally.failure(report.failure(&error)),
        }
    }
    found.sort();
    found.dedup_by(|one, other| one.path == other.path);
    number_equal_names(&mut found);
    found
}

/// As `tapes_at`, without the tapes of a directory that newer ones of the same source supersede.
fn current_tapes(path: &Path, report: &Reporter) -> Vec<Result<PathBuf, AdapterError>> {
    let index = Index::load(path).unwrap_or_default();
    let older: BTreeSet<PathBuf> = index.superseded().map(|tape| path.join(tape)).collect();
    let is_current = |tape: &Result<PathBuf, AdapterError>| match tape {
        Ok(tape) if older.contains(tape) => {
            report.note(&format!(
                "skipped     {}: a newer tape has its events",
                shown(tape)
            ));
            false
        }
        _ => true,
    };
    tapes_at(path).into_iter().filter(is_current).collect()
}

/// The tape with its name. Its first event names the harness.
fn named(path: &Path) -> Result<TapeFile, AdapterError> {
    let at = |error: io::Error| tape_error(path, error);
    let mut tape = open_tape(path).map_err(at)?;
    let no_tape = || {
        AdapterError::new(ErrorCode::MalformedRecord)
            .under(Policy::Permissive)
            .path(path.to_string_lossy())
            .expected("a tape; `engram ingest` makes one of a log")
            .line(1)
    };
    if !begins_as_tape(&mut tape).map_err(at)? {
        return Err(no_tape());
    }
    let mut line = Vec::new();
    tape.read_until(b'\n', &mut line).map_err(at)?;
    let line = str::from_utf8(&line).map_err(|_| no_tape())?;
    let record = EventRecord::parse(line.trim_end_matches('\n'))
        .map_err(|error| no_tape().found(&error.to_string()))?;
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let is_stdin = path.as_os_str() == "-";
    let file = if is_stdin { "stdin" } else { &file };
    let session = record.source.session_id.filter(|_| !is_stdin);
    let of = session.map(|session| Identity {
        harness: record.source.harness.to_owned(),
        session_id: session.decode_lossy().into_owned(),
        agent_id: record
            .source
            .agent_id
            .map(|id| id.decode_lossy().into_owned()),
    });
    let name = [".tape.jsonl.zst", ".tape.jsonl", ".jsonl.zst", ".jsonl"]
        .into_iter()
        .find_map(|ending| file.strip_suffix(ending));
    Ok(TapeFile {
        name: format!("{}/{}", stem(record.source.harness), name.unwrap_or(file)),
        path: path.to_owned(),
        of,
    })
}

/// The second tape with a name gets `-2`, and so on.
fn number_equal_names(tapes: &mut [TapeFile]) {
    let mut taken: BTreeSet<String> = BTreeSet::new();
    for tape in &mut *tapes {
        let mut number = 1;
        let mut name = tape.name.clone();
        while !taken.insert(name.clone()) {
            number += 1;
            name = format!("{}-{number}", tape.name);
        }
        tape.name = name;
    }
    tapes.sort();
}

/// Checks a tape as `engram check` does.
///
/// # Errors
/// If it breaks a rule of the format, or cannot be read.
pub fn check(tape: &TapeFile) -> Result<(), AdapterError> {
    let mut first: Option<Violation> = None;
    let at = |error: io::Error| tape_error(&tape.path, error);
    check_stream(open_tape(&tape.path).map_err(at)?, &mut |violation| {
        first.get_or_insert(violation);
    })
    .map_err(at)?;
    match first {
        None => Ok(()),
        Some(violation) => Err(AdapterError::new(ErrorCode::MalformedRecord)
            .expected("a tape that `engram check` accepts")
            .found(&violation.what)
            .line(violation.line)
            .under(Policy::Permissive)
            .path(tape.path.to_string_lossy())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tapes_with_one_name_get_numbers() {
        let tape = |name: &str, path: &str| TapeFile {
            name: name.to_owned(),
            path: path.into(),
            of: None,
        };
        let mut tapes = vec![tape("a/x", "1"), tape("a/x", "2"), tape("a/x-2", "3")];
        number_equal_names(&mut tapes);
        let names: BTreeSet<&str> = tapes.iter().map(|tape| tape.name.as_str()).collect();
        assert_eq!(names.len(), 3);
        assert!(tapes.is_sorted());
    }
}
