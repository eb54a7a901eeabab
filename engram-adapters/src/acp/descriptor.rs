//! The adapter's self-description: members and gaps, one row each.

use engram_core::descriptor::{AdapterDescriptor, Gap, UnknownVersionPolicy};

use super::format::RULES;
use super::revisions::{CLAIMS, MATRIX};
use super::table::MEMBERS;

const GAPS: &[Gap] = &[
    Gap {
        code: "usage.none",
        reason: "Kimi Code says how full the context is, and not what a response cost",
        fixture: "1/kimi",
    },
    Gap {
        code: "answer.notice",
        reason: "some agents (Copilot CLI, Vibe) send notices of their own as pieces of an answer: nothing in the log tells them from words of the model",
        fixture: "1/copilot",
    },
    Gap {
        code: "call.no_name",
        reason: "Copilot CLI sends a title for people and no name of the tool: the tape has the kind that the protocol gives the call in place of the name",
        fixture: "1/copilot",
    },
    Gap {
        code: "result.no_exit",
        reason: "an exit code is in the log only where the agent adds it to its output (Copilot CLI, Kilo, Qwen Code)",
        fixture: "1/kimi",
    },
    Gap {
        code: "read.no_lines",
        reason: "the protocol has the file of a read, and not its lines",
        fixture: "1/kimi",
    },
    Gap {
        code: "edit.shell",
        reason: "a shell command that changes files leaves no record of the change",
        fixture: "1/kimi",
    },
    Gap {
        code: "edit.region",
        reason: "the old and the new text of a change are a part of the file or the whole file, as the agent likes: without a proof which, they are a \
                 snippet, without lines and without a hash of the file",
        fixture: "1/kimi",
    },
];

/// The descriptor.
pub(super) static DESCRIPTOR: AdapterDescriptor = AdapterDescriptor {
    adapter_id: "acp",
    adapter_version: "0.1.0",
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
