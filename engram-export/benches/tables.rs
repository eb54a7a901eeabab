//! What tables cost beside JSON Lines: `cargo bench -p engram-tape-export --features parquet --bench tables -- TAPE...`
//!
//! Prints the CPU time of each way over the same tapes, and its ratio to writing the tapes again as JSON Lines. Linux only.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use engram_core::event::EventRef;
use engram_core::sink::EventSink;
use engram_core::tape::{JsonLines, replay};
use engram_export::arrow::{BatchSink, Table, Tables};
use engram_export::parquet::{FILE_ROWS, ParquetFiles};

/// Takes events, or batches, and drops them.
struct Nothing;

impl EventSink for Nothing {
    fn event(&mut self, _: &EventRef<'_>) -> io::Result<()> {
        Ok(())
    }
}

impl BatchSink for Nothing {
    fn batch(&mut self, _: Table, _: RecordBatch) -> io::Result<()> {
        Ok(())
    }
}

/// The CPU time of this process in hundredths of a second.
fn cpu() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    [11, 12]
        .iter()
        .filter_map(|at| fields.get(*at)?.parse::<u64>().ok())
        .sum()
}

fn read(tape: &Path, sink: &mut dyn EventSink) -> io::Result<()> {
    replay(BufReader::with_capacity(256 << 10, File::open(tape)?), sink)
}

fn tables<B: BatchSink>(tapes: &[PathBuf], wanted: &[Table], out: B) -> io::Result<B> {
    let mut tables = Tables::new(out, wanted);
    for tape in tapes {
        tables.begin(&tape.to_string_lossy());
        read(tape, &mut tables)?;
    }
    Ok(tables.finish()?.0)
}

fn main() -> io::Result<()> {
    let tapes: Vec<PathBuf> = std::env::args_os()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .map(PathBuf::from)
        .collect();
    let bytes: u64 = tapes
        .iter()
        .filter_map(|tape| tape.metadata().ok())
        .map(|metadata| metadata.len())
        .sum();
    let directory = std::env::temp_dir().join(format!("engram-tables-{}", std::process::id()));
    fs::create_dir_all(&directory)?;
    let lines = || {
        let mut out = BufWriter::new(File::create(directory.join("tapes.jsonl"))?);
        tapes
            .iter()
            .try_for_each(|tape| read(tape, &mut JsonLines::new(&mut out)))
    };
    let files = |name: &str, wanted: &[Table]| {
        let out = ParquetFiles::new(&directory.join(name), 0, FILE_ROWS);
        tables(&tapes, wanted, out)
            .and_then(ParquetFiles::finish)
            .map(drop)
    };
    let ways: [(&str, &dyn Fn() -> io::Result<()>); 5] = [
        ("read", &|| {
            tapes.iter().try_for_each(|tape| read(tape, &mut Nothing))
        }),
        ("json lines", &lines),
        ("batches", &|| {
            tables(&tapes, &Table::ALL, Nothing).map(drop)
        }),
        ("parquet, events", &|| files("events", &[Table::Events])),
        ("parquet, all", &|| files("all", &Table::ALL)),
    ];
    println!("{} tapes, {bytes} bytes", tapes.len());
    let mut of_lines = 0;
    for (name, way) in ways {
        let before = cpu();
        way()?;
        let spent = (cpu() - before).max(1);
        if name == "json lines" {
            of_lines = spent;
        }
        let ratio = if of_lines == 0 {
            String::new()
        } else {
            format!(", {:.2} x json lines", spent as f64 / of_lines as f64)
        };
        println!(
            "{name:<16} {:.2} s CPU, {:.0} MB/s{ratio}",
            spent as f64 / 100.0,
            bytes as f64 / spent as f64 / 10_000.0
        );
    }
    fs::remove_dir_all(&directory)
}
