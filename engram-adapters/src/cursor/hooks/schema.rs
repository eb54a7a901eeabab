//! The fields of hook payloads.

use std::ops::Deref;

use engram_core::steps::Lookup;

use crate::shared::view::view;

view! {
    /// The fields of all hook steps (SDK 1.0.32; `preCompact` also from the command line 2026.10.01).
    Payload {
        hook_event_name: "hook_event_name" Any,
        conversation_id: "conversation_id" Any,
        /// The turn, or for some steps the conversation again. All steps of a call have the same.
        generation_id: "generation_id" Any,
        cursor_version: "cursor_version" Any,
        model: "model" Any,
        /// The model by its id. `model` may be a name for people, or a placeholder.
        model_id: "model_id" Any,
        mcp_server_name: "mcp_server_name" Any,
        url: "url" Any,
        workspace_roots: "workspace_roots" Array,
        transcript_path: "transcript_path" Any,
        composer_mode: "composer_mode" Any,
        prompt: "prompt" Any,
        attachments: "attachments" Array,
        text: "text" Any,
        tool_name: "tool_name" Any,
        tool_input: "tool_input" Any,
        tool_use_id: "tool_use_id" Any,
        tool_output: "tool_output" Any,
        result_json: "result_json" Any,
        duration: "duration" Any,
        error_message: "error_message" Any,
        failure_type: "failure_type" Any,
        is_interrupt: "is_interrupt" Any,
        command: "command" Any,
        output: "output" Any,
        file_path: "file_path" Any,
        content: "content" Any,
        edits: "edits" Any,
        trigger: "trigger" Any,
        status: "status" Any,
        input_tokens: "input_tokens" Any,
        output_tokens: "output_tokens" Any,
        cache_read_tokens: "cache_read_tokens" Any,
        cache_write_tokens: "cache_write_tokens" Any,
        subagent_id: "subagent_id" Any,
        subagent_type: "subagent_type" Any,
        subagent_model: "subagent_model" Any,
        task: "task" Any,
        summary: "summary" Any,
        agent_transcript_path: "agent_transcript_path" Any,
        parent_conversation_id: "parent_conversation_id" Any,
        tool_call_id: "tool_call_id" Any,
        git_branch: "git_branch" Any,
    }
}

/// A payload, and its place in the log.
pub(super) struct Step<'a> {
    pub(super) payload: Payload<'a>,
    /// The number of its record.
    pub(super) number: usize,
    /// The other records.
    pub(super) others: Lookup<'a>,
}

impl<'a> Deref for Step<'a> {
    type Target = Payload<'a>;

    fn deref(&self) -> &Payload<'a> {
        &self.payload
    }
}
