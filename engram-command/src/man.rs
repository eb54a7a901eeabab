//! Manual pages, made from the same definition as the help.

use std::fs;
use std::io::{self, Write, stdout};
use std::path::{Path, PathBuf};

use clap::builder::Resettable;
use clap::{Arg, ArgAction, Args, Command};
use clap_mangen::roff::{Inline, Roff, bold, italic, roman};
use engram_core::error::AdapterError;

use crate::exit::Exit;
use crate::program::Program;
use crate::report::Reporter;

/// Arguments of `man`.
#[derive(Debug, Args)]
pub struct Man {
    /// The directory for the pages; it is created if it is not there
    #[arg(value_name = "DIR")]
    pub directory: Option<PathBuf>,
}

/// Writes the pages of a command to a directory, or the first one to standard output.
///
/// # Errors
/// When standard output cannot be written to.
pub fn run<P: Program>(args: &Man, report: &Reporter) -> io::Result<Exit> {
    // A command `help` needs no page: the first page lists the commands.
    let mut command = P::command().disable_help_subcommand(true);
    command.build();
    let Some(directory) = &args.directory else {
        let mut out = stdout().lock();
        out.write_all(&page(&command)?)?;
        out.flush()?;
        return Ok(Exit::Success);
    };
    match write_pages(&command, directory) {
        Ok(()) => Ok(Exit::Success),
        Err(error) => {
            Ok(report.failure(&AdapterError::from(error).path(directory.to_string_lossy())))
        }
    }
}

/// Writes the page of the command and those of its commands, and of theirs.
fn write_pages(command: &Command, directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    let name = command
        .get_display_name()
        .unwrap_or_else(|| command.get_name());
    fs::write(directory.join(format!("{name}.1")), page(command)?)?;
    command
        .get_subcommands()
        .try_for_each(|command| write_pages(command, directory))
}

/// The page of one command.
fn page(command: &Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    let man = clap_mangen::Man::new(command.clone().after_help(Resettable::Reset));
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    synopsis(command).to_writer(&mut page)?;
    man.render_description_section(&mut page)?;
    if command.get_arguments().next().is_some() {
        man.render_options_section(&mut page)?;
    }
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    if command.get_version().is_some() {
        man.render_version_section(&mut page)?;
    }
    if let Some(examples) = command.get_after_help() {
        // Its lines are arranged in columns: they must not be filled.
        let examples = examples.to_string();
        let lines = examples
            .strip_prefix("Examples:\n")
            .unwrap_or(&examples)
            .lines();
        let mut section = Roff::new();
        section.control("SH", ["EXAMPLES"]).control("nf", []);
        for line in lines {
            section.text([roman(line)]);
        }
        section.control("fi", []).to_writer(&mut page)?;
    }
    Ok(page)
}

/// How the command is called: its options with their values, then what it is given.
fn synopsis(command: &Command) -> Roff {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let mut words = vec![bold(name)];
    let (given, options): (Vec<&Arg>, Vec<&Arg>) = command
        .get_arguments()
        .filter(|argument| !argument.is_hide_set())
        .partition(|argument| argument.is_positional());
    options
        .into_iter()
        .for_each(|option| words.extend(option_words(option)));
    given
        .into_iter()
        .for_each(|argument| words.extend(given_words(argument)));
    if command.has_subcommands() {
        words.extend([roman(" "), italic("COMMAND")]);
    }
    let mut section = Roff::new();
    section.control("SH", ["SYNOPSIS"]).text(words);
    section
}

/// `[-o|--out DIR]`.
fn option_words(option: &Arg) -> Vec<Inline> {
    let short = option.get_short().map(|short| format!("-{short}"));
    let long = option.get_long().map(|long| format!("--{long}"));
    let mut words = vec![
        roman(" ["),
        bold(short.into_iter().chain(long).collect::<Vec<_>>().join("|")),
    ];
    if option.get_action().takes_values() {
        words.extend([roman(" "), italic(value_name(option))]);
    }
    words.push(roman("]"));
    words
}

/// `TAPE`, or `[PATH]...` for what may be missing or given more than once.
fn given_words(argument: &Arg) -> Vec<Inline> {
    let (before, after) = if argument.is_required_set() {
        (" ", "")
    } else {
        (" [", "]")
    };
    let is_several = matches!(argument.get_action(), ArgAction::Append);
    vec![
        roman(before),
        italic(value_name(argument)),
        roman(format!("{after}{}", if is_several { "..." } else { "" })),
    ]
}

fn value_name(argument: &Arg) -> String {
    argument.get_value_names().map_or_else(
        || argument.get_id().to_string().to_uppercase(),
        |names| names.join(" "),
    )
}
