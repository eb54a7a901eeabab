//! The size of the house: product lines of each room, against a file of limits that only fall.
//!
//! A room is the `src` of a crate; in the adapters and the command, each directory of `src` is one. Counted are the lines of Rust files as
//! rustfmt writes them, without files and modules of tests. Tables, what the build script makes of them, and what `engram-lab matrix propose` writes
//! are not by hand.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::bless::is_requested;
use crate::report;
use crate::tree::{files, root};

const LIMITS: &str = "engram-adapters/tests/gates/size.tsv";
/// Crates with a room for each directory.
const DIVIDED: &[&str] = &["engram-adapters", "engram-cli"];
/// How far a room may be below its limit before the limit must fall, too.
const SLACK: usize = 40;

/// The lines of a file in front of its tests.
fn product_lines(path: &str, text: &str) -> usize {
    let is_other = path.split('/').any(|part| {
        matches!(part, "tests" | "tests.rs" | "testing.rs" | "swept.rs")
            || part.ends_with("_tests.rs")
    });
    if is_other {
        return 0;
    }
    let begins_tests = |(at, line): (usize, &&str), lines: &[&str]| {
        *line == "#[cfg(test)]" && lines.get(at + 1).is_some_and(|next| next.ends_with('{'))
    };
    let lines: Vec<&str> = text.lines().collect();
    let tests = lines
        .iter()
        .enumerate()
        .find(|line| begins_tests(*line, &lines));
    tests.map_or(lines.len(), |(at, _)| at)
}

/// The room of a file, by its path below `src`.
fn room(name: &str, below: &str) -> String {
    match below.split_once('/') {
        Some((directory, _)) if DIVIDED.contains(&name) => format!("{name}/{directory}"),
        _ => name.to_owned(),
    }
}

/// The product lines of all rooms.
fn rooms() -> BTreeMap<String, usize> {
    let mut rooms = BTreeMap::new();
    for entry in fs::read_dir(root()).expect("the repository") {
        let directory = entry.expect("an entry").path();
        let name = directory
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if !name.starts_with("engram-") {
            continue;
        }
        let src = directory.join("src");
        for path in files(&src) {
            if path.extension().is_none_or(|extension| extension != "rs") {
                continue;
            }
            let below = path
                .strip_prefix(&src)
                .expect("a file below it")
                .to_string_lossy()
                .replace('\\', "/");
            let text = fs::read_to_string(&path)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            *rooms.entry(room(&name, &below)).or_default() += product_lines(&below, &text);
        }
    }
    rooms
}

/// The limits as their file has them.
fn limits(text: &str) -> BTreeMap<&str, usize> {
    let row = |line| -> Option<(&str, usize)> {
        let (room, lines) = str::split_once(line, '\t')?;
        Some((room, lines.parse().ok()?))
    };
    let rows = text.lines();
    rows.map(|line| {
        row(line).unwrap_or_else(|| panic!("{LIMITS}: `{line}` is no room with its lines"))
    })
    .collect()
}

/// Rooms above their limit, far below it, or without one.
fn findings(rooms: &BTreeMap<String, usize>, limits: &BTreeMap<&str, usize>) -> Vec<String> {
    let mut findings = Vec::new();
    for (room, lines) in rooms {
        match limits.get(room.as_str()) {
            None => findings.push(format!("{room} has no limit in {LIMITS}: it has {lines} lines")),
            Some(limit) if lines > limit => findings.push(format!(
                "{room} has {lines} product lines, and its limit is {limit}: delete some, or raise the limit in a commit that says which rule of which format needs it"
            )),
            Some(limit) if lines + SLACK < *limit => findings.push(format!(
                "{room} has {lines} product lines, and its limit is still {limit}: ENGRAM_BLESS=1 lowers it"
            )),
            Some(_) => {}
        }
    }
    let gone = limits.keys().filter(|room| !rooms.contains_key(**room));
    findings.extend(gone.map(|room| format!("{room} has a limit and no lines")));
    findings
}

#[test]
fn no_room_grows() {
    let path = root().join(LIMITS);
    let text = fs::read_to_string(&path).unwrap_or_default();
    let (rooms, limits) = (rooms(), limits(&text));
    assert!(rooms.len() > 20, "rooms of all crates");
    if is_requested() {
        lower(&path, &rooms, &limits);
        return;
    }
    report::assert_none("size", &findings(&rooms, &limits));
}

/// Writes the limits anew: none becomes higher.
fn lower(path: &Path, rooms: &BTreeMap<String, usize>, limits: &BTreeMap<&str, usize>) {
    let mut text = String::new();
    for (room, lines) in rooms {
        let limit = limits.get(room.as_str()).copied().unwrap_or(usize::MAX);
        let _ = writeln!(text, "{room}\t{}", limit.min(*lines));
    }
    fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

#[test]
fn a_room_that_grows_is_a_finding() {
    let rooms = |lines| BTreeMap::from([("a".to_owned(), lines), ("b".to_owned(), 10)]);
    let known = limits("a\t100\nb\t10\n");
    assert_eq!(findings(&rooms(100), &known), Vec::<String>::new());
    assert!(findings(&rooms(101), &known)[0].contains("its limit is 100"));
    assert!(findings(&rooms(20), &known)[0].contains("still 100"));
    assert!(findings(&rooms(100), &limits("a\t100\n"))[0].contains("no limit"));
    assert!(findings(&rooms(100), &limits("a\t100\nb\t10\nc\t1\n"))[0].contains("no lines"));
    assert_eq!(product_lines("a/tests/b.rs", "fn a() {}\n"), 0);
    let tests = "#[cfg(test)]\nmod tests {\n}\n";
    assert_eq!(product_lines("a.rs", &format!("fn a() {{}}\n{tests}")), 1);
    let tests = "#[cfg(test)]\nmod tests;\nmod b;\n";
    assert_eq!(product_lines("a.rs", tests), 3);
}
