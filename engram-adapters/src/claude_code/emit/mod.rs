//! Step 3: the events of each line. `dispatch` finds the handler of a record type.

pub mod agent_lines;
mod assistant;
mod attachments;
pub mod dispatch;
mod late;
mod progress;
mod provided;
mod queue;
mod results;
mod sent_messages;
mod session_lines;
mod session_meta;
pub mod state;
pub mod stream;
pub mod system;
mod usage;
mod user;

pub(super) use results::LAST_LINE;
