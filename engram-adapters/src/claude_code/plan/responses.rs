//! After which line the usage of each response stands: after its last part that has the counts.
//!
//! A message is logged block by block, and each line repeats the counts, which may grow. Between its parts there may be lines of other
//! agents, notices, and results.

use engram_core::keys::{KeySet, PlaceMap, hash64};

use super::agents::Agents;
use super::skip::{Blocks, Skip};
use crate::claude_code::notes::{Flags, Kind, NONE, Note, Notes};

/// What comes after the line of a response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::claude_code) enum UsageHere {
    /// No usage: another part follows, or another line has it.
    #[default]
    None,
    /// The usage of the response.
    Whole,
    /// The usage of the response, whose stream broke.
    Broken,
}

/// The response of an agent that may go on.
#[derive(Debug, Clone, Copy)]
struct Open {
    message: u64,
    request: u64,
    /// Its last part that has the counts.
    at: usize,
    /// The line with its last part.
    line: u64,
}

/// Finds the place of each usage. `repeated` are blocks that an earlier line has said.
pub(in crate::claude_code) fn responses(
    notes: &Notes,
    agents: &Agents,
    skip: &Skip<'_>,
    repeated: &Blocks,
) -> Vec<UsageHere> {
    let mut places = Places {
        usage: vec![UsageHere::None; notes.all.len()],
        emitted: KeySet::default(),
        open: PlaceMap::default(),
    };
    for (at, note) in notes
        .all
        .iter()
        .enumerate()
        .filter(|(at, note)| !skip.has(*at) && !note.is(Flags::OMITTED))
    {
        let agent = (note.session, agents.key(notes, at));
        match note.kind {
            Kind::Assistant => places.answer(note, at, agent, is_new(notes, at, skip, repeated)),
            Kind::User if note.is(Flags::RESULT) || note.is(Flags::META) => {}
            Kind::User | Kind::TurnEnd | Kind::Boundary => places.close(agent, UsageHere::Whole),
            _ => {}
        }
    }
    places.close_all();
    places.usage
}

/// True if a block of the line gives an event.
fn is_new(notes: &Notes, at: usize, skip: &Skip<'_>, repeated: &Blocks) -> bool {
    let blocks = notes.blocks_of(at);
    blocks.is_empty()
        || (0..blocks.len()).any(|n| !skip.has_block(at, n) && !repeated.contains(&(at, n)))
}

struct Places {
    usage: Vec<UsageHere>,
    /// The responses that have a usage: each message, alone and with its request.
    emitted: KeySet,
    /// One for each agent of each session.
    open: PlaceMap<(u16, u64), Open>,
}

impl Places {
    fn answer(&mut self, note: &Note, at: usize, agent: (u16, u64), is_new: bool) {
        if let Some(open) = self.open.get_mut(&agent) {
            if open.has_part(note) {
                if is_new && note.is(Flags::USAGE) {
                    (open.at, open.line) = (at, note.uuid);
                }
                return;
            }
            let is_broken = note.is(Flags::BROKEN) && open.is_broken(note);
            self.close(
                agent,
                if is_broken {
                    UsageHere::Broken
                } else {
                    UsageHere::Whole
                },
            );
        }
        let states_counts =
            note.is(Flags::USAGE) && !note.is(Flags::SYNTHETIC) && note.message != NONE;
        if states_counts && is_new && !self.is_emitted(note) {
            self.open.insert(
                agent,
                Open {
                    message: note.message,
                    request: note.request,
                    at,
                    line: note.uuid,
                },
            );
        }
    }

    /// Several responses may have the message id, if the log has their request ids.
    fn is_emitted(&self, note: &Note) -> bool {
        let has = |request: u64| self.emitted.contains(&hash64((note.message, request)));
        self.emitted.contains(&note.message)
            && (note.request == NONE || has(note.request) || has(NONE))
    }

    fn close(&mut self, agent: (u16, u64), usage: UsageHere) {
        if let Some(open) = self.open.remove(&agent) {
            self.emit(&open, usage);
        }
    }

    fn close_all(&mut self) {
        for open in std::mem::take(&mut self.open).into_values() {
            self.emit(&open, UsageHere::Whole);
        }
    }

    fn emit(&mut self, open: &Open, usage: UsageHere) {
        self.usage[open.at] = usage;
        self.emitted.insert(open.message);
        self.emitted.insert(hash64((open.message, open.request)));
    }
}

impl Open {
    fn has_part(&self, note: &Note) -> bool {
        let is_other = self.request != NONE && note.request != NONE && self.request != note.request;
        note.message == self.message && !is_other
    }

    /// True if a line that has a broken stream names the request of this response, or else follows its last part.
    fn is_broken(&self, note: &Note) -> bool {
        match note.request {
            NONE => self.line != NONE && note.parent == self.line,
            request => request == self.request,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::UsageHere::{Broken, None, Whole};
    use super::*;

    fn usage_of(lines: &[Note]) -> Vec<UsageHere> {
        let mut notes = Notes::default();
        lines.iter().for_each(|note| notes.push(*note, &[other(1)]));
        let agents = Agents::default();
        responses(&notes, &agents, &Skip::nothing(), &Blocks::default())
    }

    #[test]
    fn usage_follows_the_last_part() {
        let results = Note {
            flags: Flags::RESULT,
            ..user()
        };
        assert_eq!(
            usage_of(&[part(1), results, part(1), user(), part(2)]),
            [None, None, Whole, None, Whole]
        );
    }

    #[test]
    fn a_response_has_one_usage() {
        assert_eq!(usage_of(&[part(1), user(), part(1)]), [Whole, None, None]);
        let of = |request| Note { request, ..part(1) };
        assert_eq!(usage_of(&[of(1), of(2), of(1)]), [Whole, Whole, None]);
    }

    #[test]
    fn agents_write_at_the_same_time() {
        let of = |agent, message| Note {
            agent,
            ..part(message)
        };
        assert_eq!(
            usage_of(&[of(1, 1), of(2, 2), of(1, 1), of(2, 2)]),
            [None, None, Whole, Whole]
        );
    }

    #[test]
    fn a_line_shows_that_the_stream_broke() {
        let cut = |request, parent| Note {
            request,
            parent,
            flags: Flags::BROKEN | Flags::SYNTHETIC,
            ..part(9)
        };
        let before = Note {
            uuid: 5,
            request: 3,
            ..part(1)
        };
        assert_eq!(usage_of(&[before, cut(3, 0)])[0], Broken);
        assert_eq!(usage_of(&[before, cut(0, 5)])[0], Broken);
        assert_eq!(usage_of(&[before, cut(4, 5)])[0], Whole);
    }
}
