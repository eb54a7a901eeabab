//! The help of a command: its subcommands in groups.

use std::fmt::Write as _;

use clap::Command;

use crate::program::{Group, Program};

/// Where the words about a subcommand begin.
const INDENT: &str = "               ";
/// The widest help, as clap has it.
const MAX_WIDTH: usize = 100;

/// The command line, with a help that names its subcommands in groups.
pub fn command<P: Program>() -> Command {
    let command = P::command();
    let groups = groups(&command, P::GROUPS);
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}{{after-help}}"
    ))
}

/// The groups with a line for each subcommand that this build has.
fn groups(command: &Command, groups: &[Group]) -> String {
    let terminal = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let width = terminal.map_or(MAX_WIDTH, |width| width.min(MAX_WIDTH));
    let mut text = String::new();
    for (title, names) in groups {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{title}:");
        for name in *names {
            let about = match command.find_subcommand(name) {
                Some(command) => command.get_about().map(ToString::to_string),
                None if *name == "help" => Some("Print the help of a command".to_owned()),
                None => None,
            };
            if let Some(about) = about {
                let mut line = format!("  {name:<12} {about}");
                // It is made for each command: few lines are wrapped.
                if line.len() > width {
                    let wrapped = textwrap::Options::new(width).subsequent_indent(INDENT);
                    line = textwrap::fill(&line, wrapped);
                }
                let _ = writeln!(text, "{line}");
            }
        }
        text.push('\n');
    }
    text
}

/// The subcommands that are in no group, or in two; empty for a help that is whole. For tests of commands.
pub fn misplaced<P: Program>() -> Vec<String> {
    let command = P::command();
    let places = |name: &str| {
        let listed = P::GROUPS.iter().flat_map(|(_, names)| names.iter());
        listed.filter(|listed| **listed == name).count()
    };
    let names = command.get_subcommands().map(Command::get_name);
    names
        .filter(|name| places(name) != 1)
        .map(str::to_owned)
        .collect()
}
