//! Bad input: every case below `fixtures/_hostile/` has the outcome that the policy requires, and none panics.

use std::path::{Path, PathBuf};

use engram_adapters::ingest;
use engram_conformance::tape::parse;
use engram_core::audit::audit;
use engram_core::error::AdapterError;
use engram_core::limits::Limits;
use engram_core::pipeline::{Input, Options};
use engram_core::policy::Policy;
use engram_core::tape::JsonLines;
use serde::Deserialize;
use serde_json::Value;

use crate::report::{self, Tally};
use crate::tape::violations;
use crate::tree::{file_name, files, read_json, registered, root};

/// The expected outcome of a case.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    /// The reason, for the reader.
    why: String,
    strict: Outcome,
    permissive: Outcome,
}

/// An error, or a tape.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Outcome {
    Error(ExpectedError),
    Tape(ExpectedTape),
}

/// The error's code and line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedError {
    code: String,
    line: Option<u64>,
}

/// The damage that the tape reports.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedTape {
    complete: bool,
    unrecognized: u64,
    malformed: u64,
    /// Texts that the tape contains.
    #[serde(default, rename = "holds")]
    contains: Vec<String>,
}

fn convert(bytes: &[u8], policy: Policy, limits: Limits) -> Result<String, AdapterError> {
    let options = Options {
        policy,
        limits,
        ..Options::default()
    };
    let mut tape = Vec::new();
    ingest(
        Input::new(bytes, limits),
        &options,
        &mut JsonLines::new(&mut tape),
    )?;
    Ok(String::from_utf8(tape).expect("a tape is UTF-8"))
}

/// The difference between an outcome and the expected one.
fn difference(actual: &Result<String, AdapterError>, expected: &Outcome) -> Option<String> {
    match (actual, expected) {
        (Err(error), Outcome::Error(expected)) => {
            let is_equal = error.code.as_str() == expected.code
                && (expected.line.is_none() || error.line == expected.line);
            (!is_equal).then(|| {
                format!(
                    "fails with `{error}`, not with {} in line {:?}",
                    expected.code, expected.line
                )
            })
        }
        (Err(error), Outcome::Tape(_)) => Some(format!("fails with `{error}`")),
        (Ok(_), Outcome::Error(expected)) => Some(format!("gives a tape, not {}", expected.code)),
        (Ok(tape), Outcome::Tape(expected)) => tape_difference(tape, expected),
    }
}

fn tape_difference(tape: &str, expected: &ExpectedTape) -> Option<String> {
    let stop = parse(tape.lines().last().unwrap_or_default()).unwrap_or_default();
    let reported = (
        stop["complete"].as_bool(),
        stop["ledger"]["unrecognized"].as_u64(),
        stop["ledger"]["malformed"].as_u64(),
    );
    if reported
        != (
            Some(expected.complete),
            Some(expected.unrecognized),
            Some(expected.malformed),
        )
    {
        return Some(format!(
            "complete, unrecognized, malformed are {reported:?}, not {:?}",
            (expected.complete, expected.unrecognized, expected.malformed)
        ));
    }
    if let Some(missing) = expected
        .contains
        .iter()
        .find(|text| !tape.contains(text.as_str()))
    {
        return Some(format!("does not contain `{missing}`"));
    }
    violations("tape", tape).pop()
}

/// Content that is neither in the tape nor accounted for.
fn unaccounted(bytes: &[u8], tape: &str) -> Option<String> {
    let start = parse(tape.lines().next().unwrap_or_default()).unwrap_or_default();
    let entry = registered()
        .by_id(start["adapter"]["id"].as_str().unwrap_or_default())
        .expect("the tape names its adapter");
    let report = audit(bytes, tape, &entry.descriptor()).expect("a tape can be audited");
    let left_over = report
        .examples
        .first()
        .map(|left| format!("{left:?} is left over"));
    left_over.or_else(|| {
        report
            .disagreements
            .first()
            .map(|what| format!("the audit disagrees: {what}"))
    })
}

fn case_findings(name: &str, bytes: &[u8], expect: &Expect, limits: Limits) -> Vec<String> {
    let outcomes = [
        (Policy::Strict, &expect.strict),
        (Policy::Permissive, &expect.permissive),
    ];
    let found = outcomes.into_iter().filter_map(|(policy, expected)| {
        let actual = convert(bytes, policy, limits);
        let unaccounted = actual
            .as_ref()
            .ok()
            .and_then(|tape| unaccounted(bytes, tape));
        difference(&actual, expected)
            .or(unaccounted)
            .map(|what| format!("{name}, {policy}: {what} ({})", expect.why))
    });
    found.collect()
}

fn case_directories() -> Vec<PathBuf> {
    let mut directories: Vec<PathBuf> = files(&root().join("fixtures/_hostile"))
        .iter()
        .filter_map(|path| path.parent().map(Path::to_owned))
        .collect();
    directories.dedup();
    assert!(directories.len() > 20, "hostile cases are there");
    directories
}

#[test]
fn bad_input_has_the_outcome_that_the_policy_requires() {
    let (mut findings, mut tally) = (Vec::new(), Tally::default());
    for directory in case_directories() {
        let expect: Expect = serde_json::from_value(read_json(&directory.join("expect.json")))
            .unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
        let inputs: Vec<PathBuf> = files(&directory)
            .into_iter()
            .filter(|path| file_name(path) != "expect.json")
            .collect();
        assert!(!inputs.is_empty(), "{} has no input", directory.display());
        tally.count("cases");
        for path in inputs {
            tally.count("inputs");
            let bytes =
                std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            findings.extend(case_findings(
                &format!("{}/{}", file_name(&directory), file_name(&path)),
                &bytes,
                &expect,
                Limits::default(),
            ));
        }
    }
    report::print("hostile", tally);
    report::assert_none("hostile", &findings);
}

/// The inputs of an undamaged case. Each has three records; other cases damage the second one.
fn valid_inputs() -> Vec<(String, String)> {
    let directory = root().join("fixtures/_hostile/no-final-line-end");
    let inputs = files(&directory)
        .into_iter()
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"));
    inputs
        .map(|path| {
            (
                file_name(&path).to_owned(),
                std::fs::read_to_string(&path)
                    .unwrap_or_else(|error| panic!("{}: {error}", path.display())),
            )
        })
        .collect()
}

fn with_second_line(valid: &str, second: &str) -> String {
    let lines: Vec<&str> = valid.lines().collect();
    format!("{}\n{second}\n{}\n", lines[0], lines[2])
}

/// An object with one more member in front.
fn with_field(line: &str, field: &str) -> String {
    format!("{{{field},{}", &line[1..])
}

fn expect(why: &str, strict: Value, permissive: Value) -> Expect {
    serde_json::from_value(
        serde_json::json!({"why": why, "strict": strict, "permissive": permissive}),
    )
    .expect("an expectation")
}

#[test]
fn record_over_the_limit_is_rejected_or_replaced_by_its_hash() {
    let limits = Limits {
        record_bytes: 64 << 10,
        ..Limits::default()
    };
    let expect = expect(
        "a line longer than the limit",
        serde_json::json!({"code": "limit_exceeded", "line": 2}),
        serde_json::json!({"complete": true, "unrecognized": 1, "malformed": 0, "holds": ["\"name\":\"limit_exceeded\",\"bytes\":"]}),
    );
    for (name, valid) in valid_inputs() {
        let second = valid.lines().nth(1).expect("three lines");
        let huge = with_field(
            second,
            &format!("\"padding\":\"{}\"", "x".repeat(100 << 10)),
        );
        report::assert_none(
            "hostile",
            &case_findings(
                &name,
                with_second_line(&valid, &huge).as_bytes(),
                &expect,
                limits,
            ),
        );
    }
}

#[test]
fn deep_nesting_in_an_unknown_member_is_an_error_or_counted() {
    const WHAT: &str = "100,000 levels of nesting in a member that no table names";
    let counted = (
        serde_json::json!({"code": "unknown_member", "line": 2}),
        serde_json::json!({"complete": true, "unrecognized": 0, "malformed": 0}),
    );
    // An adapter may check the nesting of the whole record first.
    let limited = (
        serde_json::json!({"code": "limit_exceeded", "line": 2}),
        serde_json::json!({"complete": true, "unrecognized": 1, "malformed": 0}),
    );
    for (name, valid) in valid_inputs() {
        let (strict, permissive) = if ["claude-code", "codex", "opencode"]
            .iter()
            .any(|of| name.starts_with(of))
        {
            limited.clone()
        } else {
            counted.clone()
        };
        let expect = expect(WHAT, strict, permissive);
        let second = valid.lines().nth(1).expect("three lines");
        let deep = with_field(
            second,
            &format!(
                "\"unknownField\":{}{}",
                "[".repeat(100_000),
                "]".repeat(100_000)
            ),
        );
        report::assert_none(
            "hostile",
            &case_findings(
                &name,
                with_second_line(&valid, &deep).as_bytes(),
                &expect,
                Limits::default(),
            ),
        );
    }
}

#[test]
fn deep_nesting_in_a_read_field_is_an_error_or_text() {
    let calls = files(&root().join("fixtures/_hostile/huge-number"));
    for path in calls
        .iter()
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
    {
        let valid = std::fs::read_to_string(path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let deep = valid.replace(
            "1e999",
            &format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)),
        );
        assert_ne!(deep, valid);
        // Arguments that are JSON exceed a limit. Arguments that are text with JSON in it may remain text.
        match convert(deep.as_bytes(), Policy::Strict, Limits::default()) {
            Err(error) => assert_eq!(
                (error.code.as_str(), error.line),
                ("limit_exceeded", Some(2)),
                "{}: {error}",
                path.display()
            ),
            Ok(tape) => assert_eq!(violations(file_name(path), &tape), Vec::<String>::new()),
        }
        let tape = convert(deep.as_bytes(), Policy::Permissive, Limits::default())
            .expect("permissive keeps the rest");
        let readable = tape.lines().all(|line| parse(line).is_ok());
        assert!(readable, "no line nests deeper than common parsers allow");
        assert_eq!(violations(file_name(path), &tape), Vec::<String>::new());
    }
}

#[test]
fn wrong_outcome_is_a_finding() {
    let (_, valid) = valid_inputs().swap_remove(0);
    let tape = convert(valid.as_bytes(), Policy::Strict, Limits::default());
    let rejected = convert(b"", Policy::Strict, Limits::default());
    let error = |code: &str| {
        serde_json::from_value::<Outcome>(serde_json::json!({"code": code})).expect("an outcome")
    };
    let expected_tape = |malformed: u64, text: &str| {
        serde_json::from_value::<Outcome>(serde_json::json!({"complete": true, "unrecognized": 0, "malformed": malformed, "holds": [text]}))
            .expect("an outcome")
    };
    let converted = tape.as_ref().expect("a valid log");
    assert_eq!(unaccounted(valid.as_bytes(), converted), None);
    assert!(unaccounted(valid.replace("answer", "question").as_bytes(), converted).is_some());
    assert_eq!(difference(&tape, &expected_tape(0, "tape.start")), None);
    assert_eq!(difference(&rejected, &error("unknown_harness")), None);
    for (actual, expected) in [
        (&tape, expected_tape(1, "")),
        (&tape, expected_tape(0, "no such text")),
        (&tape, error("io")),
        (&rejected, error("io")),
        (&rejected, expected_tape(0, "")),
    ] {
        assert!(difference(actual, &expected).is_some(), "{expected:?}");
    }
}
