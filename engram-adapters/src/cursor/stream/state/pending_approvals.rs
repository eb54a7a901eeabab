//! Questions to the user without a call or an answer yet.

use engram_core::emit::{KeptText, RecordLocation};
use engram_core::text::Text;

/// The most questions whose arguments are kept.
const MAX_UNCLAIMED: usize = 256;

/// The open questions of a capture.
#[derive(Default)]
pub(in crate::cursor::stream) struct PendingApprovals {
    unclaimed: Vec<UnclaimedArgs>,
    /// Number and call id of the last question. Its response names only the number.
    last_question: Option<(u64, String)>,
}

/// The arguments of a question, until a call has them.
pub(in crate::cursor::stream) struct UnclaimedArgs {
    /// The question's record.
    pub(in crate::cursor::stream) location: RecordLocation,
    /// The call's id, or empty.
    pub(in crate::cursor::stream) call_id: String,
    /// The type of the question.
    pub(in crate::cursor::stream) name: String,
    /// The arguments as JSON.
    pub(in crate::cursor::stream) args: KeptText,
}

impl PendingApprovals {
    /// True if the arguments of another question can be kept.
    pub(in crate::cursor::stream) fn has_room(&self) -> bool {
        self.unclaimed.len() < MAX_UNCLAIMED
    }

    /// Keeps the arguments of a question.
    pub(in crate::cursor::stream) fn keep(&mut self, args: UnclaimedArgs) {
        self.unclaimed.push(args);
    }

    /// Drops the arguments of questions about this call: the call itself has them.
    pub(in crate::cursor::stream) fn claim(&mut self, call_id: Text<'_>) {
        if !self.unclaimed.is_empty() {
            let call_id = call_id.decode_lossy();
            self.unclaimed.retain(|args| args.call_id != call_id);
        }
    }

    /// The arguments that no call has, in the order of their questions.
    pub(in crate::cursor::stream) fn drain_unclaimed(&mut self) -> impl Iterator<Item = UnclaimedArgs> {
        self.unclaimed.drain(..)
    }

    /// Notes the last question.
    pub(in crate::cursor::stream) fn set_last_question(&mut self, id: Option<u64>, call_id: String) {
        self.last_question = id.map(|id| (id, call_id));
    }

    /// The call of the last question, if the question has this number and named a call.
    pub(in crate::cursor::stream) fn call_of_last_question(&self, id: Option<u64>) -> Option<&str> {
        let (last, call_id) = self.last_question.as_ref()?;
        (Some(*last) == id && !call_id.is_empty()).then_some(call_id)
    }
}
