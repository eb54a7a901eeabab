//! The structure of ATIF documents, version 1.7.

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::scratch::Piece;

/// What stands before the steps of a trajectory: one session or sub-agent.
#[derive(Debug, Serialize)]
pub(super) struct Head {
    /// The version of ATIF.
    pub(super) schema_version: &'static str,
    /// The session. A sub-agent may have that of its parent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) session_id: Option<String>,
    /// `<harness>/<session>[.<agent>]`.
    pub(super) trajectory_id: String,
    /// Who acted.
    pub(super) agent: Agent,
}

/// The agent system.
#[derive(Debug, Serialize)]
pub struct Agent {
    /// The harness.
    pub name: String,
    /// Its version, or `unknown`.
    pub version: String,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_name: Option<String>,
}

/// One response of the model, or one message to it.
#[derive(Debug, Default, Serialize)]
pub struct Step {
    /// From 1.
    pub step_id: u64,
    /// RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// `system`, `user` or `agent`.
    pub source: &'static str,
    /// The model of the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_name: Option<String>,
    /// The text.
    pub message: String,
    /// The text of reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_content: Option<String>,
    /// The calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// Their results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observation: Option<Observation>,
    /// What it cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<Metrics>,
    /// True for the history of another session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_copied_context: Option<bool>,
    /// The responses that are counted in `metrics`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub llm_call_count: Option<u64>,
    /// What ATIF has no place for.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

/// A call of a tool.
#[derive(Debug, Serialize)]
pub struct ToolCall {
    /// Its id, unique in the step.
    pub tool_call_id: String,
    /// The tool.
    pub function_name: String,
    /// An object.
    pub arguments: Box<RawValue>,
    /// What ATIF has no place for.
    pub extra: Value,
}

/// The results of the calls of a step.
#[derive(Debug, Default, Serialize)]
pub struct Observation {
    /// In the order of the tape.
    pub results: Vec<ObservationResult>,
}

/// The result of a call.
#[derive(Debug, Default, Serialize)]
pub struct ObservationResult {
    /// The call, in the same step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_call_id: Option<String>,
    /// The output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The sub-agents that the call started.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subagent_trajectory_ref: Vec<SubagentRef>,
    /// What ATIF has no place for.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

/// Where the trajectory of a sub-agent is.
#[derive(Debug, Clone, Serialize)]
pub struct SubagentRef {
    /// In the same document.
    pub trajectory_id: String,
    /// In a file of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trajectory_path: Option<String>,
}

/// What responses cost.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Metrics {
    /// Input, with what came from a cache or went to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_tokens: Option<u64>,
    /// Output with reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_tokens: Option<u64>,
    /// Input that came from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
    /// US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The counts as the tape has them.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

/// Sums over what is not copied.
#[derive(Debug, Default, Serialize)]
pub struct FinalMetrics {
    /// Input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_prompt_tokens: Option<u64>,
    /// Output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_completion_tokens: Option<u64>,
    /// Input from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_cached_tokens: Option<u64>,
    /// US dollars, with sub-agents in the document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_cost_usd: Option<f64>,
    /// The number of steps.
    pub total_steps: u64,
}

/// The version of the documents. They differ in nothing but this word: 1.8 adds audio, which no tape has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Version {
    /// Read by all that read ATIF today.
    #[default]
    V1_7,
    /// The version that Harbor writes.
    V1_8,
}

impl Version {
    /// As a document has it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Version::V1_7 => "ATIF-v1.7",
            Version::V1_8 => "ATIF-v1.8",
        }
    }
}

/// A sub-agent of a session.
#[derive(Debug)]
pub struct Child {
    /// The call that started it, if the logs tell.
    pub call_id: Option<String>,
    /// Its document, or where it is.
    pub document: ChildDocument,
}

/// The document of a sub-agent.
#[derive(Debug)]
pub enum ChildDocument {
    /// It goes into the document of its parent.
    Embedded(Document),
    /// It is a file of its own.
    Linked(SubagentRef),
}

/// A document that is ready to be written.
#[derive(Debug)]
pub struct Document {
    /// `<harness>/<session>[.<agent>]`.
    pub trajectory_id: String,
    /// US dollars, with sub-agents in the document.
    pub total_cost_usd: Option<f64>,
    pub(super) pieces: Vec<Piece>,
}
