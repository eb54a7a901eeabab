//! The contract of an adapter that reads an artifact record by record: it detects and identifies the artifact, and creates its converter.

use crate::adapter::HarnessAdapter;
use crate::descriptor::AdapterDescriptor;
use crate::input::head::{Head, Identity};
use crate::side_info::SideInfo;
use crate::steps::Conversion;
use crate::version::Revision;

/// How an artifact is divided into records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// JSON Lines: one record per line.
    Lines,
    /// One JSON document. It is read into memory completely.
    Document,
}

/// The reasons why an adapter recognises an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// The names of the detection marks found in the content.
    pub marks: Vec<&'static str>,
    /// How the artifact is divided into records.
    pub framing: Framing,
}

/// The arguments of [`StreamAdapter::conversion`].
#[derive(Debug)]
pub struct SessionInit<'o> {
    /// Facts from the head.
    pub identity: &'o Identity,
    /// The revision whose rules apply.
    pub revision: Option<&'static Revision>,
    /// The head itself.
    pub head: &'o Head<'o>,
    /// Facts from files next to the artifact.
    pub context: &'o SideInfo,
}

/// An adapter that converts an artifact record by record, in three steps. [`HarnessAdapter`] is implemented with it, so both give the same
/// tape.
pub trait StreamAdapter: HarnessAdapter {
    /// Supported versions, claims and rules of the adapter.
    fn describe(&self) -> &'static AdapterDescriptor;

    /// Recognises an artifact by the content of its head: the marks that prove the harness, or `None`.
    fn probe(&self, head: &Head<'_>) -> Option<Evidence>;

    /// All marks that [`StreamAdapter::probe`] may return. A test fails if no fixture shows one of them.
    fn marks(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Reads version or schema, session and first time from the head.
    fn identify(&self, head: &Head<'_>) -> Identity;

    /// Creates the converter of one artifact.
    fn conversion(&self, init: &SessionInit<'_>) -> Box<dyn Conversion>;
}
