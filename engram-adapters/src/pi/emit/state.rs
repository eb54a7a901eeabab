//! What step 3 keeps between records.

use engram_core::event::SessionFacts;
use engram_core::keys::KeySet;
use engram_core::text::Text;

use crate::pi::readers::{Details, FileArgs};
use crate::shared::pending_calls::PendingCalls;
use crate::shared::value::{Field, changed};

/// Where a call is: its record, and the number of its block.
#[derive(Debug, Clone, Copy)]
pub struct CallPlace {
    pub record: usize,
    pub block: usize,
}

/// Model, provider and effort, as the session said them last.
#[derive(Debug, Default)]
pub struct Stated {
    model: String,
    provider: String,
    effort: String,
}

impl Stated {
    /// The facts among these that are not those before.
    pub fn changed<'a>(
        &mut self,
        model: Field<'a>,
        provider: Field<'a>,
        effort: Field<'a>,
    ) -> SessionFacts<'a> {
        SessionFacts {
            model: changed(&mut self.model, model),
            provider: changed(&mut self.provider, provider),
            effort: changed(&mut self.effort, effort),
            ..SessionFacts::default()
        }
    }
}

/// A call of a tool for files that has succeeded, and where its result is.
pub struct FileCall<'a> {
    pub call_id: Option<Text<'a>>,
    pub args: FileArgs<'a>,
    pub details: Details<'a>,
    /// The time that the call took is in the log (1.3 and later).
    pub is_timed: bool,
    /// The session has read or changed the file before.
    pub is_known: bool,
}

/// What the handlers of a session keep.
#[derive(Debug, Default)]
pub struct State {
    /// Calls without a result.
    pub calls: PendingCalls<CallPlace>,
    /// Model, provider and effort.
    pub stated: Stated,
    /// The files that a call has read or changed, by path.
    pub files: KeySet,
    /// The last record that is a copy of another session.
    pub last_copy: Option<usize>,
}

impl State {
    /// True for a record that is a copy of another session.
    pub fn is_copy(&self, number: usize) -> bool {
        self.last_copy.is_some_and(|last| number <= last)
    }
}
