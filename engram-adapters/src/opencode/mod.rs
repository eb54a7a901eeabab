//! OpenCode: `opencode export` JSON, exports written from its stores, and `run --format json` streams, 0.1.174 and later.

use engram_core::adapter::{Evidence, Identity, Session, SessionInit, StreamAdapter};
use engram_core::descriptor::AdapterDescriptor;
use engram_core::head::Head;

use crate::home_directory::{Base, HomeDirectory};
use crate::registration::Registration;

#[cfg(feature = "conformance")]
mod certification;
mod descriptor;
mod records;
mod results;
mod revisions;
mod schema;
mod source;
mod state;
mod step_schema;
#[cfg(test)]
mod tests;
mod tools;

use source::detect;

/// Where sessions are kept.
const HOMES: &[HomeDirectory] = &[HomeDirectory::new(Base::XdgData, "opencode")];

/// The adapter and everything that belongs to it.
pub(crate) static REGISTRATION: Registration = registration();

const fn registration() -> Registration {
    let registration = Registration::new(&OpenCode)
        .with_tools(&tools::TOOLS)
        .with_homes(HOMES)
        .with_side_info(source::side_info::side_info)
        .with_store_opener(&source::store::OPENER)
        .with_forms(source::session_forms::FORMS);
    #[cfg(feature = "conformance")]
    let registration = registration.with_certification(certification::CERTIFICATION);
    registration
}

struct OpenCode;

impl StreamAdapter for OpenCode {
    fn describe(&self) -> &'static AdapterDescriptor {
        &descriptor::DESCRIPTOR
    }

    fn probe(&self, head: &Head<'_>) -> Option<Evidence> {
        detect::probe(head)
    }

    fn marks(&self) -> Vec<&'static str> {
        detect::MARKS.to_vec()
    }

    fn identify(&self, head: &Head<'_>) -> Identity {
        detect::identify(head)
    }

    fn session(&self, init: &SessionInit<'_>) -> Box<dyn Session> {
        Box::new(records::session::SessionConverter::new(init))
    }
}
