//! What the adapter says about itself: claims and omission rules.

use engram_core::coverage::{Coverage, Grade};
use engram_core::descriptor::{AdapterDescriptor, OmissionRule, UnknownVersionPolicy};
use engram_core::members::MemberSource;
use engram_core::version::{Revision, VersionMatrix};

/// The one schema that is known.
pub const SCHEMA: &str = "session-lines";

// A log shows what the editor tool was asked, and a sentence about what it did: no lines, no hashes. So nothing is claimed.
const COVERAGE: Coverage = Coverage {
    meta: Grade::Full,
    msg_in: Grade::Full,
    msg_out: Grade::Full,
    tool_call: Grade::Full,
    tool_result: Grade::Full,
    code_read: Grade::None,
    code_edit: Grade::None,
    span_link: Grade::None,
};

/// Every member of every record.
static MEMBERS: MemberSource = MemberSource::new(&[include_str!("goose.members")]);

/// The descriptor.
pub static DESCRIPTOR: AdapterDescriptor = AdapterDescriptor {
    adapter_id: "goose",
    adapter_version: "0.1.0",
    harness_family: "goose",
    matrix: VersionMatrix {
        revisions: &[Revision {
            schema: SCHEMA,
            versions: None,
            tested: &["synthetic"],
            coverage: COVERAGE,
        }],
        swept: &[],
        known_bad: &[],
    },
    schema_detection_strategy: "No version is recorded. A header line of known fields proves the schema.",
    coverage: COVERAGE,
    unknown_version_policy: UnknownVersionPolicy::PermissiveDegrade,
    record_type: &["/role"],
    members: Some(&MEMBERS),
    gaps: &[],
    omission_rules: &[
        OmissionRule::REPEATED,
        OmissionRule::opaque(
            "signature",
            "assistant",
            "/content/*/signature",
            "a signature of the model's provider",
        ),
    ],
};
