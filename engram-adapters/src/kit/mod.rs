//! The substrate that adapters share. Nothing in here names a harness.

pub mod correlate;
pub mod json;
pub mod media;
pub mod spans;
pub mod time;
pub mod tool_table;
