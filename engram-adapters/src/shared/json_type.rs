//! JSON types as bits, which are part of the core.

pub use engram_core::json::{JsonType, NULL};
