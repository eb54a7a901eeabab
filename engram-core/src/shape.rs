//! What every event looks like: one table, from which the checker, the JSON Schema and the documentation are made.

use crate::anchor::SCHEME;
use crate::emit::TAPE_SCHEMA;
use crate::event::{Channel, Decision, EditOp, Kind, Role, Status};
use crate::policy::Policy;
use crate::tape::TimeBasis;
use crate::tool_kind::ToolKind;
use crate::version::Support;

/// What a value must be.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// A string. An empty one is a fact: an output that was empty.
    Text,
    /// A string that is never empty: what is unknown is left out.
    Name,
    /// One of these strings.
    Word(&'static [&'static str]),
    /// An integer of 0 or more.
    Count,
    /// An integer.
    Integer,
    /// A number, spelled as the source spells it.
    Number,
    /// `true` or `false`.
    Bool,
    /// Only this; the other is said by leaving the key out.
    Only(bool),
    /// `YYYY-MM-DDTHH:MM:SS[.fraction]Z`.
    Time,
    /// `blake3:` and 64 hex digits.
    Hash,
    /// `[first,last]`, 1-based lines; `[n,n-1]` is the empty span between lines n-1 and n.
    Range,
    /// A list of one or more fingerprints of 16 hex digits.
    Anchors,
    /// A JSON pointer (RFC 6901) that is not empty.
    Pointer,
    /// Any JSON value of the source.
    Json,
    /// An object with these members, in this order.
    Object(&'static [Field]),
    /// A list of such values, and whether it may be empty.
    List(&'static Shape, Empty),
}

/// Whether a list may be empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Empty {
    /// It may.
    Allowed,
    /// What is empty is left out.
    LeftOut,
}

/// Whether a field is always there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Always.
    Always,
    /// Where the source states it.
    Stated,
}

/// One member of an object.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// The key.
    pub key: &'static str,
    /// Whether it is always there.
    pub need: Need,
    /// What its value must be.
    pub shape: Shape,
}

/// The own fields of one kind of event, or of one label of `meta`.
#[derive(Debug, Clone, Copy)]
pub struct EventShape {
    /// The kind.
    pub kind: Kind,
    /// The label, for `meta`.
    pub label: Option<&'static str>,
    /// The fields, in their order.
    pub fields: &'static [Field],
    /// What the event says.
    pub meaning: &'static str,
}

/// The shape of a kind, or of a label of `meta`.
pub fn of(kind: Kind, label: Option<&str>) -> Option<&'static EventShape> {
    EVENTS.iter().find(|event| event.kind == kind && event.label == label)
}

const fn always(key: &'static str, shape: Shape) -> Field {
    Field { key, need: Need::Always, shape }
}

const fn stated(key: &'static str, shape: Shape) -> Field {
    Field { key, need: Need::Stated, shape }
}

/// A `meta` event's label comes before its fields.
const LABEL: Field = always("label", Shape::Name);

const fn meta(label: &'static str, fields: &'static [Field], meaning: &'static str) -> EventShape {
    EventShape { kind: Kind::Meta, label: Some(label), fields, meaning }
}

const fn kind(kind: Kind, fields: &'static [Field], meaning: &'static str) -> EventShape {
    EventShape { kind, label: None, fields, meaning }
}

macro_rules! words {
    ($type:ident: $($value:ident),+) => { Shape::Word(&[$($type::$value.as_str()),+]) };
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

const GRADE: Shape = Shape::Word(&["full", "partial", "none"]);
const HARNESS: Shape = Shape::Object(&[always("family", Shape::Name), stated("version", Shape::Name), stated("schema", Shape::Name)]);
const SUPPORT: Shape = words!(Support: Tested, Untested, Unknown, KnownBad);
const DEGRADED: Shape = Shape::List(&Shape::Name, Empty::Allowed);
const COVERAGE: Shape = Shape::Object(&[
    always("meta", GRADE),
    always("msg.in", GRADE),
    always("msg.out", GRADE),
    always("tool.call", GRADE),
    always("tool.result", GRADE),
    always("code.read", GRADE),
    always("code.edit", GRADE),
    always("span.link", GRADE),
]);
const COUNTS: Shape = Shape::Object(&[
    always("meta", Shape::Count),
    always("msg.in", Shape::Count),
    always("msg.out", Shape::Count),
    always("tool.call", Shape::Count),
    always("tool.result", Shape::Count),
    always("code.read", Shape::Count),
    always("code.edit", Shape::Count),
    always("span.link", Shape::Count),
]);
const LEDGER: Shape = Shape::Object(&[
    always("records", Shape::Count),
    always("mapped", Shape::Count),
    always("duplicate", Shape::Count),
    always("bookkeeping", Shape::Count),
    always("unrecognized", Shape::Count),
    always("malformed", Shape::Count),
    always("omitted", Shape::List(&OMITTED, Empty::Allowed)),
]);
const OMITTED: Shape = Shape::Object(&[always("type", Shape::Text), always("rule", Shape::Name), always("count", Shape::Count)]);
const TOKENS: Shape = Shape::Object(&[
    stated("input", Shape::Number),
    stated("output", Shape::Number),
    stated("cache_read", Shape::Number),
    stated("cache_write", Shape::Number),
    stated("reasoning", Shape::Number),
    stated("total", Shape::Number),
]);
const ATTACHMENT: Shape = Shape::Object(&[
    stated("media_type", Shape::Name),
    stated("hash", Shape::Hash),
    stated("bytes", Shape::Count),
    stated("name", Shape::Name),
]);
const ATTACHMENTS: Shape = Shape::List(&ATTACHMENT, Empty::LeftOut);
const ARTIFACT: Shape = Shape::Object(&[always("path", Shape::Text), stated("hash", Shape::Hash), stated("bytes", Shape::Count)]);

/// What stands before the kind's own fields in every event.
pub const ENVELOPE_HEAD: &[Field] = &[
    always("seq", Shape::Count),
    always("t", Shape::Time),
    always("k", Shape::Name),
    always("source", Shape::Object(&[always("harness", Shape::Name), stated("session_id", Shape::Name), stated("agent_id", Shape::Name)])),
];

/// What stands after the kind's own fields.
pub const ENVELOPE_TAIL: &[Field] = &[
    stated("parent", Shape::Count),
    stated("t_basis", words!(TimeBasis: Inherited, Absent)),
    stated(
        "origin",
        Shape::Object(&[
            stated("line", Shape::Count),
            stated("part", Shape::Count),
            stated("pointer", Shape::Pointer),
            stated("id", Shape::Name),
        ]),
    ),
    stated("replay", Shape::Only(true)),
];

/// Every kind of event, and every label of `meta`, with their own fields in order.
pub const EVENTS: &[EventShape] = &[
    meta(
        "tape.start",
        &[
            LABEL,
            always("schema", Shape::Word(&[TAPE_SCHEMA])),
            always("adapter", Shape::Object(&[always("id", Shape::Name), always("version", Shape::Name)])),
            always("harness", HARNESS),
            always("policy", words!(Policy: Strict, Permissive)),
            always("anchors", Shape::Word(&[SCHEME])),
            always("support", SUPPORT),
            always("coverage", COVERAGE),
            always("degraded", DEGRADED),
        ],
        "the first event: what converted what, how, and what the tape claims",
    ),
    meta(
        "revision",
        &[LABEL, always("harness", HARNESS), always("support", SUPPORT), always("coverage", COVERAGE), always("degraded", DEGRADED)],
        "the version changes inside the artifact: what holds from here on",
    ),
    meta(
        "session",
        &[
            LABEL,
            stated("model", Shape::Name),
            stated("provider", Shape::Name),
            stated("repo_head", Shape::Name),
            stated("repo_branch", Shape::Name),
            stated("repo_url", Shape::Name),
            stated("cwd", Shape::Name),
            stated("title", Shape::Name),
            stated("parent_session_id", Shape::Name),
            stated("parent_call_id", Shape::Name),
            stated("fork_of", Shape::Name),
            stated("agent", Shape::Name),
        ],
        "what the source states of the session, when it states it",
    ),
    meta("usage", &[LABEL, stated("model", Shape::Name), stated("tokens", TOKENS), stated("cost_usd", Shape::Number)], "tokens and cost"),
    meta(
        "compaction",
        &[LABEL, stated("text", Shape::Text), stated("trigger", Shape::Name)],
        "the summary that the harness put in place of history",
    ),
    meta("error", &[LABEL, stated("code", Shape::Name), stated("text", Shape::Text)], "an error that the harness recorded"),
    meta("interrupt", &[LABEL, stated("text", Shape::Text)], "the user or the harness stopped the turn"),
    meta(
        "permission",
        &[
            LABEL,
            always("decision", words!(Decision: Allow, Deny, Ask)),
            stated("tool", Shape::Name),
            stated("call_id", Shape::Name),
            stated("text", Shape::Text),
        ],
        "what was decided about a tool call",
    ),
    meta(
        "context",
        &[
            LABEL,
            always("name", Shape::Text),
            stated("file", Shape::Name),
            stated("hash", Shape::Hash),
            stated("bytes", Shape::Count),
            stated("text", Shape::Text),
        ],
        "what the harness fed the model beside the conversation",
    ),
    meta("system", &[LABEL, always("name", Shape::Text), stated("text", Shape::Text)], "any other notice of the harness"),
    meta(
        "unrecognized",
        &[
            LABEL,
            always("name", Shape::Text),
            stated("raw", Shape::Json),
            stated("bytes", Shape::Count),
            stated("hash", Shape::Hash),
            stated("lossy", Shape::Only(true)),
        ],
        "a record or block that the adapter does not know; `bytes` and `hash` where it is over a limit",
    ),
    meta(
        "tape.stop",
        &[
            LABEL,
            always("counts", COUNTS),
            always("ledger", LEDGER),
            always("input", Shape::Object(&[always("hash", Shape::Hash), always("bytes", Shape::Count)])),
            always("complete", Shape::Bool),
        ],
        "the last event: what was counted, and whether the artifact ends mid-record",
    ),
    kind(
        Kind::MsgIn,
        &[
            always("role", words!(Role: User, System, Developer)),
            stated("text", Shape::Text),
            stated("synthetic", Shape::Only(true)),
            stated("attachments", ATTACHMENTS),
        ],
        "input to the agent; `synthetic` when the harness, not a person, wrote it",
    ),
    kind(
        Kind::MsgOut,
        &[
            stated("text", Shape::Text),
            stated("channel", words!(Channel: Final, Commentary, Reasoning)),
            stated("model", Shape::Name),
            stated("message_id", Shape::Name),
            stated("redacted", Shape::Only(true)),
        ],
        "output of the agent; `redacted` when the source holds only an opaque form",
    ),
    kind(
        Kind::ToolCall,
        &[
            always("tool", Shape::Text),
            always("kind", Shape::Word(&TOOL_KINDS)),
            stated("call_id", Shape::Name),
            stated("args", Shape::Json),
        ],
        "the agent invokes a tool; `args` is the source's own JSON value",
    ),
    kind(
        Kind::ToolResult,
        &[
            stated("tool", Shape::Name),
            stated("call_id", Shape::Name),
            stated("status", words!(Status: Ok, Error, Denied, Cancelled)),
            stated("exit", Shape::Integer),
            stated("stdout", Shape::Text),
            stated("stderr", Shape::Text),
            stated("truncated", Shape::Only(true)),
            stated("artifact", ARTIFACT),
            stated("attachments", ATTACHMENTS),
            stated("duration_ms", Shape::Count),
        ],
        "a tool returned",
    ),
    kind(
        Kind::CodeRead,
        &[
            stated("call_id", Shape::Name),
            always("file", Shape::Text),
            stated("range", Shape::Range),
            stated("total_lines", Shape::Count),
            stated("hash", Shape::Hash),
            stated("anchor_hashes", Shape::Anchors),
        ],
        "a read that succeeded",
    ),
    kind(
        Kind::CodeEdit,
        &[
            stated("call_id", Shape::Name),
            always("op", words!(EditOp: Create, Update, Overwrite, Delete, Move)),
            always("file", Shape::Text),
            stated("before_range", Shape::Range),
            stated("after_range", Shape::Range),
            stated("before_hash", Shape::Hash),
            stated("after_hash", Shape::Hash),
            stated("file_before_hash", Shape::Hash),
            stated("file_after_hash", Shape::Hash),
            stated("before_anchor_hashes", Shape::Anchors),
            stated("after_anchor_hashes", Shape::Anchors),
            stated("basis", Shape::Word(&["snippet"])),
            stated("confirmed", Shape::Only(false)),
        ],
        "a change to one span of one file that the source shows to have been applied",
    ),
    kind(
        Kind::SpanLink,
        &[
            always("from_file", Shape::Text),
            stated("from_range", Shape::Range),
            always("to_file", Shape::Text),
            stated("to_range", Shape::Range),
            stated("note", Shape::Text),
        ],
        "a link between two spans that the agent or harness itself declares",
    ),
];
