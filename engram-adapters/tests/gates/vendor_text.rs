//! Texts of vendors in fixtures are shortened: system prompts and descriptions of tools are not ours to publish.

use rayon::prelude::*;
use serde_json::Value;

use crate::tree::{Artifact, fixtures};

/// The members that contain texts of vendors, at any depth below them.
const NAMES: [&str; 6] = [
    "base_instructions",
    "system",
    "systemPrompt",
    "system_prompt",
    "systemInstruction",
    "tools",
];
/// The most bytes of one such text.
const MAX_BYTES: usize = 1000;

/// Adds the texts in `value` that are too long. `name`: the innermost of [`NAMES`] around it.
fn find(value: &Value, name: Option<&str>, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (member, value) in members {
                find(
                    value,
                    NAMES.into_iter().find(|known| known == member).or(name),
                    found,
                );
            }
        }
        Value::Array(items) => items.iter().for_each(|item| find(item, name, found)),
        Value::String(text) if text.len() > MAX_BYTES => {
            found.extend(name.map(|name| {
                format!(
                    "`{name}` has {} bytes: {}",
                    text.len(),
                    text.chars().take(60).collect::<String>()
                )
            }));
        }
        _ => {}
    }
}

fn texts(bytes: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    match serde_json::from_slice(bytes) {
        Ok(document) => find(&document, None, &mut found),
        Err(_) => {
            let lines = bytes
                .split(|byte| *byte == b'\n')
                .filter_map(|line| serde_json::from_slice(line).ok());
            lines.for_each(|line| find(&line, None, &mut found));
        }
    }
    found
}

#[test]
fn texts_of_vendors_are_shortened() {
    let artifacts: Vec<&Artifact> = fixtures().artifacts().collect();
    let of = |artifact: &&Artifact| {
        let found = texts(&artifact.bytes);
        found
            .into_iter()
            .map(|text| format!("{}: {text}", artifact.full_name()))
            .collect::<Vec<_>>()
    };
    let found: Vec<String> = artifacts.par_iter().flat_map_iter(of).collect();
    assert!(
        found.is_empty(),
        "shorten them to 60 characters and ` [vendor text left out of this recording]`:\n{}",
        found.join("\n")
    );
}

#[test]
fn a_long_text_of_a_vendor_is_found() {
    let log = |name: &str| {
        format!(
            "{{\"a\":1}}\n{{\"payload\":{{\"{name}\":[{{\"text\":\"{}\"}}]}}}}\n",
            "x".repeat(MAX_BYTES + 1)
        )
    };
    assert_eq!(
        (
            texts(log("system").as_bytes()).len(),
            texts(log("message").as_bytes()).len()
        ),
        (1, 0)
    );
}
