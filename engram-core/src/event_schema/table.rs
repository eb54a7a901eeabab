//! The table of all events and their fields.

use super::field::{Empty, EventSchema, Field, FieldType, Presence};
use crate::anchor::SCHEME;
use crate::event::*;
use crate::policy::Policy;
use crate::tape::REDACTION;
use crate::tape::TAPE_SCHEMA;
use crate::tape::fields::Fields as _;
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

/// The fields of a label: its name, and those of a struct.
macro_rules! labelled {
    ($fields:expr) => {{
        const ALL: [Field; $fields.len() + 1] = {
            let mut all = [LABEL; $fields.len() + 1];
            let mut n = 0;
            while n < $fields.len() {
                all[n + 1] = $fields[n];
                n += 1;
            }
            all
        };
        &ALL
    }};
}

const GRADE: FieldType = FieldType::Word(&ClaimGrade::WORDS);
const HARNESS: FieldType = FieldType::Object(&[
    always("family", FieldType::Name),
    stated("version", FieldType::Name),
    stated("schema", FieldType::Name),
]);
const SUPPORT: FieldType = FieldType::Word(&Support::WORDS);
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
    stated("t_basis", FieldType::Word(&TimeBasis::WORDS)),
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
            always("policy", FieldType::Word(&Policy::WORDS)),
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
        labelled!(SessionFacts::FIELDS),
        "facts about the session, at the point where the source says them",
    ),
    meta(
        "usage",
        labelled!(Usage::FIELDS),
        "the cost of one response; `provisional` if the log has only a count from before its end; `part` names what a second model did in \
         it, which has a usage of its own",
    ),
    meta(
        "episode",
        labelled!(EpisodeFacts::FIELDS),
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
        labelled!(Permission::FIELDS),
        "a decision about a tool call",
    ),
    meta(
        "context",
        labelled!(ImplicitInput::FIELDS),
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
        MsgIn::FIELDS,
        "input to the agent; `by` is who wrote it: a person, a model, or the harness",
    ),
    kind(
        Kind::MsgOut,
        MsgOut::FIELDS,
        "output of the agent; `redacted` if the source contains only an opaque form",
    ),
    kind(
        Kind::ToolCall,
        ToolCall::FIELDS,
        "the agent calls a tool; `args` is the JSON value of the source",
    ),
    kind(
        Kind::ToolResult,
        ToolResult::FIELDS,
        "the result of a tool call",
    ),
    kind(
        Kind::CodeRead,
        CodeRead::FIELDS,
        "a successful read of a file",
    ),
    kind(
        Kind::CodeEdit,
        CodeEdit::FIELDS,
        "an applied change to one span of one file",
    ),
    kind(
        Kind::SpanLink,
        SpanLink::FIELDS,
        "a link between two spans that the agent or harness declares",
    ),
];
