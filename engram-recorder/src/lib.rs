//! Runs a coding agent against a scripted model on loopback, and keeps its log beside what really happened.
//!
//! [`record::Job`] records one scenario; `engram conform` judges the result.

#![cfg(unix)]

pub mod agent;
pub mod conform;
pub mod dialog;
pub mod error;
pub mod harness;
pub mod inside;
pub mod isolation;
pub mod judge;
pub mod lists;
pub mod matrix;
pub mod process;
pub mod propose;
pub mod record;
pub mod sandbox;
pub mod scenario;
pub mod server;
pub mod shape;
pub mod sweep;
#[cfg(feature = "pty")]
pub mod terminal;
pub mod tools;
pub mod truth;
