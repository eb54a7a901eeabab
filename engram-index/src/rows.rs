//! What the index has of one tape, as values: the rows before they have numbers for names and files.

use engram_core::hash::Hash;

/// The first 16 bytes of a BLAKE3 hash.
pub type Digest = [u8; 16];

/// The digest of a hash of the tape.
pub fn digest(hash: &Hash) -> Digest {
    let mut short = Digest::default();
    short.copy_from_slice(&hash.bytes()[..16]);
    short
}

/// Everything that is taken from one tape.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TapeRows {
    /// The tape itself.
    pub tape: TapeRow,
    /// Input to the agent.
    pub prompts: Vec<PromptRow>,
    /// Calls of tools.
    pub calls: Vec<CallRow>,
    /// Reads, changes, links and failed changes.
    pub spans: Vec<SpanRow>,
    /// What each read and edit left of its file, in the order of the tape.
    pub steps: Vec<StepRow>,
    /// What was said, if that is asked for.
    pub said: Vec<SaidRow>,
    /// What another tape of the session must have to repeat it, as `repeats.rs` writes it; `None` if the session has no id.
    pub form: Option<Vec<u8>>,
}

/// A prompt, an answer or an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaidRow {
    /// The byte of the event in the text of the tape.
    pub offset: u64,
    pub t: Option<i64>,
    /// The fingerprints of its text.
    pub anchors: Vec<u64>,
}

/// The row of a tape.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TapeRow {
    pub tape_hash: Digest,
    pub input_hash: Digest,
    pub harness: String,
    pub session: Option<String>,
    pub agent: Option<String>,
    /// Id and version.
    pub adapter: String,
    pub schema: String,
    pub support: String,
    pub complete: bool,
    pub t0: Option<i64>,
    pub t1: Option<i64>,
    /// The size of its text.
    pub bytes: u64,
    pub events: u64,
    pub parent_session: Option<String>,
    pub parent_call: Option<String>,
    pub fork_of: Option<String>,
    pub facts: Facts,
    pub spent: Spent,
}

/// What the responses of a tape spent, as JSON; `None` if it has none.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spent {
    /// Tokens by model.
    pub tokens: Option<String>,
    /// What the tape says about costs: [`engram_core::stats::TapeCost`].
    pub cost: Option<String>,
    /// The largest total in US dollars that the log states, that of a copy too.
    pub cost_total: Option<f64>,
}

/// What the log says of a session as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The version of the harness, as last stated.
    pub version: Option<String>,
    /// The first directory.
    pub cwd: Option<String>,
    /// The title, as last stated.
    pub title: Option<String>,
    /// The first model that is given.
    pub model: Option<String>,
    /// The remote of the repository, as first stated.
    pub repo_url: Option<String>,
    /// The ids of sub-agents that have events on the tape, copies apart, as a list in JSON; `None` without such sub-agents.
    pub agents: Option<String>,
}

/// Input to the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptRow {
    pub seq: u64,
    pub t: Option<i64>,
    /// The index of the author in `Author::ALL`.
    pub by: i64,
    pub replay: bool,
    /// The byte of the event in the text of the tape.
    pub offset: u64,
    pub agent: Option<String>,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRow {
    pub seq: u64,
    /// The `seq` of the prompt of its turn.
    pub prompt: Option<u64>,
    pub agent: Option<String>,
    pub tool: String,
    pub kind: &'static str,
    pub model: Option<String>,
    pub t: Option<i64>,
    /// The index of the status in `Status::ALL`.
    pub status: Option<i64>,
    pub exit: Option<i64>,
    pub call_id: Option<String>,
    pub replay: bool,
    pub offset: u64,
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum What {
    Read,
    Create,
    Update,
    Overwrite,
    Delete,
    Move,
    Link,
    /// A change that failed or was not allowed.
    Failed,
}

impl What {
    /// Everything, in the order of its numbers in the store.
    pub const ALL: [What; 8] = [
        What::Read,
        What::Create,
        What::Update,
        What::Overwrite,
        What::Delete,
        What::Move,
        What::Link,
        What::Failed,
    ];

    /// The name in answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            What::Read => "read",
            What::Create => "create",
            What::Update => "update",
            What::Overwrite => "overwrite",
            What::Delete => "delete",
            What::Move => "move",
            What::Link => "link",
            What::Failed => "failed",
        }
    }

    pub(crate) fn of_number(number: i64) -> What {
        usize::try_from(number)
            .ok()
            .and_then(|at| What::ALL.get(at))
            .copied()
            .unwrap_or(What::Read)
    }
}

/// A file as the index knows it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileRef {
    /// The address of the repository, or nothing.
    pub url: String,
    /// The directory that the path is below, or nothing.
    pub root: String,
    pub path: String,
}

impl FileRef {
    /// The path from the root of the file system, if it is known.
    pub fn full(&self) -> String {
        match self.root.as_str() {
            "" => self.path.clone(),
            root => format!("{root}/{}", self.path),
        }
    }
}

/// The text has no known lines.
pub const SNIPPET: i64 = 1;
/// The log shows the request, not the outcome.
pub const UNCONFIRMED: i64 = 2;

/// One span of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanRow {
    pub seq: u64,
    pub call: Option<u64>,
    pub file: FileRef,
    /// Where a link comes from.
    pub other: Option<FileRef>,
    pub what: What,
    pub before: Option<(i64, i64)>,
    pub after: Option<(i64, i64)>,
    pub bh: Option<Digest>,
    pub ah: Option<Digest>,
    pub fbh: Option<Digest>,
    pub fah: Option<Digest>,
    /// Number of lines after.
    pub lines: Option<i64>,
    /// [`SNIPPET`], [`UNCONFIRMED`].
    pub flags: i64,
    pub t: Option<i64>,
    /// Fingerprints of the text before.
    pub before_anchors: Vec<u64>,
    /// Fingerprints of the text after.
    pub after_anchors: Vec<u64>,
}

/// What a step did to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A read showed this text.
    Seen,
    /// A call made this text of another one.
    Changed,
    /// A call made this text, and there was no file before.
    Created,
    /// A call made these lines of others, nobody knows where in the file.
    Piece,
    /// The file was another one before.
    Moved,
    /// The file is a copy of another one.
    Copied,
    /// The file was removed.
    Deleted,
    /// A call changed the file, and the tape has no text of it.
    Lost,
    /// A call wrote these lines at the end of the file.
    Appended,
}

impl Kind {
    /// Every kind, in the order of the numbers in the store.
    pub const ALL: [Kind; 9] = [
        Kind::Seen,
        Kind::Changed,
        Kind::Created,
        Kind::Piece,
        Kind::Moved,
        Kind::Copied,
        Kind::Deleted,
        Kind::Lost,
        Kind::Appended,
    ];

    pub(crate) fn of_number(number: i64) -> Kind {
        let at = usize::try_from(number).unwrap_or(usize::MAX);
        Kind::ALL.get(at).copied().unwrap_or(Kind::Lost)
    }
}

/// A step of a file from one text to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepRow {
    /// The event of the read or of the first span of the edit; of a command, its call.
    pub seq: u64,
    /// Several steps of one event, in their order.
    pub nth: u64,
    pub call: Option<u64>,
    pub file: FileRef,
    /// The file that this one was before, or is a copy of.
    pub other: Option<FileRef>,
    pub kind: Kind,
    /// False if the text may have more lines at its end.
    pub whole: bool,
    /// True if the text before the edit is known, too.
    pub has_before: bool,
    /// True if a command of the tape ran since the last step of the file.
    pub after_command: bool,
    pub t: Option<i64>,
    /// Lines, as differences: the text before (if known) from the last step of the file on the tape, and the text after from it. Of a
    /// piece and of what was appended: the lines before from nothing, and those after from them.
    pub data: Vec<u8>,
}

impl StepRow {
    /// The flags as numbers of the store.
    pub fn flags(&self) -> i64 {
        i64::from(self.whole) | i64::from(self.has_before) << 1 | i64::from(self.after_command) << 2
    }
}
