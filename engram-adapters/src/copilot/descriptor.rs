//! The adapter's self-description. Its rows are in the tables: `members/`, `gaps.tsv`, `tools.tsv`.

use engram_core::descriptor::{AdapterDescriptor, UnknownVersionPolicy};

use super::format::{GAPS, RULES, TOOL_NAMES};
use super::revisions::{CLAIMS, MATRIX};
use super::table::MEMBERS;
use crate::shared::tool_table::ToolTable;

/// The descriptor.
pub(super) static DESCRIPTOR: AdapterDescriptor = AdapterDescriptor {
    adapter_id: "copilot",
    adapter_version: "0.1.7",
    harness_family: "copilot",
    matrix: MATRIX,
    schema_detection_strategy: "The first line has the version of the format and that of Copilot CLI.",
    coverage: CLAIMS,
    unknown_version_policy: UnknownVersionPolicy::PermissiveDegrade,
    record_type: &["/type"],
    members: Some(&MEMBERS),
    gaps: GAPS,
    omission_rules: RULES,
};

/// The built-in tools of 1.0.12 to 1.0.102. Those of MCP servers have the name of their server beside them.
pub(super) static TOOLS: ToolTable = ToolTable {
    names: TOOL_NAMES,
    ..ToolTable::EMPTY
};
