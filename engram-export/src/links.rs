//! How tapes belong together: sub-agents to the call that started them, and several tapes of one session.

use std::collections::HashMap;
use std::io;

use engram_core::event::{Event, EventRef, Meta};
use engram_core::sink::EventSink;

use crate::text::owned;

/// What links a tape to others. A sink that reads it from one tape.
#[derive(Debug, Clone, Default)]
pub struct Links {
    /// The harness.
    pub harness: String,
    /// The session.
    pub session_id: Option<String>,
    /// The sub-agent.
    pub agent_id: Option<String>,
    /// The session that started this one.
    pub parent_session_id: Option<String>,
    /// The call that started this one.
    pub parent_call_id: Option<String>,
    /// The ids of the calls of this tape.
    pub call_ids: Vec<String>,
    /// The number of events.
    pub events: u64,
}

impl EventSink for Links {
    fn event(&mut self, record: &EventRef<'_>) -> io::Result<()> {
        if self.events == 0 {
            self.harness = record.source.harness.to_owned();
            self.session_id = record.source.session_id.map(owned);
            self.agent_id = record.source.agent_id.map(owned);
        }
        self.events += 1;
        match record.event {
            Event::Meta(Meta::Session(facts)) if !record.replay => {
                self.parent_session_id = self
                    .parent_session_id
                    .take()
                    .or_else(|| facts.parent_session_id.map(owned));
                self.parent_call_id = self
                    .parent_call_id
                    .take()
                    .or_else(|| facts.parent_call_id.map(owned));
            }
            Event::ToolCall(call) if !record.replay => {
                self.call_ids.extend(call.call_id.map(owned))
            }
            _ => {}
        }
        Ok(())
    }
}

/// The tape that a sub-agent belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parent {
    /// Its place among the tapes.
    pub tape: usize,
    /// The call that started the sub-agent, if the logs tell.
    pub call_id: Option<String>,
}

/// The parent of each of these tapes, if it is among them. No tape is its own ancestor.
pub fn parents(tapes: &[Links]) -> Vec<Option<Parent>> {
    let mut by_call: HashMap<(&str, &str), usize> = HashMap::new();
    let mut by_session: HashMap<(&str, &str), usize> = HashMap::new();
    for (index, tape) in tapes.iter().enumerate() {
        for id in &tape.call_ids {
            by_call.entry((&tape.harness, id)).or_insert(index);
        }
        if let (Some(session), None) = (&tape.session_id, &tape.agent_id) {
            by_session.entry((&tape.harness, session)).or_insert(index);
        }
    }
    let mut parents: Vec<Option<Parent>> = Vec::with_capacity(tapes.len());
    for (index, tape) in tapes.iter().enumerate() {
        let call = tape
            .parent_call_id
            .as_deref()
            .and_then(|id| Some((*by_call.get(&(tape.harness.as_str(), id))?, id)));
        let of_session = || {
            by_session
                .get(&(tape.harness.as_str(), tape.parent_session_id.as_deref()?))
                .copied()
        };
        let parent = match call {
            Some((tape, id)) => Some(Parent {
                tape,
                call_id: Some(id.to_owned()),
            }),
            None => of_session().map(|tape| Parent {
                tape,
                call_id: None,
            }),
        };
        parents.push(parent.filter(|parent| parent.tape != index));
    }
    for index in 0..parents.len() {
        if is_in_a_circle(&parents, index) {
            parents[index] = None;
        }
    }
    parents
}

fn is_in_a_circle(parents: &[Option<Parent>], start: usize) -> bool {
    let mut at = start;
    for _ in 0..parents.len() {
        match &parents[at] {
            Some(parent) if parent.tape == start => return true,
            Some(parent) => at = parent.tape,
            None => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tape(
        session: &str,
        agent: Option<&str>,
        parent: Option<(&str, Option<&str>)>,
        calls: &[&str],
        events: u64,
    ) -> Links {
        Links {
            harness: "toy".to_owned(),
            session_id: Some(session.to_owned()),
            agent_id: agent.map(str::to_owned),
            parent_session_id: parent.map(|(session, _)| session.to_owned()),
            parent_call_id: parent.and_then(|(_, call)| call.map(str::to_owned)),
            call_ids: calls.iter().map(|&id| id.to_owned()).collect(),
            events,
        }
    }

    #[test]
    fn a_sub_agent_belongs_to_the_tape_with_its_call_else_to_that_of_its_session() {
        let tapes = [
            tape("s", None, None, &["c1"], 9),
            tape("s", Some("a"), Some(("s", Some("c1"))), &["c2"], 5),
            tape("s", Some("b"), Some(("s", Some("c2"))), &[], 5),
            tape("t", None, Some(("s", None)), &[], 5),
            tape("u", None, Some(("gone", Some("gone"))), &[], 5),
        ];
        let parent = |tape: usize, call: Option<&str>| {
            Some(Parent {
                tape,
                call_id: call.map(str::to_owned),
            })
        };
        assert_eq!(
            parents(&tapes),
            [
                None,
                parent(0, Some("c1")),
                parent(1, Some("c2")),
                parent(0, None),
                None
            ]
        );
    }

    #[test]
    fn tapes_that_name_each_other_are_no_ancestors() {
        let tapes = [
            tape("s", None, Some(("t", None)), &[], 1),
            tape("t", None, Some(("s", None)), &[], 1),
        ];
        let parents = parents(&tapes);
        assert_eq!(parents.iter().flatten().count(), 1);
    }
}
