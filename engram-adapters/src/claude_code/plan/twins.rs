//! Blocks, calls and results that the log has a second time under other ids: messages that were appended again after a failed stream or when
//! the session was resumed (up to 2.1.12), and results that state what an earlier one has said. Calls and results whose own lines are lost, since the
//! disk was full: the messages that were sent to the model still have them.

use std::collections::HashSet;

use engram_core::keys::{KeyMap, KeySet, hash64};

use super::repeats::{Blocks, Skip};
use crate::claude_code::notes::{Block, BlockKind, Flags, Kind, NONE, Note, Notes};
use crate::claude_code::revisions::Dialect;

/// The blocks that an earlier block has said, and the results without a call.
#[derive(Debug, Default)]
pub(in crate::claude_code) struct Twins {
    pub repeated: Blocks,
    /// Results whose calls are not in the log.
    pub without_call: Blocks,
    /// Those of them that a relay has written again at once, with a later count: the usage of the response follows the last of them.
    pub rewritten: Blocks,
    /// Results that the harness made up while another process still ran the call, whose own result the log has, too.
    pub refuted: Blocks,
}

/// Finds them among the lines and blocks that are not skipped.
pub(in crate::claude_code) fn twins(notes: &Notes, skip: &Skip<'_>) -> Twins {
    let mut seen = Seen::default();
    let mut found = Twins {
        refuted: refuted(notes, skip),
        ..Twins::default()
    };
    let blocks = |at: usize| {
        notes
            .blocks_of(at)
            .iter()
            .enumerate()
            .filter(move |(n, _)| !skip.has_block(at, *n))
    };
    for (at, note) in notes
        .all
        .iter()
        .enumerate()
        .filter(|(at, _)| !skip.has(*at))
    {
        let is_answer = note.kind == Kind::Assistant && !note.is(Flags::SYNTHETIC);
        if is_answer {
            if note.parent == NONE
                && note.dialect.copies_are_restamped()
                && !note.is(Flags::SIDECHAIN)
            {
                // A copy of the history begins, which may have left out the prompts (1.0.60).
                seen.begin_message(note, NONE);
            }
            seen.begin_message(note, note.message);
        } else if note.kind == Kind::User && !note.is(Flags::RESULT) {
            seen.begin_message(note, NONE);
        }
        if is_answer && seen.is_rewritten(notes, at) {
            found.rewritten.extend(blocks(at).map(|(n, _)| (at, n)));
            found.repeated.extend(blocks(at).map(|(n, _)| (at, n)));
            continue;
        }
        for (n, block) in blocks(at) {
            let is_new = match block.kind {
                BlockKind::Result if found.refuted.contains(&(at, n)) => true,
                BlockKind::Result if note.kind == Kind::User => {
                    seen.result(of_session(note, block.key), block)
                }
                // A result that was appended again may have the structured form that the first one lacked.
                BlockKind::Structured if note.kind == Kind::User => {
                    let results = notes
                        .blocks_of(at)
                        .iter()
                        .filter(|block| block.kind == BlockKind::Result);
                    results
                        .filter(|result| seen.structured.insert(of_session(note, result.key)))
                        .count()
                        > 0
                }
                BlockKind::Call if is_answer => seen.call(note, of_session(note, block.key), block),
                _ if is_answer && block.fact != NONE => seen.block(note, block),
                _ => true,
            };
            if !is_new {
                found.repeated.insert((at, n));
            }
        }
    }
    for (at, note) in notes
        .all
        .iter()
        .enumerate()
        .filter(|(at, note)| note.kind == Kind::User && !skip.has(*at))
    {
        let orphans = blocks(at).filter(|(_, block)| {
            block.kind == BlockKind::Result && !seen.called.contains(&of_session(note, block.key))
        });
        found.without_call.extend(orphans.map(|(n, _)| (at, n)));
    }
    found
}

/// The made-up results of calls that have another result. Calls may have the id of another one: both results name the line of the call.
fn refuted(notes: &Notes, skip: &Skip<'_>) -> Blocks {
    let mut real = KeySet::default();
    let mut made_up = Vec::new();
    for (at, note) in notes
        .all
        .iter()
        .enumerate()
        .filter(|(at, note)| note.is(Flags::RESULT) && !skip.has(*at))
    {
        for (n, block) in notes
            .blocks_of(at)
            .iter()
            .enumerate()
            .filter(|(_, block)| block.kind == BlockKind::Result)
        {
            let call = hash64((of_session(note, block.key), note.request));
            if note.is(Flags::MADE_UP) {
                made_up.push((at, n, call));
            } else {
                real.insert(call);
            }
        }
    }
    made_up
        .into_iter()
        .filter(|(_, _, call)| real.contains(call))
        .map(|(at, n, _)| (at, n))
        .collect()
}

/// The key of a call. The sessions of a capture have nothing in common.
fn of_session(note: &Note, call: u64) -> u64 {
    if note.dialect == Dialect::Stream {
        hash64((note.session, call))
    } else {
        call
    }
}

#[derive(Default)]
struct Seen {
    /// The last answer, if a relay gave it its id.
    relayed: Option<usize>,
    open_message: u64,
    /// Messages that another message has followed. Only these are appended again.
    finished: KeySet,
    blocks: KeySet,
    calls: KeySet,
    called: KeySet,
    results: KeyMap<Results>,
    result_facts: KeySet,
    /// Calls whose results have a structured form.
    structured: KeySet,
}

/// The results of the calls with one id.
#[derive(Clone, Copy, Default)]
struct Results {
    /// Calls without a result.
    open: u32,
    is_any: bool,
}

impl Seen {
    /// True for an answer that a relay writes again: the line before has the same id and the same blocks, and this one goes on from it.
    fn is_rewritten(&mut self, notes: &Notes, at: usize) -> bool {
        let note = &notes.all[at];
        let before = std::mem::replace(&mut self.relayed, note.is(Flags::RELAYED).then_some(at));
        before.is_some_and(|before| {
            let facts = |at| notes.blocks_of(at).iter().map(|block| block.fact);
            let last = &notes.all[before];
            note.is(Flags::RELAYED)
                && (note.message, note.parent) == (last.message, last.uuid)
                && facts(at).eq(facts(before))
        })
    }

    /// A message begins or goes on, or a prompt ends the one before.
    fn begin_message(&mut self, note: &Note, message: u64) {
        if note.dialect.messages_are_repeated() && self.open_message != message {
            self.finished.insert(self.open_message);
            self.open_message = message;
        }
    }

    /// False for a repeated block: its message is finished, and had the same block. An open message may have the same block twice.
    fn block(&mut self, note: &Note, block: &Block) -> bool {
        if !note.dialect.messages_are_repeated() || note.message == NONE {
            return true;
        }
        let is_new = self.blocks.insert(hash64((note.message, block.fact)));
        is_new || !self.finished.contains(&note.message)
    }

    /// False for a repeated call: the same block came before, and since then its message was finished or the call got its result. Another
    /// block with the same call id is a new call, and its result follows.
    fn call(&mut self, note: &Note, call: u64, block: &Block) -> bool {
        self.called.insert(call);
        let calls = self.results.entry(call).or_default();
        if note.dialect.messages_are_repeated() {
            let is_ended =
                self.finished.contains(&note.message) || (calls.is_any && calls.open == 0);
            let is_new = self.calls.insert(hash64((call, note.message, block.fact)));
            if !is_new && note.message != NONE && is_ended {
                return false;
            }
        }
        calls.open += 1;
        true
    }

    /// False for a repeated result. An earlier result of this call id has the same facts, and no call of this id waits for a result.
    fn result(&mut self, call: u64, block: &Block) -> bool {
        let calls = self.results.entry(call).or_default();
        let is_other = self.result_facts.insert(hash64((call, block.fact)));
        let is_new = calls.open > 0 || !calls.is_any || is_other;
        if is_new {
            *calls = Results {
                open: calls.open.saturating_sub(1),
                is_any: true,
            };
        }
        is_new
    }
}

/// The calls and results that no line of the conversation says, each where it was sent first. The file of a fork has messages of its parent.
pub(in crate::claude_code) fn lost(notes: &Notes, skip: &Skip<'_>) -> Blocks {
    let mut found = Blocks::new();
    let is_any = |kind| notes.all.iter().any(|note| note.kind == kind);
    if !is_any(Kind::Blob) || is_any(Kind::Fork) {
        return found;
    }
    let blocks = |of: fn(Kind) -> bool| {
        let lines = notes
            .all
            .iter()
            .enumerate()
            .filter(move |(at, note)| of(note.kind) && !skip.has(*at));
        lines.flat_map(|(at, _)| {
            notes
                .blocks_of(at)
                .iter()
                .enumerate()
                .map(move |(n, block)| (at, n, (block.kind, block.key)))
        })
    };
    let is_part = |(kind, key): (BlockKind, u64)| {
        matches!(kind, BlockKind::Call | BlockKind::Result) && key != NONE
    };
    let sent = || blocks(|kind| kind == Kind::Blob).filter(|(_, _, part)| is_part(*part));
    let mut missing: HashSet<(BlockKind, u64)> = sent().map(|(_, _, part)| part).collect();
    for (_, _, part) in blocks(|kind| matches!(kind, Kind::User | Kind::Assistant)) {
        missing.remove(&part);
    }
    let mut first_of = |part| missing.remove(&part);
    found.extend(
        sent()
            .filter(|(_, _, part)| first_of(*part))
            .map(|(at, n, _)| (at, n)),
    );
    found
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    fn found(lines: &[(Note, Vec<Block>)]) -> Vec<(usize, usize)> {
        let mut notes = Notes::default();
        lines
            .iter()
            .for_each(|(note, blocks)| notes.push(*note, blocks));
        twins(&notes, &Skip::nothing())
            .repeated
            .into_iter()
            .collect()
    }

    fn answer(message: u64) -> Note {
        Note {
            dialect: Dialect::BlockLines,
            parent: 1,
            ..part(message)
        }
    }

    #[test]
    fn blocks_of_a_message_that_was_appended_again_are_repeated() {
        let lines = [
            (answer(1), vec![other(7)]),
            (answer(1), vec![other(7)]),
            (answer(2), vec![other(8)]),
            (answer(1), vec![other(7), other(9)]),
        ];
        assert_eq!(found(&lines), [(3, 0)]);
        let after_a_prompt = [
            (answer(1), vec![other(7)]),
            (
                Note {
                    dialect: Dialect::BlockLines,
                    ..user()
                },
                vec![text(1)],
            ),
            (answer(1), vec![other(7)]),
        ];
        assert_eq!(found(&after_a_prompt), [(2, 0)]);
        let newer = lines.map(|(note, blocks)| {
            (
                Note {
                    dialect: Dialect::Newest,
                    ..note
                },
                blocks,
            )
        });
        assert!(found(&newer).is_empty());
    }

    #[test]
    fn an_answer_that_a_relay_writes_again_is_repeated() {
        let line = |uuid, parent, flags| Note {
            uuid,
            parent,
            flags: Flags::USAGE | flags,
            ..part(1)
        };
        let lines = |flags| {
            [
                (line(1, 9, flags), vec![other(7)]),
                (line(2, 1, flags), vec![other(7)]),
                (line(3, 2, flags), vec![other(8)]),
                (line(4, 8, flags), vec![other(8)]),
            ]
        };
        assert_eq!(found(&lines(Flags::RELAYED)), [(1, 0)]);
        assert!(found(&lines(Flags::USAGE)).is_empty());
    }

    #[test]
    fn a_call_is_repeated_if_it_has_its_result() {
        let lines = [
            (answer(1), vec![call(5)]),
            (user(), vec![result(5, 6)]),
            (answer(1), vec![call(5)]),
            (user(), vec![result(5, 6)]),
        ];
        assert_eq!(found(&lines), [(2, 0), (3, 0)]);
    }

    #[test]
    fn another_result_of_a_call_is_none_that_is_repeated() {
        let lines = [
            (answer(1), vec![call(5)]),
            (user(), vec![result(5, 6)]),
            (user(), vec![result(5, 7)]),
            (user(), vec![result(5, 7)]),
        ];
        assert_eq!(found(&lines), [(3, 0)]);
    }

    #[test]
    fn a_made_up_result_is_refuted_by_the_result_of_its_call() {
        let made_up = Note {
            flags: Flags::RESULT | Flags::MADE_UP,
            ..user()
        };
        let real = Note {
            flags: Flags::RESULT,
            ..user()
        };
        let refuted_of = |lines: &[(Note, Block)]| {
            let mut notes = Notes::default();
            notes.push(answer(1), &[call(5), call(6)]);
            lines
                .iter()
                .for_each(|(note, block)| notes.push(*note, &[*block]));
            twins(&notes, &Skip::nothing())
                .refuted
                .into_iter()
                .collect::<Vec<_>>()
        };
        assert_eq!(
            refuted_of(&[
                (made_up, result(5, 1)),
                (real, result(6, 2)),
                (real, result(5, 2))
            ]),
            [(1, 0)]
        );
        assert_eq!(
            refuted_of(&[(made_up, result(5, 1)), (real, result(6, 2))]),
            []
        );
        let of_line = |note, request| Note { request, ..note };
        assert_eq!(
            refuted_of(&[
                (of_line(made_up, 8), result(5, 1)),
                (of_line(real, 9), result(5, 2))
            ]),
            [],
            "another call with its id"
        );
    }

    #[test]
    fn a_result_has_its_call_also_if_that_comes_later() {
        let mut notes = Notes::default();
        notes.push(user(), &[result(5, 6), result(4, 6)]);
        notes.push(answer(1), &[call(5)]);
        assert_eq!(
            twins(&notes, &Skip::nothing())
                .without_call
                .into_iter()
                .collect::<Vec<_>>(),
            [(0, 1)]
        );
    }

    use crate::claude_code::notes::Note;

    #[test]
    fn a_call_that_only_a_sent_message_has_is_lost() {
        let blob = Note {
            kind: Kind::Blob,
            ..Note::default()
        };
        let found = |fork: bool| {
            let mut notes = Notes::default();
            notes.push(
                Note {
                    kind: if fork { Kind::Fork } else { Kind::Other },
                    ..Note::default()
                },
                &[],
            );
            notes.push(part(1), &[call(5)]);
            notes.push(blob, &[other(1), call(5)]);
            notes.push(blob, &[result(5, 1)]);
            notes.push(blob, &[call(6), result(5, 1)]);
            lost(&notes, &Skip::nothing())
                .into_iter()
                .collect::<Vec<_>>()
        };
        assert_eq!(found(false), [(3, 0), (4, 0)]);
        assert_eq!(found(true), []);
    }
}
