//! What a profile says: how one agent is run, what it may do, and what is kept of it.

use std::num::NonZeroU64;

use engram_core::tool_kind::ToolKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::limits::{
    MAX_ARGS, MAX_ENV, MAX_EVIDENCE_BYTES, MAX_FILES, MAX_GRACE, MAX_LINE_BYTES, MAX_MILLISECONDS,
    MAX_NAME, MAX_REGEX, MAX_REQUESTS, MAX_RESULT_BYTES, MAX_TOOLS, MAX_VERSION,
};

/// `AgentAdapterProfileV1`: how one command-line agent is run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The version of this form.
    pub schema: SchemaName,
    /// The name, which stays when the content changes: `a-z`, `0-9` and `-`.
    #[schemars(regex(pattern = r"^[a-z0-9-]{1,64}$"))]
    pub profile_id: String,
    /// The agent.
    pub harness: HarnessName,
    /// How its calls of tools are known.
    pub adapter_mode: AdapterMode,
    /// The name of the program, found on the caller's path, or `{exe}`: the one that the caller names.
    #[schemars(regex(pattern = r"^(\{exe\}|[A-Za-z0-9._-]{1,64})$"))]
    pub command: String,
    /// The arguments. A placeholder is a whole argument.
    #[schemars(length(max = MAX_ARGS))]
    pub args_template: Vec<String>,
    /// The whole environment, sorted by name: nothing is inherited.
    #[schemars(length(max = MAX_ENV))]
    pub env_template: Vec<(String, String)>,
    /// Settings that are written before the run, sorted by path.
    #[schemars(length(max = MAX_FILES))]
    pub files_template: Vec<FileTemplate>,
    /// Where it runs.
    pub cwd: Cwd,
    /// Whether it needs a terminal.
    pub requires_pty: bool,
    /// How it gets the prompt.
    pub input_mode: InputMode,
    /// What it prints.
    pub output_mode: OutputMode,
    /// The flags of each tier, in the order of the tiers. A tier that is missing cannot be had.
    #[schemars(length(max = 3))]
    pub permission_mode_map: Vec<TierFlags>,
    /// How it asks the driver for tools; a black box needs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ToolBridge")]
    pub tool_bridge: Option<ToolBridge>,
    /// What each intent is, sorted by intent.
    #[schemars(length(max = MAX_TOOLS))]
    pub capability_map: Vec<Capability>,
    /// The agent's own tools.
    pub native_tools: NativeTools,
    /// How its version is asked for.
    pub version_probe: VersionProbe,
    /// When it has stopped working.
    pub health_checks: HealthChecks,
    /// What an episode may use if nobody says otherwise.
    pub budget_defaults: Budget,
    /// What is kept of a run.
    pub evidence_policy: EvidencePolicy,
}

/// The version of the form of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SchemaName {
    /// Version 1.
    #[serde(rename = "engram.agent_adapter_profile/1")]
    V1,
}

/// An agent that a profile can be for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HarnessName {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    CodexCli,
    /// Gemini CLI.
    GeminiCli,
    /// Qwen Code.
    Qwen,
    /// OpenCode.
    Opencode,
    /// Kilo.
    Kilo,
    /// Copilot CLI.
    Copilot,
    /// Pi.
    Pi,
    /// OpenClaw.
    Openclaw,
    /// Cursor.
    Cursor,
    /// A model on loopback, with the loop of `engram-lab episode`.
    LocalInference,
}

impl HarnessName {
    /// The name in a profile and in the header of an episode.
    pub const fn as_str(self) -> &'static str {
        match self {
            HarnessName::ClaudeCode => "claude-code",
            HarnessName::CodexCli => "codex-cli",
            HarnessName::GeminiCli => "gemini-cli",
            HarnessName::Qwen => "qwen",
            HarnessName::Opencode => "opencode",
            HarnessName::Kilo => "kilo",
            HarnessName::Copilot => "copilot",
            HarnessName::Pi => "pi",
            HarnessName::Openclaw => "openclaw",
            HarnessName::Cursor => "cursor",
            HarnessName::LocalInference => "local-inference",
        }
    }

    /// The id of the adapter that reads the agent's own log; `None` if it keeps none.
    pub const fn adapter_id(self) -> Option<&'static str> {
        match self {
            HarnessName::ClaudeCode => Some("claude-code"),
            HarnessName::CodexCli => Some("codex"),
            HarnessName::GeminiCli => Some("gemini"),
            HarnessName::Qwen => Some("qwen"),
            HarnessName::Opencode => Some("opencode"),
            HarnessName::Kilo => Some("kilo"),
            HarnessName::Copilot => Some("copilot"),
            HarnessName::Pi => Some("pi"),
            HarnessName::Openclaw => Some("openclaw"),
            HarnessName::Cursor => Some("cursor"),
            HarnessName::LocalInference => None,
        }
    }
}

/// How the calls of an agent are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AdapterMode {
    /// It has no tools of its own, and asks in frames.
    BlackBox,
    /// It acts by itself, and prints or logs what it does.
    StructuredOutput,
    /// It gets tools over MCP.
    McpBridge,
    /// The vendor's hooks report what it does.
    HookedVendor,
}

impl AdapterMode {
    /// Why a driver runs no episodes in this mode; `None` for a black box, whose only way to act is to ask.
    pub const fn without_episodes(self) -> Option<&'static str> {
        match self {
            AdapterMode::BlackBox => None,
            AdapterMode::StructuredOutput => Some(
                "mode structured_output: its agent acts by itself; `engram-lab record` and tiers 1 to 3 judge it",
            ),
            AdapterMode::McpBridge => Some("mode mcp_bridge: no bridge over MCP is there"),
            AdapterMode::HookedVendor => {
                Some("mode hooked_vendor: this agent cannot be pointed at a model on loopback")
            }
        }
    }
}

/// Where an agent runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Cwd {
    /// In the sandbox.
    #[serde(rename = "{sandbox}")]
    Sandbox,
}

/// How an agent gets the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InputMode {
    /// As an argument.
    Arg,
    /// On standard input.
    Stdin,
    /// In a file that an argument names.
    File,
    /// As lines of JSON on standard input.
    StreamJson,
}

/// What an agent prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OutputMode {
    /// Its text.
    Raw,
    /// One JSON value.
    Json,
    /// Lines of JSON.
    Jsonl,
    /// Lines of JSON while it works.
    StreamJson,
}

/// How much an agent may do.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Look only.
    Observe,
    /// Change files of the project.
    Edit,
    /// Anything, without asking.
    Full,
}

/// A file that is written before a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileTemplate {
    /// Its place: `{home}/` or `{cwd}/`, and a path without `..`.
    #[schemars(regex(pattern = r"^\{(home|cwd)\}/."))]
    pub path: String,
    /// Its text, with placeholders.
    pub text: String,
}

/// The flags of a tier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TierFlags {
    /// The tier.
    pub tier: Tier,
    /// What `{permission}` stands for; empty: the agent needs no flag.
    #[schemars(length(max = MAX_ARGS))]
    pub flags: Vec<String>,
}

/// How an agent asks for tools, and how much it may ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolBridge {
    /// The grammar.
    pub protocol: Protocol,
    /// The most bytes of the arguments of a request, decoded.
    pub max_args_bytes: NonZeroU64,
    /// The most bytes of a result.
    #[schemars(range(max = MAX_RESULT_BYTES))]
    pub max_result_bytes: NonZeroU64,
    /// The most bytes of a line.
    #[schemars(range(max = MAX_LINE_BYTES))]
    pub max_line_bytes: NonZeroU64,
    /// The longest time that a tool may take, in milliseconds.
    #[schemars(range(max = MAX_MILLISECONDS))]
    pub tool_timeout_ms: NonZeroU64,
    /// The most requests of an episode.
    #[schemars(range(max = MAX_REQUESTS))]
    pub max_requests: NonZeroU64,
    /// How a result reaches the agent.
    pub continuation: Continuation,
}

/// The grammar of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Protocol {
    /// Version 1 of the tool-intent grammar.
    #[serde(rename = "TI1")]
    Ti1,
}

/// How a result reaches an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Continuation {
    /// The agent is run again, with all that was said in its prompt.
    Restart,
    /// The agent goes on with its session.
    Resume,
    /// The agent reads it from standard input while it runs.
    Stream,
    /// It does not.
    None,
}

/// What an intent is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Capability {
    /// The name that the agent asks with.
    #[schemars(regex(pattern = r"^[a-z0-9._-]{1,64}$"))]
    pub intent: String,
    /// The kind of tool, as tapes name it.
    #[serde(with = "tool_class")]
    #[schemars(with = "String", extend("enum" = tool_class::names()))]
    pub tool_class: ToolKind,
}

/// The agent's own tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NativeTools {
    /// Those that a black box may still offer to its model, since they act on nothing; sorted.
    #[schemars(length(max = MAX_TOOLS), inner(length(min = 1, max = MAX_NAME)))]
    pub allowed: Vec<String>,
}

/// How the version of an agent is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VersionProbe {
    /// The arguments.
    #[schemars(length(max = MAX_ARGS))]
    pub args: Vec<String>,
    /// Finds the version in what is printed, as the group `version`.
    pub regex: String,
    /// The versions that the profile is for: `~MAJOR.MINOR`, or `>=MAJOR.MINOR, <MAJOR.MINOR` for several.
    #[schemars(regex(
        pattern = r"^(~|>=(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8}), <)(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})$"
    ))]
    pub expect: String,
}

/// When an agent has stopped working. All times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HealthChecks {
    /// The longest time until its first output or first request to the model.
    #[schemars(range(max = MAX_MILLISECONDS))]
    pub start_ms: NonZeroU64,
    /// So long without output and without a request is a stall.
    #[schemars(range(max = MAX_MILLISECONDS))]
    pub stall_ms: NonZeroU64,
    /// So many stalls are borne.
    pub max_stalls: u64,
    /// The time between TERM and KILL.
    #[schemars(range(max = MAX_GRACE))]
    pub stop_grace_ms: NonZeroU64,
}

/// What an episode may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Calls of tools.
    pub tool_calls: NonZeroU64,
    /// Tokens, in and out.
    pub tokens: NonZeroU64,
    /// Milliseconds.
    #[schemars(range(max = MAX_MILLISECONDS))]
    pub wall_clock_ms: NonZeroU64,
    /// Bytes of evidence.
    #[schemars(range(max = MAX_EVIDENCE_BYTES))]
    pub evidence_bytes: NonZeroU64,
}

/// What is kept of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvidencePolicy {
    /// What it printed.
    pub stdout: Keep,
    /// What it printed as errors.
    pub stderr: Keep,
    /// Its requests to the model, which have the vendor's system prompt.
    pub requests: Keep,
    /// Its own log.
    pub session_files: Keep,
    /// Arguments and results of tools.
    pub tool_traces: Keep,
    /// The most bytes of all that is kept.
    #[schemars(range(max = MAX_EVIDENCE_BYTES))]
    pub max_bytes: NonZeroU64,
}

/// Whether something is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Keep {
    /// Whole.
    Keep,
    /// Its hash and size.
    Hash,
    /// Nothing.
    Drop,
}

impl VersionProbe {
    /// The compiled pattern. It is small, so that no output can make it slow.
    pub(crate) fn pattern(&self) -> Result<regex_lite::Regex, regex_lite::Error> {
        regex_lite::RegexBuilder::new(&self.regex)
            .size_limit(MAX_REGEX)
            .build()
    }

    /// Whether the profile is for a version.
    pub fn expects(&self, version: &str) -> Expected {
        let is_within = || {
            let (first, end) = range(&self.expect)?;
            Some((first..end).contains(&major_minor(version)?))
        };
        if is_within() == Some(true) {
            Expected::Yes
        } else {
            Expected::No
        }
    }
}

impl Profile {
    /// The flags of a tier; `None` if the tier cannot be had.
    pub fn flags(&self, tier: Tier) -> Option<&[String]> {
        self.permission_mode_map
            .iter()
            .find(|row| row.tier == tier)
            .map(|row| row.flags.as_slice())
    }

    /// The kind of an intent; `Other` if the profile does not name it.
    pub fn tool_class(&self, intent: &str) -> ToolKind {
        self.capability_map
            .iter()
            .find(|row| row.intent == intent)
            .map_or(ToolKind::Other, |row| row.tool_class)
    }

    /// The version in what the probe printed, and whether the profile is for it.
    pub fn probed<'t>(&self, printed: &'t str) -> Option<(&'t str, Expected)> {
        let regex = self.version_probe.pattern().ok()?;
        let version = regex.captures(printed)?.name("version")?.as_str();
        let is_version = (1..=MAX_VERSION).contains(&version.len())
            && version.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_version {
            return None;
        }
        Some((version, self.version_probe.expects(version)))
    }
}

/// Whether a profile is for a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// It is.
    Yes,
    /// It is for others.
    No,
}

/// The first two numbers of a version.
fn major_minor(version: &str) -> Option<(u64, u64)> {
    let mut numbers = version.split(['.', '-', '+']);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// The first version of a range, and the first one behind it; `None` if it is no range.
pub(crate) fn range(expect: &str) -> Option<((u64, u64), (u64, u64))> {
    let number = |text: &str| {
        let is_number = (1..=9).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_digit())
            && (text == "0" || !text.starts_with('0'));
        is_number.then(|| text.parse().ok()).flatten()
    };
    let exact = |text: &str| {
        let (major, minor) = text.split_once('.')?;
        Some((number(major)?, number(minor)?))
    };
    if let Some(only) = expect.strip_prefix('~') {
        let (major, minor) = exact(only)?;
        return Some(((major, minor), (major, minor + 1)));
    }
    let (first, end) = expect.strip_prefix(">=")?.split_once(", <")?;
    let (first, end) = (exact(first)?, exact(end)?);
    (first < end).then_some((first, end))
}

/// The kinds of tools, by the names that tapes have.
mod tool_class {
    use engram_core::tool_kind::ToolKind;
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    pub fn names() -> Vec<&'static str> {
        ToolKind::ALL.iter().map(|kind| kind.as_str()).collect()
    }

    pub fn serialize<S: Serializer>(kind: &ToolKind, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(kind.as_str())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ToolKind, D::Error> {
        let name = String::deserialize(deserializer)?;
        let found = ToolKind::ALL.into_iter().find(|kind| kind.as_str() == name);
        found.ok_or_else(|| {
            D::Error::custom(format!(
                "`{name}` is no kind of tool; there are {}",
                names().join(", ")
            ))
        })
    }
}
