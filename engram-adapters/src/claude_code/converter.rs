//! What is remembered from line to line.

use engram_core::adapter::{SessionInit, SideInfo};
use engram_core::text::DecodeBuffer;

use super::calls::Call;
use super::edited::LastEdited;
use super::history::History;
use super::queue::Queue;
use super::revisions::{Dialect, dialect};
use super::standing::Standing;
use super::unasked::Unasked;
use super::under_way::UnderWay;
use super::usage::Usages;
use crate::shared::pending_calls::PendingCalls;
use crate::shared::value::StructuralIndex;

/// What is remembered from line to line.
pub(super) struct Converter {
    pub dialect: Dialect,
    pub context: SideInfo,
    pub calls: PendingCalls<Call>,
    pub history: History,
    pub usages: Usages,
    pub queue: Queue,
    pub under_way: UnderWay,
    pub unasked: Unasked,
    /// What started the last compaction, until its summary comes.
    pub compaction_trigger: Option<String>,
    /// Where the values of arguments lie that are read again.
    pub arguments: StructuralIndex,
    /// The last notebook cell that was set, as its call asked for it.
    pub last_cell: Option<u64>,
    pub last_edited: LastEdited,
    /// Where the text of a file is decoded.
    pub room: DecodeBuffer,
    pub standing: Standing,
}

impl Converter {
    /// A converter that has seen nothing yet.
    pub fn open(init: &SessionInit<'_>) -> Self {
        let dialect = dialect(init.revision);
        Converter {
            dialect,
            context: init.context.clone(),
            calls: PendingCalls::default(),
            history: History::open(init.head, dialect),
            usages: Usages::default(),
            queue: Queue::default(),
            under_way: UnderWay::default(),
            unasked: Unasked::default(),
            compaction_trigger: None,
            arguments: StructuralIndex::default(),
            last_cell: None,
            last_edited: LastEdited::default(),
            room: DecodeBuffer::default(),
            standing: Standing::default(),
        }
    }
}
