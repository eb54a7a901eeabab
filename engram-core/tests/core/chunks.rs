//! Property tests: chunks do not change the tape, and no input causes a panic or an invalid tape.

use std::io::Read;

use engram_core::adapter::StreamAdapter;
use engram_core::adapter::convert_str;
use engram_core::audit::audit;
use engram_core::check::check;
use engram_core::error::AdapterError;
use engram_core::limits::Limits;
use engram_core::pipeline::{Input, Options, convert};
use engram_core::policy::Policy;
use engram_core::tape::JsonLines;
use proptest::prelude::*;

use crate::toy::{HEADER, Toy};

/// Returns at most `step` bytes per read.
struct Chunks<'b> {
    bytes: &'b [u8],
    step: usize,
}

impl Read for Chunks<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let step = self.step.min(buffer.len()).min(self.bytes.len());
        let (now, later) = self.bytes.split_at(step);
        buffer[..step].copy_from_slice(now);
        self.bytes = later;
        Ok(step)
    }
}

/// Converts bytes that are read in chunks of `step`.
pub fn tape(bytes: &[u8], step: usize, options: &Options) -> Result<String, AdapterError> {
    let mut tape = Vec::new();
    convert(
        &Toy,
        Input::new(Chunks { bytes, step }, options.limits),
        options,
        &mut JsonLines::new(&mut tape),
    )?;
    Ok(String::from_utf8(tape).expect("a tape is UTF-8"))
}

fn options(policy: Policy, record_bytes: u64) -> Options {
    Options {
        policy,
        limits: Limits {
            record_bytes,
            ..Limits::default()
        },
        ..Options::default()
    }
}

/// Checks all properties of a conversion. Damage may create fields that the toy does not know, so only undamaged logs are audited.
fn check_conversion(bytes: &[u8], is_damaged: bool) -> Result<(), TestCaseError> {
    for policy in [Policy::Strict, Policy::Permissive] {
        for limit in [64, 1 << 20] {
            let options = options(policy, limit);
            let expected = tape(bytes, usize::MAX, &options);
            for step in [1, 7, 4096] {
                prop_assert_eq!(
                    &tape(bytes, step, &options),
                    &expected,
                    "{} bytes per read",
                    step
                );
            }
            if let Ok(text) = str::from_utf8(bytes) {
                prop_assert_eq!(&convert_str(&Toy, text, &options), &expected);
            }
            if let Ok(tape) = &expected {
                prop_assert_eq!(check(tape), vec![]);
                let report = audit(bytes, tape, Toy.describe()).unwrap();
                prop_assert!(is_damaged || report.holds(), "{:?} of {}", report, tape);
            }
        }
    }
    Ok(())
}

/// Valid and invalid lines of a log.
const LINES: &[&str] = &[
    HEADER,
    r#"{"type":"say","text":"hello \"you\" \u00e9 \ud83d\ude00","t":"2026-01-02T03:04:06Z","id":"a"}"#,
    r#"{"type":"say","text":"a lone \ud800 half","id":"\udc00"}"#,
    r#"{ "type" : "call", "id":"c1", "args": {"a" : [1e999, "x y", null], "a":"\/ twice"} }"#,
    r#"{"type":"result","id":"c1","text":"done at last\r\n"}"#,
    r#"{"type":"state","text":"nobody reads this"}"#,
    r#"{"type":"echo","text":"said before"}"#,
    r#"{"type":"blocks","blocks":["one of two",{"kind":"odd","text":"two of two"}]}"#,
    r#"{"type":"toy","version":"1.9.0"}"#,
    r#"{"type":"mystery","text":"who knows what"}"#,
    r#"{"type":"say","text":{"is":"no string at all"}}"#,
    r#"{"type":"say","text":"one of two values"}{"type":"say","text":"two of two values"}"#,
    r#"{"type":"say","te{"type":"say","text":"glued to a cut one"}"#,
    "[\"an array\"]",
    "\u{2028}",
    "\u{feff}{\"type\":\"state\"}",
    "\0\0\0\0",
    "no json at all",
    "",
    "  \t",
];

fn logs() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        8 => proptest::sample::select(LINES).prop_map(|line| line.as_bytes().to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..40),
    ];
    let end = proptest::sample::select(&["\n", "\n", "\r\n", " "]);
    (proptest::collection::vec((line, end), 0..8), 0..20usize).prop_map(|(lines, cut)| {
        let mut bytes: Vec<u8> = lines
            .into_iter()
            .flat_map(|(line, end)| [&line, end.as_bytes()].concat())
            .collect();
        bytes.truncate(bytes.len() - cut.min(bytes.len()));
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn logs_of_any_lines(bytes in logs()) {
        check_conversion(&bytes, false)?;
    }

    #[test]
    fn damaged_logs(
        lines in proptest::collection::vec(proptest::sample::select(LINES), 1..4),
        flips in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 0..4),
        cut in any::<proptest::sample::Index>(),
    ) {
        let mut bytes = lines.join("\n").into_bytes();
        bytes.truncate(cut.index(bytes.len() + 1));
        for (at, byte) in flips {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
        }
        check_conversion(&bytes, true)?;
    }

    #[test]
    fn random_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        check_conversion(&bytes, true)?;
    }
}

#[test]
fn each_line_alone() {
    for line in LINES {
        check_conversion(format!("{HEADER}\n{line}\n").as_bytes(), false).unwrap();
        check_conversion(format!("{HEADER}\r\n{line}").as_bytes(), false).unwrap();
    }
}

#[test]
fn a_truncated_record_after_a_complete_one_is_not_left_over() {
    let cut = r#"{"type":"say","text":{"is":"no string at all"}"#;
    check_conversion(format!("{HEADER} {cut}").as_bytes(), false).unwrap();
}

#[test]
fn a_record_behind_bytes_that_are_no_text_is_a_record() {
    check_conversion(&[b"]\x80 ", HEADER.as_bytes(), b"\n"].concat(), false).unwrap();
    check_conversion(
        &[
            HEADER.as_bytes(),
            b" {\"type\":\"say\",\"text\":\"\x80\"}\n",
        ]
        .concat(),
        false,
    )
    .unwrap();
    check_conversion(
        &["\u{feff}".as_bytes(), b"]\x80 ", HEADER.as_bytes(), b"\n"].concat(),
        false,
    )
    .unwrap();
}

#[test]
fn a_huge_line_in_small_chunks_is_read_in_linear_time() {
    let log = format!(
        "{HEADER}\n{{\"type\":\"say\",\"text\":\"{}\"}}\n",
        "x".repeat(4 << 20)
    );
    let in_chunks = tape(log.as_bytes(), 61, &Options::default()).unwrap();
    assert_eq!(
        in_chunks,
        tape(log.as_bytes(), usize::MAX, &Options::default()).unwrap()
    );
}
