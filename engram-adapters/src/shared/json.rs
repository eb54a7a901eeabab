//! The structural index over JSON text, which is part of the core.

pub use engram_core::json::{Field, JsonType, NULL, StructuralIndex, Value, one_or_many, parse};
