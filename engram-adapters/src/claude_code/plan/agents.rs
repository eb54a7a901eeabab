//! Which sub-agent wrote each line. Up to 2.0.27 sub-agents write into the file of their session, in chains of lines that name no agent.

use engram_core::keys::{KeyMap, hash64};

use crate::claude_code::notes::{Flags, NONE, Notes};

/// The chains of sub-agents that the log does not name. A chain has the id of its first line.
#[derive(Debug, Default)]
pub(in crate::claude_code) struct Agents {
    /// By the place of the note: the place of the first line of its chain. Empty if there are no chains.
    first: Vec<Option<u32>>,
}

impl Agents {
    /// The first line of the chain that a line belongs to.
    pub fn chain(&self, at: usize) -> Option<u32> {
        self.first.get(at).copied().flatten()
    }

    /// The key of the agent that wrote a line; [`NONE`] for lines of the session itself.
    pub fn key(&self, notes: &Notes, at: usize) -> u64 {
        match (notes.all[at].agent, self.chain(at)) {
            (NONE, Some(first)) => hash64(("chain", first)),
            (agent, _) => agent,
        }
    }
}

/// Finds the chains.
pub(in crate::claude_code) fn agents(notes: &Notes) -> Agents {
    let mut agents = Agents::default();
    let mut chains: KeyMap<u32> = KeyMap::default();
    for (at, note) in notes.all.iter().enumerate() {
        let is_unnamed = note.agent == NONE
            && note.uuid != NONE
            && note.is(Flags::SIDECHAIN)
            && !note.is(Flags::WRAPPED);
        if !is_unnamed || !note.dialect.agents_share_the_file() {
            continue;
        }
        let first = chains
            .get(&note.parent)
            .or_else(|| chains.get(&note.uuid))
            .copied()
            .unwrap_or(at as u32);
        chains.insert(note.uuid, first);
        agents.first.resize(notes.all.len(), None);
        agents.first[at] = Some(first);
    }
    agents
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use crate::claude_code::notes::Note;
    use crate::claude_code::revisions::Dialect;

    #[test]
    fn lines_of_a_chain_have_one_agent() {
        let of = |uuid, parent| Note {
            uuid,
            parent,
            flags: Flags::SIDECHAIN,
            dialect: Dialect::BlockLines,
            ..user()
        };
        let mut notes = Notes::default();
        for note in [
            of(1, 0),
            of(2, 0),
            of(3, 1),
            Note { uuid: 9, ..user() },
            of(4, 2),
            of(5, 3),
            Note {
                agent: 7,
                ..of(6, 1)
            },
        ] {
            notes.push(note, &[]);
        }
        let agents = agents(&notes);
        assert_eq!(
            [0, 1, 2, 3, 4, 5, 6].map(|at| agents.chain(at)),
            [Some(0), Some(1), Some(0), None, Some(1), Some(0), None]
        );
        assert_eq!([3, 6].map(|at| agents.key(&notes, at)), [NONE, 7]);
        assert_eq!(agents.key(&notes, 0), agents.key(&notes, 5));
    }
}
