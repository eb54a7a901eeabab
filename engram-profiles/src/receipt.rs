//! Receipts: what is proven of each call of a tool, and of an episode.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::canonical;
use crate::episode::{Decision, EndStatus, ToolStatus};
use crate::error::ProfileError;
use crate::hash::{self, ProfileHash};
use crate::profile::Tier;

/// `ToolExecutionReceiptV1`: what became of one request that was allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolReceipt {
    /// The request.
    pub request_id: String,
    /// The tool.
    pub tool: String,
    /// Its kind, as tapes name it.
    pub tool_class: String,
    /// The hash of the arguments.
    pub args_hash: String,
    /// It was allowed: a denial has no receipt, and its reason is in [`Decided`].
    pub decision: Decision,
    /// Who acted: the driver, with its version.
    pub executed_by: String,
    /// Where it acted.
    pub execution_env: ExecutionEnv,
    /// What it could reach there.
    pub sandbox: SandboxSummary,
    /// The hash of the result's envelope.
    pub result_hash: String,
    /// The bytes of the envelope.
    pub result_bytes: u64,
    /// How it ended.
    pub status: ToolStatus,
    /// How long it took, in milliseconds; absent where the ledger has no times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// Where a driver acts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExecutionEnv {
    /// The operating system, as Rust names it.
    pub os: String,
    /// Whose files and processes are there.
    pub mounts: Mounts,
}

/// Whose files and processes are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mounts {
    /// Private ones: those of the caller are not seen, or cannot be changed.
    Private,
    /// Those of the caller.
    Shared,
}

/// What a tool can reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SandboxSummary {
    /// The directory below which it reads and writes, as the profile names it: no link is followed out of it.
    pub root: String,
    /// Whether it can write there.
    pub writes: Permission,
    /// Whether bytes could leave the machine.
    pub egress: Egress,
}

/// Whether something may be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Permission {
    /// It may.
    Allowed,
    /// It may not.
    Refused,
}

/// The policy under which a request was decided. The profile, whose hash every line has, says the rest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicySnapshot {
    /// What the driver does for the agent.
    pub tier: Tier,
    /// The kind of the tool, as tapes name it; `other` if the profile does not name the tool.
    pub tool_class: String,
    /// How many calls the budget still allowed.
    pub calls_left: u64,
}

/// `ToolLogIndexV1`: where in the ledger each request is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolLogIndex {
    /// One for each request, in order.
    pub entries: Vec<ToolLogEntry>,
}

/// One request in the index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolLogEntry {
    /// The request.
    pub request_id: String,
    /// The line of the ledger that has the request.
    pub intent_seq: u64,
    /// The line that has the receipt or the denial.
    pub result_seq: u64,
    /// The hash of the canonical bytes of the receipt, or of the denial.
    pub receipt_hash: String,
}

/// `ReviewReceiptV1`: what is proven of an episode that passed its checks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReviewReceipt {
    /// The profile.
    pub profile_hash: ProfileHash,
    /// The version of the agent.
    pub version: String,
    /// The BLAKE3 of the ledger's line before this one, which all others chain to: 64 hexadecimal digits.
    pub episode_hash: String,
    /// The hash of the index's canonical bytes.
    pub tool_log_index_hash: String,
    /// The hash of the tape.
    pub tape_hash: String,
    /// The verdict of each check.
    pub checks: BTreeMap<String, Verdict>,
    /// Whether bytes could leave the machine.
    pub egress: Egress,
}

/// What became of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It holds.
    Passed,
    /// It does not.
    Failed,
    /// There was nothing to look at.
    Skipped,
    /// It could not begin.
    Blocked,
}

impl Verdict {
    /// The word in a receipt, and in a message.
    pub const fn as_str(self) -> &'static str {
        match self {
            Verdict::Passed => "passed",
            Verdict::Failed => "failed",
            Verdict::Skipped => "skipped",
            Verdict::Blocked => "blocked",
        }
    }
}

/// Whether bytes could leave the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Egress {
    /// Only loopback was there.
    Refused,
    /// Nobody kept them.
    Unknown,
}

/// `EpisodeStarted`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Started {
    /// The agent.
    pub harness: String,
    /// Its version.
    pub version: String,
    /// The hash of the nonce.
    pub nonce_hash: String,
}

/// `ToolRequested`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requested {
    /// The request.
    pub request_id: String,
    /// The tool.
    pub tool: String,
    /// The hash of the arguments.
    pub args_hash: String,
}

/// `ToolDecided`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decided {
    /// The request.
    pub request_id: String,
    /// The decision.
    pub decision: Decision,
    /// Why it was denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The policy.
    pub policy_snapshot: PolicySnapshot,
}

/// `ToolStarted`: from here on the tool may have done something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolStart {
    /// The request.
    pub request_id: String,
    /// Who acts: the driver, with its version.
    pub executed_by: String,
    /// Where it acts.
    pub execution_env: ExecutionEnv,
    /// What it can reach there.
    pub sandbox: SandboxSummary,
}

/// `EpisodeEnded`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ended {
    /// How.
    pub status: EndStatus,
    /// The hash of the episode's log.
    pub log_hash: String,
    /// The hash of the index's canonical bytes.
    pub tool_log_index_hash: String,
    /// The hash of how the run went: its canonical bytes.
    pub run_hash: String,
}

/// `ReviewBlockedRecorded`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blocked {
    /// `ADAPTER_MISCONFIGURED/…` or `ADAPTER_PROTOCOL_VIOLATION/…`.
    pub reason: String,
}

/// The hash of a value's canonical bytes.
///
/// # Errors
/// If the value is no JSON.
pub fn hash_of(value: &impl Serialize) -> Result<String, ProfileError> {
    Ok(hash::of_bytes(&canonical::to_vec(value)?))
}
