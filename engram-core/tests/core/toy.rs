//! A toy adapter for tests, with one record type for each feature of a conversion.

use engram_core::adapter::{Evidence, Framing, Identity, SessionInit, StreamAdapter};
use engram_core::coverage::{Coverage, Grade};
use engram_core::descriptor::{AdapterDescriptor, Omission, OmissionRule, UnknownVersionPolicy};
use engram_core::emit::{Fault, Pointer, RecordHeader};
use engram_core::event::{
    Decision, Kind, Meta, MsgOut, SessionFacts, Status, ToolCall, ToolResult,
};
use engram_core::head::Head;
use engram_core::json::{StructuralIndex, Value, parse};
use engram_core::ledger::Outcome;
use engram_core::steps::{Check, Conversion, Emitter, Item, Record};
use engram_core::text::Text;
use engram_core::tool_kind::ToolKind;
use engram_core::version::{KnownBad, Revision, VersionMatrix};
use serde_json::value::RawValue;

use crate::everything;

/// The toy adapter.
pub struct Toy;

/// The toy adapter, for logs whose repeats are exact.
pub struct ToyWithRepeats;

const COVERAGE: Coverage = Coverage {
    meta: Grade::Full,
    msg_in: Grade::Full,
    msg_out: Grade::Full,
    tool_call: Grade::Full,
    tool_result: Grade::Full,
    code_read: Grade::Full,
    code_edit: Grade::Full,
    span_link: Grade::Full,
};

const fn rule(rule: &'static str, omission: Omission, record: &'static str) -> OmissionRule {
    OmissionRule {
        rule,
        omission,
        record,
        pointer: None,
        reason: "a test",
    }
}

static DESCRIPTOR: AdapterDescriptor = AdapterDescriptor {
    adapter_id: "toy",
    adapter_version: "0.1.0",
    harness_family: "toy",
    matrix: VersionMatrix {
        revisions: &[Revision {
            schema: "toy/1",
            versions: Some(">=1.0.0, <=1.9.0"),
            tested: &["1.0.0", "1.9.0"],
            coverage: COVERAGE,
        }],
        swept: &[],
        known_bad: &[KnownBad {
            versions: "=1.5.0",
            reason: "a test",
        }],
    },
    schema_detection_strategy: "a test",
    coverage: COVERAGE,
    unknown_version_policy: UnknownVersionPolicy::PermissiveDegrade,
    record_type: &["/type"],
    members: None,
    gaps: &[],
    omission_rules: &[
        rule("ui_state", Omission::Bookkeeping, "state"),
        rule("echo_of_say", Omission::Duplicate, "echo"),
        OmissionRule::REPEATED,
        OmissionRule {
            pointer: Some("/skipped/**"),
            ..rule("skipped_field", Omission::Field, "*")
        },
    ],
};

/// The first record of a log.
pub const HEADER: &str =
    r#"{"type":"toy","version":"1.0.0","session":"s-1","t":"2026-01-02T03:04:05Z"}"#;

/// The valid times in a log.
const TIMES: [&str; 2] = ["2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z"];

impl StreamAdapter for Toy {
    fn describe(&self) -> &'static AdapterDescriptor {
        &DESCRIPTOR
    }

    fn probe(&self, head: &Head<'_>) -> Option<Evidence> {
        let framing = if head.text().trim_start().starts_with("{\"document\"") {
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
        let header = head
            .text()
            .find("{\"type\":\"toy\"")
            .map(|at| &head.text()[at..]);
        let header = header.and_then(|text| {
            serde_json::Deserializer::from_str(text)
                .into_iter::<&RawValue>()
                .next()?
                .ok()
        });
        let mut index = StructuralIndex::default();
        let Some(header) = header.and_then(|header| parse(header.get(), &mut index).ok()) else {
            return Identity::default();
        };
        Identity {
            version: header
                .member("version")
                .map(|version| version.raw_str().to_owned()),
            session_id: header
                .member("session")
                .map(|session| session.raw_str().to_owned()),
            start: time(header).map(str::to_owned),
            ..Identity::default()
        }
    }

    fn conversion(&self, _init: &SessionInit<'_>) -> Box<dyn Conversion> {
        Box::new(Converter {
            repeats_are_exact: false,
        })
    }
}

impl StreamAdapter for ToyWithRepeats {
    fn describe(&self) -> &'static AdapterDescriptor {
        Toy.describe()
    }

    fn probe(&self, head: &Head<'_>) -> Option<Evidence> {
        Toy.probe(head)
    }

    fn identify(&self, head: &Head<'_>) -> Identity {
        Toy.identify(head)
    }

    fn conversion(&self, _init: &SessionInit<'_>) -> Box<dyn Conversion> {
        Box::new(Converter {
            repeats_are_exact: true,
        })
    }
}

struct Converter {
    repeats_are_exact: bool,
}

impl Conversion for Converter {
    fn repeats_are_exact(&self) -> bool {
        self.repeats_are_exact
    }

    fn items<'a>(
        &mut self,
        document: Value<'a>,
        _: &mut Check<'_>,
    ) -> Result<Vec<Item<'a>>, Fault> {
        let list = document.member("document").filter(|list| list.is_array());
        let list = list.ok_or_else(|| Fault::malformed("/document", "a list", "nothing"))?;
        Ok(list
            .elements()
            .enumerate()
            .map(|(n, record)| Item::of_list(record, "/document", n))
            .collect())
    }

    fn check(&mut self, record: &Record<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
        let value = record.value;
        // Pieces of a text often have the same bytes and the same time.
        if kind(value) != "echo"
            && (time(value).is_some() || value.member("id").and_then(Value::text).is_some())
        {
            check.identify();
        }
        string(value, "type", "/type")?;
        match kind(value) {
            "toy" => value
                .member("version")
                .map_or(Ok(()), |version| check.version(version.raw_str()).map(drop)),
            "say" => string(value, "text", "/text"),
            "call" => {
                check.gives(Kind::ToolCall, Pointer::Root)?;
                string(value, "id", "/id")
            }
            "result" | "denied" | "deny" => string(value, "id", "/id"),
            "blocks" if blocks(value).next().is_none() => {
                Err(Fault::malformed("/blocks", "blocks", "nothing"))
            }
            "blocks" => blocks(value)
                .filter(|block| block.text().is_none())
                .try_for_each(|_| check.unknown_block("block")),
            "everything" | "nothing" | "bad_time" | "state" | "echo" => Ok(()),
            other => Err(Fault::unrecognized(other)),
        }
    }

    fn decide(&mut self) {}

    fn emit(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
        let value = record.value;
        let text = value.member("text").and_then(Value::text);
        let id = value.member("id").and_then(Value::text);
        out.set_header(RecordHeader {
            t: time(value),
            id,
            replay: false,
        });
        match kind(value) {
            "toy" => {
                if let Some(version) = value.member("version") {
                    out.version(version.raw_str());
                }
                out.emit(
                    Meta::Session(SessionFacts {
                        title: text,
                        ..SessionFacts::default()
                    }),
                    Pointer::Root,
                );
            }
            "say" => {
                out.emit(
                    MsgOut {
                        text,
                        ..MsgOut::default()
                    },
                    Pointer::At("/text"),
                );
            }
            "call" => {
                let args = value.member("args").map(Value::raw);
                out.emit(
                    ToolCall {
                        call_id: id,
                        args,
                        ..ToolCall::new(Text::Plain("run"), ToolKind::Execute)
                    },
                    Pointer::Root,
                );
            }
            "result" => {
                out.emit(
                    ToolResult {
                        call_id: id,
                        stdout: text,
                        ..ToolResult::default()
                    },
                    Pointer::Root,
                );
            }
            "denied" => {
                out.emit(
                    ToolResult {
                        call_id: id,
                        status: Some(Status::Denied),
                        stderr: text,
                        ..ToolResult::default()
                    },
                    Pointer::Root,
                );
            }
            "deny" => {
                let denied = Decision::Deny.of_call(None, id, text);
                out.emit(denied, Pointer::Root);
            }
            "blocks" => {
                for (n, block) in blocks(value).enumerate() {
                    let pointer = Pointer::Item("/blocks", n);
                    match block.text() {
                        None => out.unrecognized_block("block", block.raw(), pointer),
                        text => {
                            out.emit(
                                MsgOut {
                                    text,
                                    ..MsgOut::default()
                                },
                                pointer,
                            );
                        }
                    }
                }
            }
            "everything" => {
                for event in everything::events() {
                    out.emit(event, Pointer::Root);
                }
            }
            "bad_time" => {
                out.set_header(RecordHeader {
                    t: Some("tomorrow"),
                    ..RecordHeader::default()
                });
                out.emit(
                    MsgOut {
                        text,
                        ..MsgOut::default()
                    },
                    Pointer::Root,
                );
            }
            "state" => {
                return Outcome::Bookkeeping {
                    record: "state",
                    rule: "ui_state",
                };
            }
            "echo" => {
                return Outcome::Duplicate {
                    record: "echo",
                    rule: "echo_of_say",
                };
            }
            _ => {}
        }
        Outcome::Mapped
    }
}

/// The type of a record.
pub fn kind(record: Value<'_>) -> &str {
    record.member("type").map_or("", Value::raw_str)
}

fn time(record: Value<'_>) -> Option<&str> {
    record
        .member("t")
        .map(Value::raw_str)
        .filter(|t| TIMES.contains(t))
}

fn blocks(record: Value<'_>) -> impl Iterator<Item = Value<'_>> {
    record
        .member("blocks")
        .into_iter()
        .flat_map(Value::elements)
}

/// A member must be a string.
fn string(record: Value<'_>, name: &str, pointer: &str) -> Result<(), Fault> {
    let member = record.member(name);
    let is_string = member.is_some_and(|member| member.text().is_some());
    if is_string {
        Ok(())
    } else {
        Err(Fault::malformed(
            pointer,
            "a string",
            member.map_or("nothing", Value::raw),
        ))
    }
}
