//! The shapes of the log's lines: which fields the tape needs, under the names that the harness gives them.

use crate::shared::field_hash::number_of;
use crate::shared::value::{Field, Value, is_true};
use crate::shared::view::view;

view! {
    /// One line of a transcript. Which fields it has follows from its `type`.
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
        /// On answers that another session asked for (2.1.329).
        request_session_id: "requestSessionId" String,
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
        /// Of `system` and `queue-operation` lines.
        content: "content" String,
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
        /// Cost of the message (up to 1.0.0).
        cost_usd: "costUSD" Number,
    }
}

/// What the lines of a session state again and again.
#[derive(Clone, Copy)]
pub(super) enum Fact {
    Session,
    Version,
    AgentType,
    Cwd,
    Branch,
    Model,
    /// The call that started a sub-agent.
    Parent,
}

impl Fact {
    /// So many, the first, are facts of any line.
    pub const OF_ANY_LINE: usize = 2;
    /// So many, the first, are fields of nearly every line.
    pub const REPEATED: usize = 5;
}

impl<'a> Line<'a> {
    /// The repeated facts, in their order.
    pub fn facts(&self) -> impl Iterator<Item = Field<'a>> {
        const NUMBERS: [usize; Fact::REPEATED] = [
            number_of("sessionId", Line::NAMES),
            number_of("version", Line::NAMES),
            number_of("attributionAgent", Line::NAMES),
            number_of("cwd", Line::NAMES),
            number_of("gitBranch", Line::NAMES),
        ];
        NUMBERS.iter().map(|number| self.0.get(*number))
    }
}

view! {
    /// A message as the model's interface knows it.
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
    /// One block of a message's content, or of a tool result's.
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
        tool_name: "tool_name" String,
    }
}

view! {
    /// `data` of a `progress` line.
    Progress {
        kind: "type" String,
        /// What hooks are run for, and the command.
        hook_name: "hookName" String,
        command: "command" String,
        /// The sub-agent, and the line of its file.
        agent_id: "agentId" String,
        message: "message" Object,
        /// All its lines so far, text and calls apart (2.1.12 to 2.1.15).
        normalized: "normalizedMessages" Array,
        /// What a command has written so far.
        full_output: "fullOutput" String,
    }
}

view! {
    /// Where an image or document comes from.
    Source {
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
    }
}

view! {
    /// `attachment` of an `attachment` line (2.1.100 and later): what the harness put beside the conversation.
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
    /// `toolUseResult` where it is an object. Tools share field names, and are told apart by which they have.
    Structured {
        kind: "type" String,
        /// Read.
        file: "file" Any,
        /// Edit, MultiEdit and Write.
        file_path: "filePath" String,
        old_string: "oldString" String,
        new_string: "newString" String,
        replace_all: "replaceAll" Bool,
        user_modified: "userModified" Bool,
        original_file: "originalFile" String,
        /// MultiEdit's name of `originalFile`.
        original_file_contents: "originalFileContents" String,
        edits: "edits" Any,
        structured_patch: "structuredPatch" Array,
        /// Write: the whole file. Other tools use the name for their output.
        content: "content" Any,
        /// NotebookEdit spells its fields with underscores.
        notebook_path: "notebook_path" String,
        notebook_before: "original_file" String,
        notebook_after: "updated_file" String,
        new_source: "new_source" String,
        edit_mode: "edit_mode" String,
        error: "error" Any,
        /// Bash.
        stdout: "stdout" String,
        stderr: "stderr" String,
        interrupted: "interrupted" Bool,
        persisted_output_path: "persistedOutputPath" String,
        persisted_output_size: "persistedOutputSize" Number,
        bash_edit_diff: "bashEditDiff" Object,
        /// What the harness makes of the exit code, `No matches found`.
        code_words: "returnCodeInterpretation" String,
        /// Glob.
        truncated: "truncated" Bool,
        duration_ms: "durationMs" Number,
        /// Task and Agent: where the output of a sub-agent goes that runs on its own.
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
    /// Arguments of the tools that read and change files, as the call gives them.
    FileArguments {
        path: "file_path" String,
        notebook_path: "notebook_path" String,
        old_string: "old_string" String,
        new_string: "new_string" String,
        replace_all: "replace_all" Bool,
        new_source: "new_source" String,
        edit_mode: "edit_mode" String,
        content: "content" Any,
        edits: "edits" Any,
        prompt: "prompt" Any,
    }
}

view! {
    /// One replacement of a MultiEdit, as its list has them.
    Listed {
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

/// One replacement of an Edit or MultiEdit.
#[derive(Clone, Copy)]
pub(super) struct Replacement<'a> {
    pub old: Field<'a>,
    pub new: Field<'a>,
    /// Wherever the old text stands.
    pub everywhere: bool,
}

impl<'a> Replacement<'a> {
    /// Those of a list; where it has none, the one that stands beside it.
    pub fn all(list: Field<'a>, alone: Replacement<'a>) -> Vec<Replacement<'a>> {
        let listed = list.into_iter().flat_map(Value::elements).map(Listed::lenient);
        let mut all: Vec<_> = listed
            .map(|listed| Replacement { old: listed.old_string(), new: listed.new_string(), everywhere: is_true(listed.replace_all()) })
            .collect();
        if all.is_empty() {
            all.push(alone);
        }
        all
    }
}
