//! The harnesses that write this format: OpenCode, and its forks. A fork is a row with what it has of its own; all else is OpenCode's.

use engram_core::descriptor::AdapterDescriptor;

use super::descriptor;
use super::format::mark;
use super::kilo;

/// One harness that writes this format.
pub struct Family {
    /// What its stores are called, for people: a database, files, and a store without sessions.
    pub kinds: [&'static str; 3],
    /// How the names of its databases begin.
    pub databases: &'static str,
    /// The first number of all of its versions, which no other harness of the list has. `None` for OpenCode.
    pub major: Option<u64>,
    /// The marks of its logs.
    pub marks: &'static [&'static str],
    /// Its self-description.
    pub descriptor: &'static AdapterDescriptor,
}

/// The place of OpenCode in [`FAMILIES`].
pub const OF_OPENCODE: usize = 0;
/// The place of Kilo.
pub const OF_KILO: usize = 1;

/// All of them. What no fork owns is OpenCode's.
pub static FAMILIES: [Family; 2] = [
    Family {
        kinds: [
            "OpenCode database",
            "OpenCode session files",
            "empty OpenCode store",
        ],
        databases: "opencode",
        major: None,
        marks: &[
            mark::EXPORT,
            mark::STEP_EXPORT,
            mark::STREAM_PART,
            mark::STREAM_ERROR,
            mark::STEP_STREAM_CALL,
        ],
        descriptor: &descriptor::DESCRIPTOR,
    },
    Family {
        kinds: ["Kilo database", "Kilo session files", "empty Kilo store"],
        databases: "kilo",
        major: Some(7),
        marks: &[mark::KILO_EXPORT, mark::KILO_STREAM_STEP],
        descriptor: &kilo::DESCRIPTOR,
    },
];

/// The place of the harness that creates sessions of this version.
pub fn of_version(version: &str) -> usize {
    let major = version
        .split('.')
        .next()
        .and_then(|number| number.parse().ok());
    FAMILIES
        .iter()
        .position(|family| family.major.is_some() && family.major == major)
        .unwrap_or(OF_OPENCODE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_number_of_a_version_tells_a_fork() {
        assert!(
            ["7.0.33", "7.7.9", "7.10.0-rc.1"]
                .iter()
                .all(|version| of_version(version) == OF_KILO)
        );
        let others = ["1.18.34", "70.0.0", "0.7.7", "local", ""];
        assert!(
            others
                .iter()
                .all(|version| of_version(version) == OF_OPENCODE)
        );
    }
}
