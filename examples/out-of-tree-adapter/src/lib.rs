//! Goose session records (`~/.local/share/goose/sessions/*.jsonl`) to Engram tapes.
//!
//! The format is documented at <https://block.github.io/goose/docs/guides/logs>: a header line, then one message per line, with
//! `role`, `created` (seconds since 1970) and `content`, a list of text, tool requests and tool responses.

use engram_adapters::Registration;
use engram_adapters::homes::{Base, HomeDirectory};
use engram_core::adapter::{Evidence, Identity, SessionInit, StreamAdapter};
use engram_core::descriptor::AdapterDescriptor;
use engram_core::head::Head;
use engram_core::steps::Conversion;

mod descriptor;
mod detect;
mod dispatch;
mod messages;
mod results;
mod schema;
mod tools;

/// Where the harness keeps its sessions.
const HOMES: &[HomeDirectory] = &[HomeDirectory::new(Base::XdgData, "goose")];

/// The adapter with its tables: the argument of `Registry::with`.
pub static REGISTRATION: Registration = Registration::new(&Goose)
    .with_tools(&tools::TOOLS)
    .with_homes(HOMES);

/// The adapter.
pub struct Goose;

impl StreamAdapter for Goose {
    fn describe(&self) -> &'static AdapterDescriptor {
        &descriptor::DESCRIPTOR
    }

    fn probe(&self, head: &Head<'_>) -> Option<Evidence> {
        detect::probe(head)
    }

    fn marks(&self) -> Vec<&'static str> {
        vec![detect::HEADER_MARK]
    }

    fn identify(&self, head: &Head<'_>) -> Identity {
        detect::identify(head)
    }

    fn conversion(&self, _init: &SessionInit<'_>) -> Box<dyn Conversion> {
        Box::<dispatch::Transcript>::default()
    }
}
