//! How often `--like` finds spans that were moved, indented anew, or partly rewritten by a fixed generator. Recorded sessions have few spans that
//! are large enough, so files of this repository stand for edits, on synthetic tapes.

use std::fs;
use std::path::Path;

use engram_index::{Index, Query, Words, Writer};

use crate::synthetic::Tape;

/// A changed copy of a span.
struct Change {
    name: &'static str,
    make: fn(&[&str], &mut fastrand::Rng) -> String,
}

const CHANGES: [Change; 7] = [
    Change {
        name: "as it was",
        make: |lines, _| lines.join("\n"),
    },
    Change {
        name: "moved among other lines",
        make: |lines, random| {
            format!(
                "{}{}\n{}",
                noise(4, random),
                lines.join("\n"),
                noise(4, random)
            )
        },
    },
    Change {
        name: "indented anew",
        make: |lines, _| {
            lines
                .iter()
                .map(|line| format!("\t\t{}\n", line.trim_start()))
                .collect()
        },
    },
    Change {
        name: "rewritten in 1 of 10 lines",
        make: |lines, random| rewritten(lines, 10, random),
    },
    Change {
        name: "rewritten in 1 of 4 lines",
        make: |lines, random| rewritten(lines, 4, random),
    },
    Change {
        name: "rewritten in 1 of 2 lines",
        make: |lines, random| rewritten(lines, 2, random),
    },
    Change {
        name: "rewritten in its second half",
        make: |lines, random| {
            format!(
                "{}\n{}",
                lines[..lines.len().div_ceil(2)].join("\n"),
                noise(lines.len() / 2, random)
            )
        },
    },
];

fn noise(lines: usize, random: &mut fastrand::Rng) -> String {
    let word = |random: &mut fastrand::Rng| {
        (0..random.usize(3..9))
            .map(|_| random.lowercase())
            .collect::<String>()
    };
    (0..lines)
        .map(|_| format!("{} = {}({})\n", word(random), word(random), word(random)))
        .collect()
}

/// Every n-th line is another one.
fn rewritten(lines: &[&str], every: usize, random: &mut fastrand::Rng) -> String {
    lines
        .iter()
        .enumerate()
        .map(|(n, line)| {
            if n % every == every / 2 {
                noise(1, random)
            } else {
                format!("{line}\n")
            }
        })
        .collect()
}

/// Pieces of 20 lines of the sources of this repository.
fn spans() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .join("engram-core/src");
    let files = walkdir::WalkDir::new(root)
        .sort_by_file_name()
        .into_iter()
        .flatten()
        .filter(|entry| entry.file_type().is_file());
    let texts = files.filter_map(|entry| fs::read_to_string(entry.path()).ok());
    let pieces = texts.flat_map(|text| {
        let lines: Vec<&str> = text.lines().collect();
        lines
            .chunks_exact(20)
            .map(|piece| piece.join("\n"))
            .collect::<Vec<_>>()
    });
    pieces.step_by(3).take(200).collect()
}

#[test]
fn changed_spans_are_found_at_these_rates() {
    let directory = tempfile::tempdir().unwrap();
    let spans = spans();
    assert_eq!(spans.len(), 200);
    for (n, span) in spans.iter().enumerate() {
        let mut tape = Tape::new(&format!("s{n}"), 1_750_000_000_000 + n as i64 * 60_000);
        tape.prompt("write it");
        tape.edit(&format!("src/f{n}.rs"), None, &format!("{span}\n"));
        fs::write(directory.path().join(format!("{n}.tape.jsonl")), tape.end()).unwrap();
    }
    let index = directory.path().join("index");
    let added = Writer::open(&index, || ())
        .unwrap()
        .add(&[directory.path().to_owned()], &mut |_| ())
        .unwrap();
    assert!(
        added.failed.is_empty() && added.new == 200,
        "{:?}",
        added.failed
    );
    let index = Index::open(&index).unwrap();
    // Found means found with its own session, and with no other.
    let ask = |n: usize, text: &str, all: bool| {
        let mut query = Query::new(text);
        query.words = Words::None;
        let answer = index.like(&query, all).unwrap();
        let best = answer.items.first();
        best.map(|event| event.call.session.as_deref() == Some(&format!("s{n}")))
    };
    println!(
        "| a span of 20 lines that was | found at 0.50 | at 0.30 | another one at 0.50 | at 0.30 |\n|---|---|---|---|---|"
    );
    for Change { name, make } in CHANGES {
        let mut random = fastrand::Rng::with_seed(11);
        let changed: Vec<String> = spans
            .iter()
            .map(|text| make(&text.lines().collect::<Vec<_>>(), &mut random))
            .collect();
        let rate = |all: bool, wanted: bool| {
            changed
                .iter()
                .enumerate()
                .filter(|(n, text)| ask(*n, text, all) == Some(wanted))
                .count()
        };
        let [right, weak, other, weak_other] = [
            rate(false, true),
            rate(true, true),
            rate(false, false),
            rate(true, false),
        ];
        println!(
            "| {name} | {:.1} % | {:.1} % | {:.1} % | {:.1} % |",
            right as f64 / 2.0,
            weak as f64 / 2.0,
            other as f64 / 2.0,
            weak_other as f64 / 2.0
        );
        assert!(
            !["as it was", "indented anew"].contains(&name) || right >= 198,
            "{name}: {right}"
        );
    }
}
