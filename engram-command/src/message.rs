//! Errors as sentences for people: where, what is wrong, and what to do next.

use std::io::{self, ErrorKind};
use std::path::Path;

use engram_adapters::homes::unread_program_of;
use engram_core::error::{AdapterError, ErrorCode};
use engram_core::policy::Policy;

/// How the excerpt of a tape begins.
const TAPE_EXCERPT: &str = "{\"seq\":0,\"t\":";

/// The error in one sentence, without its code.
pub fn sentence(error: &AdapterError) -> String {
    match place(error) {
        Some(place) => format!("{place}: {}", what(error)),
        None => what(error),
    }
}

/// The path with line and pointer, as far as they are known.
fn place(error: &AdapterError) -> Option<String> {
    let path = match error.path.as_deref()? {
        "-" => "standard input",
        path => path,
    };
    let line = error
        .line
        .map(|line| format!(", line {line}"))
        .unwrap_or_default();
    let pointer = error
        .pointer
        .as_deref()
        .map(|pointer| format!(", at {pointer}"))
        .unwrap_or_default();
    Some(format!("{path}{line}{pointer}"))
}

fn what(error: &AdapterError) -> String {
    let found = &*quoted(error.found.as_deref().unwrap_or_default());
    match error.code {
        ErrorCode::Io | ErrorCode::NotFound => file_system(error),
        ErrorCode::UnknownHarness => unknown_harness(error, found),
        ErrorCode::AmbiguousHarness => {
            format!("several adapters recognise it ({found}); choose one with `--adapter`")
        }
        ErrorCode::UnknownHarnessVersion => unknown_version(error),
        ErrorCode::UnknownAdapter => {
            format!(
                "there is no adapter `{found}`; choose {}",
                error
                    .expected
                    .as_deref()
                    .unwrap_or("one that `engram adapters` lists")
            )
        }
        ErrorCode::BadPrices => format!("{}; {}", found, ErrorCode::BadPrices.explain()),
        _ => general(error),
    }
}

/// An excerpt with its quotation marks as the log has them. A sentence is not inside quotation marks, so that they need no sign before them.
fn quoted(excerpt: &str) -> String {
    excerpt.replace("\\\"", "\"").replace("\\'", "'")
}

fn unknown_harness(error: &AdapterError, found: &str) -> String {
    if found.starts_with(TAPE_EXCERPT) {
        return "this is a tape already, not a log; `engram check` and `engram stats` read tapes"
            .to_owned();
    }
    let path = error.path.as_deref().map(Path::new);
    if let Some(program) = path.and_then(unread_program_of) {
        return format!(
            "{program} keeps its sessions in such files, and no adapter reads them; `engram adapters` lists the supported harnesses"
        );
    }
    if let Some(harness) = error.harness {
        return format!(
            "{harness} keeps its sessions in such files, but this is no log of a known form (it begins with `{found}`)"
        );
    }
    match (error.expected.as_deref(), found) {
        (Some("a session"), "") => "no session found; `engram adapters` lists the supported harnesses".to_owned(),
        (Some("a session"), found) => format!("no session found: {found}"),
        (_, "" | "nothing but white space") => "the file is empty, so it is not a log".to_owned(),
        (Some("UTF-8"), _) => "not a log: it has bytes that are no text in UTF-8, as images and other binary files have".to_owned(),
        (_, found) => format!("not the log of a supported harness (it begins with `{found}`); `engram adapters` lists them"),
    }
}

fn unknown_version(error: &AdapterError) -> String {
    let which = match (error.harness, error.version.as_deref()) {
        (Some(harness), Some(version)) => format!("{harness} {version}"),
        (Some(harness), None) => format!("this version of {harness}"),
        _ => "this version".to_owned(),
    };
    let distance = match (error.older_recorded, error.newer_recorded) {
        (Some(older), Some(newer)) => {
            format!(" (between {older} and {newer}, which write different schemas)")
        }
        (Some(older), None) => format!(" (newer than {older}, the newest recorded version)"),
        (None, Some(newer)) => format!(" (older than {newer}, the oldest recorded version)"),
        (None, None) => error
            .found
            .as_deref()
            .map(|found| format!(" (found {found})"))
            .unwrap_or_default(),
    };
    // Only versions that are newer than this program can be known to a newer one.
    let is_newer = error.older_recorded.is_some() && error.newer_recorded.is_none();
    let advice = match (is_newer, error.policy) {
        (true, Policy::Strict) => {
            "; upgrade engram, or convert it anyway with `--policy permissive`"
        }
        (true, Policy::Permissive) => "; upgrade engram",
        (false, Policy::Strict) => "; convert it anyway with `--policy permissive`",
        (false, Policy::Permissive) => "",
    };
    format!("{which} has not been tested{distance}{advice}")
}

fn general(error: &AdapterError) -> String {
    let is_strict = error.policy == Policy::Strict;
    let advice = if is_strict {
        error.code.explain_strict()
    } else {
        error.code.explain().to_owned()
    };
    match (
        error.expected.as_deref(),
        error.found.as_deref().map(quoted),
    ) {
        (Some(expected), Some(found)) => format!("expected {expected}, found `{found}`: {advice}"),
        (Some(expected), None) => format!("expected {expected}: {advice}"),
        (None, Some(found)) => format!("{found}: {advice}"),
        (None, None) => advice,
    }
}

/// What the file system reported, if its error has a number that is known.
pub fn kind_of(error: &AdapterError) -> Option<ErrorKind> {
    let number = error
        .found
        .as_deref()?
        .rsplit_once("(os error ")?
        .1
        .trim_end_matches(')')
        .parse()
        .ok()?;
    Some(io::Error::from_raw_os_error(number).kind())
}

/// True if there is no room any more: other files fail for the same reason.
pub fn is_full(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

/// What the file system reported, in plain words where its error has a number that is known.
fn file_system(error: &AdapterError) -> String {
    let found = error
        .found
        .as_deref()
        .unwrap_or("reading or writing failed");
    match kind_of(error) {
        Some(ErrorKind::NotFound) => "no such file or directory".to_owned(),
        Some(ErrorKind::PermissionDenied) => "permission denied; check who may read or write it".to_owned(),
        Some(ErrorKind::NotADirectory) => "a part of this path is a file, not a directory".to_owned(),
        Some(ErrorKind::IsADirectory) => "this is a directory, not a file".to_owned(),
        Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => "the disk is full".to_owned(),
        Some(ErrorKind::FileTooLarge) => {
            "the file may not grow any more: there is a limit for this process (`ulimit -f`) or for files of this system".to_owned()
        }
        Some(ErrorKind::ReadOnlyFilesystem) => "the file system is read-only".to_owned(),
        _ => match error.expected.as_deref() {
            Some(expected) => format!("expected {expected}, found {found}"),
            None => found.to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn io(kind: i32) -> String {
        sentence(&AdapterError::from(io::Error::from_raw_os_error(kind)).path("a.jsonl"))
    }

    #[cfg(unix)]
    #[test]
    fn what_the_file_system_reports_is_in_plain_words() {
        assert_eq!(io(2), "a.jsonl: no such file or directory");
        assert!(io(13).starts_with("a.jsonl: permission denied;"));
        assert_eq!(
            io(20),
            "a.jsonl: a part of this path is a file, not a directory"
        );
        let own = AdapterError::new(ErrorCode::Io).found("the store has changed");
        assert_eq!(sentence(&own), "the store has changed");
    }

    #[test]
    fn a_tape_and_an_empty_file_are_named_as_what_they_are() {
        let unknown = |found: &str| {
            let error = AdapterError::new(ErrorCode::UnknownHarness)
                .expected("the log of a supported harness")
                .found(found)
                .path("-");
            sentence(&error)
        };
        assert!(
            unknown("{\"seq\":0,\"t\":\"2026-01-01T00:00:00Z\"").contains("this is a tape already")
        );
        assert_eq!(
            unknown("nothing but white space"),
            "standard input: the file is empty, so it is not a log"
        );
        assert!(unknown("{\"x\": '1'}").contains("(it begins with `{\"x\": '1'}`)"));
        assert!(
            unknown("hello")
                .contains("not the log of a supported harness (it begins with `hello`)")
        );
    }

    #[test]
    fn the_policy_decides_whether_the_other_one_is_advice() {
        let mut error = AdapterError::new(ErrorCode::UnknownHarnessVersion);
        (error.harness, error.version, error.older_recorded) =
            (Some("codex"), Some("9.9.9".to_owned()), Some("1.0.0"));
        let strict = sentence(&error);
        assert_eq!(
            strict,
            "codex 9.9.9 has not been tested (newer than 1.0.0, the newest recorded version); upgrade engram, or convert it anyway with \
             `--policy permissive`"
        );
        assert!(!sentence(&error.under(Policy::Permissive)).contains("permissive"));
    }

    #[test]
    fn only_a_version_that_is_newer_than_all_is_a_reason_to_upgrade() {
        for (older, newer, what) in [
            (
                Some("1.0.0"),
                None,
                "(newer than 1.0.0, the newest recorded version); upgrade engram, or convert it anyway with",
            ),
            (
                Some("1.0.0"),
                Some("3.0.0"),
                "(between 1.0.0 and 3.0.0, which write different schemas); convert it anyway with",
            ),
            (
                None,
                Some("3.0.0"),
                "(older than 3.0.0, the oldest recorded version); convert it anyway with",
            ),
            (
                None,
                None,
                "codex 2.0.0 has not been tested; convert it anyway with",
            ),
        ] {
            let mut error = AdapterError::new(ErrorCode::UnknownHarnessVersion);
            (error.harness, error.version) = (Some("codex"), Some("2.0.0".to_owned()));
            (error.older_recorded, error.newer_recorded) = (older, newer);
            let text = sentence(&error);
            assert!(
                text.contains(what)
                    && text.contains("upgrade") == (older.is_some() && newer.is_none()),
                "{text}"
            );
        }
    }

    #[test]
    fn every_code_has_a_sentence() {
        for code in ErrorCode::ALL {
            let text = sentence(&AdapterError::new(code).path("a").line(3));
            assert!(text.starts_with("a, line 3: ") && text.len() > 20, "{text}");
        }
    }
}
