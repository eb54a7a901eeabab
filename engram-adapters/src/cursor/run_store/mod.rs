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

pub(super) use dispatch::RunStore;
