//! Tapes that are in no file: the index is the one that their files give, but for words.

use std::fs;
use std::path::{Path, PathBuf};

use engram_core::tape::replay;
use engram_index::{Error, Index, Query, Writer};

use crate::recorded::{Made, fixtures, made};

fn one() -> (Made, PathBuf) {
    let made = made(&[&fixtures("claude-code/2.1.329/b_edit")[0]]);
    let tape = fs::read_dir(&made.tapes).unwrap().next().unwrap();
    let path = tape.unwrap().path();
    (made, path)
}

/// The tier and the place of each line, and whether there are words.
fn answer(index: &Index) -> (String, bool) {
    let query = Query::of_file("/home/dev/proj/src/b.py", "");
    let events = index.history(&query).unwrap();
    let last = format!("{:?}", events.items.first().map(|event| &event.file));
    let status = index.status().unwrap();
    let counts = (events.total, status.tapes, status.calls, status.spans);
    (format!("{counts:?} {last}"), status.absent == 0)
}

#[test]
fn a_file_a_text_and_events_give_the_same_index() {
    let (made, path) = one();
    let text = fs::read(&path).unwrap();
    let of_file = answer(&made.open());
    assert!(of_file.1 && !of_file.0.starts_with("(0"), "{of_file:?}");
    // The file has the tape, so its words can be quoted; another place has none.
    for (place, has_words) in [(path.as_path(), true), (Path::new("nowhere"), false)] {
        let mut by_text = Writer::in_memory().unwrap();
        let added = by_text.add_text(place, text.as_slice()).unwrap();
        assert_eq!((added.new, added.bytes), (1, text.len() as u64));
        // It is known the second time.
        assert_eq!(by_text.add_text(place, text.as_slice()).unwrap().known, 1);
        let mut by_events = Writer::in_memory().unwrap();
        let mut sink = by_events.sink(place);
        replay(text.as_slice(), &mut sink).unwrap();
        assert_eq!(sink.added().new, 1);
        for writer in [by_text, by_events] {
            let index = writer.into_index().unwrap();
            assert_eq!(answer(&index), (of_file.0.clone(), has_words));
        }
    }
}

#[test]
fn what_is_no_whole_tape_leaves_nothing() {
    let (_made, path) = one();
    let text = fs::read(&path).unwrap();
    let place = Path::new("cut");
    let mut writer = Writer::in_memory().unwrap();
    for cut in [0, 10, text.len() / 2, text.len() - 1] {
        let added = writer.add_text(place, &text[..cut]);
        assert!(matches!(added, Err(Error::BadTape { .. })), "{cut}");
    }
    // A conversion that fails never finishes its sink.
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    let begun: Vec<u8> = lines.take(5).flatten().copied().collect();
    let mut sink = writer.sink(place);
    assert!(replay(begun.as_slice(), &mut sink).is_err());
    let status = writer.into_index().unwrap().status().unwrap();
    assert_eq!((status.tapes, status.calls), (0, 0));
}
