//! What a command is made of, and what each of its subcommands takes.

use std::io;

use clap::{ArgAction, Args, CommandFactory, FromArgMatches};
use engram_adapters::Registry;

use crate::exit::Exit;
use crate::report::{ErrorFormat, Reporter};

/// What every subcommand takes: how it reports.
#[derive(Debug, Args)]
pub struct Reporting {
    /// Format of errors on standard error. `json` writes one object per line, and nothing else
    #[arg(long, global = true, value_enum, default_value_t = ErrorFormat::Text, value_name = "FORMAT")]
    pub error_format: ErrorFormat,
    /// Only print errors
    #[arg(long, short, global = true, action = ArgAction::SetTrue)]
    pub quiet: bool,
    /// Print details: a line per session, all warnings, what was omitted by which rule
    #[arg(long, short, global = true, action = ArgAction::SetTrue, conflicts_with = "quiet")]
    pub verbose: bool,
}

/// Subcommands in the help, under a title.
pub type Group = (&'static str, &'static [&'static str]);

/// A command with subcommands, as `engram` is.
pub trait Program: CommandFactory + FromArgMatches {
    /// The subcommands by what they are for.
    const GROUPS: &'static [Group];

    /// How to report.
    fn reporting(&self) -> &Reporting;

    /// Runs the subcommand.
    ///
    /// # Errors
    /// When standard output cannot be written to.
    fn run(&self, registry: &Registry, report: &Reporter) -> io::Result<Exit>;

    /// True if an interrupt ends the command. Without it, the subcommand hears signals itself.
    fn hears_interrupts(&self) -> bool {
        true
    }

    /// More about a name that is no subcommand.
    fn about_unknown(_name: &str) -> Option<String> {
        None
    }
}
