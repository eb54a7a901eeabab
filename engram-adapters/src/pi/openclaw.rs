//! OpenClaw, which writes the entries of Pi: until 2026.7 into files, since 2026.8 into a database for each agent. Here is what differs.

use engram_core::coverage::{Coverage, Grade};
use engram_core::descriptor::AdapterDescriptor;
use engram_core::version::{Revision, VersionMatrix};

#[cfg(feature = "sqlite")]
mod store;

use super::descriptor;
use super::detect::{self, Family};
use super::emit::dispatch::Events;
use super::format::{OPENCLAW_GAPS, mark};
use super::notes::Notes;
use super::revisions::{CLAIMS, CLAW_FORMATS, CLAW_TREE, TREE};
use crate::home_directory::{Base, HomeDirectory};
use crate::registration::Registration;
use crate::shared::log::{Log, LogAdapter};

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
    probe: |head| detect::probe(head, Family::OpenClaw),
    identify: |head| detect::identify(head, CLAW_FORMATS),
    conversion: |init| Log::<Notes, _>::boxed(Events::new(Family::OpenClaw, init)),
};

/// The claims until 2026.9.2.
const COVERAGE: Coverage = Coverage {
    msg_in: Grade::Full,
    tool_result: Grade::Full,
    code_read: Grade::Partial(&[
        "read.bom",
        "read.no_lines",
        "read.no_total",
        "read.not_utf8",
    ]),
    code_edit: Grade::Partial(&[
        "edit.shell",
        "edit.add_over_file",
        "edit.after_error",
        "edit.bare_cr",
        "edit.bom",
        "edit.fuzzy",
        "edit.no_file_hash",
        "edit.patch_text",
    ]),
    span_link: Grade::Partial(&["link.no_range"]),
    ..CLAIMS
};

/// The claims since 2026.9.3.
const OF_CLAW_TREE: Coverage = Coverage {
    code_edit: Grade::Partial(&[
        "edit.shell",
        "edit.after_error",
        "edit.bare_cr",
        "edit.bom",
        "edit.no_file_hash",
        "edit.patch_text",
    ]),
    ..COVERAGE
};

static DESCRIPTOR: AdapterDescriptor = AdapterDescriptor {
    adapter_id: "openclaw",
    adapter_version: "0.1.4",
    harness_family: "openclaw",
    matrix: VersionMatrix {
        revisions: &[
            Revision {
                schema: TREE,
                versions: None,
                tested: &["2026.5.28", "2026.8.2", "2026.9.1"],
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
    gaps: OPENCLAW_GAPS,
    ..descriptor::DESCRIPTOR
};
