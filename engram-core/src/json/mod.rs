//! JSON text without a tree: a validating pass builds an index of all values.

mod compact;
mod index;
mod json_type;
mod kept;
mod member_node;
mod names;
mod node;
mod pull;
mod scan;
mod string_mask;
mod value;

pub use index::StructuralIndex;
pub use json_type::{JsonType, NULL};
pub use kept::KeptRecord;
pub use node::Node;
pub use pull::PullReader;
pub use value::{Field, Value, one_or_many, parse};
