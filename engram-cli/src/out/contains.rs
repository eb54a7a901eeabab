//! Whether a tape has every event of another one. Numbers of events do not count, because an event may have got more before it.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use engram_adapters::open;
use engram_core::keys::hash64;
use engram_core::tape::Members;

/// Members that change with the number of events before.
const NUMBERS: [&str; 2] = ["seq", "parent"];

/// The events of a tape: how often each occurs. Its frame (`tape.start`, `tape.stop`) does not count.
#[derive(Default)]
struct Events {
    counts: HashMap<u64, u64>,
    has_start: bool,
    has_stop: bool,
}

/// True if `old` is a whole tape, and each of its events is in `new` at least as often.
///
/// # Errors
/// As the file system gives them.
pub fn has_events_of(new: &Path, old: &Path) -> io::Result<bool> {
    let Some(mut missing) = events(old)?.filter(|events| events.has_start && events.has_stop) else { return Ok(false) };
    let Some(there) = events(new)? else { return Ok(false) };
    missing.counts.retain(|event, count| there.counts.get(event).is_none_or(|there| there < count));
    Ok(missing.counts.is_empty())
}

/// The events of the tape at `path`; `None` if a line is not an event.
fn events(path: &Path) -> io::Result<Option<Events>> {
    let mut tape = BufReader::with_capacity(256 << 10, open::content(File::open(path)?)?);
    let (mut events, mut line) = (Events::default(), String::new());
    loop {
        line.clear();
        match tape.read_line(&mut line) {
            Ok(0) => return Ok(Some(events)),
            Ok(_) => {}
            // Not text, or not what its compression says.
            Err(error) if matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof) => return Ok(None),
            Err(error) => return Err(error),
        }
        let Ok(members) = Members::of(line.trim_end_matches('\n')) else { return Ok(None) };
        match members.get("label").map(|label| label.get()) {
            Some("\"tape.start\"") => events.has_start = true,
            Some("\"tape.stop\"") => events.has_stop = true,
            _ => *events.counts.entry(hash(&members)).or_default() += 1,
        }
    }
}

fn hash(members: &Members<'_>) -> u64 {
    let counted = members.0.iter().filter(|(key, _)| !NUMBERS.contains(key));
    hash64(counted.map(|(key, value)| (*key, value.get())).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const START: &str = r#"{"seq":0,"k":"meta","label":"tape.start"}"#;
    const STOP: &str = r#"{"seq":9,"k":"meta","label":"tape.stop"}"#;

    fn has(new: &[&str], old: &[&str]) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, lines: &[&str]| {
            let path = folder.path().join(name);
            fs::write(&path, lines.join("\n") + "\n").unwrap();
            path
        };
        has_events_of(&write("new", new), &write("old", old)).unwrap()
    }

    #[test]
    fn events_are_compared_without_their_numbers() {
        let old = [START, r#"{"seq":1,"k":"a","parent":0}"#, STOP];
        assert!(has(&[START, r#"{"seq":1,"k":"b"}"#, r#"{"seq":2,"k":"a","parent":1}"#, STOP], &old));
        assert!(!has(&[START, r#"{"seq":1,"k":"b"}"#, STOP], &old));
        assert!(!has(&[START, r#"{"seq":1,"k":"a","args":{"parent":0}}"#, STOP], &old));
    }

    #[test]
    fn an_event_that_occurs_twice_must_occur_twice() {
        let event = r#"{"seq":1,"k":"a"}"#;
        assert!(!has(&[START, event, STOP], &[START, event, event, STOP]));
    }

    #[test]
    fn only_a_whole_tape_can_be_contained() {
        let new = [START, STOP];
        for old in [&["notes of a person"][..], &[START], &[STOP], &["{}"]] {
            assert!(!has(&new, old), "{old:?}");
        }
        assert!(has(&new, &new));
    }
}
