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
