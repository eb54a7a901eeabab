//! Claude Code: `@anthropic-ai/claude-code`.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::setting::{
    FAKE_KEY, Harness, Setting, files_below, is_lines, member_in, newest, with_settings,
};
use crate::process::Invocation;
use crate::scenario::{Permissions, Resume, Run};

/// Versions before this one ask for tools by older names, and have no way to skip permissions.
const SKIPS_PERMISSIONS: (u64, u64, u64) = (0, 2, 30);
/// So many last letters of a key are what the harness remembers as approved.
const KEY_LETTERS: usize = 20;

/// Claude Code.
pub struct ClaudeCode;

impl Harness for ClaudeCode {
    fn family(&self) -> &'static str {
        "claude-code"
    }

    fn package(&self) -> &'static str {
        "@anthropic-ai/claude-code"
    }

    fn program(&self) -> &'static str {
        "claude"
    }

    fn files(&self, setting: &Setting<'_>) -> Vec<(String, String)> {
        let approved =
            json!({"approved": [&FAKE_KEY[FAKE_KEY.len() - KEY_LETTERS..]], "rejected": []});
        let (major, minor, patch) = SKIPS_PERMISSIONS;
        let is_old = !setting.is_from(major, minor, patch);
        let allowed = if is_old && setting.scenario.permissions == Permissions::Full {
            json!([
                "Bash", "Bash(*)", "Edit", "Replace", "Write", "View", "GrepTool", "GlobTool", "LS"
            ])
        } else {
            json!([])
        };
        let project = json!({"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true, "allowedTools": allowed});
        let state = json!({
            "hasCompletedOnboarding": true, "theme": "dark", "customApiKeyResponses": approved, "bypassPermissionsModeAccepted": true,
            "numStartups": 3, "autoUpdates": false, "autoUpdaterStatus": "disabled", "shiftEnterKeyBindingInstalled": true,
            "lastOnboardingVersion": setting.version.to_string(), "projects": {setting.project: project},
        });
        let old = json!({"theme": "dark", "hasCompletedOnboarding": true, "customApiKeyResponses": approved});
        let mut files = vec![
            (format!("{}/.claude.json", setting.home), state.to_string()),
            (
                format!("{}/.claude/config.json", setting.home),
                old.to_string(),
            ),
        ];
        if setting.scenario.settings.contains_key(self.family()) {
            let settings = with_settings(json!({}), setting, self.family());
            files.push((
                format!("{}/.claude/settings.json", setting.home),
                settings.to_string(),
            ));
        }
        files
    }

    fn invocation(
        &self,
        setting: &Setting<'_>,
        run: &Run,
        session: Option<&str>,
    ) -> Result<Invocation, String> {
        let mut argv = setting.exe.to_vec();
        let mut add = |words: &[&str]| argv.extend(words.iter().map(|word| (*word).to_owned()));
        add(&["-p"]);
        if setting.has_flag("--output-format") {
            add(&["--output-format", "stream-json"]);
            if setting.has_flag("--verbose") {
                add(&["--verbose"]);
            }
        }
        let (major, minor, patch) = SKIPS_PERMISSIONS;
        if setting.permissions(run) == Permissions::Full {
            if setting.has_flag("--dangerously-skip-permissions")
                && setting.is_from(major, minor, patch)
            {
                add(&["--dangerously-skip-permissions"]);
            } else if setting.has_flag("--allowedTools") {
                add(&[
                    "--allowedTools",
                    "Bash",
                    "Edit",
                    "Write",
                    "Replace",
                    "Read",
                    "View",
                    "Grep",
                    "Glob",
                ]);
            }
        }
        if let Some(model) = setting.scenario.model.get(self.family()) {
            add(&["--model", model]);
        }
        match run.resume {
            None => {}
            Some(_) if !setting.has_flag("--continue") => {
                return Err("cannot go on with a session".to_owned());
            }
            Some(Resume::Last) => add(&["--continue"]),
            Some(resume) => {
                add(&[
                    "--resume",
                    session.ok_or("there is no session to go on with")?,
                ]);
                if resume == Resume::Fork {
                    if !setting.has_flag("--fork-session") {
                        return Err("no --fork-session".to_owned());
                    }
                    add(&["--fork-session"]);
                }
            }
        }
        if !run.says.is_empty() {
            if !setting.has_flag("--input-format") {
                return Err("no --input-format".to_owned());
            }
            // The second flag is not in the help: questions for permission come over standard output.
            add(&[
                "--input-format",
                "stream-json",
                "--permission-prompt-tool",
                "stdio",
            ]);
        }
        // The prompt is read from standard input: some flags take all words that follow.
        Ok(Invocation {
            argv,
            stdin: run.prompt.clone().into_bytes(),
        })
    }

    fn terminal(&self, setting: &Setting<'_>, run: &Run) -> Option<Vec<String>> {
        let mut argv = setting.exe.to_vec();
        if setting.permissions(run) == Permissions::Full {
            argv.push("--dangerously-skip-permissions".to_owned());
        } else if setting.permissions(run) == Permissions::Default
            && setting.has_flag("--permission-mode")
        {
            argv.extend(["--permission-mode", "default"].map(str::to_owned));
        }
        Some(argv)
    }

    fn session(&self, home: &Path, stdout: &str) -> Option<String> {
        if let Some(id) = member_in(stdout, &["session_id", "sessionId"]) {
            return Some(id.to_owned());
        }
        let log = newest(&home.join(".claude/projects"), is_lines)?;
        Some(log.file_stem()?.to_string_lossy().into_owned())
    }

    fn log(&self, home: &Path) -> Vec<(PathBuf, PathBuf)> {
        let mut found = files_below(&home.join(".claude/projects"), home, "");
        for name in [
            ".claude/history.jsonl",
            ".claude/__store.db",
            ".claude/__store.db-wal",
        ] {
            if home.join(name).is_file() {
                found.push((home.join(name), PathBuf::from(name)));
            }
        }
        found
    }
}
