//! A log that ends after a prompt, as that of a running session does: its last prompt has the author that it has in the whole log.

use std::collections::BTreeMap;

use engram_core::policy::Policy;
use rayon::prelude::*;
use serde_json::Value;

use crate::tape::{convert_artifact, convert_bytes};
use crate::tree::{Artifact, fixtures};

/// The authors of the messages in the user's place, by line, part and pointer.
fn authors(tape: &str) -> BTreeMap<(u64, u64, String), String> {
    let events = tape.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let messages = events.filter(|event| event["k"] == "msg.in" && event["role"] == "user");
    let author = |event: Value| {
        let origin = &event["origin"];
        let number = |name: &str| origin[name].as_u64().unwrap_or_default();
        let pointer = origin["pointer"].as_str().unwrap_or_default().to_owned();
        Some(((number("line"), number("part"), pointer), event["by"].as_str()?.to_owned())).filter(|((line, ..), _)| *line > 0)
    };
    messages.filter_map(author).collect()
}

/// Where the line with this number, from 1, ends.
fn end_of_line(bytes: &[u8], number: u64) -> usize {
    let mut ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    ends.nth(number as usize - 1).unwrap_or(bytes.len())
}

/// What is wrong when the log ends after each of its prompts.
fn faults(artifact: &Artifact) -> Vec<String> {
    let Ok(tape) = convert_artifact(artifact) else { return Vec::new() };
    let whole = authors(&tape.text);
    let mut faults = Vec::new();
    for (place, by) in &whole {
        let cut = &artifact.bytes[..end_of_line(&artifact.bytes, place.0)];
        let Ok(tape) = convert_bytes(artifact.adapter(), cut, Policy::Permissive, artifact.context.clone()) else { continue };
        let authors = authors(&tape.text);
        let last = authors.get(place).map_or("not on the tape", String::as_str);
        if last != by {
            faults.push(format!("{}:{} {}: {by}, but {last} if it is the last line", artifact.full_name(), place.0, place.2));
        }
    }
    faults
}

#[test]
fn the_last_prompt_of_a_log_has_its_author() {
    let logs: Vec<&Artifact> = fixtures().artifacts().collect();
    let faults: Vec<String> = logs.par_iter().flat_map_iter(|artifact| faults(artifact)).collect();
    assert!(faults.is_empty(), "{} prompts\n{}", faults.len(), faults.join("\n"));
}
