//! What traces and conversations cannot hold, and what becomes of it.

use crate::losses::{Rule, SURROGATE, UNKNOWN_LABEL};

/// What traces and conversations cannot hold.
pub const RULES: &[Rule] = &[
    SURROGATE,
    UNKNOWN_LABEL,
    NOTHING,
    REWOUND,
    REPLAY,
    META,
    CODE,
    NO_CALL,
    ATTACHMENT,
    USAGE,
    REDACTED,
    BLOCKS,
    OUTPUTS,
    STATUS,
];

pub(super) const NOTHING: Rule = Rule {
    name: "nothing_to_export",
    meaning: "a tape without messages and calls: it has no trace",
};
pub(super) const REWOUND: Rule = Rule {
    name: "event.rewound",
    meaning: "an event that a rewind took back: it is left out",
};
pub(super) const REPLAY: Rule = Rule {
    name: "event.replay",
    meaning: "an event that repeats another session's history: it is left out",
};
pub(super) const META: Rule = Rule {
    name: "meta.left_out",
    meaning: "an error, notice, permission, context, compaction or fact about the session: it is left out",
};
pub(super) const CODE: Rule = Rule {
    name: "code.left_out",
    meaning: "a read, edit or link as the log says it: only its call and result are there",
};
pub(super) const NO_CALL: Rule = Rule {
    name: "result.without_call",
    meaning: "a result whose call is not on the tape: it is left out",
};
pub(super) const ATTACHMENT: Rule = Rule {
    name: "attachment.left_out",
    meaning: "an image or file: the tape has only its hash, name and size",
};
pub(super) const USAGE: Rule = Rule {
    name: "usage.left_out",
    meaning: "what a response cost",
};
pub(super) const REDACTED: Rule = Rule {
    name: "message.opaque",
    meaning: "a message whose text the log holds only in an opaque form",
};
pub(super) const BLOCKS: Rule = Rule {
    name: "message.joined",
    meaning: "a further block of text of a response: it follows the one before after a blank line",
};
pub(super) const OUTPUTS: Rule = Rule {
    name: "output.joined",
    meaning: "a result with output and error output: the second follows the first",
};
pub(super) const STATUS: Rule = Rule {
    name: "result.status",
    meaning: "whether a call failed, its exit code and how long it took",
};
