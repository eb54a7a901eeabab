//! One call of a turn, as the handlers of its result get it.

use engram_core::emit::Pointer;
use engram_core::text::Text;

use super::file_changes::Change;
use crate::gemini::schema::Call;
use crate::gemini::state::dedup::CallKey;

/// One call of a turn, as the handlers of its result get it.
pub(super) struct CallRecord<'r> {
    pub call: &'r Call<'r>,
    /// Which call it is, if it has an id.
    pub key: Option<CallKey>,
    /// The log has not stated the call before.
    pub is_new: bool,
    pub tool: Text<'r>,
    /// What the call reports to have changed.
    pub change: Option<&'r Change<'r>>,
    /// The place of the turn's list of calls.
    pub path: &'r str,
    /// The index of the call in the list.
    pub n: usize,
}

impl CallRecord<'_> {
    /// The place of the call.
    pub(super) fn pointer(&self) -> Pointer<'_> {
        Pointer::Item(self.path, self.n)
    }

    /// The place of a field of the call.
    pub(super) fn field(&self, field: &'static str) -> Pointer<'_> {
        Pointer::Field(self.path, self.n, field)
    }
}
