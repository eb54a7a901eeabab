//! Writes records of a session again, as harnesses do after a resume, and sees whether the tape stays the same.

mod again;
mod lines;

pub use again::{Way, changed_session, is_steady};
pub use lines::repeatable;
