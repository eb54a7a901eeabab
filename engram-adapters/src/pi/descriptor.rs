//! The adapter's self-description. Its rows are in the tables: `members/`, `gaps.tsv`, `tools.tsv`.

use engram_core::descriptor::{AdapterDescriptor, UnknownVersionPolicy};
use engram_core::tool_kind::ToolKind;

use super::format::{GAPS, RULES, TOOL_NAMES};
use super::revisions::{CLAIMS, MATRIX};
use super::table::MEMBERS;
use crate::shared::tool_table::ToolTable;

/// The descriptor.
pub(super) static DESCRIPTOR: AdapterDescriptor = AdapterDescriptor {
    adapter_id: "pi",
    adapter_version: "0.1.4",
    harness_family: "pi",
    matrix: MATRIX,
    schema_detection_strategy: "The header has the version of the format. No log has the version of Pi: what differs between versions is seen in the \
                                members of each record.",
    coverage: CLAIMS,
    unknown_version_policy: UnknownVersionPolicy::PermissiveDegrade,
    record_type: &["/type", "/message/role"],
    members: Some(&MEMBERS),
    gaps: GAPS,
    omission_rules: RULES,
};

/// The tools of Pi and of OpenClaw.
pub(super) static TOOLS: ToolTable = ToolTable {
    names: TOOL_NAMES,
    prefixes: &[("mcp__", ToolKind::Mcp)],
    ..ToolTable::EMPTY
};
