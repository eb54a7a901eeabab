//! The calls of the parent session that gave a child session further prompts.

use engram_core::adapter::ParentCall;
use engram_core::hash::Hash;
use engram_core::text::Text;

/// Who gave a child session a prompt.
#[derive(Debug, PartialEq, Eq)]
pub enum Giver {
    /// The call that started the session; also where the calls of the parent are not known.
    Start,
    /// A later call, with this id.
    Call(String),
    /// No call of the parent has the words: a person wrote them.
    Person,
}

/// Calls that no prompt of the session was assigned to yet.
#[derive(Default)]
pub struct LaterCalls {
    calls: Vec<ParentCall>,
    /// True if the parent session was read. Then a prompt that is in no call of the parent session is by a person.
    are_known: bool,
    /// The index of the first such call. `None` before the first prompt of the session, which belongs to the call that started the session.
    next: Option<usize>,
    /// The message of the first prompt, which may have several parts.
    first: u64,
    /// The last message that a person gave.
    of_person: Option<u64>,
}

impl LaterCalls {
    /// The calls in their order, and whether the parent session was read.
    pub fn new(calls: Vec<ParentCall>, are_known: bool) -> Self {
        LaterCalls {
            calls,
            are_known,
            ..LaterCalls::default()
        }
    }

    /// Who gave the session this prompt, in the message with this key.
    pub fn giver_of(&mut self, message: u64, prompt: Text<'_>) -> Giver {
        let Some(next) = self.next else {
            self.next = Some(0);
            self.first = message;
            return Giver::Start;
        };
        if message == self.first {
            return Giver::Start;
        }
        let prompt = Hash::of_bytes(prompt.comparable().as_bytes());
        match self.calls[next..]
            .iter()
            .position(|call| call.prompt == prompt)
        {
            Some(at) => {
                self.next = Some(next + at + 1);
                Giver::Call(self.calls[next + at].call_id.clone())
            }
            None if self.are_known => {
                self.of_person = Some(message);
                Giver::Person
            }
            None => Giver::Start,
        }
    }

    /// True if a person gave the message with this key.
    pub fn is_of_person(&self, message: u64) -> bool {
        self.of_person == Some(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(of: &[(&str, &str)], are_known: bool) -> LaterCalls {
        let call = |(id, prompt): &(&str, &str)| ParentCall {
            call_id: (*id).to_owned(),
            prompt: Hash::of_bytes(prompt.as_bytes()),
        };
        LaterCalls::new(of.iter().map(call).collect(), are_known)
    }

    #[test]
    fn prompts_get_their_calls_in_order() {
        let mut calls = calls(&[("b", "go on"), ("c", "stop"), ("d", "go on")], true);
        let mut of = |message, prompt| calls.giver_of(message, Text::Plain(prompt));
        assert_eq!(
            of(1, "go on"),
            Giver::Start,
            "the first prompt is that of another call"
        );
        assert_eq!(of(1, "and its second part"), Giver::Start);
        assert_eq!(
            [of(2, "go on"), of(3, "else")],
            [Giver::Call("b".into()), Giver::Person]
        );
        assert_eq!(
            [of(4, "go on"), of(5, "go on")],
            [Giver::Call("d".into()), Giver::Person]
        );
        assert!(calls.is_of_person(5) && !calls.is_of_person(4));
    }

    #[test]
    fn nothing_is_a_person_s_where_the_parent_is_not_known() {
        let mut calls = calls(&[], false);
        assert_eq!(
            [
                calls.giver_of(1, Text::Plain("a")),
                calls.giver_of(2, Text::Plain("b"))
            ],
            [Giver::Start, Giver::Start]
        );
    }
}
