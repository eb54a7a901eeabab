//! The policy for unknown or malformed input.

use std::fmt;
use std::str::FromStr;

/// The treatment of unknown versions, unknown records and malformed records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// Any of these is an error, and there is no tape.
    Strict,
    /// Such a record is kept as `meta unrecognized`, an unknown version lowers the claims, and everything else is converted.
    #[default]
    Permissive,
}

impl Policy {
    /// Every policy.
    pub const ALL: [Policy; 2] = [Policy::Strict, Policy::Permissive];

    /// The name in a tape and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Policy::Strict => "strict",
            Policy::Permissive => "permissive",
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Policy {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "strict" => Ok(Policy::Strict),
            "permissive" => Ok(Policy::Permissive),
            other => Err(format!(
                "unknown policy `{other}`: use `strict` or `permissive`"
            )),
        }
    }
}
