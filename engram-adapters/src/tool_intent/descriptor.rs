//! The adapter's self-description: members, claims and tools.

use engram_core::descriptor::{AdapterDescriptor, UnknownVersionPolicy};
use engram_core::tool_kind::ToolKind;

use super::format::RULES;
use super::revisions::{CLAIMS, MATRIX};
use super::table::MEMBERS;
use crate::shared::tool_table::ToolTable;

/// The descriptor.
pub(super) static DESCRIPTOR: AdapterDescriptor = AdapterDescriptor {
    adapter_id: "tool-intent",
    adapter_version: "0.2.0",
    harness_family: "tool-intent",
    matrix: MATRIX,
    schema_detection_strategy: "The header names the version of the log. The agent that ran, and its version, are in `meta episode`.",
    coverage: CLAIMS,
    unknown_version_policy: UnknownVersionPolicy::PermissiveDegrade,
    record_type: &["/schema", "/from", "/event"],
    members: Some(&MEMBERS),
    gaps: &[],
    omission_rules: RULES,
};

/// The intents that the driver of this project has. A log says itself what its intents are.
pub(super) static TOOLS: ToolTable = ToolTable {
    names: &[
        ("list", ToolKind::List),
        ("read", ToolKind::Read),
        ("write", ToolKind::Write),
    ],
    ..ToolTable::EMPTY
};
