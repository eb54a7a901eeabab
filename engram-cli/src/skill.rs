//! `engram skill`: teaches coding agents to ask the index.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use engram_command::exit::Exit;
use engram_command::output;
use engram_command::places;
use engram_command::report::Reporter;
use engram_core::error::AdapterError;

/// The skill: when to ask, how, and what not to do with the answer.
const SKILL: &str = include_str!("SKILL.md");
/// The line by which a file is known as one that this command wrote.
const NAME: &str = "\nname: engram-explain\n";

/// Where the skill goes, below the home directory: Claude Code reads the first place; Codex, OpenCode and Gemini CLI read the second (their
/// documentation of skills, November 2026).
const PLACES: [(&str, &str); 2] = [
    ("Claude Code", ".claude/skills/engram-explain/SKILL.md"),
    (
        "Codex, OpenCode, Gemini CLI",
        ".agents/skills/engram-explain/SKILL.md",
    ),
];

/// `engram skill`.
#[derive(Debug, Args)]
pub struct Skill {
    /// What to do.
    #[command(subcommand)]
    pub what: What,
}

/// What `engram skill` does.
#[derive(Debug, Subcommand)]
pub enum What {
    /// Write the skill to where Claude Code, Codex, OpenCode and Gemini CLI look for skills
    Install {
        /// The home directory
        #[arg(long, value_name = "DIR")]
        home: Option<PathBuf>,
    },
    /// Print the skill
    Print,
}

/// Runs the command.
///
/// # Errors
/// When standard output cannot be written to.
pub fn run(args: &Skill, report: &Reporter) -> io::Result<Exit> {
    let home = match &args.what {
        What::Print => return output::print(SKILL),
        What::Install { home } => home.clone().or_else(places::home),
    };
    let Some(home) = home else {
        return Ok(report.usage("this system names no home directory; give it with `--home DIR`"));
    };
    for (readers, below) in PLACES {
        let path = home.join(below);
        match install(&path) {
            Ok(()) => report.note(&format!("{readers}: {}", path.display())),
            Err(error) => {
                return Ok(report.failure(&AdapterError::from(error).path(path.to_string_lossy())));
            }
        }
    }
    Ok(Exit::Success)
}

/// Writes the skill. A file that is something else stays.
fn install(path: &Path) -> io::Result<()> {
    if path.exists() && !fs::read_to_string(path)?.contains(NAME) {
        return Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "another skill is there; move it away first",
        ));
    }
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    output::write(path, |out| out.write_all(SKILL.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skill_is_written_again_and_another_one_stays() {
        assert!(SKILL.contains(NAME));
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a/SKILL.md");
        install(&path).unwrap();
        install(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), SKILL);
        fs::write(&path, "---\nname: other\n---\n").unwrap();
        assert_eq!(
            install(&path).unwrap_err().kind(),
            io::ErrorKind::AlreadyExists
        );
    }
}
