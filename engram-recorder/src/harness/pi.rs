//! Pi: `@earendil-works/pi-coding-agent`.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::setting::{
    FAKE_KEY, Harness, RESULTS_WITHOUT_STATUS, Setting, files_below, is_lines, newest,
};
use crate::process::Invocation;
use crate::scenario::{Permissions, Resume, Run};

/// Pi.
pub struct Pi;

/// The provider in its list of models.
const PROVIDER: &str = "scripted";
/// The model.
const MODEL: &str = "scripted-model";
/// The directory of its settings, below the home.
const DIRECTORY: &str = ".pi/agent";

/// The model that it is asked to use.
fn model_flags(setting: &Setting<'_>) -> [String; 4] {
    let model = setting.model("pi", MODEL);
    ["--provider", PROVIDER, "--model", model].map(str::to_owned)
}

impl Harness for Pi {
    fn family(&self) -> &'static str {
        "pi"
    }

    fn package(&self) -> &'static str {
        "@earendil-works/pi-coding-agent"
    }

    fn program(&self) -> &'static str {
        "pi"
    }

    fn files(&self, setting: &Setting<'_>) -> Vec<(String, String)> {
        let model = setting.model(self.family(), MODEL);
        let models = json!([{
            "id": model, "name": model, "reasoning": true, "input": ["text", "image"], "contextWindow": 200_000, "maxTokens": 8192,
            "cost": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0},
        }]);
        let provider = json!({
            "baseUrl": format!("http://127.0.0.1:{}/v1", setting.port), "apiKey": FAKE_KEY, "api": "openai-completions", "models": models,
        });
        vec![(
            format!("{}/{DIRECTORY}/models.json", setting.home),
            json!({"providers": {PROVIDER: provider}}).to_string(),
        )]
    }

    fn invocation(
        &self,
        setting: &Setting<'_>,
        run: &Run,
        session: Option<&str>,
    ) -> Result<Invocation, String> {
        if setting.permissions(run) == Permissions::Default {
            return Err("it never asks for permission".to_owned());
        }
        let mut argv = setting.exe.to_vec();
        argv.extend(model_flags(setting));
        let known = || session.ok_or("there is no session to go on with");
        let resume: &[&str] = match run.resume {
            None => &[],
            Some(Resume::Last) => &["--continue"],
            Some(Resume::First) => &["--session", known()?],
            Some(Resume::Fork) if !setting.has_flag("--fork") => return Err("no --fork".to_owned()),
            Some(Resume::Fork) => &["--fork", known()?],
        };
        argv.extend(resume.iter().map(|word| (*word).to_owned()));
        argv.push("-p".to_owned());
        argv.extend(run.images.iter().map(|image| format!("@{image}")));
        argv.push(run.prompt.clone());
        Ok(Invocation {
            argv,
            stdin: Vec::new(),
        })
    }

    fn set_aside(&self) -> &'static [(&'static str, &'static str)] {
        &[RESULTS_WITHOUT_STATUS]
    }

    fn terminal(&self, setting: &Setting<'_>, _run: &Run) -> Option<Vec<String>> {
        Some([setting.exe.to_vec(), model_flags(setting).to_vec()].concat())
    }

    /// The name of a log is `<time>_<session>`.
    fn session(&self, home: &Path, _stdout: &str) -> Option<String> {
        let log = newest(&home.join(DIRECTORY).join("sessions"), is_lines)?;
        let name = log.file_stem()?.to_string_lossy().into_owned();
        Some(name.rsplit_once('_')?.1.to_owned())
    }

    fn log(&self, home: &Path) -> Vec<(PathBuf, PathBuf)> {
        files_below(&home.join(DIRECTORY).join("sessions"), home, "")
    }
}
