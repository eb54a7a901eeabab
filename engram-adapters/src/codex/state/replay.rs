//! Replayed history: which records a fork or a sub-agent copied from another thread.

use crate::shared::time::millis;
use crate::shared::value::{Field, Value};
use engram_core::keys::hash64;

/// The longest pause inside a copy, in milliseconds. A copy is written at once.
const MAX_PAUSE_MS: i64 = 1000;

/// Whether the current record belongs to the file's own thread or to a copied history.
#[derive(Debug, Default)]
pub struct ReplayTracker {
    has_header: bool,
    /// Hash of the own thread's id.
    own_id: Option<u64>,
    /// When the own thread started, from its UUIDv7, in milliseconds since the epoch.
    started_ms: Option<u64>,
    /// The first ordinal of a sub-agent's own history.
    own_from: Option<u64>,
    last_header_is_own: bool,
    is_copying: bool,
    /// When the last record of the copy was written, in milliseconds since the epoch.
    last_copied_ms: Option<i64>,
}

impl ReplayTracker {
    /// Reads a `session_meta`. One of another thread starts a copy: 0.115 to 0.150 write the parent's history into a fork, 0.169 into a
    /// sub-agent. The thread's own header can be repeated (0.140 to 0.146 repeat it with a `memory_mode`): that starts no copy. A younger
    /// thread cannot have been copied into this one, so its header begins another session in the same file.
    pub fn begin_thread(&mut self, id: Field<'_>, own_from: Field<'_>) {
        let hash = id.map(|id| hash64(id.raw()));
        let started_ms = id.and_then(|id| uuid_millis(id.raw()));
        let is_other_session = self.started_ms.zip(started_ms).is_some_and(|(own, other)| other > own);
        self.last_header_is_own = !self.has_header || is_other_session || (hash.is_some() && hash == self.own_id);
        self.is_copying = !self.last_header_is_own;
        if !self.has_header || is_other_session {
            self.has_header = true;
            self.own_id = hash;
            self.started_ms = started_ms;
            self.own_from = own_from.and_then(Value::unsigned);
        }
    }

    /// True when the record belongs to a copy. A copy ends at the ordinal that a sub-agent's header names, else at a turn younger than the
    /// thread; where the thread's id contains no time (0.36), at a pause.
    pub fn is_replay(&mut self, ordinal: Field<'_>, payload: Value<'_>, t: Option<&str>) -> bool {
        if !self.is_copying {
            self.last_copied_ms = None;
            return false;
        }
        let now = t.and_then(millis);
        let pause = now.zip(self.last_copied_ms).map_or(0, |(now, last)| now.saturating_sub(last));
        self.last_copied_ms = now.or(self.last_copied_ms);
        let is_own = match (self.own_from, ordinal.and_then(Value::unsigned)) {
            (Some(own_from), Some(ordinal)) => ordinal >= own_from,
            _ => match (self.started_ms, payload.first_member("turn_id").and_then(|id| uuid_millis(id.raw()))) {
                (Some(started), Some(turn)) => turn >= started,
                (None, _) => pause > MAX_PAUSE_MS,
                (Some(_), None) => false,
            },
        };
        self.is_copying = !is_own;
        self.is_copying
    }

    /// True when the last `session_meta` is the file's own.
    pub fn last_header_is_own(&self) -> bool {
        self.last_header_is_own
    }
}

/// The time in a UUIDv7 token, in milliseconds since the epoch.
fn uuid_millis(token: &str) -> Option<u64> {
    let id = token.trim_matches('"');
    (id.len() == 36 && id.as_bytes().get(14) == Some(&b'7')).then_some(())?;
    let (high, low) = (id.get(..8)?, id.get(9..13)?);
    Some(u64::from_str_radix(high, 16).ok()? << 16 | u64::from_str_radix(low, 16).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_uuid_version_7_has_a_time() {
        assert_eq!(uuid_millis("\"01a1fda5-4307-7000-bbe5-da9ea7a40358\""), Some(0x01a1_fda5_4307));
        assert_eq!(uuid_millis("\"7803e6bd-9e47-4d44-bca1-44735c92b705\""), None);
        assert_eq!(uuid_millis("\"short\""), None);
    }
}
