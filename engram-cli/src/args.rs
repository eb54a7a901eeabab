//! The command line: the only source of its help and of `docs/cli.md`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use engram_core::limits::Limits;
use engram_core::policy::Policy;

const EXAMPLES: &str = "\
Examples:
  engram ingest session.jsonl > session.tape.jsonl     one session, to standard output
  engram ingest ~/.claude ~/.codex --out tapes         every session of all harnesses, a file each
  engram ingest ~/.local/share/opencode --out tapes    every session of a store
  zstdcat old.jsonl.zst | engram ingest - | engram check -
  engram detect ~/.codex/sessions                      what is there, and which version wrote it
  engram audit session.jsonl                           is anything of the log missing from its tape?
  engram adapters                                      what is supported, and how well

Exit codes:
  0 all well                     4 version refused (--policy strict)
  1 some failed, or not all well 5 malformed, truncated or over a limit
  2 wrong usage                  6 input or output failed
  3 input not recognised         130 interrupted: no tape is left half written";

/// Turns the logs of coding agents into tapes: one normalized, deterministic event stream a session.
#[derive(Debug, Parser)]
#[command(name = "engram", version, after_help = EXAMPLES, max_term_width = 100)]
pub struct CommandLine {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// How errors are written to standard error. `json`: one object a line, and nothing else
    #[arg(long, global = true, value_enum, default_value_t = ErrorFormat::Text, value_name = "FORMAT")]
    pub error_format: ErrorFormat,
}

/// How errors are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ErrorFormat {
    /// A sentence for people.
    Text,
    /// A JSON object for machines.
    Json,
}

/// What the command does.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Convert session logs to tapes
    ///
    /// One session without --out goes to standard output. Several sessions, or a directory, which is searched for the
    /// sessions and stores of all harnesses, go to `DIR/<harness>/<session id>[.<agent>].tape.jsonl[.zst]`. Nothing is ever overwritten:
    /// a tape that is already there is left alone, and another one of the same name gets a number.
    Ingest(Ingest),
    /// Say which harness and version wrote a log, and what proves it
    Detect(Detect),
    /// Convert, and account for every string of the source: in the tape, omitted by a named rule, or left over
    Audit(Audit),
    /// Check tapes against every rule of the format
    Check(Check),
    /// Certify the adapters against recordings of real sessions
    ///
    /// Runs the Adapter Compatibility Kit: every check of docs/conformance.md, over every recording. A check that has nothing to
    /// look at is skipped with the reason, never passed.
    Conform(Conform),
    /// List the adapters: versions, schemas, coverage
    Adapters(Adapters),
    /// Print the JSON Schema of the events
    Schema,
    /// Print what a shell needs to complete this command's words
    ///
    /// For example, `engram completions bash > ~/.local/share/bash-completion/completions/engram`.
    Completions(Completions),
}

/// How artifacts are converted.
#[derive(Debug, Args)]
pub struct Conversion {
    /// What to do about unknown versions and records: refuse them, or keep the rest and say so
    #[arg(long, default_value_t = Policy::Permissive, value_name = "strict|permissive")]
    pub policy: Policy,
    /// Use this adapter and ask no other (see `engram adapters`)
    #[arg(long, value_name = "ID")]
    pub adapter: Option<String>,
    /// The largest record that is read
    #[arg(long, default_value_t = Limits::default().record_bytes, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_record_bytes: u64,
    /// How many sessions are converted at a time [default: one a processor]
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}

impl Conversion {
    /// The bounds that are asked for.
    pub fn limits(&self) -> Limits {
        Limits { record_bytes: self.max_record_bytes, ..Limits::default() }
    }
}

/// Arguments of `engram ingest`.
#[derive(Debug, Args)]
pub struct Ingest {
    /// Session logs, stores of sessions, or directories to search for them; `-` reads standard input
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// The directory that the tapes go to
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Compress the tapes
    #[arg(long)]
    pub zstd: bool,
    #[command(flatten)]
    pub conversion: Conversion,
    /// Say nothing but errors
    #[arg(long, short, action = ArgAction::SetTrue)]
    pub quiet: bool,
}

/// Arguments of `engram detect`.
#[derive(Debug, Args)]
pub struct Detect {
    /// Session logs, stores of sessions, or directories to search for them; `-` reads standard input
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// One JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `engram audit`.
#[derive(Debug, Args)]
pub struct Audit {
    /// Session logs, stores of sessions, or directories to search for them; `-` reads standard input
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// One JSON object a line
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub conversion: Conversion,
}

/// Arguments of `engram check`.
#[derive(Debug, Args)]
pub struct Check {
    /// Tapes, plain or compressed, or folders that hold some; `-` reads standard input
    #[arg(required = true, value_name = "TAPE")]
    pub tapes: Vec<PathBuf>,
}

/// Arguments of `engram conform`.
#[derive(Debug, Args)]
pub struct Conform {
    /// Only this adapter (see `engram adapters`)
    #[arg(long, value_name = "ID")]
    pub adapter: Option<String>,
    /// The recordings: `<harness>/<version>/<scenario>/` with `session/` and `truth.json`
    #[arg(long, value_name = "DIR", default_value = "fixtures")]
    pub recordings: PathBuf,
    /// Only checks of this tier: 1 viable, 2 observable, 3 provenance
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=3))]
    pub tier: Option<u8>,
    /// Only this check
    #[arg(long, value_name = "ID")]
    pub check: Option<String>,
    /// The report as JSON
    #[arg(long)]
    pub json: bool,
    /// Write the report as JUnit XML too
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
}

/// Arguments of `engram completions`.
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: Shell,
}

/// Arguments of `engram adapters`.
#[derive(Debug, Args)]
pub struct Adapters {
    /// The descriptors as JSON
    #[arg(long, conflicts_with = "markdown")]
    pub json: bool,
    /// The table that README.md and docs/ hold
    #[arg(long)]
    pub markdown: bool,
}
