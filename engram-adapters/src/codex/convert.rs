//! The converter of one artifact: which record goes where.

use std::borrow::Cow;

use engram_core::adapter::{Context, Session};
use engram_core::emit::{Emitter, Fault, Stamp};
use engram_core::event::{Meta, SessionFacts};
use engram_core::ledger::Outcome;
use engram_core::render::Pointer;
use engram_core::text::Text;
use memchr::memmem;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::kit::json::{self, Raw};
use crate::kit::time::rfc3339;

use super::history::History;
use super::rules;
use super::schema::{Bare, Git, Line};

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
    pub context: Context,
}

impl Converter {
    pub fn new(context: &Context) -> Self {
        Converter { container: Container::Envelope, history: History::default(), context: context.clone() }
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
    pub fn header(&mut self, instructions: Raw<'_>, git: Option<&Git<'_>>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let mut facts = SessionFacts::default();
        self.repository(git, &mut facts);
        self.surroundings(&mut facts);
        out.emit(Meta::Session(facts), Pointer::Root)?;
        self.instructions(instructions, "/payload/instructions", out)?;
        Ok(Outcome::Mapped)
    }

    /// One line of the envelope form.
    fn envelope(&mut self, line: &Line<'_>, text: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        let Some(payload) = &line.payload else {
            return Err(self.without_payload(&line.kind));
        };
        let t = line.timestamp.and_then(Text::of).map(|t| t.decode_lossy());
        let t = t.as_deref().and_then(rfc3339);
        if line.kind == "session_meta" {
            self.history.copied.meta(payload.id, payload.subagent_history_start_ordinal);
        }
        let replay = self.history.copied.covers(line.ordinal, payload.turn_id);
        self.history.replay = replay;
        let id = if line.kind == "response_item" { payload.id } else { payload.item.as_ref().and_then(|item| item.id) };
        out.stamp(Stamp { t: t.as_deref(), id: id.and_then(Text::of), replay });
        self.history.t = None;
        match line.kind.as_ref() {
            "response_item" => self.item(payload, text, out),
            "event_msg" => {
                self.history.t = t.map(Cow::into_owned);
                self.event(payload, text, out)
            }
            "turn_context" => self.turn_context(payload, out),
            "token_usage_record" => self.usage_record(payload, out),
            "session_meta" => self.session_meta(payload, out),
            "world_state" => self.world_state(payload, out),
            "compacted" => self.compacted(payload, out),
            "inter_agent_communication_metadata" => Ok(rules::bookkeeping("inter_agent_communication_metadata", rules::DELIVERY)),
            other => Err(Fault::unrecognized(other)),
        }
    }

    fn without_payload(&self, kind: &str) -> Fault {
        if rules::is_line_type(kind) { Fault::malformed("/payload", "an object", "nothing") } else { Fault::unrecognized(kind) }
    }

    /// One line of the bare form.
    fn bare(&mut self, line: Bare<'_>, text: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        if line.record_type == "state" {
            return Ok(rules::bookkeeping("state", rules::STATE));
        }
        if line.kind.is_empty() && line.timestamp.is_some() {
            let t = line.timestamp.and_then(Text::of).map(|t| t.decode_lossy());
            let t = t.as_deref().and_then(rfc3339);
            out.stamp(Stamp { t: t.as_deref(), id: line.id.and_then(Text::of), replay: false });
            return self.header(line.instructions, line.git.as_ref(), out);
        }
        out.stamp(Stamp { t: None, id: line.id.and_then(Text::of), replay: false });
        self.item(&line.into_item(), text, out)
    }
}

/// The place of a whole item.
pub(super) struct Root(Cow<'static, str>, Container);

impl Root {
    pub fn pointer(&self) -> Pointer<'_> {
        if matches!(self.1, Container::Document(_)) { Pointer::At(&self.0) } else { Pointer::Root }
    }
}

/// The names of a record's types, whatever else is in it.
#[derive(Deserialize)]
struct Names<'a> {
    #[serde(borrow, rename = "type")]
    kind: Raw<'a>,
    #[serde(borrow)]
    payload: Raw<'a>,
    #[serde(borrow)]
    item: Raw<'a>,
}

/// The fault of a record whose fields do not have the known shape: of a type that is not known, that is no wonder.
fn misshapen(text: &str, error: serde_json::Error) -> Fault {
    if !error.is_data() {
        return Fault::Json(error);
    }
    let mut name = String::new();
    let mut rest = Some(text);
    while let Some(names) = rest.and_then(|text| serde_json::from_str::<Names<'_>>(text).ok()) {
        if let Some(kind) = names.kind.and_then(Text::of) {
            name.push_str(if name.is_empty() { "" } else { "/" });
            name.push_str(&kind.decode_lossy());
        }
        rest = names.payload.or(names.item).map(|raw| raw.get());
    }
    if name.is_empty() || rules::is_known(&name) {
        Fault::malformed("", "fields of the known types", &error.to_string())
    } else {
        Fault::unrecognized(&name)
    }
}

impl Session for Converter {
    fn record(&mut self, text: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        // A form rarely changes inside a file, so the form of the last line is tried first.
        if self.container == Container::Bare {
            let line: Bare<'_> = json::parse(text).map_err(|error| misshapen(text, error))?;
            if line.payload.is_none() {
                return self.bare(line, text, out);
            }
            self.container = Container::Envelope;
        }
        let line: Line<'_> = json::parse(text).map_err(|error| misshapen(text, error))?;
        if line.payload.is_none() && !rules::is_line_type(&line.kind) {
            let bare: Bare<'_> = json::parse(text).map_err(|error| misshapen(text, error))?;
            if rules::is_bare(&bare) {
                self.container = Container::Bare;
                return self.bare(bare, text, out);
            }
        }
        self.envelope(&line, text, out)
    }

    fn document(&mut self, text: &str, out: &mut Emitter) -> Result<(), Fault> {
        self.convert_document(text, out)
    }

    fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        for (call_id, held) in self.history.waiting.drain() {
            self.result_without_output(&call_id, &held, out)?;
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
const BEGINNING: &str = "{\"timestamp\":\"";

/// Where the next record begins behind a cut one: up to 0.142 a resume appends to the line that a kill cut.
pub(super) fn next_record(text: &str) -> Option<usize> {
    memmem::find_iter(text.as_bytes(), BEGINNING).find(|at| *at > 0)
}

/// True for the beginning of an envelope line, and not its end.
fn is_cut_record(text: &str) -> bool {
    let text = text.trim_ascii_end();
    let begins = text.starts_with(BEGINNING) || BEGINNING.starts_with(text);
    begins && serde_json::from_str::<IgnoredAny>(text).is_err_and(|error| error.is_eof())
}
