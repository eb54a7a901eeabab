//! What to do about the unknown: refuse it, or keep the rest and say so.

use std::fmt;
use std::str::FromStr;

/// How unknown versions, unknown records and malformed records are met (spec section 8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// The first unknown or malformed thing is an error.
    Strict,
    /// Unknown things go to `meta unrecognized`, claims are degraded, and the rest is converted.
    #[default]
    Permissive,
}

impl Policy {
    /// Every policy.
    pub const ALL: [Policy; 2] = [Policy::Strict, Policy::Permissive];

    /// The name that the tape and the command line use.
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
            other => Err(format!("`{other}` is no policy: use `strict` or `permissive`")),
        }
    }
}
