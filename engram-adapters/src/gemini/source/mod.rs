//! Which file this is, and what the files around it add.

pub mod detect;
pub mod sidecar;
