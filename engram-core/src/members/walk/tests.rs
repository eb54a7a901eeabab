//! What a walk finds along a table.

use super::super::MemberSource;
use super::super::node::RawNode;
use super::*;

const TABLE: &str = r#"
rule ui.state  State of the screen.

shape usage
  input     count          as meta.usage.tokens.input
  more?     object         =usage

record message feeds msg.in msg.out
  id|uuid   string         tape
  usage?    object         =usage
  more+?    number         tape
  at?       time|millis    tape
  exit?     integer        tape
  args?     any            free tape
  env?      object         omit ui.state
    *       string
  list?     string|array   tape
    []      object
      type  string         as tool.call
      by type
      case text
        text string
      case other
      else unrecognized
  result?   object
    by @tool
    case Bash
      stdout string        tape
    else free omit ui.state
  deep?     object
    inner   object
      by ../../id
      case a
        x   number         tape
"#;

#[derive(Default)]
struct Found(Vec<String>);

impl<'a, N: JsonNode<'a>> Visitor<N> for Found {
    const LEAVES: bool = true;
    const REQUIRED: bool = true;

    fn unknown(&mut self, path: &Path<'_, N>) {
        self.0
            .push(format!("unknown {} {}", path.pointer(), path.pattern()));
    }

    fn mismatch(&mut self, path: &Path<'_, N>, row: &Row) {
        self.0.push(format!(
            "mismatch {} {}, not {}",
            path.pointer(),
            row.found(path.node),
            row.expected()
        ));
    }

    fn leaf(&mut self, path: &Path<'_, N>, row: &Row) {
        self.0.push(format!(
            "{:?} {}",
            row.fate.as_ref().unwrap().kind,
            path.pointer()
        ));
    }

    fn required(&mut self, object: &Path<'_, N>, name: &str, is_present: bool) {
        if !is_present {
            self.0.push(format!("absent {}/{name}", object.pointer()));
        }
    }
}

fn walk(json: &str, tool: Option<&str>) -> Vec<String> {
    let table = MemberTable::parse(TABLE).unwrap();
    let mut found = Found::default();
    Walk::of(&table, &|_| tool).record(
        table.record("message").unwrap(),
        &Path::root(RawNode::parse(json).unwrap()),
        &mut found,
    );
    found.0
}

#[test]
fn members_without_a_row_and_of_other_types_are_found() {
    assert_eq!(
        walk(
            r#"{"id":"x","usage":{"input":"1","more":{"input":1,"n/w":2}}}"#,
            None
        ),
        [
            "Tape /id",
            "mismatch /usage/input string, not count",
            "As /usage/more/input",
            "unknown /usage/more/n~1w /usage/more/n~1w"
        ]
    );
    assert_eq!(
        walk(r#"{"uuid":"x","id2":1}"#, None),
        ["Tape /uuid", "unknown /id2 /id2"]
    );
    assert_eq!(walk(r#"{"usage":null}"#, None), ["absent /id"]);
    assert_eq!(
        walk(r#"{"id":"x","usage":{"input":null}}"#, None),
        ["Tape /id", "mismatch /usage/input null, not count"]
    );
    assert_eq!(
        walk(r#"{"id":null,"args":null}"#, None),
        ["mismatch /id null, not string"]
    );
    assert_eq!(walk("[]", None), ["mismatch  array, not object"]);
    assert_eq!(
        walk(r#"{"id":"x","usage":{"input":1,"input":2}}"#, None)[..2],
        ["Tape /id", "unknown /usage/input /usage/input"]
    );
    assert_eq!(
        walk(r#"{"id":"x","more":1,"more":2}"#, None),
        ["Tape /id", "Tape /more", "Tape /more"]
    );
}

#[test]
fn counts_integers_and_times_have_their_form() {
    let found = |json: &str| {
        walk(&format!(r#"{{"id":"x",{json}}}"#), None)
            .into_iter()
            .nth(1)
            .unwrap()
    };
    for (json, expected) in [
        (
            r#""usage":{"input":-1}"#,
            "mismatch /usage/input number, not count",
        ),
        (
            r#""usage":{"input":1.5}"#,
            "mismatch /usage/input number, not count",
        ),
        (
            r#""usage":{"input":18446744073709551616}"#,
            "mismatch /usage/input number, not count",
        ),
        (
            r#""usage":{"input":18446744073709551615}"#,
            "As /usage/input",
        ),
        (r#""exit":-1"#, "Tape /exit"),
        (r#""exit":1e0"#, "mismatch /exit number, not integer"),
        (r#""at":"2026-11-21T10:02:05Z""#, "Tape /at"),
        (r#""at":1795256784268"#, "Tape /at"),
        (
            r#""at":"yesterday""#,
            "mismatch /at unreadable time, not time|millis",
        ),
        (r#""at":true"#, "mismatch /at bool, not time|millis"),
    ] {
        assert_eq!(found(json), expected);
    }
}

#[test]
fn user_data_and_maps_are_not_described() {
    assert_eq!(
        walk(r#"{"id":"x","args":{"a":[1]},"env":{"HOME":"y"}}"#, None),
        ["Tape /id", "Tape /args", "Omit /env/HOME"]
    );
    assert_eq!(
        walk(r#"{"id":"x","env":{"HOME":1}}"#, None),
        ["Tape /id", "mismatch /env/HOME number, not string"]
    );
}

#[test]
fn cases_are_chosen_by_a_member_an_outer_member_or_the_adapter() {
    let json = r#"{"id":"x","list":[{"type":"text","text":"a"},{"type":"other","text":"a"},{"type":"new","text":1}]}"#;
    assert_eq!(
        walk(json, None)[1..],
        [
            "As /list/0/type",
            "Tape /list/0/text",
            "As /list/1/type",
            "unknown /list/1/text /list/*/text"
        ]
    );
    assert_eq!(
        walk(r#"{"id":"a","deep":{"inner":{"x":1}}}"#, None),
        ["Tape /id", "Tape /deep/inner/x"]
    );
    assert_eq!(
        walk(r#"{"id":"b","deep":{"inner":{"x":1}}}"#, None),
        ["Tape /id", "unknown /deep/inner /deep/inner"]
    );
    assert_eq!(
        walk(r#"{"id":"b","result":{"out":1}}"#, Some("Bash"))[1..],
        ["unknown /result/out /result/out", "absent /result/stdout"]
    );
    assert_eq!(
        walk(r#"{"id":"b","result":{"out":1}}"#, Some("mine"))[1..],
        ["Omit /result"]
    );
}

#[test]
fn the_case_that_fits_best_applies_if_the_adapter_does_not_know() {
    assert_eq!(
        walk(r#"{"id":"b","result":{"stdout":"x"}}"#, None)[1..],
        ["Tape /result/stdout"]
    );
    assert_eq!(
        walk(r#"{"id":"b","result":{"a":1,"b":2}}"#, None)[1..],
        ["Omit /result"]
    );
    assert_eq!(
        walk(r#"{"id":"b","result":{"a":1}}"#, None)[1..],
        ["Omit /result"]
    );
    assert_eq!(
        walk(r#"{"id":"b","result":{"stdout":"x","a":1}}"#, None)[1..],
        ["Tape /result/stdout", "unknown /result/a /result/a"]
    );
}

/// The patterns of all values with a row.
#[derive(Default)]
struct Values(Vec<String>);

impl<N: Copy> Visitor<N> for Values {
    const VALUES: bool = true;

    fn unknown(&mut self, _: &Path<'_, N>) {}

    fn mismatch(&mut self, _: &Path<'_, N>, _: &Row) {}

    fn value(&mut self, path: &Path<'_, N>, _: &Row, _: Option<&Row>) {
        self.0.push(path.pattern());
    }
}

#[test]
fn every_value_with_a_row_is_visited_before_those_in_it() {
    let table = MemberTable::parse(TABLE).unwrap();
    let mut values = Values::default();
    let json = r#"{"id":"x","x":1,"usage":{"input":1,"more":null},"args":{"a":1},"env":{"HOME":"y"},"list":[{"type":"other"}]}"#;
    let walk = Walk::of(&table, &|_| None);
    walk.record(
        table.record("message").unwrap(),
        &Path::root(RawNode::parse(json).unwrap()),
        &mut values,
    );
    let expected = [
        "",
        "/id",
        "/usage",
        "/usage/input",
        "/usage/more",
        "/args",
        "/env",
        "/env/*",
        "/list",
        "/list/*",
        "/list/*/type",
    ];
    assert_eq!(values.0, expected);
}

#[test]
fn shapes_that_contain_themselves_end() {
    let deep = format!(
        "{}{}",
        r#"{"id":"x","usage":"#.to_owned() + &r#"{"input":1,"more":"#.repeat(100),
        "null".to_owned() + &"}".repeat(101)
    );
    assert_eq!(walk(&deep, None).len(), 101);
}

#[test]
fn wrong_tables_are_errors_with_a_line() {
    for (table, line) in [
        (
            "record a
  b string",
            2,
        ),
        (
            "record a
  b strong tape",
            2,
        ),
        (
            "record a
  b object =none",
            2,
        ),
        (
            "record a
  case x",
            2,
        ),
        (
            "record a
  b any tape",
            2,
        ),
        (
            "record a
  b string tape
    c string tape",
            2,
        ),
        (
            "record a
record a",
            2,
        ),
        (
            "shape a
  include a
record b
  include a",
            2,
        ),
        ("rule a", 1),
        ("other a", 1),
        (
            "record a
  b string tape later",
            2,
        ),
    ] {
        assert_eq!(MemberTable::parse(table).unwrap_err().line, line, "{table}");
    }
}

#[test]
fn the_document_that_fits_best_is_chosen() {
    let table = MemberTable::parse(
            "document object feeds meta\n  a string tape\ndocument array feeds msg.in\n  [] object\n    b string tape\n",
        )
        .unwrap();
    let feeds = |json: &str| {
        table
            .document(RawNode::parse(json).unwrap())
            .unwrap()
            .feeds
            .to_vec()
    };
    assert_eq!(feeds(r#"{"a":"x"}"#), [crate::event::Kind::Meta]);
    assert_eq!(feeds(r#"[{"b":"x"}]"#), [crate::event::Kind::MsgIn]);
    assert_eq!(
        feeds(r#"{"renamed":"x"}"#),
        [crate::event::Kind::Meta],
        "not a document of another JSON type"
    );
}

#[test]
fn all_values_of_a_record_that_is_omitted_have_its_fate() {
    let text = "shape line\n  a string tape\n  b object\n    c number as t\nrecord x omit r\n  include line\nrecord y\n  include line\n";
    let table = MemberTable::parse(text).unwrap();
    let fates = |record: &str| {
        let mut found = Found::default();
        let walk = Walk::of(&table, &|_| None);
        walk.record(
            table.record(record).unwrap(),
            &Path::root(RawNode::parse(r#"{"a":"x","b":{"c":1}}"#).unwrap()),
            &mut found,
        );
        found.0
    };
    assert_eq!(fates("x"), ["Omit /a", "Omit /b/c"]);
    assert_eq!(fates("y"), ["Tape /a", "As /b/c"]);
}

#[test]
fn a_record_type_can_be_a_beginning() {
    let table = MemberTable::parse("record a/b\nrecord a/*\nrecord \"\"\n").unwrap();
    let name = |record: &str| table.record(record).map(|shape| &*shape.name);
    assert_eq!(
        [name("a/b"), name("a/c"), name(""), name("b")],
        [Some("a/b"), Some("a/*"), Some(""), None]
    );
}

/// What the types of the same harness declare.
const DECLARED: &str = r#"
rule declared  The types have it.

record message omit declared
  at     string|null
  usage  object
    input number|null
    total number
  list   array
    []   object
      type string
      by type
      case image
        url string
      case other
        size number
  env    array free
  new    object
    text string
    next? any free

record later feeds meta omit declared
  text   string
"#;

fn walk_declared(record: &str, json: &str) -> Vec<String> {
    static TYPES: MemberSource = MemberSource::new(&[DECLARED]);
    static BOTH: MemberSource = MemberSource::with_declared(&[TABLE], &TYPES);
    let (table, shape) = BOTH.table().unwrap().of_record(record).unwrap();
    let mut found = Found::default();
    let root = RawNode::parse(json).unwrap();
    Walk::of(table, &|_| None).record(shape, &Path::root(root), &mut found);
    found.0
}

#[test]
fn what_the_types_declare_is_known() {
    for (json, expected) in [
        (
            r#"{"id":"x","new":{"text":"a","next":[1]}}"#,
            &["Omit /new/text", "Omit /new/next"][..],
        ),
        // What the types do not have below it is unknown.
        (
            r#"{"id":"x","new":{"text":1,"more":2}}"#,
            &[
                "mismatch /new/text number, not string",
                "unknown /new/more /new/more",
            ],
        ),
        (
            r#"{"id":"x","usage":{"input":null,"total":1}}"#,
            &["Omit /usage/total"],
        ),
        (r#"{"id":"x","env":[1]}"#, &["Omit /env"]),
        (
            r#"{"id":"x","list":[{"type":"image","url":"a"}]}"#,
            &["Omit /list/0/type", "Omit /list/0/url"],
        ),
        // The table has a case for it, and the types have a member.
        (
            r#"{"id":"x","list":[{"type":"other","size":1}]}"#,
            &["As /list/0/type", "Omit /list/0/size"],
        ),
    ] {
        assert_eq!(walk_declared("message", json)[1..], *expected, "{json}");
    }
    assert_eq!(walk_declared("later", r#"{"text":"a"}"#), ["Omit /text"]);
}

#[test]
fn what_the_types_do_not_declare_is_unknown() {
    for (json, expected) in [
        // A type of JSON that the types have. But the value has a type of the row, and not its form.
        (
            r#"{"id":"x","usage":{"input":1.5}}"#,
            "mismatch /usage/input number, not count",
        ),
        (
            r#"{"id":"x","at":"soon"}"#,
            "mismatch /at unreadable time, not time|millis",
        ),
        (
            r#"{"id":"x","usage":{"input":true}}"#,
            "mismatch /usage/input bool, not count",
        ),
        (r#"{"id":"x","newer":1}"#, "unknown /newer /newer"),
        (r#"{"id":"x","id":"y"}"#, "unknown /id /id"),
        (
            r#"{"id":"x","deep":{"inner":{"x":1}}}"#,
            "unknown /deep/inner /deep/inner",
        ),
    ] {
        assert!(
            walk_declared("message", json).contains(&expected.to_owned()),
            "{json}: {:?}",
            walk_declared("message", json)
        );
    }
}
