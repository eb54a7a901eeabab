//! The views of the objects that the adapter reads. Generated from `members/*.members` (`ENGRAM_BLESS=1` with the unit tests writes
//! it). Do not edit it.

use crate::shared::view::view;

view! {
    /// One line of the envelope form (0.34 and later).
    Line {
        timestamp: "timestamp" String,
        kind: "type" String,
        ordinal: "ordinal" Number,
        payload: "payload" Object,
    }
}

view! {
    /// One line of the bare form (0.8 to 0.29): the header, a state line, or a response item.
    Bare {
        kind: "type" String,
        id: "id" String,
        timestamp: "timestamp" String,
        instructions: "instructions" Any,
        git: "git" Object,
    }
}

view! {
    /// `session` of the TypeScript document (0.1).
    SessionHead {
        id: "id" String,
        timestamp: "timestamp" String,
        instructions: "instructions" String,
    }
}

view! {
    /// A message, and a message between agents.
    Message {
        id: "id" String,
        role: "role" String,
        author: "author" String,
        content: "content" Array,
        phase: "phase" String,
        /// What the harness notes about the parts (0.150 and later).
        notes: "internal_chat_message_metadata_passthrough" Object,
    }
}

view! {
    /// One part of a message, of a reasoning, or of an output that is a list.
    Part {
        kind: "type" String,
        text: "text" String,
        image_url: "image_url" String,
    }
}

view! {
    /// A reasoning.
    Reasoning {
        id: "id" String,
        summary: "summary" Array,
        content: "content" Array,
        encrypted_content: "encrypted_content" String,
    }
}

view! {
    /// A call of any kind. Arguments are JSON in a string, or a value.
    Call {
        id: "id" String,
        name: "name" String,
        namespace: "namespace" String,
        call_id: "call_id" String,
        arguments: "arguments" Any,
        input: "input" Any,
        action: "action" Any,
    }
}

view! {
    /// The output of a call: a text or a list of parts. For a search for tools, the tools that were found.
    Output {
        /// Of an output without a call.
        name: "name" String,
        call_id: "call_id" String,
        output: "output" Any,
        status: "status" String,
        tools: "tools" Array,
    }
}

view! {
    /// `{"output":"...","metadata":{...}}`: an output of 0.1 to 0.53, and of `apply_patch` up to 0.131.
    WrappedOutput {
        output: "output" String,
        metadata: "metadata" Object,
    }
}

view! {
    /// The exit facts of a [`WrappedOutput`].
    Metadata {
        exit_code: "exit_code" Number,
        duration_seconds: "duration_seconds" Number,
    }
}

view! {
    /// The command in a shell tool's arguments: a text or a list of words.
    Command {
        command: "command" Any,
        cmd: "cmd" String,
        workdir: "workdir" String,
    }
}

view! {
    /// A snapshot commit that the harness made of the working tree (0.63 to 0.73).
    GhostCommit {
        id: "id" String,
    }
}

view! {
    /// An event with a text, or with a fact about the thread.
    Notice {
        message: "message" String,
        text: "text" String,
        phase: "phase" String,
        images: "images" Array,
        reason: "reason" String,
        prompt_kind: "kind" String,
        thread_name: "thread_name" String,
        num_turns: "num_turns" Number,
        memory_citation: "memory_citation" Object,
        thread_settings: "thread_settings" Object,
        info: "info" Object,
    }
}

view! {
    /// The end of a turn.
    TurnEnd {
        last_agent_message: "last_agent_message" String,
        error: "error" Object,
    }
}

view! {
    /// The error that ended a turn (0.150 and later).
    TurnError {
        message: "message" String,
        info: "codex_error_info" Any,
    }
}

view! {
    /// A message or reasoning as a completed item (0.150 and later).
    MessageItem {
        id: "id" String,
        /// Of a plan.
        text: "text" String,
        /// Of the prompt of a hook.
        fragments: "fragments" Array,
        content: "content" Array,
        phase: "phase" String,
        summary_text: "summary_text" Array,
        raw_content: "raw_content" Array,
    }
}

view! {
    /// An action of another agent, or a request to it.
    AgentActivity {
        id: "id" String,
        kind: "kind" String,
        tool: "tool" String,
        agent_thread_id: "agent_thread_id" String,
        new_thread_id: "new_thread_id" String,
        receiver_thread_id: "receiver_thread_id" String,
        event_id: "event_id" String,
        call_id: "call_id" String,
        receiver_thread_ids: "receiver_thread_ids" Array,
    }
}

view! {
    /// A call of a tool that the client offers.
    ClientCall {
        call_id: "callId" String,
        namespace: "namespace" String,
        tool: "tool" String,
        arguments: "arguments" Any,
    }
}

view! {
    /// A sleep of the agent, as an item.
    Sleep {
        id: "id" String,
        duration_ms: "duration_ms" Number,
    }
}

view! {
    /// A viewed image, as an item or as an event.
    ImageView {
        id: "id" String,
        call_id: "call_id" String,
        path: "path" String,
    }
}

view! {
    /// The end of a call, as an item or as an event.
    CallEnd {
        id: "id" String,
        call_id: "call_id" String,
        status: "status" String,
        success: "success" Bool,
        source: "source" String,
        exit_code: "exit_code" Number,
        duration: "duration" Object,
        aggregated_output: "aggregated_output" String,
        stdout: "stdout" String,
        stderr: "stderr" String,
        command: "command" Array,
        changes: "changes" Object,
        server: "server" String,
        tool: "tool" String,
        namespace: "namespace" String,
        arguments: "arguments" Any,
        cwd: "cwd" String,
        invocation: "invocation" Object,
        result: "result" Object,
        content_items: "content_items" Array,
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

view! {
    /// The tool and arguments of an MCP call.
    Invocation {
        server: "server" String,
        tool: "tool" String,
        arguments: "arguments" Any,
    }
}

view! {
    /// The answer of an MCP server. `mcp_tool_call_end` wraps it in `Ok`, or an error text in `Err`.
    McpResult {
        ok: "Ok" Object,
        err: "Err" String,
        content: "content" Array,
        structured: "structuredContent" Any,
        is_error: "isError" Bool,
    }
}

view! {
    /// One file of a patch.
    Change {
        kind: "type" String,
        content: "content" String,
        unified_diff: "unified_diff" String,
        move_path: "move_path" String,
    }
}

view! {
    /// The counts of a `token_count` event.
    TokenInfo {
        last: "last_token_usage" Object,
        total: "total_token_usage" Object,
    }
}

view! {
    /// The counts of a `token_usage_record`.
    UsageRecord {
        response_id: "response_id" String,
        usage: "usage" Object,
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
        id: "id" String,
        cwd: "cwd" String,
        model_provider: "model_provider" String,
        instructions: "instructions" Any,
        base_instructions: "base_instructions" Object,
        dynamic_tools: "dynamic_tools" Any,
        git: "git" Object,
        /// Who started the session: a string, or an object for a sub-agent.
        source: "source" Any,
        forked_from_id: "forked_from_id" String,
        parent_thread_id: "parent_thread_id" String,
        agent_path: "agent_path" String,
        agent_nickname: "agent_nickname" String,
        own_from: "subagent_history_start_ordinal" Number,
        history_base: "history_base" Object,
        cli_version: "cli_version" String,
    }
}

view! {
    /// The repository that the session was started in.
    Git {
        commit_hash: "commit_hash" String,
        branch: "branch" String,
        repository_url: "repository_url" String,
    }
}

view! {
    /// The system prompt (0.92 and later).
    BaseInstructions {
        text: "text" String,
    }
}

view! {
    /// The thread whose history a fork by reference (0.160 and later) continues.
    HistoryBase {
        thread_id: "thread_id" String,
        /// The first ordinal that is not continued.
        end_ordinal: "end_ordinal_exclusive" Number,
    }
}

view! {
    /// The thread that spawned the session, and the agent's name.
    ThreadSpawn {
        parent_thread_id: "parent_thread_id" String,
        agent_path: "agent_path" String,
        agent_nickname: "agent_nickname" String,
    }
}

view! {
    /// The settings of a turn or a thread from this record on.
    Settings {
        cwd: "cwd" String,
        model: "model" String,
        approval_policy: "approval_policy" Any,
        effort: "effort" String,
        reasoning_effort: "reasoning_effort" String,
        model_provider_id: "model_provider_id" String,
        user_instructions: "user_instructions" String,
        developer_instructions: "developer_instructions" String,
        collaboration_mode: "collaboration_mode" Object,
    }
}

view! {
    /// The first line.
    PrintedSettings {
        model: "model" String,
        provider: "provider" String,
        workdir: "workdir" String,
        approval: "approval" String,
        effort: "reasoning effort" String,
    }
}

view! {
    /// An event.
    PrintedEvent {
        call_id: "call_id" String,
        message: "message" String,
        text: "text" String,
        command: "command" Array,
        changes: "changes" Object,
        query: "query" String,
        invocation: "invocation" Object,
    }
}

view! {
    /// A memory that an answer cites.
    Citation {
        path: "path" String,
        line_start: "line_start" Number,
        line_end: "line_end" Number,
        note: "note" String,
    }
}

view! {
    /// A web search, as an event or a response item.
    WebSearch {
        id: "id" String,
        call_id: "call_id" String,
        status: "status" String,
        action: "action" Object,
        query: "query" String,
        results: "results" Array,
    }
}

view! {
    /// A generated image, as an event or a response item.
    GeneratedImage {
        id: "id" String,
        call_id: "call_id" String,
        revised_prompt: "revised_prompt" String,
        result: "result" String,
        saved_path: "saved_path" String,
    }
}

view! {
    /// The beginning of a review.
    Review {
        target: "target" Object,
        prompt: "prompt" String,
        user_facing_hint: "user_facing_hint" String,
    }
}

view! {
    /// The review of a call that needs approval.
    ApprovalReview {
        status: "status" String,
        rationale: "rationale" String,
        target_item_id: "target_item_id" String,
        action: "action" Object,
    }
}
