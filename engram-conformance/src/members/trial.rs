//! One changed session: it is converted, and the tape must show that something is wrong.

use std::sync::Arc;

use engram_core::adapter::SideInfo;
use engram_core::policy::Policy;
use serde_json::Value;

use super::change::{Change, Kind};
use crate::convert::{ConversionError, default_policy, stream_form};
use crate::subject::Subject;

/// A session that is changed.
#[derive(Debug)]
pub struct Original {
    /// `recording/session`.
    pub place: String,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Information from files beside it.
    pub context: SideInfo,
    /// What the tape of the unchanged session reports.
    pub reported: Reported,
    /// True if the tape of the unchanged session reports nothing, and its records are lines: then what follows the changed one can be left
    /// out.
    pub can_be_cut: bool,
}

/// One change of a session.
#[derive(Debug, Clone)]
pub struct Trial {
    /// The session.
    pub original: Arc<Original>,
    /// The record type.
    pub record: String,
    /// The pointer in the record, with `*` for items and keys of maps.
    pub pattern: String,
    /// The line, from 1; 0 in a document.
    pub line: u64,
    /// Where the line ends.
    pub end: usize,
    /// The change.
    pub change: Change,
}

/// Why a change was not noticed as it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unnoticed {
    /// The tape is another one, and nothing shows that it may be wrong.
    OtherTape,
    /// The tape is the same.
    SameTape,
    /// Strict policy accepts what permissive policy reports.
    ByStrict,
    /// The adapter panics.
    Panic,
}

/// What a tape reports about its source.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Reported {
    /// Unknown members, unrecognized and malformed records.
    pub faults: u64,
    /// True if the source is not complete.
    pub is_incomplete: bool,
}

impl Reported {
    /// What the last event of a tape reports.
    pub fn by(tape: &str) -> Reported {
        let stop: Value = tape
            .lines()
            .last()
            .and_then(|line| serde_json::from_str(line).ok())
            .unwrap_or_default();
        let ledger = &stop["ledger"];
        let members = ledger["unknown_members"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|member| &member["count"]);
        let counts = members.chain([
            &ledger["unknown_members_more"],
            &ledger["unrecognized"],
            &ledger["malformed"],
        ]);
        Reported {
            faults: counts.filter_map(Value::as_u64).sum(),
            is_incomplete: stop["complete"] == Value::Bool(false),
        }
    }
}

impl Trial {
    /// True if the name is changed.
    pub fn is_rename(&self) -> bool {
        self.change.kind == Kind::Rename
    }

    /// The line, and what is changed.
    pub fn place(&self) -> String {
        let line = if self.line > 0 {
            format!(":{}", self.line)
        } else {
            String::new()
        };
        format!("{}{line}", self.original.place)
    }

    /// Converts the changed session. `with_strict`: under strict policy too.
    pub fn run(&self, subject: &Subject<'_>, with_strict: bool) -> Result<(), Unnoticed> {
        let all = self.original.bytes.len();
        let is_noticed =
            self.original.can_be_cut && self.end < all && self.is_noticed(subject, self.end)?;
        if !is_noticed && !self.is_noticed(subject, all)? {
            let tape = |bytes: &[u8]| self.tape(subject, bytes).map(|tape| without_input(&tape));
            let is_same =
                tape(&self.original.bytes) == tape(&self.change.apply(&self.original.bytes, all));
            return Err(if is_same {
                Unnoticed::SameTape
            } else {
                Unnoticed::OtherTape
            });
        }
        if with_strict {
            self.is_refused(subject)
        } else {
            Ok(())
        }
    }

    fn is_noticed(&self, subject: &Subject<'_>, end: usize) -> Result<bool, Unnoticed> {
        let before = &self.original.reported;
        match self.tape(subject, &self.change.apply(&self.original.bytes, end)) {
            Err(ConversionError::Panicked) => Err(Unnoticed::Panic),
            Err(_) => Ok(true),
            Ok(tape) => {
                let after = Reported::by(&tape);
                Ok(after.faults > before.faults || after.is_incomplete != before.is_incomplete)
            }
        }
    }

    /// The tape under permissive policy, or under the adapter's own policy if it has no streaming form.
    fn tape(&self, subject: &Subject<'_>, bytes: &[u8]) -> Result<String, ConversionError> {
        match subject.capabilities.stream {
            Some(stream) => stream_form(
                stream,
                bytes,
                Policy::Permissive,
                self.original.context.clone(),
            ),
            None => subject.string_form(bytes),
        }
    }

    fn is_refused(&self, subject: &Subject<'_>) -> Result<(), Unnoticed> {
        let Some(stream) = subject.capabilities.stream else {
            return Ok(());
        };
        let original = &self.original;
        if default_policy(stream, &original.bytes) != Policy::Strict {
            return Ok(());
        }
        let changed = self.change.apply(&original.bytes, original.bytes.len());
        match stream_form(
            stream,
            changed.as_slice(),
            Policy::Strict,
            original.context.clone(),
        ) {
            Err(ConversionError::Panicked) => Err(Unnoticed::Panic),
            Err(_) => Ok(()),
            Ok(_) => Err(Unnoticed::ByStrict),
        }
    }
}

/// A tape without the hash and size of its source.
fn without_input(tape: &str) -> String {
    let (rest, stop) = tape.trim_end().rsplit_once('\n').unwrap_or_default();
    let mut stop: Value = serde_json::from_str(stop).unwrap_or_default();
    if let Some(stop) = stop.as_object_mut() {
        stop.remove("input");
    }
    format!("{rest}\n{stop}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_the_ledger_reports_counts() {
        let tape = r#"{"k":"x"}
{"ledger":{"unrecognized":1,"malformed":2,"unknown_members":[{"count":3},{"count":4}],"unknown_members_more":5},"complete":false}
"#;
        assert_eq!(
            Reported::by(tape),
            Reported {
                faults: 15,
                is_incomplete: true
            }
        );
        assert_eq!(Reported::by(""), Reported::default());
    }

    #[test]
    fn tapes_of_other_sources_are_equal_without_the_input() {
        assert_eq!(
            without_input("{\"a\":1}\n{\"b\":2,\"input\":{\"bytes\":3}}\n"),
            without_input("{\"a\":1}\n{\"b\":2,\"input\":{}}\n")
        );
        assert_ne!(
            without_input("{\"a\":1}\n{\"b\":2}\n"),
            without_input("{\"a\":2}\n{\"b\":2}\n")
        );
    }
}
