//! What OTLP cannot hold, and what becomes of it.

use crate::losses::{Rule, SURROGATE, TIME_RANGE, UNKNOWN_LABEL};

/// What OTLP cannot hold.
pub const RULES: &[Rule] = &[
    SURROGATE,
    UNKNOWN_LABEL,
    TIME_RANGE,
    NO_TIME,
    NO_TIME_EVENT,
    CLAMPED,
    REPLAY,
    TEXT,
    CUT,
    FINGERPRINTS,
    CONTEXT,
];

pub(super) const NO_TIME: Rule = Rule {
    name: "tape.no_time",
    meaning: "a tape without times: it has no spans",
};
pub(super) const NO_TIME_EVENT: Rule = Rule {
    name: "event.no_time",
    meaning: "an event without a time: it is in no span",
};
pub(super) const CLAMPED: Rule = Rule {
    name: "span.clamped",
    meaning: "a span that would end before it starts, since the clock of the log steps back: it has no length, and `engram.time` is `clamped`",
};
pub(super) const REPLAY: Rule = Rule {
    name: "event.replay",
    meaning: "an event that repeats another session's history: it is left out",
};
pub(super) const TEXT: Rule = Rule {
    name: "content.left_out",
    meaning: "a text, arguments or a result that `--content` leaves out",
};
pub(super) const CUT: Rule = Rule {
    name: "content.cut",
    meaning: "a text over the limit of an attribute: it is cut, and `engram.truncated` is set",
};
pub(super) const FINGERPRINTS: Rule = Rule {
    name: "code.anchors",
    meaning: "the fingerprints of a read or an edit",
};
pub(super) const CONTEXT: Rule = Rule {
    name: "meta.left_out",
    meaning: "a context, notice, revision or unrecognized record",
};
