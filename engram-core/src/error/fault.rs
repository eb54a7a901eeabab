//! Faults: why a single record cannot be converted.

use std::fmt;

use super::{AdapterError, excerpt};
use crate::limits::LimitExceeded;

/// Why a record could not be converted. The driver turns it into an error or an event, depending on the policy.
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
        /// The field (RFC 6901), from the root of the value that the function converts. Its caller adds where that value is:
        /// [`Fault::within`].
        pointer: String,
        /// What was expected there.
        expected: &'static str,
        /// What was found there.
        found: String,
    },
    /// The record would give an event that the claims of its form do not have.
    Refused {
        /// The origin of the event (RFC 6901), from the root of the record.
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
    /// A field with a value of the wrong type. `pointer` is an RFC 6901 pointer from the root of the value that the function converts.
    pub fn malformed(pointer: impl Into<String>, expected: &'static str, found: &str) -> Fault {
        Fault::Malformed {
            pointer: pointer.into(),
            expected,
            found: excerpt(found),
        }
    }

    /// A fault inside the value at `place`. The place becomes the first part of the pointer, unless the pointer begins at the root of the
    /// record already ([`Fault::Refused`]).
    #[cold]
    pub fn within(self, place: impl fmt::Display) -> Fault {
        match self {
            Fault::Malformed {
                pointer,
                expected,
                found,
            } => Fault::Malformed {
                pointer: format!("{place}{pointer}"),
                expected,
                found,
            },
            other => other,
        }
    }

    /// A record of an unknown type.
    pub fn unrecognized(name: &str) -> Fault {
        Fault::Unrecognized {
            name: excerpt(name),
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Pointer;

    fn pointer(fault: Fault) -> Option<String> {
        match fault {
            Fault::Malformed { pointer, .. } | Fault::Refused { pointer, .. } => Some(pointer),
            _ => None,
        }
    }

    #[test]
    fn the_places_of_nested_values_are_joined() {
        let fault = Fault::malformed("/name", "a string", "7")
            .within(Pointer::Item("/calls", 1))
            .within("/message");
        assert_eq!(pointer(fault).as_deref(), Some("/message/calls/1/name"));
    }

    #[test]
    fn other_faults_are_unchanged() {
        let refused = Fault::Refused {
            pointer: "/part".into(),
            expected: "lines",
            found: String::new(),
        };
        assert_eq!(pointer(refused.within("/part")).as_deref(), Some("/part"));
        assert!(
            matches!(Fault::unrecognized("b").within("/a"), Fault::Unrecognized { name } if name == "b")
        );
    }
}
