//! The rules of the spec that a tape alone can show to be broken.

use std::fmt;

macro_rules! rules {
    ($($rule:ident = $name:literal: $says:literal,)+) => {
        /// One rule. The names are stable.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Rule {
            $(#[doc = $says] $rule,)+
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

            /// What the rule says.
            pub const fn says(self) -> &'static str {
                match self {
                    $(Rule::$rule => $says,)+
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
    Canonical = "canonical": "no insignificant white space, strings escaped in the one canonical way",
    Kind = "kind": "`k` is one of the eight kinds, and a `meta` has a known label",
    UnknownKey = "unknown_key": "no key that the spec does not name",
    KeyOrder = "key_order": "keys stand once, in the order of the spec",
    MissingKey = "missing_key": "required keys are there",
    Shape = "shape": "every value is of its type; never `null`",
    Empty = "empty": "what is unknown is left out, never an empty string, list or object",
    Word = "word": "a value from a closed list is on that list",
    Hash = "hash": "a hash is `blake3:` and 64 hex digits",
    Anchors = "anchors": "a fingerprint is 16 hex digits, and none repeats in one list",
    Range = "range": "a range begins at line 1 or later and ends at most one line before it begins",
    Seq = "seq": "`seq` counts 0, 1, 2 without gaps",
    Time = "time": "`t` is RFC 3339, UTC, with `Z`",
    TimeBasis = "t_basis": "`absent` means 1970-01-01T00:00:00Z and comes before any known time; what no record states is inherited",
    Source = "source": "every event is of the harness that `tape.start` names",
    Origin = "origin": "an origin is not empty, its lines begin at 1 and `part` is left out where it is 0",
    Pointer = "pointer": "a pointer is a JSON pointer (RFC 6901)",
    Start = "start": "`tape.start` comes first, once, and from no record",
    Stop = "stop": "`tape.stop` comes last, once, and from no record",
    Counts = "counts": "`counts` are the events of the tape",
    Ledger = "ledger": "the ledger's sums hold, `omitted` is sorted and accounts for all that is not mapped",
    Parent = "parent": "`parent` is an earlier `tool.call`, with the same `call_id` where there is one",
    MissingParent = "missing_parent": "a result, read or edit whose call is on the tape names it as `parent`",
    Span = "span": "a hash is of a `range` or of a `snippet`, and fingerprints come with a hash",
    Redacted = "redacted": "what is redacted has no text",
    Content = "content": "a message has text (or attachments), an unrecognized record has `raw` or its size and hash",
    Coverage = "coverage": "a kind claimed as `none` does not come, and a degraded tape claims nothing as `full`",
    Policy = "policy": "strict policy gives no `unrecognized`, no degraded and no incomplete tape",
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
