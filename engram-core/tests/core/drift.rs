//! Drift: each kind of change is found, with count and first place, and nothing in a log that has not changed.

use std::io::BufReader;

use engram_core::adapter::{Evidence, Identity, SessionInit, StreamAdapter};
use engram_core::descriptor::AdapterDescriptor;
use engram_core::drift::{DriftGroup, DriftReport, MAX_DRIFT_ROWS, SessionDrift};
use engram_core::emit::{Fault, Pointer};
use engram_core::head::Head;
use engram_core::ledger::Outcome;
use engram_core::members::MemberSource;
use engram_core::pipeline::{Input, Options, convert};
use engram_core::steps::{Check, Conversion, Emitter, Record};

use crate::toy::{HEADER, Toy, kind};

/// The toy adapter with another descriptor. With `checks`, it checks the members itself, and knows that every result is one of `run`.
struct Tabled {
    descriptor: &'static AdapterDescriptor,
    checks: bool,
}

struct Checking(Box<dyn Conversion>);

impl Conversion for Checking {
    fn check(&mut self, record: &Record<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
        check.members(kind(record.value), record.value, Pointer::Root, &|_| {
            Some("run")
        });
        self.0.check(record, check)
    }

    fn decide(&mut self) {}

    fn emit(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
        self.0.emit(record, out)
    }
}

impl StreamAdapter for Tabled {
    fn describe(&self) -> &'static AdapterDescriptor {
        self.descriptor
    }

    fn probe(&self, head: &Head<'_>) -> Option<Evidence> {
        Toy.probe(head)
    }

    fn identify(&self, head: &Head<'_>) -> Identity {
        Toy.identify(head)
    }

    fn conversion(&self, init: &SessionInit<'_>) -> Box<dyn Conversion> {
        if self.checks {
            Box::new(Checking(Toy.conversion(init)))
        } else {
            Toy.conversion(init)
        }
    }
}

static MEMBERS: MemberSource = MemberSource::new(&["
rule kept  Kept for a test.

shape usage
  tokens     number         as meta.usage.tokens

record toy feeds meta
  type       string         as meta.session
  version    string         as tape.start.harness.version
  session    string         as source.session_id
  t?         string         as t
record say feeds msg.out
  type       string         as msg.out
  text       string         tape
  mood|tone? string|null    omit kept
  usage?     object         =usage
  env?       object         omit kept
    *        string
record result feeds tool.result
  type       string         as tool.result
  id         string         tape
  text?      string         tape
  data?      object
    by @tool
    case wide
      code   number         as tool.result.status
      line?  number         omit kept
      width  number         omit kept
    case run
      code   number         as tool.result.status
      out    string         tape
    case look
      code   number         as tool.result.status
      line   number         omit kept
    else free omit kept
record blocks feeds msg.out
  type       string         as msg.out
  blocks     array          tape
    []       any            free tape
record state omit kept
  type       string
  inner?     array          records
document object feeds msg.out
  document   array          records
  title      string         omit kept
"]);

fn adapter(members: Option<&'static MemberSource>) -> Tabled {
    Tabled {
        descriptor: Box::leak(Box::new(AdapterDescriptor {
            members,
            ..*Toy.describe()
        })),
        checks: false,
    }
}

fn drift_by(adapter: &Tabled, path: &str, log: &str) -> DriftReport {
    let options = Options::default();
    let mut drift = SessionDrift::new(path, *adapter.describe());
    let input = Input::in_memory(log, options.limits);
    let framing = Toy
        .probe(&Input::in_memory(log, options.limits).head().unwrap())
        .unwrap()
        .framing;
    convert(adapter, input, &options, &mut drift).unwrap();
    drift.read(BufReader::new(log.as_bytes()), framing).unwrap()
}

fn log(records: &[&str]) -> String {
    [&[HEADER], records].concat().join("\n") + "\n"
}

fn drift(path: &str, records: &[&str]) -> DriftReport {
    drift_by(&adapter(Some(&MEMBERS)), path, &log(records))
}

/// What has changed, one line per change: what, type, pointer, count, first place.
fn lines(group: &DriftGroup) -> Vec<String> {
    let line = |row: &serde_json::Value| {
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let types = if row["found"].is_null() {
            String::new()
        } else {
            format!("({} {})", text(&row["expected"]), text(&row["found"]))
        };
        let first = format!(
            "{}:{}{}",
            text(&row["first"]["path"]),
            row["first"]["line"],
            text(&row["first"]["pointer"])
        );
        format!(
            "{}{types} {} {} {} {first}",
            text(&row["what"]),
            text(&row["type"]),
            text(&row["pointer"]),
            row["count"]
        )
    };
    let rows = serde_json::to_value(&group.rows).unwrap();
    rows.as_array().unwrap().iter().map(line).collect()
}

fn all(report: &DriftReport) -> Vec<String> {
    report.groups().iter().flat_map(lines).collect()
}

const SAY: &str = r#"{"type":"say","text":"x"}"#;

#[test]
fn a_log_that_has_not_changed_gives_nothing() {
    let records = [
        SAY,
        r#"{"type":"say","text":"x","mood":"y","usage":{"tokens":1},"env":{"any":"thing"}}"#,
        r#"{"type":"say","text":"x","mood":null}"#,
        r#"{"type":"result","id":"c","data":{"code":0,"out":"x"}} {"type":"result","id":"c","data":{"code":0,"line":3}}"#,
        r#"{"type":"result","id":"c","data":{"code":0,"line":3}}"#,
        r#"{"type":"result","id":"c","data":{"code":0,"line":3}}"#,
        r#"{"type":"result","id":"c","data":{"of":"another tool"}}"#,
        r#"{"type":"blocks","blocks":["a"]}"#,
    ];
    let report = drift("a", &records);
    let groups = report.groups();
    assert!(
        groups[0].is_empty() && groups[0].members_checked,
        "{groups:?}"
    );
    assert_eq!(
        (
            groups.len(),
            groups[0].version.as_deref(),
            report.sessions(),
            report.records()
        ),
        (1, Some("1.0.0"), 1, 10)
    );
}

#[test]
fn unknown_members_and_type_changes_are_counted_with_their_first_place() {
    let records = [
        SAY,
        r#"{"type":"say","text":"x","usage":{"tokens":"1","n/w":2}}"#,
        r#"{"type":"say","text":"x","usage":{"tokens":true,"n/w":2},"env":{"a":1,"b":1}} {"type":"say","text":"x","new":1}"#,
    ];
    assert_eq!(
        all(&drift("a", &records)),
        [
            "unknown_member say /new 1 a:4/new",
            "unknown_member say /usage/n~1w 2 a:3/usage/n~1w",
            "type_change(string number) say /env/* 2 a:4/env/a",
            "type_change(number bool) say /usage/tokens 1 a:4/usage/tokens",
            "type_change(number string) say /usage/tokens 1 a:3/usage/tokens",
        ]
    );
    let report = drift("a", &records);
    assert_eq!(report.groups()[0].rows[0].first.part, 1);
}

#[test]
fn null_is_a_change_of_type_where_the_table_does_not_allow_it() {
    let records = [
        r#"{"type":"say","text":"x","mood":null,"usage":{"tokens":null}}"#,
        r#"{"type":"say","text":"x","usage":null,"env":{"a":null}}"#,
    ];
    assert_eq!(
        all(&drift("a", &records)),
        [
            "type_change(string null) say /env/* 1 a:3/env/a",
            "type_change(number null) say /usage/tokens 1 a:2/usage/tokens",
        ]
    );
}

#[test]
fn unknown_types_are_those_of_the_table_and_those_of_the_conversion() {
    let records = [
        // Unknown to both.
        r#"{"type":"new"}"#,
        r#"{"type":"new"}"#,
        // Unknown to the table.
        r#"{"type":"echo"}"#,
        // A block, which only the conversion knows.
        r#"{"type":"blocks","blocks":["a",{"b":1}]}"#,
    ];
    assert_eq!(
        all(&drift("a", &records)),
        [
            "unknown_type block /blocks/* 1 a:5/blocks/1",
            "unknown_type echo  1 a:4",
            "unknown_type new  2 a:2"
        ]
    );
}

#[test]
fn a_member_has_stopped_appearing_if_no_object_of_the_version_has_it() {
    let gone = r#"{"type":"result","words":"x"}"#;
    let missing = |report: &DriftReport| {
        all(report)
            .into_iter()
            .filter(|line| line.starts_with("missing"))
            .collect::<Vec<_>>()
    };
    assert!(
        missing(&drift("a", &[gone, gone])).is_empty(),
        "two objects prove nothing"
    );
    let three = ["missing_member result /id 3 a:2/id"];
    assert_eq!(missing(&drift("a", &[gone, gone, gone])), three);
    // Over several sessions, but one is enough to show that the member is still there.
    let mut report = drift("a", &[gone, gone]);
    report.merge(drift("b", &[gone]));
    assert_eq!(missing(&report), three);
    report.merge(drift("c", &[r#"{"type":"result","id":"c"}"#]));
    assert!(missing(&report).is_empty());
    assert_eq!((report.sessions(), report.groups()[0].sessions), (3, 3));
}

#[test]
fn a_renamed_member_is_unknown_and_missing_but_an_alias_is_neither() {
    let renamed = r#"{"type":"say","text":"x","usage":{"token":1}}"#;
    assert_eq!(
        all(&drift("a", &[renamed, renamed, renamed])),
        [
            "unknown_member say /usage/token 3 a:2/usage/token",
            "missing_member say /usage/tokens 3 a:2/usage/tokens"
        ]
    );
    assert!(all(&drift("a", &[r#"{"type":"say","text":"x","tone":"y"}"#])).is_empty());
}

#[test]
fn a_change_belongs_to_the_version_that_wrote_the_record() {
    let (newer, new) = (
        r#"{"type":"toy","version":"1.9.0","session":"s-1"}"#,
        r#"{"type":"say","text":"x","new":1}"#,
    );
    let gone = r#"{"type":"say","words":"x"}"#;
    let report = drift("a", &[SAY, gone, gone, newer, new, gone]);
    let groups = report.groups();
    let versions: Vec<(Option<&str>, u64)> = groups
        .iter()
        .map(|group| (group.version.as_deref(), group.records))
        .collect();
    assert_eq!(versions, [(Some("1.0.0"), 4), (Some("1.9.0"), 3)]);
    assert_eq!(lines(&groups[0]), ["unknown_member say /words 2 a:3/words"]);
    assert_eq!(
        lines(&groups[1]),
        [
            "unknown_member say /new 1 a:6/new",
            "unknown_member say /words 1 a:7/words"
        ]
    );
    assert_eq!(report.sessions(), 1);
}

#[test]
fn documents_and_records_inside_records_are_compared() {
    let document = format!(
        r#"{{"document":[{HEADER},{SAY},{{"type":"say","text":"x","new":1}},{{"type":"new"}}],"extra":1}}"#
    );
    let report = drift_by(&adapter(Some(&MEMBERS)), "a", &document);
    assert_eq!(
        all(&report),
        [
            "unknown_type new  1 a:null/document/3",
            "unknown_member document /extra 1 a:null/extra",
            "unknown_member say /new 1 a:null/document/2/new"
        ]
    );
    assert_eq!(
        (report.groups()[0].version.as_deref(), report.records()),
        (Some("1.0.0"), 4)
    );
    assert_eq!(
        all(&drift_by(&adapter(None), "a", &document)),
        ["unknown_type new  1 a:null/document/3"]
    );
    let inside = r#"{"type":"state","inner":[{"type":"say","text":1},{"type":"state","inner":[{"type":"none"}]}]}"#;
    assert_eq!(
        all(&drift("a", &[inside])),
        [
            "unknown_type none  1 a:2/inner/1/inner/0",
            "type_change(string number) say /text 1 a:2/inner/0/text"
        ]
    );
}

#[test]
fn what_only_the_adapter_can_choose_is_taken_from_the_conversion() {
    // Without the adapter this fits the data of another tool best.
    let renamed = log(&[r#"{"type":"result","id":"c","data":{"status":0,"output":"x"}}"#]);
    assert!(all(&drift_by(&adapter(Some(&MEMBERS)), "a", &renamed)).is_empty());
    let checks = Tabled {
        checks: true,
        ..adapter(Some(&MEMBERS))
    };
    let expected = [
        "unknown_member result /data/output 1 a:2",
        "unknown_member result /data/status 1 a:2",
    ];
    assert_eq!(all(&drift_by(&checks, "a", &renamed)), expected);
    // What both find is counted once.
    assert_eq!(
        all(&drift_by(
            &checks,
            "a",
            &log(&[r#"{"type":"say","text":"x","mood":1}"#])
        ))
        .len(),
        1
    );
}

#[test]
fn without_a_table_only_unknown_types_are_found() {
    let report = drift_by(
        &adapter(None),
        "a",
        &log(&[r#"{"type":"say","text":"x","new":1}"#, r#"{"type":"new"}"#]),
    );
    assert_eq!(all(&report), ["unknown_type new  1 a:3"]);
    assert!(!report.groups()[0].members_checked);
    assert!(drift("a", &[SAY]).groups()[0].members_checked);
}

#[test]
fn changes_are_bounded_and_further_ones_are_counted() {
    let records: Vec<String> = (0..MAX_DRIFT_ROWS + 10)
        .map(|n| format!(r#"{{"type":"say","text":"x","new{n}":1}}"#))
        .collect();
    let records: Vec<&str> = records.iter().map(String::as_str).collect();
    let mut report = drift("a", &records);
    let further = |report: &DriftReport| (report.groups()[0].rows.len(), report.groups()[0].more);
    assert_eq!(further(&report), (MAX_DRIFT_ROWS, 10));
    report.merge(drift(
        "b",
        &[r#"{"type":"say","text":"x","other":1}"#, records[0]],
    ));
    assert_eq!(further(&report), (MAX_DRIFT_ROWS, 11));
    assert_eq!(report.groups()[0].rows[0].count, 2);
}

#[test]
fn a_broken_line_and_a_cut_document_are_compared_as_far_as_they_are_json() {
    let broken = r#"{"type":"say","text":"x","new":1} {"type":"sa"#;
    assert_eq!(
        all(&drift(
            "a",
            &[broken, r#"{"type":"say","text":"x","new":1}"#]
        )),
        ["unknown_member say /new 2 a:2/new"]
    );
    let cut = format!(r#"{{"document":[{HEADER},{{"type":"say","text":"x","new":1}},{{"type":"sa"#);
    assert_eq!(
        all(&drift_by(&adapter(Some(&MEMBERS)), "a", &cut)),
        ["unknown_member say /new 1 a:null/document/1/new"]
    );
}
