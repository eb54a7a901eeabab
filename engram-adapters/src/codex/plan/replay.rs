//! Which records were copied from another thread.
//!
//! A fork or sub-agent may begin with the history of the thread that it continues, with the header of that thread (0.115 to 0.150, 0.169) or
//! without. The times of the copies are those of the new thread, but turns have ids with the time at which they began.

use engram_core::keys::KeySet;

use crate::codex::notes::{Header, Kind, Note, Notes, Turn};

/// The longest pause inside a copy, in milliseconds. A copy is written at once.
const MAX_PAUSE_MS: i64 = 1000;

/// What is copied.
#[derive(Debug, Default)]
pub struct Replay {
    /// By note: it was copied from another thread, or is an item of another thread.
    pub is_copied: Vec<bool>,
    /// By note: it is an item of a thread that has no header in this file.
    pub is_foreign: Vec<bool>,
    /// By header: it is that of the file's own thread.
    pub is_own: Vec<bool>,
}

/// The thread of the file.
#[derive(Debug, Clone, Copy, Default)]
struct Own {
    id: u64,
    started: Option<u64>,
    own_from: Option<u32>,
}

/// Finds what is copied.
pub fn replay(notes: &Notes) -> Replay {
    let mut replay = Replay::default();
    let (mut own, mut known): (Option<Own>, KeySet) = (None, KeySet::default());
    let (mut is_copying, mut last_copied) = (false, None);
    for (at, note) in notes.notes.iter().enumerate() {
        if let Some(header) = header_of(notes, note) {
            let is_own = begin_thread(&mut own, header);
            replay.is_own.push(is_own);
            known.insert(header.id);
            is_copying = !is_own;
            if is_own && begins_with_a_copy(header, &notes.notes[at + 1..]) {
                is_copying = true;
                replay.is_copied.push(false);
                replay.is_foreign.push(false);
                continue;
            }
        }
        if is_copying {
            let t = notes.times.get(&(at as u64)).copied();
            let pause = t
                .zip(last_copied)
                .map_or(0, |(now, last): (i64, i64)| now.saturating_sub(last));
            last_copied = t.or(last_copied);
            is_copying = own.is_none_or(|own| is_of_copy(own, note, pause));
            if !is_copying {
                replay.ends_copied_turn(&notes.notes[..at]);
            }
        } else {
            last_copied = None;
        }
        let is_foreign = note.thread != 0 && own.is_some() && !known.contains(&note.thread);
        replay.is_foreign.push(is_foreign);
        replay.is_copied.push(is_copying || is_foreign);
    }
    replay
}

impl Replay {
    /// Behind a copy: the record that ends its last turn is no part of it.
    fn ends_copied_turn(&mut self, before: &[Note]) {
        if before
            .last()
            .is_some_and(|last| last.kind == Kind::TurnClosed)
            && let Some(is_copied) = self.is_copied.last_mut()
        {
            *is_copied = false;
        }
    }
}

fn header_of<'n>(notes: &'n Notes, note: &Note) -> Option<&'n Header> {
    if note.kind == Kind::Header {
        notes.headers.get(note.at as usize)
    } else {
        None
    }
}

/// Reads a header. True if it is that of the file's own thread, which may be repeated (0.140 to 0.146 repeat it with a `memory_mode`). A
/// younger thread cannot have been copied into this one, so its header begins another session in the same file.
fn begin_thread(own: &mut Option<Own>, header: &Header) -> bool {
    let is_younger = |own: &Own| {
        own.started
            .zip(header.started)
            .is_some_and(|(own, other)| other > own)
    };
    if own.as_ref().is_none_or(is_younger) {
        *own = Some(Own {
            id: header.id,
            started: header.started,
            own_from: header.own_from,
        });
        return true;
    }
    header.id != 0 && own.is_some_and(|own| own.id == header.id)
}

/// True if the records behind a thread's own header are a copy without a header: their first turn is older than the thread, or was imported
/// from another harness.
fn begins_with_a_copy(header: &Header, behind: &[Note]) -> bool {
    let turns = behind
        .iter()
        .take_while(|note| note.kind != Kind::Header)
        .map(|note| note.turn);
    match turns.into_iter().find(|turn| *turn != Turn::Unknown) {
        Some(Turn::Imported) => true,
        Some(Turn::At(turn)) => {
            header.is_fork && header.started.is_some_and(|started| turn < started)
        }
        _ => false,
    }
}

/// True if a record belongs to the copy that is being read. It ends at an item that is younger than the thread, or at the ordinal that a
/// sub-agent's header names; without one at a turn younger than the thread; where the thread's id has no time (0.36), at a pause. Between the
/// copy and that ordinal is what the harness tells a new agent (0.171.0).
fn is_of_copy(own: Own, note: &Note, pause: i64) -> bool {
    let is_younger = |made: u64| own.started.is_some_and(|started| made >= started);
    if own.own_from.is_some() && note.made.is_some_and(is_younger) {
        return false;
    }
    match (own.own_from, note.ordinal) {
        (Some(own_from), Some(ordinal)) => ordinal < own_from,
        _ => match (own.started, note.turn) {
            (Some(started), Turn::At(turn)) => turn < started,
            (None, _) => pause <= MAX_PAUSE_MS,
            (Some(_), _) => true,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: Note = note(Kind::Header, Turn::Unknown);

    const fn note(kind: Kind, turn: Turn) -> Note {
        Note {
            number: 0,
            kind,
            is_between: false,
            is_item: false,
            at: 0,
            count: 0,
            ordinal: None,
            turn,
            made: None,
            id: 0,
            fact: 0,
            thread: 0,
        }
    }

    fn copied(headers: &[Header], notes: &[Note]) -> Vec<bool> {
        let notes = Notes {
            notes: notes.to_vec(),
            headers: headers.to_vec(),
            ..Notes::default()
        };
        replay(&notes).is_copied
    }

    #[test]
    fn a_fork_without_the_parents_header_has_turns_older_than_itself() {
        let fork = Header {
            id: 1,
            started: Some(100),
            is_fork: true,
            ..Header::default()
        };
        let turn = |at| note(Kind::Other, Turn::At(at));
        let other = note(Kind::Other, Turn::Unknown);
        let lines = [HEADER, other, turn(50), other, turn(60), turn(101), other];
        assert_eq!(
            copied(&[fork], &lines),
            [false, true, true, true, true, false, false]
        );
        assert_eq!(copied(&[fork], &[HEADER, other, turn(101)]), [false; 3]);
        let resumed = Header {
            is_fork: false,
            ..fork
        };
        assert_eq!(copied(&[resumed], &lines), [false; 7]);
    }

    #[test]
    fn an_imported_session_is_of_another_harness() {
        let own = Header {
            id: 1,
            started: Some(100),
            ..Header::default()
        };
        let lines = [
            HEADER,
            note(Kind::Other, Turn::Imported),
            note(Kind::Other, Turn::Unknown),
            note(Kind::Other, Turn::At(200)),
        ];
        assert_eq!(copied(&[own], &lines), [false, true, true, false]);
    }

    #[test]
    fn a_copy_begins_with_the_header_of_an_older_thread() {
        let own = Header {
            id: 2,
            started: Some(100),
            own_from: Some(7),
            ..Header::default()
        };
        let parent = Header {
            id: 1,
            started: Some(50),
            ..Header::default()
        };
        let at = |ordinal| Note {
            ordinal: Some(ordinal),
            ..note(Kind::Other, Turn::Unknown)
        };
        let second = Note {
            at: 1,
            ordinal: Some(2),
            ..HEADER
        };
        assert_eq!(
            copied(&[own, parent], &[HEADER, second, at(6), at(7)]),
            [false, true, true, false]
        );
        // What the harness tells the new agent has ids of its own, before the ordinal.
        let made = |made, ordinal| Note {
            made: Some(made),
            ..at(ordinal)
        };
        assert_eq!(
            copied(
                &[own, parent],
                &[HEADER, second, made(99, 3), made(100, 4), at(5), at(7)]
            ),
            [false, true, true, false, false, false]
        );
        // So has the end of the turn that goes on in the parent.
        let closed = |ordinal| Note {
            kind: Kind::TurnClosed,
            ..at(ordinal)
        };
        assert_eq!(
            copied(
                &[own, parent],
                &[HEADER, second, closed(3), at(4), closed(5), made(100, 6)]
            ),
            [false, true, true, true, false, false]
        );
        let younger = Header {
            id: 3,
            started: Some(200),
            ..Header::default()
        };
        let notes = Notes {
            notes: vec![HEADER, Note { at: 1, ..HEADER }],
            headers: vec![own, younger],
            ..Notes::default()
        };
        assert_eq!(replay(&notes).is_own, [true, true]);
    }

    #[test]
    fn an_item_of_a_thread_without_a_header_is_foreign() {
        let own = Header {
            id: 2,
            ..Header::default()
        };
        let of = |thread| Note {
            thread,
            ..note(Kind::Other, Turn::Unknown)
        };
        assert_eq!(
            copied(&[own], &[of(9), HEADER, of(2), of(9)]),
            [false, false, false, true]
        );
    }
}
