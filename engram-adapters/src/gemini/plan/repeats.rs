//! Which facts the log has said before, so that the tape says each once.
//!
//! From 0.39.0 on the harness writes a turn when the model has answered, and again under its id when its calls have ended. From 0.44.0 on it
//! writes its whole history again at resume, compression, cancellation and failure, with new ids for some messages and without the details
//! of calls. Texts have no ids there, so the n-th occurrence in a history is the n-th occurrence in the log.

use std::collections::VecDeque;

use engram_core::keys::{KeyMap, hash64};

use super::calls::{CallKey, Calls};
use crate::gemini::notes::{CallList, History, Note, restated};
use crate::gemini::schema::Form;

/// What becomes of a fact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Decision {
    /// It was given before, or it belongs to something that was.
    pub is_repeated: bool,
    /// Its message is part of a history that the harness writes again.
    pub in_history: bool,
    /// For [`Note::Turn`]: an earlier record of the turn has its content.
    pub content: bool,
    /// For [`Note::Turn`]: another record of the turn has its tokens, or later ones.
    pub tokens: bool,
    /// For [`Note::Call`]: its message is not the response that asked for it.
    pub is_collected: bool,
    /// For [`Note::Call`]: the log said it before, with other arguments alone.
    pub has_other_arguments: bool,
}

/// Decides about each note.
pub fn repeats(form: Form, notes: &[Note]) -> Vec<Decision> {
    let mut seen = Seen {
        form,
        restated: restated(notes).collect(),
        ..Seen::default()
    };
    let mut decisions = Vec::with_capacity(notes.len());
    for (at, note) in notes.iter().enumerate() {
        let decision = seen.decide(note, at, &decisions);
        decisions.push(decision);
    }
    decisions
}

/// What the notes so far have said.
#[derive(Default)]
struct Seen {
    form: Form,
    message: Message,
    /// The last version of each turn: the keys of its content, tokens and time.
    turns: KeyMap<[u64; 3]>,
    /// The id of the last turn that is no part of a history.
    last_turn: u64,
    /// Turns with an id, each with its model.
    models: KeyMap<()>,
    model: u64,
    /// Thoughts, each with its turn, and its number among equal ones.
    thoughts: KeyMap<()>,
    /// How often each text occurred.
    counts: KeyMap<u32>,
    /// How often each text occurred in the history that is being read.
    in_history: KeyMap<u32>,
    /// The first messages of the histories in records that are still to come.
    restated: VecDeque<u64>,
    /// The message lines up to the next history in a record are that history.
    is_relogged: bool,
    /// The time of the message lines that are a history.
    rewrite: Option<u64>,
    /// What a person wrote while tools ran. It comes before a result, and again in the message with the results.
    interjection: u64,
    /// The first words of the last message that has what was typed as it was typed.
    prompt: u64,
    calls: Calls,
}

/// The current message.
#[derive(Default)]
struct Message {
    id: u64,
    time: u64,
    in_history: bool,
    turn: Decision,
    /// It has no counts, and other turns were written since it was written first: it collects the calls of several responses (0.61.0 over ACP).
    collects: bool,
    /// Its first words in the user's place are known.
    has_words: bool,
    /// Its last result was given before.
    result_is_repeated: bool,
    /// The calls of its list, by the place of their notes.
    calls: KeyMap<CallKey>,
    /// How many calls with an id it has, by list.
    counts: KeyMap<u32>,
    /// The numbers of its calls, if it is part of a history. Both lists may have them.
    numbers: KeyMap<u32>,
}

impl Seen {
    fn decide(&mut self, note: &Note, at: usize, decisions: &[Decision]) -> Decision {
        let is_repeated = match *note {
            Note::Record { .. } | Note::Rewind { .. } | Note::Piece { .. } => false,
            Note::Message { id, time, history } => {
                let in_history = self.begin_message(id, time, history);
                return Decision {
                    in_history,
                    ..Decision::default()
                };
            }
            Note::Model { key } => self.is_same_model(key),
            Note::Turn { content, tokens } => {
                self.message.turn = self.turn(content, tokens);
                return self.message.turn;
            }
            // A turn that is written again may have more thoughts, or other times of them.
            Note::Thought { key, nth } => {
                self.is_thought_of_turn(key, nth) || self.is_old_text(key)
            }
            Note::Content { key } => self.message.turn.content || self.is_old_text(key),
            Note::Text { key } | Note::File { key } | Note::NamelessCall { key } => {
                self.is_old_text(key)
            }
            Note::UserText { key, is_context } => {
                if !is_context && !std::mem::replace(&mut self.message.has_words, true) {
                    self.prompt = key;
                }
                (!self.message.in_history && self.ends_interjection(key)) || self.is_old_text(key)
            }
            // The harness goes on with words of its own, and shows the last prompt with them.
            Note::Typed { key } => {
                self.message.has_words = true;
                self.prompt == key || self.is_old_text(key)
            }
            Note::Call { id, args, list } => {
                let (call, is_known) = self.next_call(id, args, list);
                self.message.calls.insert(at as u64, call);
                let is_new = self.calls.told.insert(hash64((call, args)), ()).is_none();
                return Decision {
                    has_other_arguments: is_known && is_new && id != 0,
                    is_repeated: is_known && self.may_be_again(),
                    in_history: self.message.in_history,
                    is_collected: self.message.collects,
                    ..Decision::default()
                };
            }
            Note::Result {
                call,
                key,
                has_ended,
            } => {
                let call_at = at - call as usize;
                if decisions.get(call_at).is_some_and(|call| !call.is_repeated) {
                    *self.counts.entry(key).or_default() += 1;
                }
                self.message.result_is_repeated = has_ended && self.repeats_result(call_at);
                self.message.result_is_repeated
            }
            Note::Interjection { .. } | Note::OwnResponse { .. }
                if self.message.result_is_repeated =>
            {
                true
            }
            Note::Interjection { key } => {
                let is_repeated = self.ends_interjection(key);
                if !is_repeated {
                    *self.counts.entry(key).or_default() += 1;
                }
                self.interjection = key;
                is_repeated
            }
            Note::OwnResponse { id, key } => {
                self.calls.responses.insert(hash64((id, key)), ());
                false
            }
            Note::Response { id: 0, .. } | Note::Displayed { id: 0, .. } => false,
            // In lines the response or the call's own result may come first; in a document the call is first.
            Note::Response { id, .. } if self.form == Form::Lines => {
                self.calls.returns(self.calls.of_response(id))
            }
            Note::Response { id, key } | Note::Displayed { id, key } => {
                self.calls.responses.contains_key(&hash64((id, key)))
            }
        };
        Decision {
            is_repeated,
            in_history: self.message.in_history,
            ..Decision::default()
        }
    }

    /// Begins a message. True if it is part of a history that is written again: in one record, or before that as message lines (0.61.0, when
    /// the user cancels). Their times may differ. Where no such record follows, only those of one time are known.
    fn begin_message(&mut self, id: u64, time: u64, history: History) -> bool {
        let in_history = match history {
            History::First => {
                self.in_history.clear();
                self.restated.pop_front();
                (self.rewrite, self.is_relogged) = (None, false);
                true
            }
            History::Next => true,
            _ if self.is_relogged => true,
            // At its beginning a log may have the first message of that history itself.
            History::MayBegin
                if id != 0 && self.restated.front() == Some(&id) && !self.counts.is_empty() =>
            {
                self.in_history.clear();
                self.is_relogged = true;
                true
            }
            History::GoesOn | History::MayBegin => {
                let goes_on = self.rewrite == Some(time);
                let begins = !goes_on && time != 0 && history == History::MayBegin;
                if begins {
                    self.in_history.clear();
                }
                self.rewrite = Some(time).filter(|_| goes_on || begins);
                goes_on || begins
            }
        };
        let message = &mut self.message;
        (message.id, message.time, message.in_history, message.turn) =
            (id, time, in_history, Decision::default());
        (message.collects, message.has_words) = (false, false);
        message.calls.clear();
        message.counts.clear();
        message.numbers.clear();
        in_history
    }

    /// True if the current message may be one that the log had before.
    fn may_be_again(&self) -> bool {
        self.form == Form::Lines || self.message.id != 0
    }

    /// True if the model is the last one, or a turn of a history has it again.
    fn is_same_model(&mut self, key: u64) -> bool {
        let id = self.message.id;
        let is_again = id != 0 && self.models.insert(hash64((id, key)), ()).is_some();
        let is_same = is_again || self.model == key;
        if !is_again {
            self.model = key;
        }
        is_same
    }

    /// Which parts of a turn an earlier record with its id has. A history has less of a turn than the turn itself, so the last version stays.
    fn turn(&mut self, content: u64, tokens: u64) -> Decision {
        let Message {
            id,
            time,
            in_history,
            ..
        } = self.message;
        let last = self.turns.get(&id).copied().filter(|_| id != 0);
        if id != 0 && !in_history {
            self.turns.insert(id, [content, tokens, time]);
            let is_between = std::mem::replace(&mut self.last_turn, id) != id;
            self.message.collects = tokens == 0 && last.is_some() && is_between;
        }
        let Some(last) = last else {
            return Decision {
                in_history,
                ..Decision::default()
            };
        };
        let is_content = content == last[0];
        // Two responses may have the same counts.
        let is_tokens = tokens == last[1] && (time == last[2] || is_content);
        Decision {
            is_repeated: is_content || is_tokens,
            in_history,
            content: is_content,
            tokens: is_tokens,
            ..Decision::default()
        }
    }

    /// True if the turn has said this thought before. A history may have it twice: as a thought, and in the content.
    fn is_thought_of_turn(&mut self, key: u64, nth: u32) -> bool {
        let thought = hash64((self.message.id, key, nth));
        match (self.message.id, self.message.in_history) {
            (0, _) => false,
            (_, true) => self.thoughts.contains_key(&thought),
            (_, false) => self.thoughts.insert(thought, ()).is_some(),
        }
    }

    /// Counts a text. True if it is in a history, and the log has it as often.
    fn is_old_text(&mut self, key: u64) -> bool {
        if self.message.in_history {
            return !self.count_in_history(key).1;
        }
        *self.counts.entry(key).or_default() += 1;
        false
    }

    /// Counts an occurrence in a history. Returns their number in it, and whether this is more than the log has so far.
    fn count_in_history(&mut self, key: u64) -> (u32, bool) {
        let in_history = self.in_history.entry(key).or_default();
        *in_history += 1;
        let in_log = self.counts.entry(key).or_default();
        let is_new = *in_history > *in_log;
        *in_log = (*in_log).max(*in_history);
        (*in_history, is_new)
    }

    /// True if the text is the last interjection, for the first time after it.
    fn ends_interjection(&mut self, key: u64) -> bool {
        let is_again = self.interjection == key;
        if is_again {
            self.interjection = 0;
        }
        is_again
    }

    /// The call with this id that the message says next, and whether the log said it before. A message has its calls again when it
    /// is written again. In a history that is written again, the n-th call with an id is the n-th one of the log.
    fn next_call(&mut self, id: u64, args: u64, list: CallList) -> (CallKey, bool) {
        if id == 0 {
            return (CallKey { id, number: 0 }, false);
        }
        let Message {
            id: message,
            in_history,
            ..
        } = self.message;
        let nth = self.message.counts.entry(hash64((list, id))).or_default();
        let mut place = hash64((id, message, *nth));
        let is_first = *nth == 0;
        *nth += 1;
        if !in_history && *self.calls.args.entry(hash64((place, list))).or_insert(args) != args {
            place = hash64((place, args));
        }
        let count_key = hash64(("call id", id));
        let (number, is_known) = match (
            in_history,
            self.message.numbers.get(&place),
            self.calls.numbers.get(&place),
        ) {
            (true, Some(number), _) | (false, _, Some(number)) => (*number, true),
            (true, None, _) => {
                let (number, is_new) = self.count_in_history(count_key);
                self.message.numbers.insert(place, number);
                if is_new {
                    self.calls.restated.insert(id, number);
                }
                (number, !is_new)
            }
            (false, _, None) if self.calls.restated.contains_key(&id) => {
                let number = self.calls.restated.remove(&id).unwrap_or_default();
                self.calls.numbers.insert(place, number);
                (number, true)
            }
            (false, _, None) => {
                let number = self.counts.entry(count_key).or_default();
                *number += 1;
                (*number, false)
            }
        };
        if !is_known {
            self.calls.numbers.insert(place, number);
            let first = self
                .calls
                .latest
                .get(&id)
                .filter(|_| !is_first)
                .map_or(number, |(first, _)| *first);
            self.calls.latest.insert(id, (first, number));
        }
        (CallKey { id, number }, is_known)
    }

    /// True if the log has said the result of the call whose note is at `at`.
    fn repeats_result(&mut self, at: usize) -> bool {
        let call = self
            .message
            .calls
            .get(&(at as u64))
            .copied()
            .filter(|call| call.id != 0);
        call.is_some_and(|call| self.may_be_again() && self.calls.returns(call))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(id: u64) -> Note {
        Note::Message {
            id,
            time: 1,
            history: History::GoesOn,
        }
    }

    fn call(id: u64, args: u64) -> Note {
        Note::Call {
            id,
            args,
            list: CallList::Calls,
        }
    }

    fn repeated(notes: &[Note]) -> Vec<bool> {
        repeats(Form::Lines, notes)
            .iter()
            .map(|decision| decision.is_repeated)
            .collect()
    }

    #[test]
    fn a_history_adds_only_additional_occurrences() {
        let texts = |history| {
            [
                Note::Message {
                    id: 0,
                    time: 0,
                    history,
                },
                Note::Text { key: 1 },
                Note::Text { key: 1 },
            ]
        };
        let more = [Note::Text { key: 1 }, Note::Text { key: 2 }];
        let notes = [
            &texts(History::GoesOn)[..],
            &texts(History::First),
            &more,
            &texts(History::First),
            &more,
        ]
        .concat();
        let expected = [
            [false, false, false].as_slice(),
            &[false, true, true],
            &[false, false],
            &[false, true, true],
            &[true, true],
        ];
        assert_eq!(repeated(&notes), expected.concat());
    }

    #[test]
    fn a_message_that_is_written_again_states_the_same_calls() {
        let turn = |id, calls: &[u64]| {
            [message(id)]
                .into_iter()
                .chain(calls.iter().map(|id| call(*id, 0)))
                .collect::<Vec<_>>()
        };
        let notes = [turn(1, &[7, 7, 8]), turn(2, &[7]), turn(1, &[7, 7, 8])].concat();
        assert_eq!(
            repeated(&notes),
            [
                false, false, false, false, false, false, false, true, true, true
            ]
        );
    }

    #[test]
    fn a_message_with_the_id_of_another_one_states_other_calls() {
        let notes: Vec<Note> = [1, 2, 1, 2]
            .into_iter()
            .flat_map(|args| [message(1), call(7, args)])
            .collect();
        assert_eq!(
            repeated(&notes),
            [false, false, false, false, false, true, false, true]
        );
    }

    #[test]
    fn responses_belong_to_open_calls_of_the_last_message() {
        let response = Note::Response { id: 7, key: 0 };
        let notes = [
            message(1),
            call(7, 0),
            message(2),
            call(7, 0),
            call(7, 0),
            message(3),
            response,
            response,
            response,
        ];
        assert_eq!(repeated(&notes)[6..], [false, false, true]);
    }

    #[test]
    fn message_lines_of_one_time_are_a_history() {
        let line = |time, history, key| {
            [
                Note::Message {
                    id: 0,
                    time,
                    history,
                },
                Note::Text { key },
            ]
        };
        let notes = [
            line(1, History::GoesOn, 5),
            line(2, History::MayBegin, 5),
            line(2, History::GoesOn, 6),
            line(3, History::GoesOn, 5),
        ];
        assert_eq!(
            repeated(&notes.concat()),
            [false, false, false, true, false, false, false, false]
        );
    }

    #[test]
    fn message_lines_before_their_history_in_a_record_are_that_history() {
        let said =
            |id, time, history, key| [Note::Message { id, time, history }, Note::Text { key }];
        let notes = [
            said(1, 1, History::GoesOn, 5),
            said(2, 1, History::GoesOn, 6),
            said(3, 2, History::MayBegin, 5),
            said(4, 3, History::GoesOn, 6),
            said(3, 2, History::First, 5),
            said(5, 4, History::GoesOn, 6),
        ];
        let repeated = repeated(&notes.concat());
        let of_texts: Vec<bool> = repeated.into_iter().skip(1).step_by(2).collect();
        assert_eq!(of_texts, [false, false, true, true, true, false]);
    }

    #[test]
    fn a_history_may_have_a_thought_twice() {
        let thought = Note::Thought { key: 5, nth: 1 };
        let of_history = Note::Message {
            id: 9,
            time: 0,
            history: History::First,
        };
        assert_eq!(
            repeated(&[
                message(9),
                thought,
                of_history,
                thought,
                Note::Text { key: 5 }
            ]),
            [false, false, false, true, true]
        );
    }

    #[test]
    fn a_message_without_counts_collects_the_calls_behind_other_turns() {
        let turn = |id, tokens| [message(id), Note::Turn { content: 0, tokens }];
        let notes = [
            &turn(1, 10)[..],
            &turn(2, 0),
            &[call(70, 0)],
            &turn(2, 0),
            &[call(71, 0)],
            &turn(3, 11),
            &turn(2, 0),
            &[call(72, 0)],
        ]
        .concat();
        let decisions = repeats(Form::Lines, &notes);
        let collected = notes.iter().zip(&decisions).filter_map(|(note, decision)| {
            matches!(note, Note::Call { .. }).then_some(decision.is_collected)
        });
        assert_eq!(collected.collect::<Vec<_>>(), [false, false, true]);
    }

    #[test]
    fn a_turn_that_is_written_again_has_its_parts_once() {
        let turn = |content, tokens| {
            [
                message(9),
                Note::Turn { content, tokens },
                Note::Content { key: content },
            ]
        };
        let decisions = repeats(Form::Lines, &[turn(1, 2), turn(1, 3), turn(4, 3)].concat());
        let turns = [1, 4, 7].map(|at| {
            (
                decisions[at].content,
                decisions[at].tokens,
                decisions[at + 1].is_repeated,
            )
        });
        assert_eq!(
            turns,
            [
                (false, false, false),
                (true, false, true),
                (false, true, false)
            ]
        );
    }
}
