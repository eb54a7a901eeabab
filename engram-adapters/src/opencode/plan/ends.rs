//! After which record the end of a message stands: what it cost, and how it ended, follows the last of its parts.

use super::decision::Decision;
use crate::opencode::notes::{Note, Role};

/// Sets after which records the end of a message stands. Needs the repeats: a repeated message has no end.
pub fn ends(notes: &[Note], decisions: &mut [Decision]) {
    let mut message = None;
    for at in 0..notes.len() {
        let note = notes[at];
        if note.role == Role::Message {
            message = (!decisions[at].is_repeat).then_some(note.message);
        }
        let is_last = notes
            .get(at + 1)
            .is_none_or(|next| next.message != note.message);
        decisions[at].ends = message.filter(|message| is_last && *message == note.message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(role: Role, message: u32) -> Note {
        Note {
            role,
            message,
            ..Note::default()
        }
    }

    fn ends_of(notes: &[Note], repeated: &[usize]) -> Vec<Option<u32>> {
        let mut decisions = vec![Decision::default(); notes.len()];
        repeated
            .iter()
            .for_each(|at| decisions[*at].is_repeat = true);
        ends(notes, &mut decisions);
        decisions.iter().map(|decision| decision.ends).collect()
    }

    #[test]
    fn the_end_of_a_message_follows_its_last_part() {
        let notes = [
            note(Role::Message, 1),
            note(Role::Part, 1),
            note(Role::Part, 1),
            note(Role::Message, 4),
        ];
        assert_eq!(ends_of(&notes, &[]), [None, None, Some(1), Some(4)]);
    }

    #[test]
    fn a_repeated_message_has_no_end() {
        assert_eq!(
            ends_of(&[note(Role::Message, 1), note(Role::Part, 1)], &[0]),
            [None, None]
        );
    }

    #[test]
    fn the_parts_of_a_message_that_cannot_be_read_have_no_end() {
        assert_eq!(
            ends_of(&[note(Role::Message, 1), note(Role::Part, 3)], &[]),
            [Some(1), None]
        );
    }
}
