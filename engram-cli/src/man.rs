//! `engram man`: manual pages, made from the same definition as the help.

use std::fs;
use std::io::{self, Write, stdout};

use clap::CommandFactory;
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
    let command = CommandLine::command().disable_help_subcommand(true);
    let Some(directory) = &args.directory else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page)?;
        let mut out = stdout().lock();
        out.write_all(&page)?;
        out.flush()?;
        return Ok(Exit::Success);
    };
    let written = fs::create_dir_all(directory).and_then(|()| clap_mangen::generate_to(command, directory));
    Ok(written.map_or_else(|error| report.failure(&AdapterError::from(error).path(directory.to_string_lossy())), |()| Exit::Success))
}
