//! The conversion of what runs print: its three steps.

use engram_core::adapter::SessionInit;
use engram_core::emit::{Fault, Pointer};
use engram_core::ledger::Outcome;
use engram_core::steps::{Check, Conversion, Emitter, Item, Record};

use super::printed::{Run, set_header};
use crate::qwen::printed::{CONTENT, Notes, check_block, kind_of};
use crate::qwen::readers::{Printed, Said};
use crate::shared::by_session::BySession;
use crate::shared::value::{Value, elements, text};

/// The conversion of what runs print. Several may print to one file: nothing that one session says reaches another.
pub struct Capture {
    /// All lines are one list.
    is_list: bool,
    notes: Notes,
    runs: BySession<Run>,
}

impl Capture {
    /// Nothing is read yet.
    pub fn boxed(init: &SessionInit<'_>) -> Box<dyn Conversion> {
        Box::new(Capture {
            is_list: init.head.text().trim_start().starts_with('['),
            notes: Notes::default(),
            runs: BySession::new(Run::default(), Run::default),
        })
    }
}

impl Conversion for Capture {
    fn repeats_are_exact(&self) -> bool {
        true
    }

    fn sessions_are_apart(&self) -> bool {
        !self.is_list
    }

    /// Warnings may share the pipe of a capture. With `--yolo` there always are some (0.24.4: recorded).
    fn cut_record(&self, text: &str) -> Option<&'static str> {
        let is_words = text.trim_ascii().starts_with(char::is_alphabetic);
        (is_words && !self.is_list).then_some("stderr")
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
        self.notes.add(record.number, kind, &line);
        Ok(())
    }

    fn decide(&mut self) {
        self.notes.decide();
    }

    fn emit(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
        self.envelope(record, out);
        // The check has found its type.
        match kind_of(record.value) {
            Ok(kind) => self.runs.current().line(&self.notes, kind, record, out),
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
