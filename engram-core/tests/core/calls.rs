//! To which call the emitter links a result, and that a denied call has a permission.

use engram_core::check::check;
use engram_core::event::{Event, Kind, Meta, Seq};
use engram_core::pipeline::Options;
use engram_core::tape::events;

use crate::chunks::tape;
use crate::toy::HEADER;

/// The numbers of the calls on a tape, and the parents of its results.
fn links(records: &[&str]) -> (Vec<Seq>, Vec<Option<Seq>>) {
    let log = format!("{HEADER}\n{}\n", records.join("\n"));
    let tape = tape(log.as_bytes(), usize::MAX, &Options::default()).unwrap();
    let events: Vec<_> = events(&tape).map(Result::unwrap).collect();
    let of_kind = |kind: Kind| {
        events
            .iter()
            .filter(move |event| event.event.kind() == kind)
    };
    (
        of_kind(Kind::ToolCall).map(|event| event.seq).collect(),
        of_kind(Kind::ToolResult)
            .map(|event| event.parent)
            .collect(),
    )
}

const CALL: &str = r#"{"type":"call","id":"c-1","args":{}}"#;
const OTHER_CALL: &str = r#"{"type":"call","id":"c-2","args":{}}"#;
const RESULT: &str = r#"{"type":"result","id":"c-1","text":"done"}"#;

#[test]
fn result_belongs_to_the_call_with_its_id() {
    let (calls, parents) = links(&[OTHER_CALL, CALL, RESULT]);
    assert_eq!(parents, [Some(calls[1])]);
    assert_eq!(links(&[OTHER_CALL, RESULT]).1, [None]);
}

#[test]
fn a_result_belongs_to_the_latest_open_call_of_a_repeated_id() {
    let (calls, parents) = links(&[CALL, CALL, RESULT, RESULT, RESULT]);
    assert_eq!(parents, [Some(calls[1]), Some(calls[0]), Some(calls[0])]);
    let (calls, parents) = links(&[CALL, RESULT, CALL, RESULT]);
    assert_eq!(parents, [Some(calls[0]), Some(calls[1])]);
}

/// The texts of the denied permissions on a tape.
fn denials(records: &[&str]) -> Vec<String> {
    let log = format!("{HEADER}\n{}\n", records.join("\n"));
    let tape = tape(log.as_bytes(), usize::MAX, &Options::default()).unwrap();
    assert_eq!(check(&tape), []);
    events(&tape)
        .map(Result::unwrap)
        .filter_map(|event| match event.event {
            Event::Meta(Meta::Permission(permission)) => permission.text,
            _ => None,
        })
        .map(|text| text.decode_lossy().into_owned())
        .collect()
}

#[test]
fn a_denied_call_has_one_permission_before_its_result() {
    const DENIED: &str = r#"{"type":"denied","id":"c-1","text":"not allowed"}"#;
    const DENY: &str = r#"{"type":"deny","id":"c-1","text":"by a rule"}"#;
    assert_eq!(denials(&[CALL, DENIED]), ["not allowed"]);
    assert_eq!(denials(&[CALL, DENY, DENIED]), ["by a rule"]);
    assert_eq!(denials(&[CALL, RESULT]), [""; 0]);
    // Another call with the same id is denied by itself.
    let again = [CALL, DENY, DENIED, CALL, DENIED];
    assert_eq!(denials(&again), ["by a rule", "not allowed"]);
    // A call that ran after all is over.
    let ran = [CALL, DENY, RESULT, CALL, DENIED];
    assert_eq!(denials(&ran), ["by a rule", "not allowed"]);
}
