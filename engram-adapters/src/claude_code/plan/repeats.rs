//! Which lines the log has again: by their id and what they state, or by what identifies them in place of an id. Such lines and blocks are left out of
//! the questions that follow.

use std::collections::{BTreeSet, HashSet};

use engram_core::keys::{KeyMap, key_map};

use crate::claude_code::notes::{Flags, NONE, Notes};

/// The lines that the log has again, and the blocks of other lines that an earlier line with their id has said.
#[derive(Debug, Default)]
pub(in crate::claude_code) struct Repeats {
    /// By the place of the note.
    pub is_repeat: Vec<bool>,
    pub stated: Blocks,
}

/// A line is a repeat if earlier lines with its id state all that it says. Ids of lines that have nothing in common identify nothing:
/// then the time must be the same, too.
pub(in crate::claude_code) fn repeats(notes: &Notes) -> Repeats {
    let mut found = Repeats {
        is_repeat: vec![false; notes.all.len()],
        stated: Blocks::default(),
    };
    let mut first: KeyMap<usize> = key_map();
    let mut again: KeyMap<Vec<usize>> = KeyMap::default();
    for (at, note) in notes.all.iter().enumerate() {
        let earlier = if note.uuid == NONE {
            at
        } else {
            *first.entry(note.uuid).or_insert(at)
        };
        if earlier == at {
            continue;
        }
        if note.is(Flags::IDENTITY) {
            found.is_repeat[at] = true;
        } else {
            again
                .entry(note.uuid)
                .or_insert_with(|| vec![earlier])
                .push(at);
        }
    }
    for places in again.values() {
        compare(notes, places, &mut found);
    }
    found
}

/// Compares the lines with one id.
fn compare(notes: &Notes, places: &[usize], found: &mut Repeats) {
    // Lines without a common fact have the id.
    let mut is_shared = false;
    let mut first_time: KeyMap<i64> = KeyMap::default();
    let mut with_time: HashSet<(u64, i64)> = HashSet::new();
    for (turn, at) in places.iter().copied().enumerate() {
        let time = notes.all[at].time;
        let facts = || {
            notes
                .blocks_of(at)
                .iter()
                .enumerate()
                .filter(|(_, block)| block.fact != NONE)
                .map(|(n, block)| (n, block.fact))
        };
        let is_stated = |fact: u64| {
            first_time.get(&fact).is_some_and(|first| {
                !is_shared || *first == time || with_time.contains(&(fact, time))
            })
        };
        let stated: Vec<usize> = facts()
            .filter(|(_, fact)| is_stated(*fact))
            .map(|(n, _)| n)
            .collect();
        if turn > 0 {
            if stated.len() == facts().count() {
                found.is_repeat[at] = true;
                continue;
            }
            is_shared |= stated.is_empty();
            found.stated.extend(stated.iter().map(|n| (at, *n)));
        }
        for (_, fact) in facts() {
            first_time.entry(fact).or_insert(time);
            with_time.insert((fact, time));
        }
    }
}

/// Blocks, each by the place of its note and its number in the line.
pub(in crate::claude_code) type Blocks = BTreeSet<(usize, usize)>;

/// Lines and blocks that count as not there.
pub(in crate::claude_code) struct Skip<'a> {
    pub lines: &'a [bool],
    pub blocks: &'a Blocks,
}

impl Skip<'_> {
    /// True for a line that counts as not there.
    pub fn has(&self, at: usize) -> bool {
        self.lines.get(at) == Some(&true)
    }

    /// True for a block that counts as not there.
    pub fn has_block(&self, at: usize, block: usize) -> bool {
        self.blocks.contains(&(at, block))
    }
}

#[cfg(test)]
impl Skip<'static> {
    /// Everything is there.
    pub fn nothing() -> Self {
        static NO_BLOCKS: Blocks = Blocks::new();
        Skip {
            lines: &[],
            blocks: &NO_BLOCKS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use crate::claude_code::notes::Note;

    fn line(uuid: u64, time: i64, facts: &[u64]) -> (Note, Vec<u64>) {
        (
            Note {
                uuid,
                time,
                ..user()
            },
            facts.to_vec(),
        )
    }

    fn repeats_of(lines: &[(Note, Vec<u64>)]) -> (Vec<bool>, Vec<(usize, usize)>) {
        let mut notes = Notes::default();
        lines.iter().for_each(|(note, facts)| {
            notes.push(
                *note,
                &facts.iter().map(|fact| other(*fact)).collect::<Vec<_>>(),
            )
        });
        let found = repeats(&notes);
        (found.is_repeat, found.stated.into_iter().collect())
    }

    #[test]
    fn a_line_with_a_known_id_is_compared_by_what_it_states() {
        let lines = [
            line(1, 1, &[1]),
            line(2, 1, &[1]),
            line(1, 1, &[1]),
            line(1, 2, &[1]),
            line(1, 2, &[1, 2]),
            line(1, 2, &[2]),
        ];
        assert_eq!(
            repeats_of(&lines),
            (vec![false, false, true, true, false, true], vec![(4, 0)])
        );
    }

    #[test]
    fn an_id_of_lines_without_a_common_fact_identifies_none() {
        let lines = [
            line(1, 1, &[1]),
            line(1, 2, &[2]),
            line(1, 3, &[1]),
            line(1, 3, &[1]),
            line(1, 1, &[1]),
        ];
        assert_eq!(repeats_of(&lines).0, [false, false, false, true, true]);
    }

    #[test]
    fn a_line_without_an_id_repeats_one_with_its_identity() {
        let with = |uuid| {
            (
                Note {
                    uuid,
                    flags: Flags::IDENTITY,
                    ..user()
                },
                Vec::new(),
            )
        };
        assert_eq!(
            repeats_of(&[with(1), with(1), with(2), with(0), with(0)]).0,
            [false, true, false, false, false]
        );
    }
}
