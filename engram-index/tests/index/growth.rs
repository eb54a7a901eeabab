//! The same tapes give the same answers: in any order, in parts, and when a session is ingested after each of its turns.

use std::fs;
use std::path::{Path, PathBuf};

use engram_index::{Index, Query, Writer};

use crate::blame::real_files;
use crate::recorded::{Made, fixtures, made, tapes_of};
use crate::truth::truth_of;

/// All answers about the files of a recording, without the places of tapes.
fn answers(index: &Index, recording: &engram_conformance::Recording) -> Vec<String> {
    let mut answers = Vec::new();
    for file in real_files(&truth_of(recording)) {
        let mut query = Query::of_file(&format!("/home/dev/proj/{}", file.name), &file.text);
        query.limit = usize::MAX;
        let answer = index.explain(&query).unwrap();
        for item in &answer.items {
            answers.push(without_places(&format!(
                "{} {}",
                file.name,
                serde_json::to_string(item).unwrap()
            )));
        }
        query.range = None;
        answers.push(format!(
            "{} {}",
            file.name,
            index.history(&query).unwrap().total
        ));
    }
    assert!(answers.len() > 3, "nothing was asked");
    answers
}

/// The name of a tape is where it happens to lie.
fn without_places(text: &str) -> String {
    let mut clean = String::new();
    for part in text.split(".tape.jsonl") {
        match part.rfind('"') {
            Some(quote) => clean.push_str(&part[..=quote]),
            None => clean.push_str(part),
        }
    }
    clean
}

fn tapes(made: &Made) -> Vec<PathBuf> {
    let mut tapes: Vec<PathBuf> = fs::read_dir(&made.tapes)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    tapes.sort();
    tapes
}

#[test]
fn the_order_of_tapes_does_not_matter() {
    let recordings = [
        &fixtures("claude-code/2.1.329/b_edit")[0],
        &fixtures("codex/0.169.0/main")[0],
        &fixtures("gemini/0.8.2")[0],
    ]
    .map(|recording| recording.clone());
    let all: Vec<&engram_conformance::Recording> = recordings.iter().collect();
    let made = made(&all);
    let expected: Vec<Vec<String>> = all
        .iter()
        .map(|recording| answers(&made.open(), recording))
        .collect();
    let mut random = fastrand::Rng::with_seed(7);
    for round in 0..4 {
        let mut tapes = tapes(&made);
        random.shuffle(&mut tapes);
        let index = made.directory.path().join(format!("shuffled-{round}"));
        // Each tape in a run of its own, or all at once.
        let parts = if round % 2 == 0 { 1 } else { tapes.len() };
        for part in tapes.chunks(parts) {
            Writer::open(&index, || ())
                .unwrap()
                .add(part, &mut |_| ())
                .unwrap();
        }
        let index = Index::open(&index).unwrap();
        let found: Vec<Vec<String>> = all
            .iter()
            .map(|recording| answers(&index, recording))
            .collect();
        assert_eq!(found, expected, "round {round}");
    }
}

/// The log up to the ends of its turns.
fn beginnings(log: &str) -> Vec<String> {
    let lines: Vec<&str> = log.split_inclusive('\n').collect();
    [2, 3, 4]
        .iter()
        .map(|part| lines[..lines.len() - lines.len() / part].concat())
        .chain([log.to_owned()])
        .collect()
}

#[test]
fn a_session_that_grew_answers_as_if_it_had_been_ingested_once() {
    for name in ["claude-code/2.1.329/b_edit", "codex/0.169.0/main"] {
        let recording = &fixtures(name)[0];
        let whole = made(&[recording]);
        let log = log_of(&recording.directory.join("session"));
        let text = fs::read_to_string(&log).unwrap();
        let grown = tempfile::tempdir().unwrap();
        let (tapes, index) = (grown.path().join("tapes"), grown.path().join("index"));
        let source = grown.path().join(log.file_name().unwrap());
        fs::create_dir(&tapes).unwrap();
        // The tape is replaced in its place, as `engram ingest` does.
        for beginning in beginnings(&text) {
            fs::write(&source, beginning).unwrap();
            for tape in tapes_of(&source).into_values() {
                fs::write(tapes.join("one.tape.jsonl"), tape).unwrap();
            }
            let added = Writer::open(&index, || ())
                .unwrap()
                .add(std::slice::from_ref(&tapes), &mut |_| ())
                .unwrap();
            assert_eq!(added.new + added.grew, 1, "{name}");
        }
        let index = Index::open(&index).unwrap();
        assert_eq!(
            index.status().unwrap().tapes,
            1,
            "{name}: the states before are not answers"
        );
        assert!(index.verify(10).unwrap().faults.is_empty());
        assert_eq!(
            answers(&index, recording),
            answers(&whole.open(), recording),
            "{name}"
        );
    }
}

#[test]
fn loose_tapes_of_a_session_that_grew_supersede_each_other_in_any_order() {
    let recording = &fixtures("claude-code/2.1.329/b_edit")[0];
    let log = log_of(&recording.directory.join("session"));
    let text = fs::read_to_string(&log).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join(log.file_name().unwrap());
    let mut loose = Vec::new();
    for (n, beginning) in beginnings(&text).into_iter().enumerate() {
        fs::write(&source, beginning).unwrap();
        let tape = tapes_of(&source).into_values().next().unwrap();
        loose.push(directory.path().join(format!("{n}.tape.jsonl")));
        fs::write(&loose[n], tape).unwrap();
    }
    let mut expected: Option<Vec<String>> = None;
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
        let index = directory.path().join(format!("{order:?}"));
        for at in order {
            Writer::open(&index, || ())
                .unwrap()
                .add(&loose[at..=at], &mut |_| ())
                .unwrap();
        }
        let opened = Index::open(&index).unwrap();
        let status = opened.status().unwrap();
        assert_eq!((status.tapes, status.superseded), (1, 3), "{order:?}");
        let found = answers(&opened, recording);
        assert_eq!(
            expected.get_or_insert_with(|| found.clone()),
            &found,
            "{order:?}"
        );
        // Forgetting the last state brings the one before back, once it is taken in again.
        let mut writer = Writer::open(&index, || ()).unwrap();
        writer.forget(loose[3].to_str().unwrap()).unwrap();
        writer.add(&loose[..3], &mut |_| ()).unwrap();
        assert_eq!(Index::open(&index).unwrap().status().unwrap().tapes, 1);
    }
}

fn log_of(directory: &Path) -> PathBuf {
    let is_log = |path: &Path| path.extension().is_some_and(|ending| ending == "jsonl");
    let mut found: Vec<PathBuf> = walkdir::WalkDir::new(directory)
        .into_iter()
        .flatten()
        .map(|entry| entry.into_path())
        .filter(|path| is_log(path))
        .collect();
    found.sort_by_key(|path| std::cmp::Reverse(path.metadata().unwrap().len()));
    found.swap_remove(0)
}

#[test]
fn a_run_without_changes_reads_nothing_and_writes_nothing() {
    let made = made(&[&fixtures("claude-code/2.1.329/b_edit")[0]]);
    let before = made
        .index
        .join("index.db")
        .metadata()
        .unwrap()
        .modified()
        .unwrap();
    let added = made.add();
    assert_eq!((added.new, added.grew, added.bytes), (0, 0, 0));
    assert!(added.unchanged > 0);
    assert_eq!(
        made.index
            .join("index.db")
            .metadata()
            .unwrap()
            .modified()
            .unwrap(),
        before
    );
}
