//! Feeds damaged input to the converter: seeds, mutations, targets and the loop. Runs on stable Rust, in one process.

mod corpus;
mod mutate;
pub mod run;
mod seeds;
mod target;
pub mod targets;

pub use corpus::Corpus;
