//! The adapter's self-description: members and gaps, one row each.

use engram_core::descriptor::{AdapterDescriptor, Gap, UnknownVersionPolicy};
use engram_core::tool_kind::ToolKind;

use super::format::RULES;
use super::revisions::{CLAIMS, MATRIX};
use super::table::MEMBERS;
use crate::shared::tool_table::ToolTable;

const GAPS: &[Gap] = &[
    Gap {
        code: "usage.last_response",
        reason: "Kilo and OpenCode count only the last response of a turn in the answer to its prompt: the tokens of the others are not in the log",
        fixture: "1/kilo",
    },
    Gap {
        code: "usage.none",
        reason: "Kimi Code says how full the context is, and not what a response cost. claude-agent-acp counts no turn that a sub-agent in the background \
                 began (0.101.0), and no responses of sub-agents (0.23.1)",
        fixture: "1/kimi",
    },
    Gap {
        code: "answer.notice",
        reason: "some agents (Copilot CLI, Vibe) send notices of their own as pieces of an answer, and Copilot CLI the words of sub-agents: nothing in the log tells them from words of the model",
        fixture: "1/copilot",
    },
    Gap {
        code: "call.as_executed",
        reason: "a call is what the agent shows of it. Copilot CLI sends no name of the tool, nor does Kilo when it loads a session: the tape has the word \
                 of the protocol for what the call does in its place",
        fixture: "1/copilot",
    },
    Gap {
        code: "result.no_exit",
        reason: "an exit code is in the log only where the result has a member for it (Copilot CLI, Kilo, Qwen Code); Kimi Code says it in words behind the output",
        fixture: "1/kimi",
    },
    Gap {
        code: "read.no_lines",
        reason: "the protocol has the file of a read; its lines only where the agent adds them (Copilot CLI, Kilo, OpenCode, Vibe)",
        fixture: "1/kimi",
    },
    Gap {
        code: "read.no_total",
        reason: "the read of a part does not always say how many lines the file has. An empty last line that is shown may be the end of the file and no \
                 line: the read leaves it out",
        fixture: "1/patch",
    },
    Gap {
        code: "read.not_utf8",
        reason: "text that is not UTF-8 is shown with U+FFFD, so the read has no hash. Kilo shows it as it decodes it, and nothing shows that: the hash is that of the same text in UTF-8",
        fixture: "1/patch",
    },
    Gap {
        code: "edit.shell",
        reason: "a shell command that changes files leaves no record of the change",
        fixture: "1/kimi",
    },
    Gap {
        code: "edit.region",
        reason: "the old and the new text of a change are a part of the file or the whole file, as the agent likes: without a proof which, they are a \
                 snippet, without lines and without a hash of the file, and one snippet where all places with a text are changed. So is what Kilo and OpenCode write, \
                 since a formatter may change the file. It has no hashes where the agent shows a change with other white space (claude-agent-acp)",
        fixture: "1/kimi",
    },
];

/// The descriptor.
pub(super) static DESCRIPTOR: AdapterDescriptor = AdapterDescriptor {
    adapter_id: "acp",
    adapter_version: "0.1.8",
    harness_family: "acp",
    matrix: MATRIX,
    schema_detection_strategy: "The answer to `initialize` has the version of the protocol. The agent's own name and version are on the tape as the \
                                answer has them.",
    coverage: CLAIMS,
    unknown_version_policy: UnknownVersionPolicy::PermissiveDegrade,
    record_type: &["/log", "/m/method", "/m/params/update/sessionUpdate"],
    members: Some(&MEMBERS),
    gaps: GAPS,
    omission_rules: RULES,
};

/// The words of the protocol for what a call does, and the names that agents give their tools.
pub(super) static TOOLS: ToolTable = ToolTable {
    names: &[
        ("read", ToolKind::Read),
        ("edit", ToolKind::Edit),
        ("delete", ToolKind::Delete),
        ("move", ToolKind::Move),
        ("search", ToolKind::Search),
        ("execute", ToolKind::Execute),
        ("think", ToolKind::Think),
        ("fetch", ToolKind::Fetch),
        ("other", ToolKind::Other),
        ("Read", ToolKind::Read),
        ("read_file", ToolKind::Read),
        ("Edit", ToolKind::Edit),
        ("Write", ToolKind::Write),
        ("write", ToolKind::Write),
        ("write_file", ToolKind::Write),
        ("Bash", ToolKind::Execute),
        ("bash", ToolKind::Execute),
        ("run_shell_command", ToolKind::Execute),
        ("agent", ToolKind::Delegate),
        ("Agent", ToolKind::Delegate),
        ("task", ToolKind::Delegate),
        ("TodoList", ToolKind::Plan),
        ("todo_write", ToolKind::Plan),
        ("todowrite", ToolKind::Plan),
        ("Grep", ToolKind::Search),
        ("Glob", ToolKind::Search),
    ],
    prefixes: &[("mcp__", ToolKind::Mcp)],
    ..ToolTable::EMPTY
};
