//! Step 3: the events of each line. `dispatch` finds the handler of a record type.

mod assistant;
mod attachments;
pub mod dispatch;
mod late;
pub mod progress;
mod provided;
mod results;
mod session_lines;
mod session_meta;
pub mod state;
pub mod stream;
pub mod system;
pub(super) mod usage;
mod user;

pub(super) use results::LAST_LINE;
