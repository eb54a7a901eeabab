//! The reference of a command in Markdown: every subcommand with its arguments, generated from the definition of the command line.

use std::fmt::Write as _;

use clap::builder::StyledStr;
use clap::{Arg, Command};

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
    arguments(command.get_arguments(), &mut out);
    for command in command.get_subcommands() {
        section(command, "###", &mut out);
    }
    out.push('\n');
    out
}

/// What a command does and takes, then the same of its commands.
fn section(command: &Command, heading: &str, out: &mut String) {
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
    if own(command).next().is_some() {
        out.push('\n');
        arguments(own(command), out);
    }
    for command in command.get_subcommands() {
        section(command, "####", out);
    }
}

/// The arguments that only this command has.
fn own(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|argument| {
        !argument.is_global_set() && !["help", "version"].contains(&argument.get_id().as_str())
    })
}

fn arguments<'a>(arguments: impl Iterator<Item = &'a Arg>, out: &mut String) {
    out.push_str("| argument | meaning |\n| --- | --- |\n");
    for argument in arguments {
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
        let _ = writeln!(
            out,
            "| `{}` | {} |",
            format!("{name} {value}").trim().replace('|', "\\|"),
            help.replace('|', "\\|")
        );
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
