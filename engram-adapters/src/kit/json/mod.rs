//! Looking at JSON text without building it: the checking pass and its index.

mod index;
mod pieces;
mod quotes;
mod scan;

pub use index::Index;
pub(in crate::kit) use index::Node;
pub use pieces::Pieces;
pub(in crate::kit) use quotes::ODD;
