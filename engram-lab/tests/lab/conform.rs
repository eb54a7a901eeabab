//! `engram-lab conform`: the kit as a person or a script meets it.

use super::*;

/// The fixture tree.
fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures")
}

/// One fixture of Claude Code as a tree of its own, with what `change` makes of the files.
fn small_tree(change: impl Fn(&str, Vec<u8>) -> Option<Vec<u8>>) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let name = "claude-code/2.1.329/a_qa";
    let from = fixtures().join(name);
    for path in files(&from) {
        let below = text(path.strip_prefix(&from).unwrap()).replace('\\', "/");
        if let Some(content) = change(&below, fs::read(&path).unwrap()) {
            let to = directory.path().join(name).join(&below);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::write(to, content).unwrap();
        }
    }
    directory
}

fn conform(tree: &Path, more: &[&str]) -> Output {
    run(&[
        &[
            "conform",
            "--adapter",
            "claude-code",
            "--recordings",
            text(tree),
        ],
        more,
    ]
    .concat())
}

#[test]
fn a_tree_without_failures_gives_a_matrix_and_0() {
    let tree = small_tree(|_, content| Some(content));
    let output = conform(
        tree.path(),
        &["--junit", text(&tree.path().join("report.xml"))],
    );
    let shown = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(
        (code(&output), stderr(&output)),
        (0, String::new()),
        "{shown}"
    );
    assert!(
        shown.contains("text.all") && shown.contains("skip: no recording of `subagent`"),
        "{shown}"
    );
    let xml = fs::read_to_string(tree.path().join("report.xml")).unwrap();
    assert!(
        xml.contains("<testsuite name=\"claude-code\"")
            && xml.contains("failures=\"0\"")
            && xml.contains("<skipped message="),
        "{xml}"
    );
}

#[test]
fn one_check_and_one_tier_can_be_asked_for() {
    let tree = small_tree(|_, content| Some(content));
    let of = |args: &[&str]| {
        let output = conform(tree.path(), &[&["--json"], args].concat());
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        report["adapters"][0]["outcomes"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(of(&["--check", "tape.seq"]), ["tape.seq"]);
    let tier = of(&["--tier", "1"]);
    assert!(tier.contains(&"text.all".to_owned()) && !tier.contains(&"tape.seq".to_owned()));
    assert_eq!(code(&conform(tree.path(), &["--check", "no.such"])), 2);
}

#[test]
fn a_failure_is_1_and_has_its_place() {
    let tree = small_tree(|name, content| {
        let asked = String::from_utf8_lossy(&content)
            .replace("\"prompts\": [", "\"prompts\": [\"assistant\", ");
        Some(if name == "truth.json" {
            asked.into_bytes()
        } else {
            content
        })
    });
    let output = conform(tree.path(), &[]);
    let shown = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(code(&output), 1, "{shown}");
    assert!(
        shown.contains("claude-code/2.1.329/a_qa: no msg.in of the prompt `assistant`"),
        "{shown}"
    );
}

#[test]
fn recordings_that_are_not_whole_are_refused_and_named() {
    let empty = tempfile::tempdir().unwrap();
    let no_truth = small_tree(|name, content| (name != "truth.json").then_some(content));
    let no_session = small_tree(|name, content| (!name.starts_with("session/")).then_some(content));
    let broken = small_tree(|name, content| {
        Some(if name == "truth.json" {
            b"{\"prompts\": [".to_vec()
        } else {
            content
        })
    });
    let unknown = small_tree(|_, content| Some(content));
    fs::write(
        unknown.path().join("scenarios.tsv"),
        "claude-code/2.1.329/a_qa\ttext_response no_such_scenario\n",
    )
    .unwrap();
    let stray = small_tree(|_, content| Some(content));
    fs::write(
        stray.path().join("scenarios.tsv"),
        "claude-code/9.9.9/a_qa\ttext_response\n",
    )
    .unwrap();
    let cases = [
        (&empty, "has no recordings"),
        (&no_truth, "a_qa has a session, but no truth.json"),
        (
            &no_session,
            "a_qa has a truth.json, but no file below session/",
        ),
        (&broken, "truth.json: EOF"),
        (&unknown, "line 1: unknown scenario no_such_scenario"),
        (
            &stray,
            "line 1: there is no recording claude-code/9.9.9/a_qa",
        ),
    ];
    for (tree, what) in cases {
        let output = conform(tree.path(), &["--error-format", "json"]);
        let error = json_errors(&output).remove(0);
        assert_eq!(
            (code(&output), error["code"].as_str()),
            (5, Some("bad_recordings")),
            "{error}"
        );
        assert!(
            error["found"].as_str().unwrap().contains(what),
            "{what}: {error}"
        );
        assert!(output.stdout.is_empty());
    }
    let other = small_tree(|_, content| Some(content));
    let output = run(&[
        "conform",
        "--adapter",
        "codex",
        "--recordings",
        text(other.path()),
    ]);
    assert_eq!(
        code(&output),
        5,
        "no recordings of the adapter that was asked for"
    );
}
