//! `engram export agent-trace` and `git-notes`: commits of the past, without hooks.

use super::index::{FILE, Home, TEXT, text_of};
use super::*;

/// A repository with the recorded project.
struct Repository {
    home: Home,
    root: PathBuf,
}

impl Repository {
    /// `None` if git is not installed.
    fn new() -> Option<Repository> {
        if Command::new("git").arg("--version").output().is_err() {
            eprintln!("skipped: git is not installed");
            return None;
        }
        let home = Home::new();
        let root = home.project();
        let repository = Repository { home, root };
        repository.git(&["init", "--quiet", "-b", "main"]);
        for (key, value) in [
            ("user.name", "a"),
            ("user.email", "a@example.org"),
            ("commit.gpgsign", "false"),
        ] {
            repository.git(&["config", key, value]);
        }
        Some(repository)
    }

    fn git(&self, args: &[&str]) -> String {
        let out = Command::new("git")
            .args(args)
            .current_dir(&self.root)
            .output()
            .unwrap();
        assert!(out.status.success(), "git {args:?}: {}", stderr(&out));
        text_of(&out).trim().to_owned()
    }

    fn commit(&self, text: &str) -> String {
        fs::write(self.root.join(FILE), text).unwrap();
        self.git(&["add", "."]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", "x"]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Runs the command in the repository.
    fn run(&self, args: &[&str]) -> Output {
        engram()
            .env("ENGRAM_TAPES", self.home.path("tapes"))
            .env("ENGRAM_INDEX", self.home.path("index"))
            .args(args)
            .current_dir(&self.root)
            .output()
            .unwrap()
    }

    fn records(&self, revisions: &str) -> Vec<Value> {
        let out = self.run(&["export", "agent-trace", revisions]);
        assert_eq!(code(&out), 0, "{}", stderr(&out));
        text_of(&out)
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

/// The lines of a record, by session.
fn lines(record: &Value) -> Vec<(u64, u64)> {
    let conversations = record["files"][0]["conversations"].as_array().unwrap();
    let ranges = conversations
        .iter()
        .flat_map(|one| one["ranges"].as_array().unwrap());
    ranges
        .map(|range| {
            (
                range["start_line"].as_u64().unwrap(),
                range["end_line"].as_u64().unwrap(),
            )
        })
        .collect()
}

#[test]
fn the_lines_of_a_commit_are_exported_as_far_as_they_are_proven() {
    let Some(repository) = Repository::new() else {
        return;
    };
    let old =
        "def one():\n    return 1\n\ndef two():\n    return 2\n\ndef three():\n    return 3\n";
    let first = repository.commit(old);
    let second = repository.commit(TEXT);
    let third = repository.commit(&format!("# mine, by hand\n{TEXT}# and mine again\n"));
    // What a session found there is nobody's, and neither is what a person wrote later.
    assert_eq!(repository.records(&first), [Value::Null; 0]);
    assert_eq!(repository.records(&third), [Value::Null; 0]);
    let records = repository.records(&second);
    assert_eq!(records[0]["vcs"]["revision"], second);
    assert_eq!(lines(&records[0]), [(1, 1), (6, 7), (10, 11)]);
    assert_eq!(
        records[0]["files"][0]["conversations"][0]["url"],
        format!("urn:engram:session:claude-code:{CLAUDE_ID}")
    );
    assert_eq!(records, repository.records(&second), "the same again");
    let range = format!("{first}..{third}");
    assert_eq!(records, repository.records(&range));
    // Another commit with the same content, as after a rebase, has the same lines.
    repository.git(&["checkout", "--quiet", "-b", "other", &first]);
    repository.commit(TEXT);
    repository.git(&["commit", "--amend", "--quiet", "-m", "rebased"]);
    assert_ne!(repository.git(&["rev-parse", "HEAD"]), second);
    assert_eq!(lines(&repository.records("HEAD")[0]), lines(&records[0]));
    // A merge that changes nothing itself adds nothing.
    repository.git(&["merge", "--quiet", "-s", "ours", "-m", "merge", "main"]);
    assert_eq!(repository.records("HEAD"), [Value::Null; 0]);
    for wrong in ["--output=x", "nothing", "main..nothing"] {
        let out = repository.run(&["export", "agent-trace", "--", wrong]);
        assert_eq!(code(&out), 3, "{wrong}: {}", stderr(&out));
    }
}

#[test]
fn notes_are_printed_and_made_only_when_asked_for() {
    let Some(repository) = Repository::new() else {
        return;
    };
    let first = repository.commit("def one():\n    return 1\n");
    let second = repository.commit(TEXT);
    let notes = |args: &[&str]| repository.run(&[&["export", "git-notes"], args].concat());
    let printed = text_of(&notes(&[]));
    assert!(
        printed.starts_with("src/a.py\n  s_") && printed.contains("\n---\n{\n"),
        "{printed}"
    );
    let of_range = text_of(&notes(&[&format!("{first}..{second}")]));
    assert_eq!(of_range, format!("commit {second}\n{printed}"));
    assert_eq!(repository.git(&["for-each-ref", "refs/notes"]), "");
    for _ in 0..2 {
        let out = notes(&["--write"]);
        assert_eq!(
            (code(&out), text_of(&out)),
            (0, String::new()),
            "{}",
            stderr(&out)
        );
    }
    let note = repository.git(&["notes", "--ref=ai", "show", &second]);
    assert_eq!(note, printed.trim_end());
    // A note of somebody else stays.
    repository.git(&["notes", "--ref=ai", "add", "-f", "-m", "theirs", &second]);
    let out = notes(&["--write", "--error-format", "json"]);
    assert_eq!(
        (code(&out), &json_errors(&out)[0]["code"]),
        (1, &"note_exists".into())
    );
    assert_eq!(
        repository.git(&["notes", "--ref=ai", "show", &second]),
        "theirs"
    );
}

#[test]
fn names_of_files_are_read_as_git_prints_them() {
    let Some(repository) = Repository::new() else {
        return;
    };
    for name in ["a \"b\".py", ":(glob)x.py", "é ü.py", "back\\slash.py"] {
        fs::write(
            repository.root.join(name),
            "x = 'twenty letters and a few more'\n",
        )
        .unwrap();
    }
    let sha = repository.commit("");
    let answer = repository.run(&["explain", "--commit", &sha, "--json"]);
    let last: Value = serde_json::from_str(text_of(&answer).lines().last().unwrap()).unwrap();
    assert_eq!(
        (&last["files"], &last["lines"]["unknown"], last.get("notes")),
        (&4.into(), &4.into(), None),
        "{last}"
    );
}

/// The tier of each line, and how many there are.
fn tiers(out: &Output) -> Vec<(String, u64)> {
    assert_eq!(code(out), 0, "{}", stderr(out));
    let answer = text_of(out);
    let lines = answer
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let runs = lines.filter(|line| line["k"] != "end");
    let tier = |run: Value| {
        let count = run["lines"][1].as_u64().unwrap() - run["lines"][0].as_u64().unwrap() + 1;
        (run["tier"].as_str().unwrap().to_owned(), count)
    };
    runs.map(tier).collect()
}

#[test]
fn a_rename_that_only_a_commit_knows_is_followed() {
    let Some(repository) = Repository::new() else {
        return;
    };
    repository.commit("def one():\n    return 1\n");
    let first = repository.commit(TEXT);
    // A person renames the file, and adds a line.
    let new = "lib/ren amed.py";
    fs::create_dir(repository.root.join("lib")).unwrap();
    repository.git(&["mv", FILE, new]);
    fs::write(
        repository.root.join(new),
        format!("# mine, by hand\n{TEXT}"),
    )
    .unwrap();
    repository.git(&["commit", "--quiet", "--all", "-m", "x"]);
    let index = repository.home.path("index");
    let ask = |args: &[&str]| repository.run(&[args, &["--json", "--index", &index]].concat());
    let known = tiers(&ask(&["blame", FILE, "--rev", &first]));
    assert_eq!(known[0], ("state".to_owned(), 1));
    let as_line = |(tier, count): &(String, u64)| match tier.as_str() {
        "state" => ("line".to_owned(), *count),
        tier => (tier.to_owned(), *count),
    };
    let mut expected: Vec<_> = known.iter().map(as_line).collect();
    expected.insert(0, ("unknown".to_owned(), 1));
    assert_eq!(tiers(&ask(&["blame", new])), expected);
    assert_eq!(tiers(&ask(&["blame", new, "--rev", "HEAD"])), expected);
    // A commit before the rename has the file under its old name.
    assert_eq!(tiers(&ask(&["blame", new, "--rev", &first])), known);
    // The commit itself adds one line.
    let out = text_of(&ask(&["explain", "--commit", "HEAD"]));
    let end: Value = serde_json::from_str(out.lines().last().unwrap()).unwrap();
    assert_eq!(end["lines"], serde_json::json!({"unknown": 1}), "{out}");
}

#[test]
fn names_and_the_configuration_of_a_repository_change_no_answer() {
    let Some(repository) = Repository::new() else {
        return;
    };
    let names = [
        ":(glob)x.py",
        "a:12",
        "\"quoted\".py",
        "-x",
        "two\nlines",
        "é.py",
    ];
    for name in names {
        fs::write(repository.root.join(name), format!("own = {name:?}\n")).unwrap();
    }
    let touched = repository.home.path("touched");
    let program = repository.home.path("program");
    fs::write(&program, format!("#!/bin/sh\ntouch '{touched}'\n")).unwrap();
    #[cfg(unix)]
    fs::set_permissions(
        &program,
        std::os::unix::fs::PermissionsExt::from_mode(0o700),
    )
    .unwrap();
    for (key, value) in [
        ("i18n.logOutputEncoding", "UTF-16"),
        ("log.showSignature", "true"),
        ("gpg.program", &program),
        ("diff.external", &program),
        ("core.fsmonitor", &program),
        ("core.pager", &program),
        ("diff.noprefix", "true"),
        ("diff.renames", "false"),
    ] {
        repository.git(&["config", key, value]);
    }
    repository.commit(TEXT);
    let _ = fs::remove_file(&touched);
    let index = repository.home.path("index");
    let ask = |args: &[&str]| repository.run(&[args, &["--json", "--index", &index]].concat());
    let out = ask(&["explain", "--commit", "HEAD", "--limit", "100"]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    let answer = text_of(&out);
    for name in names {
        let path = format!("\"path\":{}", Value::from(name));
        assert!(answer.contains(&path), "{name}: {answer}");
        let out = {
            let mut asked = vec!["blame", "--json", "--index", &index, "--rev", "HEAD"];
            asked.extend(["--", name]);
            repository.run(&asked)
        };
        assert_eq!(tiers(&out), [("unknown".to_owned(), 1)], "{name}");
    }
    assert!(
        !Path::new(&touched).exists(),
        "a program of the repository ran"
    );
}
