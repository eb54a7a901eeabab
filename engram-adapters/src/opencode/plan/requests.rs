//! Which messages have several requests: their id then names no single response.

use engram_core::keys::KeyMap;

use super::decision::Decision;
use crate::opencode::notes::Note;

/// Marks the ends of requests whose message has another one. Needs the repeats.
pub fn requests(notes: &[Note], decisions: &mut [Decision]) {
    let mut counts: KeyMap<u32> = KeyMap::default();
    let ends = |note: &Note, decision: &Decision| note.ends_request != 0 && !decision.is_repeat;
    for (note, decision) in notes.iter().zip(&*decisions) {
        if ends(note, decision) {
            *counts.entry(note.ends_request).or_default() += 1;
        }
    }
    for (note, decision) in notes.iter().zip(decisions) {
        decision.is_one_of_several = counts
            .get(&note.ends_request)
            .is_some_and(|count| *count > 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_with_several_requests_names_none_of_them() {
        let end = |message| Note {
            ends_request: message,
            ..Note::default()
        };
        let notes = [end(1), end(2), end(1), Note::default(), end(2)];
        let mut decisions = vec![Decision::default(); notes.len()];
        decisions[4].is_repeat = true;
        requests(&notes, &mut decisions);
        let several: Vec<bool> = decisions
            .iter()
            .map(|decision| decision.is_one_of_several)
            .collect();
        assert_eq!(several, [true, false, true, false, false]);
    }
}
