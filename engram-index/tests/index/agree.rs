//! `explain FILE:N`, `explain FILE`, `blame FILE` and `explain --commit` are views of one answer: they never contradict each other.

use std::path::PathBuf;

use engram_index::{Answer, Index, Query, Tier, Why, Words};

use crate::blame::real_files;
use crate::recorded::{all, made};
use crate::truth::{paths, truth_of};

/// What one question says about one line.
type Said = (Tier, Option<Why>, Option<(PathBuf, i64)>);

/// The answer of `explain`, by line.
fn by_line(answer: &Answer, count: usize) -> Vec<Said> {
    let mut lines: Vec<Option<Said>> = vec![None; count];
    for item in &answer.items {
        let call = item.call.as_ref();
        let call = call.map(|call| (PathBuf::from(&call.tape), call.seq));
        for at in item.lines.iter().flat_map(|[first, last]| first - 1..*last) {
            assert_eq!(lines[at], None, "line {} stands in two items", at + 1);
            lines[at] = Some((item.tier, item.why, call.clone()));
        }
    }
    let missing = || panic!("a line without an answer");
    lines
        .into_iter()
        .map(|line| line.unwrap_or_else(missing))
        .collect()
}

/// The answer of `blame`, which is that of a caller who wants no words.
fn attributed(index: &Index, query: &Query<'_>) -> Vec<Said> {
    let lines = index.attribute(query).unwrap();
    lines
        .into_iter()
        .map(|line| (line.tier, line.why, line.call))
        .collect()
}

/// After all sessions: the time of a commit of what they left.
const LATE: i64 = 4_000_000_000_000;

#[test]
fn all_questions_about_a_line_have_one_answer() {
    let (mut lines, mut proven) = (0, 0);
    for recording in &all() {
        let files = real_files(&truth_of(recording));
        if files.is_empty() {
            continue;
        }
        let made = made(&[recording]);
        let index = made.open();
        for file in &files {
            let place = format!("{}: {}", recording.directory.display(), file.name);
            let mut query = Query::new(&file.text);
            (query.paths, query.limit, query.words) = (paths(&file.name), usize::MAX, Words::None);
            let all = attributed(&index, &query);
            let count = all.len();
            assert_eq!(
                by_line(&index.explain(&query).unwrap(), count),
                all,
                "{place}"
            );
            let mut of_commit = query.clone();
            (of_commit.at, of_commit.words) = (Some(LATE), Words::Prompt);
            assert_eq!(
                by_line(&index.explain(&of_commit).unwrap(), count),
                all,
                "{place}"
            );
            for (at, whole) in all.iter().enumerate().take(MAX_LINES) {
                query.range = Some((at + 1, at + 1));
                let line = index.explain(&query).unwrap();
                let call = line.items[0].call.as_ref();
                let call = call.map(|call| (PathBuf::from(&call.tape), call.seq));
                let said = (line.items[0].tier, line.items[0].why, call);
                assert_eq!((line.total, &said), (1, whole), "{place}:{}", at + 1);
                assert_eq!(
                    attributed(&index, &query),
                    std::slice::from_ref(whole),
                    "{place}:{}",
                    at + 1
                );
                lines += 1;
                proven += usize::from(whole.2.is_some());
            }
        }
    }
    println!("{lines} lines asked one by one, {proven} of them given to a call");
    // A sample of the recordings has as many lines as its files happen to have.
    assert!(lines > 300 && proven * 10 > lines, "{proven} of {lines}");
}

/// Lines of one file that are asked one by one.
const MAX_LINES: usize = 100;
