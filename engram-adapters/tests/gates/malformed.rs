//! Malformed records: one leaves nothing behind but its `unrecognized`. The undamaged record after it gives all its events.

use std::collections::{BTreeMap, BTreeSet};

use engram_conformance::tape::parse;
use engram_core::policy::Policy;
use rayon::prelude::*;
use serde_json::{Value, json};

use crate::report::{self, Tally};
use crate::tape::convert_bytes;
use crate::tree::{Artifact, fixtures};

/// The most records of one shape that are damaged, each in another log.
const RECORDS_PER_SHAPE: usize = 1;
/// The most places in which one record is damaged, the last ones first.
const PLACES: usize = 12;
/// Longer logs are not used: shorter ones have nearly all shapes.
const LOG_BYTES: usize = 64 << 10;

/// A log, as its records in order.
enum Log {
    Lines(Vec<String>),
    /// One document with its list of records.
    Document {
        document: Value,
        list: &'static str,
    },
}

impl Log {
    fn of(bytes: &[u8]) -> Option<Log> {
        let text = str::from_utf8(bytes).ok()?;
        if let Ok(document) = serde_json::from_str::<Value>(text) {
            let list = ["messages", "items"]
                .into_iter()
                .find(|list| document[*list].is_array())?;
            return Some(Log::Document { document, list });
        }
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines
            .iter()
            .all(|line| serde_json::from_str::<Value>(line).is_ok_and(|line| line.is_object()))
            .then_some(Log::Lines(lines))
    }

    /// The records, each with its address in the log.
    fn records(&self) -> Vec<(Address, Value)> {
        match self {
            // The first line is not damaged: it identifies the log.
            Log::Lines(lines) => {
                let lines = lines.iter().enumerate().skip(1);
                lines
                    .map(|(n, line)| {
                        (
                            Address {
                                record: n,
                                part: None,
                            },
                            parse(line).unwrap_or_default(),
                        )
                    })
                    .collect()
            }
            Log::Document { document, list } => {
                let messages = document[*list].as_array().into_iter().flatten().enumerate();
                messages
                    .flat_map(|(n, message)| records_of_message(n, message))
                    .collect()
            }
        }
    }

    /// The log with this record in front of the one at the address.
    fn with(&self, inserted: Option<(&Address, Value)>) -> String {
        match self {
            Log::Lines(lines) => {
                let mut lines = lines.clone();
                if let Some((address, record)) = inserted {
                    lines.insert(address.record, record.to_string());
                }
                lines.join("\n") + "\n"
            }
            Log::Document { document, list } => {
                let mut document = document.clone();
                if let Some((address, record)) = inserted {
                    let messages = &mut document[*list];
                    let (at, target) = match address.part {
                        Some(part) => {
                            let name = list_of_parts(&messages[address.record]);
                            (part, &mut messages[address.record][name])
                        }
                        None => (address.record, messages),
                    };
                    target
                        .as_array_mut()
                        .expect("it is a list")
                        .insert(at, record);
                }
                document.to_string()
            }
        }
    }
}

/// The number of a record, or of a part of it that is a record of its own.
struct Address {
    record: usize,
    part: Option<usize>,
}

/// The member of a message whose items are records of their own.
fn list_of_parts(message: &Value) -> &'static str {
    if message["type"] == "assistant" {
        "content"
    } else {
        "parts"
    }
}

fn records_of_message(n: usize, message: &Value) -> Vec<(Address, Value)> {
    let name = list_of_parts(message);
    let Some(parts) = message[name].as_array() else {
        return vec![(
            Address {
                record: n,
                part: None,
            },
            message.clone(),
        )];
    };
    let mut own = message.clone();
    own[name] = json!([]);
    let parts = parts.iter().enumerate().map(|(part, value)| {
        (
            Address {
                record: n,
                part: Some(part),
            },
            value.clone(),
        )
    });
    std::iter::once((
        Address {
            record: n,
            part: None,
        },
        own,
    ))
    .chain(parts)
    .collect()
}

/// What distinguishes a record from records of other types: the names of its members, and the words that name types.
fn shape(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            if into.len() < 200 {
                into.insert(name.clone());
            }
            if let ("type" | "subtype" | "role", Some(word)) = (name.as_str(), member.as_str()) {
                into.insert(format!("{name}={word}"));
            }
            shape(member, into);
        }),
        Value::Array(items) => items.iter().for_each(|item| shape(item, into)),
        _ => {}
    }
}

/// The pointers of all values in a record, the record itself excluded.
fn places(value: &Value, at: &str, into: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| (name.replace('~', "~0").replace('/', "~1"), member))
            .collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(n, item)| (n.to_string(), item))
            .collect(),
        _ => return,
    };
    for (segment, child) in children {
        let at = format!("{at}/{segment}");
        places(child, &at, into);
        into.push(at);
    }
}

/// The record with a value of another type at the place.
fn damaged(record: &Value, place: &str) -> Option<Value> {
    let mut damaged = record.clone();
    let value = damaged.pointer_mut(place)?;
    *value = if value.is_number() || value.is_boolean() {
        json!({"damaged": true})
    } else {
        json!(7)
    };
    (damaged != *record).then_some(damaged)
}

fn convert(artifact: &Artifact, log: &str) -> Option<Vec<Value>> {
    let tape = convert_bytes(
        artifact.adapter(),
        log.as_bytes(),
        Policy::Permissive,
        artifact.context.clone(),
    )
    .ok()?;
    Some(
        tape.text
            .lines()
            .filter_map(|line| parse(line).ok())
            .collect(),
    )
}

fn is_malformed(event: &Value) -> bool {
    event["label"] == "unrecognized" && event["name"] == "malformed"
}

/// The events as they would be without the malformed one. None if not exactly one is malformed, or not the one on this line.
fn without_malformed(mut events: Vec<Value>, inserted_line: Option<usize>) -> Option<Vec<Value>> {
    let at = events.iter().position(is_malformed)?;
    let malformed = events.remove(at);
    if events.iter().any(is_malformed) {
        return None;
    }
    let (seq, line) = (
        malformed["seq"].as_u64(),
        malformed["origin"]["line"].as_u64(),
    );
    if line != inserted_line.map(|line| line as u64) {
        return None;
    }
    let less = |number: &mut Value, than: Option<u64>| {
        if let (Some(n), Some(limit)) = (number.as_u64(), than)
            && n > limit
        {
            *number = json!(n - 1);
        }
    };
    for event in &mut events {
        less(&mut event["seq"], seq);
        if event.get("parent").is_some() {
            less(&mut event["parent"], seq);
        }
        if event.get("to").is_some() {
            // The malformed event itself may be the last one that holds.
            less(&mut event["to"], seq.map(|seq| seq - 1));
        }
        if event["origin"].get("line").is_some() {
            less(&mut event["origin"]["line"], line);
        }
    }
    Some(comparable(events))
}

/// The events without what an additional record changes: the counts of the last one, pointers into the list of a document, and whether
/// records are copies, which the lines around them decide.
fn comparable(mut events: Vec<Value>) -> Vec<Value> {
    events.pop();
    for event in events.iter_mut().filter_map(Value::as_object_mut) {
        event.remove("replay");
        if event
            .get("origin")
            .is_some_and(|origin| origin.get("line").is_none())
        {
            event.remove("origin");
        }
    }
    events
}

/// The first event that is another one after the malformed record. Another `tape.start` means that the damage changed how the log is
/// identified: then nothing can be compared.
fn difference(whole: &[Value], rest: &[Value]) -> Option<usize> {
    let first = (0..whole.len().max(rest.len())).find(|at| whole.get(*at) != rest.get(*at));
    first.filter(|at| *at > 0)
}

/// Damages one record at several places. Counts the places that made it malformed.
fn examine(
    artifact: &Artifact,
    log: &Log,
    address: &Address,
    record: &Value,
    tally: &mut Tally,
) -> Vec<String> {
    let inserted_line = matches!(log, Log::Lines(_)).then_some(address.record + 1);
    let Some(whole) = convert(artifact, &log.with(None)) else {
        return Vec::new();
    };
    if whole.iter().any(is_malformed) {
        return Vec::new();
    }
    let whole = comparable(whole);
    let mut places_of_record = Vec::new();
    places(record, "", &mut places_of_record);
    let mut findings = Vec::new();
    for place in places_of_record.iter().rev().take(PLACES) {
        let Some(damaged) = damaged(record, place) else {
            continue;
        };
        let rest = convert(artifact, &log.with(Some((address, damaged))))
            .and_then(|events| without_malformed(events, inserted_line));
        let Some(rest) = rest else { continue };
        tally.count("malformed records");
        if let Some(at) = difference(&whole, &rest) {
            let shown = |events: &[Value]| {
                events.get(at).map_or("nothing".to_owned(), |event| {
                    engram_core::error::excerpt(&event.to_string())
                })
            };
            let name = artifact.full_name();
            findings.push(format!(
                "{name}, record {} {:?}, damaged at {place}: event {at} is {} and not {}",
                address.record + 1,
                address.part,
                shown(&rest),
                shown(&whole)
            ));
        }
    }
    findings
}

/// The records to damage: of each shape a few, from the shortest logs.
fn samples() -> Vec<(&'static Artifact, Log, Address, Value)> {
    let mut artifacts: Vec<&Artifact> = fixtures()
        .artifacts()
        .filter(|artifact| artifact.bytes.len() <= LOG_BYTES)
        .collect();
    artifacts.sort_by_key(|artifact| artifact.bytes.len());
    let mut seen: BTreeMap<(String, BTreeSet<String>), usize> = BTreeMap::new();
    let mut samples = Vec::new();
    for artifact in artifacts {
        let Some(log) = Log::of(&artifact.bytes) else {
            continue;
        };
        for (address, record) in log.records() {
            let mut words = BTreeSet::new();
            shape(&record, &mut words);
            let count = seen
                .entry((artifact.case.harness.clone(), words))
                .or_default();
            *count += 1;
            if *count <= RECORDS_PER_SHAPE {
                samples
                    .extend(Log::of(&artifact.bytes).map(|log| (artifact, log, address, record)));
            }
        }
    }
    samples
}

#[test]
fn a_malformed_record_leaves_no_state_behind() {
    let examined: Vec<(Tally, Vec<String>)> = samples()
        .par_iter()
        .map(|(artifact, log, address, record)| {
            let mut tally = Tally::default();
            let findings = examine(artifact, log, address, record, &mut tally);
            (tally, findings)
        })
        .collect();
    let mut total = Tally::default();
    total.count_many("records", examined.len() as u64);
    examined.iter().for_each(|(tally, _)| total.add(tally));
    report::print("malformed records", &total);
    let findings: Vec<String> = examined
        .into_iter()
        .flat_map(|(_, findings)| findings)
        .collect();
    report::assert_none("malformed records", &findings);
    assert!(
        total.of("malformed records") > 2000,
        "the damage makes many records malformed"
    );
}

#[test]
fn a_fact_that_a_malformed_record_keeps_back_is_found() {
    let event = |seq: u64, line: u64, more: Value| {
        let mut event = json!({"seq": seq, "origin": {"line": line}});
        event
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        event
    };
    let malformed = event(2, 2, json!({"label": "unrecognized", "name": "malformed"}));
    let (start, stop) = (json!({"seq": 0}), json!({"label": "tape.stop"}));
    let whole = comparable(vec![
        start.clone(),
        event(1, 1, json!({})),
        event(2, 2, json!({"parent": 1})),
        stop.clone(),
    ]);
    let after = |last: Value| {
        vec![
            start.clone(),
            event(1, 1, json!({})),
            malformed.clone(),
            last,
            stop.clone(),
        ]
    };
    let same = without_malformed(after(event(3, 3, json!({"parent": 1}))), Some(2)).unwrap();
    assert_eq!(difference(&whole, &same), None);
    let without_parent = without_malformed(after(event(3, 3, json!({}))), Some(2)).unwrap();
    assert_eq!(difference(&whole, &without_parent), Some(2));
    let missing = without_malformed(
        vec![
            start.clone(),
            event(1, 1, json!({})),
            malformed.clone(),
            stop.clone(),
        ],
        Some(2),
    )
    .unwrap();
    assert_eq!(difference(&whole, &missing), Some(2));
    assert_eq!(
        without_malformed(after(malformed.clone()), Some(2)),
        None,
        "two malformed records"
    );
}
