//! Which file this is, and how a store or a side file is read.

#[cfg(feature = "sqlite")]
mod database;
#[cfg(not(feature = "sqlite"))]
#[path = "no_database.rs"]
mod database;
pub mod detect;
#[cfg(feature = "sqlite")]
mod events;
mod export_writer;
mod files;
#[cfg(feature = "sqlite")]
mod generation;
#[cfg(feature = "sqlite")]
mod needed_tables;
mod parent_call;
#[cfg(feature = "sqlite")]
mod session_columns;
pub mod session_forms;
pub mod side_info;
pub mod store;
#[cfg(feature = "sqlite")]
mod titles;
#[cfg(feature = "sqlite")]
mod undone;
