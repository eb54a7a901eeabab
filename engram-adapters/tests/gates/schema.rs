//! The JSON Schema that `engram schema` prints: an independent validator accepts every event of every tape.

use boon::{Compiler, SchemaIndex, Schemas};
use engram_conformance::tape::parse;
use rayon::prelude::*;
use serde_json::{Value, json};

use crate::report::{self, Tally};
use crate::tape::tape_of;
use crate::tree::{Artifact, Corpus};

/// The schema, compiled by an independent validator.
struct Validator {
    schemas: Schemas,
    schema: SchemaIndex,
}

impl Validator {
    fn new() -> Validator {
        const NAME: &str = "tape.json";
        let document = serde_json::from_str(&engram_core::json_schema::json_schema())
            .expect("the schema is JSON");
        let (mut compiler, mut schemas) = (Compiler::new(), Schemas::new());
        compiler
            .add_resource(NAME, document)
            .expect("the schema has a name of its own");
        let schema = compiler
            .compile(NAME, &mut schemas)
            .expect("the schema is a schema");
        Validator { schemas, schema }
    }

    fn accepts(&self, event: &Value) -> bool {
        self.schemas.validate(event, self.schema).is_ok()
    }
}

/// The number of events of an artifact's tape, and those that are invalid.
fn validate(artifact: &'static Artifact, validator: &Validator) -> (u64, Vec<String>) {
    let tape = match tape_of(artifact) {
        Ok(tape) => &tape.text,
        Err(error) => return (0, vec![error]),
    };
    let invalid = tape
        .lines()
        .enumerate()
        .filter(|(_, line)| !parse(line).is_ok_and(|event| validator.accepts(&event)));
    let findings = invalid
        .map(|(n, _)| {
            format!(
                "{}:{}: is not valid by the schema",
                artifact.full_name(),
                n + 1
            )
        })
        .collect();
    (tape.lines().count() as u64, findings)
}

fn findings(corpus: &'static Corpus) -> (Tally, Vec<String>) {
    let schema = Validator::new();
    let artifacts: Vec<&'static Artifact> = corpus.artifacts().collect();
    let validated: Vec<(u64, Vec<String>)> = artifacts
        .par_iter()
        .map(|artifact| validate(artifact, &schema))
        .collect();
    let mut tally = Tally::default();
    tally.count_many("tapes", validated.len() as u64);
    tally.count_many("events", validated.iter().map(|(events, _)| events).sum());
    (
        tally,
        validated
            .into_iter()
            .flat_map(|(_, findings)| findings)
            .collect(),
    )
}

#[test]
fn every_event_is_valid_by_the_schema() {
    report::run("schema", findings);
}

#[test]
fn schema_rejects_invalid_events() {
    let schema = Validator::new();
    let event = json!({
        "seq": 7, "t": "2026-01-01T00:00:00Z", "k": "msg.in", "source": { "harness": "codex" }, "role": "user", "by": "person", "text": "Hello",
        "origin": { "line": 3, "pointer": "/payload" },
    });
    assert!(schema.accepts(&event), "{event}");
    let broken = [
        ("/seq", json!(-1)),
        ("/t", json!("yesterday")),
        ("/k", json!("msg.sideways")),
        ("/source", json!({})),
        ("/role", json!("nobody")),
        ("/text", json!(7)),
        ("/origin", json!({ "line": 3, "pointer": "payload" })),
    ];
    for (pointer, wrong) in broken {
        let mut other = event.clone();
        *other.pointer_mut(pointer).expect("the event has it") = wrong;
        assert!(!schema.accepts(&other), "{other}");
    }
}

#[test]
fn schema_accepts_what_later_releases_may_add() {
    let schema = Validator::new();
    let meta = |label: &str| {
        json!({
            "seq": 7, "t": "2026-01-01T00:00:00Z", "k": "meta", "source": { "harness": "codex", "host": "h" }, "label": label,
            "more": { "a": 1 }, "origin": { "line": 3, "column": 4 },
        })
    };
    assert!(schema.accepts(&meta("later")) && schema.accepts(&meta("session")));
    let mut usage = meta("usage");
    usage["tokens"] = json!({ "input": 1, "audio": 2 });
    assert!(schema.accepts(&usage), "{usage}");
    // A known label has its own members.
    usage["tokens"] = json!(1);
    assert!(!schema.accepts(&usage) && !schema.accepts(&meta("")));
    let mut unlabelled = meta("later");
    unlabelled
        .as_object_mut()
        .expect("it is an object")
        .remove("label");
    assert!(!schema.accepts(&unlabelled));
}
