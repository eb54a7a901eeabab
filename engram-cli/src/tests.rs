//! The command line as a whole: its help, and the reference that is generated from it.

use std::path::Path;

use engram_command::{help, reference, testing};

use crate::args::CommandLine;

#[test]
fn each_command_is_in_one_group_of_the_help() {
    assert_eq!(help::misplaced::<CommandLine>(), Vec::<String>::new());
    let text = help::command::<CommandLine>().render_help().to_string();
    assert!(
        text.contains("\nEvery day:\n  ingest       Convert"),
        "{text}"
    );
}

/// Rewritten with `ENGRAM_BLESS=1`.
#[test]
fn the_reference_is_generated() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/cli.md");
    let document = std::fs::read_to_string(&path).unwrap();
    let renewed = reference::renewed::<CommandLine>(&document).expect("marks in docs/cli.md");
    if std::env::var_os("ENGRAM_BLESS").is_some() {
        std::fs::write(&path, renewed).unwrap();
    } else {
        assert!(
            document == renewed,
            "docs/cli.md is stale: ENGRAM_BLESS=1 cargo test rewrites it"
        );
    }
}

#[test]
fn every_command_and_argument_is_in_the_reference() {
    let document = include_str!("../../docs/cli.md");
    let reference = document
        .split_once("<!-- generated: reference -->")
        .unwrap()
        .1;
    for part in [
        "### engram files",
        "#### engram export parquet",
        "| `--rows-per-file N` |",
        "| `-o, --out DIR` |",
        "| `--by WHAT` |",
        "`project` (the directory that a session began in; worktrees of one repository are one project)",
    ] {
        assert!(reference.contains(part), "{part} in {reference}");
    }
    assert!(!reference.contains("`--help`"), "{reference}");
}

#[test]
fn each_command_that_the_repository_shows_is_taken() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let shown = testing::shown::<CommandLine>(root, "engram");
    assert_eq!(shown.refused, Vec::<String>::new());
    assert!(shown.commands > 100, "{shown:?}");
}
