//! Where a person went back without a line that says so: to a saved conversation (`/resume`), or to a checkpoint that is restored.
//!
//! The harness writes the history that holds from then on as message lines, and again in a `$set` line (0.61.0). If it is the
//! beginning of the conversation so far, the rest was taken back. A turn that is cancelled is taken out in the same way, and a notice says so.

use engram_core::keys::{KeyMap, PlaceMap, hash64};

use super::repeats::Decision;
use crate::gemini::notes::{History, Note};

/// For each `$set` record that goes back: the id of the first message that does not hold any more.
pub fn rewinds(notes: &[Note], decisions: &[Decision], cancelled: &[u64]) -> PlaceMap<usize, u64> {
    let mut conversation = Conversation::default();
    for (note, decision) in notes.iter().zip(decisions) {
        conversation.add(note, decision, cancelled);
    }
    conversation.rewinds
}

/// A text in the user's place.
#[derive(Debug, Clone, Copy)]
struct Prompt {
    key: u64,
    /// The message that had it first.
    message: u64,
    /// The last text, call or response behind it, or the prompt itself.
    last: u64,
}

/// What the records so far say of the conversation.
#[derive(Default)]
struct Conversation {
    rewinds: PlaceMap<usize, u64>,
    /// The prompts that hold.
    live: Vec<Prompt>,
    /// The prompts of the history that is being read.
    history: Vec<Prompt>,
    place: Place,
    /// The first message of each prompt, by its key and its number among equal ones.
    messages: KeyMap<u64>,
    counts: KeyMap<u32>,
    counts_in_history: KeyMap<u32>,
    record: usize,
    message: u64,
    is_turn: bool,
    /// The last turn was cancelled.
    is_cancelled: bool,
}

/// What is being read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    /// The log.
    #[default]
    Log,
    /// Message lines that are a history.
    Lines,
    /// The history in a `$set` line.
    Set,
}

impl Conversation {
    fn add(&mut self, note: &Note, decision: &Decision, cancelled: &[u64]) {
        match *note {
            Note::Record { number, .. } => {
                self.record = number as usize;
                if self.place == Place::Set {
                    self.live = std::mem::take(&mut self.history);
                    (self.place, self.is_cancelled) = (Place::Log, false);
                }
            }
            Note::Message { id, history, .. } => {
                self.begin(history, decision.in_history);
                (self.message, self.is_turn) = (id, false);
            }
            Note::Turn { .. } => self.is_turn = true,
            Note::UserText {
                key,
                is_context: false,
            } => self.prompt(key, decision),
            Note::Text { key } if !self.is_turn => self.is_cancelled |= cancelled.contains(&key),
            Note::Text { key } | Note::Content { key } | Note::NamelessCall { key } => {
                self.goes_on(key)
            }
            Note::Call { id, .. } | Note::Response { id, .. } => self.goes_on(id),
            Note::Rewind { to } => {
                let first = self.live.iter().position(|prompt| prompt.message == to);
                self.live.truncate(first.unwrap_or(self.live.len()));
            }
            _ => {}
        }
    }

    /// Begins a message.
    fn begin(&mut self, history: History, in_history: bool) {
        let place = match history {
            History::Next => return,
            History::First => Place::Set,
            History::GoesOn | History::MayBegin if in_history => Place::Lines,
            History::GoesOn | History::MayBegin => Place::Log,
        };
        if self.place == Place::Lines && place == Place::Set {
            self.go_back();
        }
        if self.place != place || place == Place::Set {
            self.history.clear();
            self.counts_in_history.clear();
        }
        self.place = place;
    }

    /// Compares the history of message lines with the conversation so far.
    fn go_back(&mut self) {
        let (history, live) = (&self.history, &self.live);
        let is_beginning = history
            .iter()
            .zip(live)
            .all(|(prompt, before)| prompt.key == before.key);
        let is_whole = |last: &Prompt| {
            live.get(history.len() - 1)
                .is_some_and(|before| before.last == last.last)
        };
        if let Some(gone) = live.get(history.len())
            && !self.is_cancelled
            && is_beginning
            && history.last().is_some_and(is_whole)
        {
            self.rewinds.insert(self.record, gone.message);
        }
    }

    fn prompt(&mut self, key: u64, decision: &Decision) {
        let is_log = self.place == Place::Log;
        if is_log && decision.is_repeated {
            return;
        }
        let (list, counts) = match is_log {
            true => (&mut self.live, &mut self.counts),
            false => (&mut self.history, &mut self.counts_in_history),
        };
        let count = counts.entry(key).or_default();
        *count += 1;
        let of_count = hash64((key, *count));
        if is_log {
            self.is_cancelled = false;
            self.messages.insert(of_count, self.message);
        }
        let first = self.messages.get(&of_count);
        list.push(Prompt {
            key,
            message: first.copied().unwrap_or(self.message),
            last: key,
        });
    }

    fn goes_on(&mut self, key: u64) {
        let list = match self.place {
            Place::Log => &mut self.live,
            Place::Lines | Place::Set => &mut self.history,
        };
        if let Some(prompt) = list.last_mut() {
            prompt.last = key;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gemini::notes::After;
    use crate::gemini::plan::repeats::repeats;
    use crate::gemini::schema::Form;

    const CANCELLED: u64 = 99;

    /// A prompt and its answer, as two messages. The ids of the messages are those of the texts, and a hundred more in a history.
    fn turn(prompt: u64, time: u64, history: [History; 2]) -> [Note; 5] {
        let more = if history == [History::GoesOn; 2] {
            0
        } else {
            100
        };
        let [ask, answer] = history.map(|history| Note::Message {
            id: prompt + more,
            time,
            history,
        });
        [
            ask,
            Note::UserText {
                key: prompt,
                is_context: false,
            },
            answer,
            Note::Turn {
                content: 0,
                tokens: 0,
            },
            Note::Text { key: prompt + 50 },
        ]
    }

    fn gone(notes: &[&[Note]]) -> Vec<u64> {
        let mut all = Vec::new();
        for (number, record) in notes.iter().enumerate() {
            all.push(Note::Record {
                number: number as u32,
                after: After::Ends,
            });
            all.extend_from_slice(record);
        }
        let decisions = repeats(Form::Lines, &all);
        let rewinds = rewinds(&all, &decisions, &[CANCELLED]);
        let mut gone: Vec<u64> = rewinds.into_values().collect();
        gone.sort_unstable();
        gone
    }

    #[test]
    fn a_history_that_is_the_beginning_of_the_conversation_takes_the_rest_back() {
        let log = |prompt| turn(prompt, prompt, [History::GoesOn; 2]);
        let lines = |prompt| turn(prompt, 9, [History::MayBegin, History::GoesOn]);
        let set = |prompt| turn(prompt, 9, [History::First, History::Next]);
        let back: [&[Note]; 4] = [&log(1), &log(2), &lines(1), &set(1)];
        assert_eq!(gone(&back), [2]);
        // Then the conversation goes on from there, and is taken up again.
        let more: [&[Note]; 3] = [
            &log(3),
            &turn(1, 8, [History::MayBegin, History::GoesOn]),
            &turn(1, 8, [History::First, History::Next]),
        ];
        assert_eq!(gone(&[&back[..], &more].concat()), [2, 3]);
        // A turn was cancelled, all of the history holds, or it is another one.
        let notice = [
            Note::Message {
                id: 7,
                time: 7,
                history: History::GoesOn,
            },
            Note::Text { key: CANCELLED },
        ];
        assert!(gone(&[&log(1), &log(2), &notice, &lines(1), &set(1)]).is_empty());
        assert!(gone(&[&log(1), &lines(1), &set(1)]).is_empty());
        assert!(gone(&[&log(1), &log(2), &lines(2), &set(2)]).is_empty());
        // It ends inside of a turn.
        assert!(gone(&[&log(1), &log(2), &lines(1)[..2], &set(1)[..2]]).is_empty());
    }
}
