//! The reference of a command in Markdown: every subcommand with its arguments, generated from the definition of the command line. Options of several
//! commands are there once.

use std::fmt::Write as _;

use clap::builder::StyledStr;
use clap::{Arg, Command, Id};

use crate::program::Program;

const BEGIN: &str = "<!-- generated: reference -->\n";
const END: &str = "<!-- end generated -->\n";

/// A document with the reference between its marks `<!-- generated: reference -->` and `<!-- end generated -->`; `None` if it has no marks.
/// A test compares the document with it.
pub fn renewed<P: Program>(document: &str) -> Option<String> {
    let (before, rest) = document.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}{}{END}{after}", reference::<P>()))
}

fn reference<P: Program>() -> String {
    let mut command = P::command().disable_help_subcommand(true);
    command.build();
    let mut out = "\nOptions of every command:\n\n".to_owned();
    table(command.get_arguments().map(Row::of), &mut out);
    let everywhere: Vec<&Id> = command.get_arguments().map(Arg::get_id).collect();
    let mut rows = Vec::new();
    collect(&command, &everywhere, &mut rows);
    let shared = shared(&rows);
    if !shared.is_empty() {
        out.push_str("\nOptions of several commands:\n\n");
        table(shared.iter().cloned(), &mut out);
    }
    for command in command.get_subcommands() {
        section(command, "###", (&everywhere, &shared), &mut out);
    }
    out.push('\n');
    out
}

/// An argument: its name with the value, and what it means.
#[derive(Clone, PartialEq, Eq)]
struct Row {
    name: String,
    value: String,
    help: String,
}

/// The rows of the commands below one, once for each command.
fn collect(command: &Command, everywhere: &[&Id], rows: &mut Vec<Row>) {
    for command in command.get_subcommands() {
        rows.extend(own(command, everywhere).map(Row::of));
        collect(command, everywhere, rows);
    }
}

/// The options that several commands have in one meaning, each name once: in another meaning it is in the table of its command.
fn shared(rows: &[Row]) -> Vec<Row> {
    let mut shared: Vec<Row> = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let is_new = !row.name.is_empty() && shared.iter().all(|known| known.name != row.name);
        if is_new && rows[..at].contains(row) {
            shared.push(row.clone());
        }
    }
    shared
}

/// What a command does and takes, then the same of its commands.
fn section(
    command: &Command,
    heading: &str,
    (everywhere, shared): (&[&Id], &[Row]),
    out: &mut String,
) {
    let text = command
        .get_long_about()
        .or(command.get_about())
        .map(StyledStr::to_string)
        .unwrap_or_default();
    let _ = writeln!(
        out,
        "\n{heading} {}\n\n{}",
        command.get_bin_name().unwrap_or(command.get_name()),
        text.replace("\n\n", ". ").trim()
    );
    let (above, here): (Vec<Row>, Vec<Row>) = own(command, everywhere)
        .map(Row::of)
        .partition(|row| shared.contains(row));
    if !here.is_empty() {
        out.push('\n');
        table(here.into_iter(), out);
    }
    if !above.is_empty() {
        let names: Vec<String> = above.iter().map(|row| format!("`{}`", row.name)).collect();
        let _ = writeln!(out, "\nAlso, as above: {}.", names.join(", "));
    }
    for command in command.get_subcommands() {
        section(command, "####", (everywhere, shared), out);
    }
}

/// The arguments of a command that not every command has.
fn own<'c>(command: &'c Command, everywhere: &[&Id]) -> impl Iterator<Item = &'c Arg> {
    command
        .get_arguments()
        .filter(|argument| !everywhere.contains(&argument.get_id()))
}

fn table(rows: impl Iterator<Item = Row>, out: &mut String) {
    out.push_str("| argument | meaning |\n| --- | --- |\n");
    for row in rows {
        let name = format!("{} {}", row.name, row.value);
        let _ = writeln!(
            out,
            "| `{}` | {} |",
            name.trim().replace('|', "\\|"),
            row.help.replace('|', "\\|")
        );
    }
}

impl Row {
    fn of(argument: &Arg) -> Row {
        let name = match (argument.get_short(), argument.get_long()) {
            (Some(short), Some(long)) => format!("-{short}, --{long}"),
            (None, Some(long)) => format!("--{long}"),
            _ => String::new(),
        };
        let takes_value = argument.get_action().takes_values();
        let value = argument
            .get_value_names()
            .filter(|_| takes_value)
            .map(|names| names.join(" "))
            .unwrap_or_default();
        let mut help = argument
            .get_help()
            .map(StyledStr::to_string)
            .unwrap_or_default();
        let choices: Vec<String> = argument
            .get_possible_values()
            .iter()
            .filter(|_| takes_value)
            .map(|value| match value.get_help() {
                Some(help) => format!("`{}` ({})", value.get_name(), lower(&help.to_string())),
                None => format!("`{}`", value.get_name()),
            })
            .collect();
        if !choices.is_empty() {
            let _ = write!(help, ": {}", choices.join(", "));
        }
        let defaults: Vec<_> = argument
            .get_default_values()
            .iter()
            .filter(|_| takes_value)
            .map(|value| value.to_string_lossy())
            .collect();
        if !defaults.is_empty() {
            let _ = write!(help, ". Default: `{}`", defaults.join(" "));
        }
        Row { name, value, help }
    }
}

fn lower(text: &str) -> String {
    let text = text.trim_end_matches('.');
    text.chars()
        .take(1)
        .flat_map(char::to_lowercase)
        .chain(text.chars().skip(1))
        .collect()
}
