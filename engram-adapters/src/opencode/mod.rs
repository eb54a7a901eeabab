//! OpenCode, and its forks ([`family`]): `opencode export` JSON, exports written from its stores, and `run --format json` streams, 0.1.174 and later.

use engram_core::adapter::{Evidence, Identity, SessionInit, StreamAdapter};
use engram_core::descriptor::AdapterDescriptor;
use engram_core::emit::Fault;
use engram_core::head::Head;
use engram_core::ledger::Outcome;
use engram_core::steps::{Check, Conversion, Emitter, Item, Record};

use crate::home_directory::{Base, HomeDirectory};
use crate::registration::Registration;
use crate::shared::value::Value;

#[cfg(feature = "conformance")]
mod certification;
mod descriptor;
mod dialect;
mod emit;
mod family;
mod kilo;
mod notes;
mod plan;
mod record_facts;
mod results;
mod revisions;
mod schema;
mod source;
mod swept;
#[cfg(test)]
mod tests;
mod tools;
mod wrappers;

from_tables!("opencode");

use emit::Events;
use family::{FAMILIES, OF_KILO, OF_OPENCODE};
use notes::Notes;
use revisions::{STEP_STREAM, STREAM};
use source::detect;

/// Where sessions are kept.
const HOMES: &[HomeDirectory] = &[
    HomeDirectory::new(Base::XdgData, "opencode"),
    HomeDirectory::new(Base::XdgData, "opencode").file_of("OPENCODE_DB"),
];

/// The adapter and everything that belongs to it.
pub(crate) static REGISTRATION: Registration = {
    let registration = registration::<OF_OPENCODE>(&Adapter(OF_OPENCODE)).with_homes(HOMES);
    #[cfg(feature = "conformance")]
    let registration = registration.with_certification(certification::CERTIFICATION);
    registration
};

/// Kilo, a fork.
pub(crate) static KILO: Registration = {
    let registration = registration::<OF_KILO>(&Adapter(OF_KILO)).with_homes(kilo::HOMES);
    #[cfg(feature = "conformance")]
    let registration = registration
        .with_certification(certification::CERTIFICATION.with_base(&descriptor::DESCRIPTOR));
    registration
};

/// What the harness at this place of [`FAMILIES`] registers.
const fn registration<const FAMILY: usize>(adapter: &'static Adapter) -> Registration {
    Registration::new(adapter)
        .with_tools(&tools::TOOLS)
        .with_side_info(source::side_info::side_info)
        .with_store_opener(const { &source::store::opener::<FAMILY>() })
        .with_forms(source::session_forms::FORMS)
}

/// The adapter of the harness at this place of [`FAMILIES`].
struct Adapter(usize);

impl StreamAdapter for Adapter {
    fn describe(&self) -> &'static AdapterDescriptor {
        FAMILIES[self.0].descriptor
    }

    fn probe(&self, head: &Head<'_>) -> Option<Evidence> {
        let (family, evidence) = detect::probe(head)?;
        (family == self.0).then_some(evidence)
    }

    fn marks(&self) -> Vec<&'static str> {
        FAMILIES[self.0].marks.to_vec()
    }

    fn identify(&self, head: &Head<'_>) -> Identity {
        detect::identify(head)
    }

    fn conversion(&self, init: &SessionInit<'_>) -> Box<dyn Conversion> {
        let is_stream = matches!(init.identity.schema, Some(STREAM | STEP_STREAM));
        Box::new(Session {
            is_stream,
            notes: Notes::default(),
            events: Events::new(init),
        })
    }
}

/// The conversion of one export, or of a stream to which several processes may have written.
struct Session {
    is_stream: bool,
    notes: Notes,
    events: Events,
}

impl Conversion for Session {
    fn sessions_are_apart(&self) -> bool {
        self.is_stream
    }

    /// The harness prints notices to the same output as a stream, for example of a database migration (1.2.1).
    fn is_notice(&self, text: &str) -> bool {
        text.trim_ascii()
            .starts_with(|first: char| first.is_alphabetic())
    }

    fn items<'a>(
        &mut self,
        document: Value<'a>,
        check: &mut Check<'_>,
    ) -> Result<Vec<Item<'a>>, Fault> {
        self.notes.items(document, check)
    }

    fn check(&mut self, record: &Record<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
        self.notes.add(record, check)
    }

    fn decide(&mut self) {
        self.events.decide(std::mem::take(&mut self.notes.list));
    }

    fn emit(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
        self.events
            .record(record, self.notes.place(record.number), out)
    }

    fn envelope(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) {
        self.events
            .envelope(record, self.notes.place(record.number), out);
    }
}
