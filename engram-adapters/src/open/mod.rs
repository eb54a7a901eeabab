//! Opening artifacts.

pub mod sqlite;
