//! Going back to an earlier point. The prompt with which the person goes on names a line before the last prompt as its parent (2.1.20 and
//! later), and from 2.1.300 on a `last-prompt` line says it too, before or after this prompt. Two processes that write one session do the same,
//! but each of them goes on where it was: no line goes on from what a person has undone.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use engram_core::keys::KeyMap;

use super::agents::Agents;
use super::repeats::Skip;
use crate::claude_code::notes::{Flags, Kind, NONE, Note, Notes};

/// A person went back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::claude_code) struct Rewind {
    pub to: Target,
    /// The place of the line that says it.
    pub stated_by: usize,
    /// Files are as they were, too.
    pub files: bool,
}

/// What still holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::claude_code) enum Target {
    /// All up to the end of this line.
    Line(usize),
    /// All before this line, which is the first prompt.
    Before(usize),
}

impl Target {
    /// The first place that is undone.
    fn first_undone(self) -> usize {
        match self {
            Target::Line(at) => at + 1,
            Target::Before(at) => at,
        }
    }
}

/// Finds the rewinds. Each belongs before a line: the prompt with which the person goes on, else the line that says it.
pub(in crate::claude_code) fn rewinds(
    notes: &Notes,
    agents: &Agents,
    skip: &Skip<'_>,
) -> BTreeMap<usize, Rewind> {
    let mut found = BTreeMap::new();
    let mut places: KeyMap<usize> = KeyMap::default();
    let mut prompts: Vec<usize> = Vec::new();
    let mut files = Files::default();
    notes
        .all
        .iter()
        .enumerate()
        .filter(|(at, _)| !skip.has(*at))
        .for_each(|(at, note)| files.add(note, at));
    let continued = continued(notes, agents, skip);
    // The last message of the session itself.
    let mut head = 0;
    // The last prompt, if it goes on from a line before the prompt before.
    let mut branch: Option<(usize, Target)> = None;
    for (at, note) in notes
        .all
        .iter()
        .enumerate()
        .filter(|(at, _)| !skip.has(*at))
    {
        let is_own =
            agents.key(notes, at) == NONE && !note.is(Flags::SIDECHAIN) && !note.is(Flags::WRAPPED);
        if is_own && note.kind == Kind::User && note.is(Flags::PERSON) {
            branch = target(note, &prompts, &places).map(|to| (at, to));
            if let Some((_, to @ Target::Line(line))) = branch
                && continued.get(&at).is_none_or(|last| *last <= line)
            {
                found.insert(at, rewind(notes, &files, &prompts, (at, to), at));
            }
            prompts.push(at);
        }
        if note.kind == Kind::LastPrompt && note.is(Flags::EXPLICIT) {
            match branch.take() {
                Some((prompt, to)) => {
                    found.insert(prompt, rewind(notes, &files, &prompts, (prompt, to), at));
                }
                None => {
                    let leaf = places
                        .get(&note.parent)
                        .copied()
                        .filter(|leaf| *leaf < head);
                    found.extend(leaf.map(|leaf| {
                        (
                            at,
                            Rewind {
                                to: Target::Line(leaf),
                                stated_by: at,
                                files: false,
                            },
                        )
                    }));
                }
            }
        }
        if is_own && matches!(note.kind, Kind::User | Kind::Assistant) {
            head = at;
        }
        if note.uuid != NONE {
            places.insert(note.uuid, at);
        }
    }
    found
}

/// By each message of the session itself: the last line before it from which a later message goes on.
fn continued(notes: &Notes, agents: &Agents, skip: &Skip<'_>) -> HashMap<usize, usize> {
    let kept = || {
        notes
            .all
            .iter()
            .enumerate()
            .filter(|(at, note)| note.uuid != NONE && !skip.has(*at))
    };
    let places: KeyMap<usize> = kept().map(|(at, note)| (note.uuid, at)).collect();
    let mut found = HashMap::new();
    let mut parents: BTreeSet<usize> = BTreeSet::new();
    let is_message = |at: usize, note: &Note| {
        matches!(note.kind, Kind::User | Kind::Assistant) && agents.key(notes, at) == NONE
    };
    for (at, note) in kept().rev().filter(|(at, note)| is_message(*at, note)) {
        found.extend(parents.range(..at).next_back().map(|line| (at, *line)));
        parents.extend(places.get(&note.parent));
    }
    found
}

/// The rewind before a prompt, which this line states.
fn rewind(
    notes: &Notes,
    files: &Files,
    prompts: &[usize],
    (prompt, to): (usize, Target),
    stated_by: usize,
) -> Rewind {
    let undone = prompts.get(prompts.partition_point(|prompt| *prompt < to.first_undone()));
    let files = undone.is_some_and(|undone| files.are_restored(notes, *undone, prompt));
    Rewind {
        to,
        stated_by,
        files,
    }
}

/// The point that a prompt goes on from, if it is before the last prompt.
fn target(note: &Note, prompts: &[usize], places: &KeyMap<usize>) -> Option<Target> {
    let (first, last) = (prompts.first()?, prompts.last()?);
    match note.parent {
        NONE => Some(Target::Before(*first)),
        parent => places
            .get(&parent)
            .filter(|parent| *parent < last)
            .map(|parent| Target::Line(*parent)),
    }
}

/// What the log tells about the files of the session.
#[derive(Default)]
struct Files {
    /// The files when a message was sent, by the message: the sum of their keys.
    sent: KeyMap<u64>,
    /// With those that were kept later, before the agent changed them for the first time.
    kept: KeyMap<u64>,
    /// Which were kept later.
    later: HashSet<(u64, u64)>,
    /// The results that show that a file was changed.
    changes: Vec<usize>,
}

impl Files {
    fn add(&mut self, note: &Note, at: usize) {
        if note.kind == Kind::Snapshot {
            self.sent.entry(note.parent).or_insert(note.message);
            self.kept.insert(note.parent, note.message);
        }
        if note.kind == Kind::OneMoreFile && self.later.insert((note.parent, note.message)) {
            let kept = self.kept.entry(note.parent).or_default();
            *kept = kept.wrapping_add(note.message);
        }
        if note.is(Flags::CHANGES_FILE) {
            self.changes.push(at);
        }
    }

    /// True if a file was changed between the prompt that is undone and the one that goes on, and all files are then as they were before.
    fn are_restored(&self, notes: &Notes, undone: usize, prompt: usize) -> bool {
        let [undone_key, key] = [undone, prompt].map(|prompt| notes.all[prompt].uuid);
        let changed = self
            .changes
            .get(self.changes.partition_point(|change| *change < undone));
        changed.is_some_and(|change| *change < prompt)
            && self.kept.contains_key(&undone_key)
            && self.kept.get(&undone_key) == self.sent.get(&key)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    fn prompt(uuid: u64, parent: u64) -> Note {
        Note {
            uuid,
            parent,
            flags: Flags::PERSON,
            ..user()
        }
    }

    fn answer(uuid: u64, parent: u64) -> Note {
        Note {
            uuid,
            parent,
            ..part(uuid)
        }
    }

    fn explicit(leaf: u64) -> Note {
        Note {
            kind: Kind::LastPrompt,
            parent: leaf,
            flags: Flags::EXPLICIT,
            ..Note::default()
        }
    }

    fn found(lines: &[Note]) -> Vec<(usize, Target)> {
        let mut notes = Notes::default();
        lines.iter().for_each(|note| notes.push(*note, &[]));
        rewinds(&notes, &Agents::default(), &Skip::nothing())
            .into_iter()
            .map(|(at, rewind)| (at, rewind.to))
            .collect()
    }

    #[test]
    fn a_prompt_on_an_older_branch_with_an_explicit_line_is_a_rewind() {
        let before = [
            prompt(1, 0),
            answer(2, 1),
            prompt(3, 2),
            answer(4, 3),
            prompt(5, 2),
        ];
        let rewind = [(4, Target::Line(1))];
        assert_eq!(found(&before), rewind);
        assert_eq!(found(&[&before[..], &[explicit(5)]].concat()), rewind);
        let after_an_answer = [&before[..], &[answer(6, 5), explicit(5)]].concat();
        assert_eq!(found(&after_an_answer), rewind);
    }

    #[test]
    fn another_process_that_goes_on_where_it_was_is_no_rewind() {
        let lines = [
            prompt(1, 0),
            answer(2, 1),
            prompt(3, 2),
            prompt(5, 2),
            answer(4, 3),
            answer(6, 5),
        ];
        assert!(found(&lines).is_empty());
    }

    #[test]
    fn a_person_may_go_back_to_the_beginning() {
        let lines = [prompt(1, 0), answer(2, 1), prompt(3, 0)];
        // A compaction begins at no line, too.
        assert!(found(&lines).is_empty());
        assert_eq!(
            found(&[&lines[..], &[explicit(3)]].concat()),
            [(2, Target::Before(0))]
        );
    }

    #[test]
    fn files_are_restored_if_they_are_as_before_the_prompt_that_is_undone() {
        let snapshot = |parent, message| Note {
            kind: Kind::Snapshot,
            parent,
            message,
            ..Note::default()
        };
        let edit = Note {
            flags: Flags::CHANGES_FILE | Flags::RESULT,
            uuid: 4,
            parent: 3,
            ..user()
        };
        let restored_behind = |after: u64, changes: &[Note]| {
            let before = [prompt(1, 0), answer(2, 1), snapshot(3, 7), prompt(3, 2)];
            let behind = [snapshot(5, after), prompt(5, 2), explicit(5)];
            let mut notes = Notes::default();
            [&before, changes, &behind]
                .concat()
                .iter()
                .for_each(|note| notes.push(*note, &[]));
            rewinds(&notes, &Agents::default(), &Skip::nothing())[&(5 + changes.len())].files
        };
        let restored = |after: u64, change: Note| restored_behind(after, &[change]);
        assert_eq!(
            [
                restored(7, edit),
                restored(8, edit),
                restored(7, answer(4, 3))
            ],
            [true, false, false]
        );
        // The agent changes a file for the first time: a copy of it is kept (7 + 20). Then the next snapshot has it too.
        let more = Note {
            kind: Kind::OneMoreFile,
            parent: 3,
            message: 20,
            ..Note::default()
        };
        assert!(restored_behind(27, &[more, more, edit]));
        assert!(restored_behind(27, &[snapshot(3, 27), edit]));
        assert!(!restored_behind(7, &[more, edit]));
    }

    #[test]
    fn a_leaf_is_a_rewind_unless_it_is_the_head() {
        let lines = [prompt(1, 0), answer(2, 1), prompt(3, 2), answer(4, 3)];
        assert!(found(&[&lines[..], &[explicit(4)]].concat()).is_empty());
        assert_eq!(
            found(&[&lines[..], &[explicit(2)]].concat()),
            [(4, Target::Line(1))]
        );
    }
}
