//! Kilo, a fork of OpenCode: the sessions of its command (`kilo`) and of its extensions, 7.x. Here is what differs.
//!
//! The facts are from the programs of 7.0.33 to 7.7.9: `kilo generate` prints the types of the interface, and the migrations are those of
//! databases that they made. The claims are those of OpenCode's newest revisions.

use engram_core::coverage::Coverage;
use engram_core::descriptor::AdapterDescriptor;
use engram_core::version::{Revision, VersionMatrix};

mod swept;

use super::descriptor;
use super::revisions::{COUNTED_LINES, MOVES, OF_COUNTED_LINES, OF_STREAM, STREAM, WEAKEST};
use crate::home_directory::{Base, HomeDirectory};

/// Where sessions are kept.
pub(super) const HOMES: &[HomeDirectory] = &[
    HomeDirectory::new(Base::XdgData, "kilo"),
    HomeDirectory::new(Base::XdgData, "kilo").file_of("KILO_DB"),
];

/// The adapter's self-description.
pub(super) static DESCRIPTOR: AdapterDescriptor = AdapterDescriptor {
    adapter_id: "kilo",
    adapter_version: "0.1.1",
    harness_family: "kilo",
    matrix: VersionMatrix {
        revisions: &[
            Revision {
                schema: COUNTED_LINES,
                versions: Some(">=7.7.7, <=7.7.9"),
                tested: &["7.7.7", "7.7.9"],
                coverage: OF_COUNTED_LINES,
            },
            Revision {
                schema: STREAM,
                versions: None,
                tested: &["7.7.7"],
                coverage: OF_STREAM,
            },
        ],
        swept: swept::SWEPT,
        known_bad: &[],
    },
    schema_detection_strategy: "an export is recognized by its session record, as one of OpenCode, and by its version, which begins with 7. \
                                A `run --format json` stream is recognized by the times of its requests, which OpenCode does not print",
    coverage: Coverage {
        span_link: MOVES,
        ..WEAKEST
    },
    ..descriptor::DESCRIPTOR
};
