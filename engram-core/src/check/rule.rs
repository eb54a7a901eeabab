//! The rules of the tape format that the checker checks.

use std::fmt;

macro_rules! rules {
    ($($rule:ident = $name:literal: $description:literal,)+) => {
        /// One rule. The names are stable.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Rule {
            $(#[doc = $description] $rule,)+
        }

        impl Rule {
            /// Every rule, in the order in which the documentation lists them.
            pub const ALL: &[Rule] = &[$(Rule::$rule),+];

            /// The stable name.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Rule::$rule => $name,)+
                }
            }

            /// What the rule demands.
            pub const fn description(self) -> &'static str {
                match self {
                    $(Rule::$rule => $description,)+
                }
            }
        }
    };
}

rules! {
    Utf8 = "utf8": "every byte is UTF-8",
    Bom = "bom": "no byte order mark",
    BlankLine = "blank_line": "no blank lines",
    LineEnd = "line_end": "every line ends with `\\n`",
    Json = "json": "every line is one JSON object",
    Canonical = "canonical": "no white space between tokens, and strings escaped in the one canonical way",
    Kind = "kind": "`k` is one of the eight kinds, and a `meta` has a known label",
    UnknownKey = "unknown_key": "every key is defined by the format",
    KeyOrder = "key_order": "each key appears once, in the order of the format",
    MissingKey = "missing_key": "required keys are present",
    Shape = "shape": "every value has the type of its key and is never `null`",
    Empty = "empty": "an unknown value is left out, never an empty string, list or object",
    Word = "word": "a value of a closed list is on that list",
    Hash = "hash": "a hash is `blake3:` and 64 hex digits",
    Anchors = "anchors": "an anchor is 16 hex digits, and no list contains one twice",
    Range = "range": "a range begins at line 1 or later, and its end is at least its beginning minus 1",
    Seq = "seq": "`seq` counts 0, 1, 2, ... without gaps",
    Time = "time": "`t` is RFC 3339, UTC, with `Z`",
    TimeBasis = "t_basis": "`absent` means 1970-01-01T00:00:00Z and comes before any known time; an event without a record has an `inherited` time",
    Source = "source": "every event has the harness that `tape.start` names",
    Origin = "origin": "an origin is not empty, its lines count from 1, and `part` is left out if it is 0; `tape.start` and `tape.stop` have none",
    Pointer = "pointer": "a pointer is a JSON pointer (RFC 6901)",
    Start = "start": "`tape.start` is the first event and appears once",
    Stop = "stop": "`tape.stop` is the last event and appears once",
    Counts = "counts": "`counts` equals the number of events of each kind",
    Ledger = "ledger": "the sums of the ledger are correct; `omitted` is sorted and accounts for every record that is not mapped",
    Parent = "parent": "`parent` is an earlier `tool.call`, with the same `call_id` if there is one; `to` is an earlier event",
    MissingParent = "missing_parent": "a result, read or edit whose call is on the tape, in its session, names it as `parent`",
    Denied = "denied": "before the result of a denied call, a `meta permission` says that the call was denied",
    Span = "span": "a hash has a `range` or is of a `snippet`, and anchors have a hash",
    SpanText = "span_text": "where `tape.start` says `spans`, each hash of a span has the text that was hashed; elsewhere no span has one",
    Redacted = "redacted": "a redacted message has no text",
    Content = "content": "a message has text or attachments; an unrecognized record has `raw`, or its size and hash",
    Coverage = "coverage": "a kind claimed as `none` has no events, and a degraded tape claims nothing as `full`, except that `unknown_members` lowers the claims of some kinds",
    Policy = "policy": "under strict policy a tape has no unrecognized or malformed records, is not degraded, and is complete",
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
