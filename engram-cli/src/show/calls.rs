//! Calls and texts of events as values of a view.

use engram_core::event::ToolCall;
use engram_core::text::Text;

use super::arguments::Arguments;
use super::view::Call;

/// A call with a name and nothing else.
pub fn new_call(tool: String) -> Call {
    let (summary, arguments, diffs) = (None, Vec::new(), Vec::new());
    Call {
        tool,
        call_id: None,
        summary,
        arguments,
        diffs,
        result: None,
        effects: Vec::new(),
        spans: Vec::new(),
        agents: Vec::new(),
    }
}

/// The call of an event.
pub fn call(call: &ToolCall<'_>) -> Call {
    let Arguments {
        summary,
        named,
        diffs,
    } = Arguments::read(call.args, call.kind);
    let tool = match call.server {
        Some(server) => format!("{} ({})", owned(call.tool), owned(server)),
        None => owned(call.tool),
    };
    Call {
        call_id: call.call_id.map(owned),
        summary,
        arguments: named,
        diffs,
        ..new_call(tool)
    }
}

/// The text of an event.
pub fn owned(text: Text<'_>) -> String {
    text.decode_lossy().into_owned()
}
