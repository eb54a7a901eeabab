//! Per-session conversion state: all its pieces.

use engram_core::adapter::{SessionInit, SideInfo};
use engram_core::emit::{Emitter, Fault};
use engram_core::head::Head;
use engram_core::text::DecodeBuffer;

use super::dedup::Dedup;
use super::early_results::EarlyResults;
use super::history_copies::HistoryCopies;
use super::last_edit::{LastCell, LastEdit};
use super::last_stated::LastStated;
use super::marked_files::MarkedFiles;
use super::open_calls::OpenCalls;
use super::orphan_arguments::OrphanArguments;
use super::pending_output::PendingOutput;
use super::pending_prompts::PendingPrompts;
use super::pending_usage::PendingUsage;
use super::read_lines::ReadLines;
use super::replay::ReplayDetector;
use super::result_notes::ResultNotes;
use super::rewinds::Rewinds;
use super::rewritten_lines::RewrittenLines;
use super::sidechains::Sidechains;
use super::titles::PendingTitles;
use super::typed_commands::TypedCommands;
use crate::claude_code::revisions::{Dialect, MATRIX, dialect};
use crate::claude_code::schema::Line;
use crate::shared::restorable::Restorable;
use crate::shared::value::{StructuralIndex, Value};

/// Per-session conversion state.
pub struct SessionState {
    /// The dialect of the version that wrote the current line.
    pub dialect: Restorable<Dialect>,
    /// What the files beside the transcript add.
    pub side_info: SideInfo,
    pub last_stated: LastStated,
    pub calls: OpenCalls,
    pub dedup: Dedup,
    pub lines: ReadLines,
    pub copies: HistoryCopies,
    pub rewritten: RewrittenLines,
    pub replay: ReplayDetector,
    pub sidechains: Sidechains,
    pub usage: PendingUsage,
    pub prompts: PendingPrompts,
    pub titles: PendingTitles,
    pub commands: TypedCommands,
    pub notes: ResultNotes,
    pub early_results: EarlyResults,
    pub rewinds: Rewinds,
    pub output: PendingOutput,
    pub orphans: OrphanArguments,
    pub last_edit: LastEdit,
    pub last_cell: LastCell,
    pub marked_files: MarkedFiles,
    /// The trigger of the last compaction (a JSON string), until the summary comes.
    pub compaction_trigger: Option<String>,
    /// The log has `attachment` lines.
    pub has_attachments: bool,
    /// The last text in the user's place was a command, or what one printed.
    pub follows_command: Restorable<bool>,
    /// The program that runs the harness was asked whether a call may run, and may have changed the arguments.
    pub permission_is_asked: Restorable<bool>,
    /// Of a capture: the line before was the boundary of a compaction. The text after a boundary is the summary.
    pub summary_follows: Restorable<bool>,
    pub scratch: Scratch,
}

/// Buffers that are reused. Nothing in them outlives a record.
#[derive(Default)]
pub struct Scratch {
    /// The type of a record.
    pub record_type: String,
    pub text: DecodeBuffer,
    /// The structure of call arguments.
    pub arguments: StructuralIndex,
}

impl SessionState {
    /// The state before the first line.
    pub fn new(init: &SessionInit<'_>) -> Self {
        Self::before(init.head, dialect(init.revision), init.context.clone())
    }

    /// The state before the first line of a session that begins with this head.
    pub fn before(head: &Head<'_>, dialect: Dialect, side_info: SideInfo) -> Self {
        SessionState {
            dialect: Restorable::new(dialect),
            side_info,
            last_stated: LastStated::default(),
            calls: OpenCalls::default(),
            dedup: Dedup::default(),
            lines: ReadLines::default(),
            copies: HistoryCopies::default(),
            rewritten: RewrittenLines::default(),
            replay: ReplayDetector::new(head, dialect),
            sidechains: Sidechains::default(),
            usage: PendingUsage::default(),
            prompts: PendingPrompts::default(),
            titles: PendingTitles::default(),
            commands: TypedCommands::default(),
            notes: ResultNotes::default(),
            early_results: EarlyResults::default(),
            rewinds: Rewinds::default(),
            output: PendingOutput::default(),
            orphans: OrphanArguments::default(),
            last_edit: LastEdit::default(),
            last_cell: LastCell::default(),
            marked_files: MarkedFiles::default(),
            compaction_trigger: None,
            has_attachments: false,
            follows_command: Restorable::default(),
            permission_is_asked: Restorable::default(),
            summary_follows: Restorable::default(),
            scratch: Scratch::default(),
        }
    }

    /// The dialect of the version that wrote a line.
    #[inline]
    pub fn dialect_of(&self, line: &Line<'_>) -> Dialect {
        match line.version() {
            Some(version) if !self.last_stated.is_version(version) => dialect_of_version(version, *self.dialect),
            _ => *self.dialect,
        }
    }

    /// Ends a record. What a malformed one has changed is restored.
    pub fn end_record(&mut self, is_converted: bool, out: &Emitter) {
        if is_converted {
            self.dialect.commit();
            self.last_stated.commit();
            self.calls.commit();
            self.replay.commit();
            self.dedup.commit();
            self.usage.commit();
            self.lines.commit(out.last_seq().unwrap_or_default());
            self.follows_command.commit();
            self.permission_is_asked.commit();
            self.summary_follows.commit();
            self.commands.commit();
            self.notes.commit();
            self.copies.commit();
            self.rewritten.commit();
            self.rewinds.commit();
            self.marked_files.commit();
        } else {
            self.dialect.roll_back();
            self.last_stated.roll_back();
            self.calls.roll_back();
            self.replay.roll_back();
            self.dedup.roll_back();
            self.usage.roll_back();
            self.lines.roll_back();
            self.follows_command.roll_back();
            self.permission_is_asked.roll_back();
            self.summary_follows.roll_back();
            self.commands.roll_back();
            self.notes.roll_back();
            self.copies.roll_back();
            self.rewritten.roll_back();
            self.rewinds.roll_back();
            self.marked_files.roll_back();
        }
    }

    /// Emits everything that waited for a later line.
    pub fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        self.usage.finish(out)?;
        self.titles.finish(out)?;
        self.output.finish(out)?;
        self.orphans.finish(out)?;
        self.prompts.finish(self.has_attachments, out)
    }
}

/// The dialect of a version. A version that is known to no revision changes nothing.
#[cold]
fn dialect_of_version(version: Value<'_>, current: Dialect) -> Dialect {
    let version = version.text().map(|version| version.decode_lossy());
    version.and_then(|version| MATRIX.resolve(Some(&version)).0).map_or(current, |revision| dialect(Some(revision)))
}
