//! What the adapter says about itself: its rules of omission and its gaps, each as one row.

use engram_core::descriptor::{AdapterDescriptor, Gap, Omission, OmissionRule, UnknownVersionPolicy};
use engram_core::ledger::Outcome;

use super::revisions::{MATRIX, WEAKEST};

/// Names of the rules that convert.rs and its neighbours apply.
pub(super) mod rule {
    /// A message or result that was appended again.
    pub const APPENDED_AGAIN: &str = "history.appended_again";
    /// A queued prompt that the conversation also holds.
    pub const QUEUED: &str = "queue.said_in_conversation";
    /// A queued prompt that was taken back.
    pub const TAKEN_BACK: &str = "queue.taken_back";
    /// Queue state without a prompt.
    pub const QUEUE_STATE: &str = "queue.state";
    /// A sub-agent's line, copied into its parent's file.
    pub const AGENT_PROGRESS: &str = "agent.own_file";
    /// What a command had written at some time.
    pub const SO_FAR: &str = "progress.so_far";
    /// The answer of a StructuredOutput call again.
    pub const STRUCTURED: &str = "result.structured";
    /// A name that a person gave, unchanged.
    pub const SAME_NAME: &str = "state.same_name";
    /// A title or mode that has not changed.
    pub const UNCHANGED: &str = "state.unchanged";
}

/// A record that gives no event, and the rule that says why.
#[derive(Debug, Clone, Copy)]
pub(super) struct Omitted {
    pub record: &'static str,
    pub rule: &'static str,
}

impl Omitted {
    /// The record says again what another record says.
    pub fn duplicate(self) -> Outcome {
        Outcome::Duplicate { record: self.record, rule: self.rule }
    }

    /// The record holds state without content.
    pub fn bookkeeping(self) -> Outcome {
        Outcome::Bookkeeping { record: self.record, rule: self.rule }
    }
}

/// The outcome of a record type that never gives an event.
pub(super) fn never_mapped(record: &str) -> Option<Outcome> {
    let found = RECORD_RULES.iter().find(|rule| rule.record == record)?;
    let omitted = Omitted { record: found.record, rule: found.rule };
    match found.omission {
        Omission::Duplicate => Some(omitted.duplicate()),
        Omission::Bookkeeping => Some(omitted.bookkeeping()),
        Omission::Field | Omission::Opaque => None,
    }
}

const fn duplicate(rule: &'static str, record: &'static str, reason: &'static str) -> OmissionRule {
    OmissionRule { rule, omission: Omission::Duplicate, record, pointer: None, reason }
}

const fn bookkeeping(rule: &'static str, record: &'static str, reason: &'static str) -> OmissionRule {
    OmissionRule { rule, omission: Omission::Bookkeeping, record, pointer: None, reason }
}

const fn field(rule: &'static str, record: &'static str, pointer: &'static str, reason: &'static str) -> OmissionRule {
    OmissionRule { rule, omission: Omission::Field, record, pointer: Some(pointer), reason }
}

const fn opaque(rule: &'static str, record: &'static str, pointer: &'static str, reason: &'static str) -> OmissionRule {
    OmissionRule { rule, omission: Omission::Opaque, record, pointer: Some(pointer), reason }
}

/// Records that give no event.
const RECORD_RULES: &[OmissionRule] = &[
    duplicate(
        rule::APPENDED_AGAIN,
        "assistant",
        "a message that was appended again after a failed stream (1.0.128 to 2.1.0); its blocks stand at their first place",
    ),
    duplicate(rule::APPENDED_AGAIN, "user", "a tool result that was appended again with its message; it stands at its first place"),
    duplicate(
        rule::QUEUED,
        "queue-operation/enqueue",
        "the prompt follows as a `user` or `queued_command` record; one that never does is said at the end",
    ),
    duplicate(rule::QUEUED, "queue-operation/remove", "repeats the prompt that was queued"),
    duplicate(
        rule::TAKEN_BACK,
        "queue-operation/popAll",
        "repeats a prompt that was queued and then taken back to be written anew; where it never comes, it is said at the end",
    ),
    bookkeeping(rule::QUEUE_STATE, "queue-operation/enqueue", "a queue entry without a prompt"),
    bookkeeping(rule::QUEUE_STATE, "queue-operation/dequeue", "a queued prompt goes on; the prompt itself is another record"),
    duplicate(
        rule::AGENT_PROGRESS,
        "progress/agent_progress",
        "copies a line of the sub-agent's own file, which lies beside this one, or one that was copied before",
    ),
    duplicate(
        rule::SO_FAR,
        "progress/bash_progress",
        "what a command had written by then; its result has it all, and where none came, the last such line is said",
    ),
    bookkeeping("progress.state", "progress/mcp_progress", "a call to a server begins or ends"),
    bookkeeping("progress.state", "progress/query_update", "a search asks for something"),
    bookkeeping("progress.state", "progress/search_results_received", "a search has so many results; the result of the call has them"),
    bookkeeping("progress.state", "progress/waiting_for_task", "a call waits for a command that runs beside the conversation"),
    duplicate("prompt.last", "last-prompt", "the last prompt with its white space squeezed, for a list of sessions"),
    duplicate("request.blob", "api-request-blob", "a message of the conversation as it was sent, kept by hash"),
    bookkeeping("request.delta", "api-request", "which messages a request sent, by hash, and its parameters"),
    bookkeeping("state.latch", "atis-latch", "an opaque flag"),
    bookkeeping("state.tools_used", "tools-used", "names of tools whose calls are records"),
    bookkeeping("backup.snapshot", "file-history-snapshot", "names of backup files for undo; the files lie elsewhere"),
    bookkeeping("backup.delta", "file-history-delta", "the name of one more backup file"),
    bookkeeping("ui.turn_duration", "system/turn_duration", "how long a turn took, for display"),
    duplicate(rule::UNCHANGED, "ai-title", "the title again, unchanged"),
    duplicate(rule::SAME_NAME, "custom-title", "the title again, unchanged"),
    duplicate(rule::SAME_NAME, "agent-name", "the name again, unchanged"),
    bookkeeping("state.bridge", "bridge-session", "ids of the session that shows this one elsewhere"),
    duplicate(
        rule::STRUCTURED,
        "attachment/structured_output",
        "the answer in the form that was asked for, as the StructuredOutput call gives it",
    ),
    bookkeeping(rule::UNCHANGED, "permission-mode", "the mode again, unchanged"),
    bookkeeping(rule::UNCHANGED, "mode", "the mode again, unchanged"),
    bookkeeping(rule::UNCHANGED, "cost-state", "the cost again, unchanged"),
];

/// Fields of records that give events.
const FIELD_RULES: &[OmissionRule] = &[
    field(
        "read.file",
        "user",
        "/toolUseResult/file/content",
        "the lines that were read: they stand in the result as the model saw them, their hash in `code.read`",
    ),
    field("edit.file_before", "user", "/toolUseResult/originalFile", "the whole file before the edit, kept as `file_before_hash`"),
    field("edit.file_before", "user", "/toolUseResult/originalFileContents", "the same, as MultiEdit names it"),
    field("edit.file_before", "user", "/toolUseResult/original_file", "the same, as NotebookEdit names it"),
    field("edit.file_after", "user", "/toolUseResult/updated_file", "the whole notebook after the edit, kept as `file_after_hash`"),
    field(
        "edit.patch",
        "user",
        "/toolUseResult/structuredPatch/*/lines/*",
        "a diff for display, its tabs altered; the spans are `code.edit`",
    ),
    field(
        "edit.shell_diff",
        "user",
        "/toolUseResult/bashEditDiff/files/*/hunks/*/lines/*",
        "what a command changed; the spans are `code.edit`",
    ),
    field("result.error", "user", "/toolUseResult", "the text of the result again; where it says something else it is an event"),
    field("result.links", "user", "/toolUseResult/results/*/content/*/title", "titles of pages found, which stand in the result's text"),
    field("result.state", "user", "/toolUseResult/prompt", "the prompt again, as the call gives it"),
    field("result.state", "user", "/toolUseResult/allowedTools/*", "tools that a skill may use without being asked"),
    field(
        "result.state",
        "user",
        "/toolUseResult/task/output",
        "the output of a background task, which the result has without white space at its ends; where it says something else it is an event",
    ),
    field("result.state", "user", "/toolUseResult/oldTodos/**", "the tasks before the call, as the call before it has set them"),
    field("result.state", "user", "/toolUseResult/questions/**", "the questions again, as the call asks them"),
    field("result.state", "user", "/todos/**", "the tasks as they stand, as the last call has set them"),
    field(
        "result.repeated",
        "progress/agent_progress",
        "/data/normalizedMessages/*/toolUseResult/content",
        "the output of a line that an earlier `progress` line wrapped: it stands in the result there",
    ),
    field("attachment.rendered", "attachment/*", "/rendered/*/content", "the attachment's fields, put into words for the model"),
    field("attachment.rendered", "attachment/*", "/renderedInHumanTurn/*/content", "the same, for a turn with a person's prompt"),
    field("attachment.listing", "attachment/skill_listing", "/attachment/content", "the harness's list of skills, kept as hash and size"),
    field(
        "attachment.listing",
        "attachment/agent_listing_delta",
        "/attachment/addedLines/*",
        "the harness's list of agents, kept as hash and size",
    ),
    field("attachment.listing", "attachment/deferred_tools_delta", "/attachment/*/*", "names of tools, kept as hash and size"),
    field("attachment.listing", "attachment/deferred_tools_record", "/attachment/entries/**", "tool descriptions, kept as hash and size"),
    field(
        "attachment.instructions",
        "attachment/mcp_instructions_delta",
        "/attachment/addedBlocks/*",
        "instructions of MCP servers, kept as hash and size",
    ),
    field("attachment.instructions", "attachment/mcp_instructions_delta", "/attachment/addedNames/*", "names of these servers"),
    field("attachment.instructions", "attachment/mcp_instructions_delta", "/attachment/removedNames/*", "names of servers that left"),
    field("attachment.skills", "attachment/invoked_skills", "/attachment/skills/**", "skills that were used, kept as hash and size"),
    field(
        "attachment.on_disk",
        "attachment/nested_memory",
        "/attachment/content/rawContent",
        "an instruction file as it lies on the disk, where the model is given less of it",
    ),
    field("attachment.path", "attachment/*", "/attachment/displayPath", "the file's path, shortened for display"),
    field("attachment.path", "attachment/selected_lines_in_ide", "/attachment/ideName", "the name of the editor that the file is open in"),
    field("attachment.file", "attachment/file", "/attachment/content/file/content", "a file that the user attached, kept as hash and size"),
    field("request.prompt", "attachment/prompt_snapshot", "/attachment/systemPrompt/*", "the system prompt, kept as hash and size"),
    field("request.prompt", "attachment/prompt_snapshot", "/attachment/cliPrefix", "the first line of the system prompt"),
    field("request.prompt", "api-request-shape", "/shape/system/*/text", "the system prompt, kept as hash and size"),
    field("request.tools", "attachment/prompt_snapshot", "/attachment/tools/**", "tool descriptions, kept as hash and size"),
    field("request.tools", "api-request-shape", "/shape/tools/**", "tool descriptions, kept as hash and size"),
    field("state.repository", "user", "/classifierMetaLines", "the state of the repository, for the harness's own judge of calls"),
    field("state.worktree", "worktree-state", "/worktreeSession/**", "where the session worked before, and what the work tree is called"),
    field("ui.nudge", "system/bridge_status", "/upgradeNudge", "asks to upgrade another program"),
    field("error.formatted", "system/*error", "/error/formatted", "the error's message, shortened for display"),
    opaque("thinking.signature", "assistant", "/message/content/*/signature", "a signature"),
    opaque("thinking.redacted", "assistant", "/message/content/*/data", "reasoning that only the model's provider can read"),
    opaque("attachment.base64", "attachment/file", "/attachment/content/file/base64", "a document or image that the user attached, hashed"),
    opaque("image.base64", "user", "/message/content/*/source/data", "an image, hashed as an attachment"),
    opaque("image.base64", "user", "/message/content/*/content/*/source/data", "an image that a tool returned, hashed as an attachment"),
    opaque("image.base64", "attachment/queued_command", "/attachment/prompt/*/source/data", "an image, hashed as an attachment"),
    opaque("image.base64", "user", "/toolUseResult/file/base64", "the same image again"),
    opaque("image.base64", "user", "/toolUseResult/*/source/data", "the same image again"),
];

/// Rows for a field of a sub-agent's line, which a line of its session wraps: as the last one, or in a list of all so far.
macro_rules! wrapped {
    ($($kind:ident $rule:literal $pointer:literal $reason:literal;)*) => {
        &[$(
            $kind($rule, "progress/agent_progress", concat!("/data/message", $pointer), $reason),
            $kind($rule, "progress/agent_progress", concat!("/data/normalizedMessages/*", $pointer), $reason),
        )*]
    };
}

/// Fields of sub-agents' lines that a `progress` line wraps (2.1.12 to 2.1.80), where the sub-agent has no file of its own.
const WRAPPED_RULES: &[OmissionRule] = wrapped! {
    field "progress.so_far" "/data/**" "what a command of the sub-agent had written by then";
    field "read.file" "/toolUseResult/file/content" "as in a line of its own";
    field "edit.file_before" "/toolUseResult/originalFile" "as in a line of its own";
    field "edit.patch" "/toolUseResult/structuredPatch/*/lines/*" "as in a line of its own";
    field "result.error" "/toolUseResult" "as in a line of its own";
    field "result.links" "/toolUseResult/results/*/content/*/title" "as in a line of its own";
    field "result.links" "/toolUseResult/filenames/*" "names of files found, which stand in the result's text";
    field "result.state" "/toolUseResult/prompt" "as in a line of its own";
    opaque "thinking.signature" "/message/content/*/signature" "as in a line of its own";
    opaque "image.base64" "/message/content/*/source/data" "as in a line of its own";
    opaque "image.base64" "/message/content/*/content/*/source/data" "as in a line of its own";
    opaque "image.base64" "/toolUseResult/file/base64" "as in a line of its own";
};

const RULES: &[OmissionRule] = &{
    let mut all = [RECORD_RULES[0]; RECORD_RULES.len() + FIELD_RULES.len() + WRAPPED_RULES.len()];
    let (mut at, tables) = (0, [RECORD_RULES, FIELD_RULES, WRAPPED_RULES]);
    let mut table = 0;
    while table < tables.len() {
        let mut row = 0;
        while row < tables[table].len() {
            all[at] = tables[table][row];
            (at, row) = (at + 1, row + 1);
        }
        table += 1;
    }
    all
};

const fn gap(code: &'static str, fixture: &'static str, reason: &'static str) -> Gap {
    Gap { code, reason, fixture }
}

const GAPS: &[Gap] = &[
    gap(
        "read.no_total",
        "2.1.329/b_edit",
        "a read that stops before the end does not tell how many lines the file has: the harness counts one too many in most files",
    ),
    gap("read.no_lines", "2.1.329/g_rich", "images, documents and notebooks are read without lines"),
    gap("read.not_utf8", "2.1.329/b_edit", "the log holds U+FFFD in place of the real bytes, so nothing is hashed"),
    gap("read.shell", "2.1.329/g_rich", "what a shell command reads is only in its output"),
    gap("edit.shell", "2.1.275/b_edit", "before 2.1.300 a shell command's changes of files leave no trace in the log"),
    gap(
        "edit.shell_no_text",
        "2.1.329/b_edit",
        "the diff of a shell command's changes gives lines, but no text that is proven to be exact",
    ),
    gap(
        "edit.not_utf8",
        "2.1.275/b_edit",
        "the log holds U+FFFD in place of the real bytes, so nothing is hashed; from 2.1.300 on such edits fail",
    ),
    gap("edit.write_no_before", "2.0.45/b_edit", "up to 2.0.45 a Write does not log the file that it replaces"),
    gap("edit.notebook_no_text", "2.0.69/b_edit", "up to 2.0.69 a NotebookEdit logs neither the file before nor after"),
    gap(
        "edit.copied_snippet",
        "2.0.10/d_resume",
        "copies of history up to 2.0.10 have no structured results, so edits in them are snippets",
    ),
    gap(
        "edit.agent_snippet",
        "2.1.329/c_subagent",
        "lines of sub-agents have no structured results from 2.1.20 on, so their edits are snippets",
    ),
    gap("edit.big_file", "2.1.329/g_rich", "from 2.1.150 on the log leaves out big files, so their edits have lines but no hashes"),
];

/// The adapter's self-description.
pub(super) static DESCRIPTOR: AdapterDescriptor = AdapterDescriptor {
    adapter_id: "claude-code",
    adapter_version: "0.1.0",
    harness_family: "claude-code",
    matrix: MATRIX,
    schema_detection_strategy: "a line with sessionId, uuid, parentUuid, isSidechain and version, or one of the lines that stand \
                                beside the conversation; the revision follows from the first recorded version",
    coverage: WEAKEST,
    unknown_version_policy: UnknownVersionPolicy::PermissiveDegrade,
    record_type: &["/type", "/subtype", "/operation", "/attachment/type", "/data/type"],
    gaps: GAPS,
    omission_rules: RULES,
};
