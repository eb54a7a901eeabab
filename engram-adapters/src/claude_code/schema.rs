//! The shapes of the log's lines: which fields the tape needs, under the names that the harness gives them.

use crate::kit::value::view;

view! {
    /// One line of a transcript. Which fields it has follows from its `type`.
    Line {
        kind: "type",
        subtype: "subtype",
        operation: "operation",
        uuid: "uuid",
        parent_uuid: "parentUuid",
        timestamp: "timestamp",
        session_id: "sessionId",
        agent_id: "agentId",
        /// Type of the sub-agent (2.1.150 and later).
        agent_type: "attributionAgent",
        /// On answers that another session asked for (2.1.329).
        request_session_id: "requestSessionId",
        version: "version",
        cwd: "cwd",
        git_branch: "gitBranch",
        is_sidechain: "isSidechain",
        is_meta: "isMeta",
        is_compact_summary: "isCompactSummary",
        is_api_error: "isApiErrorMessage",
        message: "message",
        tool_use_result: "toolUseResult",
        tool_denial_kind: "toolDenialKind",
        /// Text of `system` and `queue-operation` lines.
        content: "content",
        attachment: "attachment",
        rendered: "rendered",
        data: "data",
        error: "error",
        api_error_status: "apiErrorStatus",
        compact_metadata: "compactMetadata",
        summary: "summary",
        ai_title: "aiTitle",
        permission_mode: "permissionMode",
        mode: "mode",
        shape: "shape",
        total_cost_usd: "totalCostUSD",
        /// Cost of the message (up to 1.0.0).
        cost_usd: "costUSD",
    }
}

view! {
    /// A message as the model's interface knows it.
    Message {
        id: "id",
        model: "model",
        /// A string, or a list of blocks.
        content: "content",
        stop_reason: "stop_reason",
        usage: "usage",
    }
}

view! {
    /// One block of a message's content, or of a tool result's.
    Block {
        kind: "type",
        text: "text",
        thinking: "thinking",
        id: "id",
        name: "name",
        input: "input",
        tool_use_id: "tool_use_id",
        content: "content",
        is_error: "is_error",
        source: "source",
        tool_name: "tool_name",
    }
}

view! {
    /// Where an image or document comes from.
    Source {
        media_type: "media_type",
        data: "data",
    }
}

view! {
    /// `message.usage`.
    Usage {
        input: "input_tokens",
        output: "output_tokens",
        cache_read: "cache_read_input_tokens",
        cache_write: "cache_creation_input_tokens",
    }
}

view! {
    /// `attachment` of an `attachment` line (2.1.100 and later): what the harness put beside the conversation.
    Attachment {
        kind: "type",
        content: "content",
        text: "text",
        date: "date",
        prompt: "prompt",
        filename: "filename",
        snippet: "snippet",
        snapshot: "snapshot",
        context: "context",
        commit: "commit",
        pr: "pr",
        added_lines: "addedLines",
        entries: "entries",
        system_prompt: "systemPrompt",
        tools: "tools",
    }
}

view! {
    /// `toolUseResult` where it is an object. Tools share field names, and are told apart by which they have.
    Structured {
        kind: "type",
        /// Read.
        file: "file",
        /// Edit, MultiEdit and Write.
        file_path: "filePath",
        old_string: "oldString",
        new_string: "newString",
        replace_all: "replaceAll",
        user_modified: "userModified",
        original_file: "originalFile",
        /// MultiEdit's name of `originalFile`.
        original_file_contents: "originalFileContents",
        edits: "edits",
        structured_patch: "structuredPatch",
        /// Write: the whole file. Other tools use the name for their output.
        content: "content",
        /// NotebookEdit spells its fields with underscores.
        notebook_path: "notebook_path",
        notebook_before: "original_file",
        notebook_after: "updated_file",
        new_source: "new_source",
        edit_mode: "edit_mode",
        error: "error",
        /// Bash.
        stdout: "stdout",
        stderr: "stderr",
        interrupted: "interrupted",
        persisted_output_path: "persistedOutputPath",
        persisted_output_size: "persistedOutputSize",
        bash_edit_diff: "bashEditDiff",
        /// Glob.
        truncated: "truncated",
        duration_ms: "durationMs",
        /// Task and Agent.
        total_duration_ms: "totalDurationMs",
    }
}

view! {
    /// `toolUseResult.file` of a Read.
    FileRead {
        path: "filePath",
        content: "content",
        start_line: "startLine",
        line_count: "numLines",
        total_lines: "totalLines",
    }
}

view! {
    /// Arguments of the tools that read and change files, as the call gives them.
    FileArguments {
        path: "file_path",
        notebook_path: "notebook_path",
        old_string: "old_string",
        new_string: "new_string",
        replace_all: "replace_all",
        new_source: "new_source",
        edit_mode: "edit_mode",
        content: "content",
        edits: "edits",
        prompt: "prompt",
    }
}

view! {
    /// One replacement of a MultiEdit.
    Replacement {
        old_string: "old_string",
        new_string: "new_string",
        replace_all: "replace_all",
    }
}

view! {
    /// One file of `bashEditDiff`.
    DiffFile {
        path: "filePath",
        hunks: "hunks",
        created: "created",
        deleted: "deleted",
    }
}

view! {
    /// One hunk of `structuredPatch` or `bashEditDiff`.
    Hunk {
        old_start: "oldStart",
        old_lines: "oldLines",
        new_start: "newStart",
        new_lines: "newLines",
        lines: "lines",
    }
}
