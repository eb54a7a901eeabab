//! Generated documents and tables: compared byte for byte, rewritten only when `ENGRAM_BLESS=1` asks for it.

use std::fs;
use std::path::Path;

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
}
