//! Exact repeats that the driver finds.

use engram_core::adapter::{StreamAdapter, convert_str};
use engram_core::event::{Event, Meta, TapeStop};
use engram_core::pipeline::Options;
use engram_core::tape::events;

use crate::toy::{HEADER, Toy, ToyWithRepeats};

const TIMED: &str = r#"{"type":"say","t":"2026-01-02T03:04:05Z","text":"timed"}"#;
const LATER: &str = r#"{"type":"say","t":"2026-01-02T03:04:06Z","text":"timed"}"#;
const WITH_ID: &str = r#"{"type":"say","id":"m-1","text":"with an id"}"#;
const BARE: &str = r#"{"type":"say","text":"bare"}"#;
const STATE: &str = r#"{"type":"state","t":"2026-01-02T03:04:06Z"}"#;
const ECHO: &str = r#"{"type":"echo","t":"2026-01-02T03:04:06Z"}"#;
const BROKEN: &str = r#"{"type":"say","t":"2026-01-02T03:04:06Z"}"#;

/// The events of a log without their places, and its `tape.stop`.
fn converted(adapter: &dyn StreamAdapter, text: &str) -> (Vec<String>, String) {
    let tape = convert_str(adapter, &format!("{HEADER}\n{text}"), &Options::default()).unwrap();
    let mut lines: Vec<String> = tape
        .lines()
        .map(|line| {
            line.split(",\"origin\":")
                .next()
                .unwrap_or_default()
                .to_owned()
        })
        .collect();
    let stop = lines.pop().unwrap_or_default();
    (lines, stop)
}

fn ledger(stop: &str, check: impl FnOnce(&TapeStop)) {
    let stop = format!("{stop}\n");
    let record = events(&stop).next().unwrap().unwrap();
    let Event::Meta(Meta::TapeStop(stop)) = record.event else {
        panic!("no stop")
    };
    check(&stop);
}

#[test]
fn records_with_an_id_or_a_time_count_once_wherever_they_are_repeated() {
    let (once, _) = converted(&ToyWithRepeats, &[TIMED, WITH_ID, STATE, BARE].join("\n"));
    let (again, stop) = converted(
        &ToyWithRepeats,
        &[
            TIMED, TIMED, WITH_ID, STATE, BARE, STATE, WITH_ID, TIMED, HEADER,
        ]
        .join("\n"),
    );
    assert_eq!(again, once);
    ledger(&stop, |stop| {
        assert_eq!(
            (
                stop.ledger.records,
                stop.ledger.mapped,
                stop.ledger.duplicate,
                stop.ledger.bookkeeping
            ),
            (10, 4, 5, 1)
        );
        let rows: Vec<_> = stop
            .ledger
            .omitted
            .iter()
            .map(|row| (&*row.record, &*row.rule, row.count))
            .collect();
        let repeated = "record.repeated";
        assert_eq!(
            rows,
            [
                ("say", repeated, 3),
                ("state", repeated, 1),
                ("state", "ui_state", 1),
                ("toy", repeated, 1)
            ]
        );
        assert!(stop.ledger.balances());
    });
}

#[test]
fn a_repeat_sets_no_time_for_the_records_after_it() {
    let (once, _) = converted(&ToyWithRepeats, &[TIMED, LATER, BARE].join("\n"));
    assert_eq!(
        converted(&ToyWithRepeats, &[TIMED, LATER, TIMED, BARE].join("\n")).0,
        once
    );
    assert!(
        once.last().is_some_and(|line| line.contains("03:04:06Z")),
        "{once:?}"
    );
}

#[test]
fn records_without_both_and_pieces_and_broken_records_are_no_repeats() {
    for record in [BARE, ECHO, BROKEN] {
        let (_, stop) = converted(&ToyWithRepeats, &[record, record].join("\n"));
        ledger(&stop, |stop| {
            assert!(
                stop.ledger
                    .omitted
                    .iter()
                    .all(|row| row.rule != "record.repeated"),
                "{record}"
            )
        });
    }
}

#[test]
fn several_values_on_a_line_are_compared_one_by_one() {
    let (once, _) = converted(&ToyWithRepeats, &format!("{TIMED}{WITH_ID}"));
    assert_eq!(
        converted(
            &ToyWithRepeats,
            &format!("{TIMED} {WITH_ID}{TIMED}\n{WITH_ID}")
        )
        .0,
        once
    );
}

#[test]
fn a_conversion_that_does_not_ask_gets_every_record() {
    let (events, _) = converted(&Toy, &[TIMED, TIMED].join("\n"));
    assert_eq!(
        events
            .iter()
            .filter(|line| line.contains("\"timed\""))
            .count(),
        2
    );
}
