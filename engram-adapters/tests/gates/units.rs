//! Units have all that is needed to convert them: on another machine, with these files alone, they give the same tapes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use engram_adapters::sessions::{SessionFinder, SessionLocation, SessionOptions, Unit, units};
use engram_core::tape::JsonLines;
use walkdir::WalkDir;

use crate::tree::{fixture_cases, root};

/// The homes of all fixtures, one by one: copies of a session in several fixtures would be one unit.
fn homes() -> Vec<PathBuf> {
    let homes = fixture_cases()
        .into_iter()
        .map(|case| case.directory.join("session"));
    homes.filter(|home| home.is_dir()).collect()
}

fn options() -> SessionOptions {
    // A form that is alone on the other machine has nothing to be compared with.
    SessionOptions::default().with_every_form()
}

/// The sessions of a unit in a copy of its files: `root` has them as `/` has those of the unit.
fn locations(unit: &Unit, root: &Path) -> Vec<SessionLocation> {
    let options = options();
    let mut finder = SessionFinder::new(&options);
    unit.paths
        .iter()
        .for_each(|path| finder.add(&below(root, path)));
    let found = finder.finish().locations.into_iter().map(Result::unwrap);
    found
        .filter(|location| !unit.in_store || location.id_in_store() == unit.session.as_deref())
        .collect()
}

fn below(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

/// The tapes of a unit by the names of their sources.
fn tapes(unit: &Unit, root: &Path) -> BTreeMap<String, Vec<u8>> {
    let tape = |location: SessionLocation| {
        let mut tape = Vec::new();
        location
            .open(&options())
            .unwrap()
            .convert(&mut JsonLines::new(&mut tape))
            .unwrap();
        (
            location
                .path()
                .strip_prefix(root)
                .unwrap()
                .to_string_lossy()
                .into_owned(),
            tape,
        )
    };
    locations(unit, root).into_iter().map(tape).collect()
}

fn copy(path: &str, root: &Path) {
    for entry in WalkDir::new(path)
        .into_iter()
        .map(Result::unwrap)
        .filter(|entry| entry.file_type().is_file())
    {
        let to = below(root, &entry.path().to_string_lossy());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(entry.path(), to).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn units_give_the_same_tapes_from_a_copy_of_their_files() {
    let (mut compared, mut need_more_than_logs) = (0, 0);
    for home in homes() {
        let (units, errors) = units([&home], &options());
        assert!(errors.is_empty(), "{}: {errors:?}", home.display());
        for unit in units {
            let here = tapes(&unit, Path::new("/"));
            let elsewhere = tempfile::tempdir().unwrap();
            unit.paths
                .iter()
                .for_each(|path| copy(path, elsewhere.path()));
            if !unit.beside.is_empty() {
                need_more_than_logs += u32::from(tapes(&unit, elsewhere.path()) != here);
                unit.beside
                    .iter()
                    .for_each(|path| copy(path, elsewhere.path()));
            }
            assert!(
                tapes(&unit, elsewhere.path()) == here,
                "{} is not all that its tapes are made from",
                unit.paths[0]
            );
            compared += here.len();
        }
    }
    assert!(compared > 500, "{compared}");
    assert!(
        need_more_than_logs > 0,
        "without what is beside the logs, tapes differ"
    );
}

/// The sessions of stores at these paths: path and id.
fn stored(paths: &[PathBuf]) -> BTreeSet<(PathBuf, String)> {
    let options = options();
    let mut finder = SessionFinder::new(&options);
    paths.iter().for_each(|path| finder.add(path));
    let found = finder.finish().locations.into_iter().flatten();
    let of_stores = found.filter_map(|location| {
        let id = location.id_in_store()?.to_owned();
        Some((location.path().to_owned(), id))
    });
    of_stores.collect()
}

#[test]
fn a_search_finds_the_sessions_of_each_store_that_its_path_has() {
    let mut compared = 0;
    for home in homes() {
        let entries = WalkDir::new(&home).into_iter().map(Result::unwrap);
        let files = entries.filter(|entry| entry.file_type().is_file());
        let named = stored(&files.map(|entry| entry.into_path()).collect::<Vec<_>>());
        let found = stored(std::slice::from_ref(&home));
        let missing: Vec<_> = named.difference(&found).collect();
        assert!(missing.is_empty(), "a search does not find {missing:?}");
        compared += named.len();
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn every_session_is_in_one_unit_and_its_sub_agents_are_with_it() {
    let (mut sub_agents, mut joined) = (0, 0);
    for home in homes() {
        let options = options();
        let (units, _) = units([&home], &options);
        let ids: BTreeSet<&str> = units.iter().map(|unit| unit.unit.as_str()).collect();
        assert_eq!(ids.len(), units.len(), "{}", home.display());
        let mut finder = SessionFinder::new(&options);
        finder.add(&home);
        for location in finder.finish().locations.into_iter().flatten() {
            let Ok(source) = location.open(&options) else {
                continue;
            };
            let of: Vec<&Unit> = units.iter().filter(|unit| unit.has(&location)).collect();
            assert_eq!(of.len(), 1, "{}", location.path().display());
            assert_eq!(of[0].harness, source.harness());
            if location.id_in_store().is_none() && source.identity().agent_id.is_some() {
                sub_agents += 1;
                joined += u32::from(of[0].paths.len() > 1);
            }
        }
    }
    assert!(
        sub_agents > 20 && joined * 10 > sub_agents * 9,
        "{joined} of {sub_agents} sub-agents are with the session that started them"
    );
}

#[test]
fn a_unit_keeps_its_id_and_changes_its_state_when_its_session_grows() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log.jsonl");
    let fixture = WalkDir::new(root().join("fixtures/codex/0.169.0/main/session"))
        .into_iter()
        .flatten()
        .find(|entry| entry.file_type().is_file());
    fs::copy(fixture.unwrap().path(), &log).unwrap();
    let unit = || units([directory.path()], &options()).0.remove(0);
    let first = unit();
    assert_eq!(unit(), first);
    let text = fs::read_to_string(&log).unwrap();
    let last = text.lines().last().unwrap();
    fs::write(&log, format!("{text}{last}\n")).unwrap();
    let second = unit();
    assert_eq!(
        (&second.unit, second.bytes),
        (&first.unit, first.bytes + last.len() as u64 + 1)
    );
    assert_ne!(second.state, first.state);
    assert_eq!(second.shard(7), first.shard(7));
}
