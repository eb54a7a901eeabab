//! After which line the usage of each response stands: after its last part that has the counts.
//!
//! A message is logged block by block, and each line repeats the counts, which may grow. Between its parts there may be lines of other
//! agents, notices, and results.
//!
//! The id of the message does not identify a response: relays give all responses one id, and several requests of a turn may have one. A part
//! begins another response if it goes on from a prompt or a result that was written after the parts before, and has other counts of input.

use engram_core::keys::{KeyMap, PlaceMap, hash64};

use super::agents::Agents;
use super::repeats::{Blocks, Skip};
use crate::claude_code::notes::{Block, BlockKind, Flags, Kind, NONE, Note, Notes};
use crate::claude_code::revisions::Dialect;

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
    /// Its last part.
    last: Last,
}

/// The last part of a response.
#[derive(Debug, Clone, Copy)]
struct Last {
    at: usize,
    /// The counts of the input.
    input: u64,
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
        emitted: KeyMap::default(),
        inputs: KeyMap::default(),
        last_inputs: PlaceMap::default(),
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
            Kind::Assistant => {
                let last = Last {
                    at,
                    input: input(notes, at),
                };
                places.answer(note, last, agent, is_new(notes, at, skip, repeated));
            }
            Kind::User if note.is(Flags::RESULT) || note.is(Flags::META) => {
                places.add_input(note, at, agent);
                places.cut(note, agent);
            }
            Kind::User => {
                places.add_input(note, at, agent);
                places.close(agent, UsageHere::Whole);
            }
            Kind::TurnEnd | Kind::Boundary => places.close(agent, UsageHere::Whole),
            _ => {}
        }
    }
    places.close_all();
    places.usage
}

/// True if a block of the line gives an event.
fn is_new(notes: &Notes, at: usize, skip: &Skip<'_>, repeated: &Blocks) -> bool {
    let is_said = |block: &Block| block.kind != BlockKind::Input;
    let blocks = notes.blocks_of(at);
    !blocks.iter().any(is_said)
        || (0..blocks.len())
            .any(|n| is_said(&blocks[n]) && !skip.has_block(at, n) && !repeated.contains(&(at, n)))
}

/// The counts of the input of a response.
fn input(notes: &Notes, at: usize) -> u64 {
    let mut blocks = notes.blocks_of(at).iter();
    blocks
        .find(|block| block.kind == BlockKind::Input)
        .map_or(NONE, |block| block.key)
}

struct Places {
    usage: Vec<UsageHere>,
    /// The last part of each response that has a usage: by its message, alone and with its request.
    emitted: KeyMap<Last>,
    /// The places of prompts and results, by their lines.
    inputs: KeyMap<usize>,
    /// The last prompt or result of each agent.
    last_inputs: PlaceMap<(u16, u64), usize>,
    /// One for each agent of each session.
    open: PlaceMap<(u16, u64), Open>,
}

impl Places {
    fn answer(&mut self, note: &Note, last: Last, agent: (u16, u64), is_new: bool) {
        let at = last.at;
        if let Some(open) = self.open.get(&agent).copied() {
            if open.has_part(note) && !self.begins_another(note, agent, (open.last, last)) {
                let is_last = is_new && note.is(Flags::USAGE);
                let (at, line) = if is_last {
                    (at, note.uuid)
                } else {
                    (open.at, open.line)
                };
                let open = Open {
                    at,
                    line,
                    last,
                    ..open
                };
                self.open.insert(agent, open);
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
        if states_counts && is_new && !self.is_emitted(note, agent, last) {
            self.open.insert(
                agent,
                Open {
                    message: note.message,
                    request: note.request,
                    at,
                    line: note.uuid,
                    last,
                },
            );
        }
    }

    /// The harness asks the model to go on with a response whose stream broke.
    fn cut(&mut self, note: &Note, agent: (u16, u64)) {
        if note.is(Flags::BROKEN)
            && self
                .open
                .get(&agent)
                .is_some_and(|open| open.is_broken(note))
        {
            self.close(agent, UsageHere::Broken);
        }
    }

    fn add_input(&mut self, note: &Note, at: usize, agent: (u16, u64)) {
        if note.uuid != NONE {
            self.inputs.insert(note.uuid, at);
        }
        self.last_inputs.insert(agent, at);
    }

    /// True if a part cannot belong to the response with this last part. A capture names no parents: there the last input counts.
    fn begins_another(&self, note: &Note, agent: (u16, u64), (last, part): (Last, Last)) -> bool {
        let input = if note.dialect == Dialect::Stream {
            self.last_inputs.get(&agent)
        } else {
            self.inputs.get(&note.parent)
        };
        part.input != last.input && input.is_some_and(|input| *input > last.at)
    }

    /// True if the response of a part has a usage. Several responses may have its message id, also if the log has their request ids.
    fn is_emitted(&self, note: &Note, agent: (u16, u64), part: Last) -> bool {
        let of = |request: u64| self.emitted.get(&hash64((note.message, request)));
        let last = match note.request {
            NONE => self.emitted.get(&note.message),
            request => of(request).or_else(|| of(NONE)),
        };
        last.is_some_and(|last| !self.begins_another(note, agent, (*last, part)))
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
        self.emitted.insert(open.message, open.last);
        self.emitted
            .insert(hash64((open.message, open.request)), open.last);
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
        let lines: Vec<(Note, u64)> = lines.iter().map(|note| (*note, 0)).collect();
        usage_with(&lines)
    }

    /// The same for lines with the counts of their input.
    fn usage_with(lines: &[(Note, u64)]) -> Vec<UsageHere> {
        let mut notes = Notes::default();
        for (note, input) in lines {
            let counts = Block {
                fact: NONE,
                key: *input,
                kind: BlockKind::Input,
            };
            notes.push(*note, &[other(1), counts]);
        }
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
    fn a_part_that_goes_on_from_a_later_input_begins_another_response() {
        let line = |uuid, parent, note| Note {
            uuid,
            parent,
            ..note
        };
        let results = Note {
            flags: Flags::RESULT,
            ..user()
        };
        let lines = |inputs: [u64; 6]| {
            let notes = [
                line(1, 0, user()),
                line(2, 1, part(9)),
                line(3, 2, results),
                line(4, 3, part(9)),
                line(5, 4, user()),
                line(6, 5, part(9)),
            ];
            usage_with(&std::array::from_fn::<_, 6, _>(|at| {
                (notes[at], inputs[at])
            }))
        };
        // A relay gives all responses one id.
        assert_eq!(
            lines([0, 1, 0, 2, 0, 3]),
            [None, Whole, None, Whole, None, Whole]
        );
        // The result of the first call stands between the parts of its response.
        assert_eq!(lines([0, 1, 0, 1, 0, 3])[..4], [None, None, None, Whole]);
    }

    #[test]
    fn a_capture_has_no_parents_to_tell_responses_apart() {
        let printed = |input| {
            (
                Note {
                    dialect: Dialect::Stream,
                    ..part(9)
                },
                input,
            )
        };
        let results = (
            Note {
                flags: Flags::RESULT,
                ..user()
            },
            0,
        );
        assert_eq!(
            usage_with(&[printed(1), results, printed(1), results, printed(2)]),
            [None, None, Whole, None, Whole]
        );
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
        // What the model is asked to go on with.
        let go_on = |parent| Note {
            parent,
            flags: Flags::BROKEN | Flags::META,
            ..user()
        };
        assert_eq!(usage_of(&[before, go_on(5)])[0], Broken);
        assert_eq!(usage_of(&[before, go_on(6)])[0], Whole);
    }
}
