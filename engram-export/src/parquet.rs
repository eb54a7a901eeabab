//! Parquet files of the tables: `<directory>/<table>/<partition>/part-<name>-<number>.parquet`.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use crate::arrow::{BatchSink, Table, schema};

/// A row group has at most this many rows, as readers expect them,
const GROUP_ROWS: usize = 122_880;
/// or this many bytes, so that writing needs no more memory.
const GROUP_BYTES: usize = 64 << 20;
/// A file has at most this many rows, unless the caller says otherwise.
pub const FILE_ROWS: u64 = 1_000_000;
/// Columns of long texts. Nobody asks for the smallest one, and they hardly repeat.
const LONG_TEXTS: [&str; 8] = [
    "text",
    "stdout",
    "stderr",
    "args",
    "before_text",
    "after_text",
    "raw",
    "rest",
];
/// Columns of numbers that go up in small steps, of which hardly two are alike. The steps are written.
const STEPS: [&str; 7] = [
    "seq",
    "result_seq",
    "parent",
    "turn",
    "t",
    "result_t",
    "origin.line",
];
/// Further columns whose values hardly repeat.
const UNIQUE: [&str; 7] = [
    "call_id",
    "message_id",
    "request_id",
    "origin.id",
    "anchors.list.item",
    "before_anchors.list.item",
    "after_anchors.list.item",
];
/// The version of the tables, in each file.
pub const VERSION: (&str, &str) = ("engram.tables", "2");
/// The name of the part without rows, which gives a table its columns.
pub const EMPTY: &str = "00000";

/// Writes batches to files, one directory for each table. Files are complete when [`finish`](ParquetFiles::finish) has returned.
#[derive(Debug)]
pub struct ParquetFiles {
    directory: PathBuf,
    partition: PathBuf,
    name: String,
    rows_per_file: u64,
    open: [Option<OpenFile>; Table::ALL.len()],
    files: [u64; Table::ALL.len()],
    rows: [u64; Table::ALL.len()],
}

/// Makes a directory for its owner only: the tables have the texts of logs.
fn make_directory(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

/// Makes a file for its owner only.
fn create(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// A file that is being written.
struct OpenFile {
    writer: ArrowWriter<BufWriter<File>>,
    rows: u64,
}

impl std::fmt::Debug for OpenFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenFile")
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}

impl ParquetFiles {
    /// Files below `directory`. Several may write there at once, each with a number of its own.
    pub fn new(directory: &Path, chunk: usize, rows_per_file: u64) -> ParquetFiles {
        let name = format!("{chunk:05}");
        ParquetFiles::of_part(directory, Path::new(""), &name, rows_per_file)
    }

    /// Files below `directory` with the name of a part, in a partition such as `day=2026-11-21`; an empty path is none.
    pub fn of_part(
        directory: &Path,
        partition: &Path,
        name: &str,
        rows_per_file: u64,
    ) -> ParquetFiles {
        let none = [const { None }; Table::ALL.len()];
        ParquetFiles {
            directory: directory.to_owned(),
            partition: partition.to_owned(),
            name: name.to_owned(),
            rows_per_file,
            open: none,
            files: [0; Table::ALL.len()],
            rows: [0; Table::ALL.len()],
        }
    }

    /// Completes the files, and gives the rows of each table.
    ///
    /// # Errors
    /// As the file system gives them.
    pub fn finish(mut self) -> io::Result<[u64; Table::ALL.len()]> {
        Table::ALL
            .into_iter()
            .try_for_each(|table| self.close(table))?;
        Ok(self.rows)
    }

    /// Makes a file without rows for each of these tables that has none: a reader then finds its columns.
    ///
    /// # Errors
    /// As the file system gives them.
    pub fn add_empty(directory: &Path, tables: &[Table]) -> io::Result<()> {
        for table in tables {
            if !directory.join(table.as_str()).is_dir() {
                let mut files = ParquetFiles::of_part(directory, Path::new(""), EMPTY, FILE_ROWS);
                files.open(*table)?;
                files.finish()?;
            }
        }
        Ok(())
    }

    fn open(&mut self, table: Table) -> io::Result<&mut OpenFile> {
        let index = table as usize;
        if self.open[index]
            .as_ref()
            .is_some_and(|file| file.rows >= self.rows_per_file)
        {
            self.close(table)?;
        }
        let slot = &mut self.open[index];
        if slot.is_none() {
            let directory = self.directory.join(table.as_str()).join(&self.partition);
            make_directory(&directory)?;
            let path = directory.join(format!(
                "part-{}-{:03}.parquet",
                self.name, self.files[index]
            ));
            let file = BufWriter::new(create(&path)?);
            let writer = ArrowWriter::try_new(file, schema::of(table), Some(properties(table)?))
                .map_err(io::Error::other)?;
            self.files[index] += 1;
            *slot = Some(OpenFile { writer, rows: 0 });
        }
        slot.as_mut()
            .ok_or_else(|| io::Error::other("no open file"))
    }

    fn close(&mut self, table: Table) -> io::Result<()> {
        let Some(file) = self.open[table as usize].take() else {
            return Ok(());
        };
        let buffered = file.writer.into_inner().map_err(io::Error::other)?;
        buffered
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?
            .sync_all()
    }
}

impl BatchSink for ParquetFiles {
    fn batch(&mut self, table: Table, batch: RecordBatch) -> io::Result<()> {
        let file = self.open(table)?;
        file.writer.write(&batch).map_err(io::Error::other)?;
        file.rows += batch.num_rows() as u64;
        self.rows[table as usize] += batch.num_rows() as u64;
        Ok(())
    }
}

fn properties(table: Table) -> io::Result<WriterProperties> {
    let schema = schema::of(table);
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(
            ZstdLevel::try_new(1).map_err(io::Error::other)?,
        ))
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_max_row_group_bytes(Some(GROUP_BYTES))
        .set_key_value_metadata(Some(vec![KeyValue::new(
            VERSION.0.to_owned(),
            VERSION.1.to_owned(),
        )]));
    let path = |name: &str| ColumnPath::new(name.split('.').map(str::to_owned).collect());
    for name in LONG_TEXTS {
        properties = properties.set_column_statistics_enabled(path(name), EnabledStatistics::None);
    }
    for name in STEPS {
        properties = properties.set_column_encoding(path(name), Encoding::DELTA_BINARY_PACKED);
    }
    // A dictionary of values that hardly repeat costs time and saves nothing.
    for name in LONG_TEXTS.iter().chain(&STEPS).chain(&UNIQUE) {
        properties = properties.set_column_dictionary_enabled(path(name), false);
    }
    // The columns before these have one leaf each, so their places in the schema are those in the file.
    let sorted = ["tape", "seq"].into_iter().filter_map(|name| {
        schema
            .index_of(name)
            .ok()
            .filter(|at| !schema.field(*at).is_nullable())
    });
    let sorted = sorted
        .filter_map(|at| i32::try_from(at).ok())
        .map(|column_idx| SortingColumn {
            column_idx,
            descending: false,
            nulls_first: false,
        });
    Ok(properties
        .set_sorting_columns(Some(sorted.collect()))
        .build())
}
