//! What the events of a line need of earlier lines. Each file keeps one piece of it private.

pub mod last_edit;
pub mod last_stated;
pub mod open_calls;

use std::collections::HashMap;
use std::rc::Rc;

use engram_core::adapter::SideInfo;
use engram_core::event::Seq;
use engram_core::text::DecodeBuffer;

use crate::claude_code::plan::Plan;
use crate::claude_code::revisions::Dialect;
use crate::shared::value::StructuralIndex;
use last_edit::{LastCell, LastEdit, MarkedFiles};
use last_stated::{LastStated, Words};
use open_calls::OpenCalls;

/// What the events of a line need of earlier lines of its session.
pub struct State {
    /// What was decided about all lines.
    pub plan: Rc<Plan>,
    /// The dialect of the version that wrote the current line.
    pub dialect: Dialect,
    /// What the files beside the transcript add.
    pub side_info: SideInfo,
    pub last_stated: LastStated,
    pub calls: OpenCalls,
    pub words: Words,
    pub last_edit: LastEdit,
    pub last_cell: LastCell,
    /// Files that begin with a byte order mark.
    pub marked_files: MarkedFiles,
    /// The trigger of the last compaction, whose summary follows, as raw JSON.
    pub compaction_trigger: Option<String>,
    /// The program that runs the harness was asked whether a call may run, and may have changed the arguments.
    pub permission_is_asked: bool,
    /// Of a capture: the line before was the boundary of a compaction. The text after a boundary is the summary.
    pub summary_follows: bool,
    /// The ids of unnamed sub-agents, by the first lines of their chains.
    pub chains: HashMap<u32, String>,
    /// The last event up to the end of a line to which a person goes back.
    pub ends: HashMap<usize, Seq>,
    /// The last event before the words of a line to which a person goes back.
    pub befores: HashMap<usize, Seq>,
    /// The output tokens of the session's own responses so far.
    pub output: u64,
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

impl State {
    /// The state before the first line.
    pub fn new(side_info: SideInfo) -> Self {
        State {
            plan: Rc::default(),
            dialect: Dialect::default(),
            side_info,
            last_stated: LastStated::default(),
            calls: OpenCalls::default(),
            words: Words::default(),
            last_edit: LastEdit::default(),
            last_cell: LastCell::default(),
            marked_files: MarkedFiles::default(),
            compaction_trigger: None,
            permission_is_asked: false,
            summary_follows: false,
            chains: HashMap::new(),
            ends: HashMap::new(),
            befores: HashMap::new(),
            output: 0,
            scratch: Scratch::default(),
        }
    }
}
