//! Kilo, a fork of OpenCode: the sessions of its command (`kilo`) and of its extensions, 7.x. Here is what differs.
//!
//! The facts are from the programs of 7.0.33 to 7.7.9: `kilo generate` prints the types of the interface, and the migrations are those of
//! databases that they made.

use engram_core::coverage::{Coverage, Grade};
use engram_core::descriptor::{AdapterDescriptor, Gap};
use engram_core::version::{Revision, VersionMatrix};

use super::descriptor::{self, GAPS};
use super::revisions::{COUNTED_LINES, STREAM};
use crate::home_directory::{Base, HomeDirectory};

/// Where sessions are kept.
pub(super) const HOMES: &[HomeDirectory] = &[
    HomeDirectory::new(Base::XdgData, "kilo"),
    HomeDirectory::new(Base::XdgData, "kilo").file_of("KILO_DB"),
];

/// OpenCode's gap with this code, as this recording of Kilo shows it.
const fn gap(code: &'static str, fixture: &'static str) -> Gap {
    let mut at = 0;
    while !is_same(GAPS[at].code, code) {
        at += 1;
    }
    Gap { fixture, ..GAPS[at] }
}

const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

const OF_KILO: &[Gap] = &[
    gap("edit.shell", "7.7.7/main"),
    gap("edit.formatter", "7.7.7/main"),
    gap("edit.no_file_hash", "7.7.7/main"),
    gap("edit.altered_diff", "7.7.7/main"),
    gap("read.not_utf8", "7.7.7/main"),
    gap("read.no_lines", "7.7.7/main"),
    gap("read.no_total", "7.7.7/main"),
    gap("read.shell", "7.7.7/main"),
    gap("session.title", "7.7.7/main"),
    gap("stream.no_reasoning", "7.7.7/main"),
];

const READS: Grade = Grade::Partial(&["read.not_utf8", "read.no_lines", "read.no_total", "read.shell"]);
const EDITS: Grade = Grade::Partial(&["edit.shell", "edit.formatter", "edit.no_file_hash", "edit.altered_diff"]);

/// The claims for a session.
const SESSION: Coverage = Coverage {
    meta: Grade::Partial(&["session.title"]),
    msg_in: Grade::Full,
    msg_out: Grade::Full,
    tool_call: Grade::Full,
    tool_result: Grade::Full,
    code_read: READS,
    code_edit: EDITS,
    span_link: Grade::None,
};

/// The claims for a `run --format json` stream.
const PRINTED: Coverage = Coverage {
    meta: Grade::Full,
    msg_in: Grade::None,
    msg_out: Grade::Partial(&["stream.no_reasoning"]),
    ..SESSION
};

/// The adapter's self-description.
pub(super) static DESCRIPTOR: AdapterDescriptor = AdapterDescriptor {
    adapter_id: "kilo",
    adapter_version: "0.1.0",
    harness_family: "kilo",
    matrix: VersionMatrix {
        revisions: &[
            Revision {
                schema: COUNTED_LINES,
                versions: Some("=7.7.7"),
                tested: &["7.7.7"],
                coverage: SESSION,
            },
            Revision {
                schema: STREAM,
                versions: None,
                tested: &["7.7.7"],
                coverage: PRINTED,
            },
        ],
        swept: &[],
        known_bad: &[],
    },
    schema_detection_strategy: "an export is recognized by its session record, as one of OpenCode, and by its version, which begins with 7. \
                                A `run --format json` stream is recognized by the time of its requests, which OpenCode does not print",
    coverage: Coverage {
        msg_in: Grade::None,
        msg_out: PRINTED.msg_out,
        ..SESSION
    },
    gaps: OF_KILO,
    ..descriptor::DESCRIPTOR
};
