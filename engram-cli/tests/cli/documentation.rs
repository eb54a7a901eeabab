//! What the documents show of the binary and of its tapes.

use std::fs;

use super::*;

/// The commands that the overview lists.
pub fn commands(overview: &str) -> Vec<&str> {
    // Groups of commands stand between the usage and the options.
    let lines = overview
        .lines()
        .skip_while(|line| !line.starts_with("Usage:"))
        .take_while(|line| *line != "Options:");
    // A long description goes on in a line that is indented further.
    let own = lines
        .filter_map(|line| line.strip_prefix("  "))
        .filter(|line| !line.starts_with(' '));
    own.filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect()
}

#[test]
fn version_and_help_are_no_errors() {
    let version = run(&["--version"]);
    assert_eq!((code(&version), stderr(&version)), (0, String::new()));
    assert!(
        String::from_utf8(version.stdout)
            .unwrap()
            .starts_with("engram ")
    );
}

/// The members of the smaller object are in the larger one, with the same values.
fn is_part_of(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => part
            .iter()
            .all(|(key, value)| whole.get(key).is_some_and(|other| is_part_of(value, other))),
        _ => part == whole,
    }
}

#[test]
fn the_events_of_the_readme_are_in_the_tapes_of_the_fixtures_that_it_names() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    assert!(readme.contains(&format!(
        "engram ingest --out tapes fixtures/{CLAUDE} fixtures/{CODEX}"
    )));
    let out = tempfile::tempdir().unwrap();
    assert_eq!(
        code(&run(&[
            "ingest",
            "--out",
            text(out.path()),
            text(&fixture(CLAUDE)),
            text(&fixture(CODEX))
        ])),
        0
    );
    let tapes: String = tape_files(out.path())
        .iter()
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    let events: Vec<Value> = tapes
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let shown: Vec<Value> = readme
        .lines()
        .filter(|line| line.starts_with("{\"seq\":"))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(shown.len(), 5);
    for event in &shown {
        assert!(
            events.iter().any(|other| is_part_of(event, other)),
            "no event of the tapes is {event}"
        );
    }
}

/// A table without the widths of its columns and without ages, which change from day to day.
fn without_ages(text: &str) -> Vec<String> {
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_age = |at: usize| words.get(at + 1) == Some(&"ago");
        let kept = (0..words.len()).map(|at| if is_age(at) { "AGE" } else { words[at] });
        kept.collect::<Vec<_>>().join(" ")
    };
    text.lines().map(line).collect()
}

#[test]
fn the_first_minute_of_the_readme_is_what_the_commands_print() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let block = readme.split("```text\n").nth(1).unwrap();
    let block = block.split("```").next().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let mut commands = 0;
    for part in block.split("$ engram ").skip(1) {
        let (arguments, shown) = part.split_once('\n').unwrap();
        let own = arguments.split(' ').map(|argument| match argument {
            "tapes" => text(&directory.path().join("tapes")).to_owned(),
            _ => argument.replace("fixtures/", &format!("{}/", text(&root.join("fixtures")))),
        });
        let output = engram().env("COLUMNS", "100").args(own).output().unwrap();
        assert_eq!(code(&output), 0, "{arguments}: {}", stderr(&output));
        let printed = String::from_utf8(output.stdout.clone()).unwrap() + &stderr(&output);
        let mut printed = without_ages(&printed).into_iter();
        for line in without_ages(shown) {
            assert!(
                line == "..." || line.is_empty() || printed.any(|other| other == line),
                "`engram {arguments}` does not print: {line}"
            );
        }
        commands += 1;
    }
    assert_eq!(commands, 3);
}

#[test]
fn the_changelog_has_each_section_and_each_line_once() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let text = fs::read_to_string(root.join("CHANGELOG.md")).unwrap();
    // The section of the next release, or of the last one, is the first.
    let unreleased = text.split("\n## ").nth(1).expect("a section");
    let sections: Vec<&str> = unreleased
        .lines()
        .filter_map(|line| line.strip_prefix("### "))
        .collect();
    let order = [
        "Added",
        "Changed",
        "Deprecated",
        "Removed",
        "Fixed",
        "Security",
    ];
    let expected: Vec<&str> = order
        .into_iter()
        .filter(|name| sections.contains(name))
        .collect();
    assert_eq!(
        sections, expected,
        "the sections of Keep a Changelog, each once and in order"
    );
    let mut items: Vec<&str> = unreleased
        .lines()
        .filter(|line| line.trim_start().starts_with("- ") && line.len() > 30)
        .collect();
    let all = items.len();
    items.sort_unstable();
    items.dedup();
    assert!(all > 0 && items.len() == all, "a line is there twice");
}
