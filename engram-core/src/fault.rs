//! Why a record cannot be converted.

use crate::error::{AdapterError, excerpt};
use crate::limits::LimitExceeded;

/// Why a record could not be converted. The driver applies the policy to it.
#[derive(Debug)]
pub enum Fault {
    /// The text is not one JSON value of the expected shape.
    Json(serde_json::Error),
    /// The record is of a type that the adapter does not know.
    Unrecognized {
        /// The type.
        name: String,
    },
    /// The record is of a known type, but a field has the wrong shape.
    Malformed {
        /// The field (RFC 6901).
        pointer: String,
        /// What was expected there.
        expected: &'static str,
        /// What was found there.
        found: String,
    },
    /// A bound was exceeded.
    Limit(LimitExceeded),
    /// The conversion cannot go on.
    Fatal(AdapterError),
}

impl Fault {
    /// A field of the wrong shape. Rare: kept out of the way of what is not.
    #[cold]
    #[inline(never)]
    pub fn malformed(pointer: impl Into<String>, expected: &'static str, found: &str) -> Fault {
        Fault::Malformed { pointer: pointer.into(), expected, found: excerpt(found) }
    }

    /// A record of unknown type.
    #[cold]
    #[inline(never)]
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
