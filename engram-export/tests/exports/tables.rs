//! Parquet files of all golden tapes: read back by pyarrow, polars and DuckDB, they are the tapes.

use std::fs;
use std::path::Path;

use engram_core::tape::replay;
use engram_export::arrow::{BatchSink, Table, Tables, schema};
use engram_export::parquet::ParquetFiles;

use crate::golden::{GOLDEN, Golden};
use crate::programs::{fails, python};

/// Writes the golden tapes and their tables.
fn export(directory: &Path) -> [u64; Table::ALL.len()] {
    for tape in GOLDEN.iter() {
        let path = directory
            .join("tapes")
            .join(format!("{}.tape.jsonl", tape.name));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, &tape.text).unwrap();
    }
    let path = directory
        .join("tapes")
        .join(format!("{}.tape.jsonl", SYNTHETIC.0));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, SYNTHETIC.1).unwrap();
    export_tables(&directory.join("tables"), |_| true)
}

/// Synthetic, beside the golden tapes: half surrogate pairs, a time out of range, a record that was not UTF-8, and a tape without an end.
const SYNTHETIC: (&str, &str) = (
    "zz-synthetic/1",
    concat!(
        r#"{"seq":0,"t":"9999-01-02T03:04:05.6Z","k":"msg.in","source":{"harness":"toy"},"role":"user","by":"person","text":"a\ud800b"}"#,
        "\n",
        r#"{"seq":1,"t":"2026-01-02T03:04:05.1234567891Z","k":"tool.call","source":{"harness":"toy"},"tool":"t","kind":"other","args":{"b":1.0,"a":["\udc00",1e3,12345678901234567890]}}"#,
        "\n",
        r#"{"seq":2,"t":"2026-01-02T03:04:05Z","k":"meta","source":{"harness":"toy"},"label":"unrecognized","name":"malformed","raw":"x\ufffd","lossy":true}"#,
        "\n",
        r#"{"seq":3,"t":"2026-01-02T03:04:05Z","k":"tool.result","source":{"harness":"toy"},"stdout":"\u0000","parent":1,"origin":{"pointer":"/a","id":"\ud83d"}}"#,
        "\n",
    ),
);

/// Writes the tables of some golden tapes.
fn export_tables(out: &Path, is_chosen: impl Fn(&Golden) -> bool) -> [u64; Table::ALL.len()] {
    let mut tables = Tables::new(ParquetFiles::new(out, 0, 10_000), &Table::ALL);
    for tape in GOLDEN.iter().filter(|tape| is_chosen(tape)) {
        tables.begin(&tape.name);
        replay(tape.text.as_bytes(), &mut tables).unwrap();
    }
    if is_chosen(&GOLDEN[0]) {
        tables.begin(SYNTHETIC.0);
        replay(SYNTHETIC.1.as_bytes(), &mut tables).unwrap();
    }
    let (files, losses) = tables.finish().unwrap();
    fs::write(out.join("schema.sql"), engram_export::SCHEMA_SQL).unwrap();
    fs::write(out.join("losses.json"), losses.to_json()).unwrap();
    files.finish().unwrap()
}

#[test]
fn every_event_read_back_equals_that_of_the_tape() {
    let directory = tempfile::tempdir().unwrap();
    let rows = export(directory.path());
    let lines: u64 = GOLDEN
        .iter()
        .map(|tape| tape.text.lines().count() as u64)
        .sum();
    assert_eq!(rows[Table::Events as usize], lines + 4);
    assert_eq!(rows[Table::Tapes as usize], GOLDEN.len() as u64 + 1);
    let losses: serde_json::Value =
        serde_json::from_slice(&fs::read(directory.path().join("tables/losses.json")).unwrap())
            .unwrap();
    for (rule, count) in [
        ("text.surrogate", 3),
        ("time.range", 1),
        ("time.precision", 1),
        ("meta.unknown_label", 0),
    ] {
        assert!(
            losses["rules"][rule]["count"].as_u64().unwrap() >= count,
            "{rule}"
        );
    }
    assert!(
        fs::read_dir(directory.path().join("tables/events"))
            .unwrap()
            .count()
            > 1,
        "several files"
    );
    python(
        "round_trip.py",
        &["pyarrow", "polars", "duckdb"],
        &[directory.path()],
    );
    break_one(&directory.path().join("tapes"));
    fails(
        "round_trip.py",
        &["pyarrow", "polars", "duckdb"],
        &[directory.path()],
    );
}

/// Changes one letter of one tape.
fn break_one(tapes: &Path) {
    let tape = &GOLDEN[GOLDEN.len() / 2];
    let path = tapes.join(format!("{}.tape.jsonl", tape.name));
    let broken = tape.text.replacen(
        "\"k\":\"msg.in\",\"source\"",
        "\"k\":\"msg.out\",\"source\"",
        1,
    );
    assert_ne!(broken, tape.text);
    fs::write(path, broken).unwrap();
}

/// docs/tables.md is made from the schemas. `ENGRAM_BLESS=1` rewrites it.
#[test]
fn the_document_lists_the_columns() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/tables.md");
    let head = "# Tables\n\nThe columns of the Parquet files of `engram export parquet` ([exports.md](exports.md)). The schemas are fixed: within `engram.tables` 2, which each \
                file names,\ncolumns may be added, and none is removed, renamed or given another meaning.\n\n";
    let text = format!("{head}{}\n", schema::markdown().trim_end());
    if std::env::var_os("ENGRAM_BLESS").is_some_and(|value| value == "1") {
        fs::write(&path, &text).unwrap();
    }
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        text,
        "docs/tables.md is stale: ENGRAM_BLESS=1 rewrites it"
    );
}

#[test]
fn recipes_and_views_give_the_numbers_of_the_tapes() {
    let directory = tempfile::tempdir().unwrap();
    export(directory.path());
    let few = [
        "claude-code/2.1.329/b_edit",
        "claude-code/2.1.329/c_subagent",
        "codex/0.169.0/main",
    ];
    export_tables(&directory.path().join("few"), |tape| {
        few.contains(&&*tape.recording)
    });
    let recipes = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/exports.md");
    python("recipes.py", &["duckdb"], &[directory.path(), &recipes]);
}

#[test]
fn tables_without_rows_have_files_with_their_columns() {
    let directory = tempfile::tempdir().unwrap();
    ParquetFiles::add_empty(directory.path(), &Table::ALL).unwrap();
    for table in Table::ALL {
        assert!(
            directory
                .path()
                .join(table.as_str())
                .join("part-00000-000.parquet")
                .is_file()
        );
    }
}

/// The largest batch, and the rows of each table.
#[derive(Default)]
struct Sizes {
    rows: [usize; Table::ALL.len()],
    largest: usize,
}

impl BatchSink for Sizes {
    fn batch(&mut self, table: Table, batch: arrow_array::RecordBatch) -> std::io::Result<()> {
        assert_eq!(batch.schema(), schema::of(table));
        self.rows[table as usize] += batch.num_rows();
        self.largest = self.largest.max(batch.get_array_memory_size());
        Ok(())
    }
}

/// Synthetic: one long tape, beside the golden ones.
#[test]
fn memory_does_not_grow_with_the_tape() {
    let mut tables = Tables::new(Sizes::default(), &Table::ALL);
    let mut tape = String::new();
    let text = "x".repeat(100_000);
    for call in 0..600 {
        let (seq, result) = (2 * call, 2 * call + 1);
        let head = |seq: u64, k: &str| {
            format!(
                r#"{{"seq":{seq},"t":"2026-01-02T03:04:05Z","k":"{k}","source":{{"harness":"toy"}},"#
            )
        };
        tape += &format!(
            "{}\"tool\":\"t\",\"kind\":\"other\"}}\n",
            head(seq, "tool.call")
        );
        tape += &format!(
            "{}\"stdout\":\"{text}\",\"parent\":{seq}}}\n",
            head(result, "tool.result")
        );
    }
    tables.begin("toy/1");
    replay(tape.as_bytes(), &mut tables).unwrap();
    let (sizes, _) = tables.finish().unwrap();
    assert_eq!(sizes.rows[Table::Events as usize], 1200);
    assert_eq!(sizes.rows[Table::Calls as usize], 600);
    assert!(
        sizes.largest < 32 << 20,
        "{} bytes in one batch of a tape of {}",
        sizes.largest,
        tape.len()
    );
}
