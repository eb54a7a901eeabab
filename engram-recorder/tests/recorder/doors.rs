//! How each harness is led: where its log is, which session that is, and how a run goes on with it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use engram_recorder::harness::{self, HARNESSES, Harness, Setting};
use engram_recorder::scenario::{Permissions, Resume, Run, Scenario};
use serde_json::json;

use super::data::repository;

/// A recording of a real harness, what its home has instead of the first part of a path in `session/`, and the session of the log.
const LOGS: &[(&str, &str, (&str, &str), &str)] = &[
    (
        "copilot",
        "1.0.40/deny",
        ("", ""),
        "8fb89180-953a-4f29-b11b-a97c47018be6",
    ),
    ("kilo", "7.7.9/main", ("kilo", ".local/share/kilo"), ""),
    ("openclaw", "2026.5.28/main", ("", ""), ""),
    ("openclaw", "2026.9.6/main", ("", ""), ""),
    (
        "pi",
        "0.73.1/main",
        ("", ""),
        "01a223fb-bb20-7226-ba33-cfd42a18daf6",
    ),
    (
        "qwen",
        "0.24.4/back",
        ("", ""),
        "55d4304d-a05e-4848-a5fc-5e551b3ee309",
    ),
];

fn files_of(directory: &Path) -> BTreeSet<PathBuf> {
    let files = engram_conformance::files(directory).into_iter();
    files
        .map(|path| path.strip_prefix(directory).unwrap().to_owned())
        .collect()
}

/// A log is found in a home that has other files too, and has the same names in a recording.
#[test]
fn log_of_a_real_harness_is_found_in_its_home() {
    for (family, recording, (from, to), session) in LOGS {
        let source = repository().join(format!("fixtures/{family}/{recording}/session"));
        let home = tempfile::tempdir().unwrap();
        let names = files_of(&source);
        assert!(!names.is_empty(), "{family}");
        for name in &names {
            let below = name.strip_prefix(from).unwrap();
            let copy = home.path().join(to).join(below);
            fs::create_dir_all(copy.parent().unwrap()).unwrap();
            fs::copy(source.join(name), copy).unwrap();
        }
        fs::write(home.path().join("notes.jsonl"), "{}\n").unwrap();
        let claw = home.path().join(".openclaw/agents/main/sessions");
        fs::create_dir_all(&claw).unwrap();
        fs::write(claw.join("a.trajectory.jsonl"), "{}\n").unwrap();
        let harness = harness::named(family).unwrap();
        let found = harness.log(home.path());
        let kept: BTreeSet<PathBuf> = found.iter().map(|(_, to)| to.clone()).collect();
        assert_eq!(kept, names, "{family}");
        assert!(found.iter().all(|(from, _)| from.is_file()), "{family}");
        if !session.is_empty() {
            let id = harness.session(home.path(), "");
            assert_eq!(id.as_deref(), Some(*session), "{family}");
        }
    }
}

/// A scenario that asks for nothing special.
fn scenario() -> Scenario {
    let scenario = json!({
        "id": "plain", "about": "x", "shows": ["text_response"], "runs": [{"prompt": "do it [[main]]"}], "threads": {"main": [[{"say": "done"}]]},
    });
    serde_json::from_value(scenario).unwrap()
}

/// The words behind the program; the reason if there are none.
fn words(harness: &dyn Harness, help: &str, run: &Run) -> Result<String, String> {
    let (scenario, exe) = (scenario(), ["program".to_owned()]);
    let setting = Setting {
        version: &"7.7.7".parse().unwrap(),
        help,
        home: "/home/dev",
        project: "/home/dev/proj",
        port: 1234,
        scenario: &scenario,
        exe: &exe,
    };
    let invocation = harness.invocation(&setting, run, Some("SESSION"))?;
    Ok(invocation.argv[1..].join(" "))
}

#[test]
fn run_goes_on_with_a_session_as_the_help_of_the_version_allows() {
    const FLAGS: &str = "--continue --resume --fork --fork-session";
    let line = |family: &str, help: &str, resume: Resume| {
        let run = Run {
            prompt: "more".to_owned(),
            resume: Some(resume),
            ..Run::default()
        };
        words(harness::named(family).unwrap(), help, &run)
    };
    for (family, first, fork) in [
        ("copilot", "--resume=SESSION", None),
        (
            "kilo",
            "--session SESSION",
            Some("--session SESSION --fork"),
        ),
        ("pi", "--session SESSION", Some("--fork SESSION")),
        ("openclaw", "--session-id SESSION", None),
        (
            "qwen",
            "--resume SESSION",
            Some("--resume SESSION --fork-session"),
        ),
    ] {
        let has = |resume, flags: &str| line(family, FLAGS, resume).unwrap().contains(flags);
        // OpenClaw goes on with a session by its id alone.
        let last = if family == "openclaw" {
            first
        } else {
            "--continue"
        };
        assert!(has(Resume::Last, last), "{family}");
        assert!(has(Resume::First, first), "{family}");
        assert_eq!(
            fork.map(|flags| has(Resume::Fork, flags)),
            line(family, FLAGS, Resume::Fork).ok().map(|_| true),
            "{family}"
        );
    }
    assert_eq!(line("pi", "", Resume::Fork), Err("no --fork".to_owned()));
    let qwen = line("qwen", "--continue --resume", Resume::Fork);
    assert_eq!(qwen, Err("cannot fork a session".to_owned()));
}

/// Only full permissions have a flag for it, and Pi, which never asks, refuses to be asked.
#[test]
fn harness_gets_the_permissions_of_the_run() {
    let line = |family: &str, permissions| {
        let run = Run {
            prompt: "more".to_owned(),
            permissions: Some(permissions),
            ..Run::default()
        };
        words(harness::named(family).unwrap(), "--approval-mode", &run)
    };
    for (family, flag) in [
        ("copilot", "--allow-all-tools"),
        ("qwen", "--approval-mode yolo"),
    ] {
        assert!(line(family, Permissions::Full).unwrap().contains(flag));
        assert!(!line(family, Permissions::Default).unwrap().contains(flag));
    }
    let why = line("pi", Permissions::Default);
    assert_eq!(why, Err("it never asks for permission".to_owned()));
    let why = line("openclaw", Permissions::Default);
    assert_eq!(
        why,
        Err("its permissions are those of its settings".to_owned())
    );
}

/// A fork shares tools and settings with its origin, and nothing else.
#[test]
fn fork_has_an_origin_among_the_harnesses() {
    let forks = HARNESSES.iter().filter(|one| one.origin() != one.family());
    let forks: Vec<(&str, &str)> = forks.map(|one| (one.family(), one.origin())).collect();
    assert_eq!(forks, [("kilo", "opencode"), ("qwen", "gemini")]);
    for (fork, origin) in forks {
        let [fork, origin] = [fork, origin].map(|family| harness::named(family).unwrap());
        assert_ne!(fork.package(), origin.package());
        assert_ne!(fork.program(), origin.program());
    }
}
