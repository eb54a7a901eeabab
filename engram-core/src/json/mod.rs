//! JSON text without a tree: a validating pass builds an index of all values.

mod cut;
mod index;
mod json_type;
mod member_node;
mod node;
mod scan;
mod string_mask;
mod value;

pub(crate) use cut::is_cut;
pub use index::StructuralIndex;
pub use json_type::{JsonType, NULL};
pub use node::Node;
pub use value::{Field, Value, one_or_many, parse};
