//! Which messages of a fork are copies.

/// The bits of an id that are a time: milliseconds since the epoch, without the highest bits.
const ID_TIME_BITS: u32 = 36;

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

    /// True for a message that was created before its session, and got its id after that: the copy has a new id. If the clock was set back,
    /// both times of a message are before the session.
    pub fn is_replay(&self, id: &str, message_created: Option<i64>) -> bool {
        let Some((message, session)) = message_created.zip(self.session_created) else {
            return false;
        };
        message < session && id_time(id).is_none_or(|time| is_not_before(time, session))
    }
}

/// The time that the id of a message begins with: six bytes in hexadecimal digits, of which the last 12 bits are a counter.
fn id_time(id: &str) -> Option<u64> {
    let digits = id.strip_prefix("msg_")?.get(..12)?;
    u64::from_str_radix(digits, 16)
        .ok()
        .map(|number| number >> 12)
}

/// Compares the time of an id with a time in milliseconds. Ids leave out the highest bits, so the nearest time counts.
fn is_not_before(id_time: u64, millis: i64) -> bool {
    let mask = (1u64 << ID_TIME_BITS) - 1;
    (id_time.wrapping_sub(millis.cast_unsigned()) & mask) < 1 << (ID_TIME_BITS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: i64 = 1_795_257_655_000;

    fn id(millis: i64) -> String {
        format!(
            "msg_{:012x}AAAAAAAAAAAAAA",
            ((millis.cast_unsigned() << 12) + 1) & ((1 << 48) - 1)
        )
    }

    #[test]
    fn a_copy_is_older_than_its_session_and_its_id_is_not() {
        let replay = ReplayTracker {
            session_created: Some(SESSION),
        };
        assert!(replay.is_replay(&id(SESSION), Some(SESSION - 5000)));
        assert!(replay.is_replay("msg_without_a_time", Some(SESSION - 1)));
        assert!(!replay.is_replay(&id(SESSION + 1), Some(SESSION)));
    }

    #[test]
    fn a_clock_that_was_set_back_makes_no_copy() {
        let replay = ReplayTracker {
            session_created: Some(SESSION),
        };
        assert!(!replay.is_replay(&id(SESSION - 1200), Some(SESSION - 1200)));
    }
}
