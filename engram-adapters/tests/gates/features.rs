//! Which features were recorded for which versions: a table from `fixtures/scenarios.tsv` and the scenarios of the recorder.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::tree::{read_json, registered, root};

/// The features of one fixture: a line of `fixtures/scenarios.tsv`, with its harness, version and scenario.
struct Shown<'t> {
    harness: &'t str,
    version: &'t str,
    features: BTreeSet<String>,
}

fn shown(line: &str) -> Option<Shown<'_>> {
    let (name, features) = line.split_once('\t')?;
    let mut parts = name.splitn(3, '/');
    let (harness, version, scenario) = (parts.next()?, parts.next()?, parts.next()?);
    let mut features: BTreeSet<String> = features.split_whitespace().map(str::to_owned).collect();
    let path = root().join("scenarios").join(format!("{scenario}.json"));
    if path.is_file() {
        let shows = read_json(&path)["shows"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        features.extend(
            shows
                .iter()
                .filter_map(|feature| feature.as_str().map(str::to_owned)),
        );
    }
    Some(Shown {
        harness,
        version,
        features,
    })
}

/// The order of versions: by their numbers.
fn numbers(version: &str) -> Vec<u64> {
    version
        .split(|character: char| !character.is_ascii_digit())
        .filter_map(|part| part.parse().ok())
        .collect()
}

/// The versions in one cell: how many, the oldest and the newest.
fn cell(versions: &BTreeSet<&str>) -> String {
    let mut versions: Vec<&str> = versions.iter().copied().collect();
    versions.sort_by_key(|version| numbers(version));
    match versions[..] {
        [] => String::new(),
        [one] => one.to_owned(),
        [oldest, .., newest] => format!("{}: {oldest}–{newest}", versions.len()),
    }
}

/// One row for each feature that is recorded, in the order of `features`, and one column for each harness.
fn table(features: &str, scenarios: &str, harnesses: &[&str]) -> String {
    let mut versions: BTreeMap<(String, &str), BTreeSet<&str>> = BTreeMap::new();
    for shown in scenarios.lines().filter_map(shown) {
        for feature in shown.features {
            versions
                .entry((feature, shown.harness))
                .or_default()
                .insert(shown.version);
        }
    }
    let mut text = format!(
        "| feature | {} |\n| --- |{}\n",
        harnesses.join(" | "),
        " --- |".repeat(harnesses.len())
    );
    for (feature, meaning) in features
        .lines()
        .skip(1)
        .filter_map(|line| line.split_once('\t'))
    {
        let cells = harnesses.iter().map(|harness| {
            versions
                .get(&(feature.to_owned(), *harness))
                .map(cell)
                .unwrap_or_default()
        });
        let cells: Vec<String> = cells.collect();
        if cells.iter().any(|cell| !cell.is_empty()) {
            let _ = writeln!(text, "| {meaning} | {} |", cells.join(" | "));
        }
    }
    text
}

/// The table of the repository.
pub fn recorded() -> String {
    let read = |path: &str| {
        std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    };
    let harnesses: Vec<&str> = registered().adapters().map(|entry| entry.id()).collect();
    table(
        &read("scenarios/features.tsv"),
        &read("fixtures/scenarios.tsv"),
        &harnesses,
    )
}

#[test]
fn a_feature_has_the_versions_that_show_it() {
    let scenarios = "codex/0.9.0/x\timage fork\ncodex/0.10.0/x\timage\ncodex/0.10.0/y\timage\ngemini/0.2.0/g_hooks\timage\n";
    let features = "feature\tmeaning\nimage\tan image\nfork\ta copy\nweb\tpages\nhooks\ta hook\n";
    let expected = "| feature | codex | gemini |\n| --- | --- | --- |\n| an image | 2: 0.9.0–0.10.0 | 0.2.0 |\n| a copy | 0.9.0 |  |\n\
                    | a hook |  | 0.2.0 |\n";
    assert_eq!(table(features, scenarios, &["codex", "gemini"]), expected);
}
