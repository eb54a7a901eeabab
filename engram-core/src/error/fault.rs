//! Faults: why a single record cannot be converted.

use super::{AdapterError, excerpt};
use crate::limits::LimitExceeded;

/// Why a record could not be converted. The pipeline turns it into an error or an event, depending on the policy.
#[derive(Debug)]
pub enum Fault {
    /// The text is not a single JSON value of the expected structure.
    Json(serde_json::Error),
    /// The adapter does not know the type of the record.
    Unrecognized {
        /// The type.
        name: String,
    },
    /// The record has a known type, but a field has the wrong type.
    Malformed {
        /// The field (RFC 6901).
        pointer: String,
        /// What was expected there.
        expected: &'static str,
        /// What was found there.
        found: String,
    },
    /// The record exceeds a limit.
    Limit(LimitExceeded),
    /// The conversion cannot continue.
    Fatal(AdapterError),
}

impl Fault {
    /// A field with a value of the wrong type. `pointer` is an RFC 6901 pointer from the root of the record.
    pub fn malformed(pointer: impl Into<String>, expected: &'static str, found: &str) -> Fault {
        Fault::Malformed { pointer: pointer.into(), expected, found: excerpt(found) }
    }

    /// A record of an unknown type.
    pub fn unrecognized(name: &str) -> Fault {
        Fault::Unrecognized { name: excerpt(name) }
    }
}

impl From<serde_json::Error> for Fault {
    fn from(error: serde_json::Error) -> Self {
        Fault::Json(error)
    }
}

impl From<LimitExceeded> for Fault {
    fn from(limit: LimitExceeded) -> Self {
        Fault::Limit(limit)
    }
}
