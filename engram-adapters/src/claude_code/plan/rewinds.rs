//! Going back to an earlier point (2.1.300 and later). A `last-prompt` line states it, before or after the prompt with which the person goes on.

use std::collections::{BTreeMap, HashMap};

use super::Skip;
use super::agents::Agents;
use crate::claude_code::notes::{Flags, Kind, NONE, Note, Notes};

/// A person went back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::claude_code) struct Rewind {
    pub to: Target,
    /// The place of the line that states it.
    pub stated_by: usize,
}

/// What still holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::claude_code) enum Target {
    /// All up to the end of this line.
    Line(usize),
    /// All before this line, which is the first prompt.
    Before(usize),
}

/// Finds the rewinds. Each belongs before a line: the prompt with which the person goes on, else the line that states it.
pub(in crate::claude_code) fn rewinds(notes: &Notes, agents: &Agents, skip: &Skip<'_>) -> BTreeMap<usize, Rewind> {
    let mut found = BTreeMap::new();
    let mut places: HashMap<u64, usize> = HashMap::new();
    let mut prompts: Vec<usize> = Vec::new();
    // The last prompt, if it goes on from a line before the prompt before.
    let mut branch: Option<(usize, Target)> = None;
    for (at, note) in notes.all.iter().enumerate().filter(|(at, _)| !skip.has(*at)) {
        let is_own = agents.key(notes, at) == NONE && !note.is(Flags::SIDECHAIN) && !note.is(Flags::WRAPPED);
        if is_own && note.kind == Kind::User && note.is(Flags::PERSON) {
            branch = target(note, &prompts, &places).map(|to| (at, to));
            prompts.push(at);
        }
        if note.kind == Kind::LastPrompt && note.is(Flags::EXPLICIT) {
            match branch.take() {
                Some((prompt, to)) => drop(found.insert(prompt, Rewind { to, stated_by: at })),
                None => {
                    let leaf = places.get(&note.parent).copied().filter(|leaf| !is_head(notes, agents, *leaf, at));
                    found.extend(leaf.map(|leaf| (at, Rewind { to: Target::Line(leaf), stated_by: at })));
                }
            }
        }
        if note.uuid != NONE {
            places.insert(note.uuid, at);
        }
    }
    found
}

/// The point that a prompt goes on from, if it is before the last prompt.
fn target(note: &Note, prompts: &[usize], places: &HashMap<u64, usize>) -> Option<Target> {
    let (first, last) = (prompts.first()?, prompts.last()?);
    match note.parent {
        NONE => Some(Target::Before(*first)),
        parent => places.get(&parent).filter(|parent| *parent < last).map(|parent| Target::Line(*parent)),
    }
}

/// True if the conversation has not gone on between a line and a later one.
fn is_head(notes: &Notes, agents: &Agents, leaf: usize, at: usize) -> bool {
    let goes_on = |place: usize| {
        let note = &notes.all[place];
        matches!(note.kind, Kind::User | Kind::Assistant) && agents.key(notes, place) == NONE && !note.is(Flags::SIDECHAIN)
    };
    !(leaf + 1..at).any(goes_on)
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    fn prompt(uuid: u64, parent: u64) -> Note {
        Note { uuid, parent, flags: Flags::PERSON, ..user() }
    }

    fn answer(uuid: u64, parent: u64) -> Note {
        Note { uuid, parent, ..part(uuid) }
    }

    fn explicit(leaf: u64) -> Note {
        Note { kind: Kind::LastPrompt, parent: leaf, flags: Flags::EXPLICIT, ..Note::default() }
    }

    fn found(lines: &[Note]) -> Vec<(usize, Target)> {
        let mut notes = Notes::default();
        lines.iter().for_each(|note| notes.push(*note, &[]));
        rewinds(&notes, &Agents::default(), &Skip::nothing()).into_iter().map(|(at, rewind)| (at, rewind.to)).collect()
    }

    #[test]
    fn a_prompt_on_an_older_branch_with_an_explicit_line_is_a_rewind() {
        let before = [prompt(1, 0), answer(2, 1), prompt(3, 2), answer(4, 3), prompt(5, 2)];
        assert!(found(&before).is_empty());
        assert_eq!(found(&[&before[..], &[explicit(5)]].concat()), [(4, Target::Line(1))]);
        let after_an_answer = [&before[..], &[answer(6, 5), explicit(5)]].concat();
        assert_eq!(found(&after_an_answer), [(4, Target::Line(1))]);
        let after_another_prompt = [&before[..], &[answer(6, 5), prompt(7, 6), explicit(7)]].concat();
        assert!(found(&after_another_prompt).is_empty());
    }

    #[test]
    fn a_person_may_go_back_to_the_beginning() {
        assert_eq!(found(&[prompt(1, 0), answer(2, 1), prompt(3, 0), explicit(3)]), [(2, Target::Before(0))]);
    }

    #[test]
    fn a_leaf_is_a_rewind_unless_it_is_the_head() {
        let lines = [prompt(1, 0), answer(2, 1), prompt(3, 2), answer(4, 3)];
        assert!(found(&[&lines[..], &[explicit(4)]].concat()).is_empty());
        assert_eq!(found(&[&lines[..], &[explicit(2)]].concat()), [(4, Target::Line(1))]);
    }
}
