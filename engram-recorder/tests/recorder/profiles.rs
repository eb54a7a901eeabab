//! The record profiles hold what the recorder uses for the versions that they are for.

use std::collections::BTreeMap;

use engram_profiles::profile::{Expected, InputMode, Tier};
use engram_profiles::registry;
use engram_profiles::template::Values;
use engram_recorder::harness::{self, FAKE_KEY, HARNESSES, Setting};
use engram_recorder::matrix::Matrix;
use engram_recorder::scenario::Scenario;
use serde_json::json;

use super::data::repository;

/// A version of each harness, and what it prints when it is asked for it.
const VERSIONS: &[(&str, &str, &str)] = &[
    ("claude-code", "2.1.330", "2.1.330 (Claude Code)"),
    ("codex", "0.169.0", "codex-cli 0.169.0"),
    ("copilot", "1.0.102", "GitHub Copilot CLI 1.0.102."),
    ("gemini", "0.61.0", "0.61.0"),
    ("kilo", "7.7.7", "7.7.7"),
    ("opencode", "1.18.34", "1.18.34"),
    ("openclaw", "2026.9.6", "OpenClaw 2026.9.6 (eb377ac)"),
    ("pi", "1.6.0", "1.6.0"),
    ("qwen", "0.24.4", "0.24.4"),
];
/// The flags that these versions have.
const HELP: &str = "--output-format --verbose --dangerously-skip-permissions --approval-mode stream-json --skip-trust";
/// The flags of Qwen Code, which has not all those of its origin.
const QWEN_HELP: &str = "--output-format --approval-mode stream-json";
const HOME: &str = "/home/dev";
const PROJECT: &str = "/home/dev/proj";

/// A scenario that asks for nothing special. Claude Code gets no model: it has one by itself.
fn scenario() -> Scenario {
    let with_model = VERSIONS
        .iter()
        .filter(|(family, ..)| *family != "claude-code");
    let models: BTreeMap<&str, &str> = with_model.map(|(family, ..)| (*family, "m")).collect();
    let scenario = json!({
        "id": "plain", "about": "x", "shows": ["text_response"], "model": models,
        "runs": [{"prompt": "do it [[main]]"}], "threads": {"main": [[{"say": "done"}]]},
    });
    serde_json::from_value(scenario).unwrap()
}

#[test]
fn each_harness_has_a_profile_for_a_version() {
    assert_eq!(VERSIONS.len(), HARNESSES.len());
    for (family, version, printed) in VERSIONS {
        assert_eq!(
            harness::profile(family).unwrap().profile.probed(printed),
            Some((*version, Expected::Yes)),
            "{family}"
        );
    }
    assert!(harness::profile("nobody").is_err());
}

/// The newest version that was recorded is one that both profiles of its harness are for.
#[test]
fn profiles_reach_the_newest_version_of_the_matrix() {
    for (family, _, _) in VERSIONS {
        let path = repository().join(format!("matrix/{family}.tsv"));
        let matrix = Matrix::read(&path).unwrap();
        let recorded = matrix.0.iter().filter(|(_, row)| !row.shape.is_empty());
        let newest = recorded.map(|(version, _)| version).max().unwrap();
        let newest = newest.to_string();
        let own =
            registry::all().filter(|shipped| shipped.profile.harness.adapter_id() == Some(family));
        let mut count = 0;
        for shipped in own {
            let expected = shipped.profile.version_probe.expects(&newest);
            assert_eq!(
                expected,
                Expected::Yes,
                "{} {newest}",
                shipped.profile.profile_id
            );
            count += 1;
        }
        assert_eq!(count, 2, "{family}");
    }
}

#[test]
fn arguments_and_files_of_the_profile_are_those_of_the_recorder() {
    let scenario = scenario();
    for (family, number, _) in VERSIONS {
        let (harness, profile, version) = (
            harness::named(family).unwrap(),
            &harness::profile(family).unwrap().profile,
            number.parse().unwrap(),
        );
        let exe = ["program".to_owned()];
        let setting = Setting {
            version: &version,
            help: if *family == "qwen" { QWEN_HELP } else { HELP },
            home: HOME,
            project: PROJECT,
            port: 1234,
            scenario: &scenario,
            exe: &exe,
        };
        let run = &scenario.runs[0];
        let session = harness::new_session(&run.prompt);
        let values = Values {
            prompt: Some(&run.prompt),
            model: Some("m"),
            session: Some(&session),
            home: HOME,
            cwd: PROJECT,
            base_url: "http://127.0.0.1:1234",
            api_key: FAKE_KEY,
            version: number,
            ..Values::default()
        };
        let invocation = harness.invocation(&setting, run, None).unwrap();
        assert_eq!(
            invocation.argv[1..],
            profile.args(&values, Tier::Full).unwrap(),
            "{family}"
        );
        let stdin = if profile.input_mode == InputMode::Stdin {
            run.prompt.as_bytes()
        } else {
            b""
        };
        assert_eq!(invocation.stdin, stdin, "{family}");
        let mut files = harness.files(&setting);
        files.sort();
        let mut expected = profile.files(&values);
        expected.sort();
        assert_eq!(files, expected, "{family}");
    }
}
