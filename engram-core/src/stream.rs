//! The streaming form of the contract: what an adapter is asked about a head, and the session that converts record after record.

use std::fmt;
use std::sync::Arc;

use crate::descriptor::AdapterDescriptor;
use crate::emit::{Emitter, Fault};
use crate::hash::Hash;
use crate::input::head::{Head, Identity};
use crate::ledger::Outcome;
use crate::version::Revision;

/// How an artifact is divided into records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// JSON Lines: a record a line. Streams.
    Lines,
    /// One JSON document, read whole.
    Document,
}

/// Why an adapter says that an artifact is its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// Named detection marks that the content shows.
    pub marks: Vec<&'static str>,
    /// How the artifact is divided into records.
    pub framing: Framing,
}

/// The files beside a session's own. Contents are read only inside the session's own folder.
pub trait SideFiles: Send + Sync {
    /// The hash and size of the side file that the source names `recorded_path`, if it is there and may be read.
    fn hash(&self, recorded_path: &str) -> Option<(Hash, u64)>;

    /// True when the sub-agent of that id has a file of its own beside the session's: its tape says what the sub-agent did.
    fn has_agent(&self, _agent_id: &str) -> bool {
        false
    }
}

/// What is known about an artifact from the files around it.
#[derive(Clone, Default)]
pub struct SideInfo {
    /// The session that started this one.
    pub parent_session_id: Option<String>,
    /// The call that started this one.
    pub parent_call_id: Option<String>,
    /// Name of the agent.
    pub agent: Option<String>,
    /// The session's side files.
    pub side_files: Option<Arc<dyn SideFiles>>,
    /// The store that the session lies in has a schema that no tested version has.
    pub unknown_schema: bool,
}

impl fmt::Debug for SideInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SideInfo")
            .field("parent_session_id", &self.parent_session_id)
            .field("parent_call_id", &self.parent_call_id)
            .field("agent", &self.agent)
            .field("side_files", &self.side_files.is_some())
            .field("unknown_schema", &self.unknown_schema)
            .finish()
    }
}

/// What a session is opened with.
#[derive(Debug)]
pub struct SessionInit<'o> {
    /// What the head says.
    pub identity: &'o Identity,
    /// The revision whose rules apply.
    pub revision: Option<&'static Revision>,
    /// The head itself.
    pub head: &'o Head<'o>,
    /// What the files around it say.
    pub context: &'o SideInfo,
}

/// The streaming form of the contract. The string form follows from it, so the two cannot differ.
pub trait StreamAdapter: Send + Sync {
    /// What the adapter supports and claims.
    fn describe(&self) -> &'static AdapterDescriptor;

    /// Yes, with the marks that prove it, or no. Content only; no scores.
    fn probe(&self, head: &Head<'_>) -> Option<Evidence>;

    /// Every mark that [`StreamAdapter::probe`] may name. A mark that no fixture shows proves nothing, and fails the gates.
    fn marks(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// What the head says about version, schema, session and start.
    fn identify(&self, head: &Head<'_>) -> Identity;

    /// The converter of one artifact.
    fn session(&self, init: &SessionInit<'_>) -> Box<dyn Session>;
}

/// The converter of one artifact.
pub trait Session {
    /// Converts one record. `text` is one line, or one of several JSON values on it.
    ///
    /// A [`Fault::Json`] must come before any event: the driver then looks whether the line holds several values.
    ///
    /// # Errors
    /// [`Fault`]: the driver applies the policy.
    fn record(&mut self, text: &str, out: &mut Emitter) -> Result<Outcome, Fault>;

    /// Converts a whole document. The session frames its records with [`Emitter::begin`] and [`Emitter::settle`].
    ///
    /// When this fails because the text ends too early, the driver may give the text again without the item that is cut off: what has
    /// been converted before then must not be converted again.
    ///
    /// # Errors
    /// [`Fault`] when the document as a whole cannot be read.
    fn document(&mut self, text: &str, out: &mut Emitter) -> Result<(), Fault> {
        let _ = (text, out);
        Err(Fault::malformed("", "JSON Lines", "a document"))
    }

    /// Converts the piece of a record that a crash of the harness left behind, where the harness is known to go on after it.
    fn fragment(&mut self, text: &str, out: &mut Emitter) -> Option<Result<Outcome, Fault>> {
        let _ = (text, out);
        None
    }

    /// Where the next record begins on a line whose beginning is a cut record. `text` begins at the cut record.
    fn resync(&self, text: &str) -> Option<usize> {
        let _ = text;
        None
    }

    /// Emits what only the end of the artifact decides.
    ///
    /// # Errors
    /// [`Fault`] as for a record.
    fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        let _ = out;
        Ok(())
    }
}
