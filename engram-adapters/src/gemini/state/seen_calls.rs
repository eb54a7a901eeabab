//! What the log has stated about each call. Several calls may have one id.

use engram_core::keys::{KeyMap, hash64};

use super::occurrences::{HistoryPass, OccurrenceCount};
use crate::gemini::schema::{FunctionResponse, Response};
use crate::shared::restorable::RestorableMap;
use crate::shared::seen_set::SeenSet;
use crate::shared::value::Value;

/// A call: the key of its id, and which call of that id it is, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CallKey {
    id: u64,
    number: u32,
}

/// The id of a call as a message states it.
#[derive(Debug, Clone, Copy)]
pub struct StatedId {
    /// The key of the id.
    pub id: u64,
    /// The key of the arguments. Calls with other ones are other calls.
    pub args: u64,
}

/// Where a message states a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CallList {
    /// In its list of calls.
    Calls,
    /// In its content, as the model's interface has it.
    Content,
}

/// The calls of the log.
#[derive(Debug, Default)]
pub(super) struct SeenCalls {
    /// The number of a call, by its id, its message, and how many calls before it in the message have its id.
    numbers: RestorableMap<u32>,
    /// The arguments of a call, by its id, its message, its number there, and the list.
    args: RestorableMap<u64>,
    /// The calls of the last message with an id: the first and the last of them.
    latest: RestorableMap<(u32, u32)>,
    /// The calls with a result.
    returned: SeenSet,
    /// The responses that the model got, from the calls' own results.
    responses: SeenSet,
    message: u64,
    /// How many calls with an id the message has, by list.
    in_message: KeyMap<u32>,
    /// The numbers of the calls of a message of a history. Both lists may have them.
    in_history: KeyMap<u32>,
}

impl SeenCalls {
    /// Begins a message, with the key of its id.
    pub(super) fn begin_message(&mut self, message: u64) {
        self.message = message;
        self.in_message.clear();
        self.in_history.clear();
    }

    /// The call with this id that the message states next, and whether the log stated it before. A message states its calls again when it
    /// is written again. In a history that is written again, the n-th call with an id is the n-th one of the log.
    pub(super) fn next_call(
        &mut self,
        StatedId { id, args }: StatedId,
        list: CallList,
        counts: &mut OccurrenceCount,
        pass: Option<&mut HistoryPass>,
    ) -> (CallKey, bool) {
        let in_message = self.in_message.entry(hash64((list, id))).or_default();
        let mut place = hash64((id, self.message, *in_message));
        let is_first = *in_message == 0;
        *in_message += 1;
        if pass.is_none() && !self.args.insert_new(hash64((place, list)), args) && self.args.get(hash64((place, list))) != Some(args) {
            place = hash64((place, args));
        }
        let (number, is_known) = match (pass, self.numbers.get(place)) {
            (Some(pass), _) => match self.in_history.get(&place) {
                Some(number) => (*number, true),
                None => {
                    let (number, is_new) = counts.count_in_history(pass, call_count_key(id));
                    self.in_history.insert(place, number);
                    (number, !is_new)
                }
            },
            (None, Some(number)) => (number, true),
            (None, None) => (counts.add(call_count_key(id)), false),
        };
        if !is_known {
            self.numbers.insert(place, number);
            let first = self.latest.get(id).filter(|_| !is_first).map_or(number, |(first, _)| first);
            self.latest.insert(id, (first, number));
        }
        (CallKey { id, number }, is_known)
    }

    /// The call that a response belongs to. Its id can be used by several messages: the last such message counts, and in it the last call
    /// without a result.
    pub(super) fn of_response(&self, id: u64) -> CallKey {
        let (first, last) = self.latest.get(id).unwrap_or((1, 1));
        let keys = || (first..=last).rev().map(|number| CallKey { id, number }).take(MAX_OPEN);
        keys().find(|call| !self.returned.contains(call)).unwrap_or(CallKey { id, number: last })
    }

    /// Notes the result of the call. True if the log stated it before.
    pub(super) fn insert_result(&mut self, call: CallKey) -> bool {
        !self.returned.insert(call)
    }

    /// True if the log has stated the result of the call.
    pub(super) fn has_result(&self, call: CallKey) -> bool {
        self.returned.contains(call)
    }

    /// Notes the response in the own result of a call with this id.
    pub(super) fn insert_response(&mut self, id: u64, response: &FunctionResponse<'_>) {
        self.responses.insert((id, response_key(response)));
    }

    /// True if the own result of a call with this id has this response.
    pub(super) fn has_response(&self, id: u64, response: &FunctionResponse<'_>) -> bool {
        self.responses.contains((id, response_key(response)))
    }

    /// The record is converted: its facts stay.
    pub(super) fn commit(&mut self) {
        self.numbers.commit();
        self.args.commit();
        self.latest.commit();
        self.returned.commit();
        self.responses.commit();
    }

    /// The record is malformed: its facts are forgotten.
    pub(super) fn roll_back(&mut self) {
        self.numbers.roll_back();
        self.args.roll_back();
        self.latest.roll_back();
        self.returned.roll_back();
        self.responses.roll_back();
    }
}

/// The most calls of a message and an id among which the call of a response is searched.
const MAX_OPEN: usize = 64;

/// The key by which the calls with an id are counted.
fn call_count_key(id: u64) -> u64 {
    hash64(("call id", id))
}

/// A response as eight bytes.
fn response_key(response: &FunctionResponse<'_>) -> u64 {
    let content = Response::lenient_opt(response.response());
    match (content.output(), content.error()) {
        (None, None) => hash64(response.response().map(Value::raw)),
        (output, error) => hash64((output.map(Value::raw), error.map(Value::raw))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stated(calls: &mut SeenCalls, counts: &mut OccurrenceCount, message: u64, ids: &[u64]) -> Vec<(u32, bool)> {
        calls.begin_message(message);
        let of = |id: &u64| calls.next_call(StatedId { id: *id, args: 0 }, CallList::Calls, counts, None);
        ids.iter().map(of).map(|(call, is_known)| (call.number, is_known)).collect()
    }

    #[test]
    fn a_message_that_is_written_again_states_the_same_calls() {
        let (mut calls, mut counts) = (SeenCalls::default(), OccurrenceCount::default());
        assert_eq!(stated(&mut calls, &mut counts, 1, &[7, 7, 8]), [(1, false), (2, false), (1, false)]);
        assert_eq!(stated(&mut calls, &mut counts, 2, &[7]), [(3, false)]);
        assert_eq!(stated(&mut calls, &mut counts, 1, &[7, 7, 8]), [(1, true), (2, true), (1, true)]);
    }

    #[test]
    fn a_message_with_the_id_of_another_one_states_other_calls() {
        let (mut calls, mut counts) = (SeenCalls::default(), OccurrenceCount::default());
        let mut next = |args: u64| {
            calls.begin_message(1);
            let (call, is_known) = calls.next_call(StatedId { id: 7, args }, CallList::Calls, &mut counts, None);
            (call.number, is_known)
        };
        assert_eq!([next(1), next(2), next(1), next(2)], [(1, false), (2, false), (1, true), (2, true)]);
    }

    #[test]
    fn responses_belong_to_open_calls_of_the_last_message() {
        let (mut calls, mut counts) = (SeenCalls::default(), OccurrenceCount::default());
        stated(&mut calls, &mut counts, 1, &[7]);
        stated(&mut calls, &mut counts, 2, &[7, 7]);
        let mut returned = || {
            let call = calls.of_response(7);
            (call.number, calls.insert_result(call))
        };
        assert_eq!([returned(), returned(), returned()], [(3, false), (2, false), (3, true)]);
    }
}
