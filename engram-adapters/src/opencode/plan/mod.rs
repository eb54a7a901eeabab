//! Step 2: what becomes of each record, decided over the notes alone.

mod decision;
mod ends;
mod prompts;
mod repeats;
mod requests;

pub use decision::Decision;
pub use prompts::Files;

use super::notes::Note;

/// Decides over all records: one decision for each note, and which files belong to which prompts.
pub fn decide(notes: &[Note]) -> (Vec<Decision>, Files) {
    let mut decisions = vec![Decision::default(); notes.len()];
    repeats::repeats(notes, &mut decisions);
    ends::ends(notes, &mut decisions);
    requests::requests(notes, &mut decisions);
    let files = prompts::prompts(notes, &mut decisions);
    (decisions, files)
}
