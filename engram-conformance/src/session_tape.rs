//! The tape of a session, and whether strict policy gives one.

use engram_core::error::AdapterError;

/// The tape of a session.
pub struct SessionTape {
    /// The tape.
    pub text: String,
    /// Why strict policy refuses the session, if it does: then the tape is that of permissive policy.
    pub refusal: Option<Box<AdapterError>>,
}

impl SessionTape {
    pub(crate) fn of(text: String, refusal: Option<Box<AdapterError>>) -> SessionTape {
        SessionTape { text, refusal }
    }
}
