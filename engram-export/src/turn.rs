//! Turns: the prompt that an event belongs to.

use std::collections::HashMap;

use engram_core::event::{Author, Event, EventRef, Meta};

/// Finds the turn of each event of a tape: the `seq` of the latest `msg.in` of a person or an agent, at or before the event, that was
/// not rewound. Events before the first prompt have none. Behind a rewind the turn is that of the event to which it goes back.
///
/// A sub-agent on the tape of its session has turns of its own, from its first prompt on: what the session says meanwhile and then belongs to the
/// prompt of the session.
#[derive(Debug, Default)]
pub struct Turns {
    /// The events from which on another turn holds, with that turn: of the agent whose tape it is, then of each other one.
    changes: Vec<Vec<(u64, Option<u64>)>>,
    /// Their places, by id.
    agents: HashMap<String, usize>,
}

impl Turns {
    /// The turn of the next event.
    pub fn of(&mut self, record: &EventRef<'_>) -> Option<u64> {
        let at = self.place_of(record.source.agent_id.map(|agent| agent.raw()));
        match record.event {
            Event::MsgIn(message) if message.by != Author::Harness => {
                let seq = record.seq.get();
                self.changes[at].push((seq, Some(seq)));
            }
            Event::Meta(Meta::Rewind { to, .. }) => {
                for changes in &mut self.changes {
                    let before = changes.partition_point(|(seq, _)| *seq <= to.get());
                    let turn = turn_of(&changes[..before]);
                    changes.push((record.seq.get(), turn));
                }
            }
            _ => {}
        }
        turn_of(&self.changes[at]).or_else(|| turn_of(&self.changes[0]))
    }

    /// The place of an agent. That of the first event, and of events that name none, is the first.
    fn place_of(&mut self, agent: Option<&str>) -> usize {
        let next = self.changes.len();
        let known = match agent {
            _ if next == 0 => None,
            None => Some(0),
            Some(agent) => self.agents.get(agent).copied(),
        };
        known.unwrap_or_else(|| {
            self.changes.push(Vec::new());
            self.agents
                .extend(agent.map(|agent| (agent.to_owned(), next)));
            next
        })
    }

    /// Forgets everything: the next tape begins.
    pub fn clear(&mut self) {
        *self = Turns::default();
    }
}

/// The turn behind these changes.
fn turn_of(changes: &[(u64, Option<u64>)]) -> Option<u64> {
    changes.last().and_then(|(_, turn)| *turn)
}

#[cfg(test)]
mod tests {
    use engram_core::event::EventRecord;

    use super::*;

    #[test]
    fn a_turn_begins_with_words_of_a_person_or_an_agent_and_rewound_ones_do_not_count() {
        let events = [
            (r#""k":"meta","label":"session""#, None),
            (r#""k":"msg.in","role":"user","by":"person""#, Some(1)),
            (r#""k":"msg.in","role":"user","by":"harness""#, Some(1)),
            (r#""k":"msg.in","role":"user","by":"agent""#, Some(3)),
            (r#""k":"msg.out""#, Some(3)),
            (r#""k":"meta","label":"rewind","to":2"#, Some(1)),
            (r#""k":"meta","label":"rewind","to":0"#, None),
            // To the end of a branch that was left.
            (r#""k":"meta","label":"rewind","to":4"#, Some(3)),
        ];
        let mut turns = Turns::default();
        for (seq, (rest, turn)) in events.into_iter().enumerate() {
            let line = format!(
                r#"{{"seq":{seq},"t":"2026-01-02T03:04:05Z","source":{{"harness":"toy"}},{rest}}}"#
            );
            let record = EventRecord::parse(&line).unwrap();
            assert_eq!(turns.of(&record.as_event_ref()), turn, "{line}");
        }
    }

    #[test]
    fn a_sub_agent_on_the_tape_of_its_session_has_turns_of_its_own() {
        let agent = r#","agent_id":"a""#;
        let events = [
            ("", r#""k":"msg.in","role":"user","by":"person""#, 0),
            (agent, r#""k":"meta","label":"session""#, 0),
            (agent, r#""k":"msg.in","role":"user","by":"agent""#, 2),
            ("", r#""k":"msg.out""#, 0),
            (agent, r#""k":"msg.out""#, 2),
            ("", r#""k":"msg.out""#, 0),
        ];
        let mut turns = Turns::default();
        for (seq, (of, rest, turn)) in events.into_iter().enumerate() {
            let line = format!(
                r#"{{"seq":{seq},"t":"2026-01-02T03:04:05Z","source":{{"harness":"toy"{of}}},{rest}}}"#
            );
            let record = EventRecord::parse(&line).unwrap();
            assert_eq!(turns.of(&record.as_event_ref()), Some(turn), "{line}");
        }
    }
}
