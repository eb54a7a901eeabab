//! Records and fields that the tape leaves out, and why nothing is lost. A rule's reason is part of the documentation.

use engram_core::descriptor::OmissionRule;

/// Names of the rules that record handlers apply themselves, because they do not apply to every record of the type.
pub(super) mod rule {
    /// A message that was appended again with a new id.
    pub const APPENDED_AGAIN: &str = "history.appended_again";
    /// A line that was read before.
    pub const REPEATED: &str = "history.repeated";
    /// A line of the history so far, appended again with a new id.
    pub const COPIED: &str = "history.copied";
    /// The same title of the same session.
    pub const SAME_TITLE: &str = "title.repeated";
    /// The last prompt again.
    pub const LAST_PROMPT: &str = "prompt.last";
    /// A queued prompt that is also in the conversation.
    pub const QUEUED: &str = "queue.said_in_conversation";
    /// Queue state without a prompt.
    pub const QUEUE_STATE: &str = "queue.state";
    /// A sub-agent's line, copied into the file of its session.
    pub const AGENT_PROGRESS: &str = "agent.own_file";
    /// The partial output of a command.
    pub const PARTIAL_OUTPUT: &str = "progress.so_far";
    /// The input of a StructuredOutput call again.
    pub const STRUCTURED: &str = "result.structured";
    /// A message of the conversation as it was sent to the model.
    pub const SENT_MESSAGE: &str = "request.blob";
    /// A question of the harness to the program that runs it.
    pub const CONTROL: &str = "stream.control";
    /// What runs at the moment.
    pub const STREAM_STATE: &str = "stream.state";
    /// An unchanged name that a person gave.
    pub const SAME_NAME: &str = "state.same_name";
    /// An unchanged title, mode or cost.
    pub const UNCHANGED: &str = "state.unchanged";
}

/// Every rule.
pub(super) const RULES: &[OmissionRule] = &joined([RECORD_RULES, FIELD_RULES, WRAPPED_RULES, STREAM_RULES]);

/// Rules for whole records.
const RECORD_RULES: &[OmissionRule] = &[
    OmissionRule::duplicate(
        rule::APPENDED_AGAIN,
        "assistant",
        "a message that was appended again, after a failed stream or when the session was resumed (1.0.128 to 2.1.12); its blocks are in \
         the tape where they came first",
    ),
    OmissionRule::duplicate(
        rule::APPENDED_AGAIN,
        "user",
        "a prompt or a tool result that was appended again with the messages after it; it is in the tape where it came first",
    ),
    OmissionRule::duplicate(
        rule::QUEUED,
        "queue-operation/enqueue",
        "the prompt follows as a `user` or `queued_command` record; if it does not, it is emitted where it was delivered, else where it \
         entered the queue; `/clear` is a record of the session that it begins",
    ),
    OmissionRule::duplicate(rule::QUEUED, "queue-operation/remove", "repeats the prompt that was queued"),
    OmissionRule::duplicate(
        "queue.taken_back",
        "queue-operation/popAll",
        "repeats a queued prompt that the user took back to edit it; if it is never sent, it is emitted where it entered the queue",
    ),
    OmissionRule::bookkeeping(rule::QUEUE_STATE, "queue-operation/enqueue", "a queue entry without a prompt"),
    OmissionRule::bookkeeping(
        rule::QUEUE_STATE,
        "queue-operation/dequeue",
        "a prompt leaves the queue; the prompt itself is another record",
    ),
    OmissionRule::duplicate(
        rule::AGENT_PROGRESS,
        "progress/agent_progress",
        "copies a line of the sub-agent's own file, or a line that an earlier `progress` record copied",
    ),
    OmissionRule::duplicate(
        rule::PARTIAL_OUTPUT,
        "progress/bash_progress",
        "the partial output of a command; its result has all of it, and if there is no result, the last partial output is emitted",
    ),
    OmissionRule::bookkeeping("progress.state", "progress/mcp_progress", "a call to an MCP server starts or ends"),
    OmissionRule::bookkeeping("progress.state", "progress/query_update", "the query that a web search sends"),
    OmissionRule::bookkeeping(
        "progress.state",
        "progress/search_results_received",
        "the number of results of a web search; the result of the call has the results",
    ),
    OmissionRule::bookkeeping("progress.state", "progress/waiting_for_task", "a call waits for a background command"),
    OmissionRule::duplicate(rule::LAST_PROMPT, "last-prompt", "the last prompt with its white space shortened, for a list of sessions"),
    OmissionRule::duplicate(rule::SAME_TITLE, "summary", "the same title of the same session again"),
    OmissionRule::duplicate(rule::SENT_MESSAGE, "api-request-blob", "a message of the conversation as it was sent, stored by hash"),
    OmissionRule::bookkeeping("request.delta", "api-request", "the hashes of the messages in a request, and its parameters"),
    OmissionRule::bookkeeping("state.latch", "atis-latch", "an opaque flag"),
    OmissionRule::bookkeeping("ui.color", "agent-color", "the color in which the session is displayed"),
    OmissionRule::bookkeeping("ui.frame", "frame-link", "a page that another program shows beside the session"),
    OmissionRule::bookkeeping("ui.artifacts", "artifact-comment-monitor", "which pages of the session are watched for comments"),
    OmissionRule::bookkeeping("ui.artifacts", "artifact-autoreact-ledger", "which comments were answered"),
    OmissionRule::bookkeeping(
        "state.fork_context",
        "fork-context-ref",
        "how much of its parent's history a fork begins with; the session and the call that started it are on the tape",
    ),
    OmissionRule::bookkeeping("state.tools_used", "tools-used", "names of tools; their calls are records"),
    OmissionRule::bookkeeping("backup.snapshot", "file-history-snapshot", "names of backup files for undo; the files are outside the log"),
    OmissionRule::bookkeeping("backup.delta", "file-history-delta", "the name of one more backup file"),
    OmissionRule::bookkeeping("ui.turn_duration", "system/turn_duration", "the duration of a turn, for display"),
    OmissionRule::duplicate(rule::UNCHANGED, "ai-title", "the same title again"),
    OmissionRule::duplicate(rule::SAME_NAME, "custom-title", "the same title again"),
    OmissionRule::duplicate(rule::SAME_NAME, "agent-name", "the same name again"),
    OmissionRule::duplicate(rule::SAME_NAME, "agent-setting", "the same name again"),
    OmissionRule::bookkeeping("state.bridge", "bridge-session", "ids of the session that displays this one in another program"),
    OmissionRule::duplicate(
        rule::STRUCTURED,
        "attachment/structured_output",
        "the structured answer, which is the input of the StructuredOutput call",
    ),
    OmissionRule::duplicate(
        rule::REPEATED,
        "*",
        "a line that was read before: it has the same id, or has no id and the same bytes with a time among them",
    ),
    OmissionRule::duplicate(
        rule::COPIED,
        "*",
        "a line of the history so far that the same file repeats with new ids before the next turn (up to 2.0.10)",
    ),
    OmissionRule::bookkeeping(rule::UNCHANGED, "permission-mode", "the same mode again"),
    OmissionRule::bookkeeping(rule::UNCHANGED, "mode", "the same mode again"),
    OmissionRule::bookkeeping(rule::UNCHANGED, "cost-state", "the same cost again"),
];

/// Rules for whole records of captures.
const STREAM_RULES: &[OmissionRule] = &[
    OmissionRule::bookkeeping(
        rule::CONTROL,
        "control_request",
        "a question to the program that runs the harness: a hook, a message of a server",
    ),
    OmissionRule::bookkeeping(
        rule::CONTROL,
        "control_response",
        "an answer to the program that runs the harness: commands, models, account",
    ),
    OmissionRule::bookkeeping(rule::CONTROL, "control_cancel_request", "a question to the program that runs the harness is withdrawn"),
    OmissionRule::bookkeeping(rule::STREAM_STATE, "command_lifecycle", "a command of the queue begins or ends; its text is a record"),
    OmissionRule::bookkeeping(rule::STREAM_STATE, "tool_progress", "a call runs, or its sub-agent goes on after a failed request"),
    OmissionRule::bookkeeping(rule::STREAM_STATE, "system/status", "the harness is busy: it compacts, or requests an answer"),
    OmissionRule::duplicate(rule::STREAM_STATE, "system/task_started", "a background task begins; its call has the command or prompt"),
    OmissionRule::bookkeeping(
        rule::STREAM_STATE,
        "system/task_progress",
        "what a background task does, for display; its lines are records",
    ),
    OmissionRule::bookkeeping(rule::STREAM_STATE, "system/task_updated", "the state of a background task; a notification follows"),
    OmissionRule::bookkeeping(
        rule::STREAM_STATE,
        "system/background_tasks_changed",
        "the tasks in the background; their calls are records",
    ),
    OmissionRule::bookkeeping(rule::STREAM_STATE, "system/thinking_tokens", "an estimate of reasoning tokens while the model thinks"),
    OmissionRule::bookkeeping(rule::STREAM_STATE, "system/hook_started", "a hook begins; its response follows"),
    OmissionRule::duplicate("stream.partial", "stream_event", "a part of an answer as it arrives; the whole block follows as a record"),
    OmissionRule::field("read.file", "user", "/tool_use_result/file/content", "as in a transcript"),
    OmissionRule::field("edit.file_before", "user", "/tool_use_result/originalFile", "as in a transcript"),
    OmissionRule::field("edit.file_before", "user", "/tool_use_result/original_file", "as in a transcript"),
    OmissionRule::field("edit.file_after", "user", "/tool_use_result/updated_file", "as in a transcript"),
    OmissionRule::field("edit.patch", "user", "/tool_use_result/structuredPatch/*/lines/*", "as in a transcript"),
    OmissionRule::field("edit.shell_diff", "user", "/tool_use_result/bashEditDiff/files/*/hunks/*/lines/*", "as in a transcript"),
    OmissionRule::field("result.error", "user", "/tool_use_result", "as in a transcript"),
    OmissionRule::field("result.state", "user", "/tool_use_result/prompt", "as in a transcript"),
    OmissionRule::field("result.state", "user", "/tool_use_result/task/output", "as in a transcript"),
    OmissionRule::field("result.state", "user", "/tool_use_result/oldTodos/**", "as in a transcript"),
    OmissionRule::opaque("image.base64", "user", "/tool_use_result/file/base64", "the same image again"),
    OmissionRule::opaque("image.base64", "user", "/tool_use_result/*/source/data", "the same image again"),
];

/// Rules for fields of records that give events.
const FIELD_RULES: &[OmissionRule] = &[
    OmissionRule::field(
        "read.file",
        "user",
        "/toolUseResult/file/content",
        "the lines that were read: the result has them as the model saw them, and `code.read` has their hash",
    ),
    OmissionRule::field(
        "edit.file_before",
        "user",
        "/toolUseResult/originalFile",
        "the whole file before the edit, kept as `file_before_hash`",
    ),
    OmissionRule::field("edit.file_before", "user", "/toolUseResult/originalFileContents", "the same, under MultiEdit's name"),
    OmissionRule::field("edit.file_before", "user", "/toolUseResult/original_file", "the same, under NotebookEdit's name"),
    OmissionRule::field(
        "edit.file_after",
        "user",
        "/toolUseResult/updated_file",
        "the whole notebook after the edit, kept as `file_after_hash`",
    ),
    OmissionRule::field(
        "edit.patch",
        "user",
        "/toolUseResult/structuredPatch/*/lines/*",
        "a diff for display, with its tabs replaced; `code.edit` has the spans",
    ),
    OmissionRule::field(
        "edit.shell_diff",
        "user",
        "/toolUseResult/bashEditDiff/files/*/hunks/*/lines/*",
        "the diff of what a command changed; `code.edit` has the spans",
    ),
    OmissionRule::field("result.error", "user", "/toolUseResult", "the text of the result again; a different text is an event"),
    OmissionRule::field(
        "result.links",
        "user",
        "/toolUseResult/results/*/content/*/title",
        "titles of the pages found, which the text of the result has",
    ),
    OmissionRule::field("result.state", "user", "/toolUseResult/prompt", "the prompt again, which the call has"),
    OmissionRule::field(
        "result.state",
        "user",
        "/toolUseResult/allowedTools/*",
        "tools that a skill may use without permission from the user",
    ),
    OmissionRule::field(
        "result.state",
        "user",
        "/toolUseResult/task/output",
        "the output of a background task, which the result has without white space at its ends; a different text is an event",
    ),
    OmissionRule::field("result.state", "user", "/toolUseResult/oldTodos/**", "the tasks before the call, as the previous call set them"),
    OmissionRule::field("result.state", "user", "/toolUseResult/questions/**", "the questions again, which the call has"),
    OmissionRule::field("result.state", "user", "/todos/**", "the current tasks, as the last call set them"),
    OmissionRule::field(
        "result.repeated",
        "progress/agent_progress",
        "/data/normalizedMessages/*/toolUseResult/content",
        "the output of a line that an earlier `progress` record wrapped; its result has it",
    ),
    OmissionRule::field("attachment.rendered", "attachment/*", "/rendered/*/content", "the attachment's fields as text for the model"),
    OmissionRule::field(
        "attachment.rendered",
        "attachment/*",
        "/renderedInHumanTurn/*/content",
        "the same, for a turn with a person's prompt",
    ),
    OmissionRule::field(
        "attachment.listing",
        "attachment/skill_listing",
        "/attachment/content",
        "the harness's list of skills, kept as hash and size",
    ),
    OmissionRule::field(
        "attachment.listing",
        "attachment/agent_listing_delta",
        "/attachment/addedLines/*",
        "the harness's list of agents, kept as hash and size",
    ),
    OmissionRule::field(
        "attachment.listing",
        "attachment/deferred_tools_delta",
        "/attachment/*/*",
        "names of tools, kept as hash and size",
    ),
    OmissionRule::field(
        "attachment.listing",
        "attachment/deferred_tools_record",
        "/attachment/entries/**",
        "tool descriptions, kept as hash and size",
    ),
    OmissionRule::field(
        "attachment.instructions",
        "attachment/mcp_instructions_delta",
        "/attachment/addedBlocks/*",
        "instructions of MCP servers, kept as hash and size",
    ),
    OmissionRule::field(
        "attachment.instructions",
        "attachment/mcp_instructions_delta",
        "/attachment/addedNames/*",
        "names of these servers",
    ),
    OmissionRule::field(
        "attachment.instructions",
        "attachment/mcp_instructions_delta",
        "/attachment/removedNames/*",
        "names of servers that were removed",
    ),
    OmissionRule::field(
        "attachment.skills",
        "attachment/invoked_skills",
        "/attachment/skills/**",
        "skills that were used, kept as hash and size",
    ),
    OmissionRule::field(
        "attachment.on_disk",
        "attachment/nested_memory",
        "/attachment/content/rawContent",
        "an instruction file as it is on disk, if the model is given less of it",
    ),
    OmissionRule::field("attachment.path", "attachment/*", "/attachment/displayPath", "the file's path, shortened for display"),
    OmissionRule::field(
        "attachment.path",
        "attachment/selected_lines_in_ide",
        "/attachment/ideName",
        "the name of the editor in which the file is open",
    ),
    OmissionRule::field(
        "attachment.file",
        "attachment/file",
        "/attachment/content/file/content",
        "a file that the user attached, kept as hash and size",
    ),
    OmissionRule::field(
        "attachment.file",
        "attachment/already_read_file",
        "/attachment/content/file/content",
        "the same, of a file that was read",
    ),
    OmissionRule::field(
        "request.prompt",
        "attachment/prompt_snapshot",
        "/attachment/systemPrompt/*",
        "the system prompt, kept as hash and size",
    ),
    OmissionRule::field("request.prompt", "attachment/prompt_snapshot", "/attachment/cliPrefix", "the first line of the system prompt"),
    OmissionRule::field("request.prompt", "api-request-shape", "/shape/system/*/text", "the system prompt, kept as hash and size"),
    OmissionRule::field("request.tools", "attachment/prompt_snapshot", "/attachment/tools/**", "tool descriptions, kept as hash and size"),
    OmissionRule::field("request.tools", "api-request-shape", "/shape/tools/**", "tool descriptions, kept as hash and size"),
    OmissionRule::field(
        "state.repository",
        "user",
        "/classifierMetaLines",
        "the state of the repository, for the harness's own classification of calls",
    ),
    OmissionRule::field(
        "state.worktree",
        "worktree-state",
        "/worktreeSession/**",
        "the directory before the session moved, and the name of the work tree",
    ),
    OmissionRule::field("ui.nudge", "system/bridge_status", "/upgradeNudge", "a request to upgrade another program"),
    OmissionRule::field("error.formatted", "system/*error", "/error/formatted", "the error's message, shortened for display"),
    OmissionRule::opaque("thinking.signature", "assistant", "/message/content/*/signature", "a signature"),
    OmissionRule::opaque("thinking.redacted", "assistant", "/message/content/*/data", "reasoning that only the model's provider can read"),
    OmissionRule::opaque(
        "attachment.base64",
        "attachment/file",
        "/attachment/content/file/base64",
        "a document or image that the user attached, kept as a hash",
    ),
    OmissionRule::opaque("image.base64", "user", "/message/content/*/source/data", "an image, kept as an attachment's hash"),
    OmissionRule::opaque(
        "image.base64",
        "user",
        "/message/content/*/content/*/source/data",
        "an image that a tool returned, kept as an attachment's hash",
    ),
    OmissionRule::opaque(
        "image.base64",
        "attachment/queued_command",
        "/attachment/prompt/*/source/data",
        "an image, kept as an attachment's hash",
    ),
    OmissionRule::opaque("image.base64", "user", "/toolUseResult/file/base64", "the same image again"),
    OmissionRule::opaque("image.base64", "user", "/toolUseResult/*/source/data", "the same image again"),
];

/// Rules for a field of a sub-agent's line that a line of its session wraps, as the last line or in a list of all so far.
macro_rules! wrapped {
    ($($kind:ident $rule:literal $pointer:literal $reason:literal;)*) => {
        &[$(
            OmissionRule::$kind($rule, "progress/agent_progress", concat!("/data/message", $pointer), $reason),
            OmissionRule::$kind($rule, "progress/agent_progress", concat!("/data/normalizedMessages/*", $pointer), $reason),
        )*]
    };
}

/// Rules for fields of sub-agents' lines that a `progress` record wraps (2.1.12 to 2.1.80), if the sub-agent has no file of its own.
const WRAPPED_RULES: &[OmissionRule] = wrapped! {
    field "progress.so_far" "/data/**" "the partial output of a command of the sub-agent";
    field "read.file" "/toolUseResult/file/content" "as in a line that is not wrapped";
    field "edit.file_before" "/toolUseResult/originalFile" "as in a line that is not wrapped";
    field "edit.patch" "/toolUseResult/structuredPatch/*/lines/*" "as in a line that is not wrapped";
    field "result.error" "/toolUseResult" "as in a line that is not wrapped";
    field "result.links" "/toolUseResult/results/*/content/*/title" "as in a line that is not wrapped";
    field "result.links" "/toolUseResult/filenames/*" "names of the files found, which the text of the result has";
    field "result.state" "/toolUseResult/prompt" "as in a line that is not wrapped";
    opaque "thinking.signature" "/message/content/*/signature" "as in a line that is not wrapped";
    opaque "image.base64" "/message/content/*/source/data" "as in a line that is not wrapped";
    opaque "image.base64" "/message/content/*/content/*/source/data" "as in a line that is not wrapped";
    opaque "image.base64" "/toolUseResult/file/base64" "as in a line that is not wrapped";
};

/// The number of rows of all tables.
const ALL: usize = RECORD_RULES.len() + FIELD_RULES.len() + WRAPPED_RULES.len() + STREAM_RULES.len();

/// The rows of all tables, in their order.
const fn joined(tables: [&[OmissionRule]; 4]) -> [OmissionRule; ALL] {
    let mut all = [RECORD_RULES[0]; ALL];
    let (mut at, mut table) = (0, 0);
    while table < tables.len() {
        let mut row = 0;
        while row < tables[table].len() {
            all[at] = tables[table][row];
            (at, row) = (at + 1, row + 1);
        }
        table += 1;
    }
    all
}
