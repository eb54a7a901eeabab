//! Exports: what they write, that nothing is overwritten or half written, and what they refuse.

use super::*;

/// A directory with the tapes of a session with sub-agents, and of two others.
fn exported_tapes() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let (claude, agents, codex) = (fixture(CLAUDE), fixture(SUB_AGENTS), fixture(CODEX));
    let out = directory.path().join("tapes");
    assert_eq!(
        code(&run(&[
            "ingest",
            "--quiet",
            "--out",
            text(&out),
            text(&claude),
            text(&agents),
            text(&codex)
        ])),
        0
    );
    directory
}

/// Runs an export of the tapes in `directory`, and gives the place of its output.
fn export(directory: &Path, target: &str, name: &str, more: &[&str]) -> PathBuf {
    let out = directory.join(name);
    let tapes = directory.join("tapes");
    let output = run(&[&["export", target, text(&tapes), "--out", text(&out)], more].concat());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    out
}

#[test]
fn each_export_is_the_same_again_and_overwrites_nothing() {
    let directory = exported_tapes();
    let at = directory.path();
    for (target, is_file, more) in [
        ("parquet", false, &["--jobs", "1"][..]),
        ("hf", false, &[]),
        ("hf", false, &["--messages"]),
        ("atif", false, &["--link-agents"]),
        ("otlp", true, &["--content", "all"]),
    ] {
        let one = export(at, target, &format!("{target}-1-{}", more.len()), more);
        let other = export(at, target, &format!("{target}-2-{}", more.len()), more);
        let content = |place: &Path| match is_file {
            true => vec![fs::read(place).unwrap()],
            false => files(place)
                .iter()
                .map(|file| fs::read(file).unwrap())
                .collect(),
        };
        assert!(content(&one) == content(&other), "{target} differs");
        let again = run(&[
            "export",
            target,
            text(&at.join("tapes")),
            "--out",
            text(&one),
            "--error-format",
            "json",
        ]);
        assert_eq!(
            (code(&again), &json_errors(&again)[0]["code"]),
            (6, &"io".into())
        );
        assert!(content(&one) == content(&other), "{target} was overwritten");
    }
    let left: Vec<String> = fs::read_dir(at)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert!(
        left.iter().all(|name| !name.starts_with(".engram-")),
        "{left:?}"
    );
}

#[test]
fn sub_agents_are_in_the_document_of_their_session_or_linked_from_it() {
    let directory = exported_tapes();
    let embedded = export(
        directory.path(),
        "atif",
        "embedded",
        &["--losses", text(&directory.path().join("losses.json"))],
    );
    assert_eq!(files(&embedded).len(), 3);
    let linked = export(
        directory.path(),
        "atif",
        "linked",
        &["--link-agents", "--atif", "1.8"],
    );
    assert_eq!(
        files(&linked).len(),
        tapes(&directory.path().join("tapes")).len()
    );
    let mut paths = 0;
    for file in files(&linked) {
        let document: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        assert_eq!(document["schema_version"], "ATIF-v1.8");
        let results = document["steps"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|step| step["observation"]["results"].as_array())
            .flatten();
        for reference in results
            .filter_map(|result| result["subagent_trajectory_ref"].as_array())
            .flatten()
        {
            assert!(
                file.with_file_name(reference["trajectory_path"].as_str().unwrap())
                    .is_file()
            );
            paths += 1;
        }
    }
    assert!(paths > 1);
    let losses: Value =
        serde_json::from_slice(&fs::read(directory.path().join("losses.json")).unwrap()).unwrap();
    assert_eq!(
        (
            &losses["target"],
            losses["tapes"].as_u64().unwrap() as usize
        ),
        (&"atif".into(), tapes(directory.path()).len())
    );
    assert!(losses["rules"]["event.origin"]["count"].as_u64().unwrap() > 0);
}

#[test]
fn tables_straight_from_logs_are_those_of_the_tapes() {
    let directory = exported_tapes();
    let (claude, agents, codex) = (fixture(CLAUDE), fixture(SUB_AGENTS), fixture(CODEX));
    let direct = directory.path().join("direct");
    let output = run(&[
        "ingest",
        "--to",
        "parquet",
        "--out",
        text(&direct),
        text(&claude),
        text(&agents),
        text(&codex),
    ]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stderr(&output).contains("events ") && stderr(&output).contains(text(&direct)));
    let of_tapes = export(directory.path(), "parquet", "tables", &[]);
    // The same files; those of a dataset have the names of their parts.
    for table in [
        "events", "tapes", "sessions", "prompts", "calls", "edits", "usage",
    ] {
        let [one, other] = [&direct, &of_tapes].map(|at| names(&at.join(table)));
        assert_eq!((one.len(), other.len()), (1, 1), "{table}");
        assert_same(
            &fs::read(direct.join(table).join(&one[0])).unwrap(),
            &fs::read(of_tapes.join(table).join(&other[0])).unwrap(),
        );
    }
}

#[test]
fn a_tape_that_breaks_a_rule_is_refused_and_others_are_written() {
    let directory = exported_tapes();
    let broken = directory_of(&[(
        "b.tape.jsonl",
        "{\"seq\":0,\"t\":\"2026-01-02T03:04:05Z\",\"k\":\"msg.out\",\"source\":{\"harness\":\"toy\"}}\n",
    )]);
    for target in ["parquet", "hf", "atif", "otlp"] {
        let out = directory.path().join(format!("none-{target}"));
        let output = run(&[
            "export",
            target,
            text(broken.path()),
            "--out",
            text(&out),
            "--error-format",
            "json",
        ]);
        assert_eq!(
            (code(&output), &json_errors(&output)[0]["code"]),
            (5, &"malformed_record".into()),
            "{}",
            stderr(&output)
        );
        assert!(!out.exists());
        let out = directory.path().join(format!("some-{target}"));
        let output = run(&[
            "export",
            target,
            text(broken.path()),
            text(&directory.path().join("tapes")),
            "--out",
            text(&out),
        ]);
        assert_eq!(code(&output), 1, "{}", stderr(&output));
        assert!(out.exists());
    }
}

/// Synthetic: a second tape of the session, with a prompt more and without numbers of its own.
#[test]
fn a_tape_that_is_refused_takes_no_rows_from_another_one() {
    let tape = run(&["ingest", text(&claude_file()), "--out", "-"]);
    let tape = String::from_utf8(tape.stdout).unwrap();
    let prompt = tape.lines().find(|line| line.contains(r#""by":"person""#));
    let more = prompt
        .unwrap()
        .replace(r#""text":""#, r#""text":"One more. "#)
        + "\n"
        + &tape;
    let start = tape.find('\n').unwrap() + 1;
    let more = tape[..start].to_owned() + &more.replacen(&tape[..start], "", 1);
    let rows = |tapes: &[(&str, &str)]| {
        let directory = directory_of(tapes);
        let out = directory.path().join("out");
        let output = run(&[
            "export",
            "parquet",
            text(directory.path()),
            "--out",
            text(&out),
        ]);
        let of = |table: &str| {
            let said = stderr(&output);
            said.lines()
                .find(|line| line.starts_with(table))
                .unwrap()
                .to_owned()
        };
        (
            code(&output),
            ["sessions", "prompts", "calls", "usage"].map(of),
        )
    };
    let (alone, of_one) = rows(&[("a.tape.jsonl", &tape)]);
    let (refused, of_both) = rows(&[("a.tape.jsonl", &tape), ("b.tape.jsonl", &more)]);
    assert_eq!((alone, refused), (0, 1));
    assert_eq!(of_one, of_both);
}

/// Synthetic: a tape with a key.
#[test]
fn traces_are_redacted_unless_told_otherwise() {
    let log = claude_session("00000000-0000-4000-8000-000000000001").replacen(
        "LAB please",
        "AKIAIOSFODNN7EXAMPLE please",
        1,
    );
    let logs = directory_of(&[("s.jsonl", &log)]);
    let at = logs.path();
    assert_eq!(
        code(&run(&[
            "ingest",
            "--quiet",
            "--out",
            text(&at.join("tapes")),
            text(&at.join("s.jsonl"))
        ])),
        0
    );
    for (more, is_there) in [(&[][..], false), (&["--no-redact"], true)] {
        let out = export(at, "hf", &format!("traces-{is_there}"), more);
        let all: String = files(&out)
            .iter()
            .map(|file| fs::read_to_string(file).unwrap())
            .collect();
        assert_eq!(
            (
                all.contains("AKIAIOSFODNN7EXAMPLE"),
                all.contains("[redacted:aws-access-key-id]")
            ),
            (is_there, !is_there)
        );
    }
}

#[cfg(unix)]
#[test]
fn what_is_exported_is_for_its_owner_only_and_a_file_that_may_not_grow_is_6() {
    use std::os::unix::fs::PermissionsExt;
    let directory = exported_tapes();
    let at = directory.path();
    for target in ["parquet", "hf", "atif", "otlp"] {
        let out = export(at, target, target, &[]);
        let mut all = vec![out.clone()];
        if out.is_dir() {
            all.extend(files(&out));
            all.extend(
                files(&out)
                    .iter()
                    .filter_map(|file| file.parent().map(Path::to_owned)),
            );
        }
        for path in all {
            let mode = path.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{target}: {} has {mode:o}", path.display());
        }
        // Nobody's limit but that of the system: there is no policy against it.
        let mut limited = Command::new("sh");
        limited.args(["-c", "trap '' XFSZ; ulimit -f 1 && exec \"$@\"", "sh"]);
        let full = at.join(format!("{target}-full"));
        let output = limited
            .args([env!("CARGO_BIN_EXE_engram"), "export", target])
            .args([text(&at.join("tapes")), "--out", text(&full)])
            .output()
            .unwrap();
        let said = stderr(&output);
        assert_eq!(code(&output), 6, "{target}: {said}");
        assert!(
            !full.exists() && !said.contains("--policy"),
            "{target}: {said}"
        );
    }
}

/// A dataset in which sessions are missing for want of room would look whole.
#[cfg(unix)]
#[test]
fn tables_are_written_of_all_logs_or_of_none() {
    let logs: Vec<(String, String)> = (0..8)
        .map(|number| {
            let log = claude_session(&format!("s{number}"));
            let lines = if number == 7 { usize::MAX } else { 12 };
            let log = log.split_inclusive('\n').take(lines).collect();
            (format!("{number}.jsonl"), log)
        })
        .collect();
    let logs: Vec<(&str, &str)> = logs.iter().map(|(name, log)| (&**name, &**log)).collect();
    let logs = directory_of(&logs);
    let directory = tempfile::tempdir().unwrap();
    for (blocks, is_written) in [(24, false), (100_000, true)] {
        let out = directory.path().join(blocks.to_string());
        let script = format!("trap '' XFSZ; ulimit -f {blocks} && exec \"$@\"");
        let output = Command::new("sh")
            .args(["-c", &script, "sh", env!("CARGO_BIN_EXE_engram"), "ingest"])
            .args(["--to", "parquet", text(logs.path()), "--out", text(&out)])
            .output()
            .unwrap();
        let said = stderr(&output);
        assert_eq!(
            (code(&output) == 0, out.exists()),
            (is_written, is_written),
            "{said}"
        );
    }
}

/// Advice that no option of the command follows.
#[test]
fn a_refused_tape_is_no_matter_of_policy() {
    let directory = exported_tapes();
    let broken = directory.path().join("broken.tape.jsonl");
    fs::write(&broken, "{\"seq\":0,\"t\":\"\"}\n").unwrap();
    for target in ["parquet", "hf", "atif", "otlp"] {
        let out = directory.path().join(target);
        let output = run(&["export", target, text(&broken), "--out", text(&out)]);
        assert_eq!(code(&output), 5, "{}", stderr(&output));
        assert!(!stderr(&output).contains("--policy"), "{}", stderr(&output));
    }
}
