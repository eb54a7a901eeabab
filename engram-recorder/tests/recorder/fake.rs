//! A recording of the fake harness, `tests/fake-claude.py`, judged by the kit.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use engram_profiles::{ProfileHash, canonical, registry};
use engram_recorder::error::{Fault, RecorderError};
use engram_recorder::harness;
use engram_recorder::isolation::Isolation;
use engram_recorder::judge;
use engram_recorder::process::End;
use engram_recorder::record::{Job, Recorded};
use engram_recorder::scenario::Scenario;
use engram_recorder::shape::Shape;
use semver::Version;

use super::data::{repository, scenarios};

const VERSION: Version = Version::new(2, 1, 331);

/// Records a scenario with the fake harness; `None` where it cannot run.
fn record(out: &Path, id: &str) -> Option<Recorded> {
    record_one(out, &scenarios()[id])
}

fn record_one(out: &Path, scenario: &Scenario) -> Option<Recorded> {
    try_one(out, scenario).map(Result::unwrap)
}

fn try_one(out: &Path, scenario: &Scenario) -> Option<Result<Recorded, RecorderError>> {
    try_under(out, scenario, None)
}

/// Records a scenario under a profile of the caller's own.
fn try_under(
    out: &Path,
    scenario: &Scenario,
    named: Option<&[u8]>,
) -> Option<Result<Recorded, RecorderError>> {
    for program in ["python3", "git"] {
        if Command::new(program).arg("--version").output().is_err() {
            println!("skipped: there is no {program}");
            return None;
        }
    }
    let installed = out.join("installed");
    let bin = installed.join("node_modules/.bin");
    fs::create_dir_all(&bin).unwrap();
    if !bin.join("claude").exists() {
        symlink(
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake-claude.py"),
            bin.join("claude"),
        )
        .unwrap();
    }
    let directory = repository().join("scenarios");
    let job = Job {
        harness: harness::named("claude-code").unwrap(),
        version: &VERSION,
        installed: &installed,
        scenario,
        scenarios: &directory,
        out: &out.join("recordings"),
        isolation: &Isolation::None,
        provider: None,
        named,
    };
    Some(job.record())
}

fn log(recorded: &Recorded) -> std::path::PathBuf {
    engram_conformance::files(&recorded.directory.join("session"))
        .into_iter()
        .next()
        .unwrap()
}

#[test]
fn recording_has_the_log_and_the_truth_and_holds() {
    let out = tempfile::tempdir().unwrap();
    let Some(recorded) = record(out.path(), "b_edit") else {
        return;
    };
    let truth = &recorded.done.truth;
    assert_eq!(recorded.done.runs[0].end, Some(End::Exit(0)));
    assert!(
        truth.calls.len() > 5 && truth.results.len() >= truth.calls.len() - 1,
        "{} {}",
        truth.calls.len(),
        truth.results.len()
    );
    let created = truth
        .edits
        .iter()
        .find(|edit| edit.file == "new/dir/fresh.txt")
        .unwrap();
    assert_eq!(
        (
            created.before_sha256.as_deref(),
            created.after.as_deref(),
            created.tools.as_slice()
        ),
        (
            None,
            Some("fresh line 1\nfresh line 2\n"),
            &["Write".to_owned()][..]
        )
    );
    assert!(
        truth
            .skipped_steps
            .iter()
            .any(|step| step.ends_with(" edit")),
        "the fake has no tool for edits"
    );
    // The same paths as in every recording.
    let text = fs::read_to_string(log(&recorded)).unwrap();
    assert!(
        text.contains("\"/home/dev/proj\"") && !text.contains("engram-record-"),
        "{}",
        &text[..400]
    );
    assert!(log(&recorded).to_string_lossy().contains("-home-dev-proj"));
    // What it left outside of its group was ended.
    assert!(
        recorded.done.left_running.contains(&"sleep".to_owned()),
        "{:?}",
        recorded.done.left_running
    );
    assert_eq!(recorded.receipt["egress"], "unknown");
    let judged = judge::version(&out.path().join("recordings"), "claude-code", "2.1.331").unwrap();
    assert!(
        judged.held > 10 && judged.shows.contains_key("file_create"),
        "{judged:?}"
    );
    assert!(
        !judged.failing.contains_key("session.converts"),
        "{judged:?}"
    );
}

/// A scenario of the fake harness with these runs.
fn led(runs: serde_json::Value) -> Scenario {
    serde_json::from_value(serde_json::json!({
        "id": "led", "about": "a client", "shows": ["client"], "runs": runs,
        "threads": {"one": [[{"shell": {"command": "echo one > one.txt", "about": "write"}}], [{"say": "done"}]], "two": [[{"say": "done too"}]]},
    }))
    .unwrap()
}

#[test]
fn client_calls_answers_and_is_refused() {
    let out = tempfile::tempdir().unwrap();
    let prompt = |says: &str| serde_json::json!({"method": "prompt", "params": {"text": "{says}"}, "says": says, "keep": {"session": "/session/id"}, "until": {"method": "done", "params": {"session": "{session}"}}});
    let runs = serde_json::json!([
        {"command": ["rpc"], "answers": {"permission": [{"allowed": true}, {"allowed": false}]}, "client": [
            {"call": {"method": "nothing"}}, {"call": prompt("Do it. [[one]]")}, {"call": prompt("Not allowed. [[two]]")}]},
        {"command": ["export", "{session}"], "into": "~/out/log.jsonl"},
    ]);
    let Some(recorded) = record_one(out.path(), &led(runs)) else {
        return;
    };
    let (truth, runs) = (&recorded.done.truth, &recorded.done.runs);
    assert_eq!(truth.prompts, ["Do it. [[one]]", "Not allowed. [[two]]"]);
    assert_eq!(truth.calls.len(), 1, "{:?}", truth.calls);
    assert_eq!(runs[0].refused, ["nothing: unknown"]);
    assert_eq!(
        (runs[0].end, runs[1].end),
        (Some(End::Exit(0)), Some(End::Exit(0)))
    );
    let session = runs[0].session.as_deref().unwrap();
    assert!(log(&recorded).to_string_lossy().contains(session));
    assert_eq!(runs[1].argv.last().map(String::as_str), Some(session));
    // What went to a file, and what a client heard, is not in the recording.
    assert!(!recorded.directory.join("stdout").exists());
}

#[test]
fn client_of_a_server_calls_over_http_and_ends_it() {
    let out = tempfile::tempdir().unwrap();
    let runs = serde_json::json!([{"command": ["serve", "{port}"], "client": [
        {"call": {"method": "POST /prompt", "params": {"text": "{says}"}, "says": "Do it. [[one]]", "keep": {"session": "/session"}, "again": true}},
        {"call": {"method": "POST /prompt", "params": {"text": "{says}"}, "says": "And this. [[two]]", "later": true}},
        {"settle": true}, {"call": {"method": "POST /{session}"}}]}]);
    let Some(recorded) = record_one(out.path(), &led(runs)) else {
        return;
    };
    let run = &recorded.done.runs[0];
    assert_eq!(run.end, Some(End::Killed));
    let session = run.session.as_deref().unwrap();
    assert!(
        run.refused.len() == 1 && run.refused[0].contains(&format!("POST /{session}: 404")),
        "{:?}",
        run.refused
    );
    let text = fs::read_to_string(log(&recorded)).unwrap();
    assert!(text.contains("Do it.") && text.contains("done too"));
}

#[test]
fn work_that_a_command_leaves_behind_is_waited_for_and_named() {
    let out = tempfile::tempdir().unwrap();
    let scenario: Scenario = serde_json::from_value(serde_json::json!({
        "id": "behind", "about": "works behind", "shows": ["background"],
        "runs": [
            {"prompt": "go [[main]]", "command": ["--bg", "{prompt}"], "until": {"thread": "main", "answers": 2, "wait_ms": 500}},
            {"command": ["stop", "{short}", "{session}"]},
        ],
        "threads": {"main": [[{"shell": {"command": "echo behind", "about": "print"}}], [{"say": "done"}]]},
    }))
    .unwrap();
    let Some(recorded) = record_one(out.path(), &scenario) else {
        return;
    };
    let (done, log) = (&recorded.done, log(&recorded));
    let session = log.file_stem().unwrap().to_string_lossy().into_owned();
    assert_eq!(done.runs[0].session.as_ref(), Some(&session));
    assert_eq!(done.runs[1].argv[1..], ["stop", &session[..8], &session]);
    assert_eq!(done.truth.prompts, ["go [[main]]"]);
    assert!(fs::read_to_string(log).unwrap().contains("\"done\""));
}

#[test]
fn harness_sees_nothing_of_the_environment_of_the_caller() {
    let out = tempfile::tempdir().unwrap();
    let scenario: Scenario = serde_json::from_value(serde_json::json!({
        "id": "env", "about": "prints the environment", "shows": ["tool_invocation"], "runs": [{"prompt": "go [[main]]"}],
        "threads": {"main": [[{"shell": {"command": "env", "about": "print"}}], [{"say": "done"}]]},
    }))
    .unwrap();
    let Some(recorded) = record_one(out.path(), &scenario) else {
        return;
    };
    let printed = &recorded.done.truth.results[0].text;
    assert!(
        printed.contains("ANTHROPIC_API_KEY=sk-ant-api03-fake"),
        "{printed}"
    );
    assert!(
        std::env::var_os("CARGO_MANIFEST_DIR").is_some() && !printed.contains("CARGO_"),
        "{printed}"
    );
}

#[test]
fn sessions_behind_a_link_are_not_recorded() {
    let out = tempfile::tempdir().unwrap();
    let outside = out.path().join("outside");
    let command = format!(
        "s=$(ls \"$HOME/.claude/projects\"); mkdir -p \"{0}/$s\"; echo secret > \"{0}/$s/private.jsonl\"; \
         mv \"$HOME/.claude/projects\" \"$HOME/moved\"; ln -s \"{0}\" \"$HOME/.claude/projects\"",
        outside.display()
    );
    let scenario: Scenario = serde_json::from_value(serde_json::json!({
        "id": "link", "about": "a link in place of the sessions", "shows": ["tool_invocation"], "runs": [{"prompt": "go [[main]]"}],
        "threads": {"main": [[{"shell": {"command": command, "about": "link"}}], [{"say": "done"}]]},
    }))
    .unwrap();
    let Some(recorded) = try_one(out.path(), &scenario) else {
        return;
    };
    let error = recorded.unwrap_err();
    assert!(error.what.contains("no log was left"), "{error}");
    assert_eq!(
        engram_conformance::files(&outside).len(),
        2,
        "the secret, and the log that went on"
    );
    assert!(!out.path().join("recordings/claude-code").exists());
}

#[test]
fn piped_words_are_read_and_are_the_prompt() {
    let out = tempfile::tempdir().unwrap();
    let runs = serde_json::json!([
        {"command": ["--verbose"], "stdin": "Piped. [[one]]\n"},
        {"command": ["{home}/none"], "package": "@scope/driver", "prompt": "Driven. [[two]]"},
    ]);
    let Some(recorded) = record_one(out.path(), &led(runs)) else {
        return;
    };
    let (truth, runs) = (&recorded.done.truth, &recorded.done.runs);
    assert_eq!(truth.prompts, ["Piped. [[one]]\n"]);
    assert_eq!(truth.calls.len(), 1);
    let why = runs[1].skipped.as_deref();
    assert_eq!(why, Some("@scope/driver is not installed"));
}

#[test]
fn renamed_member_breaks_the_judgement_and_is_new_in_the_shape() {
    let out = tempfile::tempdir().unwrap();
    let Some(recorded) = record(out.path(), "a_qa") else {
        return;
    };
    let tree = out.path().join("recordings");
    let before = Shape::of_version("claude-code", &tree.join("claude-code/2.1.331")).unwrap();
    assert!(
        !judge::version(&tree, "claude-code", "2.1.331")
            .unwrap()
            .failing
            .contains_key("session.converts")
    );
    let path = log(&recorded);
    let text = fs::read_to_string(&path)
        .unwrap()
        .replace("\"gitBranch\"", "\"gitBough\"");
    fs::write(&path, text).unwrap();
    let judged = judge::version(&tree, "claude-code", "2.1.331").unwrap();
    assert!(
        judged.failing["session.converts"][0]
            .1
            .contains("/gitBough"),
        "{judged:?}"
    );
    let after = Shape::of_version("claude-code", &tree.join("claude-code/2.1.331")).unwrap();
    assert!(
        after
            .beyond(&before)
            .iter()
            .all(|entry| entry.1 == "/gitBough")
            && after.hash() != before.hash()
    );
}

#[test]
fn version_without_a_row_is_judged_as_its_neighbour() {
    let out = tempfile::tempdir().unwrap();
    let Some(_) = record(out.path(), "a_qa") else {
        return;
    };
    let family = out.path().join("recordings/claude-code");
    fs::rename(family.join("2.1.331"), family.join("2.1.999")).unwrap();
    let log = engram_conformance::files(&family.join("2.1.999/a_qa/session"))
        .into_iter()
        .next()
        .unwrap();
    fs::write(
        &log,
        fs::read_to_string(&log)
            .unwrap()
            .replace("2.1.331", "2.1.999"),
    )
    .unwrap();
    let judged = judge::version(&out.path().join("recordings"), "claude-code", "2.1.999").unwrap();
    assert!(
        judged.as_version.is_some() && !judged.failing.contains_key("session.converts"),
        "{judged:?}"
    );
}

#[test]
fn recording_names_its_profile_and_its_shape() {
    let out = tempfile::tempdir().unwrap();
    let scenario = &scenarios()["a_qa"];
    let Some(recorded) = record_one(out.path(), scenario) else {
        return;
    };
    let shipped = harness::profile("claude-code").unwrap();
    let receipt = fs::read_to_string(recorded.directory.join("receipt.json")).unwrap();
    let receipt: serde_json::Value = serde_json::from_str(&receipt).unwrap();
    assert_eq!(receipt["profile"]["hash"], shipped.hash.as_str());
    assert_eq!(receipt["profile"]["is_for_this_version"], true);
    let shape = fs::read_to_string(recorded.directory.join("shape.json")).unwrap();
    let shape: serde_json::Value = serde_json::from_str(&shape).unwrap();
    let found = Shape::of_recording("claude-code", &recorded.directory);
    assert_eq!(shape["hash"], found.hash());
    assert_eq!(shape["facts"], serde_json::to_value(&found).unwrap());
}

#[test]
fn recording_under_a_profile_of_ones_own_has_its_command_line() {
    let out = tempfile::tempdir().unwrap();
    let scenario = &scenarios()["a_qa"];
    let mut own = harness::profile("claude-code").unwrap().profile.clone();
    own.profile_id = "mine".to_owned();
    own.args_template.push("--mine".to_owned());
    let bytes = canonical::to_vec(&own).unwrap();
    let Some(recorded) = try_under(out.path(), scenario, Some(&bytes)) else {
        return;
    };
    let recorded = recorded.unwrap();
    let hash = ProfileHash::of(&bytes);
    assert_eq!(recorded.receipt["profile"]["hash"], hash.as_str());
    let argv = &recorded.done.runs[0].argv;
    assert!(argv.contains(&"--mine".to_owned()), "{argv:?}");
    // A black box has no log of its own, and a profile of another harness starts another program.
    for id in ["claude-code-black-box", "codex-cli-record"] {
        let other = registry::all().find(|shipped| shipped.profile.profile_id == id);
        let other = other.unwrap().canonical.as_bytes();
        let error = try_under(out.path(), scenario, Some(other)).unwrap();
        assert_eq!(error.unwrap_err().fault, Fault::Misconfigured, "{id}");
    }
}

#[test]
fn harness_that_is_not_there_is_named_with_what_to_do() {
    let out = tempfile::tempdir().unwrap();
    let (all, directory) = (scenarios(), repository().join("scenarios"));
    let job = Job {
        harness: harness::named("codex").unwrap(),
        version: &VERSION,
        installed: &out.path().join("none"),
        scenario: &all["a_qa"],
        scenarios: &directory,
        out: out.path(),
        isolation: &Isolation::None,
        provider: None,
        named: None,
    };
    let error = job.record().unwrap_err();
    assert!(
        error.fault == Fault::HarnessNotFound && error.what.contains("install-harness"),
        "{error}"
    );
    assert_eq!(
        harness::named("nobody").err().map(|error| error.fault),
        Some(Fault::UnknownHarness)
    );
}
