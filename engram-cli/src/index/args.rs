//! The arguments of the commands that ask an index.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use engram_command::keys::Keys;
use engram_command::size;

use crate::money::PriceTable;

/// Where the index is.
#[derive(Debug, Clone, Args)]
pub struct Place {
    /// Directory of the index [default: `$ENGRAM_INDEX`, or `engram/index` in the data directory of the platform]
    #[arg(long, value_name = "DIR")]
    pub index: Option<PathBuf>,
}

/// Where the index is, and how new it must be.
#[derive(Debug, Clone, Args)]
pub struct Source {
    #[command(flatten)]
    pub place: Place,
    /// Answer from what the index has, without looking for new sessions first, and say how old it is
    #[arg(long)]
    pub no_ingest: bool,
}

/// How much is shown.
#[derive(Debug, Clone, Args)]
pub struct Bounds {
    /// Print one JSON object per line, and a last one with `returned`, `total` and `next`
    #[arg(long)]
    pub json: bool,
    /// At most so many results
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub limit: usize,
    /// Leave out so many results: the `next` of the answer before
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub skip: usize,
    /// At most so many bytes: a number, or a size such as `32KiB`
    #[arg(long, value_name = "SIZE", value_parser = size::bytes, default_value_t = 32 << 10)]
    pub max_bytes: u64,
    /// Print without a pager
    #[arg(long)]
    pub no_pager: bool,
    #[command(flatten)]
    pub keys: Keys,
}

/// `engram index`.
#[derive(Debug, Args)]
#[command(mut_arg("index", |index| index.global(true)))]
pub struct IndexArgs {
    #[command(flatten)]
    pub place: Place,
    /// What to do.
    #[command(subcommand)]
    pub what: What,
}

/// What `engram index` does.
#[derive(Debug, Subcommand)]
pub enum What {
    /// Take in tapes: only what is new since the last time
    Add {
        /// Tapes, or directories of tapes [default: `$ENGRAM_TAPES`, or `engram/tapes` in the data directory of the platform]
        #[arg(value_name = "PATH")]
        paths: Vec<PathBuf>,
    },
    /// Print what the index holds
    Status {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Check the database, and compare it with its tapes
    Verify {
        /// How many tapes are read again
        #[arg(long, value_name = "N", default_value_t = 500)]
        tapes: usize,
    },
    /// Remove what a tape says. The tape itself stays
    Forget {
        /// The path of the tape, or the id of its session
        #[arg(value_name = "TAPE")]
        tape: String,
    },
    /// Make the index again from its tapes. The old one stays beside it as `index.db.old`
    Rebuild {
        /// Also know what was said: `explain` then lists prompts, answers and outputs that mention the lines. The index has their text then, too
        #[arg(long)]
        text: bool,
        /// More tapes, or directories of tapes
        #[arg(value_name = "PATH")]
        paths: Vec<PathBuf>,
    },
}

/// `engram explain`.
#[derive(Debug, Args)]
pub struct Explain {
    /// The file, with lines: `src/a.rs:12`, `src/a.rs:10-40`
    #[arg(value_name = "FILE[:LINES]", required_unless_present_any = ["text", "commit", "prompt"])]
    pub file: Option<String>,
    /// Print what happened to the file: edits, reads, moves and failed changes; of lines, the edits that they come from
    #[arg(long, conflicts_with_all = ["removed", "commit", "text"])]
    pub history: bool,
    /// Print what was removed from the file, at the lines if there are any, or who removed the text of `--text`
    #[arg(long, conflicts_with = "commit")]
    pub removed: bool,
    /// Ask about this text, wherever it stands; `-` reads standard input
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["file", "commit"])]
    pub text: Option<String>,
    /// Print which sessions went into a commit, and what of it no session explains
    #[arg(long, value_name = "REV", conflicts_with = "file")]
    pub commit: Option<String>,
    /// Print what one prompt changed, over sub-agents: the `ID#SEQ` of the prompt, or of any call of its turn
    #[arg(long, value_name = "ID#SEQ", conflicts_with_all = ["file", "text", "commit"])]
    pub prompt: Option<String>,
    /// Ask about the file as it was in this commit
    #[arg(long, value_name = "REV", conflicts_with_all = ["text", "commit"])]
    pub rev: Option<String>,
    /// Print edits that left something like the lines, with the share of their fingerprints. It proves nothing
    #[arg(long, conflicts_with_all = ["history", "removed", "commit"])]
    pub like: bool,
    /// With `--like`, show weak likeness too: 0.30 of the fingerprints instead of 0.50
    #[arg(long, requires = "like")]
    pub all: bool,
    #[command(flatten)]
    pub source: Source,
    #[command(flatten)]
    pub bounds: Bounds,
}

/// `engram blame`.
#[derive(Debug, Args)]
pub struct Blame {
    /// The file, with lines if not all are asked for: `src/a.rs:10-40`
    #[arg(value_name = "FILE[:LINES]")]
    pub file: String,
    /// The file as it was in this commit
    #[arg(long, value_name = "REV")]
    pub rev: Option<String>,
    /// Print one JSON object per run of lines with one cause, and a last one with `returned`, `total` and `next`
    #[arg(long)]
    pub json: bool,
    /// At most so many lines; with `--json`, runs of lines [default: all]
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// Leave out so many lines or runs: the `next` of the answer before
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub skip: usize,
    /// Print without a pager
    #[arg(long)]
    pub no_pager: bool,
    /// At most so many bytes: a number, or a size such as `32KiB` [default: 32KiB with `--json`]
    #[arg(long, value_name = "SIZE", value_parser = size::bytes)]
    pub max_bytes: Option<u64>,
    #[command(flatten)]
    pub keys: Keys,
    #[command(flatten)]
    pub source: Source,
}

impl Blame {
    /// The bounds: a person sees the whole file, an agent what fits its window.
    pub fn bounds(&self) -> Bounds {
        let most = if self.json { 32 << 10 } else { u64::MAX };
        let (limit, max_bytes) = (
            self.limit.unwrap_or(usize::MAX),
            self.max_bytes.unwrap_or(most),
        );
        Bounds {
            json: self.json,
            limit,
            skip: self.skip,
            max_bytes,
            no_pager: self.no_pager,
            keys: self.keys,
        }
    }
}

/// `engram grep`.
#[derive(Debug, Args)]
pub struct Grep {
    /// A regular expression
    #[arg(value_name = "PATTERN")]
    pub pattern: String,
    /// Search only events of this kind, such as `msg.in`; may be given several times
    #[arg(long, value_name = "KIND", add = engram_command::complete::kinds())]
    pub kind: Vec<String>,
    /// Capital and small letters are the same
    #[arg(long, short)]
    pub ignore_case: bool,
    #[command(flatten)]
    pub source: Source,
    #[command(flatten)]
    pub bounds: Bounds,
}

/// `engram query`.
#[derive(Debug, Args)]
pub struct Query {
    /// One SQL statement over the views `sessions`, `sub_agents`, `prompts`, `calls`, `edits`, `reads`, `tombstones`, `usage` and `session_costs` [default: list their columns]
    #[arg(value_name = "SQL")]
    pub sql: Option<String>,
    /// Print one JSON object per row; if the answer was cut off, a last one with `k`, `returned` and `cut`
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// Print comma-separated values
    #[arg(long)]
    pub csv: bool,
    /// At most so many rows
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub limit: u64,
    /// At most so many bytes: a number, or a size such as `32KiB`
    #[arg(long, value_name = "SIZE", value_parser = size::bytes, default_value_t = 64 << 20)]
    pub max_bytes: u64,
    /// At most so many seconds
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub seconds: u64,
    #[command(flatten)]
    pub prices: PriceTable,
    #[command(flatten)]
    pub keys: Keys,
    #[command(flatten)]
    pub source: Source,
}
