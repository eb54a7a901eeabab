//! Looking at JSON text without building it: the checking pass and its index.

mod index;
mod pull;
mod scan;
mod string_mask;

pub(in crate::shared) use index::Node;
pub use index::StructuralIndex;
pub use pull::PullReader;
pub(in crate::shared) use string_mask::NONCANONICAL;
