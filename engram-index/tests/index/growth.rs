//! The same tapes give the same answers: in any order, in parts, and when a session is ingested after each of its turns.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use engram_conformance::Recording;
use engram_index::{Index, Query, Writer};
use serde_json::Value;

use crate::blame::real_files;
use crate::recorded::{Made, fixtures, made, tapes_of, with_all_fixtures};
use crate::truth::{paths, truth_of};

/// All answers about the files of a recording, without the places of tapes.
fn answers(index: &Index, recording: &Recording) -> Vec<String> {
    let mut answers = Vec::new();
    for file in real_files(&truth_of(recording)) {
        let mut query = Query::new(&file.text);
        (query.paths, query.limit) = (paths(&file.name), usize::MAX);
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
    assert!(!answers.is_empty(), "nothing was asked");
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
    let all: Vec<&Recording> = recordings.iter().collect();
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

/// The log up to the end of each of its turns: before each prompt of a person, as its tape has them, and the whole log.
fn beginnings(log: &str, tape: &[u8]) -> Vec<String> {
    let lines: Vec<&str> = log.split_inclusive('\n').collect();
    let events = tape.split(|byte| *byte == b'\n');
    let events = events.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let is_prompt = |event: &Value| event["k"] == "msg.in" && event["by"] == "person";
    let prompts = events.filter(is_prompt);
    let mut ends: Vec<usize> = prompts
        .filter_map(|event| Some(event["origin"]["line"].as_u64()? as usize - 1))
        .chain([lines.len()])
        .collect();
    ends.sort_unstable();
    ends.dedup();
    let whole = ends.iter().filter(|end| **end > 0);
    whole.map(|end| lines[..*end].concat()).collect()
}

/// The session that a tape names at its beginning.
fn session_of(tape: &[u8]) -> Option<String> {
    let line = tape.split(|byte| *byte == b'\n').next()?;
    let start: Value = serde_json::from_slice(line).ok()?;
    Some(start["source"]["session_id"].as_str()?.to_owned())
}

/// Recordings whose session is one log of lines with several prompts.
fn with_turns() -> Vec<(Recording, PathBuf, Vec<String>)> {
    let all = with_all_fixtures();
    let (every, most) = match std::env::var("ENGRAM_FULL").is_ok_and(|full| full == "1") {
        true => (1, usize::MAX),
        false => (all.len().div_ceil(90).max(1), 8),
    };
    let mut found = Vec::new();
    for recording in all.into_iter().step_by(every) {
        if found.len() == most {
            break;
        }
        let Some(log) = log_of(&recording.directory.join("session")) else {
            continue;
        };
        let tapes = tapes_of(&log);
        let Some(tape) = tapes.values().next().filter(|_| tapes.len() == 1) else {
            continue;
        };
        let turns = beginnings(&fs::read_to_string(&log).unwrap_or_default(), tape);
        if turns.len() > 2 && !real_files(&truth_of(&recording)).is_empty() {
            found.push((recording, log, turns));
        }
    }
    found
}

#[test]
fn a_session_that_is_taken_in_after_each_turn_answers_as_if_it_was_taken_in_once() {
    let (mut sessions, mut runs) = (0, 0);
    for (recording, log, turns) in with_turns() {
        let place = log.display();
        let grown = tempfile::tempdir().unwrap();
        let (tapes, index) = (grown.path().join("tapes"), grown.path().join("index"));
        // The ids of some sessions are in the names of the directories above.
        let names: Vec<_> = log.iter().collect();
        let source: PathBuf = names[names.len().saturating_sub(3)..].iter().collect();
        let source = grown.path().join(source);
        fs::create_dir_all(source.parent().unwrap()).unwrap();
        fs::create_dir(&tapes).unwrap();
        // A session that was resumed may begin with the history of another one: such a beginning is a tape of that session.
        let sessions_of: BTreeSet<_> = turns
            .iter()
            .flat_map(|turn| {
                fs::write(&source, turn).unwrap();
                tapes_of(&source).into_values()
            })
            .map(|tape| session_of(&tape))
            .collect();
        if sessions_of.len() != 1 {
            continue;
        }
        // The tape is replaced in its place, as `engram ingest` does.
        for turn in &turns {
            fs::write(&source, turn).unwrap();
            for tape in tapes_of(&source).into_values() {
                fs::write(tapes.join("one.tape.jsonl"), tape).unwrap();
            }
            let mut writer = Writer::open(&index, || ()).unwrap();
            let added = writer
                .add(std::slice::from_ref(&tapes), &mut |_| ())
                .unwrap();
            assert!(added.failed.is_empty(), "{place}: {:?}", added.failed);
            runs += 1;
        }
        let index = Index::open(&index).unwrap();
        let status = index.status().unwrap();
        assert_eq!(
            status.tapes, 1,
            "{place}: the states before are not answers"
        );
        assert!(index.verify(10).unwrap().faults.is_empty(), "{place}");
        let once = grown.path().join("once");
        let mut writer = Writer::open(&once, || ()).unwrap();
        writer
            .add(std::slice::from_ref(&tapes), &mut |_| ())
            .unwrap();
        let expected = answers(&Index::open(&once).unwrap(), &recording);
        assert_eq!(answers(&index, &recording), expected, "{place}");
        sessions += 1;
    }
    println!("{sessions} sessions were taken in after each of {runs} turns");
    assert!(sessions > 4 && runs > 3 * sessions);
}

#[test]
fn loose_tapes_of_a_session_that_grew_supersede_each_other_in_any_order() {
    let recording = &fixtures("claude-code/2.1.329/b_edit")[0];
    let log = log_of(&recording.directory.join("session")).unwrap();
    let text = fs::read_to_string(&log).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join(log.file_name().unwrap());
    let mut loose = Vec::new();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let parts = [2, 3, 4].map(|part| lines[..lines.len() - lines.len() / part].concat());
    for (n, beginning) in parts.into_iter().chain([text.clone()]).enumerate() {
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

/// The largest log of a session.
fn log_of(directory: &Path) -> Option<PathBuf> {
    let is_log = |path: &Path| path.extension().is_some_and(|ending| ending == "jsonl");
    let entries = walkdir::WalkDir::new(directory).sort_by_file_name();
    let logs = entries.into_iter().flatten().map(|entry| entry.into_path());
    logs.filter(|path| is_log(path))
        .max_by_key(|path| path.metadata().map(|log| log.len()).unwrap_or_default())
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
