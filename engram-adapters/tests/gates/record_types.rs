//! Types of records: adapter and audit name a record in the same way, whatever its members are.

use engram_core::adapter::SideInfo;
use engram_core::audit::audit;
use engram_core::policy::Policy;
use proptest::prelude::*;
use rayon::prelude::*;
use serde_json::{Value, json};

use crate::mutation::{excerpt, values};
use crate::report::{self, Tally};
use crate::tape::convert_bytes;
use crate::tree::{Artifact, fixtures};

/// The number of changed excerpts.
const CASES: usize = 12_000;
/// Members that are deeper than this decide about no type.
const DEPTH: usize = 3;

/// The pointers to all members of a record down to [`DEPTH`].
fn members(value: &Value, at: &str, depth: usize, found: &mut Vec<String>) {
    let Some(object) = value.as_object().filter(|_| depth < DEPTH) else {
        return;
    };
    for (name, member) in object {
        let pointer = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
        members(member, &pointer, depth + 1, found);
        found.push(pointer);
    }
}

/// The line with one member removed (`None`), or with another value.
fn changed(line: &[u8], member: usize, with: Option<&Value>) -> Option<Vec<u8>> {
    let (mut record, mut found): (Value, _) = (serde_json::from_slice(line).ok()?, Vec::new());
    members(&record, "", 0, &mut found);
    let pointer = found.get(member % found.len().max(1))?;
    match with {
        Some(value) => *record.pointer_mut(pointer)? = value.clone(),
        None => {
            let (object, name) = pointer.rsplit_once('/')?;
            record
                .pointer_mut(object)?
                .as_object_mut()?
                .remove(&name.replace("~1", "/").replace("~0", "~"));
        }
    }
    serde_json::to_vec(&record).ok()
}

/// What adapter and audit say differently about the records of a text, and whether there is a tape.
fn disagreements(artifact: &Artifact, bytes: &[u8]) -> (bool, Vec<String>) {
    let Ok(tape) = convert_bytes(
        artifact.adapter(),
        bytes,
        Policy::Permissive,
        SideInfo::default(),
    ) else {
        return (false, Vec::new());
    };
    let report =
        audit(bytes, &tape.text, artifact.adapter().describe()).expect("a tape can be audited");
    let named = |what: String| {
        format!(
            "{}: {what}\n{}",
            artifact.full_name(),
            String::from_utf8_lossy(bytes)
        )
    };
    (true, report.disagreements.into_iter().map(named).collect())
}

#[test]
fn adapter_and_audit_name_a_changed_record_in_the_same_way() {
    let artifacts: Vec<&Artifact> = fixtures()
        .artifacts()
        .filter(|artifact| !artifact.name.ends_with(".json"))
        .collect();
    let with = [
        None,
        Some(json!(null)),
        Some(json!(7)),
        Some(json!("x")),
        Some(json!([])),
        Some(json!({})),
        Some(json!([{}])),
    ];
    let mut inputs: Vec<(&Artifact, Vec<u8>)> = Vec::new();
    for (artifact, from, line, member, value) in values(
        &(
            any::<usize>(),
            any::<usize>(),
            any::<usize>(),
            any::<usize>(),
            0..with.len(),
        ),
        CASES,
    ) {
        let artifact = artifacts[artifact % artifacts.len()];
        let mut lines = excerpt(artifact, from);
        let line = line % lines.len().max(1);
        if let Some(text) = lines
            .get(line)
            .and_then(|text| changed(text, member, with[value].as_ref()))
        {
            lines[line] = text;
            inputs.push((artifact, lines.join(&b'\n')));
        }
    }
    let made: Vec<(bool, Vec<String>)> = inputs
        .par_iter()
        .map(|(artifact, bytes)| disagreements(artifact, bytes))
        .collect();
    let mut tally = Tally::default();
    tally.count_many("records with a changed member", inputs.len() as u64);
    let tapes = made.iter().filter(|(is_tape, _)| *is_tape).count() as u64;
    tally.count_many("tapes from them", tapes);
    report::print("record types", &tally);
    assert!(
        tapes > inputs.len() as u64 / 2 && inputs.len() > CASES / 2,
        "most changes give a tape: {tapes} of {}",
        inputs.len()
    );
    report::assert_none(
        "record types",
        &made
            .into_iter()
            .flat_map(|(_, found)| found)
            .collect::<Vec<_>>(),
    );
}

#[test]
fn a_member_can_be_removed_or_changed() {
    let line = br#"{"a":{"b":"x"},"c":1}"#;
    let text = |member, with: Option<&Value>| {
        changed(line, member, with).map(|bytes| String::from_utf8(bytes).unwrap())
    };
    assert_eq!(text(0, None).as_deref(), Some(r#"{"a":{},"c":1}"#));
    assert_eq!(
        text(1, Some(&json!(null))).as_deref(),
        Some(r#"{"a":null,"c":1}"#)
    );
    assert_eq!(changed(b"no JSON", 0, None), None);
}
