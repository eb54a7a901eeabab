//! Questions to the user: their arguments are on the tape where no call of the capture has them.

use std::collections::BTreeSet;
use std::mem;

use engram_core::keys::hash64;
use engram_core::text::Text;

/// What step 1 notes. A session and a call are keys; a call is 0 if the question names none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Note {
    /// A question with arguments, of the record with this number.
    Question {
        session: u64,
        call: u64,
        number: usize,
    },
    /// A call.
    Call { session: u64, call: u64 },
}

/// The records of questions whose arguments no call of their session has. A plan that awaits approval is nowhere else.
fn decide(notes: &[Note]) -> BTreeSet<usize> {
    let calls: BTreeSet<&Note> = notes
        .iter()
        .filter(|note| matches!(note, Note::Call { .. }))
        .collect();
    let unclaimed = |note: &Note| match *note {
        Note::Question {
            session,
            call,
            number,
        } => (!calls.contains(&Note::Call { session, call })).then_some(number),
        Note::Call { .. } => None,
    };
    notes.iter().filter_map(unclaimed).collect()
}

/// The questions of a capture.
#[derive(Default)]
pub(in crate::cursor::stream) struct Questions {
    notes: Vec<Note>,
    unclaimed: BTreeSet<usize>,
}

impl Questions {
    /// Notes a question with arguments.
    pub(in crate::cursor::stream) fn ask(&mut self, session: u64, call: &str, number: usize) {
        let call = if call.is_empty() { 0 } else { hash64(call) };
        self.notes.push(Note::Question {
            session,
            call,
            number,
        });
    }

    /// Notes a call.
    pub(in crate::cursor::stream) fn call(&mut self, session: u64, call: Text<'_>) {
        self.notes.push(Note::Call {
            session,
            call: hash64(&*call.decode_lossy()),
        });
    }

    /// Step 2.
    pub(in crate::cursor::stream) fn decide(&mut self) {
        self.unclaimed = decide(&mem::take(&mut self.notes));
    }

    /// True if no call has the arguments of this question.
    pub(in crate::cursor::stream) fn is_unclaimed(&self, number: usize) -> bool {
        self.unclaimed.contains(&number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_of_the_session_has_the_arguments_of_its_question() {
        let question = |session, call, number| Note::Question {
            session,
            call,
            number,
        };
        let call = |session, call| Note::Call { session, call };
        let notes = [
            question(1, 7, 0),
            call(1, 7),
            call(1, 8),
            question(1, 8, 3),
            question(2, 7, 4),
            question(1, 0, 5),
            call(2, 9),
        ];
        assert_eq!(decide(&notes), BTreeSet::from([4, 5]));
    }
}
