//! A small adapter with a member table, which can be broken in one way each, and a recording for it.

use std::fs;

use engram_conformance::{Capabilities, Options, Outcome as Verdict, Recordings, run};
use engram_core::adapter::{
    AdapterId, Evidence, Framing, HarnessAdapter, Identity, SessionInit, StreamAdapter, string_form,
};
use engram_core::coverage::{Coverage, Grade};
use engram_core::descriptor::{AdapterDescriptor, Omission, OmissionRule, UnknownVersionPolicy};
use engram_core::emit::{Fault, Pointer};
use engram_core::error::AdapterError;
use engram_core::event::{Meta, MsgOut, SessionFacts, ToolCall};
use engram_core::head::Head;
use engram_core::json::Value;
use engram_core::ledger::Outcome;
use engram_core::members::MemberSource;
use engram_core::policy::Policy;
use engram_core::steps::{Check, Conversion, Emitter, Item, Record};
use engram_core::text::Text;
use engram_core::tool_kind::ToolKind;
use engram_core::version::{Revision, VersionMatrix};

const TABLE: &str = "
rule ui.state  State of the screen.
record toy feeds meta
  type     string  as meta.session
  version  string  as tape.start.harness.version
  at       time    omit ui.state
record say feeds msg.out
  type     string  as msg.out
  text     string  tape
  mood?    string  omit ui.state
  tokens?  object
    input  count   omit ui.state
  parts?   array
    []     object
      text string  omit ui.state
  env?     object  omit ui.state
    *      string
record call feeds tool.call
  type     string  as tool.call
  tool     string  tape
  args     any     free tape
  result   object
    by @tool
    case run
      code integer omit ui.state
    else free omit ui.state
record wrap feeds msg.out
  type     string  as msg.out
  inner    object  records
record state omit ui.state
  type     string
  screen   bool
  back?    string|null
document object feeds msg.out
  items    array   records
";

/// The log of the recording.
pub const LOG: &str = concat!(
    "{\"type\":\"toy\",\"version\":\"1.0.0\",\"at\":\"2026-11-21T10:00:00Z\"}\n",
    "{\"type\":\"say\",\"text\":\"a long enough text\",\"mood\":\"calm\",\"tokens\":{\"input\":3},\"env\":{\"HOME\":\"/x\"}}\n",
    "{\"type\":\"say\",\"text\":\"b\",\"parts\":[{\"text\":\"c\"}]}\n",
    "{\"type\":\"call\",\"tool\":\"run\",\"args\":{\"a\":[{\"b\":1}]},\"result\":{\"code\":0}}\n",
    "{\"type\":\"call\",\"tool\":\"other\",\"args\":\"x\",\"result\":{\"code\":\"y\",\"more\":1}}\n",
    "{\"type\":\"wrap\",\"inner\":{\"type\":\"say\",\"text\":\"d\"}}\n",
    "{\"type\":\"state\",\"screen\":true,\"back\":null}\n",
);

/// The records with events in a document.
pub fn document() -> String {
    let items: Vec<&str> = LOG
        .lines()
        .filter(|line| !line.contains("\"state\""))
        .collect();
    format!("{{ \"items\": [{}] }}\n", items.join(", "))
}

const COVERAGE: Coverage = Coverage {
    meta: Grade::Full,
    msg_in: Grade::None,
    msg_out: Grade::Full,
    tool_call: Grade::Full,
    tool_result: Grade::None,
    code_read: Grade::None,
    code_edit: Grade::None,
    span_link: Grade::None,
};

static DESCRIPTOR: AdapterDescriptor = AdapterDescriptor {
    adapter_id: "toy",
    adapter_version: "0.1.0",
    harness_family: "toy",
    matrix: VersionMatrix {
        revisions: &[Revision {
            schema: "toy/1",
            versions: Some("=1.0.0"),
            tested: &["1.0.0"],
            coverage: COVERAGE,
        }],
        swept: &[],
        known_bad: &[],
    },
    schema_detection_strategy: "a test",
    coverage: COVERAGE,
    unknown_version_policy: UnknownVersionPolicy::PermissiveDegrade,
    record_type: &["/type"],
    members: None,
    gaps: &[],
    omission_rules: &[OmissionRule {
        rule: "ui_state",
        omission: Omission::Bookkeeping,
        record: "state",
        pointer: None,
        reason: "a test",
    }],
};

/// How the adapter uses its table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Defect {
    /// It checks every record.
    Nothing,
    /// It does not check records without events.
    ChecksRecordsWithEvents,
    /// It checks nothing under strict policy.
    ChecksUnderPermissivePolicy,
    /// It panics if a boolean is not one.
    Panics,
}

/// The toy adapter, with the descriptor that it converts with.
struct Stream(&'static AdapterDescriptor, Defect);

/// The toy adapter, with the table that it declares.
pub struct Toy(Stream, Option<&'static MemberSource>);

/// The table with one text in place of another. It leaks memory, which is acceptable in tests.
pub fn table(from: &str, to: &str) -> Option<&'static MemberSource> {
    assert!(TABLE.contains(from), "{from}");
    let text: &'static str = TABLE.replacen(from, to, 1).leak();
    Some(Box::leak(Box::new(MemberSource::new(vec![text].leak()))))
}

impl Toy {
    /// An adapter that uses one table and declares the same or another one.
    pub fn new(
        used: Option<&'static MemberSource>,
        declared: Option<&'static MemberSource>,
        defect: Defect,
    ) -> Toy {
        Toy(
            Stream(
                Box::leak(Box::new(AdapterDescriptor {
                    members: used,
                    ..DESCRIPTOR
                })),
                defect,
            ),
            declared,
        )
    }

    /// The outcome of one check over a recording with this source, and one with a header only.
    pub fn outcome(&self, check: &str, source: &str) -> Verdict {
        let directory = tempfile::tempdir().expect("a directory");
        let header = LOG.split_inclusive('\n').next().unwrap_or_default();
        for (name, source) in [("main", source), ("short", header)] {
            let recording = directory.path().join("toy/1.0.0").join(name);
            fs::create_dir_all(recording.join("session")).expect("a directory");
            fs::write(recording.join("session/log.jsonl"), source).expect("a file");
            fs::write(recording.join("truth.json"), "{}").expect("a file");
        }
        let recordings = Recordings::load(directory.path()).expect("a recording");
        let capabilities = Capabilities {
            stream: Some(&self.0),
            ..Capabilities::default()
        };
        let report = run(
            self,
            &recordings,
            &Options {
                check: Some(check),
                capabilities,
                ..Options::default()
            },
        );
        report.adapters[0]
            .outcome(check)
            .expect("it was selected")
            .clone()
    }
}

impl HarnessAdapter for Toy {
    fn id(&self) -> AdapterId {
        AdapterId("toy")
    }

    fn convert_to_tape_jsonl(&self, input: &str) -> Result<String, AdapterError> {
        string_form(&self.0, input)
    }

    fn descriptor(&self) -> AdapterDescriptor {
        AdapterDescriptor {
            members: self.1,
            ..DESCRIPTOR
        }
    }
}

impl StreamAdapter for Stream {
    fn describe(&self) -> &'static AdapterDescriptor {
        self.0
    }

    fn probe(&self, head: &Head<'_>) -> Option<Evidence> {
        let framing = if head.text().starts_with("{ \"items") {
            Framing::Document
        } else {
            Framing::Lines
        };
        Some(Evidence {
            marks: vec!["toy"],
            framing,
        })
    }

    fn identify(&self, head: &Head<'_>) -> Identity {
        let version = head
            .text()
            .contains("\"version\":\"1.0.0\"")
            .then(|| "1.0.0".to_owned());
        Identity {
            version,
            ..Identity::default()
        }
    }

    fn conversion(&self, _init: &SessionInit<'_>) -> Box<dyn Conversion> {
        Box::new(Converter(self.1))
    }
}

struct Converter(Defect);

impl Conversion for Converter {
    fn items<'a>(
        &mut self,
        document: Value<'a>,
        check: &mut Check<'_>,
    ) -> Result<Vec<Item<'a>>, Fault> {
        check.document(document);
        let items = document.member("items").filter(|items| items.is_array());
        let items = items.ok_or_else(|| Fault::malformed("/items", "an array", "nothing"))?;
        Ok(items
            .elements()
            .enumerate()
            .map(|(at, item)| Item::of_list(item, "/items", at))
            .collect())
    }

    fn check(&mut self, record: &Record<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
        self.check_value(record.value, Pointer::Root, check)
    }

    fn decide(&mut self) {}

    fn emit(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
        emit_value(record.value, Pointer::Root, out)
    }
}

impl Converter {
    fn check_value(
        &self,
        value: Value<'_>,
        at: Pointer<'_>,
        check: &mut Check<'_>,
    ) -> Result<(), Fault> {
        let record = kind(value);
        let is_checked = match self.0 {
            Defect::ChecksRecordsWithEvents => record != "state",
            Defect::ChecksUnderPermissivePolicy => check.policy() == Policy::Permissive,
            Defect::Nothing | Defect::Panics => true,
        };
        assert!(
            self.0 != Defect::Panics || value.member("screen").is_none_or(Value::is_true),
            "no boolean"
        );
        if is_checked {
            let tool = value.member("tool").map(Value::raw_str);
            check.members(record, value, at, &|_| tool);
        }
        match record {
            "wrap" => {
                let inner = value
                    .member("inner")
                    .ok_or_else(|| Fault::malformed("/inner", "a record", "nothing"))?;
                self.check_value(inner, Pointer::At("/inner"), check)
            }
            "say" if text(value, "text").is_none() => {
                Err(Fault::malformed("/text", "text", "nothing"))
            }
            "toy" | "say" | "call" | "state" => Ok(()),
            other => Err(Fault::unrecognized(other)),
        }
    }
}

fn emit_value(value: Value<'_>, at: Pointer<'_>, out: &mut Emitter<'_>) -> Outcome {
    match kind(value) {
        "toy" => {
            out.emit(Meta::Session(SessionFacts::default()), at);
        }
        "say" => {
            out.emit(
                MsgOut {
                    text: text(value, "text"),
                    ..MsgOut::default()
                },
                at,
            );
        }
        "call" => {
            let args = value.member("args").map(Value::raw);
            let tool = text(value, "tool").unwrap_or(Text::Plain("none"));
            out.emit(
                ToolCall {
                    call_id: None,
                    args,
                    ..ToolCall::new(tool, ToolKind::Execute)
                },
                at,
            );
        }
        "wrap" => {
            return value.member("inner").map_or(Outcome::Mapped, |inner| {
                emit_value(inner, Pointer::At("/inner"), out)
            });
        }
        _ => {
            return Outcome::Bookkeeping {
                record: "state",
                rule: "ui_state",
            };
        }
    }
    Outcome::Mapped
}

fn kind(value: Value<'_>) -> &str {
    value.member("type").map_or("", Value::raw_str)
}

fn text<'a>(value: Value<'a>, name: &str) -> Option<Text<'a>> {
    value.member(name).and_then(Value::text)
}
