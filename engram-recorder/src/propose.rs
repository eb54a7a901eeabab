//! Writes the change that recorded versions earn: a place among the swept versions of their adapter.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::{Fault, RecorderError};
use crate::matrix::{Matrix, Outcome};
use crate::sandbox::write;

/// The file with the swept versions of a harness's adapter, below the repository. An adapter whose logs have no version has none.
pub fn source(harness: &str) -> PathBuf {
    // The adapter of a fork may be a part of the adapter of its origin.
    let directory = match harness {
        "kilo" => "opencode/kilo".to_owned(),
        _ => harness.replace('-', "_"),
    };
    Path::new("engram-adapters/src")
        .join(directory)
        .join("swept.rs")
}

/// The content of that file: the versions of the matrix whose checks all hold, oldest first.
pub fn swept(harness: &str, matrix: &Matrix) -> String {
    let mut text = format!(
        "//! The versions whose recordings pass every check. Generated from `matrix/{harness}.tsv` (`engram-lab matrix propose`). Do not edit it.\n\n\
         /// Oldest first.\n#[rustfmt::skip]\npub(super) const SWEPT: &[&str] = &[\n"
    );
    for (version, row) in &matrix.0 {
        if matches!(row.outcome, Outcome::Earned | Outcome::Additive) {
            text.push_str(&format!("    \"{version}\",\n"));
        }
    }
    text.push_str("];\n");
    text
}

/// The change of a file of the repository to this content, as a patch; empty if it has it. The file may be new.
///
/// # Errors
/// If the file cannot be read, or `diff` cannot be run.
pub fn patch(repository: &Path, file: &Path, content: &str) -> Result<String, RecorderError> {
    let path = repository.join(file);
    let is_new = !path.exists();
    if !is_new {
        let old = fs::read(&path).map_err(|error| RecorderError::io(&path, &error))?;
        if old == content.as_bytes() {
            return Ok(String::new());
        }
    }
    let staged = tempfile::tempdir().map_err(|error| RecorderError::new(Fault::Io, error))?;
    let other = staged.path().join("new");
    write(&other, content.as_bytes())?;
    let name = file.display().to_string();
    let from = if is_new {
        Path::new("/dev/null")
    } else {
        &path
    };
    let old_label = if is_new {
        "/dev/null".to_owned()
    } else {
        format!("a/{name}")
    };
    let labels = [old_label, format!("b/{name}")];
    let output = Command::new("diff")
        .args(["-u", "--label", &labels[0], "--label", &labels[1]])
        .args([from.as_os_str(), other.as_os_str()])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| RecorderError::io(Path::new("diff"), &error))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Row;

    fn matrix(rows: &[(&str, Outcome)]) -> Matrix {
        let row = |outcome| Row {
            outcome,
            ..Row::default()
        };
        let rows = rows
            .iter()
            .map(|(version, outcome)| (version.parse().unwrap(), row(*outcome)));
        Matrix(rows.collect())
    }

    #[test]
    fn only_versions_whose_checks_hold_are_swept() {
        let matrix = matrix(&[
            ("1.10.0", Outcome::Additive),
            ("1.9.0", Outcome::Earned),
            ("1.8.0", Outcome::Broken),
            ("1.7.0", Outcome::Unrun),
            ("1.6.0", Outcome::Unrecordable),
        ]);
        let text = swept("codex", &matrix);
        assert!(
            text.ends_with("= &[\n    \"1.9.0\",\n    \"1.10.0\",\n];\n"),
            "{text}"
        );
    }

    #[test]
    fn patch_changes_the_file_into_the_content() {
        let repository = tempfile::tempdir().unwrap();
        let file = source("claude-code");
        write(&repository.path().join(&file), b"a\nb\n").unwrap();
        let patch = |content| patch(repository.path(), &file, content).unwrap();
        assert_eq!(patch("a\nb\n"), "");
        let changed = patch("a\nc\n");
        assert!(
            changed.starts_with("--- a/engram-adapters/src/claude_code/swept.rs\n+++ b/")
                && changed.ends_with("-b\n+c\n"),
            "{changed}"
        );
        fs::remove_file(repository.path().join(&file)).unwrap();
        let made = patch("a\n");
        assert!(
            made.starts_with("--- /dev/null\n+++ b/") && made.ends_with("+a\n"),
            "{made}"
        );
    }
}
