//! What a log shows of a file beside the edit itself: its lines in the result of the call, and a later read of what an edit left unknown.

use engram_index::{Made, Query, Tier};

use crate::blame::{RealFile, real_files};
use crate::recorded::{fixtures, made};
use crate::truth::{paths, truth_of};

/// A file of a recording as it was at the end, and who made each of its lines.
fn asked(recording: &str, file: &str) -> (RealFile, Vec<Made>) {
    let recording = &fixtures(recording)[0];
    let files = real_files(&truth_of(recording));
    let file = files.into_iter().find(|real| real.name == file).unwrap();
    let made = made(&[recording]);
    let mut query = Query::new(&file.text);
    query.paths = paths(&file.name);
    let lines = made.open().attribute(&query).unwrap();
    (file, lines)
}

#[test]
fn a_line_that_only_the_result_shows_whole_is_known() {
    // The edit replaced a part of the line, and nobody had read the file. One result shows the whole file, the other one some lines with numbers.
    for (recording, file, line) in [
        ("gemini/0.35.3/b_edit", "tabs.txt", "\tINDENTED\t\ttext"),
        ("claude-code/1.0.100/d_resume", "src/a.py", "    return 100"),
    ] {
        let (real, lines) = asked(recording, file);
        let at = real.lines.iter().position(|real| real == line).unwrap();
        assert!(lines[at].call.is_some(), "{recording}: {:?}", lines[at]);
    }
}

#[test]
fn a_line_that_came_while_the_log_did_not_look_is_not_older() {
    // The session read the whole file, a hook rewrote it, and an edit then knew one line of it.
    let (real, lines) = asked("claude-code/2.0.10/n_hooks", "fmt.py");
    for (text, line) in real.lines.iter().zip(&lines) {
        assert_ne!(line.tier, Tier::Older, "{text:?}: {line:?}");
    }
}
