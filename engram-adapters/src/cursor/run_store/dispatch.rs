//! From the type of an opened run store's line to its events.

use engram_core::emit::{Emitter, Fault, Pointer, RecordHeader, RecordLocation};
use engram_core::event::{Meta, MsgOut, Tokens};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::facts::{emit_agent, emit_end, emit_run, emit_usage, end, tokens};
use super::schema::{Agent, Event, Line, Run, time};
use crate::cursor::faults::absent;
use crate::cursor::fields::{decoded, decoded_non_empty, required, text_or_json};
use crate::cursor::members::{self, form};
use crate::cursor::sdk_messages::schema::Message;
use crate::cursor::sdk_messages::source::SourceForm;
use crate::cursor::sdk_messages::{MessageRecord, SdkMessages, rows as message_types};
use crate::shared::route::{Action, Route};
use crate::shared::seen_set::SeenSet;
use crate::shared::value::{Value, non_empty_text, raw_str};

/// Converts a line of one type.
type Handler = fn(&mut RunStore, &Line<'_>, &mut Emitter<'_>) -> Result<Outcome, Fault>;

/// What happens to each type of line.
static RECORDS: &[Route<Handler>] = &[
    Route::convert("run_event", RunStore::event),
    Route::convert("run", RunStore::run),
    Route::convert("agent", RunStore::agent),
    Route::convert("broken", RunStore::broken),
];

/// The record types of the table.
#[cfg(test)]
pub(in crate::cursor) fn rows() -> Vec<&'static str> {
    RECORDS.iter().map(|row| row.record).collect()
}

/// The place of the message in an event.
const MESSAGE: &str = "/event/payload/message";

/// The converter of an agent and its runs.
pub(in crate::cursor) struct RunStore {
    messages: SdkMessages,
    /// The run whose events follow.
    run: Option<OpenRun>,
    seen: SeenSet,
}

/// What the record of a run states about its end. Its events come after it, and mostly state the same.
struct OpenRun {
    location: RecordLocation,
    id: String,
    request_id: String,
    ended: Option<String>,
    tokens: Option<Tokens>,
    status: String,
    error: Option<String>,
    result: Option<String>,
}

impl Default for RunStore {
    fn default() -> Self {
        RunStore { messages: SdkMessages::new(SourceForm::Store), run: None, seen: SeenSet::default() }
    }
}

impl RunStore {
    /// Converts one line.
    pub(super) fn convert(&mut self, value: Value<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let line = Line::strict(value, "")?;
        let record = raw_str(line.store());
        match Route::find(RECORDS, record) {
            Some(Action::Convert(handler)) => handler(self, &line, out),
            _ => Err(Fault::unrecognized(record)),
        }
    }

    /// Ends the last run.
    pub(super) fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        self.messages.finish(out)?;
        self.end_run(out)
    }

    fn agent(&mut self, line: &Line<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
        let agent = required(line.agent(), Pointer::At("/agent"), "an object")?;
        members::check("agent", line.object(), out)?;
        emit_agent(&Agent::strict(agent, "/agent")?, Pointer::At("/agent"), out)
    }

    fn run(&mut self, line: &Line<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
        let pointer = Pointer::At("/run");
        let run = Run::strict(required(line.run(), pointer, "an object")?, "/run")?;
        let location = out.location();
        self.messages.finish(out)?;
        self.end_run(out)?;
        let began = run.began();
        out.attribute_to(location, RecordHeader { t: began.as_deref(), id: non_empty_text(run.run_id()), replay: false });
        members::check("run", line.object(), out)?;
        emit_run(&run, pointer, out)?;
        let owned = |text: Option<Text<'_>>| text.map(|text| text.decode_lossy().into_owned());
        let error = owned(text_or_json(run.error()));
        self.messages.begin_run(error.clone());
        self.run = Some(OpenRun {
            location,
            id: decoded(run.run_id()).unwrap_or_default().into_owned(),
            request_id: decoded(run.request_id()).unwrap_or_default().into_owned(),
            ended: run.ended().map(Into::into),
            tokens: tokens(&run),
            status: raw_str(run.status()).to_owned(),
            error,
            result: decoded_non_empty(run.result()).map(Into::into),
        });
        Ok(Outcome::Mapped)
    }

    /// Emits what the record of a run states and its events do not, after them.
    fn end_run(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        let Some(run) = self.run.take() else { return Ok(()) };
        let pointer = Pointer::At("/run");
        out.attribute_to(run.location, RecordHeader { t: run.ended.as_deref(), id: Some(Text::Plain(&run.id)), replay: false });
        if let Some(text) = run.result.as_deref().filter(|result| !self.messages.repeats_last_message(result)) {
            out.emit(MsgOut { text: Some(Text::Plain(text)), ..MsgOut::default() }, Pointer::At("/run/result"))?;
        }
        if let Some(tokens) = run.tokens.filter(|_| !self.messages.has_usage()) {
            emit_usage(tokens, Some(Text::Plain(&run.request_id)).filter(|id| !id.is_empty()), None, pointer, out)?;
        }
        match end(&run.status).filter(|_| !self.messages.has_end()) {
            Some(end) => emit_end(end, &run.status, run.error.as_deref().map(Text::Plain), pointer, out)?,
            None if run.error.is_some() && !self.messages.has_end() => {
                out.emit(Meta::Error { code: None, text: run.error.as_deref().map(Text::Plain) }, pointer)?;
            }
            None => {}
        }
        Ok(())
    }

    fn event(&mut self, line: &Line<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
        let event = Event::strict(required(line.event(), Pointer::At("/event"), "an object")?, "/event")?;
        let id = decoded(event.run_id()).unwrap_or_default();
        let seq = event.seq().map(Value::raw).unwrap_or_default();
        if self.seen.contains((&*id, seq)) {
            return Ok(Outcome::Duplicate { record: "run_event", rule: "repeated_event" });
        }
        let payload = required(event.payload(), Pointer::At("/event/payload"), "an object")?;
        let message = payload.member("message").ok_or_else(|| Fault::unrecognized("run_event"))?;
        let message = Message::strict(message, MESSAGE)?;
        let kind = raw_str(message.kind());
        let t = time(event.created_at());
        let header = RecordHeader { t: t.as_deref(), id: Some(Text::Plain(seq)).filter(|seq| !seq.is_empty()), replay: false };
        let record = MessageRecord { message, header };
        self.messages.begin(&record, out)?;
        if message_types().contains(&kind) {
            members::check_chosen(&format!("{kind}/run_event"), line.object(), Pointer::Root, form::MESSAGES, out)?;
        }
        let outcome = self.messages.convert(&record, out)?;
        self.seen.insert((&*id, seq));
        self.seen.commit();
        Ok(outcome)
    }

    /// A line of the store that is not JSON.
    fn broken(&mut self, line: &Line<'_>, _: &mut Emitter<'_>) -> Result<Outcome, Fault> {
        Err(absent(Pointer::At("/line"), "a line of JSON in the store", line.object().member("line")))
    }
}
