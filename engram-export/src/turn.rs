//! Turns: the prompt that an event belongs to.

use engram_core::event::{Author, Event, EventRef, Meta};

/// Finds the turn of each event of a tape: the `seq` of the latest `msg.in` of a person or an agent, at or before the event, that was
/// not rewound. Events before the first prompt have none. Behind a rewind the turn is that of the event to which it goes back.
#[derive(Debug, Default)]
pub struct Turns {
    /// The events from which on another turn holds, with that turn.
    changes: Vec<(u64, Option<u64>)>,
}

impl Turns {
    /// The turn of the next event.
    pub fn of(&mut self, record: &EventRef<'_>) -> Option<u64> {
        match record.event {
            Event::MsgIn(message) if message.by != Author::Harness => {
                let seq = record.seq.get();
                self.changes.push((seq, Some(seq)));
            }
            Event::Meta(Meta::Rewind { to, .. }) => {
                let before = self.changes.partition_point(|(seq, _)| *seq <= to.get());
                let turn = turn_of(&self.changes[..before]);
                self.changes.push((record.seq.get(), turn));
            }
            _ => {}
        }
        turn_of(&self.changes)
    }

    /// Forgets everything: the next tape begins.
    pub fn clear(&mut self) {
        self.changes.clear();
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
}
