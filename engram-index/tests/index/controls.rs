//! Texts that no session made: no line is given to a call, and hardly any text is like an edit.

use std::path::{Path, PathBuf};

use engram_index::{Query, Words};

use crate::blame::real_files;
use crate::recorded::{fixtures, made};
use crate::truth::truth_of;

/// Lines of a control span.
const SPAN: usize = 20;

/// Sources that no recorded session touched: those of this repository and of the crates that it is built with.
fn untouched() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut roots = vec![
        root.join("engram-core/src"),
        root.join("engram-adapters/src"),
        root.join("engram-cli/src"),
    ];
    let registry = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    roots.extend(registry.map(|home| home.join("registry/src")));
    let entries = roots
        .iter()
        .flat_map(|root| walkdir::WalkDir::new(root).sort_by_file_name())
        .flatten();
    let is_source = |path: &PathBuf| {
        path.extension().is_some_and(|ending| {
            ["rs", "md", "toml", "py"]
                .iter()
                .any(|known| ending == *known)
        })
    };
    entries
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| entry.into_path())
        .filter(is_source)
        .take(4000)
        .collect()
}

#[test]
fn files_that_no_session_touched_are_unknown() {
    // One of each version, so that the index has all texts that sessions wrote.
    let recordings = fixtures("");
    let some: Vec<_> = recordings.iter().step_by(5).collect();
    let made = made(&some);
    let index = made.open();
    let (mut spans, mut given_spans, mut like) = (0, 0, 0);
    for path in untouched().iter().step_by(4) {
        let Ok(text) = std::fs::read_to_string(path) else {
            continue;
        };
        let mut query = Query::of_file(&path.to_string_lossy(), &text);
        (query.words, query.limit) = (Words::None, usize::MAX);
        let answer = index.explain(&query).unwrap();
        let given = answer.lines.state + answer.lines.line + answer.lines.moved;
        assert_eq!(given, 0, "{}: {answer:?}", path.display());
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        for span in lines.chunks(SPAN).take(8) {
            let span = span.concat();
            let mut query = Query::new(&span);
            query.words = Words::None;
            let answer = index.explain(&query).unwrap();
            spans += 1;
            given_spans +=
                usize::from(answer.lines.line + answer.lines.moved + answer.lines.state > 0);
            like += usize::from(index.like(&query, false).unwrap().total > 0);
        }
    }
    println!("controls: {spans} spans, {given_spans} given to a call, {like} like an edit");
    assert!(spans > 1000, "too few controls: {spans}");
    assert_eq!(given_spans, 0, "of {spans} spans");
    assert!(like * 1000 <= spans, "{like} of {spans}");
}

#[test]
fn lines_that_a_person_adds_between_are_unknown() {
    for recording in fixtures("claude-code/2.1").iter().step_by(7) {
        let made = made(&[recording]);
        let index = made.open();
        for file in real_files(&truth_of(recording)) {
            // Lines of a person at the beginning, in the middle and at the end.
            let mut lines: Vec<String> = file.text.lines().map(str::to_owned).collect();
            let own =
                |n: usize| format!("written by a person in this place, line {n} of this control");
            let places = [0, lines.len() / 2 + 1, lines.len() + 2];
            places
                .iter()
                .enumerate()
                .for_each(|(n, at)| lines.insert((*at).min(lines.len()), own(n)));
            let text = lines.join("\n") + "\n";
            let mut query = Query::of_file(&format!("/home/dev/proj/{}", file.name), &text);
            query.words = Words::None;
            let found = index.attribute(&query).unwrap();
            for (line, made) in lines.iter().zip(found) {
                if line.starts_with("written by a person") {
                    assert!(made.call.is_none(), "{} {line}", file.name);
                }
            }
        }
    }
}
