//! What commands print beside their logs: a text by a person in a capture is a prompt of the recording.
//!
//! The kit compares the captures of some harnesses only: others have no results, or other names and arguments than the truth.

use std::path::PathBuf;

use engram_adapters::ingest;
use engram_conformance::files;
use engram_core::limits::Limits;
use engram_core::pipeline::{Input, Options};
use engram_core::tape::JsonLines;
use rayon::prelude::*;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::report::{self, Tally};
use crate::tree::{Case, is_not_a_session, is_printed, recording_cases};

/// The texts by a person in a capture that nobody sent. `None` if no adapter converts the capture.
fn unsent(text: &str, prompts: &[String]) -> Option<Vec<String>> {
    let mut tape = Vec::new();
    ingest(
        Input::in_memory(text, Limits::default()),
        &Options::default(),
        &mut JsonLines::new(&mut tape),
    )
    .ok()?;
    let events = tape
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let by_person = events.filter(|event| event["k"] == "msg.in" && event["by"] == "person");
    let texts = by_person.filter_map(|event| event["text"].as_str().map(str::to_owned));
    Some(
        texts
            .filter(|text| !prompts.iter().any(|prompt| prompt.trim() == text.trim()))
            .collect(),
    )
}

/// The prompts of a recording. One with half of a surrogate pair is left out: a tape that repeats it is no text for `serde_json` either.
fn prompts(case: &Case) -> Vec<String> {
    #[derive(Deserialize)]
    struct Truth {
        prompts: Vec<Box<RawValue>>,
    }
    let truth = std::fs::read_to_string(case.directory.join("truth.json"))
        .expect("a recording has its truth");
    let truth: Truth =
        serde_json::from_str(&truth).unwrap_or_else(|error| panic!("{}: {error}", case.name()));
    let prompts = truth
        .prompts
        .iter()
        .filter_map(|prompt| serde_json::from_str::<Value>(prompt.get()).ok());
    prompts
        .filter_map(|prompt| {
            prompt
                .as_str()
                .or(prompt["text"].as_str())
                .map(str::to_owned)
        })
        .collect()
}

fn captures(case: &Case) -> Vec<PathBuf> {
    files(&case.directory.join("stdout"))
        .into_iter()
        .filter(|path| !is_not_a_session(path))
        .collect()
}

#[test]
fn a_person_wrote_only_prompts_in_captures() {
    let of_case = |case: &Case| {
        let prompts = prompts(case);
        let (mut tally, mut findings) = (Tally::default(), Vec::new());
        for path in captures(case) {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let Some(texts) = unsent(&text, &prompts) else {
                continue;
            };
            tally.count("captures");
            findings.extend(texts.into_iter().map(|text| {
                format!(
                    "{}: `{text}` is by a person, but nobody sent it",
                    path.display()
                )
            }));
        }
        (tally, findings)
    };
    // The kit compares the captures of the others.
    let cases: Vec<Case> = recording_cases()
        .into_iter()
        .filter(|case| !is_printed(&case.harness, "stdout/"))
        .collect();
    let found: Vec<(Tally, Vec<String>)> = cases.par_iter().map(of_case).collect();
    let mut total = Tally::default();
    found.iter().for_each(|(tally, _)| total.add(tally));
    assert!(
        cases.is_empty() || total.of("captures") > 0,
        "no capture was converted"
    );
    report::print("captures", &total);
    report::assert_none(
        "captures",
        &found
            .into_iter()
            .flat_map(|(_, findings)| findings)
            .collect::<Vec<_>>(),
    );
}

#[test]
fn a_text_that_nobody_sent_is_found() {
    let line = |text: &str| {
        format!(
            "{{\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}},\"session_id\":\"s\",\"uuid\":\"{text}\",\"isReplay\":true}}\n"
        )
    };
    let init = "{\"type\":\"system\",\"subtype\":\"init\",\"cwd\":\"/p\",\"session_id\":\"s\",\"tools\":[],\"mcp_servers\":[],\"model\":\"m\",\"permissionMode\":\"default\",\"apiKeySource\":\"none\",\"uuid\":\"i\"}\n";
    let log = format!("{init}{}{}", line("sent"), line("not sent"));
    assert_eq!(
        unsent(&log, &["sent".to_owned()]),
        Some(vec!["not sent".to_owned()])
    );
}
