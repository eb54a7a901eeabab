//! Looking at JSON text without building it: the checking pass and its index.

mod index;
mod quotes;
mod scan;

pub use index::Index;
pub(in crate::kit) use index::Node;
use serde_json::value::RawValue;

/// A raw value of the source, or absent. JSON `null` counts as absent.
pub type Raw<'a> = Option<&'a RawValue>;
