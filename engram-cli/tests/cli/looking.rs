//! The commands that only look: detect, audit, check, adapters, schema.

use std::fs;

use super::*;

#[test]
fn detect_names_harness_version_schema_support_and_evidence() {
    let output = run(&["detect", "--json", text(&claude_file())]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let finding: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(finding["path"], text(&claude_file()));
    assert_eq!(
        (&finding["harness"], &finding["adapter"]),
        (&"claude-code".into(), &"claude-code".into())
    );
    assert_eq!(
        (&finding["version"], &finding["support"]),
        (&"2.1.329".into(), &"tested".into())
    );
    assert_eq!(finding["session_id"], CLAUDE_ID);
    assert!(
        finding["schema"].is_string() && !finding["evidence"].as_array().unwrap().is_empty(),
        "{finding}"
    );

    let lines = String::from_utf8(run(&["detect", text(&claude_file())]).stdout).unwrap();
    assert_eq!(lines.lines().count(), 1);
    assert!(
        lines.contains("claude-code 2.1.329")
            && lines.contains("tested")
            && lines.contains("evidence"),
        "{lines}"
    );
}

#[test]
fn detect_searches_directories_and_fails_for_files_that_are_no_sessions() {
    let directory = directory_of(&[
        ("1.jsonl", &claude_session("a")),
        ("2.jsonl", &claude_session("b")),
        ("x.json", "{}"),
    ]);
    let output = run(&["detect", text(directory.path())]);
    assert_eq!(
        (
            code(&output),
            String::from_utf8(output.stdout).unwrap().lines().count()
        ),
        (0, 2)
    );
    assert_eq!(
        code(&run(&["detect", text(&directory.path().join("x.json"))])),
        3
    );
    assert_eq!(
        code(&run(&[
            "detect",
            text(directory.path()),
            text(&directory.path().join("x.json"))
        ])),
        1
    );
}

#[test]
fn a_directory_without_a_session_is_an_error_for_every_command_that_reads_sessions() {
    let directory = directory_of(&[("notes.jsonl", "hello\n")]);
    let out = directory.path().join("tapes");
    for args in [
        vec!["detect"],
        vec!["audit"],
        vec!["audit", "--json"],
        vec!["ingest", "--out", text(&out)],
    ] {
        let output = engram()
            .args(&args)
            .args([text(directory.path()), "--error-format", "json"])
            .output()
            .unwrap();
        assert_eq!(code(&output), 3, "{args:?}");
        let errors = json_errors(&output);
        assert_eq!(
            (errors.len(), &errors[0]["code"]),
            (1, &"unknown_harness".into()),
            "{args:?}"
        );
    }
}

#[test]
fn a_file_that_cannot_be_a_session_is_reported_where_a_harness_keeps_sessions() {
    let damaged = "sessions/2026/11/21/rollout-2026-11-21T10-24-30-01a1fda2-da79-74d3-9bb6-4cbb4355294f.jsonl";
    let directory = directory_of(&[
        ("1.jsonl", &claude_session("a")),
        ("x.json", "{}"),
        (damaged, "{\"type\":7}\n"),
    ]);
    let out = directory.path().join("tapes");
    for args in [
        vec!["detect"],
        vec!["audit"],
        vec!["list"],
        vec!["stats"],
        vec!["ingest", "--out", text(&out)],
    ] {
        let output = engram()
            .args(&args)
            .args([text(directory.path()), "--error-format", "json"])
            .output()
            .unwrap();
        let errors = json_errors(&output);
        let error = errors
            .iter()
            .find(|error| error["code"] == "unknown_harness")
            .unwrap_or_else(|| panic!("{args:?}: {errors:?}"));
        assert_eq!(
            (code(&output), errors.len(), &error["harness"]),
            (1, 1, &"codex".into()),
            "{args:?}"
        );
        assert!(
            error["path"].as_str().unwrap().ends_with(damaged),
            "{error}"
        );
    }
    let said = stderr(&run(&["detect", text(directory.path())]));
    assert!(
        said.contains("codex keeps its sessions in such files, but this is no log of a known form"),
        "{said}"
    );
    fs::write(directory.path().join(damaged), "\n").unwrap();
    assert_eq!(
        code(&run(&["detect", text(directory.path())])),
        0,
        "an empty file is no session"
    );
}

#[cfg(unix)]
#[test]
fn a_name_with_a_line_end_in_it_stays_on_its_line() {
    let directory = directory_of(&[("a\nerror: b.jsonl", &claude_session("a"))]);
    for command in ["detect", "audit"] {
        let output = run(&[command, text(directory.path())]);
        let lines = String::from_utf8(output.stdout).unwrap();
        assert!(
            lines.contains("a\\nerror: b.jsonl") && !lines.contains("\nerror: b"),
            "{lines}"
        );
    }
    let output = run(&["ingest", text(&directory.path().join("none\nerror: c"))]);
    assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
}

#[test]
fn adapters_are_listed_for_people_machines_and_documents() {
    let json: Value = serde_json::from_slice(&run(&["adapters", "--json"]).stdout).unwrap();
    let ids: Vec<&str> = json
        .as_array()
        .unwrap()
        .iter()
        .map(|adapter| adapter["adapter_id"].as_str().unwrap())
        .collect();
    assert!(ids.contains(&"claude-code") && ids.contains(&"codex"));
    let (people, documents) = (
        run(&["adapters"]).stdout,
        run(&["adapters", "--markdown"]).stdout,
    );
    for id in ids {
        assert!(String::from_utf8_lossy(&people).contains(id));
        assert!(String::from_utf8_lossy(&documents).contains(&format!("| {id} |")));
    }
}

#[test]
fn the_schema_is_json() {
    let schema: Value = serde_json::from_slice(&run(&["schema"]).stdout).unwrap();
    assert!(schema["$schema"].is_string(), "{schema}");
}

#[test]
fn a_log_of_a_program_that_is_not_read_names_the_program() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path().join(".trae/cli/sessions/a.jsonl");
    fs::create_dir_all(at.parent().unwrap()).unwrap();
    fs::write(
        &at,
        "{\"uuid\":\"1\",\"sessionId\":\"2\",\"type\":\"system\"}\n",
    )
    .unwrap();
    let refused = run(&["detect", text(&at)]);
    assert!(
        stderr(&refused)
            .contains("TRAE CLI keeps its sessions in such files, and no adapter reads them"),
        "{}",
        stderr(&refused)
    );
}

#[test]
fn another_session_than_that_of_the_file_is_not_shown() {
    let log = claude_file();
    let wrong = run(&["show", text(&log), "--session", "zzz"]);
    assert_eq!((code(&wrong), wrong.stdout.len()), (3, 0));
    assert!(
        stderr(&wrong).contains("has an id that begins with `zzz`"),
        "{}",
        stderr(&wrong)
    );
    assert_eq!(
        code(&run(&["show", text(&log), "--session", &CLAUDE_ID[..6]])),
        0
    );
}

#[test]
fn every_shell_completes_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = run(&["completions", shell]);
        assert_eq!(
            (code(&output), stderr(&output)),
            (0, String::new()),
            "{shell}"
        );
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(
            script.contains("COMPLETE") && script.contains("engram"),
            "{shell}: {script}"
        );
    }
    let completed = |words: &[&str], tapes: &str| {
        let output = engram()
            .args(["--", "engram"])
            .args(words)
            .env("COMPLETE", "fish")
            .env("ENGRAM_TAPES", tapes)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    for command in ["ingest", "audit", "check", "adapters", "completions", "man"] {
        assert!(completed(&[""], "").contains(command), "{command}");
    }
    // What only this machine knows.
    let tapes = tempfile::tempdir().unwrap();
    let ingested = run(&[
        "ingest",
        "-q",
        text(&fixture(CLAUDE)),
        "--out",
        text(tapes.path()),
    ]);
    assert_eq!(code(&ingested), 0, "{}", stderr(&ingested));
    let completed = |words: &[&str]| completed(words, text(tapes.path()));
    assert!(completed(&["show", &CLAUDE_ID[..4]]).contains(CLAUDE_ID));
    assert_eq!(completed(&["list", "--harness", "cod"]), "codex\n");
    assert_eq!(
        completed(&["grep", "x", "--kind", "code."]),
        "code.edit\ncode.read\n"
    );
    assert_eq!(code(&run(&["completions", "no-shell"])), 2);
}

#[test]
fn every_command_has_a_manual_page() {
    let directory = tempfile::tempdir().unwrap();
    let pages = directory.path().join("share/man1");
    let output = run(&["man", text(&pages)]);
    assert_eq!((code(&output), stderr(&output)), (0, String::new()));
    let help = String::from_utf8(run(&["--help"]).stdout).unwrap();
    let written = names(&pages);
    for command in documentation::commands(&help) {
        let page = format!("engram-{command}.1");
        assert!(written.contains(&page), "{page}");
    }
    // No page names another one that is not there.
    for name in &written {
        let page = fs::read_to_string(pages.join(name))
            .unwrap()
            .replace('\\', "");
        for word in page.split(|c: char| c.is_whitespace() || c == ',') {
            if let Some(named) = word.strip_suffix("(1)") {
                let named = format!(
                    "{}.1",
                    named.trim_start_matches("fB").trim_end_matches("fR")
                );
                assert!(written.contains(&named), "{name} names {named}");
            }
        }
    }
    assert!(
        fs::read_to_string(pages.join("engram-ingest.1"))
            .unwrap()
            .contains("\\-\\-redact")
    );
    assert_eq!(
        fs::read(pages.join("engram.1")).unwrap(),
        run(&["man"]).stdout,
        "the page that is printed is the one that is written"
    );
    let synopsis = |page: &str| {
        let page = fs::read_to_string(pages.join(page)).unwrap();
        let (_, rest) = page.split_once(".SH SYNOPSIS\n").unwrap();
        rest.lines()
            .find(|line| line.contains("engram"))
            .unwrap()
            .replace("\\fB", "")
            .replace("\\fI", "")
            .replace("\\fR", "")
            .replace("\\-", "-")
    };
    assert!(
        synopsis("engram-ingest.1").contains("[-o|--out DIR]")
            && synopsis("engram-ingest.1").ends_with(" [PATH]...")
    );
    assert!(
        synopsis("engram-show.1").contains("[--full] [")
            && synopsis("engram-show.1").ends_with(" [TAPE|LOG|ID[#SEQ]]")
    );
    assert!(
        synopsis("engram.1").ends_with(" COMMAND"),
        "{}",
        synopsis("engram.1")
    );
    let file = pages.join("engram.1");
    let page = fs::read_to_string(&file).unwrap();
    let (_, examples) = page
        .split_once(".SH EXAMPLES\n.nf\n")
        .expect("lines that are not filled");
    assert!(
        examples.contains("engram list  ") && examples.contains("\nExit codes:\n"),
        "{examples}"
    );
    assert_eq!(
        code(&run(&["man", text(&file)])),
        6,
        "a file is no directory"
    );
}

#[test]
fn check_finds_what_is_wrong_and_where() {
    let tape = String::from_utf8(run(&["ingest", text(&claude_file())]).stdout).unwrap();
    let directory = directory_of(&[
        ("good.tape.jsonl", &tape),
        (
            "bad.tape.jsonl",
            &tape.replacen("{\"seq\":3,", "{\"seq\":7,", 1),
        ),
    ]);
    let (good, bad) = (
        directory.path().join("good.tape.jsonl"),
        directory.path().join("bad.tape.jsonl"),
    );
    assert_eq!(code(&run(&["check", text(&good)])), 0);
    let output = run(&["check", text(&good), text(&bad)]);
    assert_eq!(code(&output), 1);
    let found = String::from_utf8(output.stdout).unwrap();
    assert!(
        found
            .lines()
            .all(|line| line.starts_with(&format!("{}:", text(&bad)))),
        "{found}"
    );
    assert!(found.contains(&format!("{}:4: seq", text(&bad))), "{found}");
}

#[test]
fn check_goes_through_a_directory_and_an_empty_one_fails() {
    let tape = String::from_utf8(run(&["ingest", text(&claude_file())]).stdout).unwrap();
    let directory = directory_of(&[("good.tape.jsonl", &tape), ("notes.jsonl", "not a tape")]);
    let output = run(&["check", text(directory.path())]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(
        stderr(&output).contains("1 tape checked, 0 violations"),
        "{}",
        stderr(&output)
    );
    fs::write(
        directory.path().join("bad.tape.jsonl"),
        tape.replacen("{\"seq\":3,", "{\"seq\":7,", 1),
    )
    .unwrap();
    assert_eq!(code(&run(&["check", text(directory.path())])), 1);
    assert_eq!(
        code(&run(&["check", text(tempfile::tempdir().unwrap().path())])),
        3
    );
}

#[test]
fn check_reads_compressed_tapes_and_reports_what_it_cannot_read() {
    let tape = run(&["ingest", "--zstd", text(&claude_file())]).stdout;
    let directory = tempfile::tempdir().unwrap();
    let (whole, cut) = (
        directory.path().join("whole.zst"),
        directory.path().join("cut.zst"),
    );
    fs::write(&whole, &tape).unwrap();
    fs::write(&cut, &tape[..tape.len() / 2]).unwrap();
    assert_eq!(code(&run(&["check", text(&whole)])), 0);
    assert_eq!(code(&run(&["check", text(&cut)])), 5);
    let missing = run(&[
        "check",
        text(&whole),
        text(&directory.path().join("missing")),
    ]);
    assert_eq!(code(&missing), 1);
    assert!(
        stderr(&missing).contains("1 tape checked, 0 violations"),
        "{}",
        stderr(&missing)
    );
    let nothing = run(&["check", text(&directory.path().join("missing"))]);
    assert_eq!(code(&nothing), 3);
    assert!(
        stderr(&nothing).ends_with("0 tapes checked, 0 violations\n"),
        "{}",
        stderr(&nothing)
    );
}

#[test]
fn audit_accounts_for_every_string() {
    let output = run(&["audit", text(&fixture(CLAUDE)), text(&fixture(CODEX))]);
    let table = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(code(&output), 0, "{table}{}", stderr(&output));
    assert!(
        table.contains(text(&claude_file()))
            && table.contains("2 sessions")
            && table.contains("omitted: "),
        "{table}"
    );
}

#[test]
fn audit_counts_the_text_of_an_unknown_member() {
    let more = claude_session("a").replacen(
        "\"isSidechain\":false",
        "\"isSidechain\":false,\"surprise\":\"a text of which no rule knows\"",
        1,
    );
    let output = run_with_input(&["audit", "--json", "-"], more.as_bytes());
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&found["path"], &found["adapter"]),
        (&"-".into(), &"claude-code".into())
    );
    assert_eq!(
        (
            &found["unknown"]["strings"],
            &found["left_over"]["strings"],
            &found["leaves"]["unknown"]
        ),
        (&1.into(), &0.into(), &1.into())
    );
    let table = String::from_utf8(run_with_input(&["audit", "-"], more.as_bytes()).stdout).unwrap();
    assert!(
        table.contains("unknown members: 1 value, counted in the ledger"),
        "{table}"
    );
}

#[test]
fn audit_fails_like_a_conversion() {
    let nothing = run(&["audit", "/nowhere/at/all.jsonl"]);
    assert_eq!(code(&nothing), 3);
    assert!(
        nothing.stdout.is_empty(),
        "{}",
        String::from_utf8_lossy(&nothing.stdout)
    );
    assert_eq!(code(&run_with_input(&["audit", "-"], b"hello\n")), 3);
}
