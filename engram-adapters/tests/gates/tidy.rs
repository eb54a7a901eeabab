//! Rules for source files and the fixture tree that the compiler does not check.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::report::{self, Tally};
use crate::tree::{Case, fixture_cases, fixtures, is_printed, registered, root};

/// The most lines of code in a source file; blank lines and comments are free.
const SOURCE_LINES: usize = 600;
/// The most in a test file.
const TEST_LINES: usize = 600;
/// File names without meaning.
const EMPTY_NAMES: &[&str] = &[
    "utils", "util", "helpers", "helper", "manager", "common", "misc",
];
/// Phrases of comments that nobody understands at once: name the thing again, in a second sentence.
const UNCLEAR: &[&str] = &[
    "that is none",
    "in front of none",
    "of which none",
    "none that is",
    "that of the one",
    "of the one that",
    "one that is as",
];
/// Marks of unfinished work.
const UNFINISHED: &[&str] = &["todo!(", "unimplemented!(", "dbg!("];
/// Directories that are not the project's source.
const SKIPPED: &[&str] = &[
    "target",
    "fuzz/target",
    ".git",
    "fixtures",
    "snapshots",
    "engram-python/target",
    "examples/out-of-tree-adapter/target",
];

/// A source file.
struct Source {
    /// From the workspace root, with `/`.
    path: String,
    text: String,
}

/// Every Rust file of the workspace.
fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    let mut directories = vec![root().to_owned()];
    while let Some(directory) = directories.pop() {
        for path in fs::read_dir(&directory)
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()))
        {
            let below = path
                .strip_prefix(root())
                .unwrap_or(&path)
                .to_string_lossy()
                .replace('\\', "/");
            if path.is_dir() && !SKIPPED.contains(&below.as_str()) {
                directories.push(path);
            } else if below.ends_with(".rs") {
                let text =
                    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{below}: {error}"));
                found.push(Source { path: below, text });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// The directories of the adapters: those with a descriptor.
fn adapter_directories(sources: &[Source]) -> BTreeSet<&str> {
    let below = sources
        .iter()
        .filter_map(|source| source.path.strip_prefix("engram-adapters/src/"));
    below
        .filter_map(|path| path.strip_suffix("/descriptor.rs"))
        .collect()
}

/// The names of harnesses, as code may spell them.
fn harness_names() -> BTreeSet<String> {
    let known = ["claude", "codex", "opencode", "gemini"].map(str::to_owned);
    let registered = registered()
        .adapters()
        .map(|entry| entry.descriptor().harness_family.to_owned());
    known.into_iter().chain(registered).collect()
}

/// True if a text has a word that is no part of a longer one.
fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        let is_letter = |next: Option<char>| next.is_some_and(char::is_alphanumeric);
        !is_letter(before) && (word.ends_with(':') || !is_letter(after))
    })
}

/// The rules that one file violates.
fn violations_of(
    source: &Source,
    adapters: &BTreeSet<&str>,
    harnesses: &BTreeSet<String>,
) -> Vec<String> {
    let (path, text) = (source.path.as_str(), source.text.as_str());
    let mut broken = Vec::new();
    if !text.starts_with("//!") {
        broken.push("does not begin with a `//!` line about its content".to_owned());
    }
    let lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("//"))
        .count();
    let is_test =
        path.contains("/tests/") || path.ends_with("tests.rs") || path.contains("/benches/");
    let most = if is_test { TEST_LINES } else { SOURCE_LINES };
    if lines > most {
        broken.push(format!("has {lines} lines of code, more than {most}"));
    }
    if EMPTY_NAMES.contains(
        &path
            .rsplit('/')
            .next()
            .unwrap_or_default()
            .trim_end_matches(".rs"),
    ) {
        broken.push("has a name without meaning".to_owned());
    }
    if !path.ends_with("gates/tidy.rs") {
        let unfinished = UNFINISHED.iter().filter(|mark| text.contains(**mark));
        broken.extend(unfinished.map(|mark| format!("is unfinished: {mark}")));
        let comments = text.lines().filter_map(|line| line.split_once("//"));
        let unclear = UNCLEAR.iter().filter(|phrase| {
            comments
                .clone()
                .any(|(_, comment)| comment.contains(**phrase))
        });
        broken.extend(unclear.map(|phrase| format!("has an unclear phrase: {phrase}")));
    }
    let is_shared = [
        "engram-core/src/",
        "engram-adapters/src/shared/",
        "engram-conformance/src/",
    ]
    .iter()
    .any(|start| path.starts_with(start));
    // The standard library's reader over memory is no harness.
    let prose = text
        .replace("Cursor<", "<")
        .replace("Cursor::", "::")
        .replace(" Cursor,", ",")
        .replace("{Cursor,", "{,")
        .to_lowercase();
    let names_no_harness = is_shared && !path.starts_with("engram-conformance/src/registry/");
    if names_no_harness && let Some(name) = harnesses.iter().find(|name| has_word(&prose, name)) {
        broken.push(format!("names the harness {name}"));
    }
    if let Some(own) = adapters
        .iter()
        .find(|adapter| path.starts_with(&format!("engram-adapters/src/{adapter}/")))
    {
        let others = adapters
            .iter()
            .filter(|other| *other != own && has_word(text, &format!("{other}::")));
        broken.extend(others.map(|other| format!("uses the adapter {other}")));
        if text.contains("semver") && !path.ends_with("/revisions.rs") {
            broken.push("compares versions: revisions.rs does that".to_owned());
        }
    }
    broken
        .into_iter()
        .map(|what| format!("{path} {what}"))
        .collect()
}

/// The findings for the cases of the fixture tree, apart from their tapes.
fn case_findings(cases: &[Case], files: impl Fn(&Case) -> Vec<String>) -> Vec<String> {
    let mut broken = Vec::new();
    for case in cases {
        let files = files(case);
        for needed in ["truth.json", "recording.json"] {
            if !files.iter().any(|file| file == needed) {
                broken.push(format!("{} has no {needed}", case.name()));
            }
        }
        let is_read = |file: &str| file.starts_with("session/") || is_printed(&case.harness, file);
        for file in files.iter().filter(|file| {
            !is_read(file) && !["truth.json", "recording.json"].contains(&file.as_str())
        }) {
            broken.push(format!("{}: no gate reads {file}", case.name()));
        }
        if !registered()
            .adapters()
            .any(|entry| entry.descriptor().harness_family == case.harness)
        {
            broken.push(format!("{}: no adapter for {}", case.name(), case.harness));
        }
    }
    broken
}

fn files_of(case: &Case) -> Vec<String> {
    let below = |path: PathBuf| {
        path.strip_prefix(&case.directory)
            .map(|path| path.to_string_lossy().replace('\\', "/"))
            .unwrap_or_default()
    };
    crate::tree::files(&case.directory)
        .into_iter()
        .map(below)
        .collect()
}

/// Files of the fixture tree that are in no case.
fn stray_files(tree: &Path, cases: &[Case]) -> Vec<String> {
    let in_case = |path: &Path| {
        cases.iter().any(|case| path.starts_with(&case.directory))
            || path.starts_with(tree.join("_hostile"))
            || ["README.md", "scenarios.tsv"]
                .iter()
                .any(|name| *path == tree.join(name))
    };
    crate::tree::files(tree)
        .into_iter()
        .filter(|path| !in_case(path))
        .map(|path| format!("{} is in no case", path.display()))
        .collect()
}

#[test]
fn source_files_follow_the_rules() {
    let (sources, harnesses) = (sources(), harness_names());
    let adapters = adapter_directories(&sources);
    assert!(
        sources.len() > 20 && !adapters.is_empty(),
        "the walk finds the workspace"
    );
    let broken: Vec<String> = sources
        .iter()
        .flat_map(|source| violations_of(source, &adapters, &harnesses))
        .collect();
    let mut tally = Tally::default();
    tally.count_many("source files", sources.len() as u64);
    report::print("tidy", &tally);
    report::assert_none("tidy", &broken);
}

#[test]
fn fixture_tree_follows_the_rules() {
    let cases = fixture_cases();
    let mut broken = case_findings(&cases, files_of);
    broken.extend(stray_files(&root().join("fixtures"), &cases));
    let read = fixtures()
        .cases
        .iter()
        .filter(|(_, artifacts)| artifacts.is_empty())
        .map(|(case, _)| format!("{} has no session", case.name()));
    broken.extend(read);
    report::assert_none("tidy", &broken);
}

#[test]
fn project_documents_exist() {
    let documents = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "LICENSE",
        "deny.toml",
        "clippy.toml",
        ".gitattributes",
    ];
    let missing: Vec<&str> = documents
        .into_iter()
        .filter(|name| !root().join(name).is_file())
        .collect();
    assert!(missing.is_empty(), "missing: {missing:?}");
}

#[test]
fn each_rule_detects_its_violation() {
    let (adapters, harnesses) = (BTreeSet::from(["one", "two"]), harness_names());
    let found = |path: &str, text: &str| {
        violations_of(
            &Source {
                path: path.to_owned(),
                text: text.to_owned(),
            },
            &adapters,
            &harnesses,
        )
        .join("; ")
    };
    assert_eq!(found("engram-core/src/good.rs", "//! Good.\n"), "");
    let long = format!("//! Long.\n{}", "fn f() {}\n".repeat(601));
    let cases = [
        ("engram-core/src/bare.rs", "fn f() {}\n", "does not begin"),
        ("engram-core/src/long.rs", long.as_str(), "601 lines"),
        (
            "engram-core/src/utils.rs",
            "//! Things.\n",
            "without meaning",
        ),
        (
            "engram-core/src/half.rs",
            "//! Half.\nfn f() { todo!() }\n",
            "unfinished",
        ),
        (
            "engram-core/src/none.rs",
            "//! A line that is none.\n",
            "unclear phrase",
        ),
        (
            "engram-adapters/src/shared/x.rs",
            "//! For Claude.\n",
            "names the harness",
        ),
        (
            "engram-adapters/src/one/x.rs",
            "//! X.\nuse crate::two::Y;\n",
            "uses the adapter two",
        ),
        (
            "engram-adapters/src/one/x.rs",
            "//! X.\nuse semver::Version;\n",
            "compares versions",
        ),
    ];
    for (path, text, what) in cases {
        assert!(
            found(path, text).contains(what),
            "{path}: {}",
            found(path, text)
        );
    }
    let shorter = format!("//! Long.\n{}", "fn f() {}\n".repeat(600));
    assert_eq!(found("engram-core/src/long.rs", &shorter), "");
}

#[test]
fn irregular_case_is_a_finding() {
    let case = Case {
        harness: "unknown-harness".into(),
        version: "1.0.0".into(),
        scenario: "x".into(),
        directory: PathBuf::from("x"),
    };
    let found = case_findings(std::slice::from_ref(&case), |_| {
        vec![
            "truth.json".into(),
            "notes.txt".into(),
            "session/a.jsonl".into(),
        ]
    });
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(!stray_files(&root().join("engram-adapters/tests"), &[]).is_empty());
}
