//! Changes one member of a recorded session at a time, and sees whether the adapter notices.

mod change;
mod record_type;
mod sample;
mod survey;
mod trial;

pub use sample::Sample;
pub use trial::{Trial, Unnoticed};
