//! A toy adapter for tests, with one record type for each feature of a session.

use engram_core::adapter::{Evidence, Framing, Identity, Session, SessionInit, StreamAdapter};
use engram_core::coverage::{Coverage, Grade};
use engram_core::descriptor::{AdapterDescriptor, Omission, OmissionRule, UnknownVersionPolicy};
use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault, RecordHeader, RecordLocation};
use engram_core::event::{Event, Meta, MsgOut, SessionFacts, ToolCall, ToolResult};
use engram_core::head::Head;
use engram_core::ledger::Outcome;
use engram_core::text::Text;
use engram_core::tool_kind::ToolKind;
use engram_core::version::{KnownBad, Revision, VersionMatrix};
use serde::Deserialize;
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
    OmissionRule { rule, omission, record, pointer: None, reason: "a test" }
}

static DESCRIPTOR: AdapterDescriptor = AdapterDescriptor {
    adapter_id: "toy",
    adapter_version: "0.1.0",
    harness_family: "toy",
    matrix: VersionMatrix {
        revisions: &[Revision { schema: "toy/1", versions: Some(">=1.0.0, <=1.9.0"), tested: &["1.0.0", "1.9.0"], coverage: COVERAGE }],
        known_bad: &[KnownBad { versions: "=1.5.0", reason: "a test" }],
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
        OmissionRule { pointer: Some("/skipped/**"), ..rule("skipped_field", Omission::Field, "*") },
    ],
};

/// The first record of a log.
pub const HEADER: &str = r#"{"type":"toy","version":"1.0.0","session":"s-1","t":"2026-01-02T03:04:05Z"}"#;

/// The valid times in a log.
const TIMES: [&str; 2] = ["2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z"];

#[derive(Deserialize)]
struct Record<'a> {
    #[serde(borrow)]
    r#type: Option<&'a RawValue>,
    #[serde(borrow)]
    t: Option<&'a str>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
    #[serde(borrow)]
    version: Option<&'a str>,
    #[serde(borrow)]
    session: Option<&'a str>,
    #[serde(borrow)]
    blocks: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    document: Vec<&'a RawValue>,
}

impl StreamAdapter for Toy {
    fn describe(&self) -> &'static AdapterDescriptor {
        &DESCRIPTOR
    }

    fn probe(&self, head: &Head<'_>) -> Option<Evidence> {
        let framing = if head.text().trim_start().starts_with("{\"document\"") { Framing::Document } else { Framing::Lines };
        Some(Evidence { marks: vec!["toy"], framing })
    }

    fn identify(&self, head: &Head<'_>) -> Identity {
        let header = head
            .text()
            .find("{\"type\":\"toy\"")
            .and_then(|at| serde_json::Deserializer::from_str(&head.text()[at..]).into_iter::<Record<'_>>().next()?.ok());
        header.map_or_else(Identity::default, |header| Identity {
            version: header.version.map(str::to_owned),
            session_id: header.session.map(str::to_owned),
            start: header.t.filter(|t| TIMES.contains(t)).map(str::to_owned),
            ..Identity::default()
        })
    }

    fn session(&self, _init: &SessionInit<'_>) -> Box<dyn Session> {
        Box::new(Converter { repeats_are_exact: false })
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

    fn session(&self, _init: &SessionInit<'_>) -> Box<dyn Session> {
        Box::new(Converter { repeats_are_exact: true })
    }
}

struct Converter {
    repeats_are_exact: bool,
}

impl Session for Converter {
    fn record(&mut self, text: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        let record: Record<'_> = serde_json::from_str(text)?;
        let name = string(record.r#type, "/type")?.decode_lossy();
        out.set_header(RecordHeader { t: record.t.filter(|t| TIMES.contains(t)), id: record.id.and_then(Text::of), replay: false });
        match name.as_ref() {
            "toy" => {
                if let Some(version) = record.version {
                    out.version(version)?;
                }
                let facts = SessionFacts { title: record.text.and_then(Text::of), ..SessionFacts::default() };
                out.emit(Meta::Session(facts), Pointer::Root)?;
            }
            "say" => {
                out.emit(MsgOut { text: Some(string(record.text, "/text")?), ..MsgOut::default() }, Pointer::At("/text"))?;
            }
            "call" => {
                let call_id = Some(string(record.id, "/id")?);
                let args = record.args.map(RawValue::get);
                out.emit(ToolCall { call_id, args, ..ToolCall::new(Text::Plain("run"), ToolKind::Execute) }, Pointer::Root)?;
            }
            "result" => {
                let call_id = Some(string(record.id, "/id")?);
                out.emit(ToolResult { call_id, stdout: record.text.and_then(Text::of), ..ToolResult::default() }, Pointer::Root)?;
            }
            "blocks" => {
                let blocks = record.blocks.filter(|blocks| !blocks.is_empty());
                for (n, block) in blocks.ok_or_else(|| Fault::malformed("/blocks", "blocks", "nothing"))?.iter().enumerate() {
                    match Text::of(block) {
                        Some(text) => out.emit(MsgOut { text: Some(text), ..MsgOut::default() }, Pointer::Item("/blocks", n)).map(drop)?,
                        None => out.unrecognized_block("block", block.get(), Pointer::Item("/blocks", n))?,
                    }
                }
            }
            "everything" => everything::events().into_iter().try_for_each(|event: Event<'_>| out.emit(event, Pointer::Root).map(drop))?,
            "nothing" => {}
            "late" => {
                let here = out.location();
                out.attribute_to(RecordLocation::default(), RecordHeader::default());
                out.emit(MsgOut { text: Some(Text::Plain("late")), ..MsgOut::default() }, Pointer::Root)?;
                out.attribute_to(here, RecordHeader::default());
                out.emit(MsgOut { text: Some(Text::Plain("own")), ..MsgOut::default() }, Pointer::Root)?;
                return Err(Fault::malformed("/text", "a string", "nothing"));
            }
            "half" => {
                let call_id = Some(Text::Plain("half"));
                out.emit(ToolCall { call_id, args: None, ..ToolCall::new(Text::Plain("run"), ToolKind::Execute) }, Pointer::Root)?;
                return Err(Fault::malformed("/blocks/1", "a block", "nothing"));
            }
            "bad_time" => {
                out.set_header(RecordHeader { t: Some("tomorrow"), ..RecordHeader::default() });
                out.emit(MsgOut { text: record.text.and_then(Text::of), ..MsgOut::default() }, Pointer::Root)?;
            }
            "state" => return Ok(Outcome::Bookkeeping { record: "state", rule: "ui_state" }),
            "echo" => return Ok(Outcome::Duplicate { record: "echo", rule: "echo_of_say" }),
            other => return Err(Fault::unrecognized(other)),
        }
        Ok(Outcome::Mapped)
    }

    fn document(&mut self, text: &str, out: &mut Emitter) -> Result<(), Fault> {
        let document: Document<'_> = serde_json::from_str(text)?;
        for record in document.document {
            out.begin();
            match self.record(record.get(), out) {
                Ok(outcome) => out.settle(outcome),
                Err(fault) => out.settle_fault(fault, record.get())?,
            }
        }
        Ok(())
    }

    fn repeats_are_exact(&self) -> bool {
        self.repeats_are_exact
    }

    fn resync(&self, text: &str) -> Option<usize> {
        text.get(1..)?.find("{\"type\":").map(|at| at + 1)
    }
}

fn string<'a>(raw: Option<&'a RawValue>, pointer: &str) -> Result<Text<'a>, Fault> {
    let found = raw.map_or("nothing", RawValue::get);
    raw.and_then(Text::of).ok_or_else(|| Fault::malformed(pointer, "a string", found))
}
