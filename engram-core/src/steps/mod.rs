//! The three steps of a conversion: check every record, decide over all of them, emit record by record.
//!
//! A log tells some facts late: what a response cost, that a prompt was taken back, that a block was a copy. So an artifact is read twice.
//!
//! 1. **Check** ([`Conversion::check`]) sees each record whole, once, in order. What is wrong with it is known here, before anything is
//!    emitted. The conversion takes notes: small facts of its own that decide what becomes of the record.
//! 2. **Decide** ([`Conversion::decide`]) runs once, over the notes alone: no JSON, no input, no output. What is decided is not taken back.
//! 3. **Emit** ([`Conversion::emit`]) sees each record that the check accepted again, in order, and emits its events by its decision. It
//!    cannot fail and never waits.
//!
//! The driver does the rest: it divides the artifact into records, applies the policy and the limits, finds exact repeats, splits damaged
//! lines, keeps one verdict for each record, and emits what it kept of records that were not accepted.

mod check;
mod damage;
mod first_read;
mod lookup;
mod member_check;
mod run;
mod second_read;
#[cfg(test)]
mod toy;

pub use crate::emit::Emitter;
pub use check::Check;
pub(crate) use first_read::Start;
pub use lookup::{Again, Lookup};
pub(crate) use run::convert;

use crate::emit::Fault;
use crate::event::Pointer;
use crate::json::Value;
use crate::ledger::Outcome;

/// One record, as the steps see it.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// The record: a line, one of several JSON values on a line, or an item of a document.
    pub value: Value<'a>,
    /// Where the value is in its artifact: the root for lines, `/messages/3` for an item. The driver adds it to the pointers of events, faults
    /// and unknown members, so those of a conversion begin at `value`.
    pub base: Pointer<'static>,
    /// Its place among all records of the artifact, from 0. The same in all steps. Records that are not accepted are counted too.
    pub number: usize,
    /// The 1-based line; 0 in a document.
    pub line: u64,
    /// The index among the values of that line.
    pub part: u64,
    /// The texts of the other records. In step 1 it finds only records before this one.
    pub others: Lookup<'a>,
}

/// A part of a document that is a record.
#[derive(Debug, Clone, Copy)]
pub struct Item<'a> {
    /// The value.
    pub value: Value<'a>,
    /// Where it is.
    pub base: Pointer<'static>,
    /// A member whose value is not part of the record, but has records of its own. It is left out if the record is kept as unrecognized.
    pub without: Option<&'static str>,
}

impl<'a> Item<'a> {
    /// The n-th element of the array at `list`, a constant pointer.
    pub fn of_list(value: Value<'a>, list: &'static str, n: usize) -> Self {
        Item {
            value,
            base: Pointer::Item(list, n),
            without: None,
        }
    }

    /// The document itself, but for the member `without`.
    pub fn header(document: Value<'a>, without: &'static str) -> Self {
        Item {
            value: document,
            base: Pointer::Root,
            without: Some(without),
        }
    }
}

/// The converter of one artifact. See the module for the steps.
///
/// ```
/// use engram_core::emit::{Fault, Pointer};
/// use engram_core::event::{Author, MsgIn, Role};
/// use engram_core::json::Value;
/// use engram_core::ledger::Outcome;
/// use engram_core::steps::{Check, Conversion, Emitter, Record};
///
/// /// Prompts, each on a line of its own: `{"text":"hello"}`. The log may have a prompt twice.
/// #[derive(Default)]
/// struct Prompts {
///     notes: Vec<(usize, u64)>,
///     repeats: Vec<usize>,
/// }
///
/// impl Conversion for Prompts {
///     fn check(&mut self, record: &Record<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
///         let text = record.value.member("text").filter(|text| text.text().is_some());
///         let text = text.ok_or_else(|| Fault::malformed("/text", "text", "nothing"))?;
///         check.members("prompt", record.value, Pointer::Root, &|_| None);
///         self.notes.push((record.number, engram_core::keys::hash64(text.raw())));
///         Ok(())
///     }
///
///     fn decide(&mut self) {
///         let is_repeat = |at: usize| self.notes[..at].iter().any(|(_, text)| *text == self.notes[at].1);
///         self.repeats = (0..self.notes.len()).filter(|at| is_repeat(*at)).map(|at| self.notes[at].0).collect();
///     }
///
///     fn emit(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
///         if self.repeats.contains(&record.number) {
///             return Outcome::duplicate("prompt", "prompt.repeated");
///         }
///         let text = record.value.member("text").and_then(Value::text);
///         out.emit(MsgIn::user(Author::Person, text), Pointer::At("/text"));
///         Outcome::Mapped
///     }
/// }
/// ```
pub trait Conversion {
    /// True if records that are repeated in an artifact of this form have the same bytes as before. The driver then counts a record as
    /// `duplicate`, by the rule [`REPEATED`](crate::descriptor::OmissionRule::REPEATED), if its bytes were read before and the earlier record
    /// was accepted and [identified](Check::identify). Such a record reaches no step.
    fn repeats_are_exact(&self) -> bool {
        false
    }

    /// True if artifacts of this form are captures of a harness that also writes to a terminal: control sequences before a record are then
    /// skipped like white space.
    fn has_terminal_controls(&self) -> bool {
        false
    }

    /// True if an artifact of this form may have the records of several sessions, so that nothing that one session says reaches another:
    /// calls, working directories and models are those of the session that is set for a record ([`Emitter::set_source`]).
    fn sessions_are_apart(&self) -> bool {
        false
    }

    /// The outcome of a record that is omitted by its text alone: of one fixed form, as a harness may write after every message. It is not
    /// parsed, and reaches no other step.
    fn omitted(&self, text: &str) -> Option<Outcome> {
        let _ = text;
        None
    }

    /// The code of the error that a damaged part of a line is kept as, if the harness leaves such a part in everyday use: the beginning of a
    /// record that a kill cut, behind which the next run goes on in the same line. It then counts as mapped, also under strict policy.
    fn cut_record(&self, text: &str) -> Option<&'static str> {
        let _ = text;
        None
    }

    /// True for a part of a line that is no JSON because the harness prints notices to the same output. It is kept as `meta system` with the
    /// name `stdout`, and counts as mapped, also under strict policy.
    fn is_notice(&self, text: &str) -> bool {
        let _ = text;
        false
    }

    /// A document as it should be, for a text that is no JSON because of the way in which the harness writes it: for example with the rest of a
    /// longer document behind it. `None` if the text is simply damaged.
    fn mended(&self, text: &str) -> Option<String> {
        let _ = text;
        None
    }

    /// The records of a document, in the order of the source. Only for artifacts that are one document. Compare the outer part of the document
    /// with the member table here ([`Check::document`]).
    ///
    /// # Errors
    /// [`Fault`] if it is no document of this format. It ends the conversion under both policies.
    fn items<'a>(
        &mut self,
        document: Value<'a>,
        check: &mut Check<'_>,
    ) -> Result<Vec<Item<'a>>, Fault> {
        let _ = (document, check);
        Err(Fault::malformed("", "JSON Lines", "a document"))
    }

    /// Step 1: looks at one record, and takes notes. Finds its type, has its members checked ([`Check::members`]), and names what the adapter
    /// does not know ([`Check::unknown_block`]).
    ///
    /// # Errors
    /// [`Fault`] if the record is of an unknown type or malformed. Strict policy ends the conversion with it. Under permissive policy the driver
    /// keeps the record as `meta unrecognized`, and it does not reach [`Conversion::emit`]. Such a record must leave no notes.
    fn check(&mut self, record: &Record<'_>, check: &mut Check<'_>) -> Result<(), Fault>;

    /// Step 2: decides what becomes of each record. Runs once, after all records are checked.
    fn decide(&mut self);

    /// Step 3: emits the events of one record that the check accepted, and returns what became of it. [`Outcome::Mapped`] needs an event:
    /// one that this call emits, or one that the handler of another record emits for this record ([`Emitter::of_record`]).
    fn emit(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome;

    /// Step 3 for a record that the check did not accept, before the driver emits what is kept of it: sets time, id and session of the record
    /// as far as they can be read ([`Emitter::set_header`], [`Emitter::set_source`]). The source that was set before comes back afterwards.
    fn envelope(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) {
        let _ = (record, out);
    }
}
