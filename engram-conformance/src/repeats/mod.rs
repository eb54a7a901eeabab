//! Writes records of a session again, as harnesses do after a resume, and sees whether the tape stays the same.

use std::env;
use std::sync::OnceLock;

mod again;
mod lines;

pub use again::{Way, difference_with_repeats, is_steady};
pub use lines::repeatable;

/// With the value `all`, the checks of repeats try every line and every call of every session.
const FULL_RUN: &str = "ENGRAM_REPEATS";

/// True if the checks of repeats take no sample.
pub fn is_full_run() -> bool {
    static IS_FULL: OnceLock<bool> = OnceLock::new();
    *IS_FULL.get_or_init(|| env::var_os(FULL_RUN).is_some_and(|value| value == "all"))
}
