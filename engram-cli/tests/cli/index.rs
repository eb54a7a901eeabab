//! The commands that ask an index, over a recorded session.

use super::*;

/// A home with the tapes of a recorded session, and the project as the session left it.
pub struct Home {
    pub directory: TempDir,
}

/// A file of the recorded session, as it left it.
pub const FILE: &str = "src/a.py";
pub const TEXT: &str = "# NEW header\ndef one():\n    return 1\n\ndef two():\n    \"\"\"two\"\"\"\n    return 1 + 1\n\ndef three():\n    return 3  # NEW\n# NEW end\n";

impl Home {
    pub fn new() -> Home {
        let home = Home {
            directory: tempfile::tempdir().unwrap(),
        };
        let fixture =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/claude-code/2.1.329/b_edit");
        let out = home.run(&[
            "ingest",
            "--out",
            &home.path("tapes"),
            fixture.join("session").to_str().unwrap(),
            "--index",
        ]);
        assert_eq!(code(&out), 0, "{}", stderr(&out));
        home
    }

    pub fn path(&self, name: &str) -> String {
        self.directory
            .path()
            .join(name)
            .to_str()
            .unwrap()
            .to_owned()
    }

    /// The project, as the session left its file. The session ran in `/home/dev/proj`: the tapes now say that it ran here.
    pub fn project(&self) -> PathBuf {
        let project = self.directory.path().join("proj");
        fs::create_dir_all(project.join("src")).unwrap();
        fs::write(project.join(FILE), TEXT).unwrap();
        self.change_tapes("/home/dev/proj", project.to_str().unwrap());
        project
    }

    /// Changes the texts of the tapes, and takes them in.
    pub fn change_tapes(&self, from: &str, to: &str) {
        for path in tape_files(Path::new(&self.path("tapes"))) {
            let tape = fs::read_to_string(&path).unwrap();
            fs::write(path, tape.replace(from, to)).unwrap();
        }
        assert_eq!(code(&self.run(&["index", "add"])), 0);
    }

    pub fn run(&self, args: &[&str]) -> Output {
        let mut command = engram();
        command
            .env("ENGRAM_TAPES", self.path("tapes"))
            .env("ENGRAM_INDEX", self.path("index"));
        command
            .args(args)
            .current_dir(self.directory.path())
            .output()
            .unwrap()
    }

    /// The lines of an answer in JSON.
    pub fn json(&self, args: &[&str]) -> Vec<Value> {
        let out = self.run(args);
        assert_eq!(code(&out), 0, "{}", stderr(&out));
        String::from_utf8(out.stdout)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

pub fn text_of(out: &Output) -> String {
    String::from_utf8(out.stdout.clone()).unwrap()
}

#[test]
fn a_line_is_explained_with_its_prompt_and_words_are_quoted() {
    let home = Home::new();
    let answer = home.json(&[
        "explain",
        "--text",
        "# whole rewrite\nb = 1\n# and twenty letters more, so that it can be found\n",
        "--json",
    ]);
    assert_eq!(answer.last().unwrap()["k"], "end");
    // The whole text of a file that the session wrote: proven by its bytes, in any directory.
    let out = home.run(&[
        "explain",
        "--history",
        "--json",
        "--limit",
        "100",
        "/home/dev/proj/src/b.py",
    ]);
    let lines = text_of(&out);
    assert!(
        lines.contains("\"what\":\"overwrite\"") && lines.contains("\"what\":\"read\""),
        "{lines}"
    );
    let prompt: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(prompt["prompt"]["quoted"], true);
    assert_eq!(prompt["prompt"]["text"], "LAB please do many edits");
}

/// The recorded project cannot be put at `/home/dev/proj`, so the project is a clone of the same repository path.
#[test]
fn a_file_in_its_place_is_explained_line_by_line() {
    let home = Home::new();
    let project = home.project();
    let out = home.run(&["explain", "proj/src/a.py:6-7"]);
    let text = text_of(&out);
    assert!(
        text.starts_with("lines 6-7  state:")
            && text.contains("| LAB please do many edits")
            && text.contains("  | +    return 1 + 1")
            && text.contains("by Edit"),
        "{text}"
    );
    let marks = |blamed: &str| -> Vec<String> {
        let mark = |line: &str| {
            line.split_whitespace()
                .next()
                .unwrap_or_default()
                .to_owned()
        };
        // Below the lines is a legend.
        let lines = blamed.lines().filter(|line| line.contains(" | "));
        lines.map(mark).collect()
    };
    let blamed = text_of(&home.run(&["blame", "proj/src/a.py"]));
    let expected = "state older older older older state state older older state state";
    assert_eq!(marks(&blamed).join(" "), expected, "{blamed}");
    assert!(
        blamed.contains("claude-code 08a7d153 LAB please do many edits"),
        "{blamed}"
    );
    // A person writes on top: the lines that stayed keep their answers.
    fs::write(project.join(FILE), format!("# mine\n{TEXT}")).unwrap();
    let changed = text_of(&home.run(&["blame", "proj/src/a.py"]));
    assert_eq!(
        marks(&changed).join(" "),
        format!("- {}", expected.replace("state", "line")),
        "{changed}"
    );
    fs::write(project.join(FILE), TEXT).unwrap();
    let answer = home.json(&["explain", "proj/src/a.py:7", "--json"]);
    assert_eq!(
        (&answer[0]["tier"], &answer[0]["lines"], &answer[1]["total"]),
        (&"state".into(), &serde_json::json!([[7, 7]]), &1.into())
    );
    // What the prompt of that call changed.
    let call = format!(
        "08a7d153-dbf5-4299-99e0-7e71fab11f9f#{}",
        answer[0]["call"]["seq"]
    );
    let changes = home.json(&["explain", "--prompt", &call, "--json", "--limit", "100"]);
    assert!(changes.len() > 5, "{changes:?}");
    // `blame` and `list` shorten the id.
    let short = call.replace("-dbf5-4299-99e0-7e71fab11f9f", "");
    let named = home.json(&["explain", "--prompt", &short, "--json", "--limit", "100"]);
    assert_eq!(named, changes);
    // No answer is an answer, too.
    let none = text_of(&home.run(&[
        "explain",
        "--removed",
        "--text",
        "no session has these words",
    ]));
    assert!(none.contains("the index knows nothing"), "{none}");
}

/// Each line of the examples in the guide is a line of a real answer. Where the project and the tapes lie is another matter.
#[test]
fn the_worked_example_of_the_guide_is_true() {
    let guide =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/index.md")).unwrap();
    let home = Home::new();
    let project = home.directory.path().join("proj/src");
    fs::create_dir_all(&project).unwrap();
    let root = home.directory.path().join("proj");
    let tape = walkdir::WalkDir::new(home.path("tapes"))
        .into_iter()
        .flatten()
        .map(|entry| entry.into_path());
    let tape = tape
        .into_iter()
        .find(|path| {
            path.to_string_lossy().contains("08a7d153")
                && path.to_string_lossy().ends_with(".tape.jsonl")
        })
        .unwrap();
    let text = fs::read_to_string(&tape).unwrap();
    fs::write(
        &tape,
        text.replace("/home/dev/proj", root.to_str().unwrap()),
    )
    .unwrap();
    // The file as the recorded session left it.
    let truth = fs::read(
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../fixtures/claude-code/2.1.329/b_edit/truth.json"),
    )
    .unwrap();
    let truth: Value = serde_json::from_slice(&truth).unwrap();
    let edits = truth["edits"].as_array().unwrap().iter().rev();
    let last = edits
        .clone()
        .find(|edit| edit["file"] == "src/a.py")
        .unwrap()["after"]
        .as_str()
        .unwrap();
    fs::write(project.join("a.py"), last).unwrap();
    assert_eq!(code(&home.run(&["index", "add"])), 0);
    let run = |args: &[&str]| {
        let out = home.run(args);
        assert_eq!(code(&out), 0, "{}", stderr(&out));
        text_of(&out).replace(root.to_str().unwrap(), "/home/dev/proj")
    };
    let answers = [
        run(&["explain", "proj/src/a.py:6-7"]),
        run(&["blame", "proj/src/a.py"]),
    ];
    let examples: Vec<&str> = guide
        .split("```text")
        .skip(1)
        .take(2)
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    for (example, answer) in examples.iter().zip(&answers) {
        let lines = example
            .lines()
            .filter(|line| !line.trim().is_empty() && !line.starts_with("$ "));
        let mut compared = 0;
        for line in lines {
            let shown = line.split("~/.local").next().unwrap();
            assert!(
                answer.lines().any(|real| real.starts_with(shown)),
                "{line}\n--- is not in\n{answer}"
            );
            compared += 1;
        }
        assert!(compared >= 4);
    }
}

#[test]
fn blame_stops_at_its_bounds() {
    let home = Home::new();
    fs::write(home.directory.path().join("own.py"), "one\n".repeat(50)).unwrap();
    let page = text_of(&home.run(&["blame", "own.py", "--limit", "3", "--skip", "2"]));
    assert!(
        page.lines().count() == 4 && page.contains("   3 | one") && page.contains("`--skip 5`"),
        "{page}"
    );
    let answer = home.json(&["blame", "own.py", "--json"]);
    assert_eq!(
        (
            &answer[0]["lines"],
            &answer[1]["total"],
            &answer[1]["lines"]["unknown"]
        ),
        (&serde_json::json!([1, 50]), &1.into(), &50.into())
    );
}

#[test]
fn bounds_and_exit_codes_are_as_documented() {
    let home = Home::new();
    let page = home.json(&[
        "explain",
        "/home/dev/proj/src/b.py",
        "--history",
        "--json",
        "--limit",
        "2",
    ]);
    assert_eq!(
        (page.len(), &page[2]["returned"], &page[2]["next"]),
        (3, &2.into(), &2.into())
    );
    let small = home.json(&[
        "explain",
        "/home/dev/proj/src/b.py",
        "--history",
        "--json",
        "--max-bytes",
        "10",
    ]);
    assert_eq!((small.len(), &small[0]["returned"]), (1, &0.into()));
    for (args, least) in [
        (vec!["explain", "/home/dev/proj/src/b.py", "--history"], 60),
        (vec!["grep", "LAB"], 60),
        (vec!["explain", "--text", "b = 1"], 60),
    ] {
        for most in [least, 200, 500, 1000] {
            for form in ["--json", "--no-redact"] {
                let most = most.to_string();
                let out = home.run(&[&args[..], &["--max-bytes", &most, form]].concat());
                assert_eq!(code(&out), 0, "{}", stderr(&out));
                assert!(
                    out.stdout.len() <= most.parse().unwrap(),
                    "{args:?} {most}: {}",
                    text_of(&out)
                );
            }
        }
    }
    let other = home.path("nowhere");
    for (args, exit, name) in [
        (vec!["explain", "missing.rs:3"], 3, "not_found"),
        (vec!["explain", "missing.rs:0"], 2, "bad_query"),
        (vec!["query", "DELETE FROM tape"], 2, "bad_query"),
        (vec!["grep", "("], 2, "bad_query"),
        (vec!["index", "forget", "nothing"], 3, "not_found"),
        (
            vec!["blame", "missing.rs", "--index", &other],
            3,
            "no_index",
        ),
    ] {
        let out = home.run(&[args.as_slice(), &["--error-format", "json"]].concat());
        let error: Value = serde_json::from_str(stderr(&out).lines().last().unwrap()).unwrap();
        assert_eq!(
            (code(&out), &error["code"]),
            (exit, &name.into()),
            "{args:?}"
        );
    }
    assert!(!Path::new(&other).exists(), "a question makes no index");
    let misspelt = home.run(&["query", "SELECT foo FROM sessions"]);
    assert!(
        stderr(&misspelt).contains("lists the views and their columns"),
        "{}",
        stderr(&misspelt)
    );
}

#[test]
fn a_question_takes_in_what_is_new() {
    let home = Home::new();
    let rows = |home: &Home| {
        home.json(&["query", "SELECT harness FROM sessions ORDER BY 1", "--json"])
            .len()
    };
    let before = rows(&home);
    let fixture =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/codex/0.169.0/main/session");
    let out = home.run(&[
        "ingest",
        "--out",
        &home.path("tapes"),
        fixture.to_str().unwrap(),
    ]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    assert!(rows(&home) > before);
    let csv = text_of(&home.run(&[
        "query",
        "SELECT harness, count(*) AS n FROM sessions GROUP BY 1 ORDER BY 1",
        "--csv",
    ]));
    assert!(csv.starts_with("harness,n\nclaude-code,"), "{csv}");
    assert!(
        text_of(&home.run(&["grep", "LAB please", "--kind", "msg.in"]))
            .contains("msg.in text\n  | LAB please")
    );
    assert_eq!(code(&home.run(&["index", "verify"])), 0);
    assert!(text_of(&home.run(&["index", "status"])).contains("tapes       "));
}

#[cfg(target_os = "linux")]
#[test]
fn special_files_are_no_files_to_explain() {
    let home = Home::new();
    let (pipe, file_of_repo) = (home.path("pipe"), home.path("repo/file"));
    // Anybody can have made a repository: its configuration is read for the address of its remote.
    fs::create_dir_all(home.path("repo/.git")).unwrap();
    fs::write(&file_of_repo, "a line\n").unwrap();
    for pipe in [&pipe, &home.path("repo/.git/config")] {
        let made = Command::new("mkfifo").arg(pipe).status().unwrap();
        assert!(made.success());
    }
    let (pipe, file_of_repo) = (pipe.as_str(), file_of_repo.as_str());
    // The last one says that it is a regular file, and has no end.
    for (file, expected) in [
        (pipe, 3),
        (file_of_repo, 0),
        ("/dev/zero", 3),
        ("/proc/kmsg", 0),
    ] {
        for verb in ["blame", "explain"] {
            let mut child = engram()
                .args([verb, "--index", &home.path("index"), file])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let began = std::time::Instant::now();
            let status = loop {
                if let Some(status) = child.try_wait().unwrap() {
                    break status.code();
                }
                if began.elapsed().as_secs() > 60 {
                    child.kill().unwrap();
                    panic!("{verb} {file} does not end");
                }
                std::thread::sleep(std::time::Duration::from_millis(10));
            };
            let is_allowed = file != "/proc/kmsg" || fs::File::open(file).is_ok();
            assert!(
                !is_allowed || status == Some(expected),
                "{verb} {file}: {status:?}"
            );
        }
    }
}

#[test]
fn the_sessions_of_a_commit_are_named() {
    if Command::new("git").arg("--version").output().is_err() {
        return eprintln!("skipped: git is not installed");
    }
    let home = Home::new();
    let git = |args: &[&str]| {
        let identity = [
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@example.org",
            "-c",
            "commit.gpgsign=false",
        ];
        let out = Command::new("git")
            .args(identity)
            .args(args)
            .current_dir(home.directory.path())
            .output()
            .unwrap();
        assert!(
            out.status.success(),
            "{}",
            String::from_utf8_lossy(&out.stderr)
        );
    };
    git(&["init", "--quiet"]);
    fs::write(
        home.directory.path().join("own.py"),
        "nobody = 'wrote this with an agent'\n",
    )
    .unwrap();
    git(&["add", "own.py"]);
    git(&["commit", "--quiet", "-m", "one"]);
    let answer = home.json(&["explain", "--commit", "HEAD", "--json"]);
    let end = answer.last().unwrap();
    assert_eq!(
        (&end["lines"]["unknown"], &end["files"]),
        (&1.into(), &1.into())
    );
    let out = home.run(&[
        "explain",
        "--commit",
        "--output=x",
        "--error-format",
        "json",
    ]);
    assert!(
        code(&out) == 2 || code(&out) == 3,
        "a revision is no option of git"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn the_first_questions_on_a_machine_make_the_index_whoever_comes_first() {
    use super::homes::{at_home, home};
    let home = home();
    let question = ["query", "SELECT count(*) AS n FROM sessions", "--json"];
    let asked: Vec<_> = (0..3)
        .map(|_| {
            at_home(home.path(), &question)
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    for child in asked {
        let out = child.wait_with_output().unwrap();
        assert_eq!((code(&out), text_of(&out)), (0, "{\"n\":3}\n".to_owned()));
    }
    let old = at_home(home.path(), &["grep", "LAB", "--json", "--no-ingest"])
        .output()
        .unwrap();
    let end: Value = serde_json::from_str(text_of(&old).lines().last().unwrap()).unwrap();
    let note = end["notes"][0].as_str().unwrap();
    assert!(
        note.starts_with("nothing was taken in; the index is ") && note.ends_with(" old"),
        "{note}"
    );
    // Without any session there is an answer, too.
    let empty = tempfile::tempdir().unwrap();
    let file = empty.path().join("a.py");
    fs::write(&file, "a = 1\n").unwrap();
    let out = at_home(empty.path(), &["explain", text(&file), "--json"])
        .output()
        .unwrap();
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    let first: Value = serde_json::from_str(text_of(&out).lines().next().unwrap()).unwrap();
    assert_eq!(first["why"], "no_session");
}

#[test]
fn a_file_of_a_clone_elsewhere_is_told_as_one_that_sessions_changed() {
    let home = Home::new();
    let clone = home.directory.path().join("clone");
    fs::create_dir_all(&clone).unwrap();
    let file = clone.join("b.py");
    let by_hand = "def by_hand(x):\n    return x * 42  # by hand\n";
    fs::write(&file, format!("{by_hand}{TEXT}")).unwrap();
    let why = |lines: &str| {
        let place = format!("{}:{lines}", text(&file));
        home.json(&["explain", &place, "--json", "--no-ingest"])[0]["why"].clone()
    };
    assert_eq!([why("2"), why("3")], ["nobody".into(), Value::Null]);
    // A file with a few of these lines is another one.
    fs::write(&file, by_hand).unwrap();
    assert_eq!(why("2"), "no_session");
}

#[test]
fn hits_and_causes_name_their_session_by_title_and_project() {
    let home = Home::new();
    let project = home.project();
    let title = r#","title":"Mend the parser","permission_mode":"#;
    home.change_tapes(r#","permission_mode":"#, title);
    let file = project.join(FILE);
    let about =
        |value: &Value| value["title"] == "Mend the parser" && value["project"] == text(&project);
    let hits = home.json(&["grep", "LAB", "--json", "--no-ingest", "--limit", "3"]);
    assert!(hits[..3].iter().all(about), "{hits:?}");
    let cause = home.json(&[
        "explain",
        &format!("{}:6", text(&file)),
        "--json",
        "--no-ingest",
    ]);
    assert!(about(&cause[0]["call"]), "{cause:?}");
    // A heading of all hits of a session, a line of a cause, and a legend.
    let heading = format!("Mend the parser  {}\n", text(&project));
    for (args, indent) in [
        (["grep", "LAB", "--no-ingest"], ""),
        (["explain", text(&file), "--no-ingest"], "  "),
        (["blame", text(&file), "--no-ingest"], "08a7d153 "),
    ] {
        let answer = text_of(&home.run(&args));
        assert!(answer.contains(&format!("{indent}{heading}")), "{answer}");
        assert!(
            args[0] == "explain" || answer.matches(&heading).count() == 1,
            "{answer}"
        );
    }
}
