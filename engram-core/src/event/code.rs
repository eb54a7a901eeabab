//! Reads and edits of files, and links between spans.

use std::borrow::Cow;

use crate::hash::Hash;
use crate::text::Text;
use crate::words::words;

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
    /// The call that read it.
    pub call_id: Option<Text<'a>>,
    /// The file, as written in the source.
    pub file: Text<'a>,
    /// The lines that were read.
    pub range: Option<Range>,
    /// Number of lines of the complete file.
    pub total_lines: Option<u64>,
    /// Hash of the span.
    pub hash: Option<Hash>,
    /// Fingerprints of the span.
    pub anchor_hashes: Vec<u64>,
    /// The text that was hashed. A tape has it only if its start says so, [`SPANS_TEXT`](super::SPANS_TEXT).
    pub text: Option<Cow<'a, str>>,
}

impl<'a> CodeRead<'a> {
    /// A read of a file, and nothing else.
    pub fn new(file: Text<'a>) -> Self {
        CodeRead {
            call_id: None,
            file,
            range: None,
            total_lines: None,
            hash: None,
            anchor_hashes: Vec::new(),
            text: None,
        }
    }
}

words! {
    /// The effect of an edit on the file.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum EditOp {
        /// The file is new.
        Create = "create",
        /// Part of the file changed.
        Update = "update",
        /// The complete file was replaced.
        Overwrite = "overwrite",
        /// The file is deleted.
        Delete = "delete",
        /// The file has a new name.
        Move = "move",
    }
}

/// A change to one contiguous span of one file that the source shows to have been applied.
#[derive(Debug, Clone)]
pub struct CodeEdit<'a> {
    /// The call that edited.
    pub call_id: Option<Text<'a>>,
    /// The effect on the file.
    pub op: EditOp,
    /// The file, as written in the source.
    pub file: Text<'a>,
    /// The lines before the edit.
    pub before_range: Option<Range>,
    /// The lines after the edit.
    pub after_range: Option<Range>,
    /// Hash of the span (or snippet) before.
    pub before_hash: Option<Hash>,
    /// Hash of the span (or snippet) after.
    pub after_hash: Option<Hash>,
    /// Hash of the complete file before the edit.
    pub file_before_hash: Option<Hash>,
    /// Hash of the complete file after the edit.
    pub file_after_hash: Option<Hash>,
    /// Fingerprints of the text before.
    pub before_anchor_hashes: Vec<u64>,
    /// Fingerprints of the text after.
    pub after_anchor_hashes: Vec<u64>,
    /// The text before that was hashed. A tape has it only if its start says so, [`SPANS_TEXT`](super::SPANS_TEXT).
    pub before_text: Option<Cow<'a, str>>,
    /// The text after that was hashed.
    pub after_text: Option<Cow<'a, str>>,
    /// Number of lines of the text before, of a snippet.
    pub before_lines: Option<u64>,
    /// Number of lines of the text after, of a snippet.
    pub after_lines: Option<u64>,
    /// True if the hashes are of the old and new text in the call, at unknown lines (`basis: "snippet"`).
    pub snippet: bool,
    /// False if the source shows the request but not the outcome.
    pub confirmed: bool,
}

impl<'a> CodeEdit<'a> {
    /// An edit with file and operation, and nothing else.
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
            before_text: None,
            after_text: None,
            before_lines: None,
            after_lines: None,
            snippet: false,
            confirmed: true,
        }
    }
}

/// A link between two spans that the agent or harness itself declares.
#[derive(Debug, Clone)]
pub struct SpanLink<'a> {
    /// The call that declared it. In the tape it is only the `parent`.
    pub call_id: Option<Text<'a>>,
    /// The file of the first span.
    pub from_file: Text<'a>,
    /// The lines of the first span.
    pub from_range: Option<Range>,
    /// The file of the second span.
    pub to_file: Text<'a>,
    /// The lines of the second span.
    pub to_range: Option<Range>,
    /// What kind of link it is.
    pub note: Option<Text<'a>>,
}

impl<'a> SpanLink<'a> {
    /// The link between the two paths of a file that was moved.
    pub fn of_move(call_id: Option<Text<'a>>, from: Text<'a>, to: Text<'a>) -> Self {
        SpanLink {
            call_id,
            from_file: from,
            from_range: None,
            to_file: to,
            to_range: None,
            note: Some(Text::Plain("move")),
        }
    }
}
