//! The states of the sessions in one artifact: in a capture or a log, several processes may write at once.

/// The most sessions whose states are kept.
const MAX_SESSIONS: usize = 256;

/// One state for each session, by the id that the records state.
pub struct BySession<S> {
    begin: Box<dyn Fn() -> S>,
    /// In the order of their first records. There is at least one.
    states: Vec<OfSession<S>>,
    /// The position of the session of the current record.
    current: usize,
    /// The number of switches so far.
    switches: u64,
}

struct OfSession<S> {
    /// `None` before the first record that has a session.
    id: Option<String>,
    /// When it became the current one.
    since: u64,
    state: S,
}

impl<S> BySession<S> {
    /// The state of the session that the artifact begins with, and a function that makes those of other sessions.
    pub fn new(first: S, begin: impl Fn() -> S + 'static) -> Self {
        let states = vec![OfSession {
            id: None,
            since: 0,
            state: first,
        }];
        BySession {
            begin: Box::new(begin),
            states,
            current: 0,
            switches: 0,
        }
    }

    /// True if the artifact has records of several sessions.
    pub fn has_several(&self) -> bool {
        self.states.len() > 1
    }

    /// Makes a session the current one. If there are too many sessions, the session that was not written to for the longest time is
    /// forgotten.
    pub fn switch_to(&mut self, id: &str) {
        if self.states[self.current].id.as_deref() == Some(id) {
            return;
        }
        self.switches += 1;
        let known = self
            .states
            .iter()
            .position(|of| of.id.as_deref() == Some(id));
        // The first session has its id only now.
        let at = known.or_else(|| self.states.iter().position(|of| of.id.is_none()));
        self.current = at.unwrap_or_else(|| {
            self.forget_oldest();
            self.states.push(OfSession {
                id: None,
                since: 0,
                state: (self.begin)(),
            });
            self.states.len() - 1
        });
        let current = &mut self.states[self.current];
        current.id.get_or_insert_with(|| id.to_owned());
        current.since = self.switches;
    }

    fn forget_oldest(&mut self) {
        let oldest = self
            .states
            .iter()
            .enumerate()
            .min_by_key(|(_, of)| of.since);
        if let Some((at, _)) = oldest.filter(|_| self.states.len() >= MAX_SESSIONS) {
            self.states.remove(at);
        }
    }

    /// The state of the current record's session.
    pub fn current(&mut self) -> &mut S {
        &mut self.states[self.current].state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters() -> BySession<u32> {
        BySession::new(0, || 0)
    }

    #[test]
    fn each_session_has_its_own_state() {
        let mut counters = counters();
        *counters.current() += 100;
        for id in ["a", "b", "a", "a", "c"] {
            counters.switch_to(id);
            *counters.current() += 1;
        }
        assert!(counters.has_several());
        let counted = ["a", "b", "c"].map(|id| {
            counters.switch_to(id);
            *counters.current()
        });
        assert_eq!(counted, [103, 1, 1]);
    }

    #[test]
    fn the_session_that_was_not_written_to_for_the_longest_time_is_forgotten_first() {
        let mut counters = counters();
        for number in (0..MAX_SESSIONS).chain([0, MAX_SESSIONS]) {
            counters.switch_to(&number.to_string());
            *counters.current() += 1;
        }
        let counted = ["0", "2", "1"].map(|id| {
            counters.switch_to(id);
            *counters.current()
        });
        assert_eq!((counted, counters.states.len()), ([2, 1, 0], MAX_SESSIONS));
    }
}
