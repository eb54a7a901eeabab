//! Policy tests: strict and permissive treatment of each kind of unknown or malformed input, and limits.

use std::io::Write;

use engram_core::check::check;
use engram_core::error::{AdapterError, EXCERPT_CHARS, ErrorCode};
use engram_core::limits::Limits;
use engram_core::pipeline::{Input, Options, convert};
use engram_core::policy::Policy;
use engram_core::tape::{JsonLines, RawEvent, raw_events as events};

use crate::chunks::tape;
use crate::toy::{HEADER, Toy};

const SAY: &str = r#"{"type":"say","text":"hello you"}"#;

fn options(policy: Policy) -> Options {
    Options {
        policy,
        limits: Limits {
            record_bytes: 4096,
            ..Limits::default()
        },
        ..Options::default()
    }
}

fn strict(log: &[u8]) -> Result<String, AdapterError> {
    tape(log, usize::MAX, &options(Policy::Strict))
}

fn permissive(log: &[u8]) -> String {
    let tape = tape(log, usize::MAX, &options(Policy::Permissive)).unwrap();
    assert_eq!(check(&tape), []);
    tape
}

/// The error of a log under strict policy: code, line and pointer.
fn refused(log: &[u8]) -> (ErrorCode, Option<u64>, Option<String>) {
    let error = strict(log).unwrap_err();
    assert_eq!(
        (error.adapter, error.harness),
        (Some("toy"), Some("toy")),
        "{error}"
    );
    (error.code, error.line, error.pointer)
}

/// A log with a header, this line, and one more record.
fn log(line: &[u8]) -> Vec<u8> {
    [HEADER.as_bytes(), b"\n", line, b"\n", SAY.as_bytes(), b"\n"].concat()
}

/// The `unrecognized` events of a tape.
fn unrecognized(tape: &str) -> Vec<RawEvent<'_>> {
    events(tape)
        .map(Result::unwrap)
        .filter(|event| event.label() == Some("unrecognized"))
        .collect()
}

/// A count of the ledger.
fn ledger(tape: &str, key: &str) -> u64 {
    let stop = events(tape).last().unwrap().unwrap();
    stop.fields.object("ledger").unwrap().count(key).unwrap()
}

fn is_complete(tape: &str) -> bool {
    tape.ends_with("\"complete\":true,\"t_basis\":\"inherited\"}\n")
}

/// Checks that permissive policy keeps the line as `meta unrecognized` with this `raw`, and converts the rest.
fn assert_kept(line: &[u8], counted: &str, raw: &str) {
    let tape = permissive(&log(line));
    let kept = unrecognized(&tape);
    assert_eq!(kept.len(), 1, "{tape}");
    assert_eq!(kept[0].fields.get("raw"), Some(raw));
    assert_eq!(kept[0].envelope.origin.line, Some(2));
    assert_eq!(
        (
            ledger(&tape, counted),
            ledger(&tape, "mapped"),
            ledger(&tape, "records")
        ),
        (1, 2, 3),
        "{tape}"
    );
    assert!(is_complete(&tape));
}

/// A log of this version.
fn of_version(version: &str) -> Vec<u8> {
    (HEADER.replace("1.0.0", version) + "\n" + SAY + "\n").into_bytes()
}

#[test]
fn tested_versions_and_those_between_them_keep_the_claims_under_both_policies() {
    for (version, level) in [
        ("1.0.0", "tested"),
        ("1.9.0", "tested"),
        ("1.2.0", "between"),
        ("1.9.0-rc.1", "between"),
    ] {
        let log = of_version(version);
        for tape in [strict(&log).unwrap(), permissive(&log)] {
            assert!(
                tape.contains(&format!(r#""support":"{level}""#))
                    && tape.contains(r#""degraded":[]"#),
                "{tape}"
            );
            assert!(
                tape.contains(r#""schema":"toy/1""#) && tape.contains(r#":"full""#),
                "{tape}"
            );
        }
    }
}

#[test]
fn other_versions_are_refused_or_converted_with_lowered_claims_and_without_a_schema() {
    let unknown = ErrorCode::UnknownHarnessVersion;
    for (version, level, code, reason) in [
        ("2.0.0", "ahead", unknown, "ahead"),
        ("1.9.1-beta", "ahead", unknown, "ahead"),
        ("0.9.0", "unknown", unknown, "unknown_harness_version"),
        ("?", "unknown", unknown, "unknown_harness_version"),
        (
            "1.5.0",
            "known_bad",
            ErrorCode::KnownBadVersion,
            "known_bad_version",
        ),
    ] {
        assert_eq!(refused(&of_version(version)), (code, None, None));
        let tape = permissive(&of_version(version));
        assert!(
            tape.contains(&format!(r#""support":"{level}""#))
                && tape.contains(&format!(r#""degraded":["{reason}"]"#)),
            "{tape}"
        );
        assert!(
            !tape.contains(r#":"full""#) && !tape.contains(r#""schema":"toy/1""#),
            "{tape}"
        );
    }
    assert_eq!(refused(SAY.as_bytes()).0, unknown);
}

#[test]
fn the_error_of_a_version_names_the_nearest_recorded_ones() {
    for (version, older, newer, message) in [
        (
            "2.0.0",
            Some("1.9.0"),
            None,
            "newer than 1.9.0, the newest recorded version; a newer engram may know it; --policy permissive",
        ),
        (
            "0.9.0",
            None,
            Some("1.0.0"),
            "(toy 0.9.0): older than 1.0.0, the oldest recorded version; --policy permissive",
        ),
        (
            "?",
            None,
            None,
            "the log schema of this harness version is not known",
        ),
    ] {
        let error = strict(&of_version(version)).unwrap_err();
        assert_eq!(
            (error.older_recorded, error.newer_recorded),
            (older, newer),
            "{version}"
        );
        assert!(error.to_string().contains(message), "{error}");
        let json = serde_json::to_value(&error).unwrap();
        assert_eq!(
            (
                json["older_recorded"].as_str(),
                json["newer_recorded"].as_str()
            ),
            (older, newer)
        );
    }
}

#[test]
fn strict_policy_refuses_a_change_to_an_unknown_version() {
    assert!(
        strict(&log(br#"{"type":"toy","version":"1.9.0"}"#))
            .unwrap()
            .contains(r#""label":"revision""#)
    );
    let unknown = log(br#"{"type":"toy","version":"3.0.0"}"#);
    assert_eq!(
        refused(&unknown),
        (ErrorCode::UnknownHarnessVersion, None, None)
    );
    assert!(permissive(&unknown).contains(
        r#""label":"revision","harness":{"family":"toy","version":"3.0.0"},"support":"ahead""#
    ));
}

#[test]
fn an_unknown_record_type_is_unrecognized() {
    let line = br#"{"type": "mystery", "n": 1.0}"#;
    assert_eq!(
        refused(&log(line)),
        (ErrorCode::UnrecognizedRecord, Some(2), None)
    );
    assert_kept(line, "unrecognized", r#"{"type":"mystery","n":1.0}"#);
}

#[test]
fn an_unknown_block_type_is_unrecognized() {
    let line = br#"{"type":"blocks","blocks":["known",{"kind":"odd"}]}"#;
    assert_eq!(
        refused(&log(line)),
        (ErrorCode::UnrecognizedRecord, Some(2), None)
    );
    assert_kept(line, "unrecognized", r#"{"kind":"odd"}"#);
    assert!(permissive(&log(line)).contains(r#""text":"known""#));
}

#[test]
fn a_field_of_the_wrong_type_is_malformed() {
    assert_eq!(
        refused(&log(br#"{"type":"say","text":7}"#)),
        (
            ErrorCode::MalformedRecord,
            Some(2),
            Some("/text".to_owned())
        )
    );
    assert_kept(
        br#"{"type":"say","text":7}"#,
        "malformed",
        r#"{"type":"say","text":7}"#,
    );
    assert_kept(
        br#"{"type":"say","version":7}"#,
        "malformed",
        r#"{"type":"say","version":7}"#,
    );
    assert_kept(b"7", "malformed", "7");
}

#[test]
fn a_line_that_is_not_json_is_malformed() {
    for (line, raw) in [
        (&b"no \"json\""[..], r#""no \"json\"""#),
        (b"\0\x01", r#""\u0000\u0001""#),
        (
            br#"{"type":"say","text":"cut"#,
            r#""{\"type\":\"say\",\"text\":\"cut""#,
        ),
        ("\u{2028}".as_bytes(), "\"\u{2028}\""),
    ] {
        assert_eq!(
            refused(&log(line)),
            (ErrorCode::MalformedRecord, Some(2), None)
        );
        assert_kept(line, "malformed", raw);
    }
}

#[test]
fn a_line_that_is_not_utf8_is_malformed() {
    let line = b"{\"type\":\"say\",\"text\":\"caf\xe9\"}";
    assert_eq!(
        refused(&log(line)),
        (ErrorCode::MalformedRecord, Some(2), None)
    );
    assert_kept(
        line,
        "malformed",
        r#""{\"type\":\"say\",\"text\":\"caf�\"}""#,
    );
    assert!(permissive(&log(line)).contains(r#""lossy":true"#));
}

#[test]
fn a_truncated_last_line_makes_the_tape_incomplete() {
    for cut in [
        &b"{\"type\":\"say\",\"text\":\"cut"[..],
        b"{",
        b"{\"type\":\"say\",\"text\":\"caf\xc3",
        b"{\"type\":\"say\",\"text\":\"\\ud8",
    ] {
        let log = [HEADER.as_bytes(), b"\n", SAY.as_bytes(), b"\n", cut].concat();
        assert_eq!(refused(&log), (ErrorCode::TruncatedInput, Some(3), None));
        let tape = permissive(&log);
        assert!(
            !is_complete(&tape) && unrecognized(&tape).is_empty(),
            "{tape}"
        );
        assert_eq!((ledger(&tape, "records"), ledger(&tape, "mapped")), (2, 2));
    }
}

#[test]
fn a_complete_record_before_a_truncated_one_is_converted() {
    for cut in [&b"{\"type\":\"sa"[..], b"\xc3"] {
        let log = [HEADER.as_bytes(), b"\n", SAY.as_bytes(), cut].concat();
        assert_eq!(refused(&log).0, ErrorCode::TruncatedInput);
        let tape = permissive(&log);
        assert!(!is_complete(&tape) && tape.contains("hello you"), "{tape}");
    }
}

#[test]
fn a_last_line_without_a_line_end_is_complete() {
    let tape = strict(format!("{HEADER}\n{SAY}").as_bytes()).unwrap();
    assert!(is_complete(&tape) && tape.contains("hello you"));
}

#[test]
fn a_record_over_the_size_limit_is_kept_as_size_and_hash() {
    let line = format!(r#"{{"type":"say","text":"{}"}}"#, "x".repeat(4096));
    assert_eq!(
        refused(&log(line.as_bytes())),
        (ErrorCode::LimitExceeded, Some(2), None)
    );
    let tape = permissive(&log(line.as_bytes()));
    let kept = unrecognized(&tape);
    assert_eq!(
        (
            kept.len(),
            kept[0].fields.count("bytes"),
            kept[0].fields.get("raw").is_none()
        ),
        (1, Some(line.len() as u64), true)
    );
    let hash = engram_core::hash::Hash::of_bytes(line.as_bytes()).to_string();
    assert_eq!(kept[0].fields.word("hash"), Some(hash.as_str()));
    assert_eq!(
        (ledger(&tape, "unrecognized"), ledger(&tape, "mapped")),
        (1, 2)
    );
}

#[test]
fn nesting_has_a_limit() {
    let call = |depth: usize| {
        format!(
            r#"{{"type":"call","id":"c","args":{}{}}}"#,
            "[".repeat(depth),
            "]".repeat(depth)
        )
    };
    for depth in [96, 100_000] {
        let options = |policy| Options {
            policy,
            ..Options::default()
        };
        let error = tape(
            &log(call(depth).as_bytes()),
            usize::MAX,
            &options(Policy::Strict),
        )
        .unwrap_err();
        assert_eq!(
            (error.code, error.line),
            (ErrorCode::LimitExceeded, Some(2))
        );
        let tape = tape(
            &log(call(depth).as_bytes()),
            usize::MAX,
            &options(Policy::Permissive),
        )
        .unwrap();
        assert_eq!(check(&tape), []);
        assert_eq!(
            unrecognized(&tape)[0].fields.count("bytes"),
            Some(call(depth).len() as u64)
        );
    }
    assert!(strict(&log(call(95).as_bytes())).is_ok());
}

#[test]
fn several_values_on_a_line_are_several_records() {
    let tape = strict(&log(format!("{SAY}{SAY} {SAY}").as_bytes())).unwrap();
    let parts: Vec<u64> = events(&tape)
        .flatten()
        .map(|event| event.envelope.origin)
        .filter(|origin| origin.line == Some(2))
        .map(|origin| origin.part)
        .collect();
    assert_eq!((parts, ledger(&tape, "records")), (vec![0, 1, 2], 5));
}

#[test]
fn a_malformed_value_does_not_affect_others_on_its_line() {
    let line = format!(r#"{{"type":"say","text":7}}{SAY}"#);
    let tape = permissive(&log(line.as_bytes()));
    assert_eq!(
        (ledger(&tape, "malformed"), ledger(&tape, "mapped")),
        (1, 3)
    );
}

#[test]
fn byte_order_mark_and_crlf_do_not_change_the_events() {
    let unix = strict(&log(SAY.as_bytes())).unwrap();
    let windows = strict(
        &[b"\xef\xbb\xbf", &log(SAY.as_bytes())[..]]
            .concat()
            .split(|byte| *byte == b'\n')
            .collect::<Vec<_>>()
            .join(&b"\r\n"[..]),
    )
    .unwrap();
    let events_of = |tape: &str| {
        tape.lines()
            .filter(|line| !line.contains("tape.stop"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(events_of(&unix), events_of(&windows));
}

#[test]
fn unusual_strings_and_numbers_are_preserved() {
    let tape = strict(&log(
        br#"{"type":"say","text":"\ud800 \u0000 \u001F \/","more":1e999}"#,
    ))
    .unwrap();
    assert!(
        tape.contains(r#""text":"\ud800 \u0000 \u001f /""#),
        "{tape}"
    );
    let tape = strict(&log(br#"{"type":"call","id":"c","args":{"a":1e999,"a":-0.0,"b":123456789012345678901234567890}}"#)).unwrap();
    assert!(
        tape.contains(r#""args":{"a":1e999,"a":-0.0,"b":123456789012345678901234567890}"#),
        "{tape}"
    );
}

#[test]
fn an_empty_log_has_an_unknown_version() {
    assert_eq!(refused(b"").0, ErrorCode::UnknownHarnessVersion);
    assert_eq!(ledger(&permissive(b""), "records"), 0);
}

#[test]
fn a_mapped_record_without_events_is_an_adapter_defect() {
    let error = tape(
        &log(br#"{"type":"nothing"}"#),
        usize::MAX,
        &options(Policy::Permissive),
    )
    .unwrap_err();
    assert_eq!(
        (error.code, error.line),
        (ErrorCode::AdapterDefect, Some(2))
    );
}

#[test]
fn a_time_in_the_wrong_format_is_an_adapter_defect() {
    let error = tape(
        &log(br#"{"type":"bad_time","text":"x"}"#),
        usize::MAX,
        &options(Policy::Permissive),
    )
    .unwrap_err();
    assert_eq!(
        (error.code, error.line, error.found.as_deref()),
        (ErrorCode::AdapterDefect, Some(2), Some("tomorrow"))
    );
}

#[test]
fn the_policy_applies_to_documents() {
    let document = format!(r#"{{"document": [{HEADER}, {SAY}, {{"type":"mystery"}}]}}"#);
    assert_eq!(
        refused(document.as_bytes()).0,
        ErrorCode::UnrecognizedRecord
    );
    let tape = permissive(document.as_bytes());
    assert_eq!(
        (ledger(&tape, "unrecognized"), ledger(&tape, "mapped")),
        (1, 2)
    );
    let cut = &document.as_bytes()[..document.len() - 3];
    assert_eq!(refused(cut).0, ErrorCode::TruncatedInput);
    let tape = permissive(cut);
    assert!(
        tape.contains("\"complete\":false") && ledger(&tape, "mapped") == 2,
        "{tape}"
    );
    for policy in [Policy::Strict, Policy::Permissive] {
        let error = crate::chunks::tape(
            &with_header(",1".repeat(4096).as_bytes()),
            7,
            &options(policy),
        )
        .unwrap_err();
        assert_eq!(error.code, ErrorCode::LimitExceeded);
        assert_eq!(
            error.to_string().contains("--policy permissive"),
            policy == Policy::Strict,
            "{error}"
        );
    }
}

fn with_header(rest: &[u8]) -> Vec<u8> {
    [b"{\"document\": [", HEADER.as_bytes(), rest].concat()
}

#[test]
fn a_broken_document_keeps_its_valid_items_and_its_rest() {
    for (rest, raw) in [
        (&b",\xff]}"[..], "\"raw\":\",\u{fffd}]}\",\"lossy\":true"),
        (b"} ", "\"raw\":\"} \""),
    ] {
        let document = with_header(rest);
        assert_eq!(refused(&document).0, ErrorCode::MalformedRecord);
        let tape = permissive(&document);
        assert!(
            tape.contains(raw) && tape.contains("\"complete\":true"),
            "{tape}"
        );
        assert_eq!(
            (ledger(&tape, "malformed"), ledger(&tape, "mapped")),
            (1, 1)
        );
    }
    let cut_in_character = with_header(b",\"\xc3");
    assert_eq!(refused(&cut_in_character).0, ErrorCode::TruncatedInput);
    assert!(permissive(&cut_in_character).contains("\"complete\":false"));
}

/// Records the length of each write.
struct WriteLengths(Vec<usize>);

impl Write for WriteLengths {
    fn write(&mut self, chunk: &[u8]) -> std::io::Result<usize> {
        self.0.push(chunk.len());
        Ok(chunk.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn the_tape_of_a_document_is_written_in_chunks() {
    let says = [SAY; 10_000].join(",");
    let document = format!(r#"{{"document": [{HEADER}, {says}]}}"#);
    let (options, mut writes) = (Options::default(), WriteLengths(Vec::new()));
    let summary = convert(
        &Toy,
        Input::in_memory(&document, options.limits),
        &options,
        &mut JsonLines::new(&mut writes),
    )
    .unwrap();
    assert_eq!(summary.ledger.mapped, 10_001);
    let most = writes.0.iter().max().copied().unwrap_or_default();
    assert!(
        writes.0.len() > 5 && most < 140 << 10,
        "{} writes of at most {most} bytes",
        writes.0.len()
    );
}

#[test]
fn errors_contain_only_short_excerpts() {
    let secret = format!(
        "{{\"type\":\"say\",\"text\":[\"{}\"]}}",
        "s3cret ".repeat(500)
    );
    let error = strict(&log(secret.as_bytes())).unwrap_err();
    assert!(
        error
            .found
            .as_deref()
            .is_some_and(|found| found.chars().count() <= 2 * EXCERPT_CHARS)
    );
    assert!(error.to_string().len() < 600);
    let json = serde_json::to_string(&error).unwrap();
    assert!(json.starts_with(r#"{"code":"malformed_record","adapter":"toy","harness":"toy","version":"1.0.0","line":2,"pointer":"/text","expected":"a string","found":"["#), "{json}");
}

#[test]
fn a_long_name_may_not_be_repeated_without_end() {
    let header = HEADER.replace("s-1", &"s".repeat(1 << 20));
    let log = format!("{header}\n{}", format!("{SAY}\n").repeat(80));
    for policy in [Policy::Strict, Policy::Permissive] {
        let error = tape(
            log.as_bytes(),
            usize::MAX,
            &Options {
                policy,
                ..Options::default()
            },
        )
        .unwrap_err();
        assert_eq!(error.code, ErrorCode::LimitExceeded, "{error}");
    }
}

#[test]
fn a_long_line_that_is_not_utf_8_keeps_its_hash() {
    let line = [&b"\xff"[..], &vec![b'x'; 17 << 20]].concat();
    let log = [HEADER.as_bytes(), b"\n", &line, b"\n"].concat();
    let tape = tape(
        &log,
        usize::MAX,
        &Options {
            policy: Policy::Permissive,
            ..Options::default()
        },
    )
    .unwrap();
    assert_eq!(check(&tape), []);
    let [event] = &unrecognized(&tape)[..] else {
        panic!("one event")
    };
    assert!(
        event
            .fields
            .count("bytes")
            .is_some_and(|bytes| bytes == line.len() as u64)
            && event.fields.text("raw").is_none()
    );
}
