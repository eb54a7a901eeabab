//! Members that the table of an adapter does not name, under both policies.

use engram_core::adapter::{Evidence, Identity, SessionInit, StreamAdapter};
use engram_core::check::check;
use engram_core::coverage::{Coverage, Grade};
use engram_core::descriptor::AdapterDescriptor;
use engram_core::emit::{Fault, Pointer};
use engram_core::error::{AdapterError, ErrorCode};
use engram_core::head::Head;
use engram_core::ledger::Outcome;
use engram_core::members::MemberSource;
use engram_core::pipeline::{Input, Options, Summary, convert};
use engram_core::policy::Policy;
use engram_core::steps::{Check, Conversion, Emitter, Record};
use engram_core::tape::JsonLines;
use engram_core::version::{Revision, Support, VersionMatrix};

use crate::toy::{HEADER, Toy, kind};

/// The toy adapter with a member table.
struct Tabled(&'static AdapterDescriptor);

struct Checking(Box<dyn Conversion>);

impl Conversion for Checking {
    fn check(&mut self, record: &Record<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
        check.members(kind(record.value), record.value, Pointer::Root, &|_| None);
        self.0.check(record, check)
    }

    fn decide(&mut self) {}

    fn emit(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
        self.0.emit(record, out)
    }
}

impl StreamAdapter for Tabled {
    fn describe(&self) -> &'static AdapterDescriptor {
        self.0
    }

    fn probe(&self, head: &Head<'_>) -> Option<Evidence> {
        Toy.probe(head)
    }

    fn identify(&self, head: &Head<'_>) -> Identity {
        Toy.identify(head)
    }

    fn conversion(&self, init: &SessionInit<'_>) -> Box<dyn Conversion> {
        Box::new(Checking(Toy.conversion(init)))
    }
}

static MEMBERS: MemberSource = MemberSource::new(&["
record toy feeds meta
  type     string  as meta.session
  version  string  as tape.start.harness.version
  session  string  as source.session_id
  t?       string  as t
record say feeds msg.out
  type     string  as msg.out
  text     string|number tape
  mood?    string  omit skipped_field
record state omit ui_state
  type     string
"]);

static BROKEN: MemberSource = MemberSource::new(&["record toy\n  type text\n"]);

fn tabled(members: &'static MemberSource) -> Tabled {
    Tabled(Box::leak(Box::new(AdapterDescriptor {
        members: Some(members),
        ..*Toy.describe()
    })))
}

fn run(
    adapter: &Tabled,
    records: &[&str],
    policy: Policy,
) -> (Result<Summary, AdapterError>, String) {
    let log = [&[HEADER], records].concat().join("\n") + "\n";
    let (options, mut tape) = (
        Options {
            policy,
            ..Options::default()
        },
        Vec::new(),
    );
    let input = Input::new(log.as_bytes(), options.limits);
    let summary = convert(adapter, input, &options, &mut JsonLines::new(&mut tape));
    (summary, String::from_utf8(tape).unwrap())
}

const SAY: &str = r#"{"type":"say","text":"x"}"#;
const RENAMED: &str = r#"{"type":"say","text":"x","tone":"y"}"#;
const RETYPED: &str = r#"{"type":"say","text":"x","mood":1}"#;

#[test]
fn strict_policy_refuses_an_unknown_member_with_its_place() {
    let (result, _) = run(&tabled(&MEMBERS), &[SAY, RENAMED], Policy::Strict);
    let error = result.unwrap_err();
    assert_eq!(
        (error.code, error.line, error.pointer.as_deref()),
        (ErrorCode::UnknownMember, Some(3), Some("/tone"))
    );
    let (result, _) = run(&tabled(&MEMBERS), &[RETYPED], Policy::Strict);
    let error = result.unwrap_err();
    assert_eq!(
        (error.expected.as_deref(), error.found.as_deref()),
        (Some("string"), Some("number"))
    );
    assert!(
        run(
            &tabled(&MEMBERS),
            &[SAY, r#"{"type":"state"}"#],
            Policy::Strict
        )
        .0
        .is_ok()
    );
}

#[test]
fn a_member_that_an_object_has_twice_is_unknown() {
    let twice = r#"{"type":"say","text":"x","mood":"a","mood":"b"}"#;
    let error = run(&tabled(&MEMBERS), &[SAY, twice], Policy::Strict)
        .0
        .unwrap_err();
    assert_eq!(
        (error.code, error.line, error.pointer.as_deref()),
        (ErrorCode::UnknownMember, Some(3), Some("/mood"))
    );
    let ledger = run(&tabled(&MEMBERS), &[SAY, twice, twice], Policy::Permissive)
        .0
        .unwrap()
        .ledger;
    assert_eq!(
        ledger
            .unknown
            .listed
            .iter()
            .map(|member| (member.pointer.as_str(), member.count))
            .collect::<Vec<_>>(),
        [("/mood", 2)]
    );
}

#[test]
fn an_event_of_a_kind_without_a_claim_is_refused() {
    let revisions: &'static [Revision] = Box::leak(Box::new(
        Toy.describe()
            .matrix
            .revisions
            .iter()
            .map(without_calls)
            .collect::<Vec<_>>(),
    ));
    let matrix = VersionMatrix {
        revisions,
        ..Toy.describe().matrix
    };
    let adapter = Tabled(Box::leak(Box::new(AdapterDescriptor {
        matrix,
        ..*Toy.describe()
    })));
    let records = [SAY, r#"{"type":"call","id":"c","args":{}}"#, SAY];
    let error = run(&adapter, &records, Policy::Strict).0.unwrap_err();
    assert_eq!(
        (error.code, error.line, error.found.as_deref()),
        (ErrorCode::MalformedRecord, Some(3), Some("tool.call"))
    );
    let (summary, tape) = run(&adapter, &records, Policy::Permissive);
    assert_eq!(
        (summary.unwrap().ledger.malformed, check(&tape)),
        (1, vec![]),
        "{tape}"
    );
}

fn without_calls(revision: &Revision) -> Revision {
    Revision {
        coverage: Coverage {
            tool_call: Grade::None,
            ..revision.coverage
        },
        ..*revision
    }
}

#[test]
fn permissive_policy_counts_unknown_members_and_lowers_the_claims_of_the_record_once() {
    let (summary, tape) = run(
        &tabled(&MEMBERS),
        &[SAY, RENAMED, RETYPED, RENAMED, SAY],
        Policy::Permissive,
    );
    let summary = summary.unwrap();
    let unknown = r#""unknown_members":[{"type":"say","pointer":"/mood","found":"number","count":1},{"type":"say","pointer":"/tone","count":2}]"#;
    assert!(tape.lines().last().unwrap().contains(unknown), "{tape}");
    assert_eq!(summary.ledger.unknown.listed[1].first.line(), 3);
    assert_eq!(
        (
            summary.degraded.as_slice(),
            summary.coverage.msg_out.as_str(),
            summary.coverage.msg_in.as_str()
        ),
        (&["unknown_members"][..], "partial", "full")
    );
    let revisions: Vec<usize> = tape
        .lines()
        .enumerate()
        .filter(|(_, line)| line.contains(r#""revision""#))
        .map(|(n, _)| n)
        .collect();
    // After the start, the session and the first message, before the record itself.
    assert_eq!(revisions, [3], "{tape}");
    assert!(check(&tape).is_empty(), "{:?}", check(&tape));
}

#[test]
fn claims_stay_lowered_after_a_change_of_version() {
    let newer = r#"{"type":"toy","version":"1.9.0","session":"s-1"}"#;
    let (summary, tape) = run(&tabled(&MEMBERS), &[RENAMED, newer], Policy::Permissive);
    let summary = summary.unwrap();
    assert_eq!(
        (
            summary.version.as_deref(),
            summary.coverage.msg_out.as_str()
        ),
        (Some("1.9.0"), "partial"),
        "{tape}"
    );
}

#[test]
fn the_summary_has_the_lowest_support_and_claims_of_a_session() {
    let version =
        |version: &str| format!(r#"{{"type":"toy","version":"{version}","session":"s-1"}}"#);
    let (unknown, ahead, good) = (version("0.1.0"), version("7.0.0"), version("1.9.0"));
    let (summary, tape) = run(
        &tabled(&MEMBERS),
        &[SAY, &unknown, &ahead, &good, SAY],
        Policy::Permissive,
    );
    let summary = summary.unwrap();
    assert_eq!(
        (summary.version.as_deref(), summary.schema),
        (Some("1.9.0"), Some("toy/1")),
        "the last version"
    );
    assert_eq!(
        (summary.support, summary.support_version.as_deref()),
        (Support::Unknown, Some("0.1.0"))
    );
    assert_eq!(
        (
            summary.degraded.as_slice(),
            summary.coverage.msg_out.as_str()
        ),
        (&["unknown_harness_version", "ahead"][..], "partial")
    );
    assert!(check(&tape).is_empty(), "{tape}");
}

#[test]
fn a_record_without_a_shape_is_unknown_as_a_whole() {
    let (summary, _) = run(
        &tabled(&MEMBERS),
        &[r#"{"type":"echo"}"#],
        Policy::Permissive,
    );
    let unknown = summary.unwrap().ledger.unknown;
    assert_eq!(
        (
            unknown.listed[0].record.as_str(),
            unknown.listed[0].pointer.as_str()
        ),
        ("echo", "")
    );
}

#[test]
fn a_malformed_record_has_no_unknown_members() {
    let (summary, tape) = run(
        &tabled(&MEMBERS),
        &[r#"{"type":"say","tone":"y"}"#, SAY],
        Policy::Permissive,
    );
    let summary = summary.unwrap();
    assert_eq!(
        (summary.ledger.malformed, summary.ledger.unknown.is_empty()),
        (1, true)
    );
    assert_eq!(summary.coverage.msg_out.as_str(), "full", "{tape}");
    assert!(check(&tape).is_empty());
}

#[test]
fn a_table_that_cannot_be_read_is_a_defect_of_the_adapter() {
    let error = run(&tabled(&BROKEN), &[SAY], Policy::Permissive)
        .0
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::AdapterDefect);
    assert!(error.found.unwrap().contains("line 2"));
}
