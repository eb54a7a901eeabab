//! What a run prints (`--output-format stream-json` or `json`), and what is decided about it. A line has a message whose parts are named as
//! in Anthropic's interface.

use std::collections::HashSet;

use engram_core::emit::Fault;
use engram_core::keys::{KeyMap, PlaceMap, hash64, key_map};
use engram_core::steps::Check;

use super::format::PrintedKind;
use super::readers::{Block, Printed, PrintedCounts, Said};
use crate::shared::printed_parts::PrintedParts;
use crate::shared::value::{Field, Value, count, elements, is_true, raw_str, required, text};

/// Where the parts of a message are.
pub(super) const CONTENT: &str = "/message/content";

/// The type of a line, as the member table names it.
///
/// # Errors
/// [`Fault::Unrecognized`] if the type is not known.
pub(super) fn kind_of(value: Value<'_>) -> Result<PrintedKind, Fault> {
    let parts = [value.member("type"), value.member("subtype")];
    let name: Vec<&str> = parts.into_iter().flatten().map(Value::raw_str).collect();
    let name = name.join("/");
    PrintedKind::named(&name).ok_or_else(|| Fault::unrecognized(&name))
}

/// The key of something in a session.
pub(super) fn key_in(session: Field<'_>, said: &str) -> u64 {
    hash64((raw_str(session), said))
}

/// The parts of a message.
pub(super) fn blocks<'a>(line: &Printed<'a>) -> impl Iterator<Item = Block<'a>> {
    elements(Said::lenient_opt(line.message()).content()).map(Block::lenient)
}

/// How an error of the model's provider begins, which is printed like an answer.
const FAILED: &str = "[API Error: ";

/// True for a line without tokens.
fn is_uncounted(line: &Printed<'_>) -> bool {
    let said = Said::lenient_opt(line.message());
    count(PrintedCounts::lenient_opt(said.usage()).output()) == Some(0)
}

/// A text that decides something. The session is a key, and so is the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Note {
    number: usize,
    session: u64,
    text: u64,
    what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    /// An answer.
    Answer,
    /// A run ends, and says an answer or an error again. It is the harness's if the run has failed, or if no model was asked.
    End(Option<Own>),
}

/// What the harness says in the place of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Own {
    Error,
    Notice,
}

/// What is decided, by the numbers of records.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Answers that are the harness's.
    pub own: PlaceMap<usize, Own>,
    /// Ends that say again what an answer says.
    pub again: PlaceMap<usize, ()>,
    /// The keys of calls that were not allowed.
    pub denied: HashSet<u64>,
}

/// The notes of a capture, and what follows from them.
#[derive(Debug, Default)]
pub(super) struct Notes {
    list: Vec<Note>,
    pub plan: Plan,
    pub parts: PrintedParts,
}

impl Notes {
    /// Notes a line.
    pub fn add(&mut self, number: usize, kind: PrintedKind, line: &Printed<'_>) {
        let stream = || key_in(line.session_id(), raw_str(line.parent_call()));
        let (said, what) = match kind {
            PrintedKind::StreamEvent => {
                if let Some(part) = line.event() {
                    let key = hash64(line.object().raw());
                    self.parts.part(stream(), (number, key), part);
                }
                return;
            }
            PrintedKind::Assistant => {
                let stream = stream();
                for block in blocks(line) {
                    self.parts.line(stream, block.text(), block.thinking());
                }
                let said = blocks(line).find_map(|block| block.text());
                // 0.21.10 ends such a run like another one.
                if raw_str(said).starts_with(FAILED) && is_uncounted(line) {
                    self.plan.own.insert(number, Own::Error);
                }
                (said, What::Answer)
            }
            PrintedKind::Result => {
                let error = line.error().and_then(|error| error.member("message"));
                let own = match (is_true(line.is_error()), count(line.turns())) {
                    (true, _) => Some(Own::Error),
                    (false, Some(0)) => Some(Own::Notice),
                    (false, _) => None,
                };
                let denied = elements(line.denials()).map(|denial| denial.member("tool_use_id"));
                let keys = denied.map(|call| key_in(line.session_id(), raw_str(call)));
                self.plan.denied.extend(keys);
                (error.or(line.answer()), What::End(own))
            }
            _ => return,
        };
        if let Some(said) = text(said) {
            self.list.push(Note {
                number,
                session: hash64(raw_str(line.session_id())),
                text: hash64(said.raw()),
                what,
            });
        }
    }

    /// Decides about all lines.
    pub fn decide(&mut self) {
        self.parts.end();
        let mut last: KeyMap<Note> = key_map();
        for note in std::mem::take(&mut self.list) {
            let What::End(own) = note.what else {
                last.insert(note.session, note);
                continue;
            };
            let same = last
                .get(&note.session)
                .filter(|last| last.text == note.text);
            if let Some(answer) = same {
                self.plan.again.insert(note.number, ());
                self.plan.own.extend(own.map(|own| (answer.number, own)));
            }
        }
    }
}

/// Checks a part of a message.
///
/// # Errors
/// The fault of a part that cannot be converted.
pub(super) fn check_block(value: Value<'_>, check: &Check<'_>) -> Result<(), Fault> {
    let block = Block::strict(value, "")?;
    match raw_str(block.kind()) {
        "text" => required(block.text(), "/text"),
        "thinking" => required(block.thinking(), "/thinking"),
        "tool_use" => required(block.name(), "/name"),
        "tool_result" => required(block.call_id(), "/tool_use_id"),
        other => check.unknown_block(other),
    }
}
