//! The log of an episode, `engram.episode/1`: a header line, then what was said and decided, in order.
//!
//! The adapter `tool-intent` converts it. A record of an agent has whole lines: a frame never goes on in the next record.

use serde::{Deserialize, Serialize};

use crate::grammar::Limits;
use crate::hash::ProfileHash;
use crate::profile::Capability;

/// The version of the form of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SchemaName {
    /// Version 1.
    #[serde(rename = "engram.episode/1")]
    V1,
}

/// The four ids that every line of a ledger has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ids {
    /// The work that the episode is part of.
    pub work_id: String,
    /// The episode.
    pub episode_id: String,
    /// The session.
    pub session_id: String,
    /// The profile under which the agent ran.
    pub adapter_profile_hash: ProfileHash,
}

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The version of the form.
    pub schema: SchemaName,
    /// The ids.
    #[serde(flatten)]
    pub ids: Ids,
    /// The agent, as profiles name it.
    pub harness: String,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The hash of the nonce of the frames.
    pub nonce_hash: String,
    /// What each intent is. A log says it itself, since its profile may be in no registry.
    pub capability_map: Vec<Capability>,
    /// The bounds under which frames were read.
    pub tool_limits: ToolLimits,
    /// When the episode began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub t: Option<String>,
}

/// The bounds under which frames are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolLimits {
    /// The most bytes of arguments, decoded.
    pub max_args_bytes: u64,
    /// The most bytes of a line.
    pub max_line_bytes: u64,
    /// The most requests.
    pub max_requests: u64,
}

impl From<Limits> for ToolLimits {
    fn from(limits: Limits) -> Self {
        ToolLimits {
            max_args_bytes: limits.max_args_bytes as u64,
            max_line_bytes: limits.max_line_bytes as u64,
            max_requests: limits.max_requests as u64,
        }
    }
}

/// A line after the header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "lowercase")]
pub enum Record {
    /// What the driver says or decides.
    Driver(Driver),
    /// What the agent prints.
    Agent(Said),
}

/// What the driver says or decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Driver {
    /// An event.
    Event(Event),
    /// A text for the agent.
    Said(Said),
}

/// A text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Said {
    /// When.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub t: Option<String>,
    /// Of a driver's text: whose words it has. Absent: the task's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    /// The text.
    pub text: String,
    /// Of an answer to a request that was allowed: the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ToolOutput>,
}

/// Whose words a driver's text has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// The driver's own: how to ask for tools.
    Preamble,
    /// Those of the person who gave the task.
    Task,
}

/// What a tool returned. The hash in the answer is that of the [`Envelope`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolOutput {
    /// The bytes of the envelope.
    pub bytes: u64,
    /// How the tool ended.
    pub status: ToolStatus,
    /// The output or its beginning.
    pub text: String,
    /// The bytes of the whole output. The text is whole if it has as many.
    pub text_bytes: u64,
}

/// How a tool ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolStatus {
    /// It did what it was asked for.
    Ok,
    /// It failed.
    Error,
}

/// A result as it is kept under its hash, in canonical form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Envelope {
    /// How the tool ended.
    pub status: ToolStatus,
    /// Its output.
    pub text: String,
}

/// What happened beside the texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event")]
pub enum Event {
    /// A request was allowed or denied.
    ToolDecided {
        /// When.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        t: Option<String>,
        /// The request.
        id: String,
        /// The decision.
        decision: Decision,
    },
    /// The episode ended.
    EpisodeEnded {
        /// When.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        t: Option<String>,
        /// How.
        status: EndStatus,
    },
}

/// Whether a request is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// The tool runs.
    Allow,
    /// It does not.
    Deny,
}

/// How an episode ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EndStatus {
    /// The agent ended by itself, without an error.
    Completed,
    /// The agent failed, or broke the protocol.
    Failed,
    /// It was stopped: a budget was used up, or nothing came any more.
    Stopped,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_are_written() {
        let lines = [
            r#"{"from":"driver","t":"2026-11-27T10:00:00Z","part":"preamble","text":"ask so"}"#,
            r#"{"from":"agent","text":"I will look.\n"}"#,
            r#"{"from":"driver","event":"ToolDecided","t":"2026-11-27T10:00:01Z","id":"r1","decision":"allow"}"#,
            r#"{"from":"driver","text":"x","result":{"bytes":31,"status":"ok","text":"a","text_bytes":1}}"#,
            r#"{"from":"driver","event":"EpisodeEnded","status":"completed"}"#,
        ];
        for line in lines {
            let record: Record =
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
            assert_eq!(serde_json::to_string(&record).unwrap(), line);
        }
        assert!(serde_json::from_str::<Record>(r#"{"from":"agent","text":"x","more":1}"#).is_err());
    }
}
