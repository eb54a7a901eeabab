//! Commands that documents, workflows and messages show, held against the real command line. For tests of commands.
//!
//! A reader copies what is in a block or between backticks. So each of these lines must be one that the command takes: its subcommand, its
//! options and their values. Words such as `FILE` or `I/N` stand for a value.

use std::fs;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::program::Program;

/// Where text about the commands is, below the repository: Markdown, workflows, and sources, which have messages and comments.
const PLACES: &[&str] = &[
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "ARCHITECTURE.md",
    "docs",
    "packaging",
    "examples",
    ".github",
    "fixtures/README.md",
    "engram-adapters",
    "engram-cli",
    "engram-command",
    "engram-conformance",
    "engram-core",
    "engram-export",
    "engram-index",
    "engram-lab",
    "engram-profiles",
    "engram-python",
    "engram-recorder",
];

/// The commands that the repository shows, and those of them that are refused.
#[derive(Debug, Default)]
pub struct Shown {
    /// How many commands were found.
    pub commands: usize,
    /// The refused ones: the file, the command, and what is wrong with it.
    pub refused: Vec<String>,
}

/// Holds what a repository shows against the command line of this name.
pub fn shown<P: Program>(repository: &Path, name: &str) -> Shown {
    let mut files = Vec::new();
    for place in PLACES {
        collect(&repository.join(place), &mut files);
    }
    let mut shown = Shown::default();
    for file in files {
        let Ok(text) = fs::read_to_string(&file) else {
            continue;
        };
        let is_markdown = file.extension().is_some_and(|extension| extension == "md");
        let lines = if is_markdown {
            of_markdown(&text)
        } else {
            of_lines(&text)
        };
        let file = file.strip_prefix(repository).unwrap_or(&file);
        for line in lines {
            let scripts = simple_commands(&line.text).into_iter();
            for script in scripts.filter_map(|words| words.into_iter().next()) {
                if line.is_whole && !may_be_run(&repository.join(&script)) {
                    let what = format!("{}: {script} cannot be executed", file.display());
                    shown.refused.push(what);
                }
            }
            for words in commands(&line.text, name) {
                shown.commands += 1;
                if let Some(wrong) = refusal::<P>(name, &words, line.is_whole) {
                    let command = words.join(" ");
                    shown
                        .refused
                        .push(format!("{}: {name} {command}: {wrong}", file.display()));
                }
            }
        }
    }
    shown
}

/// False for a file that a reader would run by its name, and that may not be executed.
fn may_be_run(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let is_program = path
            .extension()
            .is_none_or(|extension| extension == "py" || extension == "sh");
        let mode = path.metadata().ok().filter(fs::Metadata::is_file);
        !is_program || mode.is_none_or(|meta| meta.permissions().mode() & 0o111 != 0)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        true
    }
}

/// The files of text below a place, without what a build leaves and without logs.
fn collect(place: &Path, files: &mut Vec<PathBuf>) {
    let is_kept = |path: &Path| {
        let name = path.file_name().unwrap_or_default();
        name != "target" && name != "fixtures" && name != "node_modules"
    };
    if place.is_file() {
        let extension = place.extension().and_then(|extension| extension.to_str());
        if matches!(extension, Some("md" | "rs" | "yml")) {
            files.push(place.to_owned());
        }
        return;
    }
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let mut below: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    below.sort();
    for path in below.iter().filter(|path| is_kept(path)) {
        collect(path, files);
    }
}

/// A line of a shell, or words between backticks.
struct Line {
    text: String,
    /// A line of a block can be run as it is. Words in a sentence may lack what the sentence is not about.
    is_whole: bool,
}

/// The lines of blocks, and what stands between backticks outside of them.
fn of_markdown(text: &str) -> Vec<Line> {
    let (mut lines, mut prose) = (Vec::new(), String::new());
    let mut block: Option<&str> = None;
    for line in text.replace("\\\n", " ").lines() {
        let line = line.trim();
        if let Some(language) = line.strip_prefix("```") {
            block = if block.is_some() {
                None
            } else if language == "sh" {
                Some("sh")
            } else {
                Some("other")
            };
            prose.push_str("\n\n");
        } else if let Some(language) = block {
            let (line, is_asked) = match line.strip_prefix("$ ") {
                Some(line) => (line, true),
                None => (line, language == "sh" || line.contains(INSTALLED)),
            };
            if is_asked {
                lines.push(Line {
                    text: line.to_owned(),
                    is_whole: true,
                });
            }
        } else {
            prose.push_str(line);
            prose.push(if line.is_empty() || line.starts_with('|') {
                '\n'
            } else {
                ' '
            });
        }
    }
    lines.extend(prose.lines().flat_map(spans));
    lines
}

/// What stands between backticks in a source, and the commands of a workflow.
fn of_lines(text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    for line in text.lines() {
        let command = line.trim().trim_start_matches("- ");
        let command = command.strip_prefix("run: ").unwrap_or(command);
        if command.starts_with("engram ") || command.starts_with("engram-lab ") {
            lines.push(Line {
                text: command.to_owned(),
                is_whole: true,
            });
        }
        lines.extend(spans(line));
    }
    lines
}

/// What stands between backticks.
fn spans(text: &str) -> Vec<Line> {
    let spans = text.split('`').skip(1).step_by(2);
    spans
        .map(|span| Line {
            // A table writes a pipe so.
            text: span.replace("\\|", "|"),
            is_whole: false,
        })
        .collect()
}

/// Where `cargo install` puts the command.
const INSTALLED: &str = ".cargo/bin/engram";

/// The arguments of each command of this name in a line of a shell.
fn commands(line: &str, name: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for words in simple_commands(line) {
        let is_name = |at: usize| {
            let word = words[at].rsplit(['/', '=']).next().unwrap_or_default();
            let is_path = words[at].contains(".cargo/bin/");
            let is_begun =
                at == 0 || words[at - 1] == "--" || words[..at].iter().any(|word| word == "xargs");
            word == name && (is_path || (words[at] == name && is_begun))
        };
        let package = match name {
            "engram-lab" => "engram-tape-lab",
            _ => "engram-tape",
        };
        let is_run = words.starts_with(&["cargo".to_owned(), "run".to_owned()])
            && words.iter().any(|word| word == package);
        let begin = if is_run {
            words.iter().position(|word| word == "--")
        } else {
            (0..words.len()).find(|at| is_name(*at))
        };
        let arguments: Vec<String> = begin.map(|at| words[at + 1..].to_vec()).unwrap_or_default();
        // A source has a place for what it fills in.
        if arguments.first().is_some_and(|first| !first.contains('{')) {
            found.push(arguments);
        }
    }
    found
}

/// The words of each command between pipes, semicolons and `&&`, without variables in front, redirections and a comment.
fn simple_commands(line: &str) -> Vec<Vec<String>> {
    let mut all = vec![Vec::new()];
    let mut skips_next = false;
    // In a list of examples, what a command does stands behind some spaces.
    let command = line.trim().split("  ").next().unwrap_or_default();
    for word in words(command) {
        let is_variable = word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_')
        });
        let words = all.last_mut().expect("one is there from the beginning");
        match word.as_str() {
            "#" => break,
            "|" | "&&" | "||" | ";" | "do" => all.push(Vec::new()),
            ">" | "<" | "2>" | ">>" => skips_next = true,
            _ if skips_next => skips_next = false,
            "…" | "..." => {}
            _ if is_variable && words.is_empty() => {}
            // Brackets are around what may be left out.
            _ => words.push(
                word.trim_start_matches('[')
                    .trim_end_matches([']', ';'])
                    .to_owned(),
            ),
        }
    }
    all
}

/// The words of a line, quotes taken off.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, _) if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// What the command line refuses, if it does.
fn refusal<P: Program>(name: &str, words: &[String], is_whole: bool) -> Option<String> {
    let arguments = std::iter::once(name).chain(words.iter().map(String::as_str));
    let error = P::command().try_get_matches_from(arguments).err()?;
    let is_taken = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => true,
        ErrorKind::MissingRequiredArgument
        | ErrorKind::MissingSubcommand
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => !is_whole,
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            match error.get(ContextKind::InvalidValue) {
                Some(ContextValue::String(value)) => {
                    stands_for_a_value(value) || (value.is_empty() && !is_whole)
                }
                _ => false,
            }
        }
        _ => false,
    };
    (!is_taken).then(|| {
        error
            .to_string()
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned()
    })
}

/// Whether a word is one that a reader replaces: `N`, `I/N`, `HASH|PATH`, `{at}`.
fn stands_for_a_value(word: &str) -> bool {
    word.contains('{')
        || word
            .chars()
            .all(|c| c.is_ascii_uppercase() || "/|_…".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_shell() {
        let line = r#"A=1 engram query "select 1" --csv > out.csv # a comment"#;
        assert_eq!(
            commands(line, "engram"),
            [["query", "select 1", "--csv"].map(str::to_owned)]
        );
        let line = "seq 16 | xargs -P 4 -I{} engram ingest --shard {}/16 && engram list";
        assert_eq!(commands(line, "engram").len(), 2);
        assert!(commands("/path/to/its/engram fingerprint", "engram").is_empty());
        assert!(commands("claude mcp add engram", "engram").is_empty());
        assert_eq!(
            commands("claude mcp add engram -- engram mcp", "engram"),
            [["mcp"]]
        );
        let line = "0 * * * * $HOME/.cargo/bin/engram -q ingest";
        assert_eq!(commands(line, "engram"), [["-q", "ingest"]]);
        let line = "cargo run --release -p engram-tape-lab -- conform --tier 3";
        assert_eq!(commands(line, "engram-lab"), [["conform", "--tier", "3"]]);
        assert!(commands(line, "engram").is_empty());
    }

    #[test]
    fn blocks_and_words_between_backticks() {
        let text = "See `engram\nlist` and:\n\n```text\n$ engram files tapes\nengram prints this\n```\n\n```sh\nengram stats\n```\n";
        let found: Vec<String> = of_markdown(text)
            .into_iter()
            .map(|line| line.text)
            .collect();
        assert_eq!(found, ["engram files tapes", "engram stats", "engram list"]);
    }
}
