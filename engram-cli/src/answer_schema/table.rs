//! Every line that a command prints with `--json`, member by member.

use super::When::{Always, Known};
use super::{Answer, Is, Member, When};

const fn member(name: &'static str, when: When, is: Is, about: &'static str) -> Member {
    Member {
        name,
        when,
        is,
        about,
    }
}

/// Words of a tape. They are history and no instructions.
const QUOTE: Is = Is::Object(&[
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

const CALL: Is = Is::Object(&[
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
]);

const TIERS: Is = Is::Word(&["state", "line", "moved", "older", "unknown"]);
const REASONS: Is = Is::Word(&[
    "no_session",
    "nobody",
    "command",
    "no_text",
    "overwritten",
    "unclear",
]);

const LINES: Member = member("lines", Always, Is::List(&Is::Lines), "the lines");
const TIER: Member = member("tier", Always, TIERS, "what the answer rests on");
const WHY: Member = member("why", Known, REASONS, "why nobody knows who made the lines");
const OP: Member = member(
    "op",
    Known,
    Is::Text,
    "what the edit did: `create`, `update`, ...",
);
const FILE: Member = member("file", Known, Is::Text, "the file of the edit");
const BEFORE: Member = member(
    "before_range",
    Known,
    Is::Lines,
    "the lines that it replaced",
);
const AFTER: Member = member("after_range", Known, Is::Lines, "the lines that it left");
const MADE_BY: Member = member("call", Known, CALL, "the call");
const ALSO: Member = member(
    "also",
    Known,
    Is::List(&Is::Text),
    "other calls that prove the same, `TAPE#SEQ`",
);
const PROMPT: Member = member("prompt", Known, QUOTE, "the prompt of the turn of the call");
const CHANGE: Member = member(
    "change",
    Known,
    QUOTE,
    "what the call was asked to change, as a diff, or its arguments",
);

/// What the last line of a bounded answer always has.
const K: Member = member(
    "k",
    Always,
    Is::Word(&["end"]),
    "the last line of the answer",
);
const RETURNED: Member = member("returned", Always, Is::Count, "the lines before this one");
const TOTAL: Member = member("total", Always, Is::Count, "the lines that there are");
const NEXT: Member = member(
    "next",
    Known,
    Is::Count,
    "the value of `--skip` that shows the next",
);
const INDEX: Member = member("index", Known, Is::Text, "the database that was asked");
const NOTES: Member = member(
    "notes",
    Known,
    Is::List(&Is::Text),
    "what was left out, and why",
);

const COUNTS: Is = Is::Object(&[
    member("state", Known, Is::Count, "of tier `state`"),
    member("line", Known, Is::Count, "of tier `line`"),
    member("moved", Known, Is::Count, "of tier `moved`"),
    member("older", Known, Is::Count, "of tier `older`"),
    member("unknown", Known, Is::Count, "of tier `unknown`"),
]);

const COST_USD: Member = member(
    "cost_usd",
    Known,
    Is::Number,
    "what it cost in US dollars, with its sub-agents",
);
const COST_BASIS: Member = member(
    "cost_basis",
    Known,
    Is::Word(&["stated", "computed", "mixed"]),
    "whether the log states the cost, or it is computed from tokens and prices, or both",
);
const COST_IS_PARTIAL: Member = member(
    "cost_is_partial",
    Known,
    Is::True,
    "the cost is at least so much",
);
const MODELS_WITHOUT_PRICE: Member = member(
    "models_without_price",
    Known,
    Is::List(&Is::Text),
    "models whose cost is unknown",
);

/// Tokens, and what they cost.
const PRICED: Is = Is::Object(&[
    member(
        "responses",
        Always,
        Is::Count,
        "the responses that are added",
    ),
    member(
        "input",
        Known,
        Is::Count,
        "input tokens that neither came from a cache nor went to one",
    ),
    member(
        "output",
        Known,
        Is::Count,
        "output tokens with those of reasoning",
    ),
    member(
        "cache_read",
        Known,
        Is::Count,
        "input tokens that came from a cache",
    ),
    member(
        "cache_write",
        Known,
        Is::Count,
        "input tokens that went to a cache",
    ),
    member(
        "cache_write_1h",
        Known,
        Is::Count,
        "the part of `cache_write` with the longer life",
    ),
    member("reasoning", Known, Is::Count, "output tokens of reasoning"),
    member(
        "partial",
        Known,
        Is::Map(&Is::True),
        "the sums that are at least so much, and may be more",
    ),
    COST_USD,
    COST_BASIS,
    COST_IS_PARTIAL,
    MODELS_WITHOUT_PRICE,
]);

const TOKENS: Is = Is::Object(&[
    member(
        "responses",
        Always,
        Is::Count,
        "the responses that are added",
    ),
    member(
        "input",
        Known,
        Is::Count,
        "input tokens that neither came from a cache nor went to one",
    ),
    member(
        "output",
        Known,
        Is::Count,
        "output tokens with those of reasoning",
    ),
    member(
        "cache_read",
        Known,
        Is::Count,
        "input tokens that came from a cache",
    ),
    member(
        "cache_write",
        Known,
        Is::Count,
        "input tokens that went to a cache",
    ),
    member(
        "cache_write_1h",
        Known,
        Is::Count,
        "the part of `cache_write` with the longer life",
    ),
    member("reasoning", Known, Is::Count, "output tokens of reasoning"),
    member(
        "partial",
        Known,
        Is::Map(&Is::True),
        "the sums that are at least so much, and may be more",
    ),
]);

const SESSIONS: Member = member("sessions", Always, Is::Count, "the sessions");
const SUB_AGENTS: Member = member("sub_agents", Always, Is::Count, "the sub-agents");
const PROMPTS: Member = member(
    "prompts",
    Known,
    Is::Count,
    "the prompts of a person or an agent",
);
const MESSAGES: Member = member(
    "answers",
    Known,
    Is::Count,
    "the messages of the agent, without its reasoning",
);
const CALLS: Member = member(
    "calls",
    Known,
    Is::Map(&Is::Map(&Is::Count)),
    "the calls, by kind of the tool and status",
);
const FILES_EDITED: Member = member(
    "files_edited",
    Known,
    Is::Count,
    "the different files that were changed",
);
const EDITS: Member = member(
    "edits",
    Known,
    Is::Map(&Is::Count),
    "the changes, by operation",
);
const BY_MODEL: Member = member("tokens", Known, Is::Map(&PRICED), "the tokens, by model");

/// Every line of every answer.
pub const ANSWERS: &[Answer] = &[
    Answer {
        command: "explain",
        name: "lines",
        about: "lines with one cause",
        members: Some(&[
            LINES,
            TIER,
            WHY,
            OP,
            FILE,
            BEFORE,
            AFTER,
            MADE_BY,
            ALSO,
            PROMPT,
            member(
                "started_by",
                Known,
                Is::List(&QUOTE),
                "of a sub-agent: the prompts of the sessions that started it, the nearest first",
            ),
            member(
                "said",
                Known,
                Is::List(&QUOTE),
                "what the agent said between the prompt and the call",
            ),
            member(
                "reasoning",
                Known,
                Is::List(&QUOTE),
                "what the model thought between the prompt and the call",
            ),
            CHANGE,
            member(
                "later",
                Known,
                Is::List(&Is::Text),
                "later edits of the same file, `TAPE#SEQ`, the last first",
            ),
            member(
                "hint",
                Known,
                Is::List(&CALL),
                "commands that may have made the lines; no proof",
            ),
            member(
                "path",
                Known,
                Is::Text,
                "with `--commit`: the file in the repository",
            ),
        ]),
    },
    Answer {
        command: "explain",
        name: "event",
        about: "one thing that happened to a file: with `--history`, `--removed`, `--like` and `--prompt`",
        members: Some(&[
            member(
                "what",
                Always,
                Is::Word(&[
                    "read",
                    "create",
                    "update",
                    "overwrite",
                    "delete",
                    "move",
                    "link",
                    "failed",
                ]),
                "what happened",
            ),
            member("file", Always, Is::Text, "the file"),
            BEFORE,
            AFTER,
            member(
                "confirmed",
                Known,
                Is::Bool,
                "false: the log shows that it was asked for, but not its outcome",
            ),
            member(
                "share",
                Known,
                Is::Number,
                "the share of the fingerprints of the asked text",
            ),
            member(
                "way",
                Known,
                Is::Word(&["made", "chain", "declared", "anchor", "again"]),
                "how an edit belongs to the history of lines",
            ),
            member("call", Always, CALL, "the call"),
            PROMPT,
            CHANGE,
        ]),
    },
    Answer {
        command: "explain",
        name: "end",
        about: "the last line",
        members: Some(&[
            K,
            RETURNED,
            TOTAL,
            NEXT,
            INDEX,
            NOTES,
            member("lines", Known, COUNTS, "the asked lines, by tier"),
            member(
                "state_known",
                Known,
                Is::Bool,
                "true if the whole file is what an edit left",
            ),
            member("commit", Known, Is::Text, "with `--commit`: the revision"),
            member(
                "files",
                Known,
                Is::Count,
                "with `--commit`: its files with added lines",
            ),
            member(
                "mentioned",
                Known,
                Is::List(&Is::Object(&[
                    member(
                        "share",
                        Always,
                        Is::Number,
                        "the share of the fingerprints of the asked lines",
                    ),
                    member("tape", Always, Is::Text, "the path of the tape"),
                    member("kind", Known, Is::Text, "the kind of the event"),
                    member("said", Known, QUOTE, "the words"),
                ])),
                "texts that mention the lines, which proves nothing; of an index with `--text`",
            ),
        ]),
    },
    Answer {
        command: "blame",
        name: "lines",
        about: "lines one after the other that have one cause",
        members: Some(&[
            member("lines", Always, Is::Lines, "the first and the last line"),
            TIER,
            member(
                "why",
                Always,
                Is::OrNull(&REASONS),
                "why nobody knows who made the lines",
            ),
            member("call", Always, Is::OrNull(&CALL), "the call"),
            member(
                "prompt",
                Always,
                Is::OrNull(&QUOTE),
                "the prompt of the turn of the call",
            ),
        ]),
    },
    Answer {
        command: "blame",
        name: "end",
        about: "the last line",
        members: Some(&[
            K,
            RETURNED,
            TOTAL,
            NEXT,
            INDEX,
            NOTES,
            member("lines", Known, COUNTS, "the asked lines, by tier"),
        ]),
    },
    Answer {
        command: "grep",
        name: "match",
        about: "a text that matches",
        members: Some(&[
            member("kind", Always, Is::Text, "the kind of the event"),
            member(
                "member",
                Always,
                Is::Text,
                "the member of the event that has the text",
            ),
            member("quote", Always, QUOTE, "the text around the match"),
        ]),
    },
    Answer {
        command: "grep",
        name: "end",
        about: "the last line; `total` is one more than what is shown if there is more",
        members: Some(&[K, RETURNED, TOTAL, NEXT, INDEX, NOTES]),
    },
    Answer {
        command: "query",
        name: "row",
        about: "a row: its columns by their names",
        members: None,
    },
    Answer {
        command: "query",
        name: "end",
        about: "the last line, if the answer was cut off",
        members: Some(&[
            K,
            member("returned", Always, Is::Count, "the rows before this line"),
            member(
                "cut",
                Always,
                Is::Word(&["rows", "bytes"]),
                "the bound that was met",
            ),
        ]),
    },
    Answer {
        command: "query",
        name: "column",
        about: "without a statement: a column of a view",
        members: Some(&[
            member("view", Always, Is::Text, "the view"),
            member("column", Always, Is::Text, "the column"),
            member(
                "type",
                Always,
                Is::Word(&["text", "integer", "real", "time"]),
                "the type of its values",
            ),
            member("meaning", Always, Is::Text, "what it means"),
        ]),
    },
    Answer {
        command: "show",
        name: "event",
        about: "with `#SEQ`: one event",
        members: Some(&[
            member("quoted", Always, Is::True, "these are words of a tape"),
            member(
                "from",
                Always,
                Is::Text,
                "the event, as `engram show` opens it",
            ),
            member("event", Always, Is::Event, "the event"),
            member("cut", Known, Is::True, "some of its texts are cut"),
        ]),
    },
    Answer {
        command: "show",
        name: "end",
        about: "the last line",
        members: Some(&[K, RETURNED, TOTAL]),
    },
    Answer {
        command: "list",
        name: "session",
        about: "a session, or with `--agents` a sub-agent",
        members: Some(&[
            member("path", Always, Is::Text, "its log, store or tape"),
            member(
                "tape",
                Always,
                Is::Word(&["current", "old", "none", "log_gone", "itself", "lost"]),
                "whether it has a tape that is as new as its log",
            ),
            member("sub_agents", Always, Is::Count, "its sub-agents"),
            member("harness", Always, Is::Text, "the harness"),
            member(
                "version",
                Known,
                Is::Text,
                "the version of the harness, as last stated",
            ),
            member("schema", Known, Is::Text, "the schema of the log"),
            member("adapter", Known, Is::Text, "the adapter"),
            member("adapter_version", Known, Is::Text, "its version"),
            member("support", Known, Is::Text, "how well the version is known"),
            member(
                "degraded",
                Known,
                Is::List(&Is::Text),
                "why claims were lowered",
            ),
            member("session_id", Known, Is::Text, "the session"),
            member("agent_id", Known, Is::Text, "the sub-agent"),
            member(
                "parent_session_id",
                Known,
                Is::Text,
                "the session that this one belongs to",
            ),
            member("start", Known, Is::Time, "the first time"),
            member("end", Known, Is::Time, "the last time"),
            member("project", Known, Is::Text, "the first working directory"),
            member("title", Known, Is::Text, "the title, as last stated"),
            member(
                "first_prompt",
                Known,
                Is::Text,
                "the first line of the first prompt of a person",
            ),
            member(
                "prompts",
                Always,
                Is::Count,
                "the prompts of a person or an agent",
            ),
            member("calls", Known, Is::Count, "the calls of tools"),
            member("tokens", Known, TOKENS, "the tokens of all models"),
            member("events", Known, Is::Count, "the events of its tape"),
            member("records", Known, Is::Count, "the records of its log"),
            member(
                "unrecognized",
                Known,
                Is::Count,
                "the records of an unknown type",
            ),
            member(
                "malformed",
                Known,
                Is::Count,
                "the records that could not be read",
            ),
            member(
                "unknown_members",
                Known,
                Is::Count,
                "the members that the adapter does not know",
            ),
            member(
                "complete",
                Known,
                Is::Bool,
                "false if the log ends inside a record",
            ),
            member("input_hash", Known, Is::Text, "the hash of the log"),
            member("input_bytes", Known, Is::Count, "its size in bytes"),
            member(
                "beside",
                Known,
                Is::List(&Is::Text),
                "the files beside it whose content is on the tape",
            ),
            COST_USD,
            COST_BASIS,
            COST_IS_PARTIAL,
            MODELS_WITHOUT_PRICE,
        ]),
    },
    Answer {
        command: "files",
        name: "file",
        about: "a file that agents changed",
        members: Some(&[
            member("file", Always, Is::Text, "the file"),
            member(
                "edits",
                Always,
                Is::Count,
                "the changed places: one call can change several",
            ),
            member(
                "sessions",
                Always,
                Is::List(&Is::Text),
                "the sessions and sub-agents that changed it",
            ),
            member(
                "first_change",
                Always,
                Is::OrNull(&Is::Time),
                "when it was changed first",
            ),
            member(
                "last_change",
                Always,
                Is::OrNull(&Is::Time),
                "when it was changed last",
            ),
            member("harnesses", Always, Is::List(&Is::Text), "the harnesses"),
            member("tools", Always, Is::Map(&Is::Count), "the changes, by tool"),
        ]),
    },
    Answer {
        command: "stats",
        name: "counts",
        about: "all counts",
        members: Some(&[
            SESSIONS,
            SUB_AGENTS,
            PROMPTS,
            MESSAGES,
            CALLS,
            FILES_EDITED,
            EDITS,
            BY_MODEL,
            COST_USD,
            COST_BASIS,
            COST_IS_PARTIAL,
            MODELS_WITHOUT_PRICE,
        ]),
    },
    Answer {
        command: "stats",
        name: "group",
        about: "with `--by`: the counts of one value, which stands in a member of that name",
        members: Some(&[
            member(
                "project",
                Known,
                Is::Text,
                "the directory that a session began in",
            ),
            member(
                "day",
                Known,
                Is::Text,
                "the day, in UTC or the zone of `--tz`",
            ),
            member("week", Known, Is::Text, "the week, as ISO 8601 numbers it"),
            member("harness", Known, Is::Text, "the harness"),
            member("model", Known, Is::Text, "the model"),
            member("session", Known, Is::Text, "the session"),
            member("tool", Known, Is::Text, "the tool"),
            SESSIONS,
            SUB_AGENTS,
            PROMPTS,
            MESSAGES,
            CALLS,
            FILES_EDITED,
            EDITS,
            BY_MODEL,
            member("all_tokens", Known, TOKENS, "the tokens of all models"),
            COST_USD,
            COST_BASIS,
            COST_IS_PARTIAL,
            MODELS_WITHOUT_PRICE,
        ]),
    },
    Answer {
        command: "detect",
        name: "session",
        about: "what wrote a log",
        members: Some(&[
            member("path", Always, Is::Text, "the log or store"),
            member("store", Known, Is::Text, "the kind of the store"),
            member("adapter", Always, Is::Text, "the adapter"),
            member("harness", Always, Is::Text, "the harness"),
            member("version", Known, Is::Text, "its version"),
            member("schema", Known, Is::Text, "the schema of the log"),
            member("support", Always, Is::Text, "how well the version is known"),
            member("session_id", Known, Is::Text, "the session"),
            member("agent_id", Known, Is::Text, "the sub-agent"),
            member(
                "evidence",
                Always,
                Is::List(&Is::Text),
                "the marks by which it is known",
            ),
        ]),
    },
    Answer {
        command: "units",
        name: "unit",
        about: "what can be converted alone",
        members: Some(&[
            member(
                "unit",
                Always,
                Is::Text,
                "its id: the same when the session grows",
            ),
            member("harness", Always, Is::Text, "the harness"),
            member("session", Known, Is::Text, "the session"),
            member("paths", Always, Is::List(&Is::Text), "what is converted"),
            member(
                "beside",
                Known,
                Is::List(&Is::Text),
                "what these are read with",
            ),
            member("in_store", Known, Is::True, "it is a session of a store"),
            member(
                "bytes",
                Always,
                Is::Count,
                "the size of all its files in bytes",
            ),
            member(
                "state",
                Always,
                Is::Text,
                "the same as long as nothing has changed",
            ),
        ]),
    },
    Answer {
        command: "index-status",
        name: "status",
        about: "what the index holds",
        members: Some(&[
            member("index", Always, Is::Text, "the database"),
            member("schema", Always, Is::Count, "the version of its schema"),
            member("bytes", Always, Is::Count, "its size"),
            member("tapes", Always, Is::Count, "the tapes that answer"),
            member("tape_bytes", Always, Is::Count, "the bytes of their text"),
            member(
                "superseded",
                Always,
                Is::Count,
                "the tapes that others supersede",
            ),
            member(
                "absent",
                Always,
                Is::Count,
                "the tapes whose files are gone",
            ),
            member(
                "invalid",
                Always,
                Is::Count,
                "the files that are no valid tapes",
            ),
            member("calls", Always, Is::Count, "the calls"),
            member("spans", Always, Is::Count, "the reads and changes of files"),
        ]),
    },
];
