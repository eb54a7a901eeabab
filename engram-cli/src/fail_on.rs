//! What `--fail-on` can name.

use clap::ValueEnum;

/// A reason why a session is not fully understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// A session with lowered claims
    Degraded,
    /// A session with records of unknown type, or records that could not be read
    Unrecognized,
    /// A session with members that the adapter does not know
    UnknownMembers,
    /// A session whose log ends inside a record
    Cut,
}

impl FailOn {
    /// The name on the command line.
    pub fn name(self) -> String {
        self.to_possible_value()
            .map(|value| value.get_name().to_owned())
            .unwrap_or_default()
    }
}
