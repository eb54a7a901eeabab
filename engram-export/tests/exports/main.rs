//! Exports of all golden tapes of the repository, judged by readers of the targets.

mod authorship;
mod documents;
mod golden;
mod programs;
mod sums;
mod tables;
