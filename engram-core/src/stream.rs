//! The streaming form of the contract: an adapter detects and identifies an artifact, and its session converts the records one by one.

use std::fmt;
use std::sync::Arc;

use crate::descriptor::AdapterDescriptor;
#[cfg(doc)]
use crate::descriptor::OmissionRule;
use crate::emit::{Emitter, Fault};
use crate::error::{AdapterError, ErrorCode};
use crate::event::BesideFile;
use crate::hash::Hash;
use crate::input::head::{Head, Identity};
use crate::ledger::Outcome;
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

/// The side files of a session. Their content is read only inside the directory of the session.
pub trait SideFiles: Send + Sync {
    /// Hash and size in bytes of the side file with this path in the source, if it exists and may be read.
    fn hash(&self, _recorded_path: &str) -> Option<(Hash, u64)> {
        None
    }

    /// The files that were read so far, sorted by name.
    fn files_read(&self) -> Vec<BesideFile> {
        Vec::new()
    }

    /// The directories with the files that [`SideFiles::hash`] and [`SideFiles::has_text`] may read, as paths from the artifact's directory,
    /// whether they are there or not. Who copies an artifact to another machine copies them too.
    fn directories(&self) -> Vec<String> {
        Vec::new()
    }

    /// True if the log of this session has this text, as raw JSON; without a session, if any log does. For files that repeat what a log
    /// has.
    fn has_text(&self, _session_id: Option<&str>, _raw: &str) -> bool {
        false
    }

    /// How many prompts of the session's logs are this text, as raw JSON; without a session, of all logs. For files that repeat what a log
    /// has.
    fn count_prompts(&self, _session_id: Option<&str>, _raw: &str) -> u32 {
        0
    }

    /// True if the sub-agent with this id has a file of its own. Then its records in the session's file are not converted.
    fn has_agent(&self, _agent_id: &str) -> bool {
        false
    }
}

/// A call by which a session gave another one a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParentCall {
    /// Its id.
    pub call_id: String,
    /// The hash of the prompt among its arguments, byte by byte; that of the empty text if they have none.
    pub prompt: Hash,
}

/// Facts about an artifact from files next to it.
#[derive(Clone, Default)]
pub struct SideInfo {
    /// The session's id, for artifacts whose records have none.
    pub session_id: Option<String>,
    /// The session that started this one.
    pub parent_session_id: Option<String>,
    /// The call that started this one.
    pub parent_call_id: Option<String>,
    /// The calls that gave this session further prompts, in order.
    pub later_calls: Vec<ParentCall>,
    /// Name of the agent.
    pub agent: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The session's side files.
    pub side_files: Option<Arc<dyn SideFiles>>,
    /// True if the store of the session has a schema that no tested version has.
    pub unknown_schema: bool,
}

impl fmt::Debug for SideInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SideInfo")
            .field("session_id", &self.session_id)
            .field("parent_session_id", &self.parent_session_id)
            .field("parent_call_id", &self.parent_call_id)
            .field("later_calls", &self.later_calls)
            .field("agent", &self.agent)
            .field("cwd", &self.cwd)
            .field("side_files", &self.side_files.is_some())
            .field("unknown_schema", &self.unknown_schema)
            .finish()
    }
}

impl SideInfo {
    /// The identity that the head states, with the session's id from here if the head has none.
    #[must_use]
    pub fn complete(&self, identity: Identity) -> Identity {
        let session_id = identity.session_id.or_else(|| self.session_id.clone());
        // A session of its own that another one started is a sub-agent's.
        let agent_id = identity.agent_id.or_else(|| session_id.clone().filter(|_| self.parent_session_id.is_some()));
        Identity { session_id, agent_id, ..identity }
    }
}

/// The arguments of [`StreamAdapter::session`].
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

/// The streaming form of the contract. The string form is implemented with it, so both give the same tape.
pub trait StreamAdapter: Send + Sync {
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

    /// Creates the converter of one artifact, in three steps. `None` for an adapter that still converts in one pass
    /// ([`StreamAdapter::session`]).
    fn conversion(&self, init: &SessionInit<'_>) -> Option<Box<dyn Conversion>> {
        let _ = init;
        None
    }

    /// Creates the converter of one artifact, in one pass. Only for an adapter without [`StreamAdapter::conversion`].
    fn session(&self, init: &SessionInit<'_>) -> Box<dyn Session> {
        let _ = init;
        Box::new(NoSession)
    }
}

/// The session of an adapter that has none.
struct NoSession;

impl Session for NoSession {
    fn record(&mut self, _: &str, _: &mut Emitter) -> Result<Outcome, Fault> {
        Err(Fault::Fatal(AdapterError::new(ErrorCode::AdapterDefect).expected("a conversion").found("none")))
    }
}

/// The converter of one artifact.
pub trait Session {
    /// Converts one record. `text` is a line, or one of several JSON values on a line.
    ///
    /// Return [`Fault::Json`] only before the first event: the pipeline then tries to split the line into several values.
    ///
    /// # Errors
    /// [`Fault`]. The pipeline applies the policy to it.
    fn record(&mut self, text: &str, out: &mut Emitter) -> Result<Outcome, Fault>;

    /// True if records that are repeated in an artifact of this form have the same bytes as before, and the session does not look for them.
    /// The pipeline then counts a record as `duplicate`, by [`OmissionRule::REPEATED`], if its bytes were read before and it has an id or a
    /// time of its own ([`Emitter::set_header`]). Such a record does not reach the session. It costs a hash of each record.
    ///
    /// A record whose outcome was [`Outcome::Duplicate`] is not remembered: pieces of a text often have the same bytes and the same time.
    fn repeats_are_exact(&self) -> bool {
        false
    }

    /// True if artifacts of this form are captures of a harness that also writes to a terminal. Its control sequences at the beginning of a
    /// line are then skipped as white space, if they are complete and an object or nothing follows them. They are not in the text of
    /// [`Session::record`].
    fn has_terminal_controls(&self) -> bool {
        false
    }

    /// True if an artifact of this form may have the records of several sessions, as a capture of several processes has, and the session of
    /// the harness is set for each record ([`Emitter::set_source`]). Then nothing that one session states reaches another: a result belongs
    /// to a call of its own session, and a path or a response is completed by the directory and the model of its own session.
    fn sessions_are_apart(&self) -> bool {
        false
    }

    /// Converts a complete document. The session calls [`Emitter::begin`] before and [`Emitter::settle`] after each of its records.
    ///
    /// If this fails because the document is truncated, the pipeline may call it again with the complete items only. Do not convert the
    /// same item twice then.
    ///
    /// # Errors
    /// [`Fault`] if the document cannot be read.
    fn document(&mut self, text: &str, out: &mut Emitter) -> Result<(), Fault> {
        let _ = (text, out);
        Err(Fault::malformed("", "JSON Lines", "a document"))
    }

    /// Converts the fragment of a record that a crash of the harness left in the log. `None` if it is malformed.
    fn fragment(&mut self, text: &str, out: &mut Emitter) -> Option<Result<Outcome, Fault>> {
        let _ = (text, out);
        None
    }

    /// The offset of the next record on a line that begins with a truncated record. `text` begins with the truncated record.
    fn resync(&self, text: &str) -> Option<usize> {
        let _ = text;
        None
    }

    /// Emits facts that only the end of the artifact decides.
    ///
    /// # Errors
    /// [`Fault`] as for a record.
    fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        let _ = out;
        Ok(())
    }
}
