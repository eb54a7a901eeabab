//! Arguments of `engram show`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `engram show`.
#[derive(Debug, Args)]
pub struct Show {
    /// A tape, a session log, a store or directory, or the beginning of a session's id; `-` reads standard input
    #[arg(value_name = "TAPE|LOG|ID")]
    pub target: PathBuf,
    /// The directory of tapes in which an id is looked up [default: $ENGRAM_TAPES, else engram/tapes in your data directory]
    #[arg(long, value_name = "DIR")]
    pub tapes: Option<PathBuf>,
    /// The session of a store or directory, by the beginning of its id
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Print Markdown
    #[arg(long, conflicts_with = "html")]
    pub markdown: bool,
    /// Write one self-contained page to this file; `-` is standard output. For a directory of sessions: a page for each, and an index
    #[arg(long, value_name = "FILE|DIR")]
    pub html: Option<PathBuf>,
    /// Show every line of long outputs
    #[arg(long)]
    pub full: bool,
    /// Do not start a pager
    #[arg(long)]
    pub no_pager: bool,
    /// Show keys and tokens. Without it, they are replaced by `[redacted:<rule>]`
    #[arg(long)]
    pub no_redact: bool,
    /// Skip detection and use this adapter (see `engram adapters`)
    #[arg(long, value_name = "ADAPTER")]
    pub adapter: Option<String>,
}
