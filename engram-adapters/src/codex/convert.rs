//! The converter of one artifact: which record goes where.

use std::borrow::Cow;
use std::sync::LazyLock;

use engram_core::adapter::{Session, SideInfo};
use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault, RecordHeader};
use engram_core::event::{Meta, SessionFacts};
use engram_core::ledger::Outcome;
use engram_core::text::{DecodeBuffer, Text};
use memchr::memmem::Finder;
use serde::de::IgnoredAny;

use crate::shared::time::tape_time;
use crate::shared::value::{Field, StructuralIndex, Value, parse, raw_str, text};

use super::history::History;
use super::rules;
use super::schema::{Bare, Line};

/// The form of the artifact that the present record stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Container {
    /// `{timestamp, type, payload}` lines.
    Envelope,
    /// Lines that are items themselves.
    Bare,
    /// The items of one document, and the index of the present one.
    Document(usize),
}

/// The converter of one artifact.
pub(super) struct Converter {
    pub container: Container,
    pub history: History,
    pub context: SideInfo,
    /// For JSON inside a string of the record: its text, and where its values lie.
    pub inner: (DecodeBuffer, StructuralIndex),
}

impl Converter {
    fn new(context: &SideInfo) -> Self {
        Converter { container: Container::Envelope, history: History::default(), context: context.clone(), inner: Default::default() }
    }

    /// A place in an item, given as it is in the envelope form.
    pub fn at(&self, path: &'static str) -> Cow<'static, str> {
        let inner = path.strip_prefix("/payload").unwrap_or(path);
        match self.container {
            Container::Envelope => Cow::Borrowed(path),
            Container::Bare => Cow::Borrowed(inner),
            Container::Document(index) => Cow::Owned(format!("/items/{index}{inner}")),
        }
    }

    /// The item itself. In a line it is the whole record, which needs no pointer.
    pub fn root(&self) -> Root {
        Root(self.at("/payload"), self.container)
    }

    /// The facts of a header without cwd, model and version (0.1 to 0.29).
    pub fn header(&mut self, instructions: Field<'_>, git: Field<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let mut facts = SessionFacts::default();
        self.repository(git, &mut facts);
        self.surroundings(&mut facts);
        out.emit(Meta::Session(facts), Pointer::Root)?;
        self.instructions(instructions, "/payload/instructions", out)?;
        Ok(Outcome::Mapped)
    }

    /// Converts one line, of whatever form.
    fn line(&mut self, line: Value<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        self.history.records += 1;
        let envelope = Line::strict(line, "")?;
        let kind = raw_str(envelope.kind());
        if let Some(payload) = envelope.payload() {
            self.container = Container::Envelope;
            return self.envelope(kind, &envelope, payload, out);
        }
        if rules::is_line_type(kind) {
            return Err(Fault::malformed("/payload", "an object", "nothing"));
        }
        self.container = Container::Bare;
        if raw_str(line.first("record_type")) == "state" {
            return Ok(rules::bookkeeping("state", rules::STATE));
        }
        self.bare(line, &Bare::strict(line, "")?, out)
    }

    /// One line of the envelope form.
    fn envelope(&mut self, kind: &str, line: &Line<'_>, payload: Value<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let t = tape_time(line.timestamp());
        if kind == "session_meta" {
            self.history.copied.meta(payload.first("id"), payload.first("subagent_history_start_ordinal"));
        }
        let replay = self.history.copied.covers(line.ordinal(), payload, t.as_deref());
        self.history.replay = replay;
        let own = raw_str(payload.first("type"));
        let item = if own == "item_completed" { payload.first("item") } else { None };
        let id = if kind == "response_item" { payload.first("id") } else { item.and_then(|item| item.first("id")) };
        out.set_header(RecordHeader { t: t.as_deref(), id: text(id), replay });
        match kind {
            "response_item" => self.item(own, payload, out),
            "event_msg" => self.event(own, item, payload, t.as_deref(), out),
            "turn_context" => self.turn_context(payload, out),
            "token_usage_record" => self.usage_record(payload, out),
            "session_meta" => self.session_meta(payload, out),
            "world_state" => self.world_state(payload, out),
            "compacted" => self.compacted(payload, out),
            "inter_agent_communication_metadata" => Ok(rules::bookkeeping("inter_agent_communication_metadata", rules::DELIVERY)),
            other => Err(Fault::unrecognized(other)),
        }
    }

    /// One line of the bare form.
    fn bare(&mut self, line: Value<'_>, bare: &Bare<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let t = tape_time(bare.timestamp());
        out.set_header(RecordHeader { t: t.as_deref(), id: text(bare.id()), replay: false });
        if bare.kind().is_none() && bare.id().is_some() && t.is_some() {
            return self.header(bare.instructions(), bare.git(), out);
        }
        self.item(raw_str(bare.kind()), line, out)
    }
}

/// True for a line that holds nothing but the id of the last response (0.8 to 0.29): two of them stand around every request, and
/// need not be looked into.
fn is_state(line: &str) -> bool {
    let id = line.strip_prefix(r#"{"record_type":"state","previous_response_id":"#).and_then(|rest| rest.strip_suffix('}'));
    // Without a branch, so that several bytes are looked at together.
    let is_plain = |id: &str| id.bytes().fold(true, |plain, byte| plain & (byte.is_ascii_alphanumeric() | (byte == b'_')));
    id.is_some_and(|id| id == "null" || id.strip_prefix('"').and_then(|id| id.strip_suffix('"')).is_some_and(is_plain))
}

/// The place of a whole item.
pub(super) struct Root(Cow<'static, str>, Container);

impl Root {
    pub fn pointer(&self) -> Pointer<'_> {
        if matches!(self.1, Container::Document(_)) { Pointer::At(&self.0) } else { Pointer::Root }
    }
}

/// An artifact that is read record by record.
pub(super) struct Artifact {
    converter: Converter,
    /// Where the values of the current line lie.
    index: StructuralIndex,
}

impl Artifact {
    /// An artifact of which nothing has been read.
    pub fn open(context: &SideInfo) -> Self {
        Artifact { converter: Converter::new(context), index: StructuralIndex::default() }
    }
}

impl Session for Artifact {
    fn record(&mut self, text: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        if is_state(text) {
            self.converter.container = Container::Bare;
            return Ok(rules::bookkeeping("state", rules::STATE));
        }
        let line = parse(text, &mut self.index)?;
        self.converter.line(line, out)
    }

    fn document(&mut self, text: &str, out: &mut Emitter) -> Result<(), Fault> {
        self.converter.convert_document(text, out)
    }

    fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        for (call_id, held) in self.converter.history.waiting.drain() {
            self.converter.result_without_output(&call_id, &held, out)?;
        }
        Ok(())
    }

    fn fragment(&mut self, text: &str, out: &mut Emitter) -> Option<Result<Outcome, Fault>> {
        is_cut_record(text).then(|| {
            let code = Some(Text::Plain("cut_record"));
            out.emit(Meta::Error { code, text: Some(Text::Plain(text)) }, Pointer::Root).map(|_| Outcome::Mapped)
        })
    }

    fn resync(&self, text: &str) -> Option<usize> {
        next_record(text)
    }
}

/// How every line of the envelope form begins.
pub(super) const BEGINNING: &str = "{\"timestamp\":\"";

/// Where the next record begins behind a cut one: up to 0.142 a resume appends to the line that a kill cut.
pub(super) fn next_record(text: &str) -> Option<usize> {
    static FINDER: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(BEGINNING));
    FINDER.find_iter(text.as_bytes()).find(|at| *at > 0)
}

/// True for the beginning of an envelope line, and not its end.
fn is_cut_record(text: &str) -> bool {
    let text = text.trim_ascii_end();
    let begins = text.starts_with(BEGINNING) || BEGINNING.starts_with(text);
    begins && serde_json::from_str::<IgnoredAny>(text).is_err_and(|error| error.is_eof())
}
