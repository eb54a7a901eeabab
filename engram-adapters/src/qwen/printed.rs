//! What a run prints (`--output-format stream-json` or `json`), and what is decided about it: steps 1 and 2. A line has a message whose parts are named as
//! in Anthropic's interface.

use std::collections::HashSet;

use engram_core::adapter::SessionInit;
use engram_core::emit::{Fault, Pointer};
use engram_core::keys::{KeyMap, PlaceMap, hash64, key_map};
use engram_core::ledger::Outcome;
use engram_core::steps::{Check, Conversion, Emitter, Item, Record};

use super::emit::printed::{Run, set_header};
use super::format::PrintedKind;
use super::readers::{Block, Printed, PrintedCounts, Said};
use crate::shared::by_session::BySession;
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

/// The conversion of what runs print. Several may print to one file: nothing that one session says reaches another.
pub(super) struct Capture {
    /// All lines are one list.
    is_list: bool,
    notes: Vec<Note>,
    plan: Plan,
    runs: BySession<Run>,
}

impl Capture {
    /// Nothing is read yet.
    pub fn boxed(init: &SessionInit<'_>) -> Box<dyn Conversion> {
        Box::new(Capture {
            is_list: init.head.text().trim_start().starts_with('['),
            notes: Vec::new(),
            plan: Plan::default(),
            runs: BySession::new(Run::default(), Run::default),
        })
    }

    fn note(&mut self, number: usize, kind: PrintedKind, line: &Printed<'_>) {
        let (said, what) = match kind {
            PrintedKind::Assistant => {
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
            self.notes.push(Note {
                number,
                session: hash64(raw_str(line.session_id())),
                text: hash64(said.raw()),
                what,
            });
        }
    }
}

impl Conversion for Capture {
    fn repeats_are_exact(&self) -> bool {
        true
    }

    fn sessions_are_apart(&self) -> bool {
        !self.is_list
    }

    /// With `json` all lines are one list.
    fn items<'a>(
        &mut self,
        document: Value<'a>,
        _: &mut Check<'_>,
    ) -> Result<Vec<Item<'a>>, Fault> {
        let items = document.elements().enumerate();
        Ok(items.map(|(n, item)| Item::of_list(item, "", n)).collect())
    }

    fn check(&mut self, record: &Record<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
        let kind = kind_of(record.value)?;
        let line = Printed::strict(record.value, "")?;
        if let Some(message) = line.message() {
            let message = Said::strict(message, "/message")?;
            for (n, block) in elements(message.content()).enumerate() {
                check_block(block, check)
                    .map_err(|fault| fault.within(Pointer::Item(CONTENT, n)))?;
            }
        }
        if let Some(version) = text(line.version()) {
            check.version(&version.decode_lossy())?;
        }
        check.members(kind.name(), record.value, Pointer::Root, &|_| None);
        check.identify();
        self.note(record.number, kind, &line);
        Ok(())
    }

    fn decide(&mut self) {
        let mut last: KeyMap<Note> = key_map();
        for note in std::mem::take(&mut self.notes) {
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

    fn emit(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
        self.envelope(record, out);
        // The check has found its type.
        match kind_of(record.value) {
            Ok(kind) => self.runs.current().line(&self.plan, kind, record, out),
            Err(_) => Outcome::Mapped,
        }
    }

    fn envelope(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) {
        let line = Printed::lenient(record.value);
        if let Some(session) = text(line.session_id()) {
            self.runs.switch_to(&session.decode_lossy());
        }
        set_header(&line, out);
    }
}

fn check_block(value: Value<'_>, check: &Check<'_>) -> Result<(), Fault> {
    let block = Block::strict(value, "")?;
    match raw_str(block.kind()) {
        "text" => required(block.text(), "/text"),
        "thinking" => required(block.thinking(), "/thinking"),
        "tool_use" => required(block.name(), "/name"),
        "tool_result" => required(block.call_id(), "/tool_use_id"),
        other => check.unknown_block(other),
    }
}
