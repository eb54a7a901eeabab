//! OpenCode 1.x (`opencode-ai`), and Kilo 7.x (`@kilocode/cli`), which is a fork of it.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::setting::{
    FAKE_KEY, Harness, RESULTS_WITHOUT_STATUS, Setting, files_below, member_in, with_settings,
};
use crate::process::Invocation;
use crate::scenario::{Permissions, Resume, Run};

/// OpenCode, or a fork of it.
pub struct OpenCode {
    /// The name of the program, of its directories and of its adapter's family.
    name: &'static str,
    /// The package on npm.
    package: &'static str,
    /// The version of OpenCode whose command line it has.
    like: Option<(u64, u64, u64)>,
}

/// OpenCode.
pub const OPENCODE: OpenCode = OpenCode {
    name: "opencode",
    package: "opencode-ai",
    like: None,
};

/// Kilo.
pub const KILO: OpenCode = OpenCode {
    name: "kilo",
    package: "@kilocode/cli",
    like: Some((1, 2, 0)),
};

impl OpenCode {
    /// True if the version has the command line of this version of OpenCode, or of a later one.
    fn is_from(&self, setting: &Setting<'_>, since: (u64, u64, u64)) -> bool {
        let (major, minor, patch) = since;
        self.like.map_or_else(
            || setting.is_from(major, minor, patch),
            |like| like >= since,
        )
    }
}

/// The provider and the model.
const MODEL: &str = "scripted/scripted-model";

/// The models that every provider has.
fn models() -> Value {
    let model = |name: &str| {
        json!({
            "id": name, "name": name, "tool_call": true, "reasoning": true, "attachment": true, "temperature": false,
            "release_date": "2026-01-01", "modalities": {"input": ["text", "image"], "output": ["text"]},
            "limit": {"context": 200_000, "output": 8192}, "cost": {"input": 1, "output": 2},
        })
    };
    let names = ["scripted-model", "gpt-5-scripted", "claude-sonnet-4-5"];
    Value::Object(
        names
            .iter()
            .map(|name| ((*name).to_owned(), model(name)))
            .collect(),
    )
}

/// The list of providers that the harness would fetch.
fn providers() -> Value {
    let provider = |id: &str, package: &str| json!({"id": id, "name": id, "env": ["UNSET_KEY"], "npm": package, "api": null, "models": models()});
    json!({
        "scripted": provider("scripted", "@ai-sdk/openai-compatible"),
        "anthropic": provider("anthropic", "@ai-sdk/anthropic"),
        "openai": provider("openai", "@ai-sdk/openai"),
        "opencode": provider("opencode", "@ai-sdk/openai-compatible"),
    })
}

/// The setting about permissions; none in everyday use.
fn permission(harness: &OpenCode, setting: &Setting<'_>) -> Option<Value> {
    let mut permission = match setting.scenario.permissions {
        Permissions::Full => json!({"edit": "allow", "bash": "allow", "webfetch": "allow"}),
        Permissions::Default => {
            json!({"edit": "deny", "bash": {"*": "allow", "rm *": "deny"}, "webfetch": "deny"})
        }
        Permissions::Everyday => return None,
    };
    if harness.is_from(setting, (1, 0, 50)) && setting.scenario.permissions == Permissions::Full {
        permission["external_directory"] = json!("allow");
        permission["doom_loop"] = json!("allow");
    }
    Some(permission)
}

impl Harness for OpenCode {
    fn family(&self) -> &'static str {
        self.name
    }

    fn package(&self) -> &'static str {
        self.package
    }

    fn program(&self) -> &'static str {
        self.name
    }

    fn origin(&self) -> &'static str {
        OPENCODE.name
    }

    fn subcommand(&self) -> Option<&'static str> {
        Some("run")
    }

    fn files(&self, setting: &Setting<'_>) -> Vec<(String, String)> {
        let url = format!("http://127.0.0.1:{}/v1", setting.port);
        let model = setting.model(self.family(), MODEL);
        let provider = |package: &str| json!({"npm": package, "options": {"baseURL": url, "apiKey": FAKE_KEY}, "models": models()});
        let mut config = json!({
            "$schema": "https://opencode.ai/config.json", "model": model, "small_model": model, "share": "disabled", "autoupdate": false,
            "provider": {
                "scripted": provider("@ai-sdk/openai-compatible"),
                "anthropic": provider("@ai-sdk/anthropic"),
                "openai": provider("@ai-sdk/openai"),
            },
        });
        if let Some(permission) = permission(self, setting) {
            config["permission"] = permission;
        }
        let config = with_settings(config, setting, self.origin());
        let (home, name) = (setting.home, self.name);
        vec![
            (
                format!("{home}/.config/{name}/{name}.json"),
                config.to_string(),
            ),
            (
                format!("{home}/.cache/{name}/models.json"),
                providers().to_string(),
            ),
            (format!("{home}/models.json"), providers().to_string()),
        ]
    }

    fn invocation(
        &self,
        setting: &Setting<'_>,
        run: &Run,
        session: Option<&str>,
    ) -> Result<Invocation, String> {
        let mut argv = setting.exe.to_vec();
        let mut add = |words: &[&str]| argv.extend(words.iter().map(|word| (*word).to_owned()));
        add(&["run", "--model", setting.model(self.family(), MODEL)]);
        if self.is_from(setting, (0, 13, 0)) {
            add(&["--format", "json"]);
        }
        match run.resume {
            None => {}
            Some(Resume::Last) => add(&["--continue"]),
            Some(resume) => {
                add(&[
                    "--session",
                    session.ok_or("there is no session to go on with")?,
                ]);
                if resume == Resume::Fork {
                    if !self.is_from(setting, (1, 1, 50)) {
                        return Err("no --fork".to_owned());
                    }
                    add(&["--fork"]);
                }
            }
        }
        add(&[&run.prompt]);
        for image in &run.images {
            add(&["-f", image]);
        }
        Ok(Invocation {
            argv,
            stdin: Vec::new(),
        })
    }

    fn set_aside(&self) -> &'static [(&'static str, &'static str)] {
        &[RESULTS_WITHOUT_STATUS]
    }

    fn terminal(&self, setting: &Setting<'_>, _run: &Run) -> Option<Vec<String>> {
        Some(setting.exe.to_vec())
    }

    fn session(&self, _home: &Path, stdout: &str) -> Option<String> {
        member_in(stdout, &["sessionID", "session_id"]).map(str::to_owned)
    }

    fn log(&self, home: &Path) -> Vec<(PathBuf, PathBuf)> {
        let data = home.join(".local/share").join(self.name);
        let mut found: Vec<(PathBuf, PathBuf)> = ["storage", "project", "tool-output"]
            .iter()
            .flat_map(|name| files_below(&data.join(name), &data, self.name))
            .collect();
        found.extend(files_below(&home.join("export"), home, ""));
        for entry in std::fs::read_dir(&data).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(".db") || name.ends_with(".db-wal") {
                found.push((entry.path(), Path::new(self.name).join(name)));
            }
        }
        found
    }

    fn documents(&self) -> Vec<(String, Value)> {
        vec![("api.json".to_owned(), providers())]
    }

    fn seconds(&self) -> u64 {
        240
    }
}
