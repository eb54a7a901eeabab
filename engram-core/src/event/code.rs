//! Reads and edits of files, and links between spans.

use crate::hash::Hash;
use crate::text::Text;

/// Lines `first..=last`, 1-based. `[n, n-1]` is the empty span between lines n-1 and n.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// First line.
    pub first: u64,
    /// Last line.
    pub last: u64,
}

/// A read that succeeded.
#[derive(Debug, Clone)]
pub struct CodeRead<'a> {
    /// The call that read.
    pub call_id: Option<Text<'a>>,
    /// The file, as the source spells it.
    pub file: Text<'a>,
    /// The lines that were read.
    pub range: Option<Range>,
    /// Lines in the whole file.
    pub total_lines: Option<u64>,
    /// Hash of the span.
    pub hash: Option<Hash>,
    /// Fingerprints of the span.
    pub anchor_hashes: Vec<u64>,
}

/// What an edit did to the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditOp {
    /// The file is new.
    Create,
    /// Part of the file changed.
    Update,
    /// The whole file was replaced.
    Overwrite,
    /// The file is gone.
    Delete,
    /// The file has another name.
    Move,
}

impl EditOp {
    /// Every operation. `op as usize` is its index here.
    pub const ALL: [EditOp; 5] = [EditOp::Create, EditOp::Update, EditOp::Overwrite, EditOp::Delete, EditOp::Move];

    /// The name that stands in a tape.
    pub const fn as_str(self) -> &'static str {
        match self {
            EditOp::Create => "create",
            EditOp::Update => "update",
            EditOp::Overwrite => "overwrite",
            EditOp::Delete => "delete",
            EditOp::Move => "move",
        }
    }
}

/// A change to one contiguous span of one file that the source shows to have been applied.
#[derive(Debug, Clone)]
pub struct CodeEdit<'a> {
    /// The call that edited.
    pub call_id: Option<Text<'a>>,
    /// What the edit did.
    pub op: EditOp,
    /// The file, as the source spells it.
    pub file: Text<'a>,
    /// The lines before.
    pub before_range: Option<Range>,
    /// The lines after.
    pub after_range: Option<Range>,
    /// Hash of the span (or snippet) before.
    pub before_hash: Option<Hash>,
    /// Hash of the span (or snippet) after.
    pub after_hash: Option<Hash>,
    /// Hash of the whole file before.
    pub file_before_hash: Option<Hash>,
    /// Hash of the whole file after.
    pub file_after_hash: Option<Hash>,
    /// Fingerprints of the text before.
    pub before_anchor_hashes: Vec<u64>,
    /// Fingerprints of the text after.
    pub after_anchor_hashes: Vec<u64>,
    /// True when the hashes are of the call's own old and new text, whose lines are not known (`basis: "snippet"`).
    pub snippet: bool,
    /// True when the source shows the request but not the outcome (`confirmed: false`).
    pub unconfirmed: bool,
}

impl<'a> CodeEdit<'a> {
    /// An edit of which only the file and the operation are known.
    pub fn new(op: EditOp, file: Text<'a>) -> Self {
        CodeEdit {
            call_id: None,
            op,
            file,
            before_range: None,
            after_range: None,
            before_hash: None,
            after_hash: None,
            file_before_hash: None,
            file_after_hash: None,
            before_anchor_hashes: Vec::new(),
            after_anchor_hashes: Vec::new(),
            snippet: false,
            unconfirmed: false,
        }
    }
}

/// A link between two spans that the agent or harness itself declares.
#[derive(Debug, Clone)]
pub struct SpanLink<'a> {
    /// The call that declared it. Gives `parent`; no field of its own in the tape.
    pub call_id: Option<Text<'a>>,
    /// The file it leads from.
    pub from_file: Text<'a>,
    /// The lines there.
    pub from_range: Option<Range>,
    /// The file it leads to.
    pub to_file: Text<'a>,
    /// The lines there.
    pub to_range: Option<Range>,
    /// What kind of link it is.
    pub note: Option<Text<'a>>,
}
