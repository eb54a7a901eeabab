//! Parquet files of all golden tapes: read back by pyarrow, polars and DuckDB, they are the tapes.

use std::fs;
use std::path::Path;

use engram_core::tape::replay;
use engram_export::arrow::{BatchSink, Table, Tables, schema};
use engram_export::parquet::{FILE_ROWS, ParquetFiles};

use crate::golden::GOLDEN;
use crate::programs::python;

/// Writes the golden tapes and their tables.
fn export(directory: &Path) -> [u64; Table::ALL.len()] {
    let (tapes, out) = (directory.join("tapes"), directory.join("tables"));
    let mut tables = Tables::new(ParquetFiles::new(&out, 0, 10_000), &Table::ALL);
    for tape in GOLDEN.iter() {
        let path = tapes.join(format!("{}.tape.jsonl", tape.name));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, &tape.text).unwrap();
        tables.begin(&tape.name);
        replay(tape.text.as_bytes(), &mut tables).unwrap();
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
    let lines: u64 = GOLDEN.iter().map(|tape| tape.text.lines().count() as u64).sum();
    assert_eq!(rows[Table::Events as usize], lines);
    assert_eq!(rows[Table::Tapes as usize], GOLDEN.len() as u64);
    assert!(fs::read_dir(directory.path().join("tables/events")).unwrap().count() > 1, "several files");
    python("round_trip.py", &["pyarrow", "polars", "duckdb"], &[directory.path()]);
}

#[test]
fn recipes_and_views_give_the_numbers_of_the_tapes() {
    let directory = tempfile::tempdir().unwrap();
    export(directory.path());
    let recipes = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/exports.md");
    python("recipes.py", &["duckdb"], &[directory.path(), &recipes]);
}

#[test]
fn tables_without_rows_have_files_with_their_columns() {
    let directory = tempfile::tempdir().unwrap();
    ParquetFiles::add_empty(directory.path(), &Table::ALL).unwrap();
    for table in Table::ALL {
        assert!(directory.path().join(table.as_str()).join("part-00000-000.parquet").is_file());
    }
    assert!(FILE_ROWS > 0);
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
        let head = |seq: u64, k: &str| format!(r#"{{"seq":{seq},"t":"2026-01-02T03:04:05Z","k":"{k}","source":{{"harness":"toy"}},"#);
        tape += &format!("{}\"tool\":\"t\",\"kind\":\"other\"}}\n", head(seq, "tool.call"));
        tape += &format!("{}\"stdout\":\"{text}\",\"parent\":{seq}}}\n", head(result, "tool.result"));
    }
    tables.begin("toy/1");
    replay(tape.as_bytes(), &mut tables).unwrap();
    let (sizes, _) = tables.finish().unwrap();
    assert_eq!(sizes.rows[Table::Events as usize], 1200);
    assert_eq!(sizes.rows[Table::Calls as usize], 600);
    assert!(sizes.largest < 32 << 20, "{} bytes in one batch of a tape of {}", sizes.largest, tape.len());
}
