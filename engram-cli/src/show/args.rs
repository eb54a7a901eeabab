//! Arguments of `engram show`.

use std::path::PathBuf;

use clap::Args;
use engram_command::complete;
use engram_command::filter::Filter;
use engram_command::keys::Keys;
use engram_command::size;
use jiff::tz::TimeZone;

use crate::money::PriceTable;

/// Arguments of `engram show`.
#[derive(Debug, Args)]
pub struct Show {
    /// A tape, a session log, a store or directory, or the beginning of a session's id; `-` reads standard input. With `#SEQ`: this event of
    /// it and those around it [default with `--html DIR`: the directory of tapes]
    #[arg(value_name = "TAPE|LOG|ID[#SEQ]", add = crate::ids::ids_and_files(), required_unless_present = "html")]
    pub target: Option<PathBuf>,
    /// The directory of tapes in which an id is looked up [default: $ENGRAM_TAPES, else engram/tapes in your data directory]
    #[arg(long, value_name = "DIR")]
    pub tapes: Option<PathBuf>,
    /// The session of a store or directory, by the beginning of its id
    #[arg(long, value_name = "ID", add = crate::ids::ids())]
    pub session: Option<String>,
    /// Print Markdown
    #[arg(long, conflicts_with = "html")]
    pub markdown: bool,
    /// Write one self-contained page to this file; `-` is standard output. For a directory of sessions: a page for each that the filters want,
    /// and an index
    #[arg(long, value_name = "FILE|DIR")]
    pub html: Option<PathBuf>,
    /// The time zone of the days and hours that an index of pages draws: `Europe/Berlin`, `+02:00`, or `local` [default: UTC]
    #[arg(long, value_name = "ZONE", value_parser = crate::when::zone, requires = "html")]
    pub tz: Option<TimeZone>,
    /// Show every line of long outputs
    #[arg(long)]
    pub full: bool,
    /// In the terminal and in Markdown: a line with the tokens of each response
    #[arg(long)]
    pub tokens: bool,
    #[command(flatten)]
    pub prices: PriceTable,
    /// With `#SEQ`: so many events before it
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub before: u64,
    /// With `#SEQ`: so many events after it
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub after: u64,
    /// With `#SEQ`: print one JSON object per line, and a last one with `returned` and `total`
    #[arg(long, conflicts_with_all = ["html", "markdown"])]
    pub json: bool,
    /// With `#SEQ`: at most so many bytes: a number, or a size such as `32KiB`
    #[arg(long, value_name = "SIZE", value_parser = size::bytes, default_value_t = 32 << 10)]
    pub max_bytes: u64,
    /// Do not start a pager
    #[arg(long)]
    pub no_pager: bool,
    #[command(flatten)]
    pub keys: Keys,
    #[command(flatten)]
    pub filter: Filter,
    /// Skip detection and use this adapter (see `engram adapters`)
    #[arg(long, value_name = "ADAPTER", add = complete::adapters())]
    pub adapter: Option<String>,
}
