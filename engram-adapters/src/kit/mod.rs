//! The substrate that adapters share. Nothing in here names a harness.

pub mod correlate;
pub(crate) mod document;
pub mod json;
pub mod linenum;
pub mod media;
pub mod names;
pub mod patch;
pub mod search;
pub mod shape;
pub mod spans;
pub mod time;
pub mod tool_table;
pub mod value;
pub mod view;
