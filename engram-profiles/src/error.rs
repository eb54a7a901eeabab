//! Why a profile is refused. Every error has a stable code and a place.

use std::fmt;

/// The code of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProfileFault {
    /// The profile breaks a rule, or its bytes are not canonical.
    Invalid,
    /// No shipped profile has this hash, or the profile has another hash than expected.
    Unknown,
}

impl ProfileFault {
    /// The code as text.
    pub const fn code(self) -> &'static str {
        match self {
            ProfileFault::Invalid => "profile_invalid",
            ProfileFault::Unknown => "unknown_profile",
        }
    }
}

/// Why a profile is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ProfileError {
    /// The code.
    pub fault: ProfileFault,
    /// The place in the profile, an RFC 6901 pointer; empty: the whole profile.
    pub pointer: String,
    /// What is wrong, and what to do.
    pub what: String,
}

impl ProfileError {
    /// A broken rule at this place.
    pub fn invalid(pointer: impl Into<String>, what: impl fmt::Display) -> ProfileError {
        ProfileError {
            fault: ProfileFault::Invalid,
            pointer: pointer.into(),
            what: what.to_string(),
        }
    }

    /// A profile that is not the expected one.
    pub fn unknown(what: impl fmt::Display) -> ProfileError {
        ProfileError {
            fault: ProfileFault::Unknown,
            pointer: String::new(),
            what: what.to_string(),
        }
    }
}

impl ProfileError {
    /// The place, if it is known, and what is wrong there: the message without its code.
    pub fn place_and_reason(&self) -> String {
        let place = if self.pointer.is_empty() {
            String::new()
        } else {
            format!("at {}: ", self.pointer)
        };
        format!("{place}{}", self.what)
    }
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.fault.code(), self.place_and_reason())
    }
}
