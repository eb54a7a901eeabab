//! Calls and their results in the form of `stream-json`. Captures contain it; chat stores are opened into it.

pub(super) mod call;
mod code;
mod output;
pub(super) mod payload;
pub(super) mod result;
mod result_fields;

pub(in crate::cursor) use output::joined_texts;
