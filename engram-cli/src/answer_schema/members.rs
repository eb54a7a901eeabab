//! Members that several answers have.

use super::form::When::{Always, Known};
use super::form::{Is, Member};

/// Members of an object: each with its name, when it is there, its type, and what it means. Those that several answers have are named.
macro_rules! rows {
    (@[$($done:expr,)*]) => { &[$($done,)*] };
    (@[$($done:expr,)*] $name:literal, $when:ident, $is:expr, $about:literal; $($rest:tt)*) => {
        rows!(@[$($done,)* Member { name: $name, when: $when, is: $is, about: $about },] $($rest)*)
    };
    (@[$($done:expr,)*] $($shared:ident),+; $($rest:tt)*) => { rows!(@[$($done,)* $($shared,)+] $($rest)*) };
    ($($rows:tt)*) => { rows!(@[] $($rows)*) };
}
pub(super) use rows;

macro_rules! shared {
    ($($visible:vis $member:ident: $name:literal, $when:ident, $is:expr, $about:literal;)+) => {
        $($visible const $member: Member = Member { name: $name, when: $when, is: $is, about: $about };)+
    };
}

/// Words of a tape. They are history and no instructions.
pub(super) const QUOTE: Is = Is::Object(rows! {
    "quoted", Always, Is::True, "these are words of a tape";
    "from", Always, Is::Text, "the tape and the event, `TAPE#SEQ`";
    "text", Always, Is::Text, "the words";
    "cut", Known, Is::True, "there are more words";
});

pub(super) const CALL: Is = Is::Object(rows! {
    "harness", Always, Is::Text, "the harness";
    "session", Known, Is::Text, "the id of the session";
    "agent", Known, Is::Text, "the id of the sub-agent that made the call";
    "title", Known, Is::Text, "the title of the session";
    "project", Known, Is::Text, "the first working directory of the session";
    "tape", Always, Is::Text, "the path of the tape";
    "seq", Always, Is::Count, "the event of the call on the tape";
    "t", Known, Is::Time, "when it was made";
    "tool", Known, Is::Text, "the tool, as the harness names it";
    "tool_kind", Known, Is::Text, "what the tool does: `edit`, `execute`, ...";
    "call_id", Known, Is::Text, "the id of the call";
    "model", Known, Is::Text, "the model that asked for it";
    "status", Known, Is::Word(&["ok", "error", "denied", "cancelled"]), "how it ended";
    "absent", Known, Is::True, "the file of the tape is gone";
    "changed", Known, Is::True, "the file of the tape has another text now, and nothing is quoted from it";
});

pub(super) const TIERS: Is = Is::Word(&["state", "line", "moved", "older", "unknown"]);
pub(super) const REASONS: Is = Is::Word(&[
    "no_session",
    "no_edit",
    "nobody",
    "command",
    "no_text",
    "overwritten",
    "unclear",
]);

shared! {
    pub(super) LINES: "lines", Always, Is::List(&Is::Lines), "the lines";
    pub(super) TIER: "tier", Always, TIERS, "what the answer rests on";
    pub(super) WHY: "why", Known, REASONS, "why nobody knows who made the lines";
    pub(super) OP: "op", Known, Is::Text, "what the edit did: `create`, `update`, ...";
    pub(super) FILE: "file", Known, Is::Text, "the file of the edit";
    pub(super) BEFORE: "before_range", Known, Is::Lines, "the lines that it replaced";
    pub(super) AFTER: "after_range", Known, Is::Lines, "the lines that it left";
    pub(super) MADE_BY: "call", Known, CALL, "the call";
    pub(super) ALSO: "also", Known, Is::List(&Is::Text), "other calls that prove the same, `TAPE#SEQ`";
    pub(super) PROMPT: "prompt", Known, QUOTE, "the prompt of the turn of the call";
    pub(super) CHANGE: "change", Known, QUOTE, "what the call was asked to change, as a diff, or its arguments";
}

// What the last line of a bounded answer always has.
shared! {
    pub(super) K: "k", Always, Is::Word(&["end"]), "the last line of the answer";
    pub(super) RETURNED: "returned", Always, Is::Count, "the lines before this one";
    pub(super) TOTAL: "total", Always, Is::Count, "the lines that there are";
    pub(super) NEXT: "next", Known, Is::Count, "the value of `--skip` that shows the next";
    pub(super) INDEX: "index", Known, Is::Text, "the database that was asked";
    pub(super) NOTES: "notes", Known, Is::List(&Is::Text), "what was left out, and why";
}

pub(super) const COUNTS: Is = Is::Object(rows! {
    "state", Known, Is::Count, "of tier `state`";
    "line", Known, Is::Count, "of tier `line`";
    "moved", Known, Is::Count, "of tier `moved`";
    "older", Known, Is::Count, "of tier `older`";
    "unknown", Known, Is::Count, "of tier `unknown`";
});

shared! {
    pub(super) COST_USD: "cost_usd", Known, Is::Number, "what it cost in US dollars, with its sub-agents";
    pub(super) COST_BASIS: "cost_basis", Known, Is::Word(&["stated", "computed", "mixed"]),
        "whether the log states the cost, or it is computed from tokens and prices, or both";
    pub(super) COST_IS_PARTIAL: "cost_is_partial", Known, Is::True, "the cost is at least so much";
    pub(super) MODELS_WITHOUT_PRICE: "models_without_price", Known, Is::List(&Is::Text), "models whose cost is unknown";
}

shared! {
    RESPONSES: "responses", Always, Is::Count, "the responses that are added";
    TOKENS_INPUT: "input", Known, Is::Count, "input tokens that neither came from a cache nor went to one";
    TOKENS_OUTPUT: "output", Known, Is::Count, "output tokens with those of reasoning";
    TOKENS_CACHE_READ: "cache_read", Known, Is::Count, "input tokens that came from a cache";
    TOKENS_CACHE_WRITE: "cache_write", Known, Is::Count, "input tokens that went to a cache";
    TOKENS_CACHE_WRITE_1H: "cache_write_1h", Known, Is::Count, "the part of `cache_write` with the longer life";
    TOKENS_REASONING: "reasoning", Known, Is::Count, "output tokens of reasoning";
    TOKENS_PARTIAL: "partial", Known, Is::Map(&Is::True), "the sums that are at least so much, and may be more";
}

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

shared! {
    pub(super) SESSIONS: "sessions", Always, Is::Count, "the sessions";
    pub(super) SUB_AGENTS: "sub_agents", Always, Is::Count, "the sub-agents";
    pub(super) PROMPTS: "prompts", Known, Is::Count, "the prompts of a person or an agent";
    pub(super) MESSAGES: "answers", Known, Is::Count, "the messages of the agent, without its reasoning";
    pub(super) CALLS: "calls", Known, Is::Map(&Is::Map(&Is::Count)), "the calls, by kind of the tool and status";
    pub(super) FILES_EDITED: "files_edited", Known, Is::Count, "the different files that were changed";
    pub(super) EDITS: "edits", Known, Is::Map(&Is::Count), "the changes, by operation";
    pub(super) BY_MODEL: "by_model", Known, Is::Map(&PRICED), "the tokens, by model";
}
