//! The arguments of `engram export`.

#[cfg(feature = "parquet")]
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use engram_command::keys::Keys;
use engram_command::places;
#[cfg(feature = "parquet")]
use serde::{Deserialize, Serialize};

use crate::index::args::Source;
#[cfg(feature = "parquet")]
use crate::money::PriceTable;

const EXAMPLES: &str = "\
Examples:
  engram export parquet tapes --out tables && duckdb -c \"select * from 'tables/sessions/*.parquet'\"
  engram export hf tapes --out traces                  for the trace viewer of the Hub, and `datasets`
  engram export atif tapes --out trajectories          for Harbor and other readers of ATIF
  engram export otlp tapes --out traces.jsonl          for OpenTelemetry collectors
  engram export agent-trace main..HEAD                 which session made the lines of these commits
  engram export git-notes HEAD --write                 the same as a git note of the commit";

/// Arguments of `engram export`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Export {
    /// What is written.
    #[command(subcommand)]
    pub target: Target,
}

/// What an export writes.
#[derive(Debug, Subcommand)]
pub enum Target {
    /// Session traces for the Hugging Face Hub, or conversations for training
    ///
    /// Writes `DIR/sessions/<harness>/<session>.jsonl`, which the trace viewer of the Hub and `datasets` read, or with --messages one
    /// `DIR/messages.jsonl` for training, and a dataset card. Keys and tokens are replaced by `[redacted:<rule>]`. What was rewound and
    /// what repeats another session's history is left out.
    Hf(Hf),
    /// ATIF trajectories, for Harbor and other programs that train and evaluate
    ///
    /// Writes `DIR/<harness>/<session>.json`: a document for each session, with its sub-agents in it.
    Atif(Atif),
    /// OpenTelemetry traces in the JSON form of OTLP
    ///
    /// Writes a file with a line for each session and its sub-agents. The `otlpjsonfile` receiver of a collector reads it.
    Otlp(Otlp),
    /// Tables as Parquet files, for DuckDB, polars, pandas and Spark
    ///
    /// Writes `DIR/<table>/part-*.parquet` for the tables `events` (every event with every field), `tapes`, `sessions`, `prompts`, `calls`,
    /// `edits` and `usage`, and `DIR/schema.sql` with views of them. docs/exports.md lists the columns.
    #[cfg(feature = "parquet")]
    Parquet(Parquet),
    /// Agent Trace 0.1.0: who made the lines that commits add
    ///
    /// Prints one record for each commit, as a line of JSON. Only lines with a known call are in it (`state`, `line` and `moved` of `engram
    /// explain`). It asks the index, so it works for commits of the past, and needs no hook.
    AgentTrace(AgentTrace),
    /// Git AI standard 3.0.0: who made the lines that commits add, as git notes
    ///
    /// Prints the authorship log of each commit; before each log of a range stands a line with its commit. With --write, the logs become
    /// notes below `refs/notes/ai`. A commit that has another note there keeps it.
    GitNotes(GitNotes),
}

/// Arguments of `engram export agent-trace`.
#[derive(Debug, Args)]
pub struct AgentTrace {
    /// A commit, or a range such as `main..HEAD`
    #[arg(value_name = "REV|A..B", default_value = "HEAD")]
    pub revisions: String,
    #[command(flatten)]
    pub source: Source,
}

/// Arguments of `engram export git-notes`.
#[derive(Debug, Args)]
pub struct GitNotes {
    /// A commit, or a range such as `main..HEAD`
    #[arg(value_name = "REV|A..B", default_value = "HEAD")]
    pub revisions: String,
    /// Make notes of the commits below `refs/notes/ai`
    #[arg(long)]
    pub write: bool,
    #[command(flatten)]
    pub source: Source,
}

/// What all exports have in common.
#[derive(Debug, Args)]
pub struct Common {
    /// Tapes, plain or compressed, or directories of tapes [default: $ENGRAM_TAPES, else engram/tapes in your data directory]
    #[arg(value_name = "TAPE")]
    pub tapes: Vec<PathBuf>,
    /// Where to write. Nothing is overwritten
    #[arg(long, value_name = "PATH")]
    pub out: PathBuf,
    /// Write what the target cannot hold to this file, as JSON: how often each rule applied
    #[arg(long, value_name = "FILE")]
    pub losses: Option<PathBuf>,
}

impl Common {
    /// The paths of the tapes: those that are named, else the directory of tapes.
    pub fn tapes(&self) -> Vec<PathBuf> {
        if self.tapes.is_empty() {
            places::tapes_dir().into_iter().collect()
        } else {
            self.tapes.clone()
        }
    }
}

/// Arguments of `engram export parquet`.
#[cfg(feature = "parquet")]
#[derive(Debug, Args)]
pub struct Parquet {
    #[command(flatten)]
    pub common: Common,
    /// A new file begins after so many rows
    #[arg(long, value_name = "N", default_value_t = engram_export::parquet::FILE_ROWS, value_parser = clap::value_parser!(u64).range(1..))]
    pub rows_per_file: u64,
    #[command(flatten)]
    pub prices: PriceTable,
    /// Parallel jobs [default: number of CPUs]
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}

/// What `engram ingest --to` writes in place of tapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum To {
    /// Tables as Parquet files.
    #[cfg(feature = "parquet")]
    Parquet,
}

/// By what the files of a dataset are divided.
#[cfg(feature = "parquet")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Partition {
    /// The day that a session began on, UTC: `day=2026-11-21`
    Day,
    /// The project of a session: `project_key=<name>-<hash>`
    Project,
}

/// Arguments of `engram export hf`.
#[derive(Debug, Args)]
pub struct Hf {
    #[command(flatten)]
    pub common: Common,
    /// Write conversations for training, one row a session
    #[arg(long)]
    pub messages: bool,
    #[command(flatten)]
    pub keys: Keys,
}

/// Arguments of `engram export atif`.
#[derive(Debug, Args)]
pub struct Atif {
    #[command(flatten)]
    pub common: Common,
    /// Replace keys and tokens by `[redacted:<rule>]`
    #[arg(long)]
    pub redact: bool,
    /// The version of ATIF. They differ in the word only, since 1.8 adds audio
    #[arg(long, value_enum, default_value_t = AtifVersion::V1_7, value_name = "VERSION")]
    pub atif: AtifVersion,
    /// Write sub-agents into the document of their session, which is the default
    #[arg(long, conflicts_with = "link_agents")]
    pub embed_agents: bool,
    /// Write sub-agents as documents of their own, and link them
    #[arg(long)]
    pub link_agents: bool,
    /// Compress the documents
    #[arg(long)]
    pub zstd: bool,
}

/// A version of ATIF.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AtifVersion {
    /// Read by all that read ATIF.
    #[value(name = "1.7")]
    V1_7,
    /// As Harbor writes it.
    #[value(name = "1.8")]
    V1_8,
}

/// Arguments of `engram export otlp`.
#[derive(Debug, Args)]
pub struct Otlp {
    #[command(flatten)]
    pub common: Common,
    /// Replace keys and tokens by `[redacted:<rule>]`
    #[arg(long)]
    pub redact: bool,
    /// The texts that spans have: none, messages, or also arguments and results
    #[arg(long, value_enum, default_value_t = ContentArg::None, value_name = "WHAT")]
    pub content: ContentArg,
    /// Cut texts of attributes after so many bytes
    #[arg(long, value_name = "N", default_value_t = 8192)]
    pub max_attribute_bytes: usize,
    /// The conventions: those for generative AI, 0.1.0, or the names that older back ends know
    #[arg(long, value_enum, default_value_t = SemconvArg::Genai, value_name = "VERSION")]
    pub semconv: SemconvArg,
}

/// The texts that spans have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ContentArg {
    /// None.
    None,
    /// Messages.
    Text,
    /// Messages, arguments and results.
    All,
}

/// A version of the conventions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SemconvArg {
    /// The conventions for generative AI, 0.1.0.
    #[value(name = "genai-0.1.0")]
    Genai,
    /// What back ends of before know.
    #[value(name = "1.41")]
    V1_41,
}
