//! A toy conversion that runs through the three steps: prompts, which a later line may take back, and what each cost, which a later line says.

use std::cell::RefCell;
use std::io::{Cursor, Write as _};

use serde_json::Value as Json;

use super::{Check, Conversion, Emitter, Item, Record};
use crate::adapter::{Evidence, Framing, Identity, SessionInit, StreamAdapter};
use crate::coverage::{Coverage, Grade};
use crate::descriptor::{AdapterDescriptor, OmissionRule, UnknownVersionPolicy};
use crate::emit::{Fault, Pointer, RecordHeader};
use crate::error::{AdapterError, ErrorCode};
use crate::event::{Author, Meta, MsgIn, Tokens, Usage};
use crate::head::Head;
use crate::json::Value;
use crate::keys::hash64;
use crate::ledger::Outcome;
use crate::members::MemberSource;
use crate::pipeline::{Input, Options, Source, convert};
use crate::policy::Policy;
use crate::tape::JsonLines;
use crate::version::{Revision, VersionMatrix};

static DECLARED: MemberSource = MemberSource::new(&["rule declared  The types have it.\n\n\
     record prompt omit declared\n  mood string\n\n\
     record weather feeds meta omit declared\n  type string\n  degrees number|null\n"]);

static MEMBERS: MemberSource = MemberSource::with_declared(
    &["document object feeds msg.in\n  prompts array records\n\n\
     record prompt feeds msg.in\n  type string as k\n  id string tape\n  text string tape\n\n\
     record cost feeds meta\n  type string as k\n  of string tape\n  tokens count as meta.usage.tokens.input\n"],
    &DECLARED,
);

static DESCRIPTOR: AdapterDescriptor = AdapterDescriptor {
    adapter_id: "toy",
    adapter_version: "1.0.0",
    harness_family: "toy",
    matrix: VersionMatrix {
        revisions: &[Revision {
            schema: "toy",
            versions: None,
            tested: &["1"],
            coverage: COVERAGE,
        }],
        swept: &[],
        known_bad: &[],
    },
    schema_detection_strategy: "all logs are toys",
    coverage: COVERAGE,
    unknown_version_policy: UnknownVersionPolicy::StrictFail,
    record_type: &["/type"],
    members: Some(&MEMBERS),
    gaps: &[],
    omission_rules: &[OmissionRule::duplicate(
        OmissionRule::REPEATED.rule,
        "*",
        "the same bytes again",
    )],
};

const COVERAGE: Coverage = Coverage {
    meta: Grade::Full,
    msg_in: Grade::Full,
    msg_out: Grade::None,
    tool_call: Grade::None,
    tool_result: Grade::None,
    code_read: Grade::None,
    code_edit: Grade::None,
    span_link: Grade::None,
};

struct Toy;

impl StreamAdapter for Toy {
    fn describe(&self) -> &'static AdapterDescriptor {
        &DESCRIPTOR
    }

    fn probe(&self, head: &Head<'_>) -> Option<Evidence> {
        let framing = if head.text().starts_with("{\"prompts\"") {
            Framing::Document
        } else {
            Framing::Lines
        };
        Some(Evidence {
            marks: vec!["toy"],
            framing,
        })
    }

    fn identify(&self, _: &Head<'_>) -> Identity {
        Identity {
            schema: Some("toy"),
            ..Identity::default()
        }
    }

    fn conversion(&self, _: &SessionInit<'_>) -> Box<dyn Conversion> {
        Box::new(Prompts::default())
    }
}

/// What a record says: an id, and whether it is a prompt.
struct Note {
    number: usize,
    id: u64,
    is_prompt: bool,
}

#[derive(Default)]
struct Prompts {
    notes: Vec<Note>,
    /// For each prompt: the record that says what it cost.
    costs: Vec<(usize, usize)>,
}

impl Conversion for Prompts {
    fn repeats_are_exact(&self) -> bool {
        true
    }

    fn items<'a>(
        &mut self,
        document: Value<'a>,
        check: &mut Check<'_>,
    ) -> Result<Vec<Item<'a>>, Fault> {
        check.document(document);
        let list = document
            .member("prompts")
            .ok_or_else(|| Fault::malformed("/prompts", "a list", "nothing"))?;
        Ok(list
            .elements()
            .enumerate()
            .map(|(n, prompt)| Item::of_list(prompt, "/prompts", n))
            .collect())
    }

    fn check(&mut self, record: &Record<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
        let text = |name: &str| {
            record
                .value
                .member(name)
                .map(Value::raw_str)
                .unwrap_or_default()
        };
        let (kind, number) = (text("type"), record.number);
        let id = match kind {
            "prompt" => text("id"),
            "cost" => text("of"),
            _ => return Err(Fault::unrecognized(kind)),
        };
        check.members(kind, record.value, Pointer::Root, &|_| None);
        check.identify();
        self.notes.push(Note {
            number,
            id: hash64(id),
            is_prompt: kind == "prompt",
        });
        Ok(())
    }

    fn decide(&mut self) {
        let cost_of = |id| {
            self.notes
                .iter()
                .find(|note| !note.is_prompt && note.id == id)
        };
        let prompts = self.notes.iter().filter(|note| note.is_prompt);
        self.costs = prompts
            .filter_map(|prompt| Some((prompt.number, cost_of(prompt.id)?.number)))
            .collect();
    }

    fn emit(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
        let text = record.value.member("text").and_then(Value::text);
        if text.is_none() {
            return Outcome::Mapped;
        }
        out.set_header(RecordHeader::new(
            None,
            record.value.member("id").and_then(Value::text),
        ));
        out.emit(MsgIn::user(Author::Person, text), Pointer::At("/text"));
        if let Some((_, cost)) = self
            .costs
            .iter()
            .find(|(prompt, _)| *prompt == record.number)
        {
            let mut again = record.others.get(*cost).expect("the record of the cost");
            let input = again
                .value()
                .and_then(|cost| cost.member("tokens")?.unsigned());
            let usage = Usage {
                tokens: Tokens {
                    input,
                    ..Tokens::default()
                },
                ..Usage::default()
            };
            out.of_record(*cost, RecordHeader::default(), |out| {
                out.emit(Meta::Usage(usage), Pointer::At("/tokens"))
            });
        }
        Outcome::Mapped
    }
}

fn converted(log: &str, policy: Policy) -> Result<Vec<Json>, AdapterError> {
    let mut tape = Vec::new();
    let options = Options {
        policy,
        ..Options::default()
    };
    convert(
        &Toy,
        Input::new(log.as_bytes(), options.limits),
        &options,
        &mut JsonLines::new(&mut tape),
    )?;
    let mut from_memory = Vec::new();
    convert(
        &Toy,
        Input::in_memory(log, options.limits),
        &options,
        &mut JsonLines::new(&mut from_memory),
    )?;
    assert!(tape == from_memory);
    Ok(String::from_utf8(tape)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect())
}

fn prompt(id: &str, text: &str) -> String {
    format!(r#"{{"type":"prompt","id":"{id}","text":"{text}"}}"#)
}

fn cost(of: &str, tokens: u32) -> String {
    format!(r#"{{"type":"cost","of":"{of}","tokens":{tokens}}}"#)
}

/// Kind, line and text or tokens of all events but start and stop.
fn shown(tape: &[Json]) -> Vec<String> {
    let shown = |event: &Json| {
        format!(
            "{} {} {}{}",
            event["k"], event["origin"]["line"], event["text"], event["tokens"]["input"]
        )
    };
    tape[1..tape.len() - 1]
        .iter()
        .map(|event| shown(event).replace('"', "").replace("null", ""))
        .collect()
}

#[test]
fn a_late_fact_stands_where_it_belongs_with_the_origin_of_its_own_record() {
    let log = [
        prompt("a", "one"),
        prompt("b", "two"),
        cost("a", 7),
        cost("b", 8),
    ]
    .join("\n");
    let tape = converted(&log, Policy::Strict).unwrap();
    assert_eq!(
        shown(&tape),
        ["msg.in 1 one", "meta 3 7", "msg.in 2 two", "meta 4 8"]
    );
    assert_eq!(tape.last().unwrap()["ledger"]["mapped"], 4);
    // The header of the record goes on after the event of another one.
    assert_eq!(
        (&tape[1]["origin"]["id"], &tape[2]["origin"]["id"]),
        (&"a".into(), &Json::Null)
    );
}

#[test]
fn a_mapped_record_without_an_event_is_a_defect() {
    let error = converted(
        &[prompt("a", "one"), cost("other", 7)].join("\n"),
        Policy::Strict,
    )
    .unwrap_err();
    assert_eq!(
        (error.code, error.line),
        (ErrorCode::AdapterDefect, Some(2))
    );
}

#[test]
fn strict_policy_emits_nothing_of_a_log_with_an_unknown_record() {
    let log = [prompt("a", "one"), r#"{"type":"new"}"#.to_owned()].join("\n");
    let mut tape = Vec::new();
    let options = Options {
        policy: Policy::Strict,
        ..Options::default()
    };
    let error = convert(
        &Toy,
        Input::in_memory(&log, options.limits),
        &options,
        &mut JsonLines::new(&mut tape),
    )
    .unwrap_err();
    assert_eq!(
        (error.code, error.line, tape.len()),
        (ErrorCode::UnrecognizedRecord, Some(2), 0)
    );
    let tape = converted(&log, Policy::Permissive).unwrap();
    assert_eq!(
        (&tape[2]["name"], &tape[3]["ledger"]["unrecognized"]),
        (&"new".into(), &1.into())
    );
}

#[test]
fn claims_are_lowered_before_the_first_event_of_a_record_with_an_unknown_member() {
    let other = prompt("b", "two").replace("\"id\"", "\"x\":1,\"id\"");
    let log = [prompt("a", "one"), other].join("\n");
    assert_eq!(
        converted(&log, Policy::Strict).unwrap_err().code,
        ErrorCode::UnknownMember
    );
    let tape = converted(&log, Policy::Permissive).unwrap();
    assert_eq!(
        tape.iter()
            .map(|event| event["label"].as_str().unwrap_or("prompt"))
            .collect::<Vec<_>>(),
        ["tape.start", "prompt", "revision", "prompt", "tape.stop"]
    );
    assert_eq!(tape[4]["ledger"]["unknown_members"][0]["pointer"], "/x");
}

#[test]
fn what_only_the_types_declare_is_no_fault() {
    let weather = r#"{"type":"weather","degrees":null}"#;
    let member = prompt("a", "one").replace("\"id\"", "\"mood\":\"x\",\"id\"");
    let tape = converted(&[member.as_str(), weather].join("\n"), Policy::Strict).unwrap();
    assert_eq!(shown(&tape)[0], "msg.in 1 one");
    let (notice, stop) = (&tape[2], &tape[3]["ledger"]);
    assert_eq!(
        (&notice["label"], &notice["name"], &notice["text"]),
        (&"system".into(), &"weather".into(), &weather.into())
    );
    assert_eq!(
        (&stop["mapped"], &stop["unknown_members"]),
        (&2.into(), &Json::Null)
    );
    // The types declare neither this member of the record, nor this type of a value.
    for other in [r#""degrees":1,"wind":2"#, r#""degrees":"warm""#] {
        let log = format!(r#"{{"type":"weather",{other}}}"#);
        let error = converted(&log, Policy::Strict).unwrap_err();
        assert_eq!(error.code, ErrorCode::UnknownMember, "{other}");
        let tape = converted(&log, Policy::Permissive).unwrap();
        assert_eq!(tape[1]["label"], "revision", "{other}");
    }
}

#[test]
fn damaged_lines_lose_only_what_is_damaged() {
    let (one, two, three) = (prompt("a", "one"), prompt("b", "two"), prompt("c", "three"));
    let log = format!(
        "{}{two}\n\0\0\0{three}\n{}\n",
        &one[..one.len() - 4],
        prompt("d", "é")
    );
    assert_eq!(
        converted(&log, Policy::Strict).unwrap_err().code,
        ErrorCode::MalformedRecord
    );
    let tape = converted(&log, Policy::Permissive).unwrap();
    let texts: Vec<&str> = tape
        .iter()
        .filter(|event| event["k"] == "msg.in")
        .filter_map(|event| event["text"].as_str())
        .collect();
    assert_eq!(
        (texts, &tape.last().unwrap()["ledger"]["malformed"]),
        (vec!["two", "three", "é"], &2.into())
    );
    // A record that is cut inside a character.
    let mut bytes = prompt("d", "é").into_bytes();
    bytes.truncate(bytes.len() - 3);
    bytes.extend(format!("{two}\n").into_bytes());
    let mut tape = Vec::new();
    convert(
        &Toy,
        Input::new(&bytes[..], Options::default().limits),
        &Options::default(),
        &mut JsonLines::new(&mut tape),
    )
    .unwrap();
    let tape = String::from_utf8(tape).unwrap();
    assert!(
        tape.contains(r#""text":"two""#) && tape.contains(r#""malformed":1"#),
        "{tape}"
    );
}

#[test]
fn repeats_reach_no_step() {
    let tape = converted(
        &[prompt("a", "one"), prompt("a", "one"), prompt("b", "one")].join("\n"),
        Policy::Strict,
    )
    .unwrap();
    assert_eq!(shown(&tape), ["msg.in 1 one", "msg.in 3 one"]);
    assert_eq!(
        tape.last().unwrap()["ledger"]["omitted"][0]["type"],
        "prompt"
    );
}

#[test]
fn items_of_a_document_have_their_place() {
    let document = format!(
        r#"{{"prompts":[{},{},{}]}}"#,
        prompt("a", "one"),
        cost("b", 1),
        prompt("b", "two")
    );
    let tape = converted(&document, Policy::Strict).unwrap();
    let pointers: Vec<&Json> = tape[1..4]
        .iter()
        .map(|event| &event["origin"]["pointer"])
        .collect();
    assert_eq!(
        pointers,
        ["/prompts/0/text", "/prompts/2/text", "/prompts/1/tokens"]
    );
    let cut = &document[..document.len() - 4];
    let tape = converted(cut, Policy::Permissive).unwrap_err();
    // The prompt that the cost belongs to is missing.
    assert_eq!(tape.code, ErrorCode::AdapterDefect);
}

#[test]
fn a_large_log_is_read_twice_from_a_file_and_a_change_in_between_is_an_error() {
    let log: String = (0..60_000)
        .map(|n| prompt(&n.to_string(), "a text of some length") + "\n")
        .collect();
    let options = Options::default();
    let convert_file = |source: Edited| {
        let mut tape = Vec::new();
        convert(
            &Toy,
            Input::of_source(source, options.limits),
            &options,
            &mut JsonLines::new(&mut tape),
        )
        .map(|_| tape)
    };
    let same = Edited {
        log: Cursor::new(log.clone().into_bytes()),
        seeks: 0,
        edit: RefCell::new(None),
    };
    let in_memory = crate::adapter::convert_str(&Toy, &log, &options).unwrap();
    assert!(convert_file(same).unwrap() == in_memory.as_bytes());
    let edited = Edited {
        log: Cursor::new(log.into_bytes()),
        seeks: 0,
        edit: RefCell::new(Some(100)),
    };
    assert_eq!(convert_file(edited).unwrap_err().code, ErrorCode::Io);
}

/// A file that another program changes while it is read.
struct Edited {
    log: Cursor<Vec<u8>>,
    seeks: u32,
    edit: RefCell<Option<u64>>,
}

impl std::io::Read for Edited {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.log.read(buffer)
    }
}

impl std::io::Seek for Edited {
    fn seek(&mut self, to: std::io::SeekFrom) -> std::io::Result<u64> {
        self.seeks += 1;
        if let Some(at) = self.edit.take() {
            self.log.seek(std::io::SeekFrom::Start(at))?;
            self.log.write_all(b"X")?;
        }
        self.log.seek(to)
    }
}

impl Source for Edited {
    fn may_have_changed(&mut self) -> bool {
        self.seeks > 0
    }
}
