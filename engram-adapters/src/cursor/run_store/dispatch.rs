//! From the type of an opened run store's line to its events.

use std::collections::BTreeSet;

use engram_core::emit::{Fault, Pointer, RecordHeader};
use engram_core::event::{Meta, MsgOut};
use engram_core::keys::{KeyMap, hash64};
use engram_core::ledger::Outcome;
use engram_core::steps::Record;
use engram_core::text::Text;

use super::facts::{emit_agent, emit_end, emit_run, emit_usage, end, tokens};
use super::schema::time;
use crate::cursor::fields::faults::absent;
use crate::cursor::fields::{decoded, required, text_or_json};
use crate::cursor::format::{RunKind, SdkKind, rule};
use crate::cursor::members::{self, form};
use crate::cursor::pieces::Pieces;
use crate::cursor::readers::{Agent, Run, RunEvent, RunStoreLine, SdkMessage};
use crate::cursor::sdk_messages::source::SourceForm;
use crate::cursor::sdk_messages::{MessageRecord, SdkMessages};
use crate::cursor::steps::{Out, Reader};
use crate::shared::seen::fact_of;
use crate::shared::value::{Value, non_empty_text, raw_str};

/// The place of the message in an event.
const MESSAGE: &str = "/event/payload/message";

/// The converter of an agent and its runs.
pub(in crate::cursor) struct RunStore {
    messages: SdkMessages,
    pieces: Pieces,
    /// The run whose events follow.
    run: Option<OpenRun>,
    /// The keys of the events of runs that step 1 has seen, and the numbers of those that repeat one.
    seen: KeyMap<()>,
    repeated: BTreeSet<usize>,
    /// The number of the current record.
    number: usize,
}

/// What the beginning of a run says, and its end does not.
struct OpenRun {
    request_id: String,
    error: Option<String>,
}

impl Default for RunStore {
    fn default() -> Self {
        let (messages, pieces) = (SdkMessages::new(SourceForm::Store), Pieces::default());
        RunStore {
            messages,
            pieces,
            run: None,
            seen: KeyMap::default(),
            repeated: BTreeSet::new(),
            number: 0,
        }
    }
}

impl Reader for RunStore {
    fn record(&mut self, record: &Record<'_>, out: &mut Out<'_, '_>) -> Result<Outcome, Fault> {
        let line = RunStoreLine::strict(record.value, "")?;
        self.number = record.number;
        let record = raw_str(line.store());
        match RunKind::named(record).ok_or_else(|| Fault::unrecognized(record))? {
            RunKind::RunEvent => self.event(&line, out),
            RunKind::Run => self.run(&line, out),
            RunKind::RunEnd => self.run_end(&line, out),
            RunKind::Agent => self.agent(&line, out),
            // A line of the store that is not JSON.
            RunKind::Broken => Err(absent(
                Pointer::At("/line"),
                "a line of JSON in the store",
                line.object().member("line"),
            )),
        }
    }

    fn decide(&mut self) {
        let RunStore {
            mut pieces,
            repeated,
            ..
        } = std::mem::take(self);
        pieces.decide();
        *self = RunStore {
            pieces,
            repeated,
            ..RunStore::default()
        };
    }
}

impl RunStore {
    fn agent(&mut self, line: &RunStoreLine<'_>, out: &mut Out<'_, '_>) -> Result<Outcome, Fault> {
        let agent = required(line.agent(), Pointer::At("/agent"), "an object")?;
        members::check("agent", line.object(), out);
        emit_agent(&Agent::strict(agent, "/agent")?, Pointer::At("/agent"), out)
    }

    /// The beginning of a run: its model.
    fn run(&mut self, line: &RunStoreLine<'_>, out: &mut Out<'_, '_>) -> Result<Outcome, Fault> {
        let pointer = Pointer::At("/run");
        let run = Run::strict(required(line.run(), pointer, "an object")?, "/run")?;
        let began = run.began();
        self.begin(
            RecordHeader::new(began.as_deref(), non_empty_text(run.run_id())),
            out,
        );
        members::check("run", line.object(), out);
        emit_run(&run, pointer, out)?;
        let error = text_or_json(run.error()).map(|error| error.decode_lossy().into_owned());
        self.messages.begin_run(error.clone());
        self.run = Some(OpenRun {
            request_id: decoded(run.request_id()).unwrap_or_default().into_owned(),
            error,
        });
        Ok(Outcome::Mapped)
    }

    /// Begins a record that ends a text.
    fn begin(&mut self, header: RecordHeader<'_>, out: &mut Out<'_, '_>) {
        self.pieces.end_run(self.messages.agent(), out);
        out.set_header(header);
    }

    /// The end of a run. Emits only the facts that the events of the run have not stated.
    fn run_end(
        &mut self,
        line: &RunStoreLine<'_>,
        out: &mut Out<'_, '_>,
    ) -> Result<Outcome, Fault> {
        let pointer = Pointer::At("/run");
        let end_of_run = Run::strict(required(line.run(), pointer, "an object")?, "/run")?;
        let ended = end_of_run.ended();
        self.begin(
            RecordHeader {
                t: ended.as_deref(),
                ..RecordHeader::default()
            },
            out,
        );
        members::check("run_end", line.object(), out);
        let (request_id, error) = self
            .run
            .take()
            .map(|run| (run.request_id, run.error))
            .unwrap_or_default();
        let error = error.as_deref().map(Text::Plain);
        let mut outcome = Outcome::bookkeeping(RunKind::RunEnd.name(), rule::RUN_PROGRESS);
        if let Some(text) = non_empty_text(end_of_run.result())
            .filter(|result| !self.pieces.repeats_last(self.messages.agent(), *result))
        {
            out.emit(
                MsgOut {
                    text: Some(text),
                    ..MsgOut::default()
                },
                "/run/result",
            )?;
            outcome = Outcome::Mapped;
        }
        if let Some(tokens) = tokens(&end_of_run).filter(|_| !self.messages.has_usage()) {
            emit_usage(
                tokens,
                Some(Text::Plain(&request_id)).filter(|id| !id.is_empty()),
                None,
                pointer,
                out,
            )?;
            outcome = Outcome::Mapped;
        }
        let status = raw_str(end_of_run.status());
        match end(status).filter(|_| !self.messages.has_end()) {
            Some(end) => emit_end(end, status, error, pointer, out)?,
            None if error.is_some() && !self.messages.has_end() => {
                out.emit(Meta::error(None, error), pointer)?;
            }
            None => return Ok(outcome),
        }
        Ok(Outcome::Mapped)
    }

    fn event(&mut self, line: &RunStoreLine<'_>, out: &mut Out<'_, '_>) -> Result<Outcome, Fault> {
        let event = RunEvent::strict(
            required(line.event(), Pointer::At("/event"), "an object")?,
            "/event",
        )?;
        let id = decoded(event.run_id()).unwrap_or_default();
        let seq = event.seq().map(Value::raw).unwrap_or_default();
        let payload = required(event.payload(), Pointer::At("/event/payload"), "an object")?;
        if out.is_check() && self.seen.contains_key(&key_of(&id, seq, &event, payload)) {
            self.repeated.insert(self.number);
        }
        if self.repeated.contains(&self.number) {
            return Ok(Outcome::duplicate(
                RunKind::RunEvent.name(),
                rule::REPEATED_EVENT,
            ));
        }
        let message = payload
            .member("message")
            .ok_or_else(|| Fault::unrecognized("run_event"))?;
        let message = SdkMessage::strict(message, MESSAGE)?;
        let kind = raw_str(message.kind());
        // The export of a store puts the type of the message at the beginning of the line.
        match raw_str(line.object().member("type")) {
            stated if stated == kind => {}
            "" => return Err(Fault::unrecognized("run_event")),
            other => return Err(Fault::unrecognized(&format!("{other}/run_event"))),
        }
        let t = time(event.created_at());
        let header = RecordHeader::new(
            t.as_deref(),
            Some(Text::Plain(seq)).filter(|seq| !seq.is_empty()),
        );
        let name = format!("{kind}/run_event");
        let of = SdkKind::named(kind).ok_or_else(|| Fault::unrecognized(&name))?;
        let record = MessageRecord {
            message,
            of,
            header,
            number: self.number,
        };
        members::check_chosen(&name, line.object(), Pointer::Root, form::MESSAGES, out);
        let outcome = self.messages.convert(&record, &mut self.pieces, out)?;
        if out.is_check() {
            self.seen.insert(key_of(&id, seq, &event, payload), ());
        }
        Ok(outcome)
    }
}

/// The key of an event: one with the same number, time and payload repeats it.
fn key_of(run: &str, seq: &str, event: &RunEvent<'_>, payload: Value<'_>) -> u64 {
    hash64((run, seq, raw_str(event.created_at()), fact_of(payload)))
}
