//! One number of everything: sessions, prompts, calls, edits, tokens and costs are the same in `stats`, `list`, `query` and the tables.

use std::collections::BTreeMap;

use super::index::Home;
use super::*;

/// Sessions with totals, forks, sub-agents on tapes of their own and on that of their session, replayed history, stated costs and responses that
/// state none.
const FIXTURES: [&str; 13] = [
    "claude-code/1.0.0/c_subagent",
    "claude-code/1.0.100/n_stream",
    "claude-code/2.1.329/c_subagent",
    "claude-code/2.1.329/d_resume",
    "claude-code/2.1.332/m_tuifork",
    "claude-code/2.1.90/n_stream_agents",
    "codex/0.169.0/sub-codemode",
    "codex/0.171.0/x_review",
    "copilot/1.0.102/sub",
    "cursor/2026.10.01-e373342/hooks",
    "gemini/0.16.0/c_subagent",
    "opencode/1.14.34/resume",
    "opencode/1.14.34/sub",
];

/// Synthetic: a session that names no directory, with sub-agents that do, as some of Gemini CLI are. Its project is theirs.
const WITHOUT_PROJECT: &str = "69a38eaa-79ad-4865-bd62-78e0d1276315.jsonl";
const CWD: &str = r#""cwd":"/home/dev/proj","#;

/// What the views come to. Each session counts once, although several tapes may have it.
const OF_VIEWS: &str = "SELECT
    (SELECT count(DISTINCT harness || '/' || coalesce(session_id, tape)) FROM sessions
        WHERE agent_id IS NULL AND (coalesce(session_id, start) IS NOT NULL OR prompts + calls > 0)) AS sessions,
    (SELECT count(DISTINCT harness || '/' || session_id || '/' || agent_id) FROM sub_agents) AS sub_agents,
    (SELECT count(*) FROM prompts WHERE by = 'person') AS prompts, (SELECT count(*) FROM calls) AS calls,
    (SELECT count(*) FROM edits) AS edits,
    (SELECT sum(ifnull(input, 0) + ifnull(cache_read, 0) + ifnull(cache_write, 0) + ifnull(output, 0)) FROM usage) AS tokens,
    (SELECT sum(usd) FROM session_costs) AS usd";

/// The same sums by the columns of `sessions`.
const OF_SESSIONS: &str = "SELECT sum(prompts) AS prompts, sum(calls) AS calls, sum(edits) AS edits, sum(cost_usd) AS stated,
    sum(cost_computed_usd) AS computed, sum(responses_without_cost) AS without FROM sessions";
const OF_USAGE: &str = "SELECT sum(cost_usd) AS stated, sum(cost_computed_usd) AS computed, sum(responses_without_cost) AS without FROM usage";

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_default()
}

/// The sum of a number in all leaves of a value.
fn all(value: &Value) -> f64 {
    match value {
        Value::Object(members) => members.values().map(all).sum(),
        other => number(other),
    }
}

/// Tokens, whatever became of them.
fn tokens(of: &Value) -> f64 {
    let names = ["input", "cache_read", "cache_write", "output"];
    names.iter().map(|name| number(&of["tokens"][*name])).sum()
}

/// Money by project and by session, and prompts and calls by project, in SQL: of the views of the index, and of those of the tables.
pub const BY_PROJECT: &str =
    "SELECT coalesce(project, 'unknown') AS name, sum(usd) AS usd FROM session_costs GROUP BY 1";
pub const BY_SESSION: &str = "SELECT session AS name, usd FROM session_costs";
pub const WORK_BY_PROJECT: &str = "SELECT coalesce(project, 'unknown') AS name, sum(prompts) AS prompts, sum(calls) AS calls FROM sessions GROUP BY 1";

/// What a division gives, without rows of nothing.
type Division = BTreeMap<String, [f64; 2]>;

fn divided(rows: &[Value], name: &str, numbers: [&dyn Fn(&Value) -> f64; 2]) -> Division {
    let row = |row: &Value| {
        (
            row[name].as_str().unwrap_or_default().to_owned(),
            numbers.map(|of| of(row)),
        )
    };
    rows.iter()
        .map(row)
        .filter(|(_, of)| of.iter().any(|of| *of != 0.0))
        .collect()
}

fn assert_same(found: &Division, wanted: &Division, what: &str) {
    assert_eq!(
        found.keys().collect::<Vec<_>>(),
        wanted.keys().collect::<Vec<_>>(),
        "{what}"
    );
    for (name, of) in found {
        (0..2).for_each(|at| assert_near(of[at], wanted[name][at], &format!("{what}: {name}")));
    }
}

fn assert_near(found: f64, wanted: f64, what: &str) {
    assert!((found - wanted).abs() < 1e-8, "{what}: {found} {wanted}");
}

#[test]
fn every_answer_has_the_same_sums() {
    let home = Home::new();
    let logs = home.directory.path().join("logs");
    for name in FIXTURES {
        let from = fixture(name);
        for file in names(&from) {
            let to = logs.join(name).join(&file);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            let mut log = fs::read(from.join(&file)).unwrap();
            if file.ends_with(WITHOUT_PROJECT) {
                let text = String::from_utf8(log).unwrap();
                assert!(text.contains(CWD));
                log = text.replace(CWD, "").into_bytes();
            }
            fs::write(to, log).unwrap();
        }
    }
    let tapes = home.path("tapes");
    let out = home.run(&["ingest", text(&logs), "--out", &tapes, "--index"]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    let prices = home.path("prices.tsv");
    let own = "model\tinput\toutput\nclaude-opus-5-5\t1\t2\ngpt-5.5\t3\t4\nmock-claude\t0.5\t0.5\n";
    fs::write(&prices, own).unwrap();
    for more in [&[][..], &["--prices", &prices]] {
        let answer = |args: &[&str]| home.json(&[args, &["--json"], more].concat());
        let stats = answer(&["stats", &tapes]).remove(0);
        let (usd, calls, edits) = (
            number(&stats["cost_usd"]),
            all(&stats["calls"]),
            all(&stats["edits"]),
        );
        assert!(usd > 0.1 && stats["cost_basis"] == "mixed", "{stats}");

        let views = answer(&["query", OF_VIEWS, "--no-ingest"]).remove(0);
        for name in ["sessions", "sub_agents", "prompts"] {
            assert_eq!(views[name], stats[name], "{name}");
        }
        assert_eq!(
            [number(&views["calls"]), number(&views["edits"])],
            [calls, edits]
        );
        assert_near(number(&views["tokens"]), tokens(&stats), "tokens");
        assert_near(number(&views["usd"]), usd, "usd");

        let inside =
            "SELECT count(DISTINCT agent_id) AS inside FROM sub_agents WHERE NOT has_own_tape";
        let inside = number(&answer(&["query", inside, "--no-ingest"])[0]["inside"]);
        let [of_sessions, of_usage] =
            [OF_SESSIONS, OF_USAGE].map(|sql| answer(&["query", sql, "--no-ingest"]).remove(0));
        assert_eq!(of_sessions["prompts"], stats["prompts"]);
        assert_eq!(
            [number(&of_sessions["calls"]), number(&of_sessions["edits"])],
            [calls, edits]
        );
        for name in ["stated", "computed", "without"] {
            assert!(number(&of_usage[name]) > 0.0, "{of_usage}");
            assert_near(number(&of_sessions[name]), number(&of_usage[name]), name);
        }

        let rows = answer(&["list", &tapes, "--limit", "0"]);
        let sum = |of: fn(&Value) -> f64| rows.iter().map(of).sum::<f64>();
        assert_eq!(
            sum(|row| number(&row["prompts"])),
            number(&stats["prompts"])
        );
        assert_eq!(sum(|row| number(&row["calls"])), calls);
        assert_near(sum(tokens), tokens(&stats), "tokens of `list`");
        assert_near(sum(|row| number(&row["cost_usd"])), usd, "usd of `list`");
        let alone = rows
            .iter()
            .filter(|row| row["agent_id"].is_string())
            .count() as f64;
        let agents = number(&stats["sub_agents"]);
        assert_eq!(sum(|row| number(&row["sub_agents"])) + alone, agents);
        assert!(inside > 3.0 && agents > inside, "{inside} {agents}");

        for by in ["harness", "project", "day", "session"] {
            let rows = answer(&["stats", &tapes, "--by", by]);
            let sum = |name: &str| rows.iter().map(|row| number(&row[name])).sum::<f64>();
            if by != "day" {
                assert_eq!(sum("sub_agents"), agents, "{by}");
            }
            assert_eq!(sum("prompts"), number(&stats["prompts"]), "{by}");
            assert_near(sum("cost_usd"), usd, by);
        }

        let (usd_of, none) = (|row: &Value| number(&row["usd"]), |_: &Value| 0.0);
        let (prompts_of, calls_of) = (
            |row: &Value| number(&row["prompts"]),
            |row: &Value| all(&row["calls"]),
        );
        let of_stats =
            |by: &str, numbers| divided(&answer(&["stats", &tapes, "--by", by]), by, numbers);
        let stated = |row: &Value| number(&row["cost_usd"]);
        let (by_project, by_session) = (
            of_stats("project", [&stated, &none]),
            of_stats("session", [&stated, &none]),
        );
        let work = of_stats("project", [&prompts_of, &calls_of]);
        assert!(
            by_project.len() > 1 && by_session.len() > 5,
            "{by_project:?}"
        );
        for (sql, numbers, wanted) in [
            (
                BY_PROJECT,
                [&usd_of as &dyn Fn(&Value) -> f64, &none],
                &by_project,
            ),
            (BY_SESSION, [&usd_of, &none], &by_session),
            (WORK_BY_PROJECT, [&prompts_of, &calls_of], &work),
        ] {
            let found = divided(&answer(&["query", sql, "--no-ingest"]), "name", numbers);
            assert_same(&found, wanted, sql);
        }

        let tables = home.path(if more.is_empty() { "tables" } else { "own" });
        let export = ["export", "parquet", &tapes, "--out", &tables];
        let out = home.run(&[&export[..], more].concat());
        assert_eq!(code(&out), 0, "{}", stderr(&out));
        if let Some(found) = dataset::read(Path::new(&tables)) {
            assert_near(number(&found["cost"]), usd, "usd of the tables");
            assert_eq!(number(&found["sub_agents"]), agents);
            for (name, wanted) in [
                ("by_project", &by_project),
                ("by_session", &by_session),
                ("work", &work),
            ] {
                let rows: Vec<(Option<String>, f64, f64)> =
                    serde_json::from_value(found[name].clone()).unwrap();
                let rows = rows
                    .into_iter()
                    .map(|(of, one, other)| (of.unwrap_or_default(), [one, other]));
                let found = rows.filter(|(_, of)| *of != [0.0; 2]).collect();
                assert_same(&found, wanted, name);
            }
        }
    }
    let pages = home.path("pages");
    let out = home.run(&["show", &tapes, "--html", &pages, "--tz", "+09:00"]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    let stats = home.json(&["stats", &tapes, "--json"]).remove(0);
    let index = fs::read_to_string(Path::new(&pages).join("index.html")).unwrap();
    let said = format!(
        "{} sessions, {} sub-agents, ",
        stats["sessions"], stats["sub_agents"]
    );
    assert!(index.contains(&said), "{said}");
    assert!(index.contains("Events by hour (+09)"));
    let days = home.run(&["stats", &tapes, "--by", "day", "--tz", "+09:00"]);
    let days = String::from_utf8(days.stdout).unwrap();
    let mut with_money = 0;
    for row in days.lines().skip(1).filter(|row| !row.starts_with("total")) {
        let words: Vec<&str> = row.split_whitespace().collect();
        let usd = words
            .last()
            .filter(|usd| usd.contains('.') && !usd.ends_with(['k', 'M']));
        if let Some(usd) = usd {
            let said = format!("<title>{} {usd} USD</title>", words[0]);
            assert!(index.contains(&said), "{said}");
            with_money += 1;
        }
    }
    assert!(with_money > 2 && days.contains("unknown"), "{days}");
    let again = home.run(&["ingest", text(&logs), "--out", &tapes]);
    let said = format!(", {} sub-agents\n", stats["sub_agents"]);
    assert!(stderr(&again).contains(&said), "{}", stderr(&again));
}

#[test]
fn the_sums_of_pages_have_each_session_once() {
    let home = Home::new();
    let (tapes, pages) = (home.path("tapes"), home.path("pages"));
    let logs = format!("{}/../fixtures/qwen/0.24.4", env!("CARGO_MANIFEST_DIR"));
    let out = home.run(&["ingest", "--out", &tapes, &logs]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    let stats = home.json(&["stats", &tapes, "--json"]).remove(0);
    let out = home.run(&["show", &tapes, "--html", &pages]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    let index = fs::read_to_string(Path::new(&pages).join("index.html")).unwrap();
    let sums = index.split("data-sums=\"").skip(1);
    let sums = sums.filter_map(|rest| rest.split('"').next());
    let (mut prompts, mut calls) = (0.0, 0.0);
    for page in sums.filter(|page| !page.is_empty()) {
        let parts: Vec<f64> = page.split(' ').map(|part| part.parse().unwrap()).collect();
        (prompts, calls) = (prompts + parts[0], calls + parts[1]);
    }
    assert_eq!(prompts, number(&stats["prompts"]));
    assert_eq!(calls, all(&stats["calls"]));
    assert!(index.contains("counted from another page"));
}

/// Logs of sessions with captures of what they printed, which say the same again.
const OF_SEVERAL_FORMS: [&str; 4] = ["claude-code", "codex", "gemini", "qwen"];

#[test]
fn a_session_with_several_tapes_counts_once_in_sql_and_tables() {
    let home = Home::new();
    let tapes = home.path("tapes");
    let logs: Vec<String> = OF_SEVERAL_FORMS
        .map(|harness| format!("{}/../fixtures/{harness}", env!("CARGO_MANIFEST_DIR")))
        .to_vec();
    let ingest = [
        &["ingest", "--index", "--out", &tapes],
        &*logs.iter().map(String::as_str).collect::<Vec<_>>(),
    ]
    .concat();
    let out = home.run(&ingest);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    let out = home.run(&["stats", &tapes, "--json", "-v"]);
    let skipped = stderr(&out).matches("is counted from").count();
    assert!(skipped > 20, "{}", stderr(&out));
    let stats: Value = serde_json::from_slice(&out.stdout).unwrap();
    let live = [
        number(&stats["prompts"]),
        all(&stats["calls"]),
        all(&stats["edits"]),
    ];
    let every = home
        .json(&["stats", &tapes, "--json", "--every-form"])
        .remove(0);
    assert!(all(&every["calls"]) > all(&stats["calls"]) + 100.0);

    let views = home
        .json(&["query", OF_VIEWS, "--no-ingest", "--json"])
        .remove(0);
    // The views count tapes without the id of a session, and one of them has two sessions in one file.
    assert_eq!(number(&views["sessions"]) + 1.0, number(&stats["sessions"]));
    assert_eq!(views["sub_agents"], stats["sub_agents"]);
    assert_eq!(
        ["prompts", "calls", "edits"].map(|name| number(&views[name])),
        live
    );
    assert_near(number(&views["tokens"]), tokens(&stats), "tokens");
    assert_near(number(&views["usd"]), number(&stats["cost_usd"]), "usd");

    let rows = home.json(&["list", &tapes, "--limit", "0", "--json"]);
    let (repeats, rows): (Vec<Value>, Vec<Value>) =
        rows.into_iter().partition(|row| row["repeats"].is_string());
    assert!(repeats.len() > 20);
    let paths: Vec<&Value> = rows.iter().map(|row| &row["path"]).collect();
    assert!(repeats.iter().all(|row| paths.contains(&&row["repeats"])));
    let sum = |of: fn(&Value) -> f64| rows.iter().map(of).sum::<f64>();
    assert_eq!(
        [
            sum(|row| number(&row["prompts"])),
            sum(|row| number(&row["calls"]))
        ],
        live[..2]
    );
    assert_near(sum(tokens), tokens(&stats), "tokens of `list`");
    let alone = rows.iter().filter(|row| row["agent_id"].is_string());
    assert_eq!(
        sum(|row| number(&row["sub_agents"])) + alone.count() as f64,
        number(&stats["sub_agents"])
    );

    let tables = home.path("tables");
    let out = home.run(&["export", "parquet", &tapes, "--out", &tables]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    assert!(
        stderr(&out).contains("whose session is counted from another one"),
        "{}",
        stderr(&out)
    );
    if let Some(found) = dataset::read(Path::new(&tables)) {
        assert_eq!(number(&found["repeats"]), skipped as f64);
        assert_eq!(found["sub_agents"], stats["sub_agents"]);
        assert_eq!(
            serde_json::from_value::<[f64; 3]>(found["live"].clone()).unwrap(),
            live
        );
        assert_near(
            number(&found["cost"]),
            number(&stats["cost_usd"]),
            "usd of the tables",
        );
    }
}
