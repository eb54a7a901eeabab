//! The inputs of open calls: the payload of a result has the input again, and it may be another one.

use std::collections::HashMap;

use engram_core::keys::hash64;

use crate::cursor::fields::decoded_non_empty;
use crate::cursor::readers::Payload;
use crate::shared::value::{Field, Value};

/// The most calls whose inputs are kept.
const MAX_OPEN: usize = 4096;

/// Hashes of the inputs of open calls, by hashes of the calls' ids.
#[derive(Default)]
pub(super) struct CallInputs(HashMap<u64, u64>);

impl CallInputs {
    /// Notes the input of a call that is on the tape.
    pub(super) fn begin(&mut self, payload: &Payload<'_>) {
        if let Some(id) = decoded_non_empty(payload.tool_use_id())
            && self.0.len() < MAX_OPEN
        {
            self.0.insert(hash64(&*id), hash_of(payload.tool_input()));
        }
    }

    /// True if a payload has another input than its call on the tape. True also if the input of the call is forgotten: the tape may have a
    /// fact twice, but must not lack it.
    pub(super) fn differs(&self, payload: &Payload<'_>) -> bool {
        let Some(id) = decoded_non_empty(payload.tool_use_id()) else {
            return false;
        };
        payload.tool_input().is_some()
            && self.0.get(&hash64(&*id)) != Some(&hash_of(payload.tool_input()))
    }

    /// Ends a call.
    pub(super) fn end(&mut self, payload: &Payload<'_>) {
        if let Some(id) = decoded_non_empty(payload.tool_use_id()) {
            self.0.remove(&hash64(&*id));
        }
    }
}

/// The largest input, in bytes, whose members are put in order.
const MAX_SORTED_BYTES: usize = 1 << 20;

/// The hash of a value. White space and the order of members do not matter in a value of the usual size.
fn hash_of(input: Field<'_>) -> u64 {
    if let Some(large) = input.filter(|input| input.raw().len() > MAX_SORTED_BYTES) {
        return hash64(large.raw());
    }
    let value = input
        .map(Value::raw)
        .and_then(|raw| serde_json::from_str::<serde_json::Value>(raw).ok());
    hash64(value.unwrap_or_default().to_string())
}
