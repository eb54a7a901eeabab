//! Calls and results whose own lines are lost, since the disk was full: the messages that were sent to the model still have them.

use std::collections::HashSet;

use super::skip::{Blocks, Skip};
use crate::claude_code::notes::{BlockKind, Kind, NONE, Notes};

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
