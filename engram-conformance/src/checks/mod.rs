//! The check functions, grouped by subject. `catalogue.rs` lists the checks that use them.

pub mod apart;
pub mod arguments;
mod attribution;
mod call_edits;
pub mod claims;
pub mod clock;
pub mod completeness;
pub mod conversation;
pub mod edit_chain;
pub mod edits;
pub mod home;
pub mod identity;
pub mod members;
pub mod observable;
pub mod prompts;
pub mod provenance;
pub mod reads;
pub mod repeated;
pub mod repeated_ids;
pub mod responses;
pub mod shared_ids;
mod spans;
pub mod stability;
pub mod statements;
pub mod usage;
pub mod versions;
pub mod viable;
