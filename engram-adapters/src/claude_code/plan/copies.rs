//! Lines of the history so far that the same file has again with new ids.
//!
//! - Up to 2.0.10 over stream-json, the whole history comes again before each turn. Answers and results are known by their own ids
//!   (`twins`); a prompt is a copy if its words were said before and a copied line goes on from it, or another prompt that was said before
//!   and that nobody can type so fast. A person may say the same again, but no model gives the same answer.
//! - 2.0.30 to 2.1.12, when a session is resumed: lines come again with their old times.

use std::collections::HashSet;

use engram_core::keys::{KeyMap, KeySet, hash64};

use super::repeats::{Blocks, Skip};
use crate::claude_code::notes::{Block, BlockKind, Flags, Kind, NO_TIME, NONE, Note, Notes};

/// The longest time between two lines that were copied together, in milliseconds.
pub(super) const COPY_STEP_MS: i64 = 1;

/// The prompts and notices that are copies. `repeated` are the blocks that earlier ones have said.
pub(in crate::claude_code) fn copied_prompts(
    notes: &Notes,
    skip: &Skip<'_>,
    repeated: &Blocks,
) -> Vec<usize> {
    let history = History::of(notes, skip, repeated);
    let mut copies = if history.again.is_empty() {
        HashSet::new()
    } else {
        history.beginnings()
    };
    if !copies.is_empty() {
        history.add_continuations(&mut copies);
    }
    let mut copies: Vec<usize> = copies.into_iter().collect();
    copies.sort_unstable();
    copies
}

/// The lines of versions that copy the history.
struct History<'n> {
    notes: &'n Notes,
    lines: Vec<usize>,
    /// The first line that says a fact.
    first: KeyMap<usize>,
    /// Prompts and notices whose words were said before.
    again: HashSet<usize>,
    /// Answers and results that are repeated.
    answers: HashSet<usize>,
}

/// What goes on from a line.
struct Next {
    is_copy: bool,
    /// The time of a prompt whose words were said before.
    again: Option<i64>,
}

impl<'n> History<'n> {
    fn of(notes: &'n Notes, skip: &Skip<'_>, repeated: &Blocks) -> Self {
        let mut history = History {
            notes,
            lines: Vec::new(),
            first: KeyMap::default(),
            again: HashSet::new(),
            answers: HashSet::new(),
        };
        for (at, note) in notes
            .all
            .iter()
            .enumerate()
            .filter(|(at, note)| !skip.has(*at) && is_restamped(note))
        {
            history.lines.push(at);
            let mut blocks = notes
                .blocks_of(at)
                .iter()
                .enumerate()
                .filter(|(_, block)| {
                    !matches!(block.kind, BlockKind::Structured | BlockKind::Input)
                })
                .peekable();
            if blocks.peek().is_some()
                && blocks.all(|(n, _)| skip.has_block(at, n) || repeated.contains(&(at, n)))
            {
                history.answers.insert(at);
            } else if history
                .facts(at)
                .all(|fact| history.first.contains_key(&fact))
            {
                history.again.extend(is_prompt(note).then_some(at));
            } else {
                let facts: Vec<u64> = history.facts(at).collect();
                facts
                    .into_iter()
                    .for_each(|fact| _ = history.first.entry(fact).or_insert(at));
            }
        }
        history
    }

    /// What a line says. A copy has one block of a line.
    fn facts(&self, at: usize) -> impl Iterator<Item = u64> + use<'n> {
        let kind = self.notes.all[at].kind as u8;
        let blocks = self
            .notes
            .blocks_of(at)
            .iter()
            .filter(|block| block.fact != NONE && block.kind != BlockKind::Structured);
        blocks.map(move |block| hash64((kind, stated(block))))
    }

    /// The prompts from which a copied line goes on, or at once another one that was said before.
    fn beginnings(&self) -> HashSet<usize> {
        let mut next: KeyMap<Next> = KeyMap::default();
        let mut copies = HashSet::new();
        for at in self.lines.iter().rev().copied() {
            let note = &self.notes.all[at];
            let is_fast =
                |again: i64| (0..=COPY_STEP_MS).contains(&again.saturating_sub(note.time));
            let goes_on = next
                .get(&note.uuid)
                .is_some_and(|next| next.is_copy || next.again.is_some_and(is_fast));
            let is_again = self.again.contains(&at);
            if is_again && goes_on {
                copies.insert(at);
            }
            let is_copy = copies.contains(&at) || self.answers.contains(&at);
            next.insert(
                note.parent,
                Next {
                    is_copy,
                    again: is_again.then_some(note.time),
                },
            );
        }
        copies
    }

    /// Adds the prompts and notices that go on from a copied line as the history does.
    fn add_continuations(&self, copies: &mut HashSet<usize>) {
        let places: KeyMap<usize> = self
            .lines
            .iter()
            .map(|at| (self.notes.all[*at].uuid, *at))
            .collect();
        for at in self
            .lines
            .iter()
            .copied()
            .filter(|at| self.again.contains(at))
        {
            let Some(before) = places.get(&self.notes.all[at].parent) else {
                continue;
            };
            let is_copy = |at: &usize| copies.contains(at) || self.answers.contains(at);
            let original = self
                .facts(*before)
                .last()
                .and_then(|fact| self.first.get(&fact))
                .filter(|_| is_copy(before));
            let Some(original) = original else { continue };
            let mut behind = self
                .lines
                .iter()
                .skip(self.lines.partition_point(|line| line <= original));
            let continues = behind.find(|line| !is_copy(line)).is_some_and(|line| {
                let known: Vec<u64> = self.facts(*line).collect();
                *line != at && self.facts(at).all(|fact| known.contains(&fact))
            });
            if continues {
                copies.insert(at);
            }
        }
    }
}

fn is_restamped(note: &Note) -> bool {
    let is_line = matches!(
        note.kind,
        Kind::User | Kind::Assistant | Kind::System | Kind::Boundary
    );
    is_line
        && note.dialect.copies_are_restamped()
        && !note.is(Flags::SIDECHAIN)
        && note.uuid != NONE
}

fn is_prompt(note: &Note) -> bool {
    note.kind != Kind::Assistant && !note.is(Flags::RESULT)
}

/// The lines that are copies with their old times: earlier lines have all their blocks with their time, and they do not go on from these.
pub(in crate::claude_code) fn rewritten(notes: &Notes, is_repeat: &[bool]) -> Vec<usize> {
    let mut originals: KeyMap<usize> = KeyMap::default();
    let mut places: KeyMap<usize> = KeyMap::default();
    let mut copied: KeySet = KeySet::default();
    let mut copies = Vec::new();
    for (at, note) in notes
        .all
        .iter()
        .enumerate()
        .filter(|(at, _)| !is_repeat[*at])
    {
        if note.uuid != NONE {
            places.entry(note.uuid).or_insert(at);
        }
        let is_message = matches!(note.kind, Kind::User | Kind::Assistant)
            && note.uuid != NONE
            && !note.is(Flags::WRAPPED);
        if !is_message || !note.dialect.messages_are_repeated() {
            continue;
        }
        let blocks = notes
            .blocks_of(at)
            .iter()
            .filter(|block| block.fact != NONE && block.kind != BlockKind::Structured);
        let keys: Vec<u64> = blocks.map(|block| key(note, block)).collect();
        let parent = Some(note.parent)
            .filter(|parent| !copied.contains(parent))
            .and_then(|parent| places.get(&parent));
        let is_copied = |key: &u64| {
            originals
                .get(key)
                .is_some_and(|original| parent.is_none_or(|parent| parent < original))
        };
        if note.dialect.copies_keep_their_times()
            && note.time != NO_TIME
            && !keys.is_empty()
            && keys.iter().all(is_copied)
        {
            copied.insert(note.uuid);
            copies.push(at);
        } else {
            for key in keys {
                originals.entry(key).or_insert(at);
            }
        }
    }
    copies
}

fn key(note: &Note, block: &Block) -> u64 {
    hash64((note.kind as u8, note.time, note.message, stated(block)))
}

/// What a block says. A text may be a string in one line and a block in another.
fn stated(block: &Block) -> (u64, bool) {
    let is_text = block.kind == BlockKind::Text;
    (if is_text { block.key } else { block.fact }, is_text)
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use crate::claude_code::revisions::Dialect;

    fn notes_of(lines: &[(Note, Block)], dialect: Dialect) -> Notes {
        let mut notes = Notes::default();
        lines
            .iter()
            .for_each(|(note, block)| notes.push(Note { dialect, ..*note }, &[*block]));
        notes
    }

    fn line(uuid: u64, parent: u64, note: Note) -> Note {
        Note {
            uuid,
            parent,
            ..note
        }
    }

    #[test]
    fn a_prompt_is_a_copy_if_a_copied_answer_goes_on_from_it() {
        let lines = [
            (line(1, 0, user()), text(5)),
            (line(2, 1, part(1)), other(6)),
            (line(3, 0, user()), text(5)),
            (line(4, 3, part(1)), other(6)),
            (line(5, 4, user()), text(5)),
            (line(6, 5, part(2)), other(6)),
        ];
        let notes = notes_of(&lines, Dialect::BlockLines);
        assert_eq!(
            copied_prompts(&notes, &Skip::nothing(), &Blocks::from([(3, 0)])),
            [2]
        );
        assert_eq!(
            copied_prompts(&notes, &Skip::nothing(), &Blocks::new()),
            [0usize; 0]
        );
    }

    #[test]
    fn a_copy_without_answers_is_known_by_its_times_and_goes_on_as_the_history() {
        let at = |uuid, parent, time, key| {
            (
                Note {
                    time,
                    ..line(uuid, parent, user())
                },
                text(key),
            )
        };
        let history = [
            at(1, 0, 10, 5),
            at(2, 1, 90, 6),
            at(3, 0, 200, 5),
            at(4, 3, 200, 6),
            at(5, 4, 202, 7),
        ];
        assert_eq!(
            copied_prompts(
                &notes_of(&history, Dialect::BlockLines),
                &Skip::nothing(),
                &Blocks::new()
            ),
            [2, 3]
        );
        let slow = history.map(|(note, block)| {
            (
                Note {
                    time: note.time + 30 * note.uuid as i64,
                    ..note
                },
                block,
            )
        });
        assert_eq!(
            copied_prompts(
                &notes_of(&slow, Dialect::BlockLines),
                &Skip::nothing(),
                &Blocks::new()
            ),
            [0usize; 0]
        );
    }

    #[test]
    fn a_line_with_its_old_time_is_a_copy_unless_it_goes_on_from_the_original() {
        let at = |time, note| Note { time, ..note };
        let lines = [
            (line(1, 0, at(10, user())), text(5)),
            (line(2, 1, at(11, part(1))), other(6)),
            (line(3, 0, at(10, user())), text(5)),
            (line(4, 3, at(11, part(1))), other(6)),
            (line(5, 2, at(11, part(1))), other(6)),
            (line(6, 0, at(12, user())), text(5)),
        ];
        assert_eq!(
            rewritten(&notes_of(&lines, Dialect::AgentFiles), &[false; 6]),
            [2, 3]
        );
        assert_eq!(
            rewritten(&notes_of(&lines, Dialect::Newest), &[false; 6]),
            [0usize; 0]
        );
    }
}
