//! What the log has stated about each call.

use crate::gemini::schema::{FunctionResponse, Response};
use engram_core::keys::{KeyMap, hash64};

use crate::shared::value::Value;

/// What the log has stated about each call, by the key of its id.
#[derive(Debug, Default)]
pub(super) struct SeenCalls {
    calls: KeyMap<CallFacts>,
}

#[derive(Debug, Clone, Copy, Default)]
struct CallFacts {
    /// The call itself.
    called: bool,
    /// Its result.
    returned: bool,
    /// The key of the response that the model got, from the call's own result.
    response: Option<u64>,
}

impl SeenCalls {
    /// Notes the call. True if the log stated it before.
    pub(super) fn insert_call(&mut self, call: u64) -> bool {
        std::mem::replace(&mut self.calls.entry(call).or_default().called, true)
    }

    /// Notes the result of the call. True if the log stated it before.
    pub(super) fn insert_result(&mut self, call: u64) -> bool {
        std::mem::replace(&mut self.calls.entry(call).or_default().returned, true)
    }

    /// True if the log has stated the result of the call.
    pub(super) fn has_result(&self, call: u64) -> bool {
        self.calls.get(&call).is_some_and(|facts| facts.returned)
    }

    /// Notes the response in the call's own result.
    pub(super) fn set_response(&mut self, call: u64, response: &FunctionResponse<'_>) {
        self.calls.entry(call).or_default().response = Some(response_key(response));
    }

    /// True if the call's own result has this response.
    pub(super) fn has_response(&self, call: u64, response: &FunctionResponse<'_>) -> bool {
        let key = response_key(response);
        self.calls.get(&call).is_some_and(|facts| facts.response == Some(key))
    }
}

/// A response as eight bytes.
fn response_key(response: &FunctionResponse<'_>) -> u64 {
    let content = Response::lenient_opt(response.response());
    match (content.output(), content.error()) {
        (None, None) => hash64(response.response().map(Value::raw)),
        (output, error) => hash64((output.map(Value::raw), error.map(Value::raw))),
    }
}
