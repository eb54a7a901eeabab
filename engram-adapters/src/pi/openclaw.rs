//! OpenClaw, which writes the entries of Pi: until 2026.8 into files, since 2026.9 into a database for each agent. Here is what differs.

use engram_core::coverage::{Coverage, Grade};
use engram_core::descriptor::{AdapterDescriptor, Gap};
use engram_core::version::{Revision, VersionMatrix};

#[cfg(feature = "sqlite")]
mod store;

use super::format::mark;
use super::revisions::{CLAIMS, CLAW_TREE, TREE};
use super::{PI, descriptor, detect};
use crate::home_directory::{Base, HomeDirectory};
use crate::registration::Registration;
use crate::shared::log::LogAdapter;

/// Where sessions are kept.
const HOMES: &[HomeDirectory] = &[
    HomeDirectory::new(Base::Home, ".openclaw/agents").unless_set("OPENCLAW_STATE_DIR", "agents"),
    HomeDirectory::new(Base::Nowhere, "").unless_set("OPENCLAW_HOME", ".openclaw/agents"),
];

/// The adapter and everything that belongs to it.
pub(crate) static REGISTRATION: Registration = {
    let registration = Registration::new(&ADAPTER)
        .with_tools(&descriptor::TOOLS)
        .with_homes(HOMES);
    #[cfg(feature = "sqlite")]
    let registration = registration.with_store_opener(&store::OPENER);
    #[cfg(feature = "conformance")]
    let registration = registration
        .with_certification(super::certification::OPENCLAW.with_base(&descriptor::DESCRIPTOR));
    registration
};

static ADAPTER: LogAdapter = LogAdapter {
    descriptor: &DESCRIPTOR,
    marks: &[mark::SNAPSHOT, mark::OWN],
    probe: detect::probe_claw,
    identify: |head| detect::identify(head, true),
    ..PI
};

const GAPS: &[Gap] = &[
    Gap {
        code: "edit.shell",
        reason: "a shell command that changes files leaves no record of the change",
        fixture: "2026.9.6/main",
    },
    Gap {
        code: "edit.add_over_file",
        reason: "before 2026.9 `write` does not log whether the file was there: it is a `create` where the session has not read or changed the file \
                 before",
        // Pi's recording.
        fixture: "1.6.0/files",
    },
    Gap {
        code: "edit.fuzzy",
        reason: "before 2026.9 `edit` may rewrite a file in a simpler form, and the log has that form for the text before the edit: such edits have no \
                 hash of the text before",
        fixture: "2026.5.28/main",
    },
    Gap {
        code: "edit.no_file_hash",
        reason: "the log has a diff of an edit and not the file, so there is no hash of the whole file",
        fixture: "2026.9.6/main",
    },
    Gap {
        code: "edit.file_alone",
        reason: "of an edit by `apply_patch` the log has no lines, and since 2026.9 none of an edit whose details are longer than 8 KiB: only the file \
                 is known",
        fixture: "2026.9.6/subagent",
    },
    Gap {
        code: "read.no_lines",
        reason: "an image is read as a whole, not by lines",
        fixture: "2026.9.6/gateway",
    },
    Gap {
        code: "read.no_total",
        reason: "a read that does not reach the end of the file counts the empty text after the last line end as a line, so the number of lines may be \
                 one less",
        fixture: "2026.9.6/main",
    },
    Gap {
        code: "read.not_utf8",
        reason: "text that is not UTF-8 is logged with U+FFFD, so the read has no hash",
        fixture: "2026.9.6/gateway",
    },
];

/// The claims until 2026.9.1.
const COVERAGE: Coverage = Coverage {
    msg_in: Grade::Full,
    tool_result: Grade::Full,
    code_read: Grade::Partial(&["read.no_lines", "read.no_total"]),
    code_edit: Grade::Partial(&[
        "edit.shell",
        "edit.add_over_file",
        "edit.fuzzy",
        "edit.no_file_hash",
    ]),
    ..CLAIMS
};

/// The claims for 2026.9.6.
const OF_CLAW_TREE: Coverage = Coverage {
    code_read: Grade::Partial(&["read.no_lines", "read.no_total", "read.not_utf8"]),
    code_edit: Grade::Partial(&["edit.shell", "edit.no_file_hash", "edit.file_alone"]),
    ..COVERAGE
};

static DESCRIPTOR: AdapterDescriptor = AdapterDescriptor {
    adapter_id: "openclaw",
    adapter_version: "0.1.0",
    harness_family: "openclaw",
    matrix: VersionMatrix {
        revisions: &[
            Revision {
                schema: TREE,
                versions: None,
                tested: &["2026.5.28", "2026.9.1"],
                coverage: COVERAGE,
            },
            Revision {
                schema: CLAW_TREE,
                versions: None,
                tested: &["2026.9.6"],
                coverage: OF_CLAW_TREE,
            },
        ],
        swept: &[],
        known_bad: &[],
    },
    schema_detection_strategy: "The header has the version of the format, as in Pi's sessions. A session is OpenClaw's if an entry has what only \
                                OpenClaw writes.",
    coverage: COVERAGE,
    gaps: GAPS,
    ..descriptor::DESCRIPTOR
};
