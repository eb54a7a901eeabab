//! Recognising a transcript, the files around it, and the database of 0.2.96 to 0.2.100.

pub mod detect;
#[cfg(feature = "sqlite")]
pub mod legacy_db;
mod older_logs;
#[cfg(feature = "sqlite")]
pub mod session_forms;
pub mod side_info;
