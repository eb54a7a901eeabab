//! The command line: the only source of its help and of `docs/lab.md`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use engram_command::complete::{self, Completions};
use engram_command::filter::Filter;
use engram_command::man::Man;
use engram_command::program::Reporting;

const EXAMPLES: &str = "\
Examples:
  engram-lab drift ~/.codex/sessions                   what a new version has changed in its logs
  engram-lab conform                                   every check of the kit, over the fixtures
  engram-lab record claude-code@2.1.332                a new version, recorded and judged
  engram-lab record --sweep codex --new                the versions that nobody has run yet
  engram-lab profile list                              how agents are run

Exit codes:
  0 success                       6 reading or writing failed
  1 some failed, or faults found  7 a harness cannot be run as asked
  2 wrong usage                   8 an agent broke the protocol of an episode
  3 not there, or not recognised  130 interrupted
  5 malformed, truncated or over a limit";

/// Keeps adapters true, and runs agents under profiles.
#[derive(Debug, Parser)]
#[command(name = "engram-lab", version, after_help = EXAMPLES, max_term_width = 100)]
pub struct CommandLine {
    /// The subcommand.
    #[command(subcommand)]
    pub command: Command,
    /// How to report.
    #[command(flatten)]
    pub reporting: Reporting,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show what a new version of a harness has changed in its logs
    ///
    /// Compares each session with the member table of its adapter, and lists record types and members that are not known, values of
    /// another JSON type, and members that no longer appear, by harness and version. The exit code is 1 if there is any.
    Drift(Drift),
    /// Check the adapters against recordings of real sessions
    ///
    /// Runs every check of docs/conformance.md over every recording. A check that has nothing to examine is reported as skipped, with
    /// the reason.
    Conform(Conform),
    /// Record a harness against a scripted model on loopback
    ///
    /// Runs an installed harness in a sandbox without network, keeps its log beside what really happened, and judges the recording with
    /// the checks of `engram-lab conform`. docs/recorder.md says how.
    #[cfg(unix)]
    Record(crate::record::Record),
    /// Show the structure of recorded logs
    ///
    /// Prints one fact a line: the type of a record, a pointer below it, and a JSON type. With `--against`, only what is new; the exit code
    /// is then 1 if anything is.
    #[cfg(unix)]
    Shape(crate::record::shape::Shape),
    /// Show what came of all published versions, or propose what recordings earn
    #[cfg(unix)]
    Matrix(crate::record::matrix::Matrix),
    /// Show and check how agents are run: profiles
    ///
    /// A profile is chosen by its hash. docs/profiles.md describes its form.
    #[cfg(unix)]
    Profile(crate::profile::Profile),
    /// Run black-box agents against a scripted model, and check what their episodes left
    #[cfg(unix)]
    Episode(crate::episode::Episode),
    /// List what can be converted alone, for work on many machines
    ///
    /// A unit is a session with its sub-agents and side files, or one session of a store. `engram ingest --units FILE --shard I/N` converts a
    /// part of them: give each of N machines another I.
    Units(crate::units::Units),
    /// Print the JSON Schema of a profile
    Schema,
    /// Generate shell completions
    ///
    /// For example, `engram-lab completions bash > ~/.local/share/bash-completion/completions/engram-lab`.
    Completions(Completions),
    /// Generate manual pages
    ///
    /// Writes `engram-lab.1` and a page for each command to DIR; prints `engram-lab.1` without DIR. For example, `engram-lab man
    /// ~/.local/share/man/man1`.
    Man(Man),
}

/// Arguments of `engram-lab drift`.
#[derive(Debug, Args)]
pub struct Drift {
    /// Session logs, stores of sessions, or directories to search for both; `-` reads standard input [default: the homes of all
    /// harnesses]
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub filter: Filter,
    /// Skip detection and use this adapter (see `engram adapters`)
    #[arg(long, value_name = "ID", add = complete::adapters())]
    pub adapter: Option<String>,
}

/// Arguments of `engram-lab conform`.
#[derive(Debug, Args)]
pub struct Conform {
    /// Check only this adapter (see `engram adapters`) [default: those that `ACK_ADAPTERS` names, separated by commas, or all]
    #[arg(long, value_name = "ID", add = complete::adapters())]
    pub adapter: Option<String>,
    /// Directory of recordings: `<harness>/<version>/<scenario>/` with `session/` and `truth.json`; may be given several times
    #[arg(long, value_name = "DIR", default_value = "fixtures")]
    pub recordings: Vec<PathBuf>,
    /// Run only the checks of this tier: 1 viable, 2 observable, 3 provenance; 4 is `engram-lab profile conform`, of what is installed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=4))]
    pub tier: Option<u8>,
    /// Run only this check
    #[arg(long, value_name = "ID")]
    pub check: Option<String>,
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
    /// Also write the report as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
}
