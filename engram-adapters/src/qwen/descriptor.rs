//! The adapter's self-description. Its rows are in the tables: `members/`, `gaps.tsv`, `tools.tsv`.

use engram_core::descriptor::{AdapterDescriptor, UnknownVersionPolicy};
use engram_core::tool_kind::ToolKind;

use super::format::{GAPS, RULES, TOOL_NAMES};
use super::revisions::{MATRIX, WEAKEST};
use super::table::MEMBERS;
use crate::shared::tool_table::ToolTable;

/// The descriptor.
pub(super) static DESCRIPTOR: AdapterDescriptor = AdapterDescriptor {
    adapter_id: "qwen",
    adapter_version: "0.1.8",
    harness_family: "qwen",
    matrix: MATRIX,
    schema_detection_strategy: "Each line of a log has the version of Qwen Code, and the first line that a run prints.",
    coverage: WEAKEST,
    unknown_version_policy: UnknownVersionPolicy::PermissiveDegrade,
    record_type: &["/type", "/subtype", "/systemPayload/uiEvent/event.name"],
    members: Some(&MEMBERS),
    gaps: GAPS,
    omission_rules: RULES,
};

/// The built-in tools of 0.24.4 (`ToolNames`), and those of older versions in recordings.
pub(super) static TOOLS: ToolTable = ToolTable {
    names: TOOL_NAMES,
    prefixes: &[("mcp__", ToolKind::Mcp)],
    ..ToolTable::EMPTY
};
