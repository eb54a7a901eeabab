//! Profiles of coding agents, the tool-intent grammar, and the receipts of an episode.
//!
//! - [`Profile`]: how one agent is run. [`registry`] has the shipped ones; a profile is chosen by its hash.
//! - [`grammar`]: finds the frames with which a black-box agent asks for tools.
//! - [`episode`], [`receipt`], [`ledger`]: what an episode leaves, and the check that its ledger is whole.
//!
//! Nothing here starts a process or opens a file.
//!
//! ```
//! use engram_profiles::registry;
//!
//! let shipped = registry::all().next().unwrap();
//! assert_eq!(registry::by_hash(&shipped.hash).unwrap().profile, shipped.profile);
//! ```

pub mod canonical;
pub mod episode;
pub mod error;
pub mod grammar;
pub mod hash;
pub mod ledger;
pub mod limits;
pub mod nonce;
pub mod profile;
pub mod receipt;
pub mod registry;
pub mod schema;
pub mod template;
mod validate;
pub mod wrap;

pub use error::{ProfileError, ProfileFault};
pub use hash::ProfileHash;
pub use profile::Profile;
