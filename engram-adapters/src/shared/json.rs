//! The structural index over JSON text, which is part of the core.

pub use engram_core::json::{Field, KeptRecord, PullReader, StructuralIndex, Value, one_or_many, parse};
