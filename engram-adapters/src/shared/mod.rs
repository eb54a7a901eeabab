//! The substrate that adapters share. Nothing in here names a harness.

pub mod correlate;
pub(crate) mod document;
pub mod field_hash;
pub mod json;
pub mod json_type;
pub mod linenum;
pub mod media;
pub mod patch;
pub mod route;
pub mod search;
pub mod spans;
pub mod time;
pub mod tool_table;
pub mod value;
pub mod view;
