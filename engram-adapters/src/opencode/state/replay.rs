//! Which messages of a fork are copies.

/// Finds copied messages: a fork copies the messages of its origin, so they are older than the session itself.
#[derive(Default)]
pub struct ReplayTracker {
    session_created: Option<i64>,
}

impl ReplayTracker {
    /// Remembers when the session was created, in milliseconds since the epoch.
    pub fn set_session_created(&mut self, millis: Option<i64>) {
        self.session_created = millis;
    }

    /// True for a message that was created before its session.
    pub fn is_replay(&self, message_created: Option<i64>) -> bool {
        message_created.zip(self.session_created).is_some_and(|(message, session)| message < session)
    }
}
