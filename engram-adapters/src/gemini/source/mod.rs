//! Which file this is, and what the files around it add.

pub mod detect;
mod repeated_logs;
pub mod session_forms;
pub mod side_info;
