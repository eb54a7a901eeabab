//! All tapes of a directory together: what several sessions have is marked as `replay` on all tapes but one.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};

use engram_command::report::shown;
use engram_command::summary::count;
use engram_core::event::{Author, Event, EventRef, Meta};
use engram_core::keys::hash64;
use engram_core::sink::EventSink;
use engram_core::tape::replay;
use engram_core::text::Text;

use crate::tapes::open_tape;

/// What a home has once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fact {
    Response,
    Call,
    Prompt,
}

/// The facts of all tapes so far that no tape marks as replay.
#[derive(Debug, Default)]
pub struct Home {
    tapes: Vec<PathBuf>,
    session: u64,
    /// By a hash of the fact: the first tape that has it, and its session.
    first: HashMap<u64, (usize, u64)>,
    /// How many facts the current tape has that an earlier tape of another session has, too.
    twice: BTreeMap<(usize, Fact), u64>,
}

impl Home {
    /// Reads a tape, and returns what is wrong with it.
    ///
    /// # Errors
    /// If the tape cannot be read.
    pub fn add(&mut self, tape: &Path) -> io::Result<Vec<String>> {
        self.tapes.push(tape.to_owned());
        self.twice.clear();
        replay(open_tape(tape)?, self)?;
        let twice = self.twice.iter().map(|((other, fact), times)| {
            let what = match fact {
                Fact::Response => "response",
                Fact::Call => "call",
                Fact::Prompt => "prompt",
            };
            format!(
                "{} that {} has, too, the tape of another session, and without `replay`",
                count(*times, what),
                shown(&self.tapes[*other])
            )
        });
        Ok(twice.collect())
    }
}

impl EventSink for Home {
    fn event(&mut self, record: &EventRef<'_>) -> io::Result<()> {
        if let Event::Meta(Meta::TapeStart(_)) = record.event {
            self.session = hash64(record.source.session_id.map(owned));
        }
        let Some((fact, key)) = fact(record) else {
            return Ok(());
        };
        let here = (self.tapes.len() - 1, self.session);
        let (tape, session) = *self.first.entry(key).or_insert(here);
        // Captures and older tapes of one session have the same facts.
        if session != self.session {
            *self.twice.entry((tape, fact)).or_default() += 1;
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The fact of an event and its key. Ids are not unique: some providers give all responses one. So the time of the record counts, too.
///
/// A store may use the hash of a prompt as its id, and the minute as its time: two sessions with the same words in one minute have both in
/// common. So a prompt whose time is a whole minute is no fact.
fn fact(record: &EventRef<'_>) -> Option<(Fact, u64)> {
    if record.replay || record.t_basis.is_some() {
        return None;
    }
    let (fact, id, more) = match record.event {
        Event::Meta(Meta::Usage(usage)) => {
            let of = hash64((usage.tokens, usage.part.map(owned)));
            (Fact::Response, usage.message_id?, of)
        }
        Event::ToolCall(call) => (Fact::Call, call.call_id?, 0),
        Event::MsgIn(message) if message.by == Author::Person && !is_whole_minute(record.t) => (
            Fact::Prompt,
            record.origin.id?,
            hash64(message.text.map(owned)),
        ),
        _ => return None,
    };
    let key = (fact as u8, record.source.harness, owned(id), record.t, more);
    Some((fact, hash64(key)))
}

/// True for a time that may be of a clock without seconds.
fn is_whole_minute(time: &str) -> bool {
    time.trim_end_matches(['0', '.', 'Z']).ends_with(':')
}

fn owned(text: Text<'_>) -> String {
    text.decode_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tape(session: &str, more: &str) -> String {
        let line = |seq: u64, t: u64, rest: &str| {
            format!(
                "{{\"seq\":{seq},\"t\":\"2026-01-02T03:04:0{t}Z\",\"k\":{}\n",
                rest.replacen(
                    ',',
                    &format!(",\"source\":{{\"harness\":\"toy\",\"session_id\":\"{session}\"}},"),
                    1
                )
            )
        };
        let start = r#""meta","label":"tape.start","schema":"engram.tape/1","adapter":{"id":"toy","version":"1"},"harness":{"family":"toy"},"policy":"strict","anchors":"a","support":"tested","coverage":{"meta":"none","msg.in":"none","msg.out":"none","tool.call":"none","tool.result":"none","code.read":"none","code.edit":"none","span.link":"none"},"degraded":[]}"#;
        let call = format!(r#""tool.call","tool":"a","kind":"read","call_id":"c"{more}}}"#);
        [line(0, 0, start), line(1, 1, &call)].concat()
    }

    /// What is wrong with the second of two tapes.
    fn findings(first: &str, second: &str) -> usize {
        let directory = tempfile::tempdir().unwrap();
        let mut home = Home::default();
        let found = [first, second].map(|tape| {
            let path = directory.path().join("x.tape.jsonl");
            std::fs::write(&path, tape).unwrap();
            home.add(&path).unwrap().len()
        });
        assert_eq!(found[0], 0);
        found[1]
    }

    #[test]
    fn the_same_words_in_one_minute_are_no_copy() {
        assert!(
            ["2026-01-02T03:04:00Z", "2026-01-02T03:04:00.000Z"].map(is_whole_minute) == [true; 2]
        );
        assert!(
            ["2026-01-02T03:04:10Z", "2026-01-02T03:04:00.010Z"].map(is_whole_minute) == [false; 2]
        );
    }

    #[test]
    fn a_fact_of_two_sessions_that_is_no_replay_is_found() {
        let first = tape("s", "");
        assert_eq!(findings(&first, &tape("t", "")), 1);
        assert_eq!(findings(&first, &tape("t", r#","replay":true"#)), 0);
        // Another capture of the same session, and the same id at another time.
        assert_eq!(findings(&first, &first), 0);
        assert_eq!(
            findings(&first, &tape("t", "").replace("04:01", "04:02")),
            0
        );
    }
}
