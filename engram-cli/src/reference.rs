//! The reference in `docs/cli.md`: every command with its arguments, generated from the definition of the command line.

use std::fmt::Write as _;
use std::path::Path;

use clap::builder::StyledStr;
use clap::{Arg, Command, CommandFactory};

use crate::args::CommandLine;

const BEGIN: &str = "<!-- generated: reference -->\n";
const END: &str = "<!-- end generated -->\n";

fn reference() -> String {
    let mut command = CommandLine::command().disable_help_subcommand(true);
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
    writeln!(
        out,
        "\n{heading} {}\n\n{}",
        command.get_bin_name().unwrap_or(command.get_name()),
        text.replace("\n\n", ". ").trim()
    )
    .unwrap();
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
            write!(help, ": {}", choices.join(", ")).unwrap();
        }
        let defaults: Vec<_> = argument
            .get_default_values()
            .iter()
            .filter(|_| takes_value)
            .map(|value| value.to_string_lossy())
            .collect();
        if !defaults.is_empty() {
            write!(help, ". Default: `{}`", defaults.join(" ")).unwrap();
        }
        writeln!(
            out,
            "| `{}` | {} |",
            format!("{name} {value}").trim().replace('|', "\\|"),
            help.replace('|', "\\|")
        )
        .unwrap();
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

/// Rewritten with `ENGRAM_BLESS=1`.
#[test]
fn the_reference_is_generated() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/cli.md");
    let document = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = document.split_once(BEGIN).expect("a generated part");
    let (shown, after) = rest.split_once(END).expect("an end of the generated part");
    let generated = reference();
    if std::env::var_os("ENGRAM_BLESS").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{generated}{END}{after}")).unwrap();
    } else {
        assert_eq!(
            shown, generated,
            "docs/cli.md is stale: ENGRAM_BLESS=1 cargo test rewrites it"
        );
    }
}

#[test]
fn every_command_and_argument_is_in_the_reference() {
    let reference = reference();
    for part in [
        "### engram files",
        "#### engram export parquet",
        "| `--rows-per-file N` |",
        "| `-o, --out DIR` |",
        "| `--by WHAT` |",
        "`project` (the directory that a session began in; worktrees of one repository are one project)",
    ] {
        assert!(reference.contains(part), "{part} in {reference}");
    }
    assert!(!reference.contains("`--help`"), "{reference}");
}
