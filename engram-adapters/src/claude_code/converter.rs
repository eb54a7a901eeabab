//! What is remembered from line to line.

use engram_core::adapter::{Context, Opening};
use engram_core::text::Room;

use super::calls::Call;
use super::edited::LastEdited;
use super::history::History;
use super::queue::Queue;
use super::revisions::{Dialect, dialect};
use super::standing::Standing;
use super::unasked::Unasked;
use super::under_way::UnderWay;
use super::usage::Usages;
use crate::kit::correlate::OpenCalls;
use crate::kit::value::Index;

/// What is remembered from line to line.
pub(super) struct Converter {
    pub dialect: Dialect,
    pub context: Context,
    pub calls: OpenCalls<Call>,
    pub history: History,
    pub usages: Usages,
    pub queue: Queue,
    pub under_way: UnderWay,
    pub unasked: Unasked,
    /// What started the last compaction, until its summary comes.
    pub compaction_trigger: Option<String>,
    /// Where the values of arguments lie that are read again.
    pub arguments: Index,
    /// The last notebook cell that was set, as its call asked for it.
    pub last_cell: Option<u64>,
    pub last_edited: LastEdited,
    /// Where the text of a file is decoded.
    pub room: Room,
    pub standing: Standing,
}

impl Converter {
    /// A converter that has seen nothing yet.
    pub fn open(opening: &Opening<'_>) -> Self {
        let dialect = dialect(opening.revision);
        Converter {
            dialect,
            context: opening.context.clone(),
            calls: OpenCalls::default(),
            history: History::open(opening.head, dialect),
            usages: Usages::default(),
            queue: Queue::default(),
            under_way: UnderWay::default(),
            unasked: Unasked::default(),
            compaction_trigger: None,
            arguments: Index::default(),
            last_cell: None,
            last_edited: LastEdited::default(),
            room: Room::default(),
            standing: Standing::default(),
        }
    }
}
