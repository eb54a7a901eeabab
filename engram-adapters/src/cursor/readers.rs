//! The views of the objects that the adapter reads. Generated from `members/*.members` (`ENGRAM_BLESS=1` with the unit tests writes
//! it). Do not edit it.

use crate::shared::view::view;

view! {
    /// The fields that distinguish Cursor's line formats from each other and from those of other harnesses.
    MarkLine {
        kind: "type" Any,
        subtype: "subtype" Any,
        role: "role" Any,
        message: "message" Any,
        agent_id: "agent_id" Any,
        run_id: "run_id" Any,
        agent: "agent" Object,
        status: "status" Any,
        session_id: "session_id" Any,
        timestamp_ms: "timestamp_ms" Number,
        call_id: "call_id" Any,
        tool_call: "tool_call" Object,
        request_id: "request_id" Any,
        duration_api_ms: "duration_api_ms" Any,
        uuid: "uuid" Any,
        hook_event_name: "hook_event_name" Any,
        conversation_id: "conversation_id" Any,
        generation_id: "generation_id" Any,
        cursor_version: "cursor_version" Any,
        store: "store" Any,
        meta: "meta" Object,
        id: "id" Any,
        composer: "composer" Object,
        bubble: "bubble" Object,
        camel_session_id: "sessionId" Any,
    }
}

view! {
    /// A message, or a record about the whole transcript.
    TranscriptLine {
        kind: "type" Any,
        role: "role" Any,
        message: "message" Object,
        status: "status" Any,
        error: "error" Any,
        metadata: "metadata" Object,
    }
}

view! {
    /// The content of a message: a text, or parts.
    TranscriptMessage {
        content: "content" Any,
    }
}

view! {
    /// A text, reasoning, or a call.
    TranscriptPart {
        kind: "type" Any,
        text: "text" Any,
        thinking: "thinking" Any,
        name: "name" Any,
        input: "input" Any,
    }
}

view! {
    /// The members beside the document's list.
    DocumentHead {
        turn_ended: "turnEnded" Object,
    }
}

view! {
    /// A message of any role: a prompt, an answer with its calls, or the name of a tool that returned.
    DocumentMessage {
        role: "role" Any,
        text: "text" Any,
        thinking: "thinking" Any,
        tool_calls: "toolCalls" Array,
        tool_result: "toolResult" Object,
    }
}

view! {
    /// A call. Its arguments are text if the transcript was text.
    DocumentCall {
        tool_name: "toolName" Any,
        args: "args" Any,
    }
}

view! {
    /// The arguments of `Write`, `StrReplace` and `Delete` (SDK 1.0.32, real transcripts of 2026).
    FileArgs {
        path: "path" String,
        contents: "contents" String,
        old_string: "old_string" String,
        new_string: "new_string" String,
        patch: "patch" String,
    }
}

view! {
    /// A message of any type (SDK 1.0.9 to 1.0.36).
    SdkMessage {
        kind: "type" Any,
        agent_id: "agent_id" Any,
        request_id: "request_id" Any,
        status: "status" Any,
        message: "message" Object,
        text: "text" Any,
        call_id: "call_id" Any,
        name: "name" Any,
        args: "args" Any,
        result: "result" Object,
        usage: "usage" Object,
    }
}

view! {
    /// A message of the user or the agent.
    SdkContent {
        content: "content" Array,
    }
}

view! {
    /// One part of a message.
    SdkPart {
        kind: "type" Any,
        text: "text" Any,
    }
}

view! {
    /// The result of a call: how it ended, and what it returned.
    SdkResult {
        status: "status" Any,
        value: "value" Any,
        error: "error" Any,
    }
}

view! {
    /// The fields of returned values for which the tape has a place.
    SdkReturned {
        exit_code: "exitCode" Number,
        stdout: "stdout" String,
        stderr: "stderr" String,
        execution_time: "executionTime" Number,
        content: "content" Any,
        total_lines: "totalLines" Number,
        diff_string: "diffString" String,
        lines_added: "linesAdded" Number,
        lines_removed: "linesRemoved" Number,
        is_error: "isError" Bool,
        message: "message" String,
    }
}

view! {
    /// A line of an opened run store.
    RunStoreLine {
        store: "store" Any,
        agent: "agent" Object,
        run: "run" Object,
        event: "event" Object,
    }
}

view! {
    /// An agent: one conversation.
    Agent {
        agent_id: "agentId" Any,
        cwd: "cwd" Any,
        name: "name" Any,
        created_at: "createdAt" Any,
    }
}

view! {
    /// A run: what the agent did about one prompt.
    Run {
        run_id: "runId" Any,
        request_id: "requestId" Any,
        status: "status" Any,
        /// A name, or an object with it.
        model: "model" Any,
        error: "error" Any,
        usage: "usage" Object,
        result: "result" Any,
        created_at: "createdAt" Any,
        updated_at: "updatedAt" Any,
        started_at: "startedAt" Any,
        finished_at: "finishedAt" Any,
        ended_at: "endedAt" Any,
        cancelled_at: "cancelledAt" Any,
        expired_at: "expiredAt" Any,
    }
}

view! {
    /// An event of a run.
    RunEvent {
        run_id: "runId" Any,
        seq: "seq" Any,
        payload: "payload" Object,
        created_at: "createdAt" Any,
    }
}

view! {
    /// Tokens of a run. Its input is without what came from the cache or went to it: the total is the sum of all four.
    RunUsage {
        input_tokens: "inputTokens" Number,
        output_tokens: "outputTokens" Number,
        cache_read_tokens: "cacheReadTokens" Number,
        cache_write_tokens: "cacheWriteTokens" Number,
    }
}

view! {
    /// A line of any type.
    CaptureLine {
        kind: "type" Any,
        subtype: "subtype" Any,
        session_id: "session_id" Any,
        timestamp_ms: "timestamp_ms" Any,
        /// The model call that a message belongs to, if a tool call follows the message.
        model_call_id: "model_call_id" Any,
        message: "message" Object,
        text: "text" Any,
        call_id: "call_id" Any,
        tool_call: "tool_call" Object,
        model: "model" Any,
        cwd: "cwd" Any,
        endpoint_url: "endpoint_url" Any,
        is_error: "is_error" Any,
        result: "result" Any,
        error: "error" Any,
        usage: "usage" Object,
        query_type: "query_type" Any,
        query: "query" Any,
        response: "response" Any,
    }
}

view! {
    /// A message of the user or the agent.
    CaptureMessage {
        content: "content" Array,
    }
}

view! {
    /// One part of a message. Text is the only type known.
    CapturePart {
        kind: "type" Any,
        text: "text" Any,
    }
}

view! {
    /// Tokens of the whole run.
    TurnUsage {
        input_tokens: "inputTokens" Number,
        output_tokens: "outputTokens" Number,
        cache_read_tokens: "cacheReadTokens" Number,
        cache_write_tokens: "cacheWriteTokens" Number,
    }
}

view! {
    /// A question to the user. The call's id is in it or in its arguments.
    Question {
        args: "args" Any,
        tool_call_id: "toolCallId" Any,
    }
}

view! {
    /// The user's answer to a question.
    Answer {
        approved: "approved" Any,
        rejected: "rejected" Object,
        result: "result" Any,
    }
}

view! {
    /// The value under the tool's name.
    CallBody {
        args: "args" Any,
        result: "result" Any,
        description: "description" Any,
    }
}

view! {
    /// The documented form for tools without a key of their own.
    Function {
        name: "name" Any,
        arguments: "arguments" Any,
    }
}

view! {
    /// The arguments that are not for the tool itself.
    CallArgs {
        description: "description" String,
        include_line_numbers: "includeLineNumbers" Bool,
    }
}

view! {
    /// The fields of all results for which the tape has a place.
    ResultFields {
        exit_code: "exitCode" Number,
        stdout: "stdout" String,
        stderr: "stderr" String,
        interleaved_output: "interleavedOutput" String,
        output_head: "outputHead" String,
        output_tail: "outputTail" String,
        elided_chars: "elidedChars" Number,
        output_location: "outputLocation" Object,
        execution_time: "executionTime" Number,
        aborted: "aborted" Bool,
        reason: "reason" String,
        error: "error" Any,
        error_message: "errorMessage" String,
        model_visible_error: "modelVisibleError" String,
        message: "message" String,
        path: "path" String,
        content: "content" Any,
        is_error: "isError" Bool,
        markdown: "markdown" String,
        exceeded_limit: "exceededLimit" Bool,
        total_lines: "totalLines" Number,
        read_range: "readRange" Object,
        lines_removed: "linesRemoved" Number,
        diff_string: "diffString" String,
        before_full_file_content: "beforeFullFileContent" String,
        after_full_file_content: "afterFullFileContent" String,
        prev_content: "prevContent" String,
    }
}

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

view! {
    /// What a tool returned, as JSON. Shell commands have exit code and output, tools of MCP servers state whether they failed.
    HookOutput {
        output: "output" String,
        exit_code: "exitCode" Number,
        is_error: "isError" Any,
    }
}

view! {
    /// One line of the opened text.
    ChatLine {
        store: "store" Any,
        role: "role" Any,
        blob: "blob" Any,
        meta: "meta" Object,
        root: "root" Object,
        message: "message" Object,
        steps: "steps" Object,
        step: "step" Object,
        archive: "archive" Object,
        agent: "agent" Object,
        run: "run" Object,
    }
}

view! {
    /// The record of the chat itself.
    ChatMeta {
        name: "name" String,
        created_at: "createdAt" Number,
        mode: "mode" String,
        last_used_model: "lastUsedModel" String,
        subagent_info: "subagentInfo" Object,
    }
}

view! {
    /// Who started the chat of a sub-agent.
    ChatSubagent {
        parent_agent_id: "parentAgentId" String,
        tool_call_id: "toolCallId" String,
        type_name: "typeName" String,
    }
}

view! {
    /// The root of the conversation.
    ChatRoot {
        active_branch_name: "activeBranchName" String,
        agent_type: "agentType" String,
        previous_workspace_uris: "previousWorkspaceUris" Array,
        conversation_started_timestamp_ms: "conversationStartedTimestampMs" String,
        token_details: "tokenDetails" Object,
    }
}

view! {
    /// A message as the model saw it.
    ChatMessage {
        role: "role" Any,
        content: "content" Any,
        provider_options: "providerOptions" Object,
    }
}

view! {
    /// One part of a message.
    ChatPart {
        kind: "type" Any,
        text: "text" Any,
        tool_call_id: "toolCallId" Any,
        tool_name: "toolName" Any,
        args: "args" Any,
        result: "result" Any,
        is_error: "isError" Any,
        image: "image" Any,
        data: "data" Any,
        filename: "filename" Any,
        media_type: "mediaType" Any,
    }
}

view! {
    /// A step of the turn graph: a message, reasoning, or a call. A prompt has its text here.
    ChatStep {
        assistant_message: "assistantMessage" Object,
        thinking_message: "thinkingMessage" Object,
        tool_call: "toolCall" Object,
        text: "text" Any,
        is_simulated_msg: "isSimulatedMsg" Any,
        sent_by_agent_id: "sentByAgentId" Any,
        started_at_ms: "startedAtMs" Any,
    }
}

view! {
    /// A message or reasoning of the agent in a step.
    StepText {
        text: "text" String,
        started_at_ms: "startedAtMs" String,
    }
}

view! {
    /// The harness's own options of a message.
    CursorOptions {
        model_name: "modelName" String,
        is_summary: "isSummary" Bool,
    }
}

view! {
    /// One line of the opened text.
    EditorLine {
        store: "store" Any,
        composer: "composer" Object,
        bubble: "bubble" Object,
        before: "before" Any,
        after: "after" Any,
    }
}

view! {
    /// The record of the conversation itself.
    Composer {
        name: "name" String,
        chat_title: "chatTitle" String,
        created_at: "createdAt" Number,
        last_send_time: "lastSendTime" Number,
        unified_mode: "unifiedMode" String,
        model_config: "modelConfig" Object,
        subagent_info: "subagentInfo" Object,
        workspace_identifier: "workspaceIdentifier" Object,
    }
}

view! {
    /// A message. `type` is 1 or `user`, 2 or `ai`.
    Bubble {
        kind: "type" Any,
        bubble_id: "bubbleId" Any,
        id: "id" Any,
        created_at: "createdAt" Any,
        text: "text" Any,
        raw_text: "rawText" Any,
        thinking: "thinking" Object,
        model_info: "modelInfo" Object,
        model_type: "modelType" Any,
        code_blocks: "codeBlocks" Any,
        token_count: "tokenCount" Object,
        tool_former_data: "toolFormerData" Object,
        selections: "selections" Array,
        file_selections: "fileSelections" Array,
        selected_images: "selectedImages" Array,
        is_simulated_msg: "isSimulatedMsg" Any,
    }
}

view! {
    /// Who started a sub-agent. The chat store has the same fact with other names.
    ComposerSubagent {
        parent_composer_id: "parentComposerId" String,
        parent_agent_id: "parentAgentId" String,
        tool_call_id: "toolCallId" String,
        type_name: "typeName" String,
    }
}

view! {
    /// A file, or a part of one, that the user added to a prompt (2024 and 2025).
    Selection {
        uri: "uri" Object,
        raw_text: "rawText" String,
        text: "text" String,
    }
}

view! {
    /// A call of 2026. `params`, `rawArgs`, `result` and `error` are JSON inside a string.
    ToolFormerData {
        name: "name" String,
        tool_call_id: "toolCallId" String,
        status: "status" String,
        raw_args: "rawArgs" String,
        params: "params" String,
        result: "result" String,
        error: "error" String,
        user_decision: "userDecision" String,
    }
}

view! {
    /// The `params` of an edit.
    EditParams {
        relative_workspace_path: "relativeWorkspacePath" String,
        target_file: "targetFile" String,
    }
}

view! {
    /// The fields of a `result` that show how the call ended.
    EditorResult {
        output: "output" String,
        exit_code: "exitCode" Number,
        apply_failed: "applyFailed" Bool,
    }
}
