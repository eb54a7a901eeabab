//! Tapes in the forms that other programs read: Arrow record batches and Parquet files, ATIF trajectories, OpenTelemetry traces, and
//! Hugging Face session traces; and who made the lines of a commit, as Agent Trace and as git notes.
//!
//! Every export is a function of tapes alone. What a target cannot hold is counted by rule, see [`losses`].

#[cfg(feature = "arrow")]
pub mod arrow;
pub mod atif;
pub mod authorship;
mod fields;
pub mod hf;
pub mod links;
pub mod losses;
pub mod otlp;
#[cfg(feature = "parquet")]
pub mod parquet;
mod scratch;
pub mod session;
pub mod text;
pub mod time;
pub mod turn;

#[cfg(feature = "arrow")]
pub use self::arrow::schema;

/// Whether a session has something that a target has a form for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrote {
    /// It was written.
    Session,
    /// It has nothing of that kind, so nothing was written.
    Nothing,
}

/// Views of the Parquet files, for DuckDB. They are written beside the files.
pub const SCHEMA_SQL: &str = include_str!("schema.sql");

/// The examples of the page of the crate.
#[cfg(all(doctest, feature = "arrow"))]
#[doc = include_str!("../README.md")]
struct Readme;
