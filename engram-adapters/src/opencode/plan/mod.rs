//! Step 2: what becomes of each record, decided over the notes alone.

mod decision;
mod ends;
mod repeats;

pub use decision::Decision;

use super::notes::Note;

/// Decides over all records: one decision for each note.
pub fn decide(notes: &[Note]) -> Vec<Decision> {
    let mut decisions = vec![Decision::default(); notes.len()];
    repeats::repeats(notes, &mut decisions);
    ends::ends(notes, &mut decisions);
    decisions
}
