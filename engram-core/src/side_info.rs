//! Facts about an artifact from the files next to it.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use crate::event::BesideFile;
use crate::hash::Hash;
use crate::input::head::Identity;

/// The side files of a session. Their content is read only inside the directory of the session.
pub trait SideFiles: Send + Sync {
    /// Hash and size in bytes of the side file with this path in the source, if it exists and may be read.
    fn hash(&self, _recorded_path: &str) -> Option<(Hash, u64)> {
        None
    }

    /// The text of the side file with this path from the artifact's directory, if it exists and may be read.
    fn text(&self, _path: &str) -> Option<String> {
        None
    }

    /// The files that were read so far, sorted by name.
    fn files_read(&self) -> Vec<BesideFile> {
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

    /// The directories with the files that [`SideFiles::hash`] and [`SideFiles::has_text`] may read, as paths from the artifact's directory,
    /// whether they are there or not. Who copies an artifact to another machine copies them too.
    fn directories(&self) -> Vec<String> {
        Vec::new()
    }

    /// The logs of other sessions whose history these records of a session repeat, in the order of how much they share, most first.
    fn older_logs(&self, _records: &[LogRecord]) -> Vec<OlderLog> {
        Vec::new()
    }
}

/// A record of a log, in short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogRecord {
    /// The [`hash64`](crate::keys::hash64) of its id, as the log spells it.
    pub id: u64,
    /// Its time in milliseconds since the epoch; `i64::MIN` if it has none.
    pub time: i64,
}

/// A log that had records before another one repeated them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OlderLog {
    /// The session of the log.
    pub session_id: String,
    /// The ids of its records, as in [`LogRecord`].
    pub records: HashSet<u64>,
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
    /// The model of the agent.
    pub model: Option<String>,
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
            .field("model", &self.model)
            .field("cwd", &self.cwd)
            .field("side_files", &self.side_files.is_some())
            .field("unknown_schema", &self.unknown_schema)
            .finish()
    }
}

impl SideInfo {
    /// The identity that the head says, with the session's id from here if the head has none.
    #[must_use]
    pub fn complete(&self, identity: Identity) -> Identity {
        let session_id = identity.session_id.or_else(|| self.session_id.clone());
        // If another session started this one, it belongs to a sub-agent, even if its log does not name an agent.
        let agent_id = identity.agent_id.or_else(|| {
            session_id
                .clone()
                .filter(|_| self.parent_session_id.is_some())
        });
        Identity {
            session_id,
            agent_id,
            ..identity
        }
    }
}
