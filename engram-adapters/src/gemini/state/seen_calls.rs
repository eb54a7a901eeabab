//! What the log has stated about each call.

use crate::gemini::schema::{FunctionResponse, Response};
use engram_core::keys::hash64;

use crate::shared::restorable::RestorableMap;
use crate::shared::value::Value;

/// What the log has stated about each call, by the key of its id.
#[derive(Debug, Default)]
pub(super) struct SeenCalls {
    calls: RestorableMap<CallFacts>,
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
        let facts = self.calls.get(call).unwrap_or_default();
        if !facts.called {
            self.calls.insert(call, CallFacts { called: true, ..facts });
        }
        facts.called
    }

    /// Notes the result of the call. True if the log stated it before.
    pub(super) fn insert_result(&mut self, call: u64) -> bool {
        let facts = self.calls.get(call).unwrap_or_default();
        if !facts.returned {
            self.calls.insert(call, CallFacts { returned: true, ..facts });
        }
        facts.returned
    }

    /// True if the log has stated the result of the call.
    pub(super) fn has_result(&self, call: u64) -> bool {
        self.calls.get(call).is_some_and(|facts| facts.returned)
    }

    /// Notes the response in the call's own result.
    pub(super) fn set_response(&mut self, call: u64, response: &FunctionResponse<'_>) {
        let facts = self.calls.get(call).unwrap_or_default();
        self.calls.insert(call, CallFacts { response: Some(response_key(response)), ..facts });
    }

    /// True if the call's own result has this response.
    pub(super) fn has_response(&self, call: u64, response: &FunctionResponse<'_>) -> bool {
        let key = response_key(response);
        self.calls.get(call).is_some_and(|facts| facts.response == Some(key))
    }

    /// The record is converted: its facts stay.
    pub(super) fn commit(&mut self) {
        self.calls.commit();
    }

    /// The record is malformed: its facts are forgotten.
    pub(super) fn roll_back(&mut self) {
        self.calls.roll_back();
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
