//! The live smoke test: a question and one call, answered by a real provider. Its recording has no ground truth, so only
//! checks that need none judge it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use engram_adapters::sessions::{SessionFinder, SessionLocation, SessionOptions};
use engram_core::audit::audit;
use engram_core::check::check_stream;
use engram_core::error::ErrorCode;
use engram_core::tape::JsonLines;
use engram_profiles::receipt::Verdict;
use semver::Version;
use serde::Serialize;
use serde_json::{Value, json};

use crate::conform::Outcome;
use crate::episode::suite::Settings;
use crate::error::{Fault, RecorderError};
use crate::harness::{self, HARNESSES, Harness};
use crate::isolation::{self, Isolation};
use crate::process::End;
use crate::record::{Job, Recorded};
use crate::scenario::Scenario;
use crate::server::Provider;

/// The checks: the scenario of each, and the file that its call must have written.
const CHECKS: [(&str, &str, Option<&str>); 2] = [
    ("live a_qa", "a_qa", None),
    ("live l_call", "l_call", Some("live.txt")),
];
/// The model for a harness whose own list has only scripted ones.
const OPENCODE_MODEL: &str = "gpt-5.5";

/// Where the models of a harness are, and whose key they need.
struct Account {
    family: &'static str,
    key: &'static str,
    base: &'static str,
    url: &'static str,
    header: &'static str,
}

const fn openai(family: &'static str) -> Account {
    Account {
        family,
        key: "OPENAI_API_KEY",
        base: "OPENAI_BASE_URL",
        url: "https://api.openai.com/v1",
        header: "authorization: Bearer ",
    }
}

const ACCOUNTS: &[Account] = &[
    Account {
        family: "claude-code",
        key: "ANTHROPIC_API_KEY",
        base: "ANTHROPIC_BASE_URL",
        url: "https://api.anthropic.com",
        header: "x-api-key: ",
    },
    openai("codex"),
    openai("opencode"),
    Account {
        family: "gemini",
        key: "GEMINI_API_KEY",
        base: "GEMINI_BASE_URL",
        url: "https://generativelanguage.googleapis.com",
        header: "x-goog-api-key: ",
    },
];

/// The outcomes of one harness.
#[derive(Debug, Clone, Serialize)]
pub struct Smoke {
    /// `<harness>@<version>`, or the harness alone if nothing was run.
    pub harness: String,
    /// One for each scenario.
    pub outcomes: Vec<Outcome>,
}

/// What is to be run, and where.
pub struct Live<'l> {
    /// Where harnesses are installed: `DIR/<harness>/<version>/node_modules`.
    pub installed: &'l Path,
    /// The directory of the scenarios.
    pub scenarios: &'l Path,
    /// The tree of live recordings.
    pub out: &'l Path,
    /// How each harness is kept apart.
    pub isolation: &'l Isolation,
    /// True if it may also run where the harness could read the key from the memory of the recorder.
    pub open: bool,
    /// The settings of the caller.
    pub settings: Settings,
}

impl Live<'_> {
    /// Runs both scenarios with this harness and version, or with the newest installed version of each harness that the settings name.
    /// `variable` is the caller's environment.
    ///
    /// # Errors
    /// If there is no such harness, or no such scenario.
    pub fn run(
        &self,
        only: Option<(&str, &str)>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Vec<Smoke>, RecorderError> {
        let named = self.settings.only.as_slice();
        let is_meant = |family: &str| match only {
            Some((other, _)) => other == family,
            None => named.is_empty() || named.iter().any(|name| name == family),
        };
        let version = only
            .map(|(family, version)| checked(family, version))
            .transpose()?;
        let harnesses = HARNESSES.iter().filter(|one| is_meant(one.family()));
        harnesses
            .map(|harness| self.smoke(*harness, version.as_ref(), &variable))
            .collect()
    }

    fn smoke(
        &self,
        harness: &'static dyn Harness,
        version: Option<&Version>,
        variable: &impl Fn(&str) -> Option<String>,
    ) -> Result<Smoke, RecorderError> {
        let family = harness.family();
        let ready = self.provider(family, variable)?.and_then(|provider| {
            let version = version.cloned().or_else(|| self.newest(harness));
            let missing = || {
                let at = self.installed.display();
                format!(
                    "{family} is not installed below {at}; `scripts/install-harness` installs it"
                )
            };
            Ok((provider, version.ok_or_else(missing)?))
        });
        let (provider, version) = match ready {
            Ok(ready) => ready,
            Err(why) => {
                return Ok(Smoke {
                    harness: family.to_owned(),
                    outcomes: CHECKS
                        .map(|(check, ..)| Outcome::of(check, Verdict::Skipped, why.clone()))
                        .to_vec(),
                });
            }
        };
        // What is skipped needs no scenarios.
        let all = Scenario::read_all(self.scenarios)?;
        let mut outcomes = Vec::new();
        for (check, id, file) in CHECKS {
            let model = variable(&model_variable(family)).filter(|model| !model.is_empty());
            let scenario = with_model(self.scenario(&all, id)?, family, model);
            let job = Job {
                harness,
                version: &version,
                installed: &self.installed.join(family).join(version.to_string()),
                scenario: &scenario,
                scenarios: self.scenarios,
                out: self.out,
                isolation: self.isolation,
                provider: Some(&provider),
                named: None,
            };
            outcomes.push(outcome(check, &job, file));
        }
        Ok(Smoke {
            harness: format!("{family}@{version}"),
            outcomes,
        })
    }

    /// The provider of a harness, or (the inner `Err`) the reason why the harness is skipped.
    fn provider(
        &self,
        family: &str,
        variable: &impl Fn(&str) -> Option<String>,
    ) -> Result<Result<Provider, String>, RecorderError> {
        let account = ACCOUNTS.iter().find(|account| account.family == family);
        let Some(account) = account else {
            return Ok(Err("no provider is known for it".to_owned()));
        };
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let key = set(account.key);
        let mut missing = Vec::new();
        if !self.settings.live {
            missing.push("RUN_LIVE_TESTS is not 1".to_owned());
        }
        if key.is_none() {
            missing.push(format!("{} is not set", account.key));
        }
        if missing.is_empty() && !self.open && *self.isolation == Isolation::None {
            let why = isolation::refusal().unwrap_or_default();
            missing.push(format!(
                "no private mounts here ({why}); with --open the harness can read the key"
            ));
        }
        let Some(key) = key.filter(|_| missing.is_empty()) else {
            return Ok(Err(missing.join("; ")));
        };
        let url = set(account.base).unwrap_or_else(|| account.url.to_owned());
        let provider = Provider::new(&url, account.header, &key, self.settings.seconds);
        provider.map(Ok).map_err(|error| {
            let what = format!("{}, {}: {}", account.base, account.key, error.what);
            RecorderError::new(error.fault, what)
        })
    }

    fn newest(&self, harness: &dyn Harness) -> Option<Version> {
        let directory = self.installed.join(harness.family());
        let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
        entries
            .filter_map(|entry| entry.file_name().to_string_lossy().parse::<Version>().ok())
            .filter(|version| {
                let bin = directory
                    .join(version.to_string())
                    .join("node_modules/.bin");
                bin.join(harness.program()).exists()
            })
            .max()
    }

    /// A scenario with the bound of the settings.
    fn scenario(
        &self,
        all: &BTreeMap<String, Scenario>,
        id: &str,
    ) -> Result<Scenario, RecorderError> {
        let unknown = || format!("no scenario is called `{id}`");
        let found = all.get(id).cloned();
        let mut scenario =
            found.ok_or_else(|| RecorderError::new(Fault::UnknownScenario, unknown()))?;
        for run in &mut scenario.runs {
            run.timeout = self.settings.seconds;
        }
        Ok(scenario)
    }
}

/// The variable that names the model of a harness: `CLAUDE_CODE_TEST_MODEL`.
fn model_variable(family: &str) -> String {
    family.to_uppercase().replace('-', "_") + "_TEST_MODEL"
}

/// A scenario with a model that a provider has: the asked one, else the harness's own.
fn with_model(mut scenario: Scenario, family: &str, asked: Option<String>) -> Scenario {
    let mut model = asked;
    if family == "opencode" {
        let name = model.unwrap_or_else(|| OPENCODE_MODEL.to_owned());
        let listed = json!({"id": name, "name": name, "tool_call": true});
        let models = json!({"provider": {"openai": {"models": {&name: listed}}}});
        scenario.settings.insert(family.to_owned(), models);
        model = Some(format!("openai/{name}"));
    }
    if let Some(model) = model {
        scenario.model.insert(family.to_owned(), model);
    }
    scenario
}

/// The version of a harness that there is.
fn checked(family: &str, version: &str) -> Result<Version, RecorderError> {
    harness::named(family)?;
    version
        .parse()
        .map_err(|error| RecorderError::new(Fault::UnknownHarness, format!("{version}: {error}")))
}

/// Records a scenario, and judges it. A recording with a key is not kept.
fn outcome(check: &'static str, job: &Job<'_>, file: Option<&str>) -> Outcome {
    const START: &str = "ADAPTER_MISCONFIGURED/start";
    const PROVIDER: &str = "ADAPTER_MISCONFIGURED/provider";
    const LIVE: &str = "ADAPTER_PROTOCOL_VIOLATION/live";
    let recorded = match job.record() {
        Ok(recorded) => recorded,
        Err(error) if error.fault == Fault::Violation => {
            return Outcome::failed(check, LIVE, error.what);
        }
        Err(error) => return Outcome::failed(check, START, error.what),
    };
    let what = tapes(&recorded.directory.join("session")).and_then(|tapes| {
        without_keys(job.provider, &recorded.directory, &tapes)?;
        judge(&recorded, &job.scenario.runs[0].prompt, &tapes, file)
    });
    let refused = recorded.relayed.and_then(|relayed| relayed.refused);
    match (what, refused) {
        (Ok(what), _) => Outcome::of(check, Verdict::Passed, what),
        (Err(what), None) => Outcome::failed(check, LIVE, what),
        (Err(what), Some(refused)) => {
            let what = format!("the provider refused: {refused}; {what}");
            Outcome::failed(check, PROVIDER, what)
        }
    }
}

/// Deletes a recording whose tape has a key: its log may be compressed, so a search in its files is not enough.
fn without_keys(
    provider: Option<&Provider>,
    directory: &Path,
    tapes: &[String],
) -> Result<(), String> {
    let key_in = |tape: &String| provider?.key_in(tape.as_bytes());
    let Some(which) = tapes.iter().find_map(key_in) else {
        return Ok(());
    };
    let kept = match fs::remove_dir_all(directory) {
        Ok(()) => "nothing was kept".to_owned(),
        Err(error) => format!("delete {}: {error}", directory.display()),
    };
    Err(format!("{which} is on a tape; {kept}"))
}

/// Converts every session, checks the tape, and audits it.
fn tapes(directory: &Path) -> Result<Vec<String>, String> {
    let options = SessionOptions::default();
    let mut finder = SessionFinder::new(&options);
    finder.add(directory);
    let mut tapes = Vec::new();
    for location in finder.finish().locations {
        let location = location.map_err(|error| error.to_string())?;
        tapes.extend(tape(&location, &options)?);
    }
    Ok(tapes)
}

/// The tape of one session; `None` if the file is not a log of a harness.
fn tape(location: &SessionLocation, options: &SessionOptions) -> Result<Option<String>, String> {
    let at = |what: &dyn std::fmt::Display| format!("{}: {what}", location.path().display());
    let log = Kept::default();
    let session = match location.open_with_copy(log.clone(), options) {
        Err(error) if error.code == ErrorCode::UnknownHarness => return Ok(None),
        opened => opened.map_err(|error| at(&error))?,
    };
    let descriptor = session.registration().descriptor();
    let mut tape = Vec::new();
    session
        .convert(&mut JsonLines::new(&mut tape))
        .map_err(|error| at(&error))?;
    let mut violations = Vec::new();
    check_stream(tape.as_slice(), &mut |one| violations.push(one.to_string()))
        .map_err(|error| at(&error))?;
    if let Some(first) = violations.first() {
        return Err(at(first));
    }
    let tape = String::from_utf8(tape).map_err(|error| at(&error))?;
    let report = audit(log.taken().as_slice(), &tape, &descriptor).map_err(|error| at(&error))?;
    if !report.holds() {
        return Err(at(&"the audit found something that is not on the tape"));
    }
    Ok(Some(tape))
}

/// What was converted, as it was read.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Kept {
    fn taken(self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What is wrong with a recording, or what it shows.
fn judge(
    recorded: &Recorded,
    prompt: &str,
    tapes: &[String],
    file: Option<&str>,
) -> Result<String, String> {
    for run in &recorded.done.runs {
        match (run.end, &run.skipped) {
            (Some(End::Exit(0)), _) => {}
            (Some(end), _) => return Err(format!("a run ended with {end:?}")),
            (None, why) => return Err(format!("a run was skipped: {why:?}")),
        }
    }
    let relayed = recorded.relayed.clone().unwrap_or_default();
    if relayed.streamed == 0 {
        return Err("no answer was streamed".to_owned());
    }
    let events: Vec<Vec<Value>> = tapes
        .iter()
        .map(|tape| {
            tape.lines()
                .filter_map(|line| serde_json::from_str(line).ok())
                .collect()
        })
        .collect();
    let has = |kind: &str, holds: &dyn Fn(&Value) -> bool| {
        let mut all = events.iter().flatten();
        all.any(|event| event["k"] == kind && holds(event))
    };
    let text = |event: &Value| event["text"].as_str().unwrap_or_default().to_owned();
    if !has("msg.in", &|event| text(event).contains(prompt)) {
        return Err("the prompt is on no tape".to_owned());
    }
    let is_answer =
        |event: &Value| event["channel"] != "reasoning" && !text(event).trim().is_empty();
    if !has("msg.out", &is_answer) {
        return Err("no answer is on a tape".to_owned());
    }
    if let Some(file) = file {
        if !recorded
            .done
            .truth
            .edits
            .iter()
            .any(|edit| edit.file == file)
        {
            return Err(format!("{file} was not written"));
        }
        if !events.iter().any(|tape| has_call(tape, file)) {
            return Err(format!("no tape has a call for {file} with a result"));
        }
    }
    Ok(format!(
        "{} requests, {} streamed answers, {} tapes with nothing left over",
        relayed.requests,
        relayed.streamed,
        tapes.len()
    ))
}

/// True if a call names the file, and has a result that is no failure.
fn has_call(tape: &[Value], file: &str) -> bool {
    let names = |call: &&Value| {
        call["k"] == "tool.call"
            && tape.iter().any(|result| {
                result["k"] == "tool.result"
                    && result["parent"] == call["seq"]
                    && !matches!(result["status"].as_str(), Some("error" | "denied"))
            })
    };
    let calls = tape.iter().filter(names);
    calls
        .into_iter()
        .any(|call| call["args"].to_string().contains(file))
}

/// The first outcome that failed.
pub fn first_failure(all: &[Smoke]) -> Option<&Outcome> {
    let mut outcomes = all.iter().flat_map(|smoke| &smoke.outcomes);
    outcomes.find(|outcome| outcome.verdict == Verdict::Failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inside::{Done, Ran};
    use crate::server::Relayed;
    use crate::truth::{Edit, Truth};

    const PROMPT: &str = r#"{"seq":1,"k":"msg.in","text":"please write"}"#;
    const ANSWER: &str = r#"{"seq":4,"k":"msg.out","text":"done","channel":"final"}"#;
    const CALL: &str = r#"{"seq":2,"k":"tool.call","args":{"path":"/p/live.txt"}}"#;
    const RESULT: &str = r#"{"seq":3,"k":"tool.result","parent":2,"status":"ok"}"#;

    fn recorded(end: End, streamed: u64, written: &str) -> Recorded {
        let edit = json!({"call_ids": [], "tools": [], "file": written});
        let edit: Edit = serde_json::from_value(edit).unwrap();
        let run = Ran {
            end: Some(end),
            ..Ran::default()
        };
        Recorded {
            directory: "/nowhere".into(),
            done: Done {
                runs: vec![run],
                truth: Truth {
                    edits: vec![edit],
                    ..Truth::default()
                },
                left_running: Vec::new(),
                requests: 0,
            },
            receipt: Value::Null,
            relayed: Some(Relayed {
                requests: 2,
                streamed,
                refused: None,
            }),
        }
    }

    fn judged(recorded: &Recorded, lines: &[&str]) -> Result<String, String> {
        let file = Some("live.txt");
        judge(recorded, "please write", &[lines.join("\n")], file)
    }

    #[test]
    fn each_thing_that_is_missing_fails() {
        let whole = [PROMPT, CALL, RESULT, ANSWER];
        let good = recorded(End::Exit(0), 2, "live.txt");
        assert!(judged(&good, &whole).is_ok());
        for (bad, what) in [
            (recorded(End::Exit(1), 2, "live.txt"), "Exit(1)"),
            (recorded(End::Timeout, 2, "live.txt"), "Timeout"),
            (recorded(End::Exit(0), 0, "live.txt"), "streamed"),
            (recorded(End::Exit(0), 2, "other.txt"), "was not written"),
        ] {
            assert!(judged(&bad, &whole).unwrap_err().contains(what), "{what}");
        }
        let thought = ANSWER.replace("final", "reasoning");
        let failed = RESULT.replace("ok", "error");
        let of_other = RESULT.replace("\"parent\":2", "\"parent\":1");
        for (lines, what) in [
            ([CALL, RESULT, ANSWER, ""], "the prompt"),
            ([PROMPT, CALL, RESULT, &thought], "no answer"),
            ([PROMPT, RESULT, ANSWER, ""], "no tape has a call"),
            ([PROMPT, CALL, ANSWER, ""], "no tape has a call"),
            ([PROMPT, CALL, &failed, ANSWER], "no tape has a call"),
            ([PROMPT, CALL, &of_other, ANSWER], "no tape has a call"),
        ] {
            let why = judged(&good, &lines).unwrap_err();
            assert!(why.contains(what), "{why} {what}");
        }
    }

    #[test]
    fn a_model_that_is_asked_for_is_the_model_of_the_run() {
        let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
        let scenario = Scenario::read_all(&scenarios)
            .unwrap()
            .remove("a_qa")
            .unwrap();
        for (family, variable, models) in [
            ("claude-code", "CLAUDE_CODE_TEST_MODEL", [None, Some("m")]),
            (
                "opencode",
                "OPENCODE_TEST_MODEL",
                [Some("openai/gpt-5.5"), Some("openai/m")],
            ),
        ] {
            assert_eq!(model_variable(family), variable);
            let chosen = [None, Some("m".to_owned())].map(|asked| {
                let scenario = with_model(scenario.clone(), family, asked);
                scenario.model.get(family).cloned()
            });
            assert_eq!(chosen, models.map(|model| model.map(str::to_owned)));
        }
    }

    #[test]
    fn recording_whose_tape_has_a_key_is_deleted() {
        let provider = Provider::new("https://a.example", "x: ", "real-key-of-a-test", 7).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let check = |tape: &str| {
            let tapes = ["a".to_owned(), tape.to_owned()];
            without_keys(Some(&provider), directory.path(), &tapes)
        };
        assert!(check("no key").is_ok() && directory.path().exists());
        let why = check("a real-key-of-a-test b").unwrap_err();
        assert!(why.starts_with("the real key is on a tape"), "{why}");
        assert!(!directory.path().exists());
    }

    #[test]
    fn log_that_does_not_convert_or_leaves_something_over_fails() {
        let fixture = "../fixtures/claude-code/2.1.329/a_qa/session";
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join(fixture);
        let tapes_of = |change: &dyn Fn(String) -> String| {
            let directory = tempfile::tempdir().unwrap();
            for path in engram_conformance::files(&fixture) {
                let to = directory.path().join(path.strip_prefix(&fixture).unwrap());
                let text = change(fs::read_to_string(&path).unwrap());
                crate::sandbox::write(&to, text.as_bytes()).unwrap();
            }
            tapes(directory.path())
        };
        assert!(!tapes_of(&|text| text).unwrap().is_empty());
        let renamed = |text: String| text.replace("\"gitBranch\"", "\"gitBough\"");
        let why = tapes_of(&renamed).unwrap_err();
        assert!(why.contains("not on the tape"), "{why}");
    }
}
