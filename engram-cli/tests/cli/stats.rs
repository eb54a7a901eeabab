//! `engram stats`: the same numbers from a log, a store and their tapes.

use super::*;

/// A session of a model that has no price.
const MOCK: &str = "opencode/0.1.174/main";

fn stats(paths: &[&Path]) -> Value {
    let output = engram()
        .args(["stats", "--json"])
        .args(paths)
        .output()
        .unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_log_and_its_tape_give_the_same_numbers() {
    for name in [
        CLAUDE,
        CODEX,
        "opencode/1.18.34/anthropic",
        "gemini/0.61.0/b_edit",
    ] {
        let directory = fixture(name);
        let tapes = tempfile::tempdir().unwrap();
        let output = run(&["ingest", text(&directory), "--out", text(tapes.path())]);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let counts = stats(&[&directory]);
        assert!(counts["prompts"].as_u64() > Some(0), "{counts}");
        assert_eq!(counts, stats(&[tapes.path()]), "{name}");
    }
}

#[test]
fn sessions_are_added() {
    let (one, both) = (
        stats(&[&claude_file()]),
        stats(&[&claude_file(), &fixture(CODEX)]),
    );
    assert_eq!(
        (&one["sessions"], &one["sub_agents"]),
        (&1.into(), &0.into())
    );
    assert!(both["prompts"].as_u64() > one["prompts"].as_u64());
    assert!(
        both["by_model"].as_object().unwrap().len() > one["by_model"].as_object().unwrap().len()
    );
}

/// Numbers that must not depend on how many forms of a session there are.
fn sums(counts: &Value) -> Value {
    let tokens = counts["by_model"].as_object().unwrap().values();
    let [input, output] = ["input", "output"].map(|name| {
        tokens
            .clone()
            .map(|model| model[name].as_u64().unwrap_or_default())
            .sum::<u64>()
    });
    serde_json::json!([
        counts["sessions"],
        counts["sub_agents"],
        counts["prompts"],
        input,
        output
    ])
}

#[test]
fn a_session_in_several_forms_counts_once() {
    let mut several = 0;
    for harness in ["claude-code", "codex", "gemini", "opencode", "cursor"] {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../fixtures")
            .join(harness);
        let versions = fs::read_dir(fixtures)
            .unwrap()
            .map(|version| version.unwrap().path());
        let directories = versions.flat_map(|version| {
            fs::read_dir(version)
                .unwrap()
                .map(|directory| directory.unwrap().path())
        });
        // Sessions, and what the same runs printed.
        for directory in directories.filter(|directory| {
            directory.join("stdout").is_dir() && directory.join("session").is_dir()
        }) {
            let session = run(&["stats", "--json", text(&directory.join("session"))]);
            if code(&session) != 0 {
                continue;
            }
            let session: Value = serde_json::from_slice(&session.stdout).unwrap();
            let all = run(&["stats", "--json", "-v", text(&directory)]);
            assert_eq!(
                sums(&serde_json::from_slice(&all.stdout).unwrap()),
                sums(&session),
                "{}",
                directory.display()
            );
            several += stderr(&all)
                .matches(": the session is counted from ")
                .count();
        }
    }
    assert!(several > 4, "{several}");
}

#[test]
fn a_session_and_its_tapes_count_once_unless_every_form_is_asked_for() {
    let (log, out) = (claude_file(), tempfile::tempdir().unwrap());
    assert_eq!(
        code(&run(&["ingest", text(&log), "--out", text(out.path())])),
        0
    );
    let (once, both) = (stats(&[&log]), stats(&[&log, out.path()]));
    assert_eq!(once, both);
    let output = run(&["stats", "--json", text(&log), text(out.path())]);
    assert!(
        stderr(&output).contains("1 input whose session is counted from another one"),
        "{}",
        stderr(&output)
    );
    let every: Value = serde_json::from_slice(
        &run(&[
            "stats",
            "--json",
            "--every-form",
            text(&log),
            text(out.path()),
        ])
        .stdout,
    )
    .unwrap();
    assert_eq!(
        every["prompts"].as_u64(),
        once["prompts"].as_u64().map(|prompts| 2 * prompts)
    );
    // A part of the session has less, and what another session has is not compared with it.
    let directory = directory_of(&[
        ("part.jsonl", &claude_session(CLAUDE_ID)),
        ("other.jsonl", &claude_session("other")),
    ]);
    assert_eq!(stats(&[&log, &directory.path().join("part.jsonl")]), once);
    assert_eq!(stats(&[&log, directory.path()])["sessions"], 2);
}

#[test]
fn the_table_has_the_same_numbers() {
    let counts = stats(&[&claude_file()]);
    let table = String::from_utf8(run(&["stats", text(&claude_file())]).stdout).unwrap();
    let row = |name: &str| {
        table
            .lines()
            .find(|line| line.starts_with(name))
            .unwrap_or_default()
            .split_whitespace()
            .last()
            .map(str::to_owned)
    };
    assert_eq!(row("prompts"), Some(counts["prompts"].to_string()));
    assert_eq!(
        row("files edited"),
        Some(counts["files_edited"].to_string())
    );
}

#[test]
fn a_cost_that_no_response_states_is_computed_and_says_so() {
    let counts = stats(&[&fixture(CODEX)]);
    assert_eq!(counts["cost_basis"], "computed", "{counts}");
    assert!(counts["cost_usd"].as_f64() > Some(0.0), "{counts}");
    let output = run(&["stats", text(&fixture(CODEX))]);
    let table = String::from_utf8(output.stdout.clone()).unwrap();
    let total = table.lines().find(|line| line.starts_with("USD")).unwrap();
    assert!(total.contains(" ~"), "{table}");
    assert!(
        stderr(&output).contains("~ computed"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_model_without_a_price_is_named_and_a_price_of_a_person_wins() {
    let directory = directory_of(&[
        ("none.tsv", "model\tinput\toutput\nother\t1\t1\n"),
        ("own.tsv", "model\tinput\toutput\nmock-claude\t1000000\t0\n"),
    ]);
    let with = |table: &str| {
        let table = directory.path().join(table);
        let log = fixture(MOCK);
        run(&["stats", "--json", "--prices", text(&table), text(&log)])
    };
    let of = |output: Output| -> Value { serde_json::from_slice(&output.stdout).unwrap() };
    let none = of(with("none.tsv"));
    assert!(none.get("cost_usd").is_none(), "{none}");
    assert_eq!(
        none["models_without_price"],
        serde_json::json!(["mock-claude"])
    );
    let own = of(with("own.tsv"));
    // One dollar for each token that was read, from a cache or not.
    let tokens = &own["by_model"]["mock-claude"];
    let read = ["input", "cache_read", "cache_write"];
    let read: u64 = read.iter().filter_map(|name| tokens[name].as_u64()).sum();
    assert_eq!(own["cost_usd"].as_f64(), Some(read as f64), "{own}");
}

#[test]
fn a_wrong_table_of_prices_is_wrong_usage() {
    let directory = directory_of(&[
        ("columns.tsv", "model,input,output\n"),
        ("price.tsv", "model\tinput\toutput\nm\t1\t1\nn\tx\t1\n"),
    ]);
    fs::write(directory.path().join("bytes.tsv"), b"model\xff\n").unwrap();
    let log = fixture(MOCK);
    let with = |table: &str| {
        let table = directory.path().join(table);
        let line = ["stats", "--error-format", "json", "--prices"];
        let bad = run(&[&line[..], &[text(&table), text(&log)]].concat());
        let error: Value = serde_json::from_str(stderr(&bad).trim()).unwrap();
        (
            code(&bad),
            error["code"].clone(),
            error["line"].clone(),
            stderr(&bad),
        )
    };
    let tables = [
        (
            "columns.tsv",
            2,
            "bad_prices",
            Some(1),
            "there is no column `model`",
        ),
        ("price.tsv", 2, "bad_prices", Some(3), "`input`"),
        ("bytes.tsv", 2, "bad_prices", None, "it is not UTF-8"),
        ("missing.tsv", 3, "not_found", None, ""),
        ("/dev/zero", 6, "io", None, "more than"),
    ];
    for (table, exit, name, line, reason) in tables
        .into_iter()
        .filter(|(table, ..)| cfg!(unix) || !table.starts_with('/'))
    {
        let (code, found, at, said) = with(table);
        assert_eq!(
            (code, found, at),
            (exit, name.into(), line.into()),
            "{said}"
        );
        // A table has no records, so the error does not speak of damaged records.
        assert!(said.contains(reason) && !said.contains("record"), "{said}");
    }
}

#[test]
fn a_file_that_is_neither_log_nor_tape_is_an_error() {
    let directory = directory_of(&[
        ("notes.jsonl", "hello\n"),
        ("bad.tape.jsonl", "{\"seq\":0,\"t\":\"x\"}\n"),
    ]);
    assert_eq!(
        code(&run(&[
            "stats",
            text(&directory.path().join("notes.jsonl"))
        ])),
        3
    );
    assert_eq!(
        code(&run(&[
            "stats",
            text(&directory.path().join("bad.tape.jsonl"))
        ])),
        5
    );
}

/// The number in a member of a row; 0 if it is not known.
fn number(row: &Value, pointer: &str) -> u64 {
    row.pointer(pointer)
        .and_then(Value::as_u64)
        .unwrap_or_default()
}

#[test]
fn every_answer_has_the_same_numbers() {
    let logs = [
        CLAUDE,
        "claude-code/2.1.329/c_subagent",
        CODEX,
        "opencode/1.18.34/anthropic",
        "gemini/0.61.0/b_edit",
    ]
    .map(fixture);
    let tapes = tempfile::tempdir().unwrap();
    let mut ingest = vec!["ingest", "--out", text(tapes.path())];
    ingest.extend(logs.iter().map(|log| text(log)));
    assert_eq!(code(&run(&ingest)), 0);
    let all = stats(&[tapes.path()]);
    assert_eq!(
        (number(&all, "/sessions"), number(&all, "/sub_agents")),
        (5, 4)
    );
    let logs: Vec<&Path> = logs.iter().map(PathBuf::as_path).collect();
    assert_eq!(stats(&logs), all, "logs and tapes");
    let calls = |counts: &Value| -> u64 {
        let kinds = counts["calls"].as_object().into_iter().flatten();
        let statuses = kinds.filter_map(|(_, statuses)| statuses.as_object());
        statuses
            .flatten()
            .filter_map(|(_, calls)| calls.as_u64())
            .sum()
    };
    let models = all["by_model"].as_object().unwrap();
    let tokens = |name: &str| -> u64 { models.values().map(|model| number(model, name)).sum() };
    let usd = |row: &Value| row["cost_usd"].as_f64().unwrap_or_default();
    let is_equal = |one: f64, other: f64| (one - other).abs() < 1e-9;
    let rows = |args: &[&str]| -> Vec<Value> {
        let output = run(&[args, &[text(tapes.path())]].concat());
        assert_eq!(code(&output), 0, "{args:?}: {}", stderr(&output));
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    for by in [
        "project",
        "harness",
        "session",
        "day",
        "week",
        "model",
        "project,day",
    ] {
        let rows = rows(&["stats", "--json", "--by", by]);
        let sum = |name: &str| -> u64 { rows.iter().map(|row| number(row, name)).sum() };
        for name in ["/input", "/cache_read", "/cache_write", "/output"] {
            assert_eq!(sum(&format!("/tokens{name}")), tokens(name), "{by} {name}");
        }
        if by != "model" {
            assert_eq!(sum("/prompts"), number(&all, "/prompts"), "{by}");
            assert_eq!(rows.iter().map(calls).sum::<u64>(), calls(&all), "{by}");
        } else {
            assert!(
                rows.iter().all(|row| row.get("prompts").is_none()),
                "a model has no prompts"
            );
        }
        assert!(
            is_equal(rows.iter().map(usd).sum(), usd(&all)),
            "{by}: {rows:?}"
        );
    }
    for args in [&["list", "--json"][..], &["list", "--json", "--agents"]] {
        let rows = rows(args);
        let sum = |name: &str| -> u64 { rows.iter().map(|row| number(row, name)).sum() };
        assert_eq!(sum("/prompts"), number(&all, "/prompts"), "{args:?}");
        assert_eq!(sum("/calls"), calls(&all), "{args:?}");
        assert_eq!(sum("/tokens/input"), tokens("/input"), "{args:?}");
        assert_eq!(sum("/tokens/output"), tokens("/output"), "{args:?}");
    }
    assert!(is_equal(
        rows(&["list", "--json"]).iter().map(usd).sum(),
        usd(&all)
    ));
    let page = run(&[
        "show",
        "--no-pager",
        text(tapes.path()),
        "--session",
        CLAUDE_ID,
    ]);
    let page = String::from_utf8(page.stdout).unwrap();
    assert!(page.contains("cost: 0.1555 USD"), "{page}");
    let site = tapes.path().join("site");
    assert_eq!(
        code(&run(&["show", text(tapes.path()), "--html", text(&site)])),
        0
    );
    let index = fs::read_to_string(site.join("index.html")).unwrap();
    let said = format!(
        "5 sessions, 4 sub-agents, {} prompts, {} calls",
        number(&all, "/prompts"),
        calls(&all)
    );
    assert!(index.contains(&said), "{said}");
    let at = tapes.path().join("index");
    let ask = |args: &[&str]| {
        let output = run(args);
        assert_eq!(code(&output), 0, "{args:?}: {}", stderr(&output));
        output.stdout
    };
    let of_index = ["--index", text(&at)];
    ask(&[&["index"], &of_index[..], &["add", text(tapes.path())]].concat());
    let asked = |sql: &str| -> Value {
        let answer = ask(&[&["query", sql, "--json", "--no-ingest"], &of_index[..]].concat());
        serde_json::from_slice(&answer).unwrap()
    };
    let row = asked(
        "select count(distinct harness || session_id) as sessions, (select count(*) from prompts where by = 'person') as prompts, (select count(*) from calls) as calls from sessions",
    );
    assert_eq!(
        ["/sessions", "/prompts", "/calls"].map(|name| number(&row, name)),
        [5, number(&all, "/prompts"), calls(&all)],
        "{row}"
    );
    let row = asked("select sum(input) as input, sum(output) as output from usage");
    assert_eq!(
        ["/input", "/output"].map(|name| number(&row, name)),
        [tokens("/input"), tokens("/output")]
    );
}

/// Sub-agents of Codex have ids of their own, which begin as that of their session does. The session of one of them is not there.
#[test]
fn sub_agents_with_ids_of_their_own_count_for_their_session_or_have_a_row() {
    let (family, orphan) = ("codex/0.171.0/x_multi2", "codex/0.169.0/sub");
    let orphan = fixture(orphan).join(
        ".codex/sessions/2026/11/21/rollout-2026-11-21T10-17-33-01a1fd9c-7c31-76e1-b0b7-f2235b77f7de.jsonl",
    );
    let tapes = tempfile::tempdir().unwrap();
    let out = text(tapes.path());
    let ingested = run(&[
        "ingest",
        "--out",
        out,
        text(&fixture(family)),
        text(&orphan),
    ]);
    assert_eq!(code(&ingested), 0, "{}", stderr(&ingested));
    let all = stats(&[tapes.path()]);
    assert_eq!(
        (number(&all, "/sessions"), number(&all, "/sub_agents")),
        (1, 3)
    );
    let rows = |args: &[&str]| -> Vec<Value> {
        let printed = String::from_utf8(run(args).stdout).unwrap();
        let lines = printed.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let session = "01a21982-ed81-74f0-9df1-a851e09f5a49";
    let by_session = rows(&["stats", "--json", "--by", "session", out]);
    let mut sessions: Vec<&str> = by_session
        .iter()
        .map(|row| row["session"].as_str().unwrap())
        .collect();
    sessions.sort_unstable();
    // Of the session that is not there, its sub-agent has the name.
    assert_eq!(sessions, ["01a1fd9c-7b24-7053-9f98-4ffe2715167a", session]);
    let listed = rows(&["list", "--json", out]);
    let sum = |name: &str| -> u64 { listed.iter().map(|row| number(row, name)).sum() };
    let models = all["by_model"].as_object().unwrap();
    let input: u64 = models.values().map(|model| number(model, "/input")).sum();
    assert_eq!((listed.len(), sum("/tokens/input")), (2, input));
    // The id of the table is one that `show` understands.
    let table = String::from_utf8(run(&["list", "--project", "proj", out]).stdout).unwrap();
    for line in table.lines().skip(1) {
        let id = line.split_whitespace().next().unwrap();
        let shown = run(&["show", "--no-pager", "--tapes", out, id]);
        assert_eq!(code(&shown), 0, "{id}: {}", stderr(&shown));
    }
}

#[test]
fn prices_of_a_person_win_on_a_page_and_in_a_document() {
    let directory = directory_of(&[("own.tsv", "model\tinput\toutput\nmock-claude\t1000000\t0\n")]);
    let (own, log) = (directory.path().join("own.tsv"), fixture(MOCK));
    let usd = run(&["stats", "--json", "--prices", text(&own), text(&log)]);
    let usd: Value = serde_json::from_slice(&usd.stdout).unwrap();
    let line = format!(
        "cost: {:.4} USD, computed",
        usd["cost_usd"].as_f64().unwrap()
    );
    for form in [&["--no-pager"][..], &["--markdown"], &["--html", "-"]] {
        let shown = run(&[&["show", text(&log), "--prices", text(&own)], form].concat());
        assert!(
            String::from_utf8(shown.stdout).unwrap().contains(&line),
            "{form:?}: {line}"
        );
    }
}

#[test]
fn the_last_line_of_files_is_about_the_files_that_are_shown() {
    let logs = [fixture(CLAUDE), fixture(CODEX)];
    let files = |below: &str| {
        let [claude, codex] = logs.each_ref().map(|log| text(log));
        let output = run(&["files", "--below", below, claude, codex]);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        stderr(&output)
    };
    assert!(
        files("/").contains(" of 2 sessions, 64 calls, "),
        "{}",
        files("/")
    );
    let one = files("multi.py");
    assert!(one.contains("1 file of 1 session, 28 calls, "), "{one}");
}

#[test]
fn a_table_fits_80_columns() {
    let logs = [
        fixture(CLAUDE),
        fixture(CODEX),
        fixture("gemini/0.61.0/b_edit"),
    ];
    let paths = logs.each_ref().map(|log| text(log));
    for args in [
        &["stats"][..],
        &["stats", "--by", "model"],
        &["stats", "--by", "day,model"],
        &["stats", "--by", "project"],
        &["list"],
    ] {
        let output = engram()
            .args(args)
            .args(paths)
            .env("COLUMNS", "80")
            .output()
            .unwrap();
        let table = String::from_utf8(output.stdout).unwrap();
        let widest = table.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(80), "{args:?}: {table}");
        assert!(table.contains("USD"), "{args:?}: {table}");
    }
}

#[test]
fn a_session_without_anything_that_counts_is_on_the_day_that_it_began() {
    let logs = fixture("opencode/1.18.34/api");
    let rows = run(&["stats", text(&logs), "--by", "day", "--json"]).stdout;
    let rows: Vec<Value> = String::from_utf8(rows)
        .unwrap()
        .lines()
        .map(|row| serde_json::from_str(row).unwrap())
        .collect();
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!(
        (&rows[0]["day"], &rows[0]["sessions"]),
        (&"2026-11-21".into(), &4.into())
    );
}
