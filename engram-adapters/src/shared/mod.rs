//! The tools that adapters are built with, in this crate and in others. Nothing in here names a harness.
//!
//! | task | module |
//! | --- | --- |
//! | make an adapter of a log of records | [`log`] |
//! | parse a record, read its members | [`value`], [`view`] |
//! | read a document that contains a list of records | [`document`], [`json`] |
//! | match results with calls, know a repeat | [`pending_calls`], [`seen`] |
//! | know what the log said before | [`stated`] |
//! | join the pieces of a text, find words that a run printed in parts alone | [`joined`], [`printed_parts`] |
//! | keep the sessions of one artifact apart, map tool names to kinds | [`by_session`], [`tool_table`] |
//! | convert times to the tape's form | [`time`] |
//! | make hashes and line ranges of text | [`spans`], [`linenum`], [`patch`] |
//! | read diffs of files as a terminal shows them | [`shown`] |
//! | read files beside an artifact | [`neighbours`], [`remembered`] |
//! | split words and outputs from what a harness puts around them | [`wrappers`], [`notices`] |
//! | search long texts, describe attached media, know the channel of a text | [`search`], [`media`], [`phase`] |

mod below;
pub mod by_session;
pub mod document;
pub mod field_hash;
pub mod joined;
pub mod json;
pub mod linenum;
pub mod log;
pub mod media;
pub mod neighbours;
pub mod notices;
pub mod patch;
pub mod pending_calls;
pub mod phase;
pub mod printed_parts;
pub mod remembered;
pub mod search;
pub mod seen;
pub mod shown;
pub mod spans;
pub mod stated;
pub mod time;
pub mod tool_table;
pub mod value;
pub mod view;
pub mod wrappers;
