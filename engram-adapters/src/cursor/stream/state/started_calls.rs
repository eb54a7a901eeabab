//! Calls that were started and are not completed.

use crate::cursor::tool_calls::payload::CallRecord;
use crate::shared::pending_calls::PendingCalls;
use crate::shared::value::Value;
use engram_core::keys::hash64;

/// The started calls of a capture.
#[derive(Default)]
pub(in crate::cursor::stream) struct StartedCalls {
    open: PendingCalls<StartedCall>,
}

struct StartedCall {
    args_hash: Option<u64>,
    requests_line_numbers: bool,
}

impl StartedCalls {
    /// Adds a call.
    pub(in crate::cursor::stream) fn start(&mut self, call: &CallRecord<'_>) {
        let args_hash = call.payload.args().map(|args| hash64(args.raw()));
        let started = StartedCall {
            args_hash,
            requests_line_numbers: call.payload.requests_line_numbers(),
        };
        self.open.open(call.call_id.decode_lossy(), started);
    }

    /// The arguments as JSON, if they differ from those with which the call was started.
    pub(in crate::cursor::stream) fn changed_args<'a>(
        &self,
        call: &CallRecord<'a>,
    ) -> Option<&'a str> {
        let args = call.payload.args().map(Value::raw)?;
        let started = self.open.get(call.call_id.decode_lossy())?;
        (started.args_hash != Some(hash64(args))).then_some(args)
    }

    /// True if the call requested line numbers in the content that it reads.
    pub(in crate::cursor::stream) fn requests_line_numbers(&self, call: &CallRecord<'_>) -> bool {
        self.open
            .get(call.call_id.decode_lossy())
            .is_some_and(|started| started.requests_line_numbers)
    }

    /// Removes a call.
    pub(in crate::cursor::stream) fn complete(&mut self, call: &CallRecord<'_>) {
        self.open.close(call.call_id.decode_lossy());
    }
}
