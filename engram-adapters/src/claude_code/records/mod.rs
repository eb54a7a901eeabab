//! The lines of a transcript: which handler converts each record type (`dispatch`), and the handlers.

pub mod agent_lines;
mod assistant;
mod attachments;
pub mod authors;
pub mod dispatch;
mod progress;
mod queue;
mod session_lines;
mod session_meta;
pub mod stream;
mod system;
mod user;
