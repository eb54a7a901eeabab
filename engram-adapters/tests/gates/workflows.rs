//! The workflows of continuous integration: what a release needs, and what runs for each adapter, once a day and once a week.

use std::fs;
use std::path::Path;

use engram_adapters::Registry;

fn workflow(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.github/workflows");
    fs::read_to_string(path.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The text of a job: from its name to the next one.
fn job(workflow: &str, name: &str) -> String {
    let (_, jobs) = workflow.split_once("\njobs:\n").expect("jobs");
    let mut lines = jobs
        .lines()
        .skip_while(|line| *line != format!("  {name}:"));
    let own: Vec<&str> = lines.next().into_iter().collect();
    assert!(!own.is_empty(), "there is no job {name}");
    let is_inside = |line: &&str| line.is_empty() || line.starts_with("   ");
    lines
        .take_while(is_inside)
        .fold(String::new(), |text, line| text + line.trim() + "\n")
}

#[track_caller]
fn assert_has(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "`{word}` is missing in\n{text}");
    }
}

#[test]
fn a_release_needs_the_tests_and_the_kit_of_its_commit() {
    let release = workflow("release.yml");
    assert_has(
        &job(&release, "gates"),
        &["uses: ./.github/workflows/ci.yml"],
    );
    assert_has(&job(&release, "release"), &["needs: [gates, build"]);
    let ci = workflow("ci.yml");
    assert_has(&ci, &["  workflow_call:\n"]);
    assert_has(&job(&ci, "test"), &["cargo test --workspace --locked"]);
    assert_has(&job(&ci, "dependencies"), &["cargo deny check"]);
}

#[test]
fn each_adapter_has_a_job_of_the_kit() {
    let ids: Vec<&str> = Registry::builtin().adapters().map(|one| one.id()).collect();
    let kit = job(&workflow("ci.yml"), "kit");
    let listed = kit.lines().find_map(|line| line.strip_prefix("adapter: ["));
    let listed = listed.expect("a list").trim_end_matches(']');
    let mut listed: Vec<&str> = listed.split(", ").collect();
    let mut ids = ids;
    ids.sort_unstable();
    listed.sort_unstable();
    assert_eq!(listed, ids);
    assert_has(
        &kit,
        &["conform --adapter ${{ matrix.adapter }} --recordings fixtures"],
    );
}

#[test]
fn what_takes_long_or_depends_on_the_day_runs_once_a_week_or_once_a_day() {
    let weekly = workflow("weekly.yml");
    assert_has(&weekly, &["  schedule:\n"]);
    assert_has(
        &job(&weekly, "full"),
        &["ENGRAM_FULL: \"1\"", "run: .ci/run"],
    );
    assert_has(
        &job(&weekly, "clusters"),
        &["ENGRAM_CLUSTERS: \"1\"", "run: .ci/python"],
    );
    assert_has(&job(&weekly, "dependencies"), &["cargo deny check"]);
    let daily = workflow("recorder.yml");
    assert_has(&daily, &["  schedule:\n"]);
    let record = job(&daily, "record");
    assert_has(
        &record,
        &[
            "record --sweep all",
            "profile conform --installed",
            "--contract",
        ],
    );
}
