//! The command line: the only source of its help and of `docs/cli.md`.

use std::path::PathBuf;
use std::sync::Arc;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand};
use engram_command::conversion::Conversion;
use engram_command::filter::Filter;
use engram_command::keys::Keys;
use engram_command::program::Reporting;
use engram_command::table::Output;
use jiff::tz::TimeZone;

use crate::answer_schema;
use crate::fail_on::FailOn;
use crate::money::PriceTable;
use crate::stats::By;
use crate::unicode::Unicode;
use crate::units::{Chosen, Shard};
use crate::write::Form;

const EXAMPLES: &str = "\
Examples:
  engram ingest                                        all sessions of this machine, one tape each
  engram files --since 7d                              which files agents changed in the last seven days
  engram stats --by project                            prompts, calls, edits, tokens and cost of each project
  engram list                                          which sessions there are
  engram show 08a7d153 --html session.html             a session as a page to read
  engram ingest session.jsonl > session.tape.jsonl     one session, to standard output
  engram ingest ~/.claude --out tapes --since 7d       those below one directory, to a directory of your own
  zstdcat old.jsonl.zst | engram ingest - | engram check -
  engram detect ~/.codex/sessions                      which harness and version wrote each log
  engram audit session.jsonl                           check that the conversion lost nothing
  engram adapters                                      supported harnesses and versions

Exit codes:
  0 success                       4 version refused (--policy strict)
  1 some failed, or faults found  5 malformed, truncated or over a limit
  2 wrong usage                   6 reading or writing failed
  3 not there, or not recognised  9 the index is of another version
  130 interrupted; no tape is left half written";

/// Converts the session logs of coding agents to tapes: one normalized, deterministic event stream per session.
#[derive(Debug, Parser)]
#[command(name = "engram", version, after_help = EXAMPLES, max_term_width = 100)]
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
    /// Convert session logs to tapes
    ///
    /// Without a path, the homes of all harnesses are searched, and the tapes go to your data directory. One session without --out, or with
    /// `--out -`, is written to standard output. Several sessions need --out, and so does a directory, which is searched for sessions and
    /// stores of all harnesses. Tapes are named `DIR/<harness>/<session id>[.<agent>].tape.jsonl[.zst]`. A second run reads only what has changed.
    /// A session that grew replaces its tape; nothing else is ever overwritten.
    Ingest(Ingest),
    /// List sessions, and whether their tapes are up to date
    ///
    /// Prints when each session was last active, its harness, project, size and title, else its first prompt; the newest first. Reads logs,
    /// stores and tapes. Sessions whose tapes are up to date are listed from the index of the tapes, without reading their logs. `old`: the
    /// log has changed since; `none`: there is no tape; `log gone`: only the tape is left; `lost`: only the prompts are left, in the
    /// history of Claude Code or Codex.
    List(List),
    /// List the files that agents changed
    ///
    /// Prints for each file how often it was changed, in how many sessions, when last, with which tools and by which harness; then what
    /// the sessions took. `--since 7d` and `--until` choose edits by their own time.
    Files(Files),
    /// Count sessions, prompts, tool calls, edited files and tokens
    ///
    /// Reads logs, stores and tapes. A directory that contains tapes is read as tapes, any other directory is searched for sessions.
    /// A session counts once: of several inputs with its id, those are left out whose prompts another one has, with no fewer calls or alone
    /// with what they cost, and in the same form with the same responses (`--every-form` counts all). Events that repeat another session's history are not counted, and
    /// in a directory of tapes not the older tapes of a session. Token counts mean the same for all harnesses and can be added.
    Stats(Stats),
    /// Show a session as a person reads it
    ///
    /// Prints prompts, answers, calls with their results, changes, tokens and times, through `$PAGER` in a terminal; `--markdown` and
    /// `--html` give the same as documents. Sub-agents are at the calls that started them, if their logs or tapes are beside that of the
    /// session. Changes are shown as the calls state them. Characters of the log that would control a terminal are shown as signs.
    Show(crate::show::Show),
    /// Keep an index of tapes, which `explain`, `blame`, `grep` and `query` ask
    ///
    /// The index is made from tapes, and can be deleted and made again at any time. Of the texts of tapes it has only the titles of
    /// sessions.
    Index(crate::index::args::IndexArgs),
    /// Tell which session, prompt and call put these lines here, and why
    ///
    /// Compares the file line by line with what the sessions of this machine left of it, new ones too, and names what the answer rests on:
    /// `state` (the whole file is what the index knows), `line` (the line stayed since a call made it), `moved` (in another file or another
    /// order), `older` (the line was there before the first session), or `unknown`, with the reason.
    Explain(crate::index::args::Explain),
    /// Tell who made each line of a file
    Blame(crate::index::args::Blame),
    /// Search the words of all tapes
    Grep(crate::index::args::Grep),
    /// Ask the index in SQL
    Query(crate::index::args::Query),
    /// Serve these answers to agents, as tools of the Model Context Protocol over standard input and output
    ///
    /// The tools are `explain`, `blame`, `grep`, `show`, `query`, `list`, `files` and `stats`. They only read, their answers are bounded, and keys
    /// and tokens in them are replaced. For example, `claude mcp add engram -- engram mcp`.
    #[cfg(feature = "mcp")]
    Mcp,
    /// Teach agents to ask: write a skill for Claude Code, Codex, OpenCode and Gemini CLI
    Skill(crate::skill::Skill),
    /// Write tapes in the forms that other programs read
    Export(crate::export::Export),
    /// Record what an editor and an agent say to each other over the Agent Client Protocol
    ///
    /// Starts COMMAND, passes every byte of both directions on as it comes, and logs each message, for `engram ingest`. In the settings of an
    /// editor, put `engram acp --` before the command of the agent: `engram acp -- kimi acp`. The exit code is that of the agent. A log that
    /// cannot be written is one line on standard error; the connection goes on.
    Acp(crate::acp::Acp),
    /// Check that tapes follow the format, and that a directory is as its index says
    ///
    /// Each line of a tape is checked against every rule of the format. In a directory, a response, call or prompt that tapes of two sessions
    /// have must be marked as `replay` on one of them. For a directory that `ingest --out` wrote, the hashes of the tapes are compared with its
    /// index: what is missing, changed or foreign is named.
    Check(Check),
    /// Check that a conversion lost nothing
    ///
    /// Converts each session and looks for every value of its log (strings, numbers, booleans): in the tape, in the tape in another form,
    /// omitted by a documented rule, or left over.
    Audit(Audit),
    /// Identify the harness and version of a log
    Detect(Detect),
    /// List the supported harnesses, versions and coverage
    Adapters(Adapters),
    /// Print the JSON Schema of the events
    Schema(Schema),
    /// Generate shell completions
    ///
    /// For example, `engram completions bash > ~/.local/share/bash-completion/completions/engram`.
    Completions(engram_command::complete::Completions),
    /// Generate manual pages
    ///
    /// Writes `engram.1` and a page for each command to DIR; prints `engram.1` without DIR. For example, `engram man
    /// ~/.local/share/man/man1`.
    Man(engram_command::man::Man),
}

/// Arguments of `engram ingest`.
#[derive(Debug, Clone, Args)]
pub struct Ingest {
    /// Session logs, stores of sessions, or directories to search for both; `-` reads standard input [default: the homes of all
    /// harnesses]
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Directory for the tapes; `-` is standard output, for one session [default without PATH: $ENGRAM_TAPES, else engram/tapes in your
    /// data directory]
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write this in place of tapes, as `engram export` does
    #[arg(long, value_name = "FORM", value_enum, requires = "out", conflicts_with_all = ["watch", "again", "zstd"])]
    pub to: Option<crate::export::To>,
    /// With `--to parquet`: divide the files of each table, so that a reader opens those that it needs
    #[cfg(feature = "parquet")]
    #[arg(long, value_name = "BY", value_enum, requires = "to")]
    pub partition: Option<crate::export::Partition>,
    /// With `--to parquet`: prices for costs that no log states
    #[cfg(feature = "parquet")]
    #[command(flatten)]
    pub prices: PriceTable,
    /// Convert again whenever a log changes, until interrupted
    #[arg(long)]
    pub watch: bool,
    /// Convert the units of this file, which `engram-lab units --json` wrote; `-` reads standard input
    #[arg(long, value_name = "FILE", requires = "out", conflicts_with_all = ["paths", "watch"])]
    pub units: Option<PathBuf>,
    /// Convert the units of one part of N, such as `1/4`. Each part needs a directory of its own
    #[arg(long, value_name = "I/N", requires = "units")]
    pub shard: Option<Shard>,
    /// What both choose. Read when the command begins
    #[arg(skip)]
    pub chosen: Option<Arc<Chosen>>,
    /// Read everything, also what has not changed
    #[arg(long)]
    pub again: bool,
    /// Take the tapes into the index too, which `engram explain` asks. Only what is new is read
    #[arg(long)]
    pub index: bool,
    /// Compress the tapes
    #[arg(long)]
    pub zstd: bool,
    /// Replace keys and tokens by `[redacted:<rule>]`, and leave out hashes that would prove them
    #[arg(long)]
    pub redact: bool,
    /// Write whole tapes to a directory of redacted ones
    #[arg(long, conflicts_with = "redact")]
    pub no_redact: bool,
    /// Half a surrogate pair, which programs in JavaScript leave when they cut a text
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    pub unicode: Unicode,
    /// Give reads and edits the texts that their hashes cover: what reads the tapes needs neither the logs nor the arguments of calls
    #[arg(long)]
    pub span_text: bool,
    #[command(flatten)]
    pub filter: Filter,
    /// End with exit code 1 if a session is not fully understood
    #[arg(long, value_name = "WHAT", value_enum, value_delimiter = ',')]
    pub fail_on: Vec<FailOn>,
    /// Write the numbers of the run to this file, as JSON
    #[arg(long, value_name = "FILE")]
    pub summary: Option<PathBuf>,
    #[command(flatten)]
    pub conversion: Conversion,
}

/// Arguments of `engram list`.
#[derive(Debug, Args)]
pub struct List {
    /// Session logs, stores, tapes, or directories to search for them [default: the homes of all harnesses, and the sessions whose log is
    /// gone]
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// The directory of tapes [default: $ENGRAM_TAPES, else engram/tapes in your data directory]
    #[arg(long, value_name = "DIR")]
    pub tapes: Option<PathBuf>,
    /// List the sessions of sub-agents too
    #[arg(long)]
    pub agents: bool,
    /// List so many sessions, the newest first; 0 lists all [default: 40 in a terminal]
    #[arg(long, short = 'n', value_name = "N")]
    pub limit: Option<usize>,
    #[command(flatten)]
    pub prices: PriceTable,
    #[command(flatten)]
    pub output: Output,
    #[command(flatten)]
    pub keys: Keys,
    #[command(flatten)]
    pub filter: Filter,
}

/// Arguments of `engram files`.
#[derive(Debug, Args)]
pub struct Files {
    /// Session logs, stores, tapes, or directories to search for them [default: the homes of all harnesses, and the sessions whose log is
    /// gone]
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// The directory of tapes [default: $ENGRAM_TAPES, else engram/tapes in your data directory]
    #[arg(long, value_name = "DIR")]
    pub tapes: Option<PathBuf>,
    /// Only files with this text in their path
    #[arg(long, value_name = "TEXT")]
    pub below: Option<String>,
    /// What comes first
    #[arg(long, value_name = "WHAT", default_value = "last")]
    pub sort: Sort,
    /// List so many files; 0 lists all
    #[arg(long, short = 'n', value_name = "N")]
    pub limit: Option<usize>,
    #[command(flatten)]
    pub prices: PriceTable,
    #[command(flatten)]
    pub output: Output,
    #[command(flatten)]
    pub keys: Keys,
    #[command(flatten)]
    pub filter: Filter,
}

/// Which files `engram files` lists first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Sort {
    /// The last changed
    Last,
    /// Those with the most edits
    Edits,
    /// Those that the most sessions changed
    Sessions,
}

impl Ingest {
    /// The form of the tapes.
    pub fn form(&self) -> Form {
        Form {
            compress: self.zstd,
            redact: self.redact,
            unicode: self.unicode,
        }
    }
}

/// Arguments of `engram detect`.
#[derive(Debug, Args)]
pub struct Detect {
    /// Session logs, stores of sessions, or directories to search for both; `-` reads standard input
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `engram audit`.
#[derive(Debug, Args)]
pub struct Audit {
    /// Session logs, stores of sessions, or directories to search for both; `-` reads standard input [default: the homes of all
    /// harnesses]
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Print what the logs call tokens, by member, beside the sums of the tapes
    #[arg(long)]
    pub tokens: bool,
    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub conversion: Conversion,
}

/// Arguments of `engram stats`.
#[derive(Debug, Args)]
pub struct Stats {
    /// Session logs, stores, tapes, or directories to search for them; `-` reads a log from standard input [default: the homes of all
    /// harnesses]
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// One row for each value, or for each combination of several: `--by day,model`
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',')]
    pub by: Vec<By>,
    /// The time zone of days, weeks and months: `Europe/Berlin`, `+02:00`, or `local` [default: UTC]
    #[arg(long, value_name = "ZONE", value_parser = crate::when::zone)]
    pub tz: Option<TimeZone>,
    #[command(flatten)]
    pub prices: PriceTable,
    /// The directory of tapes [default: $ENGRAM_TAPES, else engram/tapes in your data directory]
    #[arg(long, value_name = "DIR")]
    pub tapes: Option<PathBuf>,
    #[command(flatten)]
    pub output: Output,
    #[command(flatten)]
    pub keys: Keys,
    #[command(flatten)]
    pub filter: Filter,
    #[command(flatten)]
    pub conversion: Conversion,
}

/// Arguments of `engram check`.
#[derive(Debug, Args)]
pub struct Check {
    /// Tapes, plain or compressed, or directories of tapes; `-` reads standard input [default: `$ENGRAM_TAPES`, or `engram/tapes` in the data
    /// directory of the platform]
    #[arg(value_name = "TAPE")]
    pub tapes: Vec<PathBuf>,
    /// Make the index of a directory of tapes again: lines that are true stay, each other tape gets one
    #[arg(long)]
    pub repair: bool,
}

/// The value of `--answers` that stands for all commands.
pub const ALL_ANSWERS: &str = "all";

/// The values of `--answers`.
fn answers() -> PossibleValuesParser {
    let commands = answer_schema::commands();
    PossibleValuesParser::new([ALL_ANSWERS].into_iter().chain(commands))
}

/// Arguments of `engram schema`.
#[derive(Debug, Args)]
pub struct Schema {
    /// Print that of the lines that commands print with `--json`: of all commands, or of one
    #[arg(long, value_name = "COMMAND", num_args = 0..=1, default_missing_value = ALL_ANSWERS, value_parser = answers())]
    pub answers: Option<String>,
}

/// Arguments of `engram adapters`.
#[derive(Debug, Args)]
pub struct Adapters {
    /// Print the descriptors as JSON
    #[arg(long, conflicts_with = "markdown")]
    pub json: bool,
    /// Print the table of the documentation as Markdown
    #[arg(long)]
    pub markdown: bool,
}
