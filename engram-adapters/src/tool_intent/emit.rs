//! Step 3: the events of each record.

use std::collections::HashMap;

use engram_core::emit::{Pointer, RecordHeader};
use engram_core::event::{
    Author, Decision, EpisodeFacts, Meta, MsgIn, MsgOut, SideFile, Status, ToolCall, ToolResult,
};
use engram_core::hash::Hash;
use engram_core::ledger::Outcome;
use engram_core::steps::{Emitter, Record};
use engram_core::text::Text;
use engram_profiles::grammar::{Answer, Request, Response};

use super::format::{EventKind, SaidKind};
use super::notes::{RecordType, record_type};
use super::readers::{Event, Header, Output, Said};
use super::transcript::{Part, Transcript, decoded};
use crate::shared::time::tape_time;
use crate::shared::value::{Field, count, non_empty_text, raw_str, text};

const TEXT: Pointer<'static> = Pointer::At("/text");
/// The name of a line that breaks the grammar.
const BROKEN: &str = "tool_intent";

/// Emits the events of an episode.
#[derive(Default)]
pub(super) struct Events {
    transcript: Option<Transcript>,
    /// See [`Notes::reasons`](super::notes::Notes).
    reasons: HashMap<String, String>,
}

impl Events {
    /// Takes the reasons of denials that the check has found.
    pub fn decide(&mut self, reasons: HashMap<String, String>) {
        self.reasons = reasons;
    }

    /// The events of a record that the check has accepted.
    pub fn record(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
        let time = tape_time(record.value.member("t"));
        out.set_header(RecordHeader {
            t: time.as_deref(),
            ..RecordHeader::default()
        });
        match record_type(record) {
            Ok(RecordType::Header) => self.header(&Header::lenient(record.value), out),
            Ok(RecordType::Said(kind)) => self.said(kind, &Said::lenient(record.value), out),
            Ok(RecordType::Event(kind)) => self.event(kind, &Event::lenient(record.value), out),
            Err(_) => {}
        }
        Outcome::Mapped
    }

    fn header(&mut self, header: &Header<'_>, out: &mut Emitter<'_>) {
        self.transcript = Transcript::new(header).ok();
        let session = decoded(header.session_id());
        out.set_source(
            Some(&session)
                .filter(|id| !id.is_empty())
                .map(String::as_str),
            None,
        );
        if let Some(model) = non_empty_text(header.model()) {
            out.emit(
                Meta::session(|facts| facts.model = Some(model)),
                Pointer::Root,
            );
        }
        let facts = EpisodeFacts {
            work_id: non_empty_text(header.work_id()),
            episode_id: non_empty_text(header.episode_id()),
            session_id: non_empty_text(header.session_id()),
            adapter_profile_hash: non_empty_text(header.profile()),
            agent: non_empty_text(header.harness()),
            agent_version: non_empty_text(header.version()),
        };
        out.emit(Meta::Episode(facts), Pointer::Root);
    }

    fn said(&mut self, kind: SaidKind, said: &Said<'_>, out: &mut Emitter<'_>) {
        let Some(transcript) = &mut self.transcript else {
            return;
        };
        let words = decoded(said.text());
        let parts = match kind {
            SaidKind::Agent => transcript.agent(&words),
            SaidKind::Driver => transcript.driver(&words),
        };
        let by = if raw_str(said.part()) == "preamble" {
            Author::Harness
        } else {
            Author::Person
        };
        for part in &parts {
            match part {
                Part::Text(words) => text_of(kind, by, words, out),
                Part::Request(request) => call(transcript, request, out),
                Part::Response(response, tool) => result(response, tool, said.result(), out),
                Part::Violation(line, _) => broken(line, out),
            }
        }
    }

    fn event(&mut self, kind: EventKind, event: &Event<'_>, out: &mut Emitter<'_>) {
        match kind {
            EventKind::ToolDecided => {
                let decision = if raw_str(event.decision()) == "allow" {
                    Decision::Allow
                } else {
                    Decision::Deny
                };
                let tool = self
                    .transcript
                    .as_ref()
                    .and_then(|transcript| transcript.open_tool(raw_str(event.id())));
                let reason = self.reasons.get(raw_str(event.id()));
                let decided = decision.of_call(
                    tool.map(Text::Plain),
                    non_empty_text(event.id()),
                    reason.map(|reason| Text::Plain(reason)),
                );
                out.emit(decided, Pointer::Root);
            }
            EventKind::EpisodeEnded => {
                if let Some(name) = text(event.event()) {
                    out.emit(Meta::system(name, text(event.status())), Pointer::Root);
                }
            }
        }
    }
}

/// Text of the driver, for the agent; or of the agent.
fn text_of(kind: SaidKind, by: Author, words: &str, out: &mut Emitter<'_>) {
    let text = Some(Text::Plain(words));
    match kind {
        SaidKind::Driver => out.emit(MsgIn::user(by, text), TEXT),
        SaidKind::Agent => out.emit(
            MsgOut {
                text,
                ..MsgOut::default()
            },
            TEXT,
        ),
    };
}

fn call(transcript: &Transcript, request: &Request, out: &mut Emitter<'_>) {
    let call = ToolCall::new(Text::Plain(&request.tool), transcript.kind(&request.tool));
    out.emit(
        ToolCall {
            call_id: Some(Text::Plain(&request.id)),
            args: Some(&request.args),
            ..call
        },
        TEXT,
    );
}

fn result(response: &Response, tool: &str, output: Field<'_>, out: &mut Emitter<'_>) {
    let result = ToolResult {
        tool: Some(Text::Plain(tool)),
        call_id: Some(Text::Plain(&response.id)),
        ..ToolResult::default()
    };
    let hash = match &response.answer {
        Answer::Denied(reason) => {
            out.emit(
                ToolResult {
                    status: Some(Status::Denied),
                    stderr: Some(Text::Plain(reason)),
                    ..result
                },
                TEXT,
            );
            return;
        }
        Answer::Ok(hash) => hash,
    };
    let output = Output::lenient_opt(output);
    let path = format!("cas:{hash}");
    let artifact = Some(SideFile {
        path: Text::Plain(&path),
        hash: Hash::parse(hash),
        bytes: count(output.bytes()),
    });
    let status = match raw_str(output.status()) {
        "ok" => Some(Status::Ok),
        "error" => Some(Status::Error),
        _ => None,
    };
    let shown = text(output.text());
    let whole = count(output.text_bytes());
    let truncated = shown
        .zip(whole)
        .is_some_and(|(shown, whole)| shown.decode_lossy().len() as u64 != whole);
    let (stdout, stderr) = if status == Some(Status::Error) {
        (None, shown)
    } else {
        (shown, None)
    };
    out.emit(
        ToolResult {
            status,
            stdout,
            stderr,
            truncated,
            artifact,
            ..result
        },
        TEXT,
    );
}

/// A line that breaks the grammar, as text. The check refuses it under strict policy.
fn broken(line: &str, out: &mut Emitter<'_>) {
    let mut raw = String::new();
    engram_core::text::push_text(&mut raw, Text::Plain(line));
    out.unrecognized_block(BROKEN, &raw, TEXT);
}
