//! Runs a coding agent against a scripted model on loopback, and keeps its log beside what really happened.
//!
//! [`record::Job`] records one scenario; `engram-lab conform` judges the result. [`episode::Job`] drives a black-box agent, and keeps receipts of
//! what it asked for.

#![cfg(unix)]

pub mod agent;
mod bounded;
pub mod client;
pub mod conform;
pub mod dialog;
pub mod episode;
pub mod error;
pub mod facts;
pub mod harness;
pub mod inside;
pub mod install;
pub mod isolation;
pub mod judge;
pub mod kept;
mod left;
pub mod lists;
pub mod live;
pub mod matrix;
pub mod probe;
pub mod process;
pub mod program;
pub mod propose;
pub mod record;
pub mod sandbox;
pub mod scenario;
pub mod server;
pub mod shape;
pub mod stop;
pub mod sweep;
mod table_file;
pub mod terminal;
pub mod tools;
pub mod truth;
mod will;
