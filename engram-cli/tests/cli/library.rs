//! The command and the library's `sessions` give the same tapes.

use std::collections::BTreeSet;
use std::fs;

use engram_adapters::sessions::{SessionOptions, sessions};
use engram_core::tape::JsonLines;

use super::*;

#[test]
fn the_library_gives_the_tapes_of_the_command() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    let (mut by_library, mut by_command) = (BTreeSet::new(), BTreeSet::new());
    let directories = fs::read_dir(&fixtures)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().unwrap().is_dir());
    for harness in directories.filter(|entry| !entry.file_name().to_string_lossy().starts_with('_'))
    {
        for session in sessions(harness.path(), &SessionOptions::default()) {
            let mut tape = Vec::new();
            if session
                .and_then(|session| session.convert(&mut JsonLines::new(&mut tape)))
                .is_ok()
            {
                by_library.insert(tape);
            }
        }
        let out = tempfile::tempdir().unwrap();
        run(&[
            "ingest",
            "--quiet",
            text(&harness.path()),
            "--out",
            text(out.path()),
        ]);
        by_command.extend(
            tape_files(out.path())
                .iter()
                .map(|file| fs::read(file).unwrap()),
        );
    }
    assert!(by_library.len() > 100, "{} tapes", by_library.len());
    assert!(
        by_library == by_command,
        "{} and {} tapes",
        by_library.len(),
        by_command.len()
    );
}
