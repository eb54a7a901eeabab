//! A streaming adapter from outside of this crate cannot write an invalid event: the emitter refuses what the types allow.

use engram_adapters::{Registration, Registry, ingest_with};
use engram_core::adapter::{Evidence, Framing, Identity, SessionInit, StreamAdapter};
use engram_core::coverage::{Coverage, Grade};
use engram_core::descriptor::{AdapterDescriptor, UnknownVersionPolicy};
use engram_core::emit::{Fault, Pointer, RecordHeader};
use engram_core::error::ErrorCode;
use engram_core::event::{MsgOut, ToolCall};
use engram_core::head::Head;
use engram_core::json::Value;
use engram_core::ledger::Outcome;
use engram_core::pipeline::{Input, Options};
use engram_core::steps::{Check, Conversion, Emitter, Record};
use engram_core::tape::JsonLines;
use engram_core::text::Text;
use engram_core::tool_kind::ToolKind;
use engram_core::version::{Revision, VersionMatrix};

const COVERAGE: Coverage = Coverage {
    meta: Grade::Full,
    msg_in: Grade::None,
    msg_out: Grade::None,
    tool_call: Grade::Full,
    tool_result: Grade::None,
    code_read: Grade::None,
    code_edit: Grade::None,
    span_link: Grade::None,
};

static DESCRIPTOR: AdapterDescriptor = AdapterDescriptor {
    adapter_id: "calls",
    adapter_version: "0.1.0",
    harness_family: "calls",
    matrix: VersionMatrix {
        revisions: &[Revision {
            schema: "calls/1",
            versions: None,
            tested: &["synthetic"],
            coverage: COVERAGE,
        }],
        swept: &[],
        known_bad: &[],
    },
    schema_detection_strategy: "a test",
    coverage: COVERAGE,
    unknown_version_policy: UnknownVersionPolicy::StrictFail,
    record_type: &[],
    members: None,
    gaps: &[],
    omission_rules: &[],
};

/// An adapter of a log in which each line is `calls`, a time and a tool's name.
struct Calls;

impl StreamAdapter for Calls {
    fn describe(&self) -> &'static AdapterDescriptor {
        &DESCRIPTOR
    }

    fn probe(&self, head: &Head<'_>) -> Option<Evidence> {
        head.text().starts_with("[\"calls\"").then(|| Evidence {
            marks: vec!["calls"],
            framing: Framing::Lines,
        })
    }

    fn identify(&self, _: &Head<'_>) -> Identity {
        Identity {
            schema: Some("calls/1"),
            ..Identity::default()
        }
    }

    fn conversion(&self, _: &SessionInit<'_>) -> Box<dyn Conversion> {
        Box::new(Calls)
    }
}

impl Conversion for Calls {
    fn check(&mut self, record: &Record<'_>, _: &mut Check<'_>) -> Result<(), Fault> {
        let is_call = record
            .value
            .elements()
            .filter(|part| part.text().is_some())
            .count()
            == 3;
        if is_call {
            Ok(())
        } else {
            Err(Fault::malformed("", "three texts", record.value.raw()))
        }
    }

    fn decide(&mut self) {}

    fn emit(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
        let mut parts = record.value.elements().skip(1).map(Value::raw_str);
        let (t, tool) = (parts.next(), parts.next().unwrap_or_default());
        out.set_header(RecordHeader::new(t, None));
        if tool == "a message without text" {
            out.emit(MsgOut::default(), Pointer::Root);
        }
        out.emit(
            ToolCall {
                call_id: None,
                args: None,
                ..ToolCall::new(Text::Plain(tool), ToolKind::Other)
            },
            Pointer::Root,
        );
        Outcome::Mapped
    }
}

static CALLS: Registration = Registration::new(&Calls);

/// The code and the line of the error, if there is one.
fn outcome(line: &str) -> Option<(ErrorCode, Option<u64>)> {
    let (options, registry) = (Options::default(), Registry::builtin().with(&CALLS));
    let mut sink = JsonLines::new(std::io::sink());
    let error = ingest_with(
        &registry,
        Input::in_memory(line, options.limits),
        &options,
        &mut sink,
    )
    .err()?;
    Some((error.code, error.line))
}

#[test]
fn a_wrong_time_of_a_streaming_adapter_is_an_adapter_defect() {
    assert_eq!(outcome(r#"["calls","2026-01-02T03:04:05Z","shell"]"#), None);
    assert_eq!(
        outcome(r#"["calls","2026-01-02 03:04","shell"]"#),
        Some((ErrorCode::AdapterDefect, Some(1)))
    );
}

#[test]
fn a_message_without_content_of_a_streaming_adapter_is_an_adapter_defect() {
    assert_eq!(
        outcome(r#"["calls","2026-01-02T03:04:05Z","a message without text"]"#),
        Some((ErrorCode::AdapterDefect, Some(1)))
    );
}
