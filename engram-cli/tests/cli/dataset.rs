//! `engram ingest --to parquet`: tables that grow from run to run, as DuckDB, polars and pandas read them.

use std::collections::BTreeMap;
use std::time::SystemTime;

use super::*;

const FIRST: &str = "claude-code/2.1.329/n_edits";
const SECOND: &str = "codex/0.169.0/main";
const THIRD: &str = "claude-code/2.1.329/c_subagent";

/// What three readers find in a dataset: rows and sums of each table, and that its keys are unique.
const READ: &str = r#"
import glob, json, sys
import duckdb, pandas, polars
root = sys.argv[1]
KEYS = {"events": ["tape", "seq"], "tapes": ["tape"], "sessions": ["session_key"], "prompts": ["tape", "seq"],
        "calls": ["tape", "seq", "result_seq"], "edits": ["tape", "seq"], "usage": ["tape", "seq"]}
found = {}
for table, keys in KEYS.items():
    at = f"{root}/{table}/**/*.parquet"
    columns = ", ".join(keys)
    rows, distinct = duckdb.sql(f"select count(*), (select count(*) from (select distinct {columns} from '{at}')) from '{at}'").fetchall()[0]
    assert rows == distinct, (table, rows, distinct)
    of_polars = polars.read_parquet(at, hive_partitioning=False, glob=True)
    of_pandas = pandas.concat([pandas.read_parquet(file, partitioning=None) for file in sorted(glob.glob(at, recursive=True))])
    assert len(of_polars) == len(of_pandas) == rows, table
    sums = [0, 0.0]
    if table == "usage":
        live = f"from '{at}' where not replay"
        sums = list(duckdb.sql(f"select sum(coalesce(input, 0) + coalesce(output, 0)), round(sum(coalesce(cost_usd, cost_computed_usd)), 9) {live}").fetchall()[0])
        part = of_polars.filter(~polars.col("replay"))
        assert part["input"].fill_null(0).sum() + part["output"].fill_null(0).sum() == sums[0]
        part = of_pandas[~of_pandas["replay"]]
        assert int(part["input"].fillna(0).sum() + part["output"].fillna(0).sum()) == sums[0]
    if table not in ("tapes", "sessions"):
        counted = f"select tape from '{root}/tapes/**/*.parquet' where repeats is null"
        lost = duckdb.sql(f"select count(*) from '{at}' where tape in ({counted}) and session_key not in (select session_key from '{root}/sessions/**/*.parquet')").fetchall()[0]
        assert lost == (0,), (table, lost)
    found[table] = [rows, *sums]
con = duckdb.connect()
import os
os.chdir(root)
con.sql(open("schema.sql").read())
found["cost"] = con.sql("select round(sum(usd), 9) from session_costs").fetchall()[0][0]
for name, sql in json.loads(sys.argv[2]).items():
    rows = [(row[0], *(float(cell or 0) for cell in row[1:]), 0.0)[:3] for row in con.sql(sql).fetchall()]
    found[name] = sorted(rows, key=str)
agents = """select count(distinct (s.harness, t.session_id, s.agent_id)) from sessions s join tapes t using (tape)
    where s.agent_id is not null and s.events > s.replayed"""
found["repeats"] = con.sql("select count(repeats) from tapes").fetchall()[0][0]
found["live"] = con.sql("""select (select count(*) from prompts where "by" = 'person' and not replay), (select count(seq) from calls where not replay),
    (select count(*) from edits where not replay)""").fetchall()[0]
found["sub_agents"] = con.sql(agents).fetchall()[0][0]
print(json.dumps(found, sort_keys=True))
"#;

/// What the readers find; `None` if there is no Python with them.
pub fn read(dataset: &Path) -> Option<Value> {
    let python = std::env::var_os("ENGRAM_PYTHON").unwrap_or_else(|| "python3".into());
    let has = Command::new(&python)
        .args(["-c", "import duckdb, pandas, polars, pyarrow"])
        .output();
    if !has.is_ok_and(|has| has.status.success()) {
        eprintln!("skipped: ENGRAM_PYTHON names no Python with duckdb, polars, pandas and pyarrow");
        return None;
    }
    let read = Command::new(&python)
        .args(["-c", READ])
        .arg(dataset)
        .arg(
            serde_json::json!({"by_project": sums::BY_PROJECT, "by_session": sums::BY_SESSION, "work": sums::WORK_BY_PROJECT})
                .to_string(),
        )
        .output()
        .unwrap();
    assert!(read.status.success(), "{}", stderr(&read));
    Some(serde_json::from_slice(&read.stdout).unwrap())
}

/// The files of the tables, with the time of their last change.
fn files(dataset: &Path) -> BTreeMap<String, SystemTime> {
    names(dataset)
        .into_iter()
        .filter(|name| name.contains("part-"))
        .map(|name| {
            let changed = dataset.join(&name).metadata().unwrap().modified().unwrap();
            (name, changed)
        })
        .collect()
}

fn copy(fixture_of: &str, to: &Path) {
    let from = fixture(fixture_of);
    for name in names(&from) {
        let place = to.join(fixture_of).join(&name);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::copy(from.join(&name), place).unwrap();
    }
}

fn ingest(at: &Path, more: &[&str]) -> Output {
    let (logs, out) = (at.join("logs"), at.join("tables"));
    let args = [
        "ingest",
        text(&logs),
        "--to",
        "parquet",
        "--out",
        text(&out),
    ];
    let output = run(&[&args[..], more].concat());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    output
}

#[test]
fn a_run_writes_only_what_is_new() {
    for more in [
        &[][..],
        &["--partition", "day"],
        &["--partition", "project"],
    ] {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path();
        let tables = at.join("tables");
        let mut before = BTreeMap::new();
        for added in [FIRST, SECOND, THIRD] {
            copy(added, &at.join("logs"));
            let output = ingest(at, more);
            let now = files(&tables);
            assert!(
                before
                    .iter()
                    .all(|(name, time)| now.get(name) == Some(time)),
                "{added}: old files stay"
            );
            assert!(now.len() > before.len(), "{}", stderr(&output));
            before = now;
        }
        let own = || {
            let own = ["dataset.jsonl", "schema.sql"].map(|name| tables.join(name));
            own.map(|file| file.metadata().unwrap().modified().unwrap())
        };
        let own_before = own();
        let again = ingest(at, more);
        assert_eq!(own(), own_before);
        assert!(
            stderr(&again).contains("0 new or changed; 3 of 3 parts stay"),
            "{}",
            stderr(&again)
        );
        assert_eq!(files(&tables), before);
        if let [_, by] = more {
            let named = match *by {
                "day" => "sessions/day=2026-",
                _ => "sessions/project_key=proj-",
            };
            assert!(
                before.keys().any(|name| name.starts_with(named)),
                "{before:?}"
            );
        }
        // The same rows as from one run over everything.
        let (grown, whole) = (read(&tables), at.join("whole"));
        let once = run(&[
            "ingest",
            text(&at.join("logs")),
            "--to",
            "parquet",
            "--out",
            text(&whole),
        ]);
        assert_eq!(code(&once), 0, "{}", stderr(&once));
        let Some(grown) = grown else { continue };
        assert_eq!(Some(&grown), read(&whole).as_ref());
        let stats = run(&["stats", text(&at.join("logs")), "--json"]).stdout;
        let stats: Value = serde_json::from_slice(&stats).unwrap();
        let (stated, of_tables) = (
            stats["cost_usd"].as_f64().unwrap(),
            grown["cost"].as_f64().unwrap(),
        );
        assert!((stated - of_tables).abs() < 1e-8, "{stated} {of_tables}");
    }
}

#[test]
fn a_session_that_goes_on_is_there_once_and_another_partition_is_another_dataset() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    copy(FIRST, &at.join("logs"));
    copy(SECOND, &at.join("logs"));
    let log = only_file(&at.join("logs").join(FIRST), ".jsonl");
    let whole = fs::read_to_string(&log).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    fs::write(&log, lines[..lines.len() / 2].join("\n") + "\n").unwrap();
    ingest(at, &[]);
    fs::write(&log, &whole).unwrap();
    ingest(at, &[]);
    let once = at.join("once");
    assert_eq!(
        code(&run(&[
            "ingest",
            text(&at.join("logs")),
            "--to",
            "parquet",
            "--out",
            text(&once)
        ])),
        0
    );
    assert_eq!(read(&at.join("tables")), read(&once));
    ingest(at, &["--partition", "day"]);
    let files = files(&at.join("tables"));
    assert!(
        files
            .keys()
            .filter(|name| !name.contains("day="))
            .all(|name| name.contains("part-00000-")),
        "{files:?}"
    );
    assert_eq!(read(&at.join("tables")), read(&once));
    // What a killed run left goes, and other directories are not taken.
    let left = at.join("tables/events/day=2026-11-21/part-ffffffffffffffff-000.parquet");
    fs::create_dir_all(left.parent().unwrap()).unwrap();
    fs::write(&left, "").unwrap();
    ingest(at, &["--partition", "day"]);
    assert!(!left.exists());
    let taken = run(&[
        "ingest",
        text(&at.join("logs")),
        "--to",
        "parquet",
        "--out",
        text(&at.join("logs")),
    ]);
    assert_eq!(code(&taken), 6, "{}", stderr(&taken));
}

#[test]
fn a_capture_that_a_log_repeats_later_gives_its_rows_up() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let tables = at.join("tables");
    copy("claude-code/2.1.326/m_cron_stream", &at.join("logs"));
    ingest(at, &[]);
    copy("claude-code/2.1.326/m_cron", &at.join("logs"));
    let output = ingest(at, &[]);
    let said = stderr(&output);
    assert!(
        said.contains("2 new or changed; 0 of 1 parts stay"),
        "{said}"
    );
    let Some(found) = read(&tables) else { return };
    assert_eq!(found["repeats"], 1);
    let stats = run(&["stats", text(&at.join("logs")), "--json"]).stdout;
    let stats: Value = serde_json::from_slice(&stats).unwrap();
    assert_eq!(found["live"][0], stats["prompts"]);
}
