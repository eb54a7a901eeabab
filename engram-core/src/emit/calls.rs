//! The calls on the tape by their ids, and which of them a result belongs to.

use crate::event::Seq;
use crate::keys::{self, KeyMap};
use crate::text::{NotDecoded, Text, push_text};

/// The limit of open calls with one id. Ids are used again rarely, and by harnesses that number calls per response.
const MAX_OPEN_PER_ID: usize = 64;

/// The key of a call id. Lone surrogates count, so that ids which differ only in them have different keys.
pub(super) fn call_key(call_id: Text<'_>) -> u64 {
    match call_id.decode() {
        Ok(id) => keys::hash64(id),
        Err(NotDecoded) => {
            let mut token = String::new();
            push_text(&mut token, call_id);
            keys::hash64(token)
        }
    }
}

/// The calls of a tape, by the hash of their ids. An id may be used again.
#[derive(Debug)]
pub(super) struct Calls {
    latest: KeyMap<Call>,
    /// Calls without a result that a later call of their id follows, oldest first.
    earlier: KeyMap<Vec<Seq>>,
    /// The id, used again, whose latest call the current record ends.
    ending: Option<u64>,
}

/// A call, and whether it has a result.
#[derive(Debug, Clone, Copy)]
struct Call(u64);

impl Call {
    fn open(seq: Seq) -> Self {
        Call(seq.0 << 1)
    }

    fn seq(self) -> Seq {
        Seq(self.0 >> 1)
    }

    fn has_result(self) -> bool {
        self.0 & 1 == 1
    }

    fn end(&mut self) {
        self.0 |= 1;
    }
}

impl Calls {
    pub(super) fn new() -> Self {
        Calls {
            latest: keys::key_map(),
            earlier: KeyMap::default(),
            ending: None,
        }
    }

    /// The call that reads and edits with this id belong to.
    pub(super) fn latest(&self, key: u64) -> Option<Seq> {
        self.latest.get(&key).map(|call| call.seq())
    }

    /// The call that the next result with this id belongs to, if one has no result.
    pub(super) fn latest_open(&self, key: u64) -> Option<Seq> {
        let latest = self.latest.get(&key)?;
        if latest.has_result() {
            self.earlier.get(&key)?.last().copied()
        } else {
            Some(latest.seq())
        }
    }

    /// Adds a call. A call of the same id that has no result stays open.
    pub(super) fn open(&mut self, key: u64, seq: Seq) {
        if let Some(before) = self
            .latest
            .insert(key, Call::open(seq))
            .filter(|before| !before.has_result())
        {
            self.keep(key, before.seq());
        }
    }

    #[cold]
    fn keep(&mut self, key: u64, seq: Seq) {
        let open = self.earlier.entry(key).or_default();
        if open.len() < MAX_OPEN_PER_ID {
            open.push(seq);
        }
    }

    /// The call that a result with this id belongs to: the latest open call of this id, else the latest call of this id. The call is closed.
    pub(super) fn end(&mut self, key: u64) -> Option<Seq> {
        if !self.earlier.is_empty() && self.earlier.contains_key(&key) {
            self.end_repeated(key);
        }
        let call = self.latest.get_mut(&key)?;
        call.end();
        Some(call.seq())
    }

    #[cold]
    fn end_repeated(&mut self, key: u64) {
        self.ending = Some(key);
        if self.latest.get(&key).is_some_and(|call| call.has_result()) {
            self.close(key);
        }
    }

    /// Puts the last earlier call of an id in the place of its latest one.
    fn close(&mut self, key: u64) {
        let Some(open) = self.earlier.get_mut(&key) else {
            return;
        };
        let earlier = open.pop();
        if open.is_empty() {
            self.earlier.remove(&key);
        }
        if let Some(earlier) = earlier {
            self.latest.insert(key, Call::open(earlier));
        }
    }

    /// The next record begins: a call that has its result is closed if an earlier call of its id is open.
    pub(super) fn begin_record(&mut self) {
        if let Some(key) = self.ending.take()
            && self.latest.get(&key).is_some_and(|call| call.has_result())
        {
            self.close(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: u64 = 7;

    fn opened(seqs: &[u64]) -> Calls {
        let mut calls = Calls::new();
        seqs.iter().for_each(|seq| calls.open(KEY, Seq(*seq)));
        calls
    }

    #[test]
    fn results_of_one_record_belong_to_calls_of_their_own() {
        let mut calls = opened(&[1, 2, 3]);
        let parents: Vec<u64> = (0..4)
            .filter_map(|_| calls.end(KEY))
            .map(|seq| seq.0)
            .collect();
        assert_eq!(parents, [3, 2, 1, 1]);
    }

    #[test]
    fn a_call_that_has_its_result_is_not_open() {
        let mut calls = opened(&[1]);
        assert_eq!(calls.latest_open(KEY), Some(Seq(1)));
        assert_eq!(calls.end(KEY), Some(Seq(1)));
        assert_eq!(
            (calls.latest_open(KEY), calls.latest(KEY)),
            (None, Some(Seq(1)))
        );
        calls.open(KEY, Seq(3));
        assert_eq!([calls.end(KEY), calls.end(KEY)], [Some(Seq(3)); 2]);
    }

    #[test]
    fn reads_belong_to_the_call_of_the_result_until_the_record_ends() {
        let mut calls = opened(&[1, 2]);
        calls.end(KEY);
        assert_eq!(
            (calls.latest(KEY), calls.latest_open(KEY)),
            (Some(Seq(2)), Some(Seq(1)))
        );
        calls.begin_record();
        assert_eq!(calls.latest(KEY), Some(Seq(1)));
    }
}
