//! Generated documents and tables: compared byte for byte, rewritten only with `ENGRAM_BLESS=1`.

use std::fs;
use std::path::Path;

/// True if the environment asks to rewrite generated files.
pub fn is_requested() -> bool {
    std::env::var_os("ENGRAM_BLESS").is_some_and(|value| value == "1")
}

/// Compares a generated file with its expected content, or rewrites it.
pub fn compare(path: &Path, expected: &str) -> Option<String> {
    if is_requested() {
        write(path, expected);
        return None;
    }
    difference(path, fs::read_to_string(path).ok().as_deref(), expected)
}

/// The first difference between a file and its expected content.
pub fn difference(path: &Path, actual: Option<&str>, expected: &str) -> Option<String> {
    let name = path.display();
    match actual {
        None => Some(format!("{name} is missing; ENGRAM_BLESS=1 writes it")),
        Some(actual) if actual == expected => None,
        Some(actual) => {
            let line = actual
                .lines()
                .zip(expected.lines())
                .take_while(|(actual, expected)| actual == expected)
                .count();
            let show = |text: &str| {
                engram_core::error::excerpt(text.lines().nth(line).unwrap_or("the end"))
            };
            Some(format!(
                "{name}, line {}: `{}` should be `{}`; ENGRAM_BLESS=1 rewrites it",
                line + 1,
                show(actual),
                show(expected)
            ))
        }
    }
}

/// Writes a file if its content changes.
fn write(path: &Path, text: &str) {
    if fs::read_to_string(path).is_ok_and(|actual| actual == text) {
        return;
    }
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)
            .unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    }
    fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_and_changed_files_are_findings() {
        let path = Path::new("table.txt");
        assert!(difference(path, None, "a\n").is_some_and(|finding| finding.contains("missing")));
        assert!(
            difference(path, Some("a\nb\n"), "a\nc\n")
                .is_some_and(|finding| finding.contains("line 2: `b` should be `c`"))
        );
        assert_eq!(difference(path, Some("a\n"), "a\n"), None);
    }
}
