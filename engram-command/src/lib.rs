//! What the commands `engram` and `engram-lab` share.
//!
//! - their frame: [`run`], [`program`], [`help`], [`man`], [`complete`], [`reference`](mod@reference);
//! - how they say what happened: [`report`], [`message`], [`summary`], [`table`], [`keys`], [`exit`];
//! - which sessions are meant: [`homes`], [`inputs`], [`filter`], [`conversion`], [`kept`], [`places`];
//! - how they write and end: [`output`], [`interrupt`], [`small_file`], [`pool`].
//!
//! A command of one's own over these parts implements [`Program`](program::Program). The commands of this repository, over adapters of one's
//! own, are `engram_cli::run` and `engram_lab::run`.

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
pub mod reference;
pub mod report;
mod run;
pub mod size;
pub mod small_file;
pub mod summary;
pub mod table;

pub use run::run;

/// The examples of the page of the crate.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
