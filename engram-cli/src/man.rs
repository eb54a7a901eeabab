//! `engram man`: manual pages, made from the same definition as the help.

use std::fs;
use std::io::{self, Write, stdout};
use std::path::Path;

use clap::builder::Resettable;
use clap::{Command, CommandFactory};
use clap_mangen::roff::{Roff, roman};
use engram_core::error::AdapterError;

use crate::args::{CommandLine, Man};
use crate::exit::Exit;
use crate::report::Reporter;

/// Runs the command.
///
/// # Errors
/// When standard output cannot be written to.
pub fn run(args: &Man, report: &Reporter) -> io::Result<Exit> {
    // A command `help` needs no page: `engram.1` lists the commands.
    let mut command = CommandLine::command().disable_help_subcommand(true);
    command.build();
    let Some(directory) = &args.directory else {
        let mut out = stdout().lock();
        out.write_all(&page(&command)?)?;
        out.flush()?;
        return Ok(Exit::Success);
    };
    match write_pages(&command, directory) {
        Ok(()) => Ok(Exit::Success),
        Err(error) => Ok(report.failure(&AdapterError::from(error).path(directory.to_string_lossy()))),
    }
}

/// Writes the page of the command and one for each of its commands.
fn write_pages(command: &Command, directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    for command in command.get_subcommands().chain([command]) {
        let name = command.get_display_name().unwrap_or_else(|| command.get_name());
        fs::write(directory.join(format!("{name}.1")), page(command)?)?;
    }
    Ok(())
}

/// The page of one command.
fn page(command: &Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone().after_help(Resettable::Reset)).render(&mut page)?;
    if let Some(examples) = command.get_after_help() {
        // Its lines are arranged in columns: they must not be filled.
        let examples = examples.to_string();
        let lines = examples.strip_prefix("Examples:\n").unwrap_or(&examples).lines();
        let mut section = Roff::new();
        section.control("SH", ["EXAMPLES"]).control("nf", []);
        for line in lines {
            section.text([roman(line)]);
        }
        section.control("fi", []).to_writer(&mut page)?;
    }
    Ok(page)
}
