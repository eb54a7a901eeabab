//! Opening artifacts.

pub mod sqlite;
pub mod store;
