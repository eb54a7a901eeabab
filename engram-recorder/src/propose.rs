//! Writes the change that a recorded version earns: a place among the tested versions of its adapter.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use semver::Version;

use crate::error::{Fault, RecorderError};
use crate::sandbox::write;

/// The list of tested versions of a revision, in the source of an adapter.
const LIST: &str = "tested: &[";
/// The beginning of a revision there.
const REVISION: &str = "Revision {";

/// The source file with the revisions of a harness's adapter, below the repository.
pub fn source(harness: &str) -> PathBuf {
    Path::new("engram-adapters/src")
        .join(harness.replace('-', "_"))
        .join("revisions.rs")
}

/// The text with `new` beside `near` in each list of tested versions that has `near`; a range that ends with `near` ends with `new`.
/// `None` if no list has it, or one has `new` already.
pub fn with_version(text: &str, near: &str, new: &str) -> Option<String> {
    let (near_number, new_number) = (Version::parse(near).ok()?, Version::parse(new).ok()?);
    let quoted = format!("\"{near}\"");
    let both = if new_number > near_number {
        format!("\"{near}\", \"{new}\"")
    } else {
        format!("\"{new}\", \"{near}\"")
    };
    let mut out = String::new();
    let mut rest = text;
    let mut changed = false;
    while let Some(at) = rest.find(LIST) {
        let end = at + rest[at..].find(']')?;
        let list = &rest[at..end];
        if list.contains(&format!("\"{new}\"")) {
            return None;
        }
        let (before, from) = (&rest[..at], rest[..at].rfind(REVISION).unwrap_or(0));
        if list.contains(&quoted) {
            changed = true;
            let range = if new_number > near_number {
                before[from..].replace(&format!("<={near}"), &format!("<={new}"))
            } else {
                before[from..].to_owned()
            };
            out.push_str(&before[..from]);
            out.push_str(&range);
            out.push_str(&list.replace(&quoted, &both));
        } else {
            out.push_str(&rest[..end]);
        }
        rest = &rest[end..];
    }
    out.push_str(rest);
    changed.then_some(out)
}

/// The change for one version, as a patch of the repository.
///
/// # Errors
/// If the source cannot be read, has no place for the version, or `diff` cannot be run.
pub fn patch(
    repository: &Path,
    harness: &str,
    near: &str,
    new: &str,
) -> Result<String, RecorderError> {
    let file = source(harness);
    let path = repository.join(&file);
    let text = fs::read_to_string(&path).map_err(|error| RecorderError::io(&path, &error))?;
    let none = || {
        RecorderError::new(
            Fault::Misconfigured,
            format!(
                "{} has no list with {near} and without {new}",
                file.display()
            ),
        )
    };
    let changed = with_version(&text, near, new).ok_or_else(none)?;
    let staged = tempfile::tempdir().map_err(|error| RecorderError::new(Fault::Io, error))?;
    let other = staged.path().join("new");
    write(&other, changed.as_bytes())?;
    let name = file.display().to_string();
    let labels = [format!("a/{name}"), format!("b/{name}")];
    let output = Command::new("diff")
        .args(["-u", "--label", &labels[0], "--label", &labels[1]])
        .args([path.as_os_str(), other.as_os_str()])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| RecorderError::io(Path::new("diff"), &error))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Revision { versions: Some(\">=1.0.0, <=1.2.0\"), tested: &[\"1.0.0\", \"1.2.0\"] },\n\
        Revision { versions: Some(\">=0.1.0, <=0.9.0\"), tested: &[\"0.9.0\"] },\n";

    #[test]
    fn version_stands_beside_its_neighbour_and_ends_the_range() {
        let newer = with_version(TEXT, "1.2.0", "1.3.0").unwrap();
        assert!(
            newer.contains("<=1.3.0\"), tested: &[\"1.0.0\", \"1.2.0\", \"1.3.0\"]")
                && newer.contains("<=0.9.0"),
            "{newer}"
        );
        let older = with_version(TEXT, "1.2.0", "1.1.0").unwrap();
        assert!(
            older.contains("<=1.2.0\"), tested: &[\"1.0.0\", \"1.1.0\", \"1.2.0\"]"),
            "{older}"
        );
    }

    #[test]
    fn unknown_neighbour_and_known_version_change_nothing() {
        assert_eq!(with_version(TEXT, "3.0.0", "3.1.0"), None);
        assert_eq!(with_version(TEXT, "1.2.0", "0.9.0"), None);
    }
}
