//! Run stores: agents, their runs, and the messages of each run with their times. `index.db` and a directory of text files are opened into
//! the same text.

mod dispatch;
pub(super) mod facts;
pub(super) mod files;
#[cfg(feature = "sqlite")]
pub(super) mod rows;
pub(super) mod schema;
pub(super) mod secret;
pub(super) mod store;

use engram_core::adapter::Session;
use engram_core::emit::{Emitter, Fault};
use engram_core::ledger::Outcome;

pub(super) use dispatch::RunStore;
#[cfg(test)]
pub(super) use dispatch::rows as record_rows;

use crate::shared::value::{StructuralIndex, parse};

/// The converter of one opened agent.
#[derive(Default)]
pub(super) struct RunStoreSession {
    store: RunStore,
    index: StructuralIndex,
}

impl Session for RunStoreSession {
    fn record(&mut self, source: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        self.store.convert(parse(source, &mut self.index)?, out)
    }

    fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        self.store.finish(out)
    }
}
