//! Copies that no line states. A session that was resumed in the terminal, or moved to the background, may begin with the history of another
//! session under a new session id. The copied lines keep their ids, so the log of the other session, which lies beside this log, proves them.

use engram_core::adapter::{LogRecord, OlderLog};

use super::replay::Replay;
use crate::claude_code::notes::{Flags, NONE, Note, Notes};

/// Adds the lines that an older log has, too, unless the log itself shows all of its copies.
pub(in crate::claude_code) fn add_copies(
    notes: &Notes,
    skip: &[bool],
    replay: &mut Replay,
    older_logs: impl FnOnce(&[LogRecord]) -> Vec<OlderLog>,
) {
    if replay.has_copies(notes) && !replay.is_by_requests {
        return;
    }
    let has_id =
        |note: &Note| note.uuid != NONE && !note.is(Flags::IDENTITY) && !note.is(Flags::WRAPPED);
    let lines = || {
        notes
            .all
            .iter()
            .enumerate()
            .filter(|(at, note)| !skip[*at] && has_id(note))
    };
    let records: Vec<LogRecord> = lines()
        .map(|(_, note)| LogRecord {
            id: note.uuid,
            time: note.time,
        })
        .collect();
    let logs = older_logs(&records);
    let Some(nearest) = logs.first() else { return };
    for (at, note) in lines().filter(|(_, note)| note.is_conversation()) {
        replay.is_copy[at] |= logs.iter().any(|log| log.records.contains(&note.uuid));
    }
    replay.set_forked(notes, skip, &nearest.session_id);
}

#[cfg(test)]
mod tests {
    use super::super::replay;
    use super::super::testing::*;
    use super::*;

    #[test]
    fn lines_that_an_older_log_has_are_copies_unless_the_log_states_which_are() {
        let line = |uuid, flags| Note {
            uuid,
            flags,
            ..user()
        };
        let copies = |flags| {
            let mut notes = Notes::default();
            [
                line(1, Flags::default()),
                line(2, flags),
                line(3, Flags::default()),
            ]
            .iter()
            .for_each(|note| notes.push(*note, &[]));
            let mut found = replay::replay(&notes, &[false; 3]);
            let older = OlderLog {
                session_id: "first".to_owned(),
                records: [1, 2].into(),
            };
            add_copies(&notes, &[false; 3], &mut found, |records| {
                assert_eq!(
                    records.iter().map(|record| record.id).collect::<Vec<_>>(),
                    [1, 2, 3]
                );
                vec![older]
            });
            (found.is_copy, found.forked)
        };
        assert_eq!(
            copies(Flags::default()),
            (vec![true, true, false], Some((2, "first".to_owned())))
        );
        assert_eq!(copies(Flags::FORKED), (vec![false, true, false], None));
    }
}
