//! What ATIF cannot hold, and what becomes of it.

use crate::losses::{Rule, SURROGATE, UNKNOWN_LABEL};

/// What ATIF cannot hold.
pub const RULES: &[Rule] = &[
    SURROGATE,
    UNKNOWN_LABEL,
    NOTHING,
    BLOCKS,
    ARGS,
    OUTPUTS,
    ATTACHMENT,
    CONTEXT,
    UNRECOGNIZED,
    SESSION_CHANGE,
    FINGERPRINTS,
    ORIGIN,
];

/// A tape without a step.
pub(super) const NOTHING: Rule = Rule {
    name: "nothing_to_export",
    meaning: "a tape without messages and calls: it has no document",
};
pub(super) const BLOCKS: Rule = Rule {
    name: "message.joined",
    meaning: "a further block of text of a response: it follows the one before after a blank line",
};
pub(super) const ARGS: Rule = Rule {
    name: "args.wrapped",
    meaning: "arguments that are no object: they are the member `value` of one, and the call is marked `args: wrapped`",
};
pub(super) const OUTPUTS: Rule = Rule {
    name: "output.joined",
    meaning: "a result with output and error output: the second follows the first",
};
pub(super) const ATTACHMENT: Rule = Rule {
    name: "attachment.no_bytes",
    meaning: "an image or file: the tape has its hash, name and size, and they are in `extra`",
};
pub(super) const CONTEXT: Rule = Rule {
    name: "context.no_text",
    meaning: "context of which the tape has a hash and no text: it is only counted",
};
pub(super) const UNRECOGNIZED: Rule = Rule {
    name: "unrecognized.raw",
    meaning: "a record that the adapter does not know: it is only counted",
};
pub(super) const SESSION_CHANGE: Rule = Rule {
    name: "session.changed",
    meaning: "a later value of a fact about the session: the first one is in `extra`, and models are on the steps",
};
pub(super) const FINGERPRINTS: Rule = Rule {
    name: "code.anchors",
    meaning: "the fingerprints of a read or an edit",
};
pub(super) const ORIGIN: Rule = Rule {
    name: "event.origin",
    meaning: "the place of an event in its log",
};
