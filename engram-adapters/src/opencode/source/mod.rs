//! Which file this is, and how a store or a side file is read.

#[cfg(feature = "sqlite")]
mod database;
#[cfg(not(feature = "sqlite"))]
#[path = "no_database.rs"]
mod database;
pub mod detect;
mod export_writer;
mod files;
mod parent_call;
pub mod sidecar;
pub mod store;
