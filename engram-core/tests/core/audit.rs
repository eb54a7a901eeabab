//! Audit tests: text that is lost without a rule is left over.

use engram_core::audit::{AuditReport, audit};
use engram_core::coverage::{Coverage, Grade};
use engram_core::descriptor::{AdapterDescriptor, Omission, OmissionRule, UnknownVersionPolicy};
use engram_core::members::MemberSource;
use engram_core::version::VersionMatrix;

const NOTHING: Coverage = Coverage {
    meta: Grade::None,
    msg_in: Grade::None,
    msg_out: Grade::None,
    tool_call: Grade::None,
    tool_result: Grade::None,
    code_read: Grade::None,
    code_edit: Grade::None,
    span_link: Grade::None,
};

const RULES: &[OmissionRule] = &[
    rule("ui_state", Omission::Bookkeeping, "state/*", None),
    rule("echo", Omission::Duplicate, "echo", None),
    rule("rendered", Omission::Field, "msg", Some("/rendered/*/text")),
    rule("signature", Omission::Opaque, "*", Some("/sig/**")),
];

/// [`RULES`] without one of its rules.
const WITHOUT: [&[OmissionRule]; 4] = [
    &[RULES[1], RULES[2], RULES[3]],
    &[RULES[0], RULES[2], RULES[3]],
    &[RULES[0], RULES[1], RULES[3]],
    &[RULES[0], RULES[1], RULES[2]],
];

const fn rule(
    rule: &'static str,
    omission: Omission,
    record: &'static str,
    pointer: Option<&'static str>,
) -> OmissionRule {
    OmissionRule {
        rule,
        omission,
        record,
        pointer,
        reason: "a test",
    }
}

const fn descriptor(omission_rules: &'static [OmissionRule]) -> AdapterDescriptor {
    AdapterDescriptor {
        adapter_id: "toy",
        adapter_version: "0.1.0",
        harness_family: "toy",
        matrix: VersionMatrix {
            revisions: &[],
            swept: &[],
            known_bad: &[],
        },
        schema_detection_strategy: "",
        coverage: NOTHING,
        unknown_version_policy: UnknownVersionPolicy::PermissiveDegrade,
        record_type: &["/type", "/data/type"],
        members: None,
        gaps: &[],
        omission_rules,
    }
}

const SOURCE: &str = concat!(
    r#"{"type":"msg","text":"hello you","rendered":[{"text":"<b>hello</b> you"}],"sig":{"a":["x y"]},"key with blanks":1}"#,
    "\n",
    r#"{"type":"state","data":{"type":"ui","note":"window at 3 4"}}"#,
    "\n\n",
    r#"{"type":"echo","text":"hello  you, again"}  {"type":"call","args":"{\"cmd\": \"ls -l\"}","out":"part one"}"#,
    "\n"
);

/// A tape of [`SOURCE`]: these events and a `tape.stop`.
fn tape(events: &[&str], ledger: &str) -> String {
    let mut tape = String::new();
    let stop = format!(r#""label":"tape.stop","ledger":{ledger},"complete":true"#);
    for (seq, fields) in events.iter().copied().chain([stop.as_str()]).enumerate() {
        let kind = if fields.starts_with(r#""label""#) {
            "meta"
        } else {
            "msg.in"
        };
        tape += &format!(
            "{{\"seq\":{seq},\"t\":\"2026-01-01T00:00:00Z\",\"k\":\"{kind}\",\"source\":{{\"harness\":\"toy\"}},{fields}}}\n"
        );
    }
    tape
}

const EVENTS: &[&str] = &[
    r#""text":"hello you","origin":{"line":1}"#,
    r#""args":{"cmd":"ls -l"},"origin":{"line":4,"part":1}"#,
    r#""stdout":"part one, part two","origin":{"line":4,"part":1}"#,
];
const LEDGER: &str = r#"{"records":4,"omitted":[{"type":"echo","rule":"echo","count":1},{"type":"state/ui","rule":"ui_state","count":1}]}"#;

fn report(source: &str, tape: &str, rules: &'static [OmissionRule]) -> AuditReport {
    audit(source.as_bytes(), tape, &descriptor(rules)).unwrap()
}

fn left(report: &AuditReport) -> Vec<(u64, &str, &str)> {
    report
        .examples
        .iter()
        .map(|left| (left.line, left.record.as_str(), left.pointer.as_str()))
        .collect()
}

#[test]
fn every_content_string_is_accounted_for() {
    let report = report(SOURCE, &tape(EVENTS, LEDGER), RULES);
    assert_eq!(
        (left(&report), report.disagreements.clone()),
        (vec![], vec![])
    );
    assert!(report.holds());
    let omitted: Vec<(&str, u64)> = report
        .omitted
        .iter()
        .map(|(rule, amount)| (rule.as_str(), amount.bytes))
        .collect();
    assert_eq!(omitted, [("echo", 17), ("rendered", 16), ("ui_state", 13)]);
    assert_eq!(
        (
            report.records,
            report.in_tape.strings,
            report.opaque["signature"].strings
        ),
        (4, 3, 1)
    );
}

#[test]
fn text_of_a_missing_event_is_left_over() {
    let without = report(SOURCE, &tape(&EVENTS[1..], LEDGER), RULES);
    assert_eq!(left(&without)[0], (1, "msg", "/text"));
    assert!(
        without
            .disagreements
            .iter()
            .any(|what| what.starts_with("line 1: a record of type `msg` gave no event"))
    );
    let without = report(SOURCE, &tape(&[EVENTS[0], EVENTS[2]], LEDGER), RULES);
    assert_eq!(left(&without), [(4, "call", "/args")]);
    let without = report(SOURCE, &tape(&EVENTS[..2], LEDGER), RULES);
    assert_eq!(left(&without), [(4, "call", "/out")]);
}

#[test]
fn json_with_short_words_only_needs_all_its_words() {
    let source = "{\"type\":\"call\",\"out\":\"{\\\"out\\\": \\\"Done!\\\", \\\"n\\\": 1}\"}\n";
    let ledger = r#"{"records":1,"omitted":[]}"#;
    assert!(
        report(
            source,
            &tape(&[r#""stdout":"Done!","origin":{"line":1}"#], ledger),
            RULES
        )
        .holds()
    );
    assert_eq!(
        left(&report(
            source,
            &tape(&[r#""stdout":"Done","origin":{"line":1}"#], ledger),
            RULES
        )),
        [(1, "call", "/out")]
    );
}

#[test]
fn an_output_and_the_error_behind_it_are_two_members_of_one_event() {
    let source = "{\"type\":\"call\",\"out\":\"p 1\\n\\nCommand aborted\"}\n";
    let ledger = r#"{"records":1,"omitted":[]}"#;
    let left = |event: &str| left(&report(source, &tape(&[event], ledger), RULES)).len();
    let stdout = r#""stdout":"p 1\n","origin":{"line":1}"#;
    let both = r#""stdout":"p 1\n","stderr":"Command aborted","origin":{"line":1}"#;
    assert_eq!([left(stdout), left(both)], [1, 0]);
}

#[test]
fn part_of_the_text_of_another_record_is_not_enough() {
    let elsewhere = [
        EVENTS[0],
        EVENTS[1],
        r#""stdout":"part one, part two","origin":{"line":1}"#,
    ];
    assert_eq!(
        left(&report(SOURCE, &tape(&elsewhere, LEDGER), RULES)),
        [(4, "call", "/out")]
    );
}

#[test]
fn text_of_a_missing_rule_is_left_over() {
    assert_eq!(
        left(&report(SOURCE, &tape(EVENTS, LEDGER), WITHOUT[0])),
        [(2, "state/ui", "/data/note")]
    );
    assert_eq!(
        left(&report(SOURCE, &tape(EVENTS, LEDGER), WITHOUT[1])),
        [(4, "echo", "/text")]
    );
    assert_eq!(
        left(&report(SOURCE, &tape(EVENTS, LEDGER), WITHOUT[2])),
        [(1, "msg", "/rendered/0/text")]
    );
    assert_eq!(
        left(&report(SOURCE, &tape(EVENTS, LEDGER), WITHOUT[3])),
        [(1, "msg", "/sig/a/0")]
    );
}

#[test]
fn a_record_rule_does_not_apply_to_a_record_with_events() {
    let mapped = [EVENTS, &[r#""text":"half of it","origin":{"line":2}"#]].concat();
    let report = report(SOURCE, &tape(&mapped, LEDGER), RULES);
    assert_eq!(left(&report), [(2, "state/ui", "/data/note")]);
    assert_eq!(
        report.disagreements,
        ["0 records of type `state/ui` gave no event, but the ledger omits 1"]
    );
}

#[test]
fn a_revision_does_not_belong_to_its_record() {
    let revised = [EVENTS, &[r#""label":"revision","origin":{"line":2}"#]].concat();
    assert!(report(SOURCE, &tape(&revised, LEDGER), RULES).holds());
}

#[test]
fn a_wrong_ledger_is_reported() {
    for (from, to) in [
        (r#""records":4"#, r#""records":5"#),
        (r#""rule":"echo","count":1"#, r#""rule":"echo","count":2"#),
        (r#"{"type":"echo","rule":"echo","count":1},"#, ""),
        (r#""rule":"echo""#, r#""rule":"ui_state""#),
        (r#""rule":"echo""#, r#""rule":"no_such_rule""#),
    ] {
        let report = report(SOURCE, &tape(EVENTS, &LEDGER.replace(from, to)), RULES);
        assert!(
            !report.disagreements.is_empty() && report.left_over.strings == 0,
            "{to}"
        );
    }
}

#[test]
fn text_that_is_not_json_is_found_verbatim() {
    let source = "{\"type\":\"msg\",\"text\":\"cut in the\n";
    let ledger = r#"{"records":1,"omitted":[{"type":"malformed","rule":"malformed","count":1}]}"#;
    let raw = r#""label":"unrecognized","raw":"{\"type\":\"msg\",\"text\":\"cut in the","origin":{"line":1}"#;
    assert!(report(source, &tape(&[raw], ledger), RULES).holds());
    let text = r#""text":"cut in the","origin":{"line":1}"#;
    assert!(report(source, &tape(&[text], ledger), RULES).holds());
    assert_eq!(
        left(&report(
            source,
            &tape(&[r#""text":"cut","origin":{"line":1}"#], ledger),
            RULES
        )),
        [(1, "msg", "/text")]
    );
    let garbage = report(
        "no json\n",
        &tape(&[], r#"{"records":1,"omitted":[]}"#),
        RULES,
    );
    assert_eq!(left(&garbage), [(1, "", "")]);
}

#[test]
fn a_record_after_a_truncated_one_on_the_same_line_is_audited() {
    let source =
        "{\"type\":\"msg\",\"text\":\"cut in the{\"type\":\"msg\",\"text\":\"all there\"}\n";
    let complete = tape(
        &[
            r#""text":"cut in the{","origin":{"line":1}"#,
            r#""text":"all there","origin":{"line":1,"part":1}"#,
        ],
        r#"{"records":2,"omitted":[]}"#,
    );
    assert!(report(source, &complete, RULES).holds());
    let without = tape(
        &[r#""text":"cut in the{","origin":{"line":1}"#],
        r#"{"records":2,"omitted":[]}"#,
    );
    assert_eq!(
        left(&report(source, &without, RULES)),
        [(1, "msg", "/text")]
    );
}

#[test]
fn a_truncated_end_is_not_left_over() {
    let ends = "{\"type\":\"msg\",\"text\":\"still wri";
    let source = &format!("{{\"type\":\"msg\",\"text\":\"hello you\"}}\n{ends}");
    let complete = tape(&EVENTS[..1], r#"{"records":1,"omitted":[]}"#);
    let cut = report(
        source,
        &complete.replace("\"complete\":true", "\"complete\":false"),
        RULES,
    );
    assert!(cut.holds() && cut.cut.bytes == ends.len() as u64);
    assert_eq!(
        left(&report(source, &complete, RULES)),
        [(2, "msg", "/text")]
    );
    let nested = "{\"type\":\"msg\",\"text\":\"hello you\"}\n{\"type\":\"msg\",\"data\":{\"text\":\"still wri\"}";
    assert!(
        report(
            nested,
            &complete.replace("\"complete\":true", "\"complete\":false"),
            RULES
        )
        .holds()
    );
}

#[test]
fn white_space_around_a_broken_line_is_not_content() {
    let events = [
        EVENTS[0],
        r#""label":"unrecognized","raw":"some prose","origin":{"line":2}"#,
    ];
    let source = "{\"type\":\"msg\",\"text\":\"hello you\"}\n   some prose \n";
    assert!(
        report(
            source,
            &tape(&events, r#"{"records":2,"omitted":[]}"#),
            RULES
        )
        .holds()
    );
}

#[test]
fn the_end_of_a_document_is_truncated_or_kept_verbatim() {
    let event = r#""text":"hello you","origin":{"pointer":"/items/0"}"#;
    let valid = r#"{"items":[{"type":"msg","text":"hello you"}"#;
    let cut = tape(&[event], r#"{"records":1,"omitted":[]}"#)
        .replace("\"complete\":true", "\"complete\":false");
    let found = report(
        &format!(r#"{valid},{{"type":"msg","text":"still wri"#),
        &cut,
        RULES,
    );
    assert!(found.holds() && found.cut.strings == 1, "{found:?}");
    let broken = tape(
        &[
            event,
            r#""label":"unrecognized","raw":"{\"text\":\"and more\"}]}""#,
        ],
        r#"{"records":2,"omitted":[]}"#,
    );
    assert!(
        report(
            &format!(r#"{valid}{{"text":"and more"}}]}}"#),
            &broken,
            RULES
        )
        .holds()
    );
    let other = report(
        &format!(r#"{valid}{{"text":"and less"}}]}}"#),
        &broken,
        RULES,
    );
    assert_eq!(other.left_over.strings, 1, "{other:?}");
}

#[test]
fn a_record_over_a_limit_is_found_by_its_hash() {
    let source = "{\"type\":\"msg\",\"text\":\"hello you\"}\n";
    let hash = engram_core::hash::Hash::of_bytes(source.trim_end().as_bytes());
    let ledger =
        r#"{"records":1,"omitted":[{"type":"limit_exceeded","rule":"unrecognized","count":1}]}"#;
    let event = format!(r#""label":"unrecognized","hash":"{hash}","origin":{{"line":1}}"#);
    assert!(report(source, &tape(&[&event], ledger), RULES).holds());
    let other = source.replace("you", "You");
    assert_eq!(
        left(&report(&other, &tape(&[&event], ledger), RULES)),
        [(1, "msg", "/text")]
    );
}

#[test]
fn a_document_is_audited_item_by_item() {
    let source = r#"{ "about": "a b", "sig": ["s i g"], "items": [
        {"type": "msg", "text": "hello you", "rendered": [{"text": "h y"}]},
        {"type": "state", "data": {"type": "ui", "note": "w 3"}},
        "free text" ] }"#;
    let events = [
        r#""text":"a b","origin":{"pointer":"/about"}"#,
        r#""text":"and hello you","origin":{"pointer":"/items/0"}"#,
        r#""text":"free text","origin":{"pointer":"/items/2"}"#,
    ];
    let ledger = r#"{"records":3,"omitted":[{"type":"state/ui","rule":"ui_state","count":1}]}"#;
    assert_eq!(left(&report(source, &tape(&events, ledger), RULES)), []);
    assert_eq!(
        left(&report(source, &tape(&events[..2], ledger), RULES)),
        [(0, "", "/items/2")]
    );
    assert_eq!(
        left(&report(
            source,
            &tape(&[events[0], events[2]], ledger),
            RULES
        ))[0],
        (0, "msg", "/items/0/text")
    );
    assert_eq!(
        left(&report(source, &tape(&events, ledger), WITHOUT[0])),
        [(0, "state/ui", "/items/1/data/note")]
    );
}

#[test]
fn text_that_was_cut_between_cr_and_lf_is_found() {
    let source = "{\"type\":\"call\",\"out\":\"one line\\r\\nanother\\r\\n\\n(cut)\",\"cut\":\"one line\\r\\nanother\\r\",\"lost\":\"no line\\r\"}\n";
    let events = [r#""stdout":"one line\r\nanother\r\n\n(cut)","origin":{"line":1}"#];
    let report = report(
        source,
        &tape(&events, r#"{"records":1,"omitted":[]}"#),
        RULES,
    );
    assert_eq!(left(&report), [(1, "call", "/lost")]);
}

static MEMBERS: MemberSource = MemberSource::new(&["
rule ids  Ids of the harness.

record msg
  type    string  as k
  text    string  tape
  count   number  tape
  quiet   bool    as msg.in.text
  id      string  omit ids
  sig     object  opaque signature
    a     array
      []  string
  args?   object  free tape

record state/ui omit ui_state
  type    string
  data    object
    type  string
    size  number
"]);

const LEAVES: &str = concat!(
    r#"{"type":"msg","text":"hello you","count":17,"quiet":true,"id":"x y 1","sig":{"a":["x y"]}}"#,
    "\n",
    r#"{"type":"state","data":{"type":"ui","size":3}}"#,
    "\n",
);

/// The leaves of [`LEAVES`] with one text replaced by another.
fn leaves(from: &str, to: &str) -> AuditReport {
    let source = LEAVES.replace(from, to);
    assert!(source != LEAVES || from == to);
    let ledger = r#"{"records":2,"omitted":[{"type":"state/ui","rule":"ui_state","count":1}]}"#;
    let tape = tape(
        &[r#""text":"hello you","count":17,"origin":{"line":1}"#],
        ledger,
    );
    let descriptor = AdapterDescriptor {
        members: Some(&MEMBERS),
        ..descriptor(RULES)
    };
    let report = audit(source.as_bytes(), &tape, &descriptor).unwrap();
    assert_eq!(report.leaves.total, report.leaves.accounted());
    report
}

#[test]
fn every_leaf_value_is_accounted_for() {
    let report = leaves("", "");
    assert!(report.holds(), "{report:?}");
    let counts = &report.leaves;
    assert_eq!((counts.total, counts.in_tape, counts.converted), (9, 2, 2));
    assert_eq!(
        (
            counts.omitted.get("ids"),
            counts.omitted.get("ui_state"),
            counts.opaque.get("signature")
        ),
        (Some(&1), Some(&3), Some(&1))
    );
    // Content that only the table omits.
    assert_eq!(
        report.omitted.get("ids").map(|amount| amount.strings),
        Some(1)
    );
}

#[test]
fn leaf_values_that_are_lost_are_left_over() {
    for (from, to, pointer) in [
        (r#""hello you""#, r#""other""#, "/text"),
        ("17", "18", "/count"),
        (r#""id""#, r#""ID""#, "/ID"),
        (r#""quiet":true"#, r#""quiet":1"#, "/quiet"),
        (r#""count""#, r#""n":1,"count""#, "/n"),
        (
            r#""sig""#,
            r#""args":{"deep":[{"a":99}]},"sig""#,
            "/args/deep/0/a",
        ),
    ] {
        let report = leaves(from, to);
        let found = &report.examples[0];
        assert_eq!(
            (report.leaves.left_over, found.pointer.as_str(), found.line),
            (1, pointer, 1),
            "{from} {to}"
        );
        assert!(!report.holds());
    }
}

#[test]
fn what_the_ledger_counts_as_unknown_is_not_left_over() {
    static TIMES: MemberSource = MemberSource::new(&[
        "record msg feeds msg.out\n  type string as k\n  at time tape\n  n? count tape\n",
    ]);
    let audited = |line: &str, event: &str, unknown: &str| {
        let tape = tape(
            &[event],
            &format!(r#"{{"records":1,"omitted":[]{unknown}}}"#),
        );
        audit(
            line.as_bytes(),
            &tape,
            &AdapterDescriptor {
                members: Some(&TIMES),
                ..descriptor(RULES)
            },
        )
        .unwrap()
    };
    let event = r#""text":"x","t2":"2026-11-21T04:32:05Z","origin":{"line":1}"#;
    // A time is compared as an instant.
    for at in [
        "2026-11-21T04:32:05Z",
        "2026-11-21t04:32:05z",
        "2026-11-21T10:02:05+05:30",
        "2026\\u002d11-21T10:02:05+0530",
    ] {
        let report = audited(&format!(r#"{{"type":"msg","at":"{at}"}}"#), event, "");
        assert!(report.holds(), "{at} {report:?}");
    }
    let other = audited(
        r#"{"type":"msg","at":"2026-11-21T10:02:05+05:00"}"#,
        event,
        "",
    );
    assert_eq!((other.leaves.left_over, other.holds()), (1, false));
    let line =
        r#"{"type":"msg","at":"the day before yesterday","n":-1,"new":{"text":"some long text"}}"#;
    let listed = r#","unknown_members":[{"type":"msg","pointer":"/at","count":1},{"type":"msg","pointer":"/n","count":1},{"type":"msg","pointer":"/new","count":1}]"#;
    let report = audited(line, event, listed);
    assert_eq!(
        (
            report.leaves.unknown,
            report.unknown.strings,
            report.leaves.left_over,
            report.left_over.strings
        ),
        (3, 2, 0, 0),
        "{report:?}"
    );
    assert_eq!(
        (
            report.leaves.total,
            report.leaves.accounted(),
            report.holds()
        ),
        (4, 4, false)
    );
    // What the ledger does not count is lost.
    assert_eq!(audited(line, event, "").leaves.left_over, 3);
    assert_eq!(
        audited(line, event, r#","unknown_members_more":3"#)
            .leaves
            .unknown,
        3
    );
    // An adapter reads JSON in a string, which the walk does not enter: the ledger alone names what is unknown there.
    let inside = r#","unknown_members":[{"type":"msg#args","pointer":"/new","count":2}]"#;
    let line = r#"{"type":"msg","at":"2026-11-21T04:32:05Z"}"#;
    let report = audited(line, event, inside);
    assert_eq!((report.leaves.unknown, report.holds()), (2, false));
    assert_eq!(report.leaves.total, report.leaves.accounted());
    let named: Vec<&str> = report
        .unknown_members
        .iter()
        .map(|row| &*row.record)
        .collect();
    assert_eq!(named, ["msg#args"]);
}
