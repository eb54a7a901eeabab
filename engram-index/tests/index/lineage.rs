//! Where lines come from, and what was removed beside them.

use std::fs;

use engram_index::{Events, Index, Query, Words, Writer};

use crate::blame::real_files;
use crate::recorded::{fixtures, made};
use crate::synthetic::{Tape, code};
use crate::truth::truth_of;

fn query(path: &str, text: &str, range: (usize, usize)) -> Query<'static> {
    let mut query = Query::of_file(path, Box::leak(text.to_owned().into_boxed_str()));
    (query.range, query.limit, query.words) = (Some(range), usize::MAX, Words::None);
    query
}

fn ways(events: &Events) -> Vec<(&str, &str)> {
    events
        .items
        .iter()
        .map(|event| (event.way.unwrap(), event.what))
        .collect()
}

#[test]
fn recorded_lines_lead_back_to_the_edits_that_their_edit_replaced() {
    let mut chains = 0;
    for name in [
        "claude-code/2.1.329/n_edits",
        "claude-code/2.1.329/b_edit",
        "gemini/0.8.2",
    ] {
        let recording = &fixtures(name)[0];
        let made = made(&[recording]);
        let index = made.open();
        for file in real_files(&truth_of(recording)) {
            // A file that was moved has a history under its names before.
            let is_own = |path: &str| file.turns.iter().any(|turn| path.ends_with(&turn.file));
            let path = format!("/home/dev/proj/{}", file.name);
            let count = file.text.lines().count();
            for line in 1..=count {
                let events = index
                    .history(&query(&path, &file.text, (line, line)))
                    .unwrap();
                for event in &events.items {
                    assert!(is_own(&event.file), "an edit of another file: {event:?}");
                }
                // The newest one made the line, what it replaced is older.
                if let Some(first) = events.items.first() {
                    assert_eq!(first.way, Some("made"), "{events:?}");
                    chains += events
                        .items
                        .iter()
                        .filter(|event| event.way == Some("chain"))
                        .count();
                }
            }
        }
    }
    assert!(chains > 0, "no edit leads back");
}

/// Synthetic: no recorded session removes a span that is large enough for fingerprints, and writes it again.
#[test]
fn a_span_that_was_removed_and_written_again_is_one_line_of_descent() {
    let directory = tempfile::tempdir().unwrap();
    let mut random = fastrand::Rng::with_seed(2);
    let (head, span, tail) = (
        code(12, &mut random),
        code(30, &mut random),
        code(12, &mut random),
    );
    let (with, without) = (format!("{head}{span}{tail}"), format!("{head}{tail}"));
    let mut one = Tape::new("one", 1_750_000_000_000);
    one.prompt("write it");
    one.edit("src/a.rs", None, &with);
    one.prompt("remove it");
    one.edit("src/a.rs", Some(&with), &without);
    // Another session, which begins with a text that a person changed: no equal hash leads back.
    let (changed, again) = (
        format!("{without}// mine\n"),
        format!("{head}{span}{tail}// mine\n"),
    );
    let mut two = Tape::new("two", 1_750_100_000_000);
    two.prompt("write it again");
    two.edit("src/a.rs", Some(&changed), &again);
    fs::write(directory.path().join("1.tape.jsonl"), one.end()).unwrap();
    fs::write(directory.path().join("2.tape.jsonl"), two.end()).unwrap();
    let place = directory.path().join("index");
    let added = Writer::open(&place, || ())
        .unwrap()
        .add(&[directory.path().to_owned()], &mut |_| ())
        .unwrap();
    assert!(added.failed.is_empty(), "{:?}", added.failed);
    let index = Index::open(&place).unwrap();
    let path = format!("{}/src/a.rs", crate::synthetic::ROOT);
    let events = index.history(&query(&path, &again, (20, 20))).unwrap();
    assert_eq!(
        ways(&events),
        [("made", "update"), ("again", "update"), ("chain", "create")],
        "{events:?}"
    );
    // What stood between the head and the tail is known by its lines while the text is that of an edit.
    for (range, expected) in [((12, 12), 1), ((13, 13), 1), ((11, 11), 0), ((14, 24), 0)] {
        let removed = index.removed(&query(&path, &without, range)).unwrap();
        assert_eq!(
            (removed.total, removed.notes.len()),
            (expected, 0),
            "{range:?}"
        );
    }
    let removed = index.removed(&query(&path, &changed, (12, 12))).unwrap();
    assert_eq!(
        (removed.total, removed.notes.len()),
        (1, 0),
        "the lines around stayed"
    );
}

/// An index over one synthetic tape.
fn index_of(tape: Tape) -> (tempfile::TempDir, Index) {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("1.tape.jsonl"), tape.end()).unwrap();
    let place = directory.path().join("index");
    let added = Writer::open(&place, || ())
        .unwrap()
        .add(&[directory.path().to_owned()], &mut |_| ())
        .unwrap();
    assert!(added.failed.is_empty(), "{:?}", added.failed);
    let index = Index::open(&place).unwrap();
    (directory, index)
}

/// Synthetic: no recorded harness says which lines a call moved.
#[test]
fn a_link_that_the_log_declares_leads_to_the_other_file() {
    let mut random = fastrand::Rng::with_seed(3);
    let (old, moved) = (code(42, &mut random), code(30, &mut random));
    let mut tape = Tape::new("one", 1_750_000_000_000);
    tape.prompt("write it, and move it");
    tape.edit("src/a.rs", None, &format!("{old}{moved}"));
    tape.link(("src/a.rs", (43, 72)), ("src/b.rs", (1, 30)));
    tape.edit("src/b.rs", None, &moved);
    let (_directory, index) = index_of(tape);
    let events = index
        .history(&query(
            &format!("{}/src/b.rs", crate::synthetic::ROOT),
            &moved,
            (5, 5),
        ))
        .unwrap();
    assert_eq!(
        ways(&events),
        [
            ("made", "create"),
            ("declared", "link"),
            ("declared", "create")
        ],
        "{events:?}"
    );
    assert!(events.items[2].file.ends_with("src/a.rs"));
}

/// Synthetic: no recorded session changes a line so often.
#[test]
fn edits_that_are_too_many_in_a_row_are_left_out_and_that_is_said() {
    let texts: Vec<String> = (0..15)
        .map(|n| {
            format!(
                "{}the line, changed {n} times\n",
                code(20, &mut fastrand::Rng::with_seed(4))
            )
        })
        .collect();
    let mut tape = Tape::new("one", 1_750_000_000_000);
    tape.prompt("change it often");
    tape.edit("src/a.rs", None, &texts[0]);
    texts
        .windows(2)
        .for_each(|pair| tape.edit("src/a.rs", Some(&pair[0]), &pair[1]));
    let (_directory, index) = index_of(tape);
    let path = format!("{}/src/a.rs", crate::synthetic::ROOT);
    let events = index.history(&query(&path, &texts[14], (21, 21))).unwrap();
    assert_eq!(
        (events.total, ways(&events)[1]),
        (11, ("chain", "update")),
        "{events:?}"
    );
    assert!(
        events.notes.iter().any(|note| note.contains("10 in a row")),
        "{:?}",
        events.notes
    );
    let events = index.history(&query(&path, &texts[8], (21, 21))).unwrap();
    assert_eq!(
        (events.total, events.notes.len()),
        (9, 0),
        "all of them are there"
    );
}

#[test]
fn an_index_that_knows_what_was_said_lists_mentions_apart() {
    let recording = &fixtures("claude-code/2.1.329/b_edit")[0];
    let made = made(&[recording]);
    let prompts = made.directory.path().join("prompts");
    fs::create_dir(&prompts).unwrap();
    // Synthetic: no recorded prompt has so many words.
    let text = code(20, &mut fastrand::Rng::with_seed(9));
    let mut tape = Tape::new("asked", 1_750_000_000_000);
    tape.prompt(&format!("Why is this here?\n{text}"));
    fs::write(prompts.join("1.tape.jsonl"), tape.end()).unwrap();
    let ask = |text: &str| {
        made.open()
            .explain(&Query::new(Box::leak(text.to_owned().into_boxed_str())))
            .unwrap()
    };
    engram_index::rebuild(&made.index, std::slice::from_ref(&prompts), false, || ()).unwrap();
    assert!(
        ask(&text).mentioned.is_empty(),
        "the index was made without texts"
    );
    engram_index::rebuild(&made.index, &[], true, || ()).unwrap();
    let answer = ask(&text);
    assert_eq!(
        (answer.lines.unknown, answer.mentioned.len()),
        (20, 1),
        "a mention is no proof"
    );
    let said = answer.mentioned[0].said.as_ref().unwrap();
    assert!(
        said.quoted && said.text.starts_with("Why is this here?") && said.from.ends_with("#2"),
        "{said:?}"
    );
    assert!(
        ask(&code(20, &mut fastrand::Rng::with_seed(10)))
            .mentioned
            .is_empty()
    );
    assert!(made.open().verify(10).unwrap().faults.is_empty());
    // A session that grows keeps what it said, and says more.
    let mut tape = Tape::new("asked", 1_750_000_000_000);
    tape.prompt(&format!("Why is this here?\n{text}"));
    let more = code(20, &mut fastrand::Rng::with_seed(11));
    tape.say(&more);
    fs::write(prompts.join("1.tape.jsonl"), tape.end()).unwrap();
    let added = Writer::open(&made.index, || ())
        .unwrap()
        .add(&[prompts], &mut |_| ())
        .unwrap();
    assert_eq!(added.grew, 1);
    assert_eq!(
        (ask(&text).mentioned.len(), ask(&more).mentioned.len()),
        (1, 1)
    );
    assert!(made.open().verify(10).unwrap().faults.is_empty());
}
