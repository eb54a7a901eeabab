//! What step 3 keeps between lines.

use engram_core::event::SessionFacts;
use engram_core::keys::KeySet;

use crate::shared::pending_calls::PendingCalls;
use crate::shared::value::{Field, changed};

/// What a session keeps.
#[derive(Debug, Default)]
pub struct State {
    /// Calls without a result, by the key of their ids: the names of their tools.
    pub calls: PendingCalls<String>,
    /// Calls that the person denied.
    pub denied: KeySet,
    /// The files that a call has read or changed.
    pub files: KeySet,
    /// The hash of the last prompt, which some agents send back.
    pub prompt: u64,
    /// The responses of the turn said their own tokens.
    pub is_counted: bool,
    /// Facts that were said last.
    pub stated: Stated,
}

/// Model, mode and effort, as the session said them last.
#[derive(Debug, Default)]
pub struct Stated {
    model: String,
    mode: String,
    effort: String,
}

impl Stated {
    /// The facts among these that are not those before.
    pub fn changed<'a>(
        &mut self,
        model: Field<'a>,
        mode: Field<'a>,
        effort: Field<'a>,
    ) -> SessionFacts<'a> {
        SessionFacts {
            model: changed(&mut self.model, model),
            permission_mode: changed(&mut self.mode, mode),
            effort: changed(&mut self.effort, effort),
            ..SessionFacts::default()
        }
    }
}

/// What a connection keeps.
#[derive(Debug, Default)]
pub struct Connection {
    /// The name of the agent, as it has said.
    pub agent: String,
    /// Keys and tokens were replaced in the log: a text with such a place is not that of a file.
    pub is_redacted: bool,
}

impl Connection {
    /// A text, if it is as it was sent.
    pub fn whole<'t>(&self, text: Option<&'t str>) -> Option<&'t str> {
        text.filter(|text| !self.is_redacted || !text.contains("[redacted:"))
    }
}
