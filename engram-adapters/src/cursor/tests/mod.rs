//! Recordings and captures outside the repository, and damaged fixtures.

mod apart;
mod features;
mod members;
mod repeats;
mod sdk;
mod stores;

use std::fs;
use std::path::{Path, PathBuf};

use engram_core::audit::audit;
use engram_core::check::check;
use engram_core::error::ErrorCode;
use engram_core::limits::Limits;
use engram_core::pipeline::{Input, Options, Summary};
use engram_core::policy::Policy;
use engram_core::tape::JsonLines;
use proptest::prelude::*;

use crate::registry::Registry;
use crate::sessions::open_store;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = walkdir::WalkDir::new(directory)
        .into_iter()
        .flatten()
        .map(walkdir::DirEntry::into_path)
        .collect();
    found.retain(|path| path.is_file());
    found.sort();
    found
}

fn convert(bytes: &[u8], policy: Policy) -> Result<(String, Summary), ErrorCode> {
    let mut tape = Vec::new();
    let options = Options {
        policy,
        ..Options::default()
    };
    let summary = crate::ingest(
        Input::new(bytes, Limits::default()),
        &options,
        &mut JsonLines::new(&mut tape),
    )
    .map_err(|error| error.code)?;
    Ok((String::from_utf8(tape).unwrap(), summary))
}

/// The trees of recordings that `ENGRAM_RECORDINGS` names. Empty if it is not set.
fn recording_trees() -> Vec<std::path::PathBuf> {
    let trees = std::env::var_os("ENGRAM_RECORDINGS").unwrap_or_else(|| {
        eprintln!("skipped: ENGRAM_RECORDINGS is not set");
        std::ffi::OsString::new()
    });
    std::env::split_paths(&trees)
        .filter(|tree| !tree.as_os_str().is_empty())
        .map(|tree| root().join(tree))
        .collect()
}

/// The recordings of Cursor in the first of them that has some. The SDK wrote them, without a ground truth, so no gate reads them.
#[test]
fn recordings_without_ground_truth_convert_completely() {
    let Some(tree) = recording_trees()
        .into_iter()
        .find(|tree| tree.join("cursor").is_dir())
    else {
        return;
    };
    let texts: Vec<Vec<u8>> = files(&tree.join("cursor"))
        .iter()
        .flat_map(|path| opened(path))
        .collect();
    let converted = texts
        .iter()
        .filter(|text| converts_completely(text, "a recording"))
        .count();
    assert!(converted >= 20, "{converted}");
}

/// Captures of real runs from public repositories, in a directory beside the recordings.
#[test]
fn real_captures_convert_completely() {
    let Some(tree) = recording_trees().into_iter().next() else {
        return;
    };
    let directory = tree.join("../public-logs/cursor");
    let captures = files(&directory);
    if captures.is_empty() {
        eprintln!("skipped: no captures in {}", directory.display());
        return;
    }
    let converted = captures
        .iter()
        .filter(|path| converts_completely(&fs::read(path).unwrap(), &path.display().to_string()))
        .count();
    assert!(converted >= 16, "{converted}");
}

/// Checks that the tape of a session keeps every rule and represents every string. False if it is not a session: a document about the
/// recordings, or a single `system/init` line, which another harness prints too.
fn converts_completely(text: &[u8], name: &str) -> bool {
    let (tape, summary) = match convert(text, Policy::Strict) {
        Err(code) => {
            let is_no_session = code == ErrorCode::UnknownHarness
                && (text.iter().filter(|byte| **byte == b'\n').count() <= 1
                    || !text.starts_with(b"{"));
            assert!(is_no_session, "{name}: {code}");
            return false;
        }
        Ok(done) => done,
    };
    assert_eq!(check(&tape), [], "{name}");
    assert_eq!(
        (summary.ledger.unrecognized, summary.ledger.malformed),
        (0, 0),
        "{name}"
    );
    let report = audit(text, &tape, &crate::cursor::descriptor::DESCRIPTOR).unwrap();
    assert!(
        report.holds(),
        "{name}: {:?} {:?}",
        report.examples,
        report.disagreements
    );
    true
}

/// The text of a file or, if it is a store, of its sessions.
fn opened(path: &Path) -> Vec<Vec<u8>> {
    match open_store(&Registry::builtin(), path, Limits::default()).unwrap() {
        Some((_, opened)) => opened
            .sessions()
            .iter()
            .map(|session| opened.export(session).unwrap().text.into_bytes())
            .collect(),
        None => vec![fs::read(path).unwrap()],
    }
}

/// The text of every fixture: line formats unchanged, stores opened.
fn sources() -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for path in files(&root().join("fixtures/cursor"))
        .into_iter()
        .filter(|path| path.components().any(|part| part.as_os_str() == "session"))
    {
        found.extend(opened(&path));
    }
    assert!(found.len() > 20);
    found
}

/// Values that replace a value of a fixture.
const VALUES: &[&str] = &[
    "null",
    "\"\"",
    "{}",
    "[]",
    "7",
    "-1",
    "true",
    "\"x\"",
    "[[]]",
    "{\"\":0}",
    "\"\\ud800\"",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn damaged_input_gives_a_valid_tape_or_an_error(file in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), value in prop::sample::select(VALUES), cut in any::<bool>()) {
        thread_local! { static SOURCES: Vec<Vec<u8>> = sources(); }
        let text = SOURCES.with(|sources| String::from_utf8(file.get(sources).clone()).unwrap());
        let starts: Vec<usize> = text.match_indices("\":").map(|(at, _)| at + 2).collect();
        let start = *at.get(&starts);
        let old = serde_json::Deserializer::from_str(&text[start..]).into_iter::<serde::de::IgnoredAny>().next();
        let length = old.and_then(Result::ok).map_or(0, |_| {
            let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<serde::de::IgnoredAny>();
            values.next();
            values.byte_offset()
        });
        let damaged = if cut { text[..start].to_owned() } else { format!("{}{value}{}", &text[..start], &text[start + length..]) };
        if let Ok((tape, _)) = convert(damaged.as_bytes(), Policy::Permissive) {
            let around: String = text[..start].chars().rev().take(120).collect::<Vec<_>>().into_iter().rev().collect();
            prop_assert_eq!(check(&tape), [], "{}", around);
        }
        let _ = convert(damaged.as_bytes(), Policy::Strict);
    }
}

/// The tape under permissive policy. It must keep every rule.
fn valid_tape(text: &str) -> String {
    let (tape, _) = convert(text.as_bytes(), Policy::Permissive).unwrap();
    assert_eq!(check(&tape), [], "{tape}");
    tape
}

#[test]
fn calls_of_a_malformed_message_have_no_results() {
    let calls = r#"[{"toolName":"Read","args":{}},{"toolName":null}]"#;
    let tape = valid_tape(&format!(
        r#"{{"mode":"agent","messages":[{{"role":"user","text":"x"}},{{"role":"assistant","toolCalls":{calls}}},
        {{"role":"tool","toolResult":{{"toolName":"Read"}}}}]}}"#
    ));
    assert!(
        tape.contains(r#""k":"tool.result""#) && !tape.contains(r#""k":"tool.call""#),
        "{tape}"
    );
}

#[test]
fn of_calls_of_one_tool_side_by_side_no_result_is_certain() {
    let message = |tools: &[&str]| {
        let calls: Vec<String> = tools
            .iter()
            .map(|tool| format!(r#"{{"toolName":"{tool}","args":{{}}}}"#))
            .collect();
        format!(
            r#"{{"role":"assistant","toolCalls":[{}]}}"#,
            calls.join(",")
        )
    };
    let result = |tool: &str| format!(r#"{{"role":"tool","toolResult":{{"toolName":"{tool}"}}}}"#);
    let messages = [
        message(&["Read", "Shell", "Read"]),
        result("Read"),
        result("Shell"),
        result("Read"),
        message(&["Read"]),
        result("Read"),
    ];
    let tape = valid_tape(&format!(
        r#"{{"mode":"agent","messages":[{}]}}"#,
        messages.join(",")
    ));
    let results = tape
        .lines()
        .filter(|line| line.contains(r#""k":"tool.result""#));
    let has_parent: Vec<bool> = results.map(|line| line.contains(r#""parent":"#)).collect();
    assert_eq!(has_parent, [false, true, false, true], "{tape}");
}

#[test]
fn session_facts_of_a_malformed_payload_are_emitted_with_the_next() {
    let payload = |step: &str, rest: &str| {
        format!(
            r#"{{"hook_event_name":"{step}","conversation_id":"c","generation_id":"g","cursor_version":"2026.10.01-e373342","model":"m"{rest}}}"#
        )
    };
    let tape = valid_tape(&format!(
        "{}\n{}\n",
        payload("preToolUse", ""),
        payload("stop", "")
    ));
    assert_eq!(
        tape.matches(r#""label":"session","model":"m""#).count(),
        1,
        "{tape}"
    );
}

#[test]
fn the_secret_of_a_chat_is_not_exported() {
    let keys = sources()
        .into_iter()
        .filter(|text| String::from_utf8_lossy(text).contains("blobEncryptionKey"))
        .count();
    assert_eq!(keys, 0);
}
