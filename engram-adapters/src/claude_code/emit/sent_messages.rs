//! `api-request-blob` lines: messages as they were sent to the model. The conversation has them, unless its own lines are lost.

use engram_core::emit::Pointer;
use engram_core::event::{Status, ToolCall, ToolResult};
use engram_core::keys::hash64;
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use super::results::result_text::joined_text;
use crate::claude_code::blocks::CONTENT;
use crate::claude_code::emit::state::State;
use crate::claude_code::emit::state::open_calls::Call;
use crate::claude_code::format::{LineKind, rule};
use crate::claude_code::readers::Block;
use crate::claude_code::record::Record;
use crate::shared::value::{Value, is_true, text};

/// `api-request-blob`: emits the calls and results whose own lines are lost.
pub(super) fn sent_message(
    state: &mut State,
    record: &Record<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let mut outcome = Outcome::Duplicate {
        record: LineKind::ApiRequestBlob.name(),
        rule: rule::REQUEST_BLOB,
    };
    if state.plan.lost.is_empty() {
        return outcome;
    }
    for (index, value) in record
        .message
        .content()
        .into_iter()
        .flat_map(Value::elements)
        .enumerate()
    {
        if state.plan.lost.contains(&(record.at, index)) {
            lost_part(state, &Block::lenient(value), index, out);
            outcome = Outcome::Mapped;
        }
    }
    outcome
}

/// A call or a result.
#[cold]
fn lost_part(state: &mut State, block: &Block<'_>, index: usize, out: &mut Emitter<'_>) {
    let pointer = Pointer::Item(CONTENT, index);
    if let (Some(id), Some(tool)) = (text(block.id()), text(block.name())) {
        let call = Call::new(id, &tool.decode_lossy(), block.input(), false);
        let kind = call.kind;
        state.calls.open(hash64(id.raw()), call);
        out.emit(
            ToolCall {
                call_id: Some(id),
                args: block.input().map(Value::raw),
                ..ToolCall::new(tool, kind)
            },
            pointer,
        );
        return;
    }
    let call_id = text(block.tool_use_id());
    let call = call_id.and_then(|id| state.calls.close(hash64(id.raw())));
    let mut buffer = String::new();
    let content = match block.content() {
        Some(list) if list.is_array() => joined_text(list, &mut buffer),
        content => text(content),
    };
    let status = if is_true(block.is_error()) {
        Status::Error
    } else {
        Status::Ok
    };
    let (stdout, stderr) = if status == Status::Ok {
        (content, None)
    } else {
        (None, content)
    };
    let tool = call.as_ref().map(|call| Text::Plain(&call.tool));
    out.emit(
        ToolResult {
            tool,
            call_id,
            status: Some(status),
            stdout,
            stderr,
            ..ToolResult::default()
        },
        pointer,
    );
}
