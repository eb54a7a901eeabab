//! The logs of other sessions of the project that had the lines of this one before it.
//!
//! A session that is resumed in the terminal, or moved to the background, may go on in a file of its own that begins with the lines of the
//! session before, under their ids and times. Take two such files, `a` and `b`. Lines that only `a` has are later than lines that only `b`
//! has: then `a` is the copy. If all lines of `b` are in `a` too, then `b` is the original.

use std::collections::HashSet;
use std::path::Path;

use engram_core::adapter::{LogRecord, OlderLog};

use crate::claude_code::check::key;
use crate::claude_code::notes::{NO_TIME, NONE};
use crate::claude_code::readers::Line;
use crate::shared::neighbours::{Beginnings, Neighbours};
use crate::shared::remembered::Remembered;
use crate::shared::time::millis;
use crate::shared::value::{StructuralIndex, parse, raw_str, text};

/// The most logs that one log is compared with.
const MAX_LOGS: usize = 16;
/// The most records of a log that are compared.
const MAX_RECORDS: usize = 1 << 20;

/// The files of a project, by the first id in each file.
static FIRST_IDS: Beginnings = Beginnings::new(first_id);

/// Logs that many others are compared with.
static LOGS: Remembered<Log> = Remembered::new();

/// The older logs beside the one with this name, of this session. Only those are recorded as read.
pub(super) fn older_logs(
    neighbours: &Neighbours,
    (name, session): (&str, &str),
    records: &[LogRecord],
) -> Vec<OlderLog> {
    let Some(first) = records.first() else {
        return Vec::new();
    };
    let names = neighbours.names_beginning(&FIRST_IDS, first.id, ".jsonl");
    let mut found = Vec::new();
    for other in names
        .iter()
        .filter(|other| *other != name && !other.starts_with("agent-"))
        .take(MAX_LOGS)
    {
        let path = Path::new(other);
        let Some(log) = neighbours.folded(path, &LOGS, |log| log.records.len(), Log::add) else {
            continue;
        };
        if log.is_older(session, records) {
            let _ = neighbours.digest(path);
            found.push(OlderLog {
                session_id: log.session.clone(),
                records: log.records.iter().map(|record| record.id).collect(),
            });
        }
    }
    let shared = |log: &OlderLog| {
        records
            .iter()
            .filter(|record| log.records.contains(&record.id))
            .count()
    };
    found.sort_by_cached_key(|log| (std::cmp::Reverse(shared(log)), log.session_id.clone()));
    found
}

/// The first id of a line in the beginning of a file.
fn first_id(beginning: &[u8]) -> Option<u64> {
    let mut index = StructuralIndex::default();
    beginning.split(|byte| *byte == b'\n').find_map(|line| {
        let line = parse(std::str::from_utf8(line).ok()?, &mut index).ok()?;
        Some(key(Line::lenient(line).uuid())).filter(|id| *id != NONE)
    })
}

/// What a log of the project says of itself.
#[derive(Debug, Default)]
struct Log {
    session: String,
    records: Vec<LogRecord>,
    /// It shows itself which of its lines are copies, or has lines from before its last prompt was queued, which may be copies.
    has_copies: bool,
    /// When a prompt was queued or sent last, in milliseconds since the epoch.
    queued: Option<i64>,
}

impl Log {
    fn add(&mut self, line: &[u8]) {
        let mut index = StructuralIndex::default();
        let Some(line) = std::str::from_utf8(line)
            .ok()
            .and_then(|line| parse(line.trim_end(), &mut index).ok())
        else {
            return;
        };
        let line = Line::lenient(line);
        let time = millis(raw_str(line.timestamp())).unwrap_or(NO_TIME);
        if raw_str(line.kind()) == "queue-operation" {
            self.queued = Some(time);
        }
        let id = key(line.uuid());
        if id == NONE || self.records.len() >= MAX_RECORDS {
            return;
        }
        if self.session.is_empty() {
            self.session = text(line.session_id())
                .map(|id| id.decode_lossy().into_owned())
                .unwrap_or_default();
        }
        let is_foreign = text(line.request_session_id())
            .is_some_and(|asked| asked.decode_lossy() != self.session);
        let is_older = time != NO_TIME && self.queued.is_some_and(|queued| time < queued);
        self.has_copies |= line.forked_from().is_some() || is_foreign || is_older;
        self.records.push(LogRecord { id, time });
    }

    /// True if this log had the lines before a session with these records.
    fn is_older(&self, session: &str, records: &[LogRecord]) -> bool {
        if self.has_copies || self.session.is_empty() || self.session == session {
            return false;
        }
        match (
            first_not_in(records, &self.records),
            first_not_in(&self.records, records),
        ) {
            (Some(own), Some(other)) => other < own,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            // One is a whole copy of the other, and nothing tells which.
            (None, None) => *self.session < *session,
        }
    }
}

/// The time of the first record that another log does not have.
fn first_not_in(records: &[LogRecord], others: &[LogRecord]) -> Option<i64> {
    let known: HashSet<u64> = others.iter().map(|record| record.id).collect();
    records
        .iter()
        .find(|record| record.time != NO_TIME && !known.contains(&record.id))
        .map(|record| record.time)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(session: &str, lines: &[&str]) -> Log {
        let mut log = Log::default();
        for line in lines {
            log.add(line.replace("SESSION", session).as_bytes());
        }
        log
    }

    fn line(id: u32) -> String {
        format!(
            r#"{{"type":"user","uuid":"u{id}","timestamp":"2026-01-01T00:00:0{id}.000Z","sessionId":"SESSION"}}"#
        )
    }

    #[test]
    fn the_log_that_has_no_later_line_is_older() {
        let lines = [1, 2, 3, 4].map(line);
        let first = log("b", &[&lines[0], &lines[1]]);
        let resumed = log("a", &[&lines[0], &lines[1], &lines[3]]);
        let continued = log("c", &[&lines[0], &lines[1], &lines[2]]);
        assert!(first.is_older("a", &resumed.records) && !resumed.is_older("b", &first.records));
        assert!(
            continued.is_older("a", &resumed.records) && !resumed.is_older("c", &continued.records)
        );
        let copy = log("d", &[&lines[0], &lines[1]]);
        assert!(first.is_older("d", &copy.records) && !copy.is_older("b", &first.records));
        assert!(
            !first.is_older("b", &resumed.records),
            "a file of the same session"
        );
    }

    #[test]
    fn a_log_that_shows_its_copies_is_older_than_none() {
        let lines = [1, 2, 3].map(line);
        let own = log("a", &[&lines[0], &lines[2]]);
        let forked = lines[0].replacen('{', r#"{"forkedFrom":{"sessionId":"x"},"#, 1);
        let requested = lines[1].replacen('{', r#"{"requestSessionId":"x","#, 1);
        let queued = r#"{"type":"queue-operation","operation":"enqueue","timestamp":"2026-01-01T00:00:09.000Z"}"#;
        for log in [
            log("b", &[&forked]),
            log("b", &[&lines[0], &requested]),
            log("b", &[queued, &lines[0]]),
        ] {
            assert!(log.has_copies && !log.is_older("a", &own.records));
        }
        assert!(log("b", &[&lines[0]]).is_older("a", &own.records));
    }

    #[test]
    fn the_first_line_with_an_id_names_a_log() {
        let beginning = format!("{{\"type\":\"mode\"}}\n{}\n{{\"uuid\":\"cut", line(1));
        assert_eq!(
            first_id(beginning.as_bytes()),
            Some(key(parse("\"u1\"", &mut StructuralIndex::default()).ok()))
        );
        assert_eq!(first_id(b"{\"uuid\":\"cut"), None);
    }
}
