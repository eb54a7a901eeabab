//! What step 3 keeps between lines.

use engram_core::event::{SessionFacts, Tokens};
use engram_core::keys::KeySet;

use crate::shared::pending_calls::PendingCalls;
use crate::shared::stated::Stated;
use crate::shared::value::Field;

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
    /// The tokens of all turns so far, where the agent adds them up and has said them.
    pub total: Option<Tokens>,
    /// Model, mode and effort, as the session said them last.
    pub stated: Stated,
}

impl State {
    /// The facts among these that are not those before.
    pub fn model<'a>(
        &mut self,
        model: Field<'a>,
        mode: Field<'a>,
        effort: Field<'a>,
    ) -> SessionFacts<'a> {
        SessionFacts {
            model: self.stated.changed("model", model),
            permission_mode: self.stated.changed("mode", mode),
            effort: self.stated.changed("effort", effort),
            ..SessionFacts::default()
        }
    }
}

/// The name of Copilot CLI. It counts the tokens of all turns of a connection, and says behind an output how a command ended (1.0.102: recorded).
pub const COPILOT: &str = "Copilot";

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
