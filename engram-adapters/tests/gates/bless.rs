//! Files that the gates keep: compared byte for byte, rewritten only when `ENGRAM_BLESS=1` asks for it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// True when the environment asks to rewrite what the gates keep.
pub fn is_asked() -> bool {
    std::env::var_os("ENGRAM_BLESS").is_some_and(|value| value == "1")
}

/// Compares a kept file with what it has to be, or rewrites it.
pub fn compare(path: &Path, expected: &str) -> Option<String> {
    if is_asked() {
        write(path, expected);
        return None;
    }
    difference(path, fs::read_to_string(path).ok().as_deref(), expected)
}

/// What is wrong with a kept file.
pub fn difference(path: &Path, kept: Option<&str>, expected: &str) -> Option<String> {
    let place = path.display();
    match kept {
        None => Some(format!("{place} is missing; ENGRAM_BLESS=1 writes it")),
        Some(kept) if kept == expected => None,
        Some(kept) => {
            let line = kept.lines().zip(expected.lines()).take_while(|(kept, expected)| kept == expected).count();
            let show = |text: &str| engram_core::error::excerpt(text.lines().nth(line).unwrap_or("the end"));
            Some(format!("{place}, line {}: `{}` is to be `{}`; ENGRAM_BLESS=1 rewrites it", line + 1, show(kept), show(expected)))
        }
    }
}

/// Compares a whole folder with what it has to hold, but for names that `ignore` names; or rewrites it.
pub fn compare_folder(folder: &Path, expected: &BTreeMap<PathBuf, String>, ignore: &[&str]) -> Vec<String> {
    let is_ignored = |path: &Path| path.strip_prefix(folder).is_ok_and(|below| ignore.iter().any(|name| below.starts_with(name)));
    let stray: Vec<PathBuf> =
        crate::tree::files(folder).into_iter().filter(|path| !expected.contains_key(path) && !is_ignored(path)).collect();
    if is_asked() {
        for path in &stray {
            fs::remove_file(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
    }
    let stray = stray.iter().filter(|_| !is_asked()).map(|path| format!("{} belongs to no fixture", path.display()));
    stray.chain(expected.iter().filter_map(|(path, text)| compare(path, text))).collect()
}

/// Writes a file only where it changes.
fn write(path: &Path, text: &str) {
    if fs::read_to_string(path).is_ok_and(|kept| kept == text) {
        return;
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    }
    fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_and_changed_files_are_findings() {
        let path = Path::new("kept.txt");
        assert!(difference(path, None, "a\n").is_some_and(|finding| finding.contains("missing")));
        assert!(difference(path, Some("a\nb\n"), "a\nc\n").is_some_and(|finding| finding.contains("line 2: `b` is to be `c`")));
        assert_eq!(difference(path, Some("a\n"), "a\n"), None);
    }

    #[test]
    fn a_stray_file_is_a_finding() {
        if is_asked() {
            return;
        }
        let folder = crate::tree::root().join("engram-core/src/check");
        let found = compare_folder(&folder, &BTreeMap::new(), &["mod.rs"]);
        assert!(found.iter().any(|finding| finding.ends_with("flow.rs belongs to no fixture")));
        assert!(!found.iter().any(|finding| finding.contains("mod.rs")));
    }
}
