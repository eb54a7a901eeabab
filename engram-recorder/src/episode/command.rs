//! How an agent is called under its profile: arguments, environment, files, input and bounds.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use engram_profiles::profile::{Continuation, InputMode, Profile};
use engram_profiles::template::Values;
use serde_json::{Value, json};

use super::job::Plan;
use super::turn::Bounds;
use crate::error::{Fault, RecorderError};
use crate::harness::{self, FAKE_KEY};
use crate::sandbox::write;
use crate::stop::Stop;

/// An agent of a plan, with the port of the model server.
pub struct Agent<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// Its profile.
    pub profile: &'a Profile,
    /// The port.
    pub port: u16,
}

/// One call of an agent.
pub struct Call {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Its whole environment.
    pub env: BTreeMap<String, String>,
    /// Where what it prints as errors goes.
    pub stderr: PathBuf,
    /// What it reads from standard input first.
    pub stdin: Vec<u8>,
    /// Whether standard input stays open.
    pub listens: bool,
}

impl Agent<'_> {
    /// The call of a run. Before the first one, the files of the profile are written.
    ///
    /// # Errors
    /// `adapter_misconfigured` if the profile does not fit, `io`.
    pub fn call(&self, at: usize, words: &str) -> Result<Call, RecorderError> {
        let work = &self.plan.places.work;
        let prompt_file = work.join(format!("prompt{at}.txt"));
        if self.profile.input_mode == InputMode::File {
            write(&prompt_file, words.as_bytes())?;
        }
        let (argv, env) = self.command(words, &prompt_file, at == 0)?;
        let stdin = match self.profile.input_mode {
            InputMode::Stdin => words.as_bytes().to_vec(),
            InputMode::StreamJson => stream_message(words),
            InputMode::Arg | InputMode::File => Vec::new(),
        };
        let continuation = self
            .profile
            .tool_bridge
            .as_ref()
            .map(|bridge| bridge.continuation);
        let listens = continuation == Some(Continuation::Stream)
            || self.profile.input_mode == InputMode::StreamJson;
        Ok(Call {
            argv,
            env,
            stderr: work.join(format!("run{at}.err")),
            stdin,
            listens,
        })
    }

    fn command(
        &self,
        words: &str,
        prompt_file: &Path,
        is_first: bool,
    ) -> Result<(Vec<String>, BTreeMap<String, String>), RecorderError> {
        let places = &self.plan.places;
        let [home, cwd, file] = [&places.home, &places.project, prompt_file]
            .map(|path: &Path| path.to_string_lossy().into_owned());
        let base_url = format!("http://127.0.0.1:{}", self.port);
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", places.node.display());
        let values = Values {
            prompt: Some(words),
            prompt_file: Some(&file),
            model: model(self.profile),
            session: Some(&self.plan.ids.session_id),
            mcp_config: None,
            home: &home,
            cwd: &cwd,
            base_url: &base_url,
            path: &path,
            api_key: FAKE_KEY,
            version: &self.plan.version,
        };
        let wrong =
            |error: engram_profiles::ProfileError| RecorderError::new(Fault::Misconfigured, error);
        // The agent itself may do as little as can be had: it is the driver who acts.
        let tier = self.profile.permission_mode_map.first().map(|row| row.tier);
        let args = tier
            .map_or(Ok(Vec::new()), |tier| self.profile.args(&values, tier))
            .map_err(wrong)?;
        if is_first {
            for (path, text) in self.profile.files(&values) {
                write(&PathBuf::from(path), text.as_bytes())?;
            }
        }
        Ok((
            self.plan.exe.iter().cloned().chain(args).collect(),
            self.profile.env(&values),
        ))
    }

    /// What a run may use, if so many bytes are used up.
    pub fn bounds<'b>(&self, deadline: Instant, used: u64, stop: &'b Stop) -> Bounds<'b> {
        let (health, budget) = (&self.profile.health_checks, &self.profile.budget_defaults);
        Bounds {
            start: Duration::from_millis(health.start_ms.get()),
            stall: Duration::from_millis(health.stall_ms.get()),
            max_stalls: health.max_stalls,
            grace: Duration::from_millis(health.stop_grace_ms.get()),
            deadline,
            bytes: most_evidence(self.profile).saturating_sub(used),
            tokens: budget.tokens.get(),
            stop,
        }
    }
}

/// The most bytes of all that is kept of an episode.
pub fn most_evidence(profile: &Profile) -> u64 {
    let (budget, policy) = (&profile.budget_defaults, &profile.evidence_policy);
    budget.evidence_bytes.min(policy.max_bytes).get()
}

/// What a harness would fetch, by the end of the path.
pub fn documents(profile: &Profile) -> Vec<(String, Value)> {
    let harness = profile
        .harness
        .adapter_id()
        .and_then(|id| harness::named(id).ok());
    harness
        .map(|harness| harness.documents())
        .unwrap_or_default()
}

/// The model that a harness is asked to use; Claude Code has one by itself.
pub fn model(profile: &Profile) -> Option<&'static str> {
    use engram_profiles::profile::HarnessName::{
        ClaudeCode, CodexCli, Copilot, Cursor, GeminiCli, Kilo, LocalInference, Openclaw, Opencode,
        Pi, Qwen,
    };
    match profile.harness {
        ClaudeCode | Cursor => None,
        CodexCli => Some("gpt-5.5"),
        GeminiCli => Some("gemini-2.5-pro"),
        Qwen => Some("qwen3-coder-plus"),
        Copilot => Some("claude-sonnet-4.5"),
        Opencode | Kilo => Some("scripted/scripted-model"),
        Pi | Openclaw | LocalInference => Some("scripted-model"),
    }
}

/// A message of a person on standard input, as Claude Code reads it.
pub fn stream_message(words: &str) -> Vec<u8> {
    let message = json!({"type": "user", "message": {"role": "user", "content": words}, "parent_tool_use_id": null, "session_id": ""});
    format!("{message}\n").into_bytes()
}
