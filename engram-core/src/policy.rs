//! The policy for unknown or malformed input.

use std::fmt;
use std::str::FromStr;

use crate::words::words;

words! {
    /// The treatment of unknown versions, unknown records and malformed records.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub enum Policy {
        /// Any of these is an error, and there is no tape.
        Strict = "strict",
        /// Such a record is kept as `meta unrecognized`, an unknown version lowers the claims, and everything else is converted.
        #[default]
        Permissive = "permissive",
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
