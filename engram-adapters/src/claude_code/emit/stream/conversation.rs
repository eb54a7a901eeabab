//! `assistant` and `user` lines. Their messages are those of a transcript.

use engram_core::keys::hash64;
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;

use super::line::{StreamRecord, StreamState};
use crate::claude_code::authors::is_whole_command_output;
use crate::claude_code::emit;
use crate::claude_code::readers::Block;
use crate::shared::value::{Value, non_empty_text, text};

/// Tools by which the model starts a slash command.
const COMMAND_TOOLS: &[&str] = &["SlashCommand", "Skill"];

/// `assistant`: one block of a message.
pub(super) fn assistant(
    state: &mut StreamState,
    stream: &StreamRecord<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let texts = stream
        .record
        .message
        .content()
        .into_iter()
        .flat_map(Value::elements)
        .map(Block::lenient);
    if stream.record.agent.is_none()
        && let Some(text) = texts
            .filter_map(|block| non_empty_text(block.text()))
            .last()
    {
        state.last_text = Some(hash64(text.raw()));
    }
    emit::assistant::assistant(&mut state.session, &stream.record, out)
}

/// `user`: a tool result, the prompt of a sub-agent, or a text of the harness. What a person typed is printed only on demand.
pub(super) fn user(
    state: &mut StreamState,
    stream: &StreamRecord<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    // The command before its output is not printed.
    let is_output = text(stream.record.message.content()).is_some_and(is_whole_command_output);
    state.session.words.follows_command = is_output;
    let starts_command = starts_command(state, stream);
    let outcome = emit::user::user(&mut state.session, &stream.record, out);
    state.session.words.is_next_launched = starts_command;
    outcome
}

/// True if the line has the result of a call by which the model starts a slash command.
fn starts_command(state: &StreamState, stream: &StreamRecord<'_>) -> bool {
    let blocks = stream
        .record
        .message
        .content()
        .into_iter()
        .flat_map(Value::elements)
        .map(Block::lenient);
    let calls = blocks.filter_map(|block| text(block.tool_use_id()));
    calls
        .filter_map(|call| state.session.calls.tool(hash64(call.raw())))
        .any(|tool| COMMAND_TOOLS.contains(&tool))
}
