//! The table of all events and their fields.

use super::field::{Empty, EventSchema, Field, FieldType, Presence};
use crate::anchor::SCHEME;
use crate::event::{
    Author, Channel, Decision, EditOp, Kind, Role, SPANS_TEXT, Status, TimeBasis, UNICODE_REPLACED,
};
use crate::policy::Policy;
use crate::tape::REDACTION;
use crate::tape::TAPE_SCHEMA;
use crate::tool_kind::ToolKind;
use crate::version::Support;

const fn always(key: &'static str, field_type: FieldType) -> Field {
    Field {
        key,
        presence: Presence::Always,
        field_type,
    }
}

const fn stated(key: &'static str, field_type: FieldType) -> Field {
    Field {
        key,
        presence: Presence::Stated,
        field_type,
    }
}

/// The first field of each `meta` event.
const LABEL: Field = always("label", FieldType::Name);

const fn meta(label: &'static str, fields: &'static [Field], meaning: &'static str) -> EventSchema {
    EventSchema {
        kind: Kind::Meta,
        label: Some(label),
        fields,
        meaning,
    }
}

const fn kind(kind: Kind, fields: &'static [Field], meaning: &'static str) -> EventSchema {
    EventSchema {
        kind,
        label: None,
        fields,
        meaning,
    }
}

macro_rules! words {
    ($type:ident: $($value:ident),+) => { FieldType::Word(&[$($type::$value.as_str()),+]) };
}

const TOOL_KINDS: [&str; ToolKind::ALL.len()] = {
    let mut names = [""; ToolKind::ALL.len()];
    let mut n = 0;
    while n < names.len() {
        names[n] = ToolKind::ALL[n].as_str();
        n += 1;
    }
    names
};

const GRADE: FieldType = FieldType::Word(&["full", "partial", "none"]);
const HARNESS: FieldType = FieldType::Object(&[
    always("family", FieldType::Name),
    stated("version", FieldType::Name),
    stated("schema", FieldType::Name),
]);
const SUPPORT: FieldType = words!(Support: Tested, Between, Ahead, Unknown, KnownBad);
const DEGRADED: FieldType = FieldType::List(&FieldType::Name, Empty::Allowed);
const COVERAGE: FieldType = FieldType::Object(&[
    always("meta", GRADE),
    always("msg.in", GRADE),
    always("msg.out", GRADE),
    always("tool.call", GRADE),
    always("tool.result", GRADE),
    always("code.read", GRADE),
    always("code.edit", GRADE),
    always("span.link", GRADE),
]);
const COUNTS: FieldType = FieldType::Object(&[
    always("meta", FieldType::Count),
    always("msg.in", FieldType::Count),
    always("msg.out", FieldType::Count),
    always("tool.call", FieldType::Count),
    always("tool.result", FieldType::Count),
    always("code.read", FieldType::Count),
    always("code.edit", FieldType::Count),
    always("span.link", FieldType::Count),
]);
const LEDGER: FieldType = FieldType::Object(&[
    always("records", FieldType::Count),
    always("mapped", FieldType::Count),
    always("duplicate", FieldType::Count),
    always("bookkeeping", FieldType::Count),
    always("unrecognized", FieldType::Count),
    always("malformed", FieldType::Count),
    always("omitted", FieldType::List(&OMITTED, Empty::Allowed)),
    stated(
        "unknown_members",
        FieldType::List(&UNKNOWN_MEMBER, Empty::Omitted),
    ),
    stated("unknown_members_more", FieldType::Count),
    stated("redactions", FieldType::List(&REDACTED, Empty::Omitted)),
]);
const UNKNOWN_MEMBER: FieldType = FieldType::Object(&[
    always("type", FieldType::Text),
    always("pointer", FieldType::Text),
    stated("found", FieldType::Name),
    always("count", FieldType::Count),
]);
const REDACTED: FieldType = FieldType::Object(&[
    always("rule", FieldType::Name),
    always("count", FieldType::Count),
]);
const INPUT: FieldType = FieldType::Object(&[
    always("hash", FieldType::Hash),
    always("bytes", FieldType::Count),
    stated("beside", FieldType::List(&BESIDE, Empty::Omitted)),
]);
const BESIDE: FieldType = FieldType::Object(&[
    always("name", FieldType::Text),
    stated("hash", FieldType::Hash),
    always("bytes", FieldType::Count),
]);
const OMITTED: FieldType = FieldType::Object(&[
    always("type", FieldType::Text),
    always("rule", FieldType::Name),
    always("count", FieldType::Count),
]);
const TOKENS: FieldType = FieldType::Object(&[
    stated("input", FieldType::Count),
    stated("cache_read", FieldType::Count),
    stated("cache_write", FieldType::Count),
    stated("cache_write_1h", FieldType::Count),
    stated("output", FieldType::Count),
    stated("reasoning", FieldType::Count),
]);
const ATTACHMENT: FieldType = FieldType::Object(&[
    stated("media_type", FieldType::Name),
    stated("hash", FieldType::Hash),
    stated("bytes", FieldType::Count),
    stated("name", FieldType::Name),
]);
const ATTACHMENTS: FieldType = FieldType::List(&ATTACHMENT, Empty::Omitted);
const ARTIFACT: FieldType = FieldType::Object(&[
    always("path", FieldType::Text),
    stated("hash", FieldType::Hash),
    stated("bytes", FieldType::Count),
]);

/// The fields of every event that come before those of its kind.
pub const ENVELOPE_HEAD: &[Field] = &[
    always("seq", FieldType::Count),
    always("t", FieldType::Time),
    always("k", FieldType::Name),
    always(
        "source",
        FieldType::Object(&[
            always("harness", FieldType::Name),
            stated("session_id", FieldType::Name),
            stated("agent_id", FieldType::Name),
        ]),
    ),
];

/// The fields of every event that come after those of its kind.
pub const ENVELOPE_TAIL: &[Field] = &[
    stated("parent", FieldType::Count),
    stated("t_basis", words!(TimeBasis: Inherited, Absent)),
    stated(
        "origin",
        FieldType::Object(&[
            stated("line", FieldType::Count),
            stated("part", FieldType::Count),
            stated("pointer", FieldType::Pointer),
            stated("id", FieldType::Name),
        ]),
    ),
    stated("replay", FieldType::Only(true)),
];

/// All kinds of events and all labels of `meta`, with their fields in order.
pub const EVENTS: &[EventSchema] = &[
    meta(
        "tape.start",
        &[
            LABEL,
            always("schema", FieldType::Word(&[TAPE_SCHEMA])),
            always(
                "adapter",
                FieldType::Object(&[
                    always("id", FieldType::Name),
                    always("version", FieldType::Name),
                ]),
            ),
            always("harness", HARNESS),
            always("policy", words!(Policy: Strict, Permissive)),
            always("anchors", FieldType::Scheme(SCHEME)),
            stated("redaction", FieldType::Scheme(REDACTION)),
            stated("unicode", FieldType::Word(&[UNICODE_REPLACED])),
            stated("spans", FieldType::Word(&[SPANS_TEXT])),
            always("support", SUPPORT),
            always("coverage", COVERAGE),
            always("degraded", DEGRADED),
        ],
        "the first event: adapter, harness, policy, and the claims of the tape",
    ),
    meta(
        "revision",
        &[
            LABEL,
            always("harness", HARNESS),
            always("support", SUPPORT),
            always("coverage", COVERAGE),
            always("degraded", DEGRADED),
        ],
        "the harness version changes inside the artifact: harness and claims from here on",
    ),
    meta(
        "session",
        &[
            LABEL,
            stated("model", FieldType::Name),
            stated("provider", FieldType::Name),
            stated("repo_head", FieldType::Name),
            stated("repo_branch", FieldType::Name),
            stated("repo_url", FieldType::Name),
            stated("cwd", FieldType::Name),
            stated("title", FieldType::Name),
            stated("parent_session_id", FieldType::Name),
            stated("parent_call_id", FieldType::Name),
            stated("fork_of", FieldType::Name),
            stated("agent", FieldType::Name),
            stated("permission_mode", FieldType::Name),
            stated("effort", FieldType::Name),
            stated("cost_total_usd", FieldType::Number),
            stated("context_tokens", FieldType::Count),
        ],
        "facts about the session, at the point where the source says them",
    ),
    meta(
        "usage",
        &[
            LABEL,
            stated("message_id", FieldType::Name),
            stated("request_id", FieldType::Name),
            stated("model", FieldType::Name),
            stated("tokens", TOKENS),
            stated("cost_usd", FieldType::Number),
            stated("stop_reason", FieldType::Name),
            stated("service_tier", FieldType::Name),
            stated("provisional", FieldType::Only(true)),
            stated("part", FieldType::Name),
        ],
        "the cost of one response; `provisional` if the log has only a count from before its end; `part` names what a second model did in \
         it, which has a usage of its own",
    ),
    meta(
        "episode",
        &[
            LABEL,
            stated("work_id", FieldType::Name),
            stated("episode_id", FieldType::Name),
            stated("session_id", FieldType::Name),
            stated("adapter_profile_hash", FieldType::Name),
            stated("agent", FieldType::Name),
            stated("agent_version", FieldType::Name),
        ],
        "one run of an agent under a profile, which a driver led: its ids, the hash of the profile, the agent and its version",
    ),
    meta(
        "rewind",
        &[
            LABEL,
            always("to", FieldType::Count),
            stated("files", FieldType::Only(true)),
        ],
        "the person went back: `to` is the last event that still holds; `files` if files were restored too",
    ),
    meta(
        "compaction",
        &[
            LABEL,
            stated("text", FieldType::Text),
            stated("trigger", FieldType::Name),
        ],
        "the summary that replaced earlier messages",
    ),
    meta(
        "error",
        &[
            LABEL,
            stated("code", FieldType::Name),
            stated("text", FieldType::Text),
        ],
        "an error that the harness recorded",
    ),
    meta(
        "interrupt",
        &[LABEL, stated("text", FieldType::Text)],
        "the user or the harness stopped the turn",
    ),
    meta(
        "permission",
        &[
            LABEL,
            always("decision", words!(Decision: Allow, Deny, Ask)),
            stated("tool", FieldType::Name),
            stated("call_id", FieldType::Name),
            stated("text", FieldType::Text),
        ],
        "a decision about a tool call",
    ),
    meta(
        "context",
        &[
            LABEL,
            always("name", FieldType::Text),
            stated("file", FieldType::Name),
            stated("hash", FieldType::Hash),
            stated("bytes", FieldType::Count),
            stated("text", FieldType::Text),
        ],
        "input of the model that is not part of the conversation",
    ),
    meta(
        "system",
        &[
            LABEL,
            always("name", FieldType::Text),
            stated("text", FieldType::Text),
        ],
        "any other notice of the harness",
    ),
    meta(
        "unrecognized",
        &[
            LABEL,
            always("name", FieldType::Text),
            stated("raw", FieldType::Json),
            stated("bytes", FieldType::Count),
            stated("hash", FieldType::Hash),
            stated("lossy", FieldType::Only(true)),
        ],
        "a record or block that the adapter does not know or cannot read; `bytes` and `hash` if it exceeds a limit",
    ),
    meta(
        "tape.stop",
        &[
            LABEL,
            always("counts", COUNTS),
            always("ledger", LEDGER),
            always("input", INPUT),
            always("complete", FieldType::Bool),
        ],
        "the last event: counts, ledger, input, and whether the artifact is complete",
    ),
    kind(
        Kind::MsgIn,
        &[
            always("role", words!(Role: User, System, Developer)),
            always("by", words!(Author: Person, Agent, Harness)),
            stated("text", FieldType::Text),
            stated("attachments", ATTACHMENTS),
        ],
        "input to the agent; `by` is who wrote it: a person, a model, or the harness",
    ),
    kind(
        Kind::MsgOut,
        &[
            stated("text", FieldType::Text),
            stated("channel", words!(Channel: Final, Commentary, Reasoning)),
            stated("model", FieldType::Name),
            stated("message_id", FieldType::Name),
            stated("redacted", FieldType::Only(true)),
        ],
        "output of the agent; `redacted` if the source contains only an opaque form",
    ),
    kind(
        Kind::ToolCall,
        &[
            always("tool", FieldType::Text),
            stated("server", FieldType::Name),
            always("kind", FieldType::Word(&TOOL_KINDS)),
            stated("call_id", FieldType::Name),
            stated("message_id", FieldType::Name),
            stated("args", FieldType::Json),
        ],
        "the agent calls a tool; `args` is the JSON value of the source",
    ),
    kind(
        Kind::ToolResult,
        &[
            stated("tool", FieldType::Name),
            stated("call_id", FieldType::Name),
            stated("status", words!(Status: Ok, Error, Denied, Cancelled)),
            stated("exit", FieldType::Integer),
            stated("stdout", FieldType::Text),
            stated("stderr", FieldType::Text),
            stated("truncated", FieldType::Only(true)),
            stated("artifact", ARTIFACT),
            stated("attachments", ATTACHMENTS),
            stated("duration_ms", FieldType::Count),
        ],
        "the result of a tool call",
    ),
    kind(
        Kind::CodeRead,
        &[
            stated("call_id", FieldType::Name),
            always("file", FieldType::Text),
            stated("range", FieldType::Range),
            stated("total_lines", FieldType::Count),
            stated("hash", FieldType::Hash),
            stated("anchor_hashes", FieldType::Anchors),
            stated("text", FieldType::Text),
        ],
        "a successful read of a file",
    ),
    kind(
        Kind::CodeEdit,
        &[
            stated("call_id", FieldType::Name),
            always(
                "op",
                words!(EditOp: Create, Update, Overwrite, Delete, Move),
            ),
            always("file", FieldType::Text),
            stated("before_range", FieldType::Range),
            stated("after_range", FieldType::Range),
            stated("before_hash", FieldType::Hash),
            stated("after_hash", FieldType::Hash),
            stated("file_before_hash", FieldType::Hash),
            stated("file_after_hash", FieldType::Hash),
            stated("before_anchor_hashes", FieldType::Anchors),
            stated("after_anchor_hashes", FieldType::Anchors),
            stated("before_text", FieldType::Text),
            stated("after_text", FieldType::Text),
            stated("before_lines", FieldType::Count),
            stated("after_lines", FieldType::Count),
            stated("basis", FieldType::Word(&["snippet"])),
            stated("confirmed", FieldType::Only(false)),
        ],
        "an applied change to one span of one file",
    ),
    kind(
        Kind::SpanLink,
        &[
            always("from_file", FieldType::Text),
            stated("from_range", FieldType::Range),
            always("to_file", FieldType::Text),
            stated("to_range", FieldType::Range),
            stated("note", FieldType::Text),
        ],
        "a link between two spans that the agent or harness declares",
    ),
];
