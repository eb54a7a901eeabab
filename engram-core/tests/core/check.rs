//! Checker tests: a valid tape has no violations, and each rule finds the tapes that break it.

use std::collections::BTreeSet;

use engram_core::adapter::StreamAdapter;
use engram_core::audit::audit;
use engram_core::check::{Rule, check, check_stream};
use engram_core::tape::events;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::toy::Toy;

/// A tape with every kind of event, every label and every field.
pub const GOOD: &str = include_str!("good.tape.jsonl");

/// Changes to [`GOOD`] that break one rule each: the rule, the text that is replaced, and the replacement.
const BREAKS: &[(Rule, &str, &str)] = &[
    (Rule::Bom, r#"{"seq":0,"#, "\u{feff}{\"seq\":0,"),
    (Rule::BlankLine, "\n{\"seq\":1,", "\n\n{\"seq\":1,"),
    (Rule::BlankLine, "\n{\"seq\":1,", "\n \t\n{\"seq\":1,"),
    (
        Rule::LineEnd,
        "\"complete\":false,\"t_basis\":\"inherited\"}\n",
        "\"complete\":false,\"t_basis\":\"inherited\"}",
    ),
    (Rule::Json, "\n{\"seq\":1,", "\n[1]\n{\"seq\":1,"),
    (Rule::Json, "\n{\"seq\":1,", "\n{\"seq\":1,\n{\"seq\":1,"),
    (Rule::Canonical, r#"{"seq":1,"#, r#"{"seq": 1,"#),
    (Rule::Canonical, "\n{\"seq\":1,", " \n{\"seq\":1,"),
    (
        Rule::Canonical,
        r#""text":"hello""#,
        r#""text":"h\u0065llo""#,
    ),
    (Rule::Canonical, r#""text":"hello""#, r#""text":"hel\/lo""#),
    (Rule::Canonical, r#""n":1.0,"x""#, r#""n":1.0, "x""#),
    (
        Rule::Kind,
        "\n{\"seq\":1,",
        "\n{\"k\":\"msg\"}\n{\"seq\":1,",
    ),
    (
        Rule::Kind,
        "\n{\"seq\":1,",
        "\n{\"k\":\"meta\",\"label\":\"note\"}\n{\"seq\":1,",
    ),
    (
        Rule::UnknownKey,
        r#""text":"hello""#,
        r#""text":"hello","more":1"#,
    ),
    (
        Rule::UnknownKey,
        r#"{"harness":"toy","session_id":"s-1"},"label":"system""#,
        r#"{"harness":"toy","host":"x"},"label":"system""#,
    ),
    (
        Rule::KeyOrder,
        r#""name":"notice","text":"hello""#,
        r#""text":"hello","name":"notice""#,
    ),
    (
        Rule::KeyOrder,
        r#""text":"hello""#,
        r#""text":"hello","text":"hello""#,
    ),
    (
        Rule::KeyOrder,
        r#""origin":{"line":1,"id":"r1"}"#,
        r#""origin":{"id":"r1","line":1}"#,
    ),
    (Rule::MissingKey, r#""tool":"Read","server""#, r#""server""#),
    (Rule::MissingKey, r#""t":"2026-01-02T03:04:04Z","#, ""),
    (
        Rule::MissingKey,
        r#","code.edit":2,"span.link":1"#,
        r#","code.edit":2"#,
    ),
    (Rule::Shape, r#""text":"hello""#, r#""text":null"#),
    (Rule::Shape, r#""exit":0"#, r#""exit":"0""#),
    (Rule::Shape, r#""redacted":true"#, r#""redacted":false"#),
    (Rule::Word, r#""by":"agent""#, r#""by":"robot""#),
    (Rule::Shape, r#""bytes":12"#, r#""bytes":-12"#),
    (Rule::Shape, r#""replay":true"#, r#""replay":false"#),
    (Rule::Shape, r#""confirmed":false"#, r#""confirmed":true"#),
    (Rule::Empty, r#""title":"t""#, r#""title":"""#),
    (
        Rule::Empty,
        r#""attachments":[{"media_type":"image/png"}]"#,
        r#""attachments":[]"#,
    ),
    (
        Rule::Empty,
        r#""tokens":{"input":1,"cache_read":3,"cache_write":4,"cache_write_1h":2,"output":9,"reasoning":5}"#,
        r#""tokens":{}"#,
    ),
    (Rule::Word, r#""role":"user""#, r#""role":"assistant""#),
    (Rule::Word, r#""channel":"final""#, r#""channel":"answer""#),
    (Rule::Word, r#""status":"ok""#, r#""status":"success""#),
    (
        Rule::Word,
        r#""op":"update","file":"/w/b.rs""#,
        r#""op":"patch","file":"/w/b.rs""#,
    ),
    (Rule::Word, r#""kind":"edit""#, r#""kind":"patch""#),
    (Rule::Word, r#""decision":"allow""#, r#""decision":"yes""#),
    (
        Rule::Word,
        r#""schema":"engram.tape/1""#,
        r#""schema":"engram.tape/2""#,
    ),
    (Rule::Word, r#""meta":"full""#, r#""meta":"most""#),
    (Rule::Word, r#""basis":"snippet""#, r#""basis":"guess""#),
    (
        Rule::Hash,
        r#""hash":"blake3:0123456789abcdef"#,
        r#""hash":"blake3:0123456789ABCDEF"#,
    ),
    (Rule::Hash, r#""hash":"blake3:"#, r#""hash":"sha256:"#),
    (
        Rule::Hash,
        r#""file_after_hash":"blake3:0"#,
        r#""file_after_hash":"blake3:"#,
    ),
    (
        Rule::Anchors,
        r#""ffeeddccbbaa9988""#,
        r#""ffeeddccbbaa998""#,
    ),
    (
        Rule::Anchors,
        r#""ffeeddccbbaa9988""#,
        r#""00112233aabbccdd""#,
    ),
    (
        Rule::Anchors,
        r#"["00112233aabbccdd","ffeeddccbbaa9988"]"#,
        "[]",
    ),
    (Rule::Range, r#""range":[1,3]"#, r#""range":[0,3]"#),
    (Rule::Range, r#""range":[1,3]"#, r#""range":[3,1]"#),
    (Rule::Range, r#""from_range":[1,2]"#, r#""from_range":[1]"#),
    (Rule::Seq, r#"{"seq":24,"#, r#"{"seq":23,"#),
    (Rule::Time, "2026-01-02T03:04:04Z", "2026-01-02T03:04:04"),
    (
        Rule::Time,
        "2026-01-02T03:04:04Z",
        "2026-01-02T03:04:04+00:00",
    ),
    (Rule::Time, "2026-01-02T03:04:04Z", "2026-02-29T03:04:04Z"),
    (Rule::Time, "2026-01-02T03:04:04Z", "2026-01-02T03:04:04.Z"),
    (
        Rule::TimeBasis,
        r#","degraded":[],"t_basis":"inherited""#,
        r#","degraded":[],"t_basis":"absent""#,
    ),
    (
        Rule::TimeBasis,
        r#","degraded":[],"t_basis":"inherited""#,
        r#","degraded":[]"#,
    ),
    (
        Rule::TimeBasis,
        r#""lossy":true,"t_basis":"inherited""#,
        r#""lossy":true,"t_basis":"absent""#,
    ),
    (
        Rule::Source,
        r#"{"harness":"toy","session_id":"s-1","agent_id":"sub"}"#,
        r#"{"harness":"other","session_id":"s-1","agent_id":"sub"}"#,
    ),
    (Rule::Origin, r#"{"line":12}"#, r#"{"line":0}"#),
    (Rule::Origin, r#"{"line":12}"#, r#"{"line":12,"part":0}"#),
    (Rule::Origin, r#"{"line":12}"#, r#"{"part":1}"#),
    (
        Rule::Origin,
        r#","degraded":[],"t_basis":"inherited"}"#,
        r#","degraded":[],"t_basis":"inherited","origin":{"line":1}}"#,
    ),
    (
        Rule::Origin,
        r#""complete":false,"t_basis":"inherited"}"#,
        r#""complete":false,"t_basis":"inherited","origin":{"id":"r1"}}"#,
    ),
    (
        Rule::Pointer,
        r#""pointer":"/message/content/0""#,
        r#""pointer":"message/content/0""#,
    ),
    (
        Rule::Pointer,
        r#""pointer":"/message/content/0""#,
        r#""pointer":"/message~2content/0""#,
    ),
    (
        Rule::Start,
        r#""label":"tape.stop""#,
        r#""label":"tape.start""#,
    ),
    (Rule::Stop, r#""label":"tape.stop""#, r#""label":"system""#),
    (
        Rule::Counts,
        r#""counts":{"meta":15"#,
        r#""counts":{"meta":14"#,
    ),
    (Rule::Ledger, r#""mapped":9"#, r#""mapped":8"#),
    (
        Rule::Ledger,
        r#""count":1},{"type":"limit_exceeded""#,
        r#""count":2},{"type":"limit_exceeded""#,
    ),
    (
        Rule::Ledger,
        r#""mapped":9"#,
        r#""mapped":18446744073709551615"#,
    ),
    (Rule::Ledger, r#"{"type":"cache","#, r#"{"type":"zache","#),
    (Rule::Ledger, r#","redaction":"engram-redact/4""#, ""),
    (
        Rule::Ledger,
        r#"{"rule":"jwt","count":2}"#,
        r#"{"rule":"zzz","count":2}"#,
    ),
    (
        Rule::Ledger,
        r#"{"rule":"jwt","count":2}"#,
        r#"{"rule":"jwt","count":0}"#,
    ),
    (
        Rule::Word,
        r#""redaction":"engram-redact/4""#,
        r#""redaction":"mine""#,
    ),
    (
        Rule::Parent,
        r#""parent":16,"origin":{"line":8}}"#,
        r#""parent":13,"origin":{"line":8}}"#,
    ),
    (
        Rule::Parent,
        r#""note":"move","parent":16"#,
        r#""note":"move","parent":15"#,
    ),
    (
        Rule::Parent,
        r#""note":"move","parent":16"#,
        r#""note":"move","parent":99"#,
    ),
    (
        Rule::Parent,
        r#""label":"rewind","to":1"#,
        r#""label":"rewind","to":3"#,
    ),
    (
        Rule::MissingParent,
        r#""confirmed":false,"parent":16"#,
        r#""confirmed":false"#,
    ),
    (
        Rule::Denied,
        r#""status":"cancelled""#,
        r#""status":"denied""#,
    ),
    (
        Rule::Span,
        r#""range":[1,3],"total_lines""#,
        r#""total_lines""#,
    ),
    (Rule::Span, r#""basis":"snippet","#, ""),
    (Rule::Span, r#""before_range":[4,3],"#, ""),
    (
        Rule::SpanText,
        r#""ffeeddccbbaa9988"],"parent""#,
        r#""ffeeddccbbaa9988"],"text":"x","parent""#,
    ),
    (
        Rule::SpanText,
        r#"","support":"tested""#,
        r#"","spans":"text","support":"tested""#,
    ),
    (
        Rule::Redacted,
        r#""channel":"reasoning","redacted":true"#,
        r#""text":"thought","channel":"reasoning","redacted":true"#,
    ),
    (Rule::Content, r#","redacted":true"#, ""),
    (Rule::Content, r#""bytes":99,"#, ""),
    (Rule::Content, r#""bytes":99"#, r#""raw":1,"bytes":99"#),
    (
        Rule::Coverage,
        r#""tool.call":"full""#,
        r#""tool.call":"none""#,
    ),
    (
        Rule::Coverage,
        r#""degraded":[]"#,
        r#""degraded":["known_bad_version"]"#,
    ),
    (
        Rule::Coverage,
        r#""support":"tested""#,
        r#""support":"known_bad""#,
    ),
    (
        Rule::Coverage,
        r#""support":"tested""#,
        r#""support":"ahead""#,
    ),
    (
        Rule::Policy,
        r#""policy":"permissive""#,
        r#""policy":"strict""#,
    ),
];

fn rules(tape: &[u8]) -> BTreeSet<Rule> {
    let mut rules = BTreeSet::new();
    check_stream(tape, &mut |violation| {
        rules.insert(violation.rule);
    })
    .unwrap();
    rules
}

#[test]
fn a_valid_tape_has_no_violations() {
    assert_eq!(check(GOOD), []);
}

#[test]
fn each_violation_is_reported_by_its_rule_only() {
    for (rule, from, to) in BREAKS {
        assert!(
            GOOD.contains(from),
            "{rule}: the valid tape does not contain `{from}`"
        );
        let broken = GOOD.replacen(from, to, 1);
        let found = rules(broken.as_bytes());
        assert!(found.contains(rule), "{rule}: `{to}` gives only {found:?}");
        // An event that is not a start or stop any more also has the wrong fields.
        let alone = found.len() == 1 || matches!(rule, Rule::Start | Rule::Stop);
        assert!(alone, "{rule}: `{to}` gives {found:?}");
    }
}

#[test]
fn bytes_that_are_not_utf8_are_reported() {
    let mut broken = GOOD.as_bytes().to_vec();
    let end = broken.iter().position(|byte| *byte == b'\n').unwrap();
    broken.splice(end + 1..end + 1, *b"\"\xff\"\n");
    assert_eq!(rules(&broken), BTreeSet::from([Rule::Utf8]));
}

#[test]
fn a_second_start_or_stop_is_reported() {
    let (start, rest) = GOOD.split_once('\n').unwrap();
    let again = format!("{start}\n{start}\n{rest}");
    assert!(rules(again.as_bytes()).contains(&Rule::Start));
    let stop = GOOD.lines().last().unwrap();
    assert!(rules(format!("{GOOD}{stop}\n").as_bytes()).contains(&Rule::Stop));
    assert_eq!(rules(b""), BTreeSet::from([Rule::Start, Rule::Stop]));
}

#[test]
fn every_rule_has_a_tape_that_breaks_it() {
    let broken: BTreeSet<Rule> = BREAKS
        .iter()
        .map(|(rule, ..)| *rule)
        .chain([Rule::Utf8])
        .collect();
    assert_eq!(broken, Rule::ALL.iter().copied().collect());
}

#[test]
fn a_violation_has_line_and_rule() {
    let broken = GOOD.replacen(r#""role":"user""#, r#""role":"assistant""#, 1);
    assert_eq!(
        check(&broken)[0].to_string(),
        r#"11: word: role is \"assistant\""#
    );
}

#[test]
fn reading_and_writing_a_valid_tape_changes_nothing() {
    let written: String = events(GOOD).map(|event| event.unwrap().to_line()).collect();
    assert_eq!(written, GOOD);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Damaged tapes give violations, or events that can be written. They never cause a panic.
    #[test]
    fn damaged_tapes_do_not_panic(flips in proptest::collection::vec((any::<Index>(), any::<u8>()), 1..5), cut in any::<Index>()) {
        let mut damaged = GOOD.as_bytes().to_vec();
        for (at, byte) in flips {
            let at = at.index(damaged.len());
            damaged[at] = byte;
        }
        damaged.truncate(damaged.len() - cut.index(200));
        let found = rules(&damaged);
        if let Ok(tape) = str::from_utf8(&damaged) {
            let written: String = events(tape).flatten().map(|event| event.to_line()).collect();
            prop_assert!(!found.is_empty() || written == tape, "a tape without violations changes when it is written");
            let _ = audit(tape.as_bytes(), tape, Toy.describe());
        }
    }
}
