//! Drift: what the logs of a harness have that the member table of its adapter does not name, and what they no longer have.
//!
//! [`SessionDrift`] is the sink of a conversion: it keeps which versions wrote the session and which types the adapter does not know. Then
//! it reads the text that was converted, and compares every record with the member table. The reports of many sessions are merged into one,
//! because only all sessions of a version show that a member has stopped appearing.

mod compare;
mod group;
mod report;
mod session;

pub use group::{Change, DriftRow, MAX_DRIFT_ROWS, MIN_ABSENT, Place};
pub use report::{DriftGroup, DriftReport};
pub use session::SessionDrift;
