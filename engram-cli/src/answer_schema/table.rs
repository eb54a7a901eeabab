//! The members of each line that an answer with `--json` has.

use super::form::When::{Always, Known};
use super::form::{Answer, Is, Member};
use super::members::{
    AFTER, ALSO, BEFORE, BY_MODEL, CALL, CALLS, CHANGE, COST_BASIS, COST_IS_PARTIAL, COST_USD,
    COUNTS, EDITS, FILE, FILES_EDITED, INDEX, K, LINES, MADE_BY, MESSAGES, MODELS_WITHOUT_PRICE,
    NEXT, NOTES, OP, PROMPT, PROMPTS, QUOTE, REASONS, RETURNED, SESSIONS, SUB_AGENTS, TIER, TOKENS,
    TOTAL, WHY, rows,
};

/// An amount of text.
const AMOUNT: Is = Is::Object(rows! {
    "strings", Always, Is::Count, "the number of texts";
    "bytes", Always, Is::Count, "their size in the log, in bytes";
});

/// Claims by kind.
const COVERAGE: Is = Is::Map(&Is::Word(&["full", "partial", "none"]));

/// Every line of every answer.
pub const ANSWERS: &[Answer] = &[
    Answer {
        command: "explain",
        name: "lines",
        about: "lines with one cause",
        is: Is::Object(rows! {
            LINES, TIER, WHY, OP, FILE, BEFORE, AFTER, MADE_BY, ALSO, PROMPT;
            "started_by", Known, Is::List(&QUOTE), "of a sub-agent: the prompts of the sessions that started it, the nearest first";
            "said", Known, Is::List(&QUOTE), "what the agent said between the prompt and the call";
            "reasoning", Known, Is::List(&QUOTE), "what the model thought between the prompt and the call";
            CHANGE;
            "later", Known, Is::List(&Is::Text), "later edits of the same file, `TAPE#SEQ`, the last first";
            "hint", Known, Is::List(&CALL), "commands that may have made the lines; no proof";
            "path", Known, Is::Text, "with `--commit`: the file in the repository";
        }),
    },
    Answer {
        command: "explain",
        name: "event",
        about: "one thing that happened to a file: with `--history`, `--removed`, `--like` and `--prompt`",
        is: Is::Object(rows! {
            "what", Always, Is::Word(&["read", "create", "update", "overwrite", "delete", "move", "link", "failed"]), "what happened";
            "file", Always, Is::Text, "the file";
            BEFORE, AFTER;
            "confirmed", Known, Is::Bool, "false: the log shows that it was asked for, but not its outcome";
            "share", Known, Is::Number, "the share of the fingerprints of the asked text";
            "way", Known, Is::Word(&["made", "chain", "declared", "anchor", "again"]), "how an edit belongs to the history of lines";
            "call", Always, CALL, "the call";
            PROMPT, CHANGE;
        }),
    },
    Answer {
        command: "explain",
        name: "end",
        about: "the last line",
        is: Is::Object(rows! {
            K, RETURNED, TOTAL, NEXT, INDEX, NOTES;
            "lines", Known, COUNTS, "the asked lines, by tier";
            "state_known", Known, Is::Bool, "true if the whole file is what an edit left";
            "commit", Known, Is::Text, "with `--commit`: the revision";
            "files", Known, Is::Count, "with `--commit`: its files with added lines";
            "mentioned", Known, Is::List(&Is::Object(rows! {
                "share", Always, Is::Number, "the share of the fingerprints of the asked lines";
                "tape", Always, Is::Text, "the path of the tape";
                    "kind", Known, Is::Text, "the kind of the event";
                    "said", Known, QUOTE, "the words";
                })), "texts that mention the lines, which proves nothing; of an index with `--text`";
        }),
    },
    Answer {
        command: "blame",
        name: "lines",
        about: "lines one after the other that have one cause",
        is: Is::Object(rows! {
            "lines", Always, Is::Lines, "the first and the last line";
            TIER;
            "why", Always, Is::OrNull(&REASONS), "why nobody knows who made the lines";
            "call", Always, Is::OrNull(&CALL), "the call";
            "prompt", Always, Is::OrNull(&QUOTE), "the prompt of the turn of the call";
        }),
    },
    Answer {
        command: "blame",
        name: "end",
        about: "the last line",
        is: Is::Object(rows! {
            K, RETURNED, TOTAL, NEXT, INDEX, NOTES;
            "lines", Known, COUNTS, "the asked lines, by tier";
        }),
    },
    Answer {
        command: "grep",
        name: "match",
        about: "a text that matches",
        is: Is::Object(rows! {
            "harness", Always, Is::Text, "the harness";
            "session", Known, Is::Text, "the id of the session";
            "agent", Known, Is::Text, "the id of the sub-agent";
            "title", Known, Is::Text, "the title of the session";
            "project", Known, Is::Text, "the first working directory of the session";
            "t", Known, Is::Time, "when it happened";
            "kind", Always, Is::Text, "the kind of the event";
            "member", Always, Is::Text, "the member of the event that has the text";
            "quote", Always, QUOTE, "the text around the match";
        }),
    },
    Answer {
        command: "grep",
        name: "end",
        about: "the last line; `total` is one more than what is shown if there is more",
        is: Is::Object(&[K, RETURNED, TOTAL, NEXT, INDEX, NOTES]),
    },
    Answer {
        command: "query",
        name: "row",
        about: "a row: its columns by their names",
        is: Is::Row,
    },
    Answer {
        command: "query",
        name: "end",
        about: "the last line, if the answer was cut off",
        is: Is::Object(rows! {
            K;
            "returned", Always, Is::Count, "the rows before this line";
            "cut", Always, Is::Word(&["rows", "bytes"]), "the bound that was met";
        }),
    },
    Answer {
        command: "query",
        name: "column",
        about: "without a statement: a column of a view",
        is: Is::Object(rows! {
            "view", Always, Is::Text, "the view";
            "column", Always, Is::Text, "the column";
            "type", Always, Is::Word(&["text", "integer", "real", "time"]), "the type of its values";
            "meaning", Always, Is::Text, "what it means";
        }),
    },
    Answer {
        command: "show",
        name: "event",
        about: "with `#SEQ`: one event",
        is: Is::Object(rows! {
            "quoted", Always, Is::True, "these are words of a tape";
            "from", Always, Is::Text, "the event, as `engram show` opens it";
            "event", Always, Is::Event, "the event";
            "cut", Known, Is::True, "some of its texts are cut";
        }),
    },
    Answer {
        command: "show",
        name: "end",
        about: "the last line",
        is: Is::Object(&[K, RETURNED, TOTAL]),
    },
    Answer {
        command: "list",
        name: "session",
        about: "a session, or with `--agents` a sub-agent",
        is: Is::Object(rows! {
            "path", Always, Is::Text, "its log, store or tape";
            "tape", Always, Is::Word(&["current", "old", "none", "log_gone", "itself", "lost"]), "whether it has a tape that is as new as its log";
            "repeats", Known, Is::Text, "the path of the row that its session is counted from, if it is another one: prompts, calls and tokens of the rows without it add up to those of `stats`";
            "sub_agents", Always, Is::Count, "its sub-agents";
            "harness", Always, Is::Text, "the harness";
            "version", Known, Is::Text, "the version of the harness, as last stated";
            "schema", Known, Is::Text, "the schema of the log";
            "adapter", Known, Is::Text, "the adapter";
            "adapter_version", Known, Is::Text, "its version";
            "support", Known, Is::Text, "how well the version is known";
            "degraded", Known, Is::List(&Is::Text), "why claims were lowered";
            "session_id", Known, Is::Text, "the session";
            "more_sessions", Known, Is::List(&Is::Text), "other sessions of which its log has events, such as a second capture in one file";
            "agent_id", Known, Is::Text, "the sub-agent";
            "more_agents", Known, Is::List(&Is::Text), "sub-agents whose events are in the log of their session";
            "parent_session_id", Known, Is::Text, "the session that this one belongs to";
            "start", Known, Is::Time, "the first time";
            "end", Known, Is::Time, "the last time";
            "project", Known, Is::Text, "the first working directory";
            "title", Known, Is::Text, "the title, as last stated";
            "first_prompt", Known, Is::Text, "the first line of the first prompt of a person";
            "prompts", Always, Is::Count, "the prompts of a person or an agent";
            "calls", Known, Is::Count, "the calls of tools";
            "tokens", Known, TOKENS, "the tokens of all models";
            "events", Known, Is::Count, "the events of its tape";
            "records", Known, Is::Count, "the records of its log";
            "unrecognized", Known, Is::Count, "the records of an unknown type";
            "malformed", Known, Is::Count, "the records that could not be read";
            "unknown_members", Known, Is::Count, "the members that the adapter does not know";
            "complete", Known, Is::Bool, "false if the log ends inside a record";
            "input_hash", Known, Is::Text, "the hash of the log";
            "input_bytes", Known, Is::Count, "its size in bytes";
            "beside", Known, Is::List(&Is::Text), "the files beside it whose content is on the tape";
            COST_USD, COST_BASIS, COST_IS_PARTIAL, MODELS_WITHOUT_PRICE;
        }),
    },
    Answer {
        command: "files",
        name: "file",
        about: "a file that agents changed",
        is: Is::Object(rows! {
            "file", Always, Is::Text, "the file";
            "edits", Always, Is::Count, "the changed places: one call can change several";
            "sessions", Always, Is::List(&Is::Text), "the sessions and sub-agents that changed it";
            "first_change", Always, Is::OrNull(&Is::Time), "when it was changed first";
            "last_change", Always, Is::OrNull(&Is::Time), "when it was changed last";
            "harnesses", Always, Is::List(&Is::Text), "the harnesses";
            "tools", Always, Is::Map(&Is::Count), "the changes, by tool";
        }),
    },
    Answer {
        command: "stats",
        name: "counts",
        about: "all counts; with `--by` those of one value, which stands in a member of that name",
        is: Is::Object(rows! {
            "project", Known, Is::Text, "the directory that a session began in";
            "day", Known, Is::Text, "the day, in UTC or the zone of `--tz`";
            "week", Known, Is::Text, "the week, as ISO 8601 numbers it";
            "month", Known, Is::Text, "the month: `2026-11`";
            "harness", Known, Is::Text, "the harness";
            "model", Known, Is::Text, "the model";
            "session", Known, Is::Text, "the session";
            "tool", Known, Is::Text, "the tool";
            SESSIONS, SUB_AGENTS, PROMPTS, MESSAGES, CALLS, FILES_EDITED, EDITS, BY_MODEL;
            "tokens", Known, TOKENS, "the tokens of all models";
            COST_USD, COST_BASIS, COST_IS_PARTIAL, MODELS_WITHOUT_PRICE;
        }),
    },
    Answer {
        command: "detect",
        name: "session",
        about: "what wrote a log",
        is: Is::Object(rows! {
            "path", Always, Is::Text, "the log or store";
            "store", Known, Is::Text, "the kind of the store";
            "adapter", Always, Is::Text, "the adapter";
            "harness", Always, Is::Text, "the harness";
            "version", Known, Is::Text, "its version";
            "schema", Known, Is::Text, "the schema of the log";
            "support", Always, Is::Text, "how well the version is known";
            "session_id", Known, Is::Text, "the session";
            "agent_id", Known, Is::Text, "the sub-agent";
            "evidence", Always, Is::List(&Is::Text), "the marks by which it is known";
        }),
    },
    Answer {
        command: "ingest",
        name: "summary",
        about: "the file of `--summary`: the numbers of a run",
        is: Is::Object(rows! {
            "engram", Always, Is::Text, "the version of `engram`";
            "exit_code", Always, Is::Count, "the exit code";
            "interrupted", Always, Is::Bool, "the run was interrupted";
            "sessions", Always, Is::Map(&Is::Count), "sessions that have a tape, by harness";
            SUB_AGENTS;
            "new", Always, Is::Count, "tapes that are new";
            "replaced", Always, Is::Count, "tapes that took the place of older ones";
            "unchanged", Always, Is::Count, "tapes that stay";
            "failed", Always, Is::Count, "sessions that could not be converted";
            "stopped", Always, Is::Count, "sessions that were not converted, because the disk is full";
            "gone", Always, Is::Count, "tapes whose log is gone";
            "filtered", Always, Is::Count, "sessions that the filters left out";
            "skipped_files", Always, Is::Count, "files that are no sessions";
            "skipped_sessions", Always, Is::Count, "sessions of stores that are not converted";
            "lost_records", Always, Is::Count, "records of stores that belong to no session";
            "skipped_links", Always, Is::Count, "links that lead out of their directory";
            "skipped_forms", Always, Is::Count, "other forms of sessions that are converted";
            "events", Always, Is::Count, "the events of the tapes that were written";
            "records", Always, Is::Count, "the records of their logs";
            "input_bytes", Always, Is::Count, "the size of their logs in bytes";
            "warnings", Always, Is::Map(&Is::Count), "sessions that were not fully understood, by the words of `--fail-on`";
            "failed_on", Always, Is::List(&Is::Text), "the words of `--fail-on` that were met";
            "errors", Always, Is::List(&Is::Object(rows! {
                "path", Always, Is::Text, "the session";
                "code", Always, Is::Text, "the code of the error";
                "message", Always, Is::Text, "what is wrong";
            })), "the sessions that could not be converted";
        }),
    },
    Answer {
        command: "audit",
        name: "session",
        about: "what became of each value of a log",
        is: Is::Object(rows! {
            "path", Always, Is::Text, "the log";
            "adapter", Always, Is::Text, "the adapter";
            "records", Always, Is::Count, "the records of the log";
            "in_tape", Always, AMOUNT, "text that is on the tape";
            "converted", Always, AMOUNT, "text that is on the tape in another form";
            "omitted", Always, Is::Map(&AMOUNT), "text that rules omit, by rule";
            "opaque", Always, Is::Map(&AMOUNT), "text that rules declare as opaque, by rule";
            "cut", Always, AMOUNT, "the record at the end of the log that is not whole";
            "unknown", Always, AMOUNT, "text in members that the adapter does not know";
            "unknown_members", Always, Is::List(&Is::Object(rows! {
                "type", Always, Is::Text, "the type of the record";
                "pointer", Always, Is::Text, "the member";
                "count", Always, Is::Count, "how often the log has it";
            })), "the members that the adapter does not know";
            "left_over", Always, AMOUNT, "text that was lost";
            "leaves", Always, Is::Object(rows! {
                "total", Always, Is::Count, "all values";
                "in_tape", Always, Is::Count, "those on the tape";
                "converted", Always, Is::Count, "those on the tape in another form";
                "omitted", Always, Is::Map(&Is::Count), "those that rules omit, by rule";
                "opaque", Always, Is::Map(&Is::Count), "those that are opaque, by rule";
                "unknown", Always, Is::Count, "those in members that the adapter does not know";
                "left_over", Always, Is::Count, "those that were lost";
            }), "the values of the log";
            "tokens", Always, Is::Object(rows! {
                "log", Always, Is::Map(&Is::Object(rows! {
                    "count", Always, Is::Count, "how many numbers there are";
                    "sum", Always, Is::Count, "their sum";
                    "becomes", Always, Is::Text, "what becomes of them";
                })), "numbers of the log that are called tokens, by record and member";
                "tape", Always, Is::Map(&Is::Count), "the sums of the tape, replays apart";
                "replayed", Always, Is::Map(&Is::Count), "the sums of its replays";
            }), "what the log calls tokens, beside the tokens of the tape";
            "examples", Always, Is::List(&Is::Object(rows! {
                "line", Always, Is::Count, "the line, from 1; 0 in a document";
                "type", Always, Is::Text, "the type of the record";
                "pointer", Always, Is::Text, "the member";
                "bytes", Always, Is::Count, "its size in bytes";
                "excerpt", Always, Is::Text, "its beginning";
            })), "the first values that were lost";
            "disagreements", Always, Is::List(&Is::Text), "differences between the ledger and the log";
        }),
    },
    Answer {
        command: "adapters",
        name: "list",
        about: "all adapters, as one list on several lines",
        is: Is::List(&Is::Object(rows! {
            "adapter_id", Always, Is::Text, "the adapter";
            "adapter_version", Always, Is::Text, "its version";
            "harness_family", Always, Is::Text, "the harness whose logs it reads";
            "supported_versions", Always, Is::List(&Is::Object(rows! {
                "schema", Always, Is::Text, "the schema of the log";
                "versions", Known, Is::Text, "the versions of the harness that write it";
                "tested", Always, Is::List(&Is::Text), "the versions that are proven";
                "coverage", Always, COVERAGE, "what is claimed, by kind";
                "gaps", Always, Is::Map(&Is::List(&Is::Text)), "the codes of known losses, by kind";
            })), "the revisions of the log format";
            "schema_detection_strategy", Always, Is::Text, "how the schema of a log is found";
            "coverage", Always, COVERAGE, "the weakest claim of any revision, by kind";
            "unknown_version_policy", Always, Is::Word(&["strict_fail", "permissive_degrade"]), "what becomes of a log of an unknown version";
            "known_bad_versions", Always, Is::List(&Is::Object(rows! {
                "versions", Always, Is::Text, "the versions";
                "reason", Always, Is::Text, "why";
            })), "versions that are refused";
            "record_type", Always, Is::List(&Is::Text), "pointers to the parts of a record's type";
            "gaps", Always, Is::List(&Is::Object(rows! {
                "code", Always, Is::Text, "the code";
                "reason", Always, Is::Text, "what is lost, and why";
                "fixture", Always, Is::Text, "the recording that shows it";
            })), "the known losses";
            "omission_rules", Always, Is::List(&Is::Object(rows! {
                "rule", Always, Is::Text, "the rule";
                "omission", Always, Is::Word(&["duplicate", "piece", "bookkeeping", "field", "opaque"]), "why nothing is lost";
                "record", Always, Is::Text, "the type of the records";
                "pointer", Known, Is::Text, "the member, if it is not the whole record";
                "reason", Always, Is::Text, "the reason";
            })), "the rules by which something is left out";
        })),
    },
    Answer {
        command: "index-status",
        name: "status",
        about: "what the index holds",
        is: Is::Object(rows! {
            "index", Always, Is::Text, "the database";
            "schema", Always, Is::Count, "the version of its schema";
            "bytes", Always, Is::Count, "its size";
            "tapes", Always, Is::Count, "the tapes that answer";
            "tape_bytes", Always, Is::Count, "the bytes of their text";
            "superseded", Always, Is::Count, "tapes of which another one of the same session has all";
            "absent", Always, Is::Count, "the tapes whose files are gone";
            "invalid", Always, Is::Count, "the files that are no valid tapes";
            "calls", Always, Is::Count, "the calls";
            "spans", Always, Is::Count, "the reads and changes of files";
        }),
    },
];
