//! `engram ingest --units --shard`: work divided among many machines. `engram-lab units` lists the units.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use engram_adapters::sessions::{SessionOptions, Unit, units};

use crate::{code, files, fixture, run, run_with_input, stderr, text};

/// A home with sessions of several harnesses, with sub-agents and stores.
fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    for case in [
        "claude-code/2.1.280/c_subagent",
        "codex/0.169.0/main",
        "gemini/0.55.1/c_subagent",
        "opencode/1.18.34/sub",
    ] {
        let from = fixture(case);
        for file in files(&from) {
            let to = home
                .path()
                .join(case)
                .join(file.strip_prefix(&from).unwrap());
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(file, to).unwrap();
        }
    }
    home
}

/// The units below a directory.
fn units_of(directory: &Path) -> Vec<Unit> {
    let (units, errors) = units(&[directory.to_owned()], &SessionOptions::default());
    assert!(errors.is_empty(), "{errors:?}");
    units
}

/// The units as `engram-lab units --json` prints them.
fn lines(units: &[Unit]) -> String {
    let line = |unit: &Unit| serde_json::to_string(unit).unwrap() + "\n";
    units.iter().map(line).collect()
}

/// The tapes of a directory by their names. A part without units makes no directory.
fn tapes(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    if !directory.exists() {
        return BTreeMap::new();
    }
    crate::tapes(directory)
        .into_iter()
        .map(|name| (name.clone(), fs::read(directory.join(&name)).unwrap()))
        .collect()
}

#[test]
fn the_parts_together_are_the_whole() {
    let (home, out) = (home(), tempfile::tempdir().unwrap());
    let whole = out.path().join("whole");
    assert_eq!(
        code(&run(&["ingest", text(home.path()), "--out", text(&whole)])),
        0
    );
    let units = units_of(home.path());
    let listed = lines(&units);
    let mut parts = BTreeMap::new();
    for part in ["1/3", "2/3", "3/3"] {
        let directory = out.path().join(&part[..1]);
        let args = [
            "ingest",
            "--units",
            "-",
            "--shard",
            part,
            "--out",
            text(&directory),
        ];
        let converted = run_with_input(&args, listed.as_bytes());
        assert_eq!(code(&converted), 0, "{}", stderr(&converted));
        for (name, tape) in tapes(&directory) {
            assert!(
                parts.insert(name.clone(), tape).is_none(),
                "{name} is in two parts"
            );
        }
        let again = run_with_input(&args, listed.as_bytes());
        assert_eq!(code(&again), 0, "{}", stderr(&again));
    }
    assert!(parts == tapes(&whole));
    assert!(
        parts.len() > units.len(),
        "sub-agents have tapes of their own"
    );
}

#[test]
fn one_session_of_a_store_is_a_unit() {
    let (home, out) = (home(), tempfile::tempdir().unwrap());
    let mut stored = units_of(&home.path().join("opencode"));
    stored.retain(|unit| unit.in_store);
    assert!(stored.len() > 1, "{stored:?}");
    let converted = run_with_input(
        &["ingest", "--units", "-", "--out", text(out.path())],
        lines(&stored[..1]).as_bytes(),
    );
    assert_eq!(code(&converted), 0, "{}", stderr(&converted));
    assert_eq!(tapes(out.path()).len(), 1);
}

#[test]
fn wrong_units_and_parts_are_refused() {
    let out = tempfile::tempdir().unwrap();
    let fault = run_with_input(
        &["ingest", "--units", "-", "--out", text(out.path())],
        b"{}\n",
    );
    assert!(
        code(&fault) == 5 && stderr(&fault).contains("engram-lab units --json"),
        "{}",
        stderr(&fault)
    );
    let usage = run_with_input(
        &[
            "ingest",
            "--units",
            "-",
            "--shard",
            "5/4",
            "--out",
            text(out.path()),
        ],
        b"",
    );
    assert!(
        code(&usage) == 2 && stderr(&usage).contains("from `1/4` to `4/4`"),
        "{}",
        stderr(&usage)
    );
    let nothing = run_with_input(&["ingest", "--units", "-", "--out", text(out.path())], b"");
    assert_eq!(
        code(&nothing),
        0,
        "a part may be empty: {}",
        stderr(&nothing)
    );
}
