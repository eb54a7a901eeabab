//! The shapes of Codex records: which fields of each type the tape needs.

use crate::kit::value::{Field, Value};
use crate::kit::view::view;

view! {
    /// One line of the envelope form (0.34 and later).
    Line {
        timestamp: "timestamp" Text,
        kind: "type" Text,
        ordinal: "ordinal" Number,
        payload: "payload" Object,
    }
}

view! {
    /// One line of the bare form (0.8 to 0.29): the header, a state line, or a response item.
    Bare {
        kind: "type" Text,
        id: "id" Text,
        timestamp: "timestamp" Text,
        instructions: "instructions" Any,
        git: "git" Object,
        payload: "payload" Any,
    }
}

view! {
    /// `session` of the TypeScript document (0.1).
    SessionHead {
        id: "id" Text,
        timestamp: "timestamp" Text,
        instructions: "instructions" Any,
    }
}

view! {
    /// A message, and a message between agents.
    Message {
        id: "id" Text,
        role: "role" Text,
        author: "author" Text,
        content: "content" List,
        phase: "phase" Text,
    }
}

view! {
    /// One part of a message, of a reasoning, or of an output that is a list.
    Part {
        kind: "type" Text,
        text: "text" Text,
        image_url: "image_url" Text,
    }
}

view! {
    /// A reasoning.
    Reasoning {
        id: "id" Text,
        summary: "summary" List,
        content: "content" List,
        encrypted_content: "encrypted_content" Text,
    }
}

view! {
    /// A call of any kind. Arguments are JSON in a string, or a value.
    Asked {
        id: "id" Text,
        name: "name" Text,
        namespace: "namespace" Text,
        call_id: "call_id" Text,
        arguments: "arguments" Any,
        input: "input" Any,
        action: "action" Any,
    }
}

view! {
    /// The output of a call: a text, or a list of parts. Of a search for tools, what was found.
    Output {
        call_id: "call_id" Text,
        output: "output" Any,
        status: "status" Text,
        tools: "tools" List,
    }
}

view! {
    /// `{"output":"...","metadata":{...}}`: an output of 0.1 to 0.53, and of `apply_patch` up to 0.125.
    Wrapped {
        output: "output" Text,
        metadata: "metadata" Object,
    }
}

view! {
    /// What a [`Wrapped`] output says of the command.
    Metadata {
        exit_code: "exit_code" Any,
        duration_seconds: "duration_seconds" Any,
    }
}

view! {
    /// Where a shell tool's arguments hold the command: a text, or a list of words.
    Command {
        command: "command" Any,
        cmd: "cmd" Any,
    }
}

view! {
    /// A snapshot commit that the harness made of the working tree (0.63 to 0.73).
    GhostCommit {
        id: "id" Text,
    }
}

view! {
    /// An event that says something, or states a fact about the thread.
    Notice {
        message: "message" Text,
        text: "text" Text,
        phase: "phase" Text,
        images: "images" List,
        reason: "reason" Text,
        thread_name: "thread_name" Text,
        num_turns: "num_turns" Number,
        memory_citation: "memory_citation" Object,
        thread_settings: "thread_settings" Object,
        info: "info" Object,
    }
}

view! {
    /// The end of a turn.
    TurnEnd {
        last_agent_message: "last_agent_message" Text,
        error: "error" Object,
    }
}

view! {
    /// What a turn failed with (0.150 and later).
    TurnError {
        message: "message" Text,
        info: "codex_error_info" Any,
    }
}

view! {
    /// An item of the conversation (0.150 and later).
    Spoken {
        id: "id" Text,
        content: "content" List,
        phase: "phase" Text,
        summary_text: "summary_text" List,
        raw_content: "raw_content" List,
    }
}

view! {
    /// What another agent did, or was asked to do.
    AgentActivity {
        id: "id" Text,
        kind: "kind" Text,
        tool: "tool" Text,
        agent_thread_id: "agent_thread_id" Text,
        new_thread_id: "new_thread_id" Text,
        receiver_thread_id: "receiver_thread_id" Text,
        event_id: "event_id" Text,
        call_id: "call_id" Text,
        receiver_thread_ids: "receiver_thread_ids" List,
    }
}

view! {
    /// A call of a tool that the client offers.
    ClientCall {
        call_id: "callId" Text,
        tool: "tool" Text,
        arguments: "arguments" Any,
    }
}

view! {
    /// A look at an image, as an item or as an event.
    ImageView {
        id: "id" Text,
        call_id: "call_id" Text,
        path: "path" Text,
    }
}

view! {
    /// The end of a call, as an item or as an event.
    CallEnd {
        id: "id" Text,
        call_id: "call_id" Text,
        status: "status" Text,
        success: "success" Flag,
        source: "source" Text,
        exit_code: "exit_code" Number,
        duration: "duration" Object,
        aggregated_output: "aggregated_output" Text,
        stdout: "stdout" Text,
        stderr: "stderr" Text,
        command: "command" List,
        changes: "changes" Object,
        server: "server" Text,
        tool: "tool" Text,
        arguments: "arguments" Any,
        invocation: "invocation" Object,
        result: "result" Object,
        content_items: "content_items" List,
        error: "error" Any,
    }
}

view! {
    /// How long a call took.
    Duration {
        secs: "secs" Number,
        nanos: "nanos" Number,
    }
}

impl Duration<'_> {
    /// Whole milliseconds.
    pub fn millis(&self) -> Option<u64> {
        let (secs, nanos) = (self.secs()?.unsigned()?, self.nanos()?.unsigned()?);
        secs.checked_mul(1000)?.checked_add(nanos / 1_000_000)
    }
}

view! {
    /// What an MCP call asked for.
    Invocation {
        server: "server" Text,
        tool: "tool" Text,
        arguments: "arguments" Any,
    }
}

view! {
    /// What an MCP server answered. `mcp_tool_call_end` puts it into `Ok`, or an error text into `Err`.
    McpResult {
        ok: "Ok" Object,
        err: "Err" Text,
        content: "content" List,
        structured: "structuredContent" Any,
        is_error: "isError" Flag,
    }
}

view! {
    /// One file of a patch.
    Change {
        kind: "type" Text,
        content: "content" Text,
        unified_diff: "unified_diff" Text,
        move_path: "move_path" Text,
    }
}

view! {
    /// What a `token_count` event counts.
    TokenInfo {
        last: "last_token_usage" Object,
        total: "total_token_usage" Object,
    }
}

view! {
    /// What a `token_usage_record` counts.
    UsageRecord {
        usage: "usage" Object,
        thread: "thread_token_usage" Object,
    }
}

view! {
    /// Tokens, of one request or of a thread.
    TokenUsage {
        input: "input_tokens" Number,
        cached_input: "cached_input_tokens" Number,
        cache_write_input: "cache_write_input_tokens" Number,
        output: "output_tokens" Number,
        reasoning_output: "reasoning_output_tokens" Number,
        total: "total_tokens" Number,
    }
}

view! {
    /// The header of a session.
    SessionMeta {
        id: "id" Text,
        cwd: "cwd" Text,
        model_provider: "model_provider" Text,
        instructions: "instructions" Any,
        base_instructions: "base_instructions" Object,
        dynamic_tools: "dynamic_tools" Any,
        git: "git" Object,
        /// Who started the session: a word, or an object for a sub-agent.
        source: "source" Any,
        forked_from_id: "forked_from_id" Text,
        parent_thread_id: "parent_thread_id" Text,
        agent_path: "agent_path" Text,
        agent_nickname: "agent_nickname" Text,
        own_from: "subagent_history_start_ordinal" Number,
        history_base: "history_base" Object,
        cli_version: "cli_version" Text,
    }
}

view! {
    /// The repository that the session was started in.
    Git {
        commit_hash: "commit_hash" Text,
        branch: "branch" Text,
        repository_url: "repository_url" Text,
    }
}

view! {
    /// The system prompt (0.92 and later).
    BaseInstructions {
        text: "text" Text,
    }
}

view! {
    /// Where a fork by reference (0.160 and later) takes its history from.
    HistoryBase {
        thread_id: "thread_id" Text,
    }
}

view! {
    /// Who spawned the session, and as what.
    ThreadSpawn {
        parent_thread_id: "parent_thread_id" Text,
        agent_path: "agent_path" Text,
        agent_nickname: "agent_nickname" Text,
    }
}

/// Who spawned a session, if `source` says that an agent did.
pub(super) fn spawned(source: Field<'_>) -> Option<ThreadSpawn<'_>> {
    source?.member("subagent")?.member("thread_spawn").map(ThreadSpawn::of)
}

view! {
    /// What a turn or a thread works with from here on.
    Settings {
        cwd: "cwd" Text,
        model: "model" Text,
        model_provider_id: "model_provider_id" Text,
        user_instructions: "user_instructions" Text,
        developer_instructions: "developer_instructions" Text,
        collaboration_mode: "collaboration_mode" Object,
    }
}

impl<'a> Settings<'a> {
    /// What the mode of the turn brings along.
    pub fn mode_instructions(&self) -> Field<'a> {
        self.collaboration_mode()?.member("settings")?.member("developer_instructions")
    }
}

/// The elements of a list that may be absent.
pub(super) fn elements<'a>(list: Field<'a>) -> impl Iterator<Item = Value<'a>> {
    list.into_iter().flat_map(Value::elements)
}
