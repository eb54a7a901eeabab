//! The checks, by what they are about. The table of all of them is `check.rs`.

pub mod claims;
mod clock;
pub mod observable;
pub mod provenance;
pub mod stability;
pub mod versions;
pub mod viable;
