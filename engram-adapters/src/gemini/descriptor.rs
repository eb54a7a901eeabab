//! The adapter's self-description: members, omission rules, gaps and tools, one row each.

use engram_core::descriptor::{AdapterDescriptor, Gap, OmissionRule, UnknownVersionPolicy};
use engram_core::members::MemberSource;
use engram_core::tool_kind::ToolKind;

use super::revisions::{MATRIX, WEAKEST};
use crate::shared::tool_table::ToolTable;

/// The member table.
pub(super) static MEMBERS: MemberSource =
    MemberSource::new(&[include_str!("members/records.members"), include_str!("members/tools.members")]);

/// The rules that omit whole records.
pub(super) mod rule {
    /// A message line that the harness writes again without new facts.
    pub const REWRITTEN: &str = "message.rewritten";
    /// A history that the harness writes again, in a `$set` line.
    pub const RESTATED: &str = "history.restated";
    /// A history that the harness writes again, as message lines.
    pub const RELOGGED: &str = "history.relogged";
    /// A record that the log has twice.
    pub const REPEATED: &str = "record.repeated";
    /// A piece of an answer.
    pub const PIECE: &str = "answer.piece";
    /// A message without content.
    pub const EMPTY: &str = "message.empty";
    /// The time of the last change.
    pub const CLOCK: &str = "session.clock";
    /// The session's own id, repeated.
    pub const SAME_SESSION: &str = "session.same_id";
}

const SIGNATURE: &str = "a signature of the model's provider";
const BASE64: &str = "a file as base64; the tape has its hash";

const RULES: &[OmissionRule] = &[
    OmissionRule::duplicate(rule::REWRITTEN, "gemini", "a turn that is written again under the same id, without new facts"),
    OmissionRule::duplicate(rule::REWRITTEN, "user", "a result as the model gets it, which the call already has (0.44.0 and later)"),
    OmissionRule::duplicate(rule::RESTATED, "*", "the whole history again, without new messages (0.44.0 and later)"),
    OmissionRule::duplicate(rule::RELOGGED, "gemini", "a turn of the history again, with a new id (0.61.0, when the user cancels)"),
    OmissionRule::duplicate(rule::RELOGGED, "user", "a prompt or result of the history again, with a new id"),
    OmissionRule::duplicate(
        rule::REPEATED,
        "*",
        "a record that the log has twice: all its bytes, its id or its time among them, were read before",
    ),
    OmissionRule::piece(rule::PIECE, "message/assistant", "a piece of an answer; all pieces are joined at the first one"),
    OmissionRule::bookkeeping(
        rule::EMPTY,
        "*",
        "a message without text, thought, call, result or token count, or a change that states nothing new",
    ),
    OmissionRule::bookkeeping(rule::CLOCK, "lastUpdated", "when the file was last changed"),
    OmissionRule::bookkeeping(rule::SAME_SESSION, "sessionId", "the session's own id, repeated when the session is resumed"),
    OmissionRule::field("call.name", "gemini", "/toolCalls/*/displayName", "the tool's name as the terminal shows it"),
    OmissionRule::field(
        "call.description",
        "gemini",
        "/toolCalls/*/description",
        "the tool's own description, or the arguments as the terminal shows them",
    ),
    OmissionRule::field(
        "result.shown",
        "gemini",
        "/toolCalls/*/resultDisplay",
        "the result as the terminal shows it; the result itself is in `tool.result`",
    ),
    OmissionRule::field(
        "result.shown",
        "gemini",
        "/toolCalls/*/resultDisplay/*/*/text",
        "a command's output as lines of terminal cells (0.38.2 to 0.43.0)",
    ),
    OmissionRule::field(
        "result.shown",
        "gemini",
        "/toolCalls/*/resultDisplay/summary",
        "the number of matches or files, as the terminal shows it",
    ),
    OmissionRule::field("result.shown", "gemini", "/toolCalls/*/resultDisplay/matches/*/*", "the matches, which the result lists too"),
    OmissionRule::field("result.shown", "gemini", "/toolCalls/*/resultDisplay/files/*", "the files, which the result lists too"),
    OmissionRule::field("result.shown", "gemini", "/toolCalls/*/resultDisplay/todos/*/description", "the plan, which is in the arguments"),
    OmissionRule::field(
        "agent.progress",
        "gemini",
        "/toolCalls/*/resultDisplay/recentActivity/*/*",
        "the last activities of the sub-agent; its own log has all of them",
    ),
    OmissionRule::field("agent.answer", "gemini", "/toolCalls/*/resultDisplay/result", "the sub-agent's answer, which is in the result"),
    OmissionRule::field(
        "edit.file",
        "gemini",
        "/toolCalls/*/resultDisplay/originalContent",
        "the file before the edit; the tape has its hash, `file_before_hash`",
    ),
    OmissionRule::field(
        "edit.file",
        "gemini",
        "/toolCalls/*/resultDisplay/newContent",
        "the file after the edit; the tape has its hash, `file_after_hash`",
    ),
    OmissionRule::field("edit.diff", "gemini", "/toolCalls/*/resultDisplay/fileDiff", "a diff for display; its spans are `code.edit`"),
    OmissionRule::field(
        "thought.half",
        "gemini",
        "/thoughts/*/subject",
        "the tape has it joined with its description, from the first record of the turn",
    ),
    OmissionRule::field(
        "thought.half",
        "gemini",
        "/thoughts/*/description",
        "the tape has it joined with its subject, from the first record of the turn",
    ),
    OmissionRule::opaque("signature", "gemini", "/content/*/thoughtSignature", SIGNATURE),
    OmissionRule::opaque("signature", "messages", "/$set/messages/*/content/*/thoughtSignature", SIGNATURE),
    OmissionRule::opaque("signature", "model", "/parts/*/thoughtSignature", SIGNATURE),
    OmissionRule::opaque("file", "user", "/content/*/inlineData/data", BASE64),
    OmissionRule::opaque("file", "user", "/parts/*/inlineData/data", BASE64),
    OmissionRule::opaque("file", "messages", "/$set/messages/*/content/*/inlineData/data", BASE64),
    OmissionRule::opaque("file", "gemini", "/toolCalls/*/result/*/inlineData/data", BASE64),
];

const GAPS: &[Gap] = &[
    Gap { code: "edit.shell", reason: "a shell command that changes files leaves no record of the change", fixture: "0.61.0/b_edit" },
    Gap {
        code: "edit.snippet",
        reason: "up to 0.24.5 the log has only the arguments of the call, so an edit has no lines and no file hashes. `replace` also finds \
                 text that differs from its arguments, so its edits have no hashes at all",
        fixture: "0.24.5/b_edit",
    },
    Gap {
        code: "edit.parallel_lost",
        reason: "from 0.35.3 to 0.47.0 the calls of a turn ran in parallel: one of two edits of a file was overwritten, and both report \
                 success. Both are unconfirmed, without file hashes",
        fixture: "0.39.0/b_edit",
    },
    Gap {
        code: "edit.not_utf8",
        reason: "text that is not UTF-8 is logged with U+FFFD: such an edit has lines, but no hashes",
        fixture: "0.61.0/b_edit",
    },
    Gap {
        code: "edit.hook",
        reason: "an `AfterTool` hook, a formatter for example, may change the file behind an edit, and the log has the file before the hook. \
                 If such a hook told the model something, the edit has no hash of the file after it; a hook that says nothing is not logged",
        fixture: "0.61.0/g_hooks",
    },
    Gap {
        code: "read.no_total",
        reason: "a partial read may count an empty line after the last one, so the number of lines is known only if the read reaches the end of the file",
        fixture: "0.61.0/b_edit",
    },
    Gap { code: "read.shell", reason: "a file that a shell command prints is not a recorded read", fixture: "0.16.0/g_rich" },
    Gap { code: "read.no_lines", reason: "an image or document is read as a whole, not by lines", fixture: "0.16.0/g_rich" },
    Gap {
        code: "read.not_utf8",
        reason: "text that is not UTF-8 is logged with U+FFFD, so the read has no hash (up to 0.38.2; later versions do not return such a file)",
        fixture: "0.28.2/b_edit",
    },
    Gap {
        code: "result.no_duration",
        reason: "a result has the time of its call, and the log does not state how long the call ran",
        fixture: "0.61.0/b_edit",
    },
    Gap {
        code: "result.display_only",
        reason: "`--output-format stream-json` prints what a call shows on the screen: nothing of a file that was read",
        fixture: "0.60.0/n_long",
    },
    Gap {
        code: "usage.run_total",
        reason: "`--output-format stream-json` prints the tokens of all requests of a run as one sum for each model",
        fixture: "0.60.0/n_long",
    },
    Gap { code: "stream.no_reasoning", reason: "`--output-format stream-json` prints no reasoning", fixture: "0.60.0/n_long" },
];

/// The descriptor.
pub(super) static DESCRIPTOR: AdapterDescriptor = AdapterDescriptor {
    adapter_id: "gemini",
    adapter_version: "0.6.0",
    harness_family: "gemini",
    matrix: MATRIX,
    schema_detection_strategy: "No log has a version. The schema follows from the structure: one record a line or one document, a known header, \
                                messages without unknown members, and for a document whether it has calls and whole files.",
    coverage: WEAKEST,
    unknown_version_policy: UnknownVersionPolicy::PermissiveDegrade,
    record_type: &["/type", "/role", "/kind", "/$set/#"],
    members: Some(&MEMBERS),
    gaps: GAPS,
    omission_rules: RULES,
};

/// Every built-in tool in logs of 0.4.1 to 0.61.0.
pub(super) static TOOLS: ToolTable = ToolTable {
    names: &[
        ("read_file", ToolKind::Read),
        ("read_many_files", ToolKind::Read),
        ("replace", ToolKind::Edit),
        ("write_file", ToolKind::Write),
        ("run_shell_command", ToolKind::Execute),
        ("grep_search", ToolKind::Search),
        ("search_file_content", ToolKind::Search),
        ("glob", ToolKind::Search),
        ("list_directory", ToolKind::List),
        ("web_fetch", ToolKind::Fetch),
        ("google_web_search", ToolKind::WebSearch),
        ("save_memory", ToolKind::Other),
        ("write_todos", ToolKind::Plan),
        ("update_topic", ToolKind::Plan),
        ("enter_plan_mode", ToolKind::Plan),
        ("exit_plan_mode", ToolKind::Plan),
        ("ask_user", ToolKind::Ask),
        ("activate_skill", ToolKind::Skill),
        ("invoke_agent", ToolKind::Delegate),
        ("codebase_investigator", ToolKind::Delegate),
        ("delegate_to_agent", ToolKind::Delegate),
        ("generalist", ToolKind::Delegate),
        ("complete_task", ToolKind::Delegate),
        // The MCP server of the fixtures. Versions before 0.31.0 log the tool without a prefix.
        ("echo", ToolKind::Mcp),
    ],
    prefixes: &[("mcp_", ToolKind::Mcp)],
    ..ToolTable::EMPTY
};
