//! The views of the objects that the adapter reads. Generated from `members/*.members` (`ENGRAM_BLESS=1` with the unit tests writes
//! it). Do not edit it.

use crate::shared::view::view;

view! {
    /// One line of a transcript. Its `type` decides which fields it has.
    Line {
        kind: "type" String,
        subtype: "subtype" String,
        operation: "operation" String,
        uuid: "uuid" String,
        parent_uuid: "parentUuid" String,
        timestamp: "timestamp" String,
        session_id: "sessionId" String,
        agent_id: "agentId" String,
        /// Type of the sub-agent (2.1.150 and later).
        agent_type: "attributionAgent" String,
        /// The call that a `progress` line belongs to.
        parent_call: "parentToolUseID" String,
        /// The session that requested this answer, if it is another one (2.1.329).
        request_session_id: "requestSessionId" String,
        /// The line of another session of which this one is a copy.
        forked_from: "forkedFrom" Object,
        version: "version" String,
        cwd: "cwd" String,
        git_branch: "gitBranch" String,
        is_sidechain: "isSidechain" Bool,
        is_meta: "isMeta" Bool,
        is_compact_summary: "isCompactSummary" Bool,
        is_api_error: "isApiErrorMessage" Bool,
        message: "message" Object,
        tool_use_result: "toolUseResult" Any,
        tool_denial_kind: "toolDenialKind" String,
        /// Of `system` lines a text; of `queue-operation` lines perhaps a list.
        content: "content" Any,
        attachment: "attachment" Object,
        rendered: "rendered" Array,
        data: "data" Any,
        error: "error" Any,
        api_error_status: "apiErrorStatus" Any,
        compact_metadata: "compactMetadata" Object,
        summary: "summary" String,
        ai_title: "aiTitle" String,
        permission_mode: "permissionMode" String,
        mode: "mode" String,
        shape: "shape" Object,
        total_cost_usd: "totalCostUSD" Number,
        /// Cost of the message (up to 1.0.5).
        cost_usd: "costUSD" Number,
        request_id: "requestId" String,
        effort: "effort" String,
        /// The stream was stopped: the message has only its beginning.
        is_aborted: "isAbortedMidStream" Bool,
        mcp_server: "attributionMcpServer" String,
        /// How the prompt was given (2.1.170 and later).
        prompt_source: "promptSource" String,
        /// Who gave the prompt (2.1.220 and later).
        origin: "origin" Object,
        /// The call whose tool wrote this text.
        source_call: "sourceToolUseID" String,
        /// The accepted plan, which the text repeats.
        plan: "planContent" String,
        /// The `uuid` of the line with the call of this result.
        source_assistant: "sourceToolAssistantUUID" String,
        permission_decision: "permissionDecision" Object,
        /// The result of a denied call is what a person typed (2.1.330).
        holds_persons_words: "holdsPersonsWords" Bool,
        /// The stream of the response before this line broke (2.1.330).
        stream_cut_cause: "streamCutCause" String,
        stream_cut_error: "streamCutError" Object,
        /// Of a capture: how the calls of the results ended.
        result_meta: "tool_result_meta" Array,
        /// Of `summary` and `last-prompt` lines.
        leaf: "leafUuid" String,
        /// Of a `last-prompt` line: the person went back to an earlier point.
        is_explicit: "explicit" Bool,
    }
}

view! {
    /// A message in the form of the model's API.
    Message {
        id: "id" String,
        model: "model" String,
        /// A string, or a list of blocks.
        content: "content" Any,
        stop_reason: "stop_reason" String,
        usage: "usage" Object,
    }
}

view! {
    /// One content block of a message or of a tool result.
    Block {
        kind: "type" String,
        text: "text" String,
        thinking: "thinking" String,
        id: "id" String,
        name: "name" String,
        input: "input" Any,
        tool_use_id: "tool_use_id" String,
        content: "content" Any,
        is_error: "is_error" Bool,
        source: "source" Object,
        /// Of a document.
        title: "title" String,
        tool_name: "tool_name" String,
    }
}

view! {
    /// `data` of a `progress` line.
    Progress {
        kind: "type" String,
        /// Of a hook: the event that it runs for, and its command.
        hook_name: "hookName" String,
        command: "command" String,
        /// Of a sub-agent: its id and its last line.
        agent_id: "agentId" String,
        message: "message" Object,
        /// All its lines so far, with text and calls in separate lines (2.1.12 to 2.1.15).
        normalized: "normalizedMessages" Array,
        /// Of a command: its output so far.
        full_output: "fullOutput" String,
    }
}

view! {
    /// Where an image or document comes from.
    Source {
        kind: "type" String,
        media_type: "media_type" String,
        data: "data" String,
    }
}

view! {
    /// `message.usage`.
    Usage {
        input: "input_tokens" Number,
        output: "output_tokens" Number,
        cache_read: "cache_read_input_tokens" Number,
        cache_write: "cache_creation_input_tokens" Number,
        cache_creation: "cache_creation" Object,
        service_tier: "service_tier" String,
        output_details: "output_tokens_details" Object,
    }
}

view! {
    /// `attachment` of an `attachment` line (2.1.100 and later). Types that need other fields read them by name.
    Attachment {
        kind: "type" String,
        content: "content" Any,
        text: "text" String,
        date: "date" String,
        prompt: "prompt" Any,
        filename: "filename" String,
        snippet: "snippet" String,
        snapshot: "snapshot" Any,
        context: "context" Any,
        commit: "commit" Any,
        pr: "pr" Any,
        added_lines: "addedLines" Any,
        entries: "entries" Any,
        system_prompt: "systemPrompt" Any,
        tools: "tools" Any,
    }
}

view! {
    /// `toolUseResult` if it is an object. It does not name its tool; the fields that it has show its shape.
    Structured {
        kind: "type" String,
        /// Read.
        file: "file" Object,
        /// Edit, MultiEdit and Write.
        file_path: "filePath" String,
        old_string: "oldString" String,
        new_string: "newString" String,
        replace_all: "replaceAll" Bool,
        user_modified: "userModified" Bool,
        original_file: "originalFile" String,
        /// MultiEdit's name for `originalFile`.
        original_file_contents: "originalFileContents" String,
        edits: "edits" Array,
        structured_patch: "structuredPatch" Array,
        /// Write: the whole file. Other tools: their output.
        content: "content" Any,
        /// NotebookEdit writes its field names with underscores.
        notebook_path: "notebook_path" String,
        notebook_before: "original_file" String,
        notebook_after: "updated_file" String,
        new_source: "new_source" String,
        edit_mode: "edit_mode" String,
        error: "error" String,
        /// Bash.
        stdout: "stdout" String,
        stderr: "stderr" String,
        interrupted: "interrupted" Bool,
        persisted_output_path: "persistedOutputPath" String,
        persisted_output_size: "persistedOutputSize" Number,
        bash_edit_diff: "bashEditDiff" Object,
        /// The harness's interpretation of the exit code, `No matches found`.
        return_code_interpretation: "returnCodeInterpretation" String,
        /// Glob.
        truncated: "truncated" Bool,
        duration_ms: "durationMs" Number,
        /// Task and Agent: the output file of a sub-agent in the background.
        output_file: "outputFile" String,
        /// TaskOutput: the background task.
        task: "task" Object,
        total_duration_ms: "totalDurationMs" Number,
    }
}

view! {
    /// `toolUseResult.file` of a Read.
    FileRead {
        path: "filePath" String,
        content: "content" String,
        start_line: "startLine" Number,
        line_count: "numLines" Number,
        total_lines: "totalLines" Number,
    }
}

view! {
    /// Arguments of the tools that read and change files.
    FileArguments {
        path: "file_path" String,
        notebook_path: "notebook_path" String,
        old_string: "old_string" String,
        new_string: "new_string" String,
        replace_all: "replace_all" Bool,
        new_source: "new_source" String,
        edit_mode: "edit_mode" String,
        content: "content" String,
        edits: "edits" Array,
        prompt: "prompt" Any,
    }
}

view! {
    /// One item of the list of replacements of a MultiEdit.
    ListedReplacement {
        old_string: "old_string" String,
        new_string: "new_string" String,
        replace_all: "replace_all" Bool,
    }
}

view! {
    /// One file of `bashEditDiff`.
    DiffFile {
        path: "filePath" String,
        hunks: "hunks" Array,
        created: "created" Bool,
        deleted: "deleted" Bool,
    }
}

view! {
    /// One hunk of `structuredPatch` or `bashEditDiff`.
    Hunk {
        old_start: "oldStart" Number,
        old_lines: "oldLines" Number,
        new_start: "newStart" Number,
        new_lines: "newLines" Number,
        lines: "lines" Array,
    }
}

view! {
    /// The members of a printed line that a line of a transcript has under another name, or not at all.
    Printed {
        kind: "type" String,
        subtype: "subtype" String,
        uuid: "uuid" String,
        timestamp: "timestamp" String,
        session_id: "session_id" String,
        /// The message of a model or a person; of a denied call, a text.
        message: "message" Any,
        tool_use_result: "tool_use_result" Any,
        /// The call that started the sub-agent of the line.
        parent_call: "parent_tool_use_id" String,
        /// The sub-agent (2.1.300 and later).
        agent_id: "agent_id" String,
        agent_type: "subagent_type" String,
        is_synthetic: "isSynthetic" Bool,
        request_id: "request_id" String,
        error: "error" Any,
        is_api_error: "is_api_error_message" Bool,
        api_error_status: "api_error_status" Any,
        compact_metadata: "compact_metadata" Object,
        content: "content" Any,
        /// How the calls of the results ended.
        result_meta: "tool_result_meta" Array,
        /// A request of a sub-agent that failed.
        agent_retry: "subagent_retry" Object,
    }
}

view! {
    /// The fields that state what a transcript records.
    Stated {
        kind: "type" String,
        session_id: "sessionId" String,
        agent_id: "agentId" String,
        version: "version" String,
        timestamp: "timestamp" String,
    }
}

view! {
    /// The fields of a printed line that detection reads.
    PrintedHead {
        kind: "type" String,
        subtype: "subtype" String,
        session_id: "session_id" String,
        camel_session_id: "sessionId" Any,
        /// Of other harnesses that print lines of this form.
        permission_mode: "permission_mode" Any,
        version: "claude_code_version" String,
        timestamp: "timestamp" String,
    }
}
