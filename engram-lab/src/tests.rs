//! The command line as a whole: its help, and the reference that is generated from it.

use std::path::Path;

use engram_command::{help, reference, testing};

use crate::args::CommandLine;

#[test]
fn each_command_is_in_one_group_of_the_help() {
    assert_eq!(help::misplaced::<CommandLine>(), Vec::<String>::new());
}

/// Rewritten with `ENGRAM_BLESS=1`.
#[test]
fn the_reference_is_generated() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/lab.md");
    let document = std::fs::read_to_string(&path).unwrap();
    let renewed = reference::renewed::<CommandLine>(&document).expect("marks in docs/lab.md");
    if std::env::var_os("ENGRAM_BLESS").is_some() {
        std::fs::write(&path, renewed).unwrap();
    } else {
        assert!(
            document == renewed,
            "docs/lab.md is stale: ENGRAM_BLESS=1 cargo test rewrites it"
        );
    }
}

#[test]
fn each_command_that_the_repository_shows_is_taken() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let shown = testing::shown::<CommandLine>(root, "engram-lab");
    assert_eq!(shown.refused, Vec::<String>::new());
    assert!(shown.commands > 50, "{shown:?}");
}
