//! The help of `engram`: its commands in groups, those of every day first.

use std::fmt::Write as _;

use clap::{Command, CommandFactory};

use crate::args::CommandLine;

/// The commands by what they are for.
const GROUPS: [(&str, &[&str]); 4] = [
    (
        "Every day",
        &[
            "ingest", "list", "show", "files", "stats", "explain", "blame", "grep", "query",
            "export", "skill", "mcp",
        ],
    ),
    (
        "Tapes and logs",
        &[
            "index", "detect", "adapters", "check", "audit", "drift", "units", "schema",
        ],
    ),
    (
        "For those who develop engram",
        &["conform", "record", "shape", "matrix", "profile", "episode"],
    ),
    ("Shell", &["completions", "man", "help"]),
];

/// The command line, with a help that names its commands in groups.
pub fn command() -> Command {
    let command = CommandLine::command();
    let groups = groups(&command);
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}{{after-help}}"
    ))
}

/// The groups with a line for each command that this build has.
fn groups(command: &Command) -> String {
    let mut text = String::new();
    for (title, names) in GROUPS {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{title}:");
        for name in names {
            let about = match command.find_subcommand(name) {
                Some(command) => command.get_about().map(ToString::to_string),
                None if *name == "help" => Some("Print the help of a command".to_owned()),
                None => None,
            };
            if let Some(about) = about {
                let _ = writeln!(text, "  {name:<12} {about}");
            }
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_is_in_one_group() {
        let command = CommandLine::command();
        let mut known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        let listed = GROUPS.iter().flat_map(|(_, names)| names.iter().copied());
        let mut listed: Vec<&str> = listed
            .filter(|name| *name != "help" && command.find_subcommand(name).is_some())
            .collect();
        known.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, known);
        assert_eq!(GROUPS[0].1.len(), 12, "a person reads twelve");
    }

    #[test]
    fn the_help_fits_a_terminal_and_has_no_braces_of_its_own() {
        let text = groups(&CommandLine::command());
        assert!(!text.contains(['{', '}']), "{text}");
        assert!(
            text.starts_with("Every day:\n  ingest       Convert"),
            "{text}"
        );
    }
}
