//! Which records the log has twice, and what of a record an earlier one with its id says.

use super::decision::Decision;
use crate::opencode::notes::Note;
use crate::shared::seen::{Repetition, Seen};

/// Sets what each record repeats. `decisions` has one for each note.
pub fn repeats(notes: &[Note], decisions: &mut [Decision]) {
    let mut seen = Seen::default();
    for (note, decision) in notes.iter().zip(decisions) {
        if note.id == 0 {
            continue;
        }
        let facts = &note.facts[..usize::from(note.count)];
        decision.is_repeat = seen.add(note.id, note.time, facts) == Repetition::Whole;
        decision.stated = [0, 1, 2].map(|place| seen.is_stated(place));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opencode::record_facts::{CALL, TOKENS};

    fn note(id: u64, facts: [u64; 3]) -> Note {
        Note {
            id,
            facts,
            count: 3,
            ..Note::default()
        }
    }

    fn decided(notes: &[Note]) -> Vec<Decision> {
        let mut decisions = vec![Decision::default(); notes.len()];
        repeats(notes, &mut decisions);
        decisions
    }

    #[test]
    fn a_record_with_the_facts_of_its_id_is_a_repeat() {
        let decisions = decided(&[note(1, [1, 2, 3]), note(2, [1, 2, 3]), note(1, [1, 2, 3])]);
        assert_eq!(decisions.map_repeats(), [false, false, true]);
    }

    #[test]
    fn a_later_state_of_a_record_is_none_and_says_what_is_new() {
        let decisions = decided(&[note(1, [1, 2, 3]), note(1, [1, 4, 3])]);
        assert_eq!(decisions.map_repeats(), [false, false]);
        assert!(decisions[1].stated[CALL] && !decisions[1].stated[TOKENS]);
    }

    #[test]
    fn records_without_an_id_repeat_nothing() {
        assert_eq!(
            decided(&[note(0, [1, 2, 3]), note(0, [1, 2, 3])]).map_repeats(),
            [false, false]
        );
    }

    trait MapRepeats {
        fn map_repeats(&self) -> Vec<bool>;
    }

    impl MapRepeats for Vec<Decision> {
        fn map_repeats(&self) -> Vec<bool> {
            self.iter().map(|decision| decision.is_repeat).collect()
        }
    }
}
