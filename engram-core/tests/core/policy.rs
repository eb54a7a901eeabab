//! The policy table of the spec (section 8), row by row, and the bounds on what an input may ask for.

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
    Options { policy, limits: Limits { record_bytes: 4096, ..Limits::default() }, ..Options::default() }
}

fn strict(log: &[u8]) -> Result<String, AdapterError> {
    tape(log, usize::MAX, &options(Policy::Strict))
}

fn permissive(log: &[u8]) -> String {
    let tape = tape(log, usize::MAX, &options(Policy::Permissive)).unwrap();
    assert_eq!(check(&tape), []);
    tape
}

/// What strict policy says of a log: the error's code, its line and its pointer.
fn refused(log: &[u8]) -> (ErrorCode, Option<u64>, Option<String>) {
    let error = strict(log).unwrap_err();
    assert_eq!((error.adapter, error.harness), (Some("toy"), Some("toy")), "{error}");
    (error.code, error.line, error.pointer)
}

/// A log of a header, this line, and a last record.
fn log(line: &[u8]) -> Vec<u8> {
    [HEADER.as_bytes(), b"\n", line, b"\n", SAY.as_bytes(), b"\n"].concat()
}

/// The `unrecognized` events of a tape.
fn unrecognized(tape: &str) -> Vec<RawEvent<'_>> {
    events(tape).map(Result::unwrap).filter(|event| event.label() == Some("unrecognized")).collect()
}

/// One number of the ledger.
fn ledger(tape: &str, key: &str) -> u64 {
    let stop = events(tape).last().unwrap().unwrap();
    stop.fields.object("ledger").unwrap().count(key).unwrap()
}

fn is_complete(tape: &str) -> bool {
    tape.ends_with("\"complete\":true,\"t_basis\":\"inherited\"}\n")
}

/// Permissive policy keeps the record as `meta unrecognized` with this `raw`, and goes on.
fn kept(line: &[u8], counted: &str, raw: &str) {
    let tape = permissive(&log(line));
    let kept = unrecognized(&tape);
    assert_eq!(kept.len(), 1, "{tape}");
    assert_eq!(kept[0].fields.get("raw").map(|raw| raw.get()), Some(raw));
    assert_eq!(kept[0].origin.line, Some(2));
    assert_eq!((ledger(&tape, counted), ledger(&tape, "mapped"), ledger(&tape, "records")), (1, 2, 3), "{tape}");
    assert!(is_complete(&tape));
}

#[test]
fn versions() {
    let with = |version: &str| HEADER.replace("1.0.0", version) + "\n" + SAY + "\n";
    assert!(strict(with("1.9.0").as_bytes()).unwrap().contains(r#""support":"tested""#));
    assert!(strict(with("1.2.0").as_bytes()).unwrap().contains(r#""support":"untested""#));
    for (version, code) in
        [("2.0.0", ErrorCode::UnknownHarnessVersion), ("1.5.0", ErrorCode::KnownBadVersion), ("?", ErrorCode::UnknownHarnessVersion)]
    {
        assert_eq!(refused(with(version).as_bytes()), (code, None, None));
        let tape = permissive(with(version).as_bytes());
        assert!(!tape.contains(r#":"full""#) && tape.contains(&format!(r#""degraded":["{code}"]"#)), "{tape}");
    }
    assert_eq!(refused(SAY.as_bytes()).0, ErrorCode::UnknownHarnessVersion);
}

#[test]
fn a_version_that_changes_in_the_middle() {
    assert!(strict(&log(br#"{"type":"toy","version":"1.9.0"}"#)).unwrap().contains(r#""label":"revision""#));
    let unknown = log(br#"{"type":"toy","version":"3.0.0"}"#);
    assert_eq!(refused(&unknown), (ErrorCode::UnknownHarnessVersion, None, None));
    assert!(permissive(&unknown).contains(r#""degraded":["unknown_harness_version"]"#));
}

#[test]
fn a_record_of_unknown_type() {
    let line = br#"{"type": "mystery", "n": 1.0}"#;
    assert_eq!(refused(&log(line)), (ErrorCode::UnrecognizedRecord, Some(2), None));
    kept(line, "unrecognized", r#"{"type":"mystery","n":1.0}"#);
}

#[test]
fn a_block_of_unknown_type() {
    let line = br#"{"type":"blocks","blocks":["known",{"kind":"odd"}]}"#;
    assert_eq!(refused(&log(line)), (ErrorCode::UnrecognizedRecord, Some(2), None));
    kept(line, "unrecognized", r#"{"kind":"odd"}"#);
    assert!(permissive(&log(line)).contains(r#""text":"known""#));
}

#[test]
fn a_field_of_the_wrong_shape() {
    assert_eq!(refused(&log(br#"{"type":"say","text":7}"#)), (ErrorCode::MalformedRecord, Some(2), Some("/text".to_owned())));
    kept(br#"{"type":"say","text":7}"#, "malformed", r#"{"type":"say","text":7}"#);
    kept(br#"{"type":"say","version":7}"#, "malformed", r#"{"type":"say","version":7}"#);
    kept(br#"{"type":"say","type":"say"}"#, "malformed", r#"{"type":"say","type":"say"}"#);
    kept(b"7", "malformed", "7");
}

#[test]
fn a_line_that_is_no_json() {
    for (line, raw) in [
        (&b"no \"json\""[..], r#""no \"json\"""#),
        (b"\0\x01", r#""\u0000\u0001""#),
        (br#"{"type":"say","text":"cut"#, r#""{\"type\":\"say\",\"text\":\"cut""#),
        ("\u{2028}".as_bytes(), "\"\u{2028}\""),
    ] {
        assert_eq!(refused(&log(line)), (ErrorCode::MalformedRecord, Some(2), None));
        kept(line, "malformed", raw);
    }
}

#[test]
fn a_line_that_is_no_utf8() {
    let line = b"{\"type\":\"say\",\"text\":\"caf\xe9\"}";
    assert_eq!(refused(&log(line)), (ErrorCode::MalformedRecord, Some(2), None));
    kept(line, "malformed", r#""{\"type\":\"say\",\"text\":\"caf�\"}""#);
    assert!(permissive(&log(line)).contains(r#""lossy":true"#));
}

#[test]
fn a_last_line_that_is_cut() {
    for cut in
        [&b"{\"type\":\"say\",\"text\":\"cut"[..], b"{", b"{\"type\":\"say\",\"text\":\"caf\xc3", b"{\"type\":\"say\",\"text\":\"\\ud8"]
    {
        let log = [HEADER.as_bytes(), b"\n", SAY.as_bytes(), b"\n", cut].concat();
        assert_eq!(refused(&log), (ErrorCode::TruncatedInput, Some(3), None));
        let tape = permissive(&log);
        assert!(!is_complete(&tape) && unrecognized(&tape).is_empty(), "{tape}");
        assert_eq!((ledger(&tape, "records"), ledger(&tape, "mapped")), (2, 2));
    }
}

#[test]
fn a_whole_record_before_a_cut_one_is_kept() {
    for cut in [&b"{\"type\":\"sa"[..], b"\xc3"] {
        let log = [HEADER.as_bytes(), b"\n", SAY.as_bytes(), cut].concat();
        assert_eq!(refused(&log).0, ErrorCode::TruncatedInput);
        let tape = permissive(&log);
        assert!(!is_complete(&tape) && tape.contains("hello you"), "{tape}");
    }
}

#[test]
fn a_last_line_without_a_line_end_is_whole() {
    let tape = strict(format!("{HEADER}\n{SAY}").as_bytes()).unwrap();
    assert!(is_complete(&tape) && tape.contains("hello you"));
}

#[test]
fn a_record_over_the_size_limit() {
    let line = format!(r#"{{"type":"say","text":"{}"}}"#, "x".repeat(4096));
    assert_eq!(refused(&log(line.as_bytes())), (ErrorCode::LimitExceeded, Some(2), None));
    let tape = permissive(&log(line.as_bytes()));
    let kept = unrecognized(&tape);
    assert_eq!((kept.len(), kept[0].fields.count("bytes"), kept[0].fields.get("raw").is_none()), (1, Some(line.len() as u64), true));
    let hash = engram_core::hash::Hash::of_bytes(line.as_bytes()).to_string();
    assert_eq!(kept[0].fields.word("hash"), Some(hash.as_str()));
    assert_eq!((ledger(&tape, "unrecognized"), ledger(&tape, "mapped")), (1, 2));
}

#[test]
fn nesting_that_is_skipped_is_no_matter() {
    let options = Options::default();
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let skipped = format!(r#"{{"type":"say","text":"hello you","skipped":{deep}}}"#);
    let tape = tape(&log(skipped.as_bytes()), usize::MAX, &options).unwrap();
    assert!(unrecognized(&tape).is_empty());
}

#[test]
fn nesting_that_is_copied_has_a_limit() {
    let call = |depth: usize| format!(r#"{{"type":"call","id":"c","args":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
    for depth in [97, 100_000] {
        let options = |policy| Options { policy, ..Options::default() };
        let error = tape(&log(call(depth).as_bytes()), usize::MAX, &options(Policy::Strict)).unwrap_err();
        assert_eq!((error.code, error.line), (ErrorCode::LimitExceeded, Some(2)));
        let tape = tape(&log(call(depth).as_bytes()), usize::MAX, &options(Policy::Permissive)).unwrap();
        assert_eq!(check(&tape), []);
        assert_eq!(unrecognized(&tape)[0].fields.count("bytes"), Some(call(depth).len() as u64));
    }
    assert!(strict(&log(call(96).as_bytes())).is_ok());
}

#[test]
fn several_values_on_a_line_are_several_records() {
    let tape = strict(&log(format!("{SAY}{SAY} {SAY}").as_bytes())).unwrap();
    let parts: Vec<u64> =
        events(&tape).flatten().map(|event| event.origin).filter(|origin| origin.line == Some(2)).map(|origin| origin.part).collect();
    assert_eq!((parts, ledger(&tape, "records")), (vec![0, 1, 2], 5));
}

#[test]
fn one_bad_value_on_a_line_leaves_the_others() {
    let line = format!(r#"{{"type":"say","text":7}}{SAY}"#);
    let tape = permissive(&log(line.as_bytes()));
    assert_eq!((ledger(&tape, "malformed"), ledger(&tape, "mapped")), (1, 3));
}

#[test]
fn marks_and_line_ends_of_other_systems_do_not_matter() {
    let unix = strict(&log(SAY.as_bytes())).unwrap();
    let windows =
        strict(&[b"\xef\xbb\xbf", &log(SAY.as_bytes())[..]].concat().split(|byte| *byte == b'\n').collect::<Vec<_>>().join(&b"\r\n"[..]))
            .unwrap();
    let events_of = |tape: &str| tape.lines().filter(|line| !line.contains("tape.stop")).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(events_of(&unix), events_of(&windows));
}

#[test]
fn text_of_other_programs_survives() {
    let tape = strict(&log(br#"{"type":"say","text":"\ud800 \u0000 \u001F \/","more":1e999}"#)).unwrap();
    assert!(tape.contains(r#""text":"\ud800 \u0000 \u001f /""#), "{tape}");
    let tape = strict(&log(br#"{"type":"call","id":"c","args":{"a":1e999,"a":-0.0,"b":123456789012345678901234567890}}"#)).unwrap();
    assert!(tape.contains(r#""args":{"a":1e999,"a":-0.0,"b":123456789012345678901234567890}"#), "{tape}");
}

#[test]
fn an_empty_log_is_an_unknown_version() {
    assert_eq!(refused(b"").0, ErrorCode::UnknownHarnessVersion);
    assert_eq!(ledger(&permissive(b""), "records"), 0);
}

#[test]
fn an_adapter_that_maps_to_nothing_breaks_its_contract() {
    let error = tape(&log(br#"{"type":"nothing"}"#), usize::MAX, &options(Policy::Permissive)).unwrap_err();
    assert_eq!((error.code, error.line), (ErrorCode::AdapterDefect, Some(2)));
}

#[test]
fn a_record_that_is_malformed_half_way_leaves_only_its_unrecognized() {
    let half = br#"{"type":"half"}"#;
    assert_eq!(refused(&log(half)), (ErrorCode::MalformedRecord, Some(2), Some("/blocks/1".to_owned())));
    kept(half, "malformed", r#"{"type":"half"}"#);
    let result = br#"{"type":"result","id":"half","text":"x"}"#;
    let tape = permissive(&log(&[&half[..], b"\n", result].concat()));
    assert!(!tape.contains(r#""k":"tool.call""#) && !tape.contains("\"parent\""), "a call that was taken back is no parent: {tape}");
    let document = format!(r#"{{"document": [{HEADER}, {{"type":"half"}}, {SAY}]}}"#);
    let tape = permissive(document.as_bytes());
    assert!(!tape.contains(r#""k":"tool.call""#) && tape.contains("hello you"), "{tape}");
}

#[test]
fn an_adapter_that_gives_a_wrong_time_breaks_its_contract() {
    let error = tape(&log(br#"{"type":"bad_time","text":"x"}"#), usize::MAX, &options(Policy::Permissive)).unwrap_err();
    assert_eq!((error.code, error.line, error.found.as_deref()), (ErrorCode::AdapterDefect, Some(2), Some("tomorrow")));
}

#[test]
fn documents() {
    let document = format!(r#"{{"document": [{HEADER}, {SAY}, {{"type":"mystery"}}]}}"#);
    assert_eq!(refused(document.as_bytes()).0, ErrorCode::UnrecognizedRecord);
    let tape = permissive(document.as_bytes());
    assert_eq!((ledger(&tape, "unrecognized"), ledger(&tape, "mapped")), (1, 2));
    let cut = &document.as_bytes()[..document.len() - 3];
    assert_eq!(refused(cut).0, ErrorCode::TruncatedInput);
    let tape = permissive(cut);
    assert!(tape.contains("\"complete\":false") && ledger(&tape, "mapped") == 2, "{tape}");
    for policy in [Policy::Strict, Policy::Permissive] {
        let error = crate::chunks::tape(&with_header(",1".repeat(4096).as_bytes()), 7, &options(policy)).unwrap_err();
        assert_eq!(error.code, ErrorCode::LimitExceeded);
        assert_eq!(error.to_string().contains("--policy permissive"), policy == Policy::Strict, "{error}");
    }
}

fn with_header(rest: &[u8]) -> Vec<u8> {
    [b"{\"document\": [", HEADER.as_bytes(), rest].concat()
}

#[test]
fn a_document_that_breaks_keeps_what_is_before_and_what_is_behind() {
    for (rest, raw) in [(&b",\xff]}"[..], "\"raw\":\",\u{fffd}]}\",\"lossy\":true"), (b"} ", "\"raw\":\"} \"")] {
        let document = with_header(rest);
        assert_eq!(refused(&document).0, ErrorCode::MalformedRecord);
        let tape = permissive(&document);
        assert!(tape.contains(raw) && tape.contains("\"complete\":true"), "{tape}");
        assert_eq!((ledger(&tape, "malformed"), ledger(&tape, "mapped")), (1, 1));
    }
    let cut_in_character = with_header(b",\"\xc3");
    assert_eq!(refused(&cut_in_character).0, ErrorCode::TruncatedInput);
    assert!(permissive(&cut_in_character).contains("\"complete\":false"));
}

/// Keeps the lengths of the pieces that it is given.
struct Pieces(Vec<usize>);

impl Write for Pieces {
    fn write(&mut self, piece: &[u8]) -> std::io::Result<usize> {
        self.0.push(piece.len());
        Ok(piece.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn the_tape_of_a_document_is_handed_on_while_it_is_written() {
    let says = [SAY; 10_000].join(",");
    let document = format!(r#"{{"document": [{HEADER}, {says}]}}"#);
    let (options, mut pieces) = (Options::default(), Pieces(Vec::new()));
    let summary = convert(&Toy, Input::in_memory(&document, options.limits), &options, &mut JsonLines::new(&mut pieces)).unwrap();
    assert_eq!(summary.ledger.mapped, 10_001);
    let most = pieces.0.iter().max().copied().unwrap_or_default();
    assert!(pieces.0.len() > 5 && most < 140 << 10, "{} pieces of {most} bytes at most", pieces.0.len());
}

#[test]
fn errors_quote_little() {
    let secret = format!("{{\"type\":\"say\",\"text\":[\"{}\"]}}", "s3cret ".repeat(500));
    let error = strict(&log(secret.as_bytes())).unwrap_err();
    assert!(error.found.as_deref().is_some_and(|found| found.chars().count() <= 2 * EXCERPT_CHARS));
    assert!(error.to_string().len() < 600);
    let json = serde_json::to_string(&error).unwrap();
    assert!(json.starts_with(r#"{"code":"malformed_record","adapter":"toy","harness":"toy","version":"1.0.0","line":2,"pointer":"/text","expected":"a string","found":"["#), "{json}");
}
