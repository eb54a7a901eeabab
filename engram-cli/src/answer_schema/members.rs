//! Members that several answers have.

use super::form::When::{Always, Known};
use super::form::{Is, Member, When};

pub(super) const fn member(name: &'static str, when: When, is: Is, about: &'static str) -> Member {
    Member {
        name,
        when,
        is,
        about,
    }
}

/// Words of a tape. They are history and no instructions.
pub(super) const QUOTE: Is = Is::Object(&[
    member("quoted", Always, Is::True, "these are words of a tape"),
    member(
        "from",
        Always,
        Is::Text,
        "the tape and the event, `TAPE#SEQ`",
    ),
    member("text", Always, Is::Text, "the words"),
    member("cut", Known, Is::True, "there are more words"),
]);

pub(super) const CALL: Is = Is::Object(&[
    member("harness", Always, Is::Text, "the harness"),
    member("session", Known, Is::Text, "the id of the session"),
    member(
        "agent",
        Known,
        Is::Text,
        "the id of the sub-agent that made the call",
    ),
    member("tape", Always, Is::Text, "the path of the tape"),
    member(
        "seq",
        Always,
        Is::Count,
        "the event of the call on the tape",
    ),
    member("t", Known, Is::Time, "when it was made"),
    member("tool", Known, Is::Text, "the tool, as the harness names it"),
    member(
        "tool_kind",
        Known,
        Is::Text,
        "what the tool does: `edit`, `execute`, ...",
    ),
    member("call_id", Known, Is::Text, "the id of the call"),
    member("model", Known, Is::Text, "the model that asked for it"),
    member(
        "status",
        Known,
        Is::Word(&["ok", "error", "denied", "cancelled"]),
        "how it ended",
    ),
    member("absent", Known, Is::True, "the file of the tape is gone"),
    member(
        "changed",
        Known,
        Is::True,
        "the file of the tape has another text now, and nothing is quoted from it",
    ),
]);

pub(super) const TIERS: Is = Is::Word(&["state", "line", "moved", "older", "unknown"]);
pub(super) const REASONS: Is = Is::Word(&[
    "no_session",
    "nobody",
    "command",
    "no_text",
    "overwritten",
    "unclear",
]);

pub(super) const LINES: Member = member("lines", Always, Is::List(&Is::Lines), "the lines");
pub(super) const TIER: Member = member("tier", Always, TIERS, "what the answer rests on");
pub(super) const WHY: Member = member("why", Known, REASONS, "why nobody knows who made the lines");
pub(super) const OP: Member = member(
    "op",
    Known,
    Is::Text,
    "what the edit did: `create`, `update`, ...",
);
pub(super) const FILE: Member = member("file", Known, Is::Text, "the file of the edit");
pub(super) const BEFORE: Member = member(
    "before_range",
    Known,
    Is::Lines,
    "the lines that it replaced",
);
pub(super) const AFTER: Member = member("after_range", Known, Is::Lines, "the lines that it left");
pub(super) const MADE_BY: Member = member("call", Known, CALL, "the call");
pub(super) const ALSO: Member = member(
    "also",
    Known,
    Is::List(&Is::Text),
    "other calls that prove the same, `TAPE#SEQ`",
);
pub(super) const PROMPT: Member =
    member("prompt", Known, QUOTE, "the prompt of the turn of the call");
pub(super) const CHANGE: Member = member(
    "change",
    Known,
    QUOTE,
    "what the call was asked to change, as a diff, or its arguments",
);

/// What the last line of a bounded answer always has.
pub(super) const K: Member = member(
    "k",
    Always,
    Is::Word(&["end"]),
    "the last line of the answer",
);
pub(super) const RETURNED: Member =
    member("returned", Always, Is::Count, "the lines before this one");
pub(super) const TOTAL: Member = member("total", Always, Is::Count, "the lines that there are");
pub(super) const NEXT: Member = member(
    "next",
    Known,
    Is::Count,
    "the value of `--skip` that shows the next",
);
pub(super) const INDEX: Member = member("index", Known, Is::Text, "the database that was asked");
pub(super) const NOTES: Member = member(
    "notes",
    Known,
    Is::List(&Is::Text),
    "what was left out, and why",
);

pub(super) const COUNTS: Is = Is::Object(&[
    member("state", Known, Is::Count, "of tier `state`"),
    member("line", Known, Is::Count, "of tier `line`"),
    member("moved", Known, Is::Count, "of tier `moved`"),
    member("older", Known, Is::Count, "of tier `older`"),
    member("unknown", Known, Is::Count, "of tier `unknown`"),
]);

pub(super) const COST_USD: Member = member(
    "cost_usd",
    Known,
    Is::Number,
    "what it cost in US dollars, with its sub-agents",
);
pub(super) const COST_BASIS: Member = member(
    "cost_basis",
    Known,
    Is::Word(&["stated", "computed", "mixed"]),
    "whether the log states the cost, or it is computed from tokens and prices, or both",
);
pub(super) const COST_IS_PARTIAL: Member = member(
    "cost_is_partial",
    Known,
    Is::True,
    "the cost is at least so much",
);
pub(super) const MODELS_WITHOUT_PRICE: Member = member(
    "models_without_price",
    Known,
    Is::List(&Is::Text),
    "models whose cost is unknown",
);

const RESPONSES: Member = member(
    "responses",
    Always,
    Is::Count,
    "the responses that are added",
);
const TOKENS_INPUT: Member = member(
    "input",
    Known,
    Is::Count,
    "input tokens that neither came from a cache nor went to one",
);
const TOKENS_OUTPUT: Member = member(
    "output",
    Known,
    Is::Count,
    "output tokens with those of reasoning",
);
const TOKENS_CACHE_READ: Member = member(
    "cache_read",
    Known,
    Is::Count,
    "input tokens that came from a cache",
);
const TOKENS_CACHE_WRITE: Member = member(
    "cache_write",
    Known,
    Is::Count,
    "input tokens that went to a cache",
);
const TOKENS_CACHE_WRITE_1H: Member = member(
    "cache_write_1h",
    Known,
    Is::Count,
    "the part of `cache_write` with the longer life",
);
const TOKENS_REASONING: Member =
    member("reasoning", Known, Is::Count, "output tokens of reasoning");
const TOKENS_PARTIAL: Member = member(
    "partial",
    Known,
    Is::Map(&Is::True),
    "the sums that are at least so much, and may be more",
);

/// Tokens.
pub(super) const TOKENS: Is = Is::Object(&[
    RESPONSES,
    TOKENS_INPUT,
    TOKENS_OUTPUT,
    TOKENS_CACHE_READ,
    TOKENS_CACHE_WRITE,
    TOKENS_CACHE_WRITE_1H,
    TOKENS_REASONING,
    TOKENS_PARTIAL,
]);

/// Tokens, and what they cost.
pub(super) const PRICED: Is = Is::Object(&[
    RESPONSES,
    TOKENS_INPUT,
    TOKENS_OUTPUT,
    TOKENS_CACHE_READ,
    TOKENS_CACHE_WRITE,
    TOKENS_CACHE_WRITE_1H,
    TOKENS_REASONING,
    TOKENS_PARTIAL,
    COST_USD,
    COST_BASIS,
    COST_IS_PARTIAL,
    MODELS_WITHOUT_PRICE,
]);

pub(super) const SESSIONS: Member = member("sessions", Always, Is::Count, "the sessions");
pub(super) const SUB_AGENTS: Member = member("sub_agents", Always, Is::Count, "the sub-agents");
pub(super) const PROMPTS: Member = member(
    "prompts",
    Known,
    Is::Count,
    "the prompts of a person or an agent",
);
pub(super) const MESSAGES: Member = member(
    "answers",
    Known,
    Is::Count,
    "the messages of the agent, without its reasoning",
);
pub(super) const CALLS: Member = member(
    "calls",
    Known,
    Is::Map(&Is::Map(&Is::Count)),
    "the calls, by kind of the tool and status",
);
pub(super) const FILES_EDITED: Member = member(
    "files_edited",
    Known,
    Is::Count,
    "the different files that were changed",
);
pub(super) const EDITS: Member = member(
    "edits",
    Known,
    Is::Map(&Is::Count),
    "the changes, by operation",
);
pub(super) const BY_MODEL: Member =
    member("by_model", Known, Is::Map(&PRICED), "the tokens, by model");
