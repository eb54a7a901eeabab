//! Which items are recorded again: at another time, with the same id and the same content.

use engram_core::keys::hash64;

use crate::codex::notes::Note;
use crate::shared::seen::{Repetition, Seen};

/// By note: true for an item that repeats an earlier one. (The driver finds records that are repeated byte for byte.)
pub fn repeats(notes: &[Note]) -> Vec<bool> {
    let mut seen = Seen::default();
    // The item for the screen has the id of the one for the model. Items of one id that say different things repeat none.
    let mut is_repeat = |(at, note): (usize, &Note)| {
        note.id != 0
            && seen.add(hash64((note.id, note.is_item)), at as u64, &[note.fact])
                == Repetition::Whole
    };
    notes.iter().enumerate().map(&mut is_repeat).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeats_of(items: &[(u64, u64)]) -> Vec<bool> {
        repeats(
            &items
                .iter()
                .map(|(id, fact)| Note {
                    id: *id,
                    fact: *fact,
                    ..Note::default()
                })
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn an_item_is_a_repeat_only_if_all_with_its_id_say_the_same() {
        assert_eq!(repeats_of(&[(1, 7), (2, 7), (1, 7)]), [false, false, true]);
        assert_eq!(repeats_of(&[(1, 7), (1, 8), (1, 7)]), [false; 3]);
        assert_eq!(repeats_of(&[(0, 7), (0, 7)]), [false; 2]);
    }
}
