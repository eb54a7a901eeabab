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
    /// `None` before the first record that states a session.
    id: Option<String>,
    /// When it became the current one.
    since: u64,
    state: Box<S>,
}

/// A session that ends, because the artifact ends or because it has too many sessions.
pub struct Ended<S> {
    /// The session's id, if its records have one.
    pub id: Option<String>,
    /// Its state.
    pub state: Box<S>,
}

impl<S> BySession<S> {
    /// The state of the session that the artifact begins with, and a function that makes those of other sessions.
    pub fn new(first: S, begin: impl Fn() -> S + 'static) -> Self {
        let states = vec![OfSession { id: None, since: 0, state: Box::new(first) }];
        BySession { begin: Box::new(begin), states, current: 0, switches: 0 }
    }

    /// True if the current record's session is this one.
    pub fn is_current(&self, id: &str) -> bool {
        self.states[self.current].id.as_deref() == Some(id)
    }

    /// True if the artifact has records of several sessions.
    pub fn has_several(&self) -> bool {
        self.states.len() > 1
    }

    /// Makes a session the current one. If that is a session too many, the one that was not written to for the longest time ends: finish
    /// it.
    pub fn switch_to(&mut self, id: &str) -> Option<Ended<S>> {
        if self.is_current(id) {
            return None;
        }
        self.switches += 1;
        let known = self.states.iter().position(|of| of.id.as_deref() == Some(id));
        // The first session states its id only now.
        let at = known.or_else(|| self.states.iter().position(|of| of.id.is_none()));
        let mut ended = None;
        self.current = at.unwrap_or_else(|| {
            ended = self.end_oldest();
            self.states.push(OfSession { id: None, since: 0, state: Box::new((self.begin)()) });
            self.states.len() - 1
        });
        let current = &mut self.states[self.current];
        current.id.get_or_insert_with(|| id.to_owned());
        current.since = self.switches;
        ended
    }

    fn end_oldest(&mut self) -> Option<Ended<S>> {
        if self.states.len() < MAX_SESSIONS {
            return None;
        }
        let (at, _) = self.states.iter().enumerate().min_by_key(|(_, of)| of.since)?;
        let OfSession { id, state, .. } = self.states.remove(at);
        Some(Ended { id, state })
    }

    /// The state of the current record's session.
    pub fn current(&mut self) -> &mut S {
        &mut self.states[self.current].state
    }

    /// The id of the current record's session, if a record has stated it.
    pub fn current_id(&self) -> Option<&str> {
        self.states[self.current].id.as_deref()
    }

    /// Ends all sessions, in the order of their first records. Then a new one begins.
    pub fn end_all(&mut self) -> Vec<Ended<S>> {
        let next = OfSession { id: None, since: 0, state: Box::new((self.begin)()) };
        self.current = 0;
        std::mem::replace(&mut self.states, vec![next]).into_iter().map(|OfSession { id, state, .. }| Ended { id, state }).collect()
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
            assert!(counters.switch_to(id).is_none());
            *counters.current() += 1;
        }
        assert!(counters.has_several() && counters.is_current("c"));
        let ended: Vec<_> = counters.end_all().into_iter().map(|ended| (ended.id.unwrap_or_default(), *ended.state)).collect();
        assert_eq!(ended, [("a".to_owned(), 103), ("b".to_owned(), 1), ("c".to_owned(), 1)]);
    }

    #[test]
    fn the_session_that_was_not_written_to_for_the_longest_time_ends_first() {
        let mut counters = counters();
        for number in 0..MAX_SESSIONS {
            assert!(counters.switch_to(&number.to_string()).is_none());
        }
        assert!(counters.switch_to("0").is_none());
        assert_eq!(counters.switch_to("more").and_then(|ended| ended.id).as_deref(), Some("1"));
        assert!(counters.is_current("more") && counters.end_all().len() == MAX_SESSIONS);
    }
}
