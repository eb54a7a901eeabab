//! The directory of tapes: who may write to it, which files are in it, and what they were made from.
//!
//! One run at a time has the lock of the directory. It may be killed at any instant: each file is complete before it gets its name, and the
//! index never says of a tape what is not true.

mod contains;
mod directory;
mod entry;
#[cfg(test)]
pub mod faults;
mod file_hash;
pub mod files;
mod index;
mod known;
mod names;
mod place;
mod verify;

pub use directory::OutDir;
pub use entry::{Entry, Failure, Key, Setup, State, Superseded};
pub use index::{INDEX, Index, is_missing};
pub use known::{Known, container, source_of};
pub use names::{stem, tape_stem};
pub use place::{Finished, Placed, Placement, Placer, Target};
pub use verify::{Repaired, has_index, repair, verify};
