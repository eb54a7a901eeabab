//! What waits for the log: pieces of both directions, in the order in which they came, and never more than so many bytes.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// The most bytes that wait. What comes while the log is so far behind is counted, and not logged.
const MOST: usize = 64 << 20;

/// Who sends: the client (an editor), or the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    /// Logged as `out`.
    Client,
    /// Logged as `in`.
    Agent,
}

/// One step of a direction.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece {
    /// These bytes.
    Bytes(Vec<u8>),
    /// So many bytes that the log has no room for.
    Lost(u64),
    /// The direction has ended.
    End,
}

/// A piece, with its direction and the time at which it was read.
#[derive(Debug, PartialEq, Eq)]
pub struct Passed {
    /// Who sent it.
    pub from: From,
    /// When it was read.
    pub at: SystemTime,
    /// What was read.
    pub piece: Piece,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Passed>,
    bytes: usize,
    /// What each direction has lost since its last piece.
    lost: [u64; 2],
    is_closed: bool,
}

/// The queue. Whoever adds to it never waits for the log.
#[derive(Debug, Default)]
pub struct Queue {
    state: Mutex<State>,
    added: Condvar,
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds bytes. If too many wait already, they are counted as lost.
    pub fn add(&self, from: From, bytes: &[u8]) {
        let mut state = self.state();
        if state.bytes + bytes.len() > MOST {
            state.lost[from as usize] += bytes.len() as u64;
            return;
        }
        state.bytes += bytes.len();
        state.put(from, Piece::Bytes(bytes.to_vec()));
        self.added.notify_one();
    }

    /// Says that a direction has ended.
    pub fn end(&self, from: From) {
        self.state().put(from, Piece::End);
        self.added.notify_one();
    }

    /// Both directions have ended, and nothing is added any more: an agent may end before its reader or its writer here sees an end, and the
    /// message that was open then is in the log too.
    pub fn close(&self) {
        let mut state = self.state();
        state.put(From::Client, Piece::End);
        state.put(From::Agent, Piece::End);
        state.is_closed = true;
        self.added.notify_one();
    }

    /// The next piece, if one waits.
    pub fn next_now(&self) -> Option<Passed> {
        self.state().take()
    }

    /// The next piece; waits for it. None once the queue is closed and empty.
    pub fn next(&self) -> Option<Passed> {
        let mut state = self.state();
        loop {
            if let Some(passed) = state.take() {
                return Some(passed);
            }
            if state.is_closed {
                return None;
            }
            state = self
                .added
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl State {
    fn put(&mut self, from: From, piece: Piece) {
        // The clock is read under the lock, so that times are in the order of the log.
        let at = SystemTime::now();
        let lost = std::mem::take(&mut self.lost[from as usize]);
        if lost > 0 {
            let piece = Piece::Lost(lost);
            self.waiting.push_back(Passed { from, at, piece });
        }
        self.waiting.push_back(Passed { from, at, piece });
    }

    fn take(&mut self) -> Option<Passed> {
        let passed = self.waiting.pop_front()?;
        if let Piece::Bytes(bytes) = &passed.piece {
            self.bytes -= bytes.len();
        }
        Some(passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_room_is_counted_where_it_is_missing() {
        let queue = Queue::default();
        queue.add(From::Client, &vec![0; MOST - 1]);
        queue.add(From::Agent, b"ab");
        queue.add(From::Agent, b"c");
        queue.add(From::Agent, b"de");
        assert!(matches!(queue.next().unwrap().piece, Piece::Bytes(_)));
        queue.end(From::Agent);
        assert_eq!(
            rest(&queue),
            [
                Piece::Lost(2),
                Piece::Bytes(b"c".to_vec()),
                Piece::Lost(2),
                Piece::End
            ]
        );
    }

    fn rest(queue: &Queue) -> Vec<Piece> {
        std::iter::from_fn(|| queue.next_now())
            .map(|passed| passed.piece)
            .collect()
    }

    #[test]
    fn a_direction_that_is_open_ends_with_the_queue() {
        let queue = Queue::default();
        queue.add(From::Client, b"{}");
        queue.close();
        assert_eq!(
            rest(&queue),
            [Piece::Bytes(b"{}".to_vec()), Piece::End, Piece::End]
        );
        assert_eq!(queue.next(), None);
    }
}
