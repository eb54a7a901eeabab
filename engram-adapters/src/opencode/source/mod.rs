//! Which file this is, and how a store or a side file is read.

mod database;
pub mod detect;
mod export_writer;
mod files;
mod parent_call;
pub mod sidecar;
pub mod store;
