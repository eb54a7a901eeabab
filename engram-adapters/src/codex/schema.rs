//! The shapes of Codex records, borrowed from the line: one parse gives every field that a conversion looks at.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::kit::json::Raw;

/// One line of the envelope form (0.34 and later): `{timestamp, type, payload}`.
#[derive(Deserialize)]
pub(super) struct Line<'a> {
    #[serde(borrow)]
    pub timestamp: Raw<'a>,
    #[serde(borrow, default, rename = "type")]
    pub kind: Cow<'a, str>,
    #[serde(borrow)]
    pub ordinal: Raw<'a>,
    #[serde(borrow)]
    pub payload: Option<Payload<'a>>,
}

/// One line of the bare form (0.8 to 0.29): the header, a state line, or a response item.
#[derive(Deserialize)]
pub(super) struct Bare<'a> {
    #[serde(borrow, default)]
    pub record_type: Cow<'a, str>,
    #[serde(borrow, default, rename = "type")]
    pub kind: Cow<'a, str>,
    #[serde(borrow)]
    pub id: Raw<'a>,
    #[serde(borrow)]
    pub timestamp: Raw<'a>,
    #[serde(borrow)]
    pub instructions: Raw<'a>,
    pub git: Option<Git<'a>>,
    #[serde(borrow)]
    pub payload: Raw<'a>,
    #[serde(borrow)]
    pub role: Raw<'a>,
    #[serde(borrow)]
    pub content: Option<Vec<Part<'a>>>,
    #[serde(borrow)]
    pub summary: Raw<'a>,
    #[serde(borrow)]
    pub encrypted_content: Raw<'a>,
    #[serde(borrow)]
    pub name: Raw<'a>,
    #[serde(borrow)]
    pub call_id: Raw<'a>,
    #[serde(borrow)]
    pub arguments: Raw<'a>,
    #[serde(borrow)]
    pub input: Raw<'a>,
    #[serde(borrow)]
    pub output: Raw<'a>,
    #[serde(borrow)]
    pub action: Raw<'a>,
}

impl<'a> Bare<'a> {
    /// The response item that the line is.
    pub fn into_item(self) -> Payload<'a> {
        Payload {
            kind: self.kind,
            id: self.id,
            role: self.role,
            content: self.content,
            summary: self.summary,
            encrypted_content: self.encrypted_content,
            name: self.name,
            call_id: self.call_id,
            arguments: self.arguments,
            input: self.input,
            output: self.output,
            action: self.action,
            ..Payload::default()
        }
    }
}

/// The payload of a line, of whatever type: the union of the fields that are looked at.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Payload<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Cow<'a, str>,
    #[serde(borrow)]
    pub id: Raw<'a>,
    #[serde(borrow)]
    pub turn_id: Raw<'a>,

    // Response items.
    #[serde(borrow)]
    pub role: Raw<'a>,
    #[serde(borrow)]
    pub content: Option<Vec<Part<'a>>>,
    #[serde(borrow)]
    pub phase: Raw<'a>,
    /// Parts of a reasoning; a word in a `turn_context`.
    #[serde(borrow)]
    pub summary: Raw<'a>,
    #[serde(borrow)]
    pub encrypted_content: Raw<'a>,
    #[serde(borrow)]
    pub name: Raw<'a>,
    #[serde(borrow)]
    pub namespace: Raw<'a>,
    #[serde(borrow)]
    pub call_id: Raw<'a>,
    #[serde(borrow)]
    pub arguments: Raw<'a>,
    #[serde(borrow)]
    pub input: Raw<'a>,
    #[serde(borrow)]
    pub output: Raw<'a>,
    #[serde(borrow)]
    pub action: Raw<'a>,
    #[serde(borrow)]
    pub tools: Raw<'a>,
    #[serde(borrow)]
    pub author: Raw<'a>,
    pub ghost_commit: Option<GhostCommit<'a>>,

    // Events.
    #[serde(borrow)]
    pub message: Raw<'a>,
    #[serde(borrow)]
    pub text: Raw<'a>,
    #[serde(borrow)]
    pub images: Option<Vec<&'a RawValue>>,
    pub info: Option<TokenInfo<'a>>,
    pub item: Option<Item<'a>>,
    #[serde(borrow)]
    pub reason: Raw<'a>,
    #[serde(borrow)]
    pub last_agent_message: Raw<'a>,
    pub error: Option<TurnError<'a>>,
    #[serde(borrow)]
    pub thread_name: Raw<'a>,
    #[serde(borrow)]
    pub num_turns: Raw<'a>,
    pub thread_settings: Option<Settings<'a>>,

    // Events that end a tool call.
    #[serde(borrow)]
    pub status: Raw<'a>,
    #[serde(borrow)]
    pub success: Raw<'a>,
    #[serde(borrow)]
    pub stdout: Raw<'a>,
    #[serde(borrow)]
    pub stderr: Raw<'a>,
    #[serde(borrow)]
    pub aggregated_output: Raw<'a>,
    #[serde(borrow)]
    pub exit_code: Raw<'a>,
    pub duration: Option<Duration>,
    #[serde(borrow)]
    pub changes: Raw<'a>,
    #[serde(borrow)]
    pub command: Raw<'a>,
    #[serde(borrow)]
    pub result: Raw<'a>,
    pub invocation: Option<Invocation<'a>>,

    // The session and its turns.
    #[serde(borrow)]
    pub cwd: Raw<'a>,
    #[serde(borrow)]
    pub model: Raw<'a>,
    #[serde(borrow)]
    pub model_provider: Raw<'a>,
    #[serde(borrow)]
    pub instructions: Raw<'a>,
    pub base_instructions: Option<BaseInstructions<'a>>,
    pub git: Option<Git<'a>>,
    /// Who started the session: a word, or an object for a sub-agent. The word also stands on commands.
    #[serde(borrow)]
    pub source: Raw<'a>,
    #[serde(borrow)]
    pub forked_from_id: Raw<'a>,
    #[serde(borrow)]
    pub parent_thread_id: Raw<'a>,
    #[serde(borrow)]
    pub agent_path: Raw<'a>,
    #[serde(borrow)]
    pub agent_nickname: Raw<'a>,
    #[serde(borrow)]
    pub subagent_history_start_ordinal: Raw<'a>,
    pub history_base: Option<HistoryBase<'a>>,
    #[serde(borrow)]
    pub user_instructions: Raw<'a>,
    #[serde(borrow)]
    pub developer_instructions: Raw<'a>,
    pub collaboration_mode: Option<CollaborationMode<'a>>,
    #[serde(borrow)]
    pub state: Raw<'a>,

    // Usage records.
    pub usage: Option<TokenUsage<'a>>,
    pub thread_token_usage: Option<TokenUsage<'a>>,
}

/// One part of a message, of a reasoning, or of an output that is a list.
#[derive(Deserialize)]
pub(super) struct Part<'a> {
    #[serde(borrow, default, rename = "type")]
    pub kind: Cow<'a, str>,
    #[serde(borrow)]
    pub text: Raw<'a>,
    #[serde(borrow)]
    pub image_url: Raw<'a>,
}

/// What `item_completed` (0.150 and later) says of one item.
#[derive(Deserialize)]
pub(super) struct Item<'a> {
    #[serde(borrow, default, rename = "type")]
    pub kind: Cow<'a, str>,
    #[serde(borrow)]
    pub id: Raw<'a>,
    #[serde(borrow)]
    pub content: Option<Vec<Part<'a>>>,
    #[serde(borrow)]
    pub phase: Raw<'a>,
    #[serde(borrow)]
    pub summary_text: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    pub raw_content: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    pub command: Raw<'a>,
    #[serde(borrow)]
    pub source: Raw<'a>,
    #[serde(borrow)]
    pub status: Raw<'a>,
    #[serde(borrow)]
    pub aggregated_output: Raw<'a>,
    #[serde(borrow)]
    pub stdout: Raw<'a>,
    #[serde(borrow)]
    pub stderr: Raw<'a>,
    #[serde(borrow)]
    pub exit_code: Raw<'a>,
    pub duration: Option<Duration>,
    #[serde(borrow)]
    pub changes: Raw<'a>,
    #[serde(borrow)]
    pub server: Raw<'a>,
    #[serde(borrow)]
    pub tool: Raw<'a>,
    #[serde(borrow)]
    pub arguments: Raw<'a>,
    #[serde(borrow)]
    pub result: Raw<'a>,
    #[serde(borrow)]
    pub path: Raw<'a>,
    #[serde(borrow, rename = "kind")]
    pub activity: Raw<'a>,
    #[serde(borrow)]
    pub agent_thread_id: Raw<'a>,
    #[serde(borrow)]
    pub receiver_thread_ids: Option<Vec<&'a RawValue>>,
}

/// A snapshot commit that the harness made of the working tree (0.63 to 0.73).
#[derive(Deserialize)]
pub(super) struct GhostCommit<'a> {
    #[serde(borrow)]
    pub id: Raw<'a>,
}

/// How long a call took.
#[derive(Deserialize, Clone, Copy)]
pub(super) struct Duration {
    pub secs: u64,
    pub nanos: u32,
}

impl Duration {
    /// Whole milliseconds.
    pub fn millis(self) -> u64 {
        self.secs.saturating_mul(1000).saturating_add(u64::from(self.nanos) / 1_000_000)
    }
}

/// What an MCP call asked for.
#[derive(Deserialize)]
pub(super) struct Invocation<'a> {
    #[serde(borrow)]
    pub server: Raw<'a>,
    #[serde(borrow)]
    pub tool: Raw<'a>,
    #[serde(borrow)]
    pub arguments: Raw<'a>,
}

/// What an MCP server answered. `mcp_tool_call_end` puts it into `Ok`, or an error text into `Err`.
#[derive(Deserialize)]
pub(super) struct McpResult<'a> {
    #[serde(borrow, rename = "Ok")]
    pub ok: Option<McpAnswer<'a>>,
    #[serde(borrow, rename = "Err")]
    pub err: Raw<'a>,
    #[serde(borrow)]
    pub content: Option<Vec<Part<'a>>>,
    #[serde(rename = "isError")]
    pub is_error: Option<bool>,
}

/// The answer proper.
#[derive(Deserialize)]
pub(super) struct McpAnswer<'a> {
    #[serde(borrow)]
    pub content: Option<Vec<Part<'a>>>,
    #[serde(rename = "isError")]
    pub is_error: Option<bool>,
}

/// One file of a patch.
#[derive(Deserialize)]
pub(super) struct Change<'a> {
    #[serde(borrow, default, rename = "type")]
    pub kind: Cow<'a, str>,
    #[serde(borrow)]
    pub content: Raw<'a>,
    #[serde(borrow)]
    pub unified_diff: Raw<'a>,
    #[serde(borrow)]
    pub move_path: Raw<'a>,
}

/// The changes of a patch by file, in the order in which they are written.
pub(super) struct Changes<'a>(pub Vec<(Cow<'a, str>, Change<'a>)>);

impl<'de: 'a, 'a> Deserialize<'de> for Changes<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Files<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for Files<'a> {
            type Value = Changes<'a>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("changes by file")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Changes<'a>, M::Error> {
                let mut changes = Vec::new();
                while let Some(change) = map.next_entry()? {
                    changes.push(change);
                }
                Ok(Changes(changes))
            }
        }
        deserializer.deserialize_map(Files(PhantomData))
    }
}

/// What a turn failed with (0.150 and later).
#[derive(Deserialize)]
pub(super) struct TurnError<'a> {
    #[serde(borrow)]
    pub message: Raw<'a>,
    #[serde(borrow)]
    pub codex_error_info: Raw<'a>,
}

/// What a `token_count` event counts.
#[derive(Deserialize)]
pub(super) struct TokenInfo<'a> {
    #[serde(borrow)]
    pub last_token_usage: Option<TokenUsage<'a>>,
    #[serde(borrow)]
    pub total_token_usage: Option<TokenUsage<'a>>,
}

/// Tokens, of one request or of a thread.
#[derive(Deserialize, Clone, Copy)]
pub(super) struct TokenUsage<'a> {
    #[serde(borrow)]
    pub input_tokens: Raw<'a>,
    #[serde(borrow)]
    pub cached_input_tokens: Raw<'a>,
    #[serde(borrow)]
    pub cache_write_input_tokens: Raw<'a>,
    #[serde(borrow)]
    pub output_tokens: Raw<'a>,
    #[serde(borrow)]
    pub reasoning_output_tokens: Raw<'a>,
    #[serde(borrow)]
    pub total_tokens: Raw<'a>,
}

/// The repository that the session was started in.
#[derive(Deserialize)]
pub(super) struct Git<'a> {
    #[serde(borrow)]
    pub commit_hash: Raw<'a>,
    #[serde(borrow)]
    pub branch: Raw<'a>,
    #[serde(borrow)]
    pub repository_url: Raw<'a>,
}

/// The system prompt (0.92 and later).
#[derive(Deserialize)]
pub(super) struct BaseInstructions<'a> {
    #[serde(borrow)]
    pub text: Raw<'a>,
}

/// Where a fork by reference (0.160 and later) takes its history from.
#[derive(Deserialize)]
pub(super) struct HistoryBase<'a> {
    #[serde(borrow)]
    pub thread_id: Raw<'a>,
}

/// The state behind the harness's messages (0.150 and later), as far as a person wrote it.
#[derive(Deserialize)]
pub(super) struct WorldState<'a> {
    /// Instruction files.
    #[serde(borrow)]
    pub agents_md: Raw<'a>,
}

/// The settings that a thread works with from here on.
#[derive(Deserialize)]
pub(super) struct Settings<'a> {
    #[serde(borrow)]
    pub cwd: Raw<'a>,
    #[serde(borrow)]
    pub model: Raw<'a>,
    #[serde(borrow)]
    pub model_provider_id: Raw<'a>,
    pub collaboration_mode: Option<CollaborationMode<'a>>,
}

/// The mode of a turn.
#[derive(Deserialize)]
pub(super) struct CollaborationMode<'a> {
    #[serde(borrow)]
    pub settings: Option<ModeSettings<'a>>,
}

/// What a mode brings along.
#[derive(Deserialize)]
pub(super) struct ModeSettings<'a> {
    #[serde(borrow)]
    pub developer_instructions: Raw<'a>,
}

/// `source` of a session that an agent started.
#[derive(Deserialize)]
pub(super) struct Source<'a> {
    #[serde(borrow)]
    pub subagent: Raw<'a>,
}

/// `source.subagent` of a session that `spawn_agent` started.
#[derive(Deserialize)]
pub(super) struct SubAgent<'a> {
    #[serde(borrow)]
    pub thread_spawn: Option<ThreadSpawn<'a>>,
}

/// Who spawned the session, and as what.
#[derive(Deserialize)]
pub(super) struct ThreadSpawn<'a> {
    #[serde(borrow)]
    pub parent_thread_id: Raw<'a>,
    #[serde(borrow)]
    pub agent_path: Raw<'a>,
    #[serde(borrow)]
    pub agent_nickname: Raw<'a>,
}
