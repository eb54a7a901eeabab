//! From the type of a message to its events.

use engram_core::emit::{Fault, Pointer, RecordHeader};
use engram_core::event::{Author, Meta, MsgIn, SessionFacts, Tokens};
use engram_core::keys::hash64;
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::calls::Calls;
use super::source::SourceForm;
use crate::cursor::fields::faults::absent;
use crate::cursor::fields::{decoded_non_empty, required};
use crate::cursor::format::{SdkKind, rule};
use crate::cursor::pieces::{Added, PieceOf, Pieces};
use crate::cursor::readers::{RunUsage, SdkContent, SdkMessage, SdkPart};
use crate::cursor::run_store::facts::{emit_end, emit_usage, end};
use crate::cursor::steps::Out;
use crate::shared::seen::fact_of;
use crate::shared::value::{Value, non_empty_text, raw_str, text};

/// A message and the header of its record.
pub(in crate::cursor) struct MessageRecord<'a> {
    /// The message.
    pub(in crate::cursor) message: SdkMessage<'a>,
    /// Its type.
    pub(in crate::cursor) of: SdkKind,
    /// Time and id of its record.
    pub(in crate::cursor) header: RecordHeader<'a>,
    /// The number of its record.
    pub(in crate::cursor) number: usize,
}

/// The converter of messages, and what it knows of the run that they belong to.
pub(in crate::cursor) struct SdkMessages {
    form: SourceForm,
    /// The key of the agent.
    agent: u64,
    calls: Calls,
    request_id: Option<String>,
    /// True if a message of the run had its tokens.
    has_usage: bool,
    /// True if a message of the run said that it failed or was stopped.
    has_end: bool,
    /// The error of the run, for the message that has its end.
    error: Option<String>,
    /// The prompt of the run that nothing has answered yet: its run and its message.
    unanswered: Option<u64>,
}

impl SdkMessages {
    /// The converter of messages in this form.
    pub(in crate::cursor) fn new(form: SourceForm) -> SdkMessages {
        SdkMessages {
            form,
            agent: 0,
            calls: Calls::default(),
            request_id: None,
            has_usage: false,
            has_end: false,
            error: None,
            unanswered: None,
        }
    }

    /// Converts one message.
    pub(in crate::cursor) fn convert(
        &mut self,
        record: &MessageRecord<'_>,
        pieces: &mut Pieces,
        out: &mut Out<'_, '_>,
    ) -> Result<Outcome, Fault> {
        if let Some(session) = decoded_non_empty(record.message.agent_id()) {
            out.set_source(Some(&session), None);
            self.agent = hash64(&*session);
        }
        out.set_header(record.header);
        if !matches!(record.of, SdkKind::Assistant | SdkKind::Thinking) {
            pieces.end_run(self.agent, out);
        }
        if let SourceForm::Store = self.form {
            out.set_pointer_prefix(self.form.place());
        }
        if matches!(
            record.of,
            SdkKind::Assistant | SdkKind::Thinking | SdkKind::ToolCall
        ) {
            self.unanswered = None;
        }
        let outcome = match record.of {
            SdkKind::Assistant => self.assistant(record, pieces, out),
            SdkKind::Thinking => self.thinking(record, pieces, out),
            SdkKind::ToolCall => self.calls.convert(&record.message, out),
            SdkKind::User => self.user(record, out),
            SdkKind::System => system(record, out),
            SdkKind::Status => self.status(record, out),
            SdkKind::Usage => self.usage(record, out),
            SdkKind::Task => task(record, out),
            SdkKind::Request => self.request(record),
        };
        outcome.map_err(|fault| fault.within(self.form.place()))
    }

    /// Begins a run.
    pub(in crate::cursor) fn begin_run(&mut self, error: Option<String>) {
        (self.request_id, self.has_usage, self.has_end, self.error) = (None, false, false, error);
    }

    /// True if the messages of the run state its tokens.
    pub(in crate::cursor) fn has_usage(&self) -> bool {
        self.has_usage
    }

    /// True if the messages of the run state that it failed or was stopped.
    pub(in crate::cursor) fn has_end(&self) -> bool {
        self.has_end
    }

    /// The key of the agent.
    pub(in crate::cursor) fn agent(&self) -> u64 {
        self.agent
    }

    /// A piece of a message of the agent.
    fn assistant(
        &mut self,
        record: &MessageRecord<'_>,
        pieces: &mut Pieces,
        out: &mut Out<'_, '_>,
    ) -> Result<Outcome, Fault> {
        let mut outcome = self.form.piece(PieceOf::Message);
        let parts = parts(&record.message)?;
        for (index, (part, value)) in parts.iter().enumerate() {
            if raw_str(part.kind()) != "text" {
                out.unrecognized_block(
                    raw_str(part.kind()),
                    value.raw(),
                    Pointer::Item(CONTENT, index),
                )?;
                outcome = Outcome::Mapped;
            }
        }
        let texts = parts
            .iter()
            .filter(|(part, _)| raw_str(part.kind()) == "text")
            .filter_map(|(part, _)| part.text());
        for piece in texts.filter(|piece| piece.text().is_some()) {
            if pieces.add(
                (self.agent, record.number),
                PieceOf::Message,
                piece,
                record.header,
                out,
            )? == Added::Mapped
            {
                outcome = Outcome::Mapped;
            }
        }
        Ok(outcome)
    }

    /// A piece of reasoning, or its end, which has no text.
    fn thinking(
        &mut self,
        record: &MessageRecord<'_>,
        pieces: &mut Pieces,
        out: &mut Out<'_, '_>,
    ) -> Result<Outcome, Fault> {
        let at = (self.agent, record.number);
        match record
            .message
            .text()
            .filter(|piece| non_empty_text(Some(*piece)).is_some())
        {
            Some(piece)
                if pieces.add(at, PieceOf::Reasoning, piece, record.header, out)?
                    == Added::Mapped =>
            {
                Ok(Outcome::Mapped)
            }
            _ => Ok(self.form.piece(PieceOf::Reasoning)),
        }
    }

    /// A prompt. After a lost connection the runtime sends the prompt of a run again, and the run has it twice (SDK 1.0.32).
    fn user(
        &mut self,
        record: &MessageRecord<'_>,
        out: &mut Out<'_, '_>,
    ) -> Result<Outcome, Fault> {
        let message = required(
            record.message.message(),
            Pointer::At("/message"),
            "an object",
        )?;
        let prompt = hash64((raw_str(record.message.run_id()), fact_of(message)));
        if self.unanswered == Some(prompt) {
            return Ok(Outcome::duplicate(
                self.form.sent_again(),
                rule::PROMPT_SENT_AGAIN,
            ));
        }
        let outcome = emit_prompt(record, out)?;
        self.unanswered = Some(prompt).filter(|_| record.message.run_id().is_some());
        Ok(outcome)
    }

    /// The state of the run. Its text, and the end of a run that failed or was stopped, are events.
    fn status(
        &mut self,
        record: &MessageRecord<'_>,
        out: &mut Out<'_, '_>,
    ) -> Result<Outcome, Fault> {
        let status = raw_str(record.message.status());
        let stated = non_empty_text(record.message.message());
        let of_run = self.error.as_deref().map(Text::Plain);
        match (end(status), stated) {
            (Some(end), stated) => {
                emit_end(end, status, stated.or(of_run), Pointer::At("/status"), out)?;
            }
            (None, Some(text)) => {
                let name = Text::Plain("status");
                let text = Some(text);
                out.emit(Meta::system(name, text), "/message")?;
                return Ok(Outcome::Mapped);
            }
            (None, None) => {
                return Ok(Outcome::bookkeeping(
                    self.form.progress(SdkKind::Status),
                    rule::RUN_PROGRESS,
                ));
            }
        }
        self.has_end = true;
        Ok(Outcome::Mapped)
    }

    /// The tokens of the whole run.
    fn usage(
        &mut self,
        record: &MessageRecord<'_>,
        out: &mut Out<'_, '_>,
    ) -> Result<Outcome, Fault> {
        let usage = required(record.message.usage(), Pointer::At("/usage"), "an object")?;
        let tokens: Option<Tokens> = RunUsage::lenient(usage).tokens();
        let tokens =
            tokens.ok_or_else(|| absent(Pointer::At("/usage"), "counts of tokens", Some(usage)))?;
        emit_usage(
            tokens,
            self.request_id.as_deref().map(Text::Plain),
            None,
            Pointer::At("/usage"),
            out,
        )?;
        self.has_usage = true;
        Ok(Outcome::Mapped)
    }

    /// The id of the request with which the run began.
    fn request(&mut self, record: &MessageRecord<'_>) -> Result<Outcome, Fault> {
        self.request_id = decoded_non_empty(record.message.request_id()).map(Into::into);
        Ok(Outcome::bookkeeping(
            self.form.progress(SdkKind::Request),
            rule::RUN_PROGRESS,
        ))
    }
}

/// The model with which the agent began.
fn system(record: &MessageRecord<'_>, out: &mut Out<'_, '_>) -> Result<Outcome, Fault> {
    let model = record.message.model().and_then(|model| model.member("id"));
    let facts = SessionFacts {
        model: non_empty_text(model),
        ..SessionFacts::default()
    };
    out.emit(Meta::Session(facts), "/model")?;
    Ok(Outcome::Mapped)
}

fn emit_prompt(record: &MessageRecord<'_>, out: &mut Out<'_, '_>) -> Result<Outcome, Fault> {
    for (index, (part, value)) in parts(&record.message)?.iter().enumerate() {
        let pointer = Pointer::Item(CONTENT, index);
        match (raw_str(part.kind()), text(part.text())) {
            ("text", None) => {
                return Err(absent(
                    Pointer::Field(CONTENT, index, "/text"),
                    "a string",
                    part.text(),
                ));
            }
            ("text", text) => drop(out.emit(MsgIn::user(Author::Person, text), pointer)?),
            (kind, _) => out.unrecognized_block(kind, value.raw(), pointer)?,
        }
    }
    Ok(Outcome::Mapped)
}

/// A notice about the run. At a compaction it is the summary.
fn task(record: &MessageRecord<'_>, out: &mut Out<'_, '_>) -> Result<Outcome, Fault> {
    let text = non_empty_text(record.message.text());
    out.emit(Meta::system("task", text), "/text")?;
    Ok(Outcome::Mapped)
}

const CONTENT: &str = "/message/content";

/// The parts of a message, each with the value that it was read from. There is at least one.
fn parts<'a>(message: &SdkMessage<'a>) -> Result<Vec<(SdkPart<'a>, Value<'a>)>, Fault> {
    let content = required(message.message(), Pointer::At("/message"), "an object")?;
    let content = required(
        SdkContent::strict(content, "/message")?.content(),
        Pointer::At(CONTENT),
        "a list of parts",
    )?;
    let part = |(index, value)| match SdkPart::strict(value, "") {
        Ok(part) => Ok((part, value)),
        Err(fault) => Err(fault.within(Pointer::Item(CONTENT, index))),
    };
    let parts: Vec<_> = content
        .elements()
        .enumerate()
        .map(part)
        .collect::<Result<_, _>>()?;
    if parts.is_empty() {
        Err(Fault::malformed(CONTENT, "a part", "nothing"))
    } else {
        Ok(parts)
    }
}
