//! Which parts belong to one prompt, and which prompts the harness wrote: repetitions of an earlier prompt, and notices that only the person
//! sees.

use std::collections::{BTreeMap, BTreeSet};

use super::decision::Decision;
use crate::opencode::notes::{Note, PromptPart};

/// The files of prompts: for the record that gives the `msg.in`, the records of its other files.
pub type Files = BTreeMap<usize, Vec<usize>>;

/// Joins the files of each message to its first words, or without words to its first file, and finds the words of the harness. Needs the
/// repeats.
pub fn prompts(notes: &[Note], decisions: &mut [Decision]) -> Files {
    let mut files = Files::new();
    let mut known = Known::default();
    let mut at = 0;
    while at < notes.len() {
        let rest = notes[at..].iter();
        let end = at
            + rest
                .take_while(|note| note.message == notes[at].message)
                .count();
        let message = Message {
            notes: &notes[at..end],
            decisions: &mut decisions[at..end],
        };
        known.message(message, &mut files);
        at = end;
    }
    files
}

/// A message and its parts.
struct Message<'n> {
    notes: &'n [Note],
    decisions: &'n mut [Decision],
}

/// What the messages so far have said.
#[derive(Default)]
struct Known {
    words: BTreeSet<u64>,
    /// The harness has made a summary because a prompt was too long, and now writes that prompt again.
    writes_again: bool,
}

impl Known {
    fn message(&mut self, message: Message<'_>, files: &mut Files) {
        let Message { notes, decisions } = message;
        let of = |part: fn(&PromptPart) -> bool, decisions: &[Decision]| -> Vec<usize> {
            (0..notes.len())
                .filter(|at| part(&notes[*at].prompt) && !decisions[*at].is_repeat)
                .collect()
        };
        if !of(|part| *part == PromptPart::Overflow, decisions).is_empty() {
            self.writes_again = true;
            return;
        }
        let words = of(|part| matches!(part, PromptPart::Words { .. }), decisions);
        let attached = of(|part| *part == PromptPart::File, decisions);
        let Some(first) = words.first().or(attached.first()).copied() else {
            return;
        };
        let is_seen = |at: &usize| {
            notes[*at].prompt
                != PromptPart::Words {
                    is_ignored: true,
                    key: key(&notes[*at]),
                }
        };
        let is_notice = !words.is_empty() && !words.iter().any(is_seen);
        let is_again =
            std::mem::take(&mut self.writes_again) && self.words.contains(&key(&notes[first]));
        self.words.extend(words.iter().map(|at| key(&notes[*at])));
        for at in words.iter().chain(&attached) {
            decisions[*at].is_of_notice = is_notice;
            decisions[*at].is_written_again = is_again;
        }
        let others = attached.into_iter().filter(|at| *at != first && !is_again);
        let number = |at: usize| notes[at].number as usize;
        for at in others {
            decisions[at].is_attached = true;
            files.entry(number(first)).or_default().push(number(at));
        }
    }
}

/// The key of words; 0 for other parts.
fn key(note: &Note) -> u64 {
    match note.prompt {
        PromptPart::Words { key, .. } => key,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(number: u32, message: u32, prompt: PromptPart) -> Note {
        Note {
            number,
            message,
            prompt,
            ..Note::default()
        }
    }

    fn words(key: u64) -> PromptPart {
        PromptPart::Words {
            key,
            is_ignored: false,
        }
    }

    fn decided(notes: &[Note]) -> (Vec<Decision>, Files) {
        let mut decisions = vec![Decision::default(); notes.len()];
        let files = prompts(notes, &mut decisions);
        (decisions, files)
    }

    #[test]
    fn files_belong_to_the_words_of_their_message() {
        let notes = [
            part(1, 1, PromptPart::None),
            part(2, 1, PromptPart::File),
            part(3, 1, words(7)),
            part(4, 1, PromptPart::File),
            part(5, 5, PromptPart::None),
            part(6, 5, PromptPart::File),
            part(7, 5, PromptPart::File),
        ];
        let (decisions, files) = decided(&notes);
        assert_eq!(files, Files::from([(3, vec![2, 4]), (6, vec![7])]));
        let attached: Vec<bool> = decisions
            .iter()
            .map(|decision| decision.is_attached)
            .collect();
        assert_eq!(attached, [false, true, false, true, false, false, true]);
    }

    #[test]
    fn a_prompt_is_written_again_after_an_overflow() {
        let notes = [
            part(1, 1, words(7)),
            part(2, 2, PromptPart::Overflow),
            part(3, 3, PromptPart::None),
            part(4, 4, words(7)),
            part(5, 5, words(7)),
            part(6, 6, PromptPart::Overflow),
            part(7, 7, words(8)),
        ];
        let again: Vec<bool> = decided(&notes)
            .0
            .iter()
            .map(|decision| decision.is_written_again)
            .collect();
        assert_eq!(again, [false, false, false, true, false, false, false]);
    }

    #[test]
    fn a_message_that_the_model_never_gets_is_a_notice() {
        let ignored = PromptPart::Words {
            key: 9,
            is_ignored: true,
        };
        let notes = [
            part(1, 1, ignored),
            part(2, 2, words(7)),
            part(3, 2, ignored),
        ];
        let of_harness: Vec<bool> = decided(&notes)
            .0
            .iter()
            .map(|decision| decision.is_of_notice)
            .collect();
        assert_eq!(of_harness, [true, false, false]);
    }
}
