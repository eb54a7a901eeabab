//! What a log shows of a file beside the edit itself: its lines in the result of the call, and a later read of what an edit left unknown.

use std::path::Path;

use engram_index::{Made, Query, Tier, Writer};

use crate::blame::{RealFile, real_files};
use crate::recorded::{fixtures, made};
use crate::synthetic::ROOT;
use crate::truth::{paths, truth_of};
use crate::world::{Form, tape};

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

#[test]
fn a_file_with_the_hash_of_an_edit_is_what_the_edit_left() {
    // A short line, and nobody had read the file.
    let (before, after) = ("a = 1\nb = 2\nc = 3\n", "a = 1\nb = 20\nc = 3\n");
    let mut writer = Writer::in_memory().unwrap();
    let edit = tape("s", 1, Form::Span, before, after);
    writer.add_text(Path::new("s"), edit.as_bytes()).unwrap();
    let index = writer.into_index().unwrap();
    let tiers = |text: &str| -> Vec<Tier> {
        let mut query = Query::new(text);
        query.paths = vec![format!("{ROOT}/src/a.py")];
        let lines = index.attribute(&query).unwrap();
        lines.iter().map(|line| line.tier).collect()
    };
    assert_eq!(tiers(after), [Tier::Older, Tier::State, Tier::Older]);
    let changed = "a = 1\nb = 20\nc = 30\n";
    assert_eq!(tiers(changed)[1..], [Tier::Unknown, Tier::Unknown]);
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_line() {
    // Its text has no mark in the log, and the hash of the file is with it.
    let (real, lines) = asked("claude-code/2.1.329/n_edits", "e/bom.txt");
    assert!(real.text.starts_with('\u{feff}'));
    assert_eq!(lines[0].tier, Tier::State, "{:?}", lines[0]);
}
