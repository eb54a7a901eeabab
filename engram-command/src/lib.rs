//! What the commands `engram` and `engram-lab` share.
//!
//! - their frame: [`run`], [`program`], [`help`], [`man`], [`complete`], [`reference`](mod@reference);
//! - how they say what happened: [`report`], [`message`], [`summary`], [`table`], [`keys`], [`exit`];
//! - which sessions are meant: [`homes`], [`inputs`], [`filter`], [`conversion`], [`kept`], [`places`];
//! - how they write and end: [`output`], [`interrupt`], [`small_file`], [`pool`]; and what their tests share: [`testing`].
//!
//! Your own command implements [`Program`](program::Program). `engram_cli::run` and `engram_lab::run` are the two over other adapters.

pub mod complete;
pub mod conversion;
pub mod exit;
pub mod filter;
pub mod help;
pub mod homes;
pub mod inputs;
pub mod interrupt;
pub mod kept;
pub mod keys;
pub mod man;
pub mod message;
pub mod output;
pub mod places;
pub mod pool;
pub mod program;
mod progress;
pub mod project;
pub mod reference;
pub mod report;
mod run;
pub mod size;
pub mod small_file;
pub mod summary;
pub mod table;
pub mod testing;

pub use run::run;

/// The examples of the page of the crate.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
