//! The calls of the parent session that gave a child session further prompts.

use engram_core::adapter::ParentCall;
use engram_core::hash::Hash;
use engram_core::text::Text;

use crate::shared::restorable::Restorable;

/// Calls that no prompt of the session was assigned to yet.
#[derive(Default)]
pub struct LaterCalls {
    calls: Vec<ParentCall>,
    /// The index of the first one. `None` before the session's first prompt, which is that of the call that started it.
    next: Restorable<Option<usize>>,
}

impl LaterCalls {
    /// The calls in their order.
    pub fn new(calls: Vec<ParentCall>) -> Self {
        LaterCalls { calls, next: Restorable::default() }
    }

    /// The id of the call that gave the session this prompt. `None` for its first prompt, and if no call has the text.
    pub fn call_of(&mut self, prompt: Text<'_>) -> Option<String> {
        if self.calls.is_empty() {
            return None;
        }
        let Some(next) = *self.next else {
            self.next.set(Some(0));
            return None;
        };
        let prompt = Hash::of_bytes(prompt.comparable().as_bytes());
        let at = next + self.calls[next..].iter().position(|call| call.prompt == prompt)?;
        self.next.set(Some(at + 1));
        Some(self.calls[at].call_id.clone())
    }

    /// The record is converted: its calls stay assigned.
    pub fn commit(&mut self) {
        self.next.commit();
    }

    /// The record is malformed: its calls are open again.
    pub fn roll_back(&mut self) {
        self.next.roll_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_get_their_calls_in_order() {
        let call = |id: &str, prompt: &str| ParentCall { call_id: id.to_owned(), prompt: Hash::of_bytes(prompt.as_bytes()) };
        let mut calls = LaterCalls::new(vec![call("b", "go on"), call("c", "stop"), call("d", "go on")]);
        let mut of = |prompt| calls.call_of(Text::Plain(prompt));
        assert_eq!(of("go on"), None, "the first prompt is that of another call");
        assert_eq!([of("go on"), of("else"), of("go on"), of("go on")], [Some("b".into()), None, Some("d".into()), None]);
    }

    #[test]
    fn a_malformed_record_assigns_nothing() {
        let mut calls = LaterCalls::new(vec![ParentCall { call_id: "b".into(), prompt: Hash::of_bytes(b"go on") }]);
        calls.call_of(Text::Plain("first"));
        calls.commit();
        assert!(calls.call_of(Text::Plain("go on")).is_some());
        calls.roll_back();
        assert!(calls.call_of(Text::Plain("go on")).is_some());
    }
}
