//! What stands after all events of a response: its token counts, and the answer that is joined from pieces.

use engram_core::keys::KeyMap;

use super::repeats::Decision;
use crate::gemini::notes::{After, Note};

/// The token counts of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// The record that says them.
    pub of: u32,
    /// The last record of the turn. They stand after its events.
    pub after: u32,
}

/// Where the token counts of each turn of a log of lines stand, in this order. The harness writes a turn when the model has answered, and
/// again with its calls when they have ended: directly behind it, or, if two processes write one log, behind records of the other one.
///
/// Decides also about counts that give no usage, since the next record of their turn has later ones.
pub fn usages(notes: &[Note], decisions: &mut [Decision]) -> Vec<Usage> {
    let mut usages: Vec<(Usage, Turn)> = Vec::new();
    let mut of_id: KeyMap<usize> = KeyMap::default();
    // The turn whose records go on.
    let mut open: Option<usize> = None;
    let starts = notes
        .iter()
        .enumerate()
        .filter_map(|(at, note)| match note {
            Note::Record { number, after } => Some((at, *number, *after)),
            _ => None,
        });
    for (at, number, after) in starts {
        let turn = Turn::at(at, notes, decisions).filter(|_| after == After::Turn);
        let known = turn.as_ref().and_then(|turn| of_id.get(&turn.id).copied());
        let again =
            known.filter(|known| turn.as_ref().is_some_and(|turn| turn.is(&usages[*known].1)));
        open = match after {
            After::Ends => None,
            After::GoesOn => open,
            After::Turn => open.filter(|open| turn.is_none() || again == Some(*open)),
        };
        if after == After::Ends {
            for id in restated_calls(at, notes, decisions) {
                if let Some(place) = of_id.get(&id) {
                    usages[*place].0.after = number;
                }
            }
        }
        if let Some(turn) = turn.filter(|turn| turn.has_new_tokens) {
            let usage = Usage {
                of: number,
                after: number,
            };
            let place = open.unwrap_or(usages.len());
            of_id.insert(turn.id, place);
            // Directly behind the turn, they stand for its counts so far.
            match usages.get_mut(place) {
                Some(so_far) => {
                    decisions[so_far.1.at].tokens = true;
                    *so_far = (usage, turn);
                }
                None => usages.push((usage, turn)),
            }
            open = Some(place);
        } else {
            open = open.or(again.filter(|_| gives_more(at, notes, decisions)));
            if let Some(open) = open {
                usages[open].0.after = number;
            }
        }
    }
    let mut usages: Vec<Usage> = usages.into_iter().map(|(usage, _)| usage).collect();
    usages.sort_by_key(|usage| usage.after);
    usages
}

/// Takes the counts of a turn in a document from its last record: an earlier one has less of them. Those of a log of lines stand behind the turn
/// ([`usages`]).
pub fn last_counts(notes: &[Note], decisions: &mut [Decision]) {
    let mut last: KeyMap<Turn> = KeyMap::default();
    for at in 0..notes.len() {
        let turn = Turn::at(at, notes, decisions)
            .filter(|turn| turn.id != 0 && matches!(notes[at], Note::Record { .. }));
        let Some(turn) = turn.filter(|turn| !decisions[turn.at].in_history) else {
            continue;
        };
        if let Some(before) = last.get(&turn.id).filter(|before| turn.is(before)) {
            decisions[before.at].tokens |= turn.has_new_tokens;
        }
        last.insert(turn.id, turn);
    }
}

/// The messages in the history of the record at `at` whose calls the log did not have before.
fn restated_calls<'n>(
    at: usize,
    notes: &'n [Note],
    decisions: &'n [Decision],
) -> impl Iterator<Item = u64> + 'n {
    let of_record = notes.iter().zip(decisions).skip(at + 1);
    let mut message = 0;
    of_record
        .take_while(|(note, _)| !matches!(note, Note::Record { .. }))
        .filter_map(move |(note, decision)| {
            if let Note::Message { id, .. } = note {
                message = *id;
            }
            let is_new = matches!(note, Note::Call { .. }) && !decision.is_repeated;
            (is_new && decision.in_history).then_some(message)
        })
}

/// True if the record at `at` has a part of a response that was not given before.
fn gives_more(at: usize, notes: &[Note], decisions: &[Decision]) -> bool {
    let is_part = |note: &Note| {
        matches!(
            note,
            Note::Thought { .. }
                | Note::Content { .. }
                | Note::Text { .. }
                | Note::Call { .. }
                | Note::NamelessCall { .. }
        )
    };
    let of_record = notes.iter().zip(decisions).skip(at + 1);
    of_record
        .take_while(|(note, _)| !matches!(note, Note::Record { .. }))
        .any(|(note, decision)| is_part(note) && !decision.is_repeated && !decision.in_history)
}

/// What identifies a turn.
struct Turn {
    /// The place of its note.
    at: usize,
    id: u64,
    time: u64,
    tokens: u64,
    content: u64,
    has_new_tokens: bool,
}

impl Turn {
    /// The turn of the record at `at`.
    fn at(at: usize, notes: &[Note], decisions: &[Decision]) -> Option<Turn> {
        let Some(Note::Message { id, time, .. }) = notes.get(at + 1) else {
            return None;
        };
        let rest = notes.iter().zip(decisions).enumerate().skip(at + 2);
        rest.take(2).find_map(|(at, (note, decision))| match note {
            Note::Turn { content, tokens } => {
                let has_new_tokens = *tokens != 0 && !decision.tokens && !decision.in_history;
                Some(Turn {
                    at,
                    id: *id,
                    time: *time,
                    tokens: *tokens,
                    content: *content,
                    has_new_tokens,
                })
            }
            _ => None,
        })
    }

    /// True if a turn with the id of this one is this one again: it has its time, its counts or its content.
    fn is(&self, other: &Turn) -> bool {
        let is_same = |one: u64, other: u64| one != 0 && one == other;
        let is_again = self.time == other.time
            || is_same(self.tokens, other.tokens)
            || is_same(self.content, other.content);
        is_same(self.id, other.id) && is_again
    }
}

/// What becomes of a piece of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// It is empty, and no text precedes it.
    Empty,
    /// It begins the answer, whose last piece this record has.
    First { last: u32 },
    /// It goes on.
    Next,
}

/// The most bytes of an answer that is joined from pieces. A longer one is several answers.
const MAX_ANSWER: u64 = 16 << 20;

/// What becomes of each piece, in their order. An answer ends where a record is none of its pieces.
pub fn pieces(notes: &[Note]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    // The first piece of the answer, and the bytes of all.
    let mut open: Option<(usize, u64)> = None;
    for pair in notes.windows(2) {
        let Note::Record { number, .. } = pair[0] else {
            continue;
        };
        let Note::Piece { bytes } = pair[1] else {
            open = None;
            continue;
        };
        let bytes = u64::from(bytes);
        match &mut open {
            Some((first, length)) if *length + bytes <= MAX_ANSWER => {
                *length += bytes;
                pieces[*first] = Piece::First { last: number };
                pieces.push(Piece::Next);
            }
            _ if bytes == 0 => pieces.push(Piece::Empty),
            _ => {
                open = Some((pieces.len(), bytes));
                pieces.push(Piece::First { last: number });
            }
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gemini::notes::{CallList, History};
    use crate::gemini::plan::repeats::repeats;
    use crate::gemini::schema::Form;

    fn record(number: u32, after: After) -> Note {
        Note::Record { number, after }
    }

    fn turn(number: u32, id: u64, content: u64, tokens: u64) -> [Note; 3] {
        let message = Note::Message {
            id,
            time: u64::from(number),
            history: History::GoesOn,
        };
        [
            record(number, After::Turn),
            message,
            Note::Turn { content, tokens },
        ]
    }

    fn places(notes: &[Note]) -> Vec<(u32, u32)> {
        usages(notes, &mut repeats(Form::Lines, notes))
            .iter()
            .map(|usage| (usage.of, usage.after))
            .collect()
    }

    #[test]
    fn counts_stand_after_the_last_record_of_their_turn() {
        let response = [record(3, After::GoesOn)];
        let notes = [
            &turn(1, 7, 5, 10)[..],
            &turn(2, 7, 5, 10),
            &response,
            &turn(4, 8, 6, 10),
            &[record(5, After::Ends)],
        ]
        .concat();
        assert_eq!(places(&notes), [(1, 3), (4, 4)]);
    }

    #[test]
    fn counts_stand_behind_a_part_that_comes_after_records_of_another_process() {
        let call = |id| Note::Call {
            id,
            args: 1,
            list: CallList::Calls,
        };
        let notes = [
            &turn(1, 7, 5, 10)[..],
            &[record(2, After::Ends)],
            &turn(3, 8, 6, 11),
            &turn(4, 7, 5, 10),
            &[call(70)],
            &turn(5, 8, 6, 11),
            &turn(6, 7, 5, 10),
            &[call(70)],
        ]
        .concat();
        assert_eq!(places(&notes), [(3, 3), (1, 4)]);
    }

    #[test]
    fn another_turn_with_the_same_id_is_another_turn() {
        assert_eq!(
            places(&[turn(1, 7, 5, 10), turn(2, 7, 6, 11)].concat()),
            [(1, 1), (2, 2)]
        );
    }

    #[test]
    fn counts_directly_behind_those_of_their_turn_stand_for_them() {
        let notes = [turn(1, 7, 5, 10), turn(2, 7, 5, 11)].concat();
        let mut decisions = repeats(Form::Lines, &notes);
        let usage = Usage { of: 2, after: 2 };
        assert_eq!(usages(&notes, &mut decisions), [usage]);
        assert_eq!([2, 5].map(|at| decisions[at].tokens), [true, false]);
    }

    #[test]
    fn a_turn_that_grew_has_its_last_counts_in_a_document() {
        let of = |time| {
            let [record, mut message, turn_note] = turn(2, 7, 6, 11);
            if let Note::Message { time: of_note, .. } = &mut message {
                *of_note = time;
            }
            let notes = [&turn(1, 7, 5, 10)[..], &[record, message, turn_note]].concat();
            let mut decisions = repeats(Form::Document, &notes);
            last_counts(&notes, &mut decisions);
            [2, 5].map(|at| decisions[at].tokens)
        };
        assert_eq!(of(1), [true, false]);
        assert_eq!(of(2), [false, false]);
    }

    #[test]
    fn a_turn_without_counts_has_none() {
        assert_eq!(
            places(&[turn(1, 7, 5, 0), turn(2, 7, 5, 9)].concat()),
            [(2, 2)]
        );
    }

    #[test]
    fn pieces_up_to_another_record_are_one_answer() {
        let piece = |number, bytes| [record(number, After::Ends), Note::Piece { bytes }];
        let other = |number| [record(number, After::Ends), record(number + 1, After::Ends)];
        let notes = [
            piece(0, 0),
            piece(1, 3),
            piece(2, 0),
            piece(3, 1),
            other(4),
            piece(6, 2),
            piece(7, 16 << 20),
        ]
        .concat();
        let first = |last| Piece::First { last };
        assert_eq!(
            pieces(&notes),
            [
                Piece::Empty,
                first(3),
                Piece::Next,
                Piece::Next,
                first(6),
                first(7)
            ]
        );
    }
}
