//! The converter of one session: what it remembers, and the walk over an export's messages and parts.

use engram_core::adapter::{Context, Opening, Session};
use engram_core::emit::{Emitter, Fault, Stamp};
use engram_core::event::{Decision, Meta, Permission, SessionFacts};
use engram_core::ledger::Outcome;
use engram_core::render::Pointer;
use engram_core::text::Text;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::descriptor::rule;
use super::messages::Turn;
use super::revisions::{Dialect, dialect};
use super::schema::{Document, Envelope, Info, Part, RawDocument, RawMessage};
use crate::kit::correlate::Said;
use crate::kit::json::{self, Raw, filled_text, text};
use crate::kit::time::from_millis;

/// What is remembered from record to record.
pub(super) struct Converter {
    pub dialect: Dialect,
    pub context: Context,
    /// When the session was created, in milliseconds. Older messages are copies of another session's.
    pub created: Option<i64>,
    /// What started the last compaction, until its summary comes.
    pub compaction_trigger: Option<&'static str>,
    /// System prompts that have been given.
    pub prompts: Said,
    pub standing: Standing,
}

/// The last stated value of what messages say again and again, as the source spells it.
#[derive(Default)]
pub(super) struct Standing {
    pub cwd: Option<String>,
    pub agent: Option<String>,
    pub model: Option<String>,
    pub provider: Option<String>,
}

/// The value as text, if it differs from what was said last.
pub(super) fn changed<'a>(slot: &mut Option<String>, value: Raw<'a>) -> Option<Text<'a>> {
    let value = value.filter(|value| slot.as_deref() != Some(value.get()))?;
    let text = filled_text(Some(value))?;
    *slot = Some(value.get().to_owned());
    Some(text)
}

impl Converter {
    /// A converter that has seen nothing yet.
    pub fn open(opening: &Opening<'_>) -> Self {
        Converter {
            dialect: dialect(opening.identity),
            context: opening.context.clone(),
            created: None,
            compaction_trigger: None,
            prompts: Said::default(),
            standing: Standing::default(),
        }
    }

    /// States what the session says of itself.
    fn info(&mut self, info: &Info<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        self.created = info.time.created;
        let time = info.time.created.and_then(from_millis);
        out.stamp(Stamp { t: time.as_deref(), id: text(info.id), replay: false });
        let context = self.context.clone();
        let stated_parent = filled_text(info.parent_id);
        let facts = SessionFacts {
            title: filled_text(info.title),
            cwd: changed(&mut self.standing.cwd, info.directory),
            agent: changed(&mut self.standing.agent, info.agent),
            model: info.model.as_ref().and_then(|model| changed(&mut self.standing.model, model.model_id)),
            provider: info.model.as_ref().and_then(|model| changed(&mut self.standing.provider, model.provider_id)),
            parent_session_id: stated_parent.or(context.parent_session_id.as_deref().map(Text::Plain)),
            parent_call_id: context.parent_call_id.as_deref().map(Text::Plain),
            ..SessionFacts::default()
        };
        out.emit(Meta::Session(facts), INFO)?;
        for rule in &info.permission {
            let decision = match text(rule.action) {
                Some(action) if action.is("allow") => Decision::Allow,
                Some(action) if action.is("deny") => Decision::Deny,
                _ => Decision::Ask,
            };
            let permission = Permission { decision, tool: text(rule.permission), call_id: None, text: filled_text(rule.pattern) };
            out.emit(Meta::Permission(permission), INFO)?;
        }
        if let Some(url) = info.share.as_ref().and_then(|share| filled_text(share.url)) {
            out.emit(Meta::System { name: Text::Plain("share"), text: Some(url) }, INFO)?;
        }
        if let Some(revert) = &info.revert {
            out.emit(Meta::System { name: Text::Plain("revert"), text: filled_text(revert.diff) }, INFO)?;
        }
        if info.time.archived.is_some() {
            out.emit(Meta::System { name: Text::Plain("archived"), text: None }, INFO)?;
        }
        Ok(Outcome::Mapped)
    }
}

/// Where the session's own record lies.
const INFO: Pointer<'static> = Pointer::At("/info");

impl Session for Converter {
    fn record(&mut self, text: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        self.stream_line(text, out)
    }

    fn fragment(&mut self, text: &str, out: &mut Emitter) -> Option<Result<Outcome, Fault>> {
        self.stream_notice(text, out)
    }

    fn document(&mut self, source: &str, out: &mut Emitter) -> Result<(), Fault> {
        match json::parse::<Document<'_>>(source) {
            Ok(document) => self.read_document(&document, source, out),
            Err(error) if error.is_data() => self.odd_document(source, out),
            Err(error) => Err(error.into()),
        }
    }
}

impl Converter {
    /// Converts a document in which everything has a known shape. It was parsed once.
    fn read_document(&mut self, document: &Document<'_>, source: &str, out: &mut Emitter) -> Result<(), Fault> {
        let mut raw = RawParts { source, document: None };
        out.begin();
        let settled = self.info(&document.info, out);
        settle(settled, out, || Ok(raw.document()?.info.get()))?;
        let mut place = String::new();
        for (m, message) in document.messages.iter().enumerate() {
            let has_steps = message.parts.iter().any(|part| part.kind == "step-finish");
            let turn = Turn::of(&message.info, has_steps, self.created);
            out.begin();
            at_message(&mut place, m);
            let settled = self.envelope(&message.info, &turn, &place, out);
            settle(settled, out, || raw.envelope(m))?;
            for (p, part) in message.parts.iter().enumerate() {
                out.begin();
                at_part(&mut place, m, p);
                let settled = self.part(part, &turn, Pointer::At(&place), out);
                settle(settled, out, || raw.part(m, p))?;
            }
        }
        Ok(())
    }

    /// Converts a document in which something has another shape, each record by itself.
    fn odd_document(&mut self, source: &str, out: &mut Emitter) -> Result<(), Fault> {
        let document: RawDocument<'_> =
            json::parse(source).map_err(|error| Fault::malformed("", "a session with messages", &error.to_string()))?;
        out.begin();
        let settled = read::<Info<'_>>(document.info).and_then(|info| self.info(&info, out));
        settle(settled, out, || Ok(document.info.get()))?;
        let mut place = String::new();
        for (m, raw) in document.messages.iter().enumerate() {
            let Ok(message) = json::parse::<RawMessage<'_>>(raw.get()) else {
                out.begin();
                out.settle_fault(Fault::malformed(format!("/messages/{m}"), "a message with parts", raw.get()), raw.get())?;
                continue;
            };
            let envelope = read::<Envelope<'_>>(message.info);
            let parts: Vec<_> = message.parts.iter().map(|part| (read::<Part<'_>>(part), *part)).collect();
            let has_steps = parts.iter().any(|(part, _)| part.as_ref().is_ok_and(|part| part.kind == "step-finish"));
            let turn = envelope.as_ref().map_or_else(|_| Turn::default(), |envelope| Turn::of(envelope, has_steps, self.created));
            out.begin();
            at_message(&mut place, m);
            let settled = match &envelope {
                Ok(envelope) => self.envelope(envelope, &turn, &place, out),
                Err(_) => Err(Fault::malformed(place.as_str(), "a known message", message.info.get())),
            };
            settle(settled, out, || Ok(message.info.get()))?;
            for (p, (part, raw)) in parts.into_iter().enumerate() {
                out.begin();
                at_part(&mut place, m, p);
                let settled = part.and_then(|part| self.part(&part, &turn, Pointer::At(&place), out));
                settle(settled, out, || Ok(raw.get()))?;
            }
        }
        Ok(())
    }
}

/// Counts a record, or keeps it as the policy says.
fn settle<'s>(settled: Result<Outcome, Fault>, out: &mut Emitter, raw: impl FnOnce() -> Result<&'s str, Fault>) -> Result<(), Fault> {
    match settled {
        Ok(outcome) => {
            out.settle(outcome);
            Ok(())
        }
        Err(fault) => out.settle_fault(fault, raw()?),
    }
}

fn read<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Result<T, Fault> {
    json::parse(raw.get()).map_err(|error| Fault::malformed("", "fields of the known types", &error.to_string()))
}

fn at_message(place: &mut String, message: usize) {
    *place = format!("/messages/{message}/info");
}

fn at_part(place: &mut String, message: usize, part: usize) {
    *place = format!("/messages/{message}/parts/{part}");
}

/// The source text of records, looked up only when one must be kept as it is.
struct RawParts<'s> {
    source: &'s str,
    document: Option<RawDocument<'s>>,
}

impl<'s> RawParts<'s> {
    fn document(&mut self) -> Result<&RawDocument<'s>, Fault> {
        if self.document.is_none() {
            self.document = Some(json::parse(self.source)?);
        }
        self.document.as_ref().ok_or_else(lost)
    }

    fn message(&mut self, message: usize) -> Result<RawMessage<'s>, Fault> {
        let raw = *self.document()?.messages.get(message).ok_or_else(lost)?;
        Ok(json::parse(raw.get())?)
    }

    fn envelope(&mut self, message: usize) -> Result<&'s str, Fault> {
        Ok(self.message(message)?.info.get())
    }

    fn part(&mut self, message: usize, part: usize) -> Result<&'s str, Fault> {
        Ok(self.message(message)?.parts.get(part).ok_or_else(lost)?.get())
    }
}

/// A record that was parsed cannot be found again. Cannot happen: both parses are of the same text.
fn lost() -> Fault {
    Fault::malformed("", "the record that was just read", "nothing")
}

/// A record that needs no event, by this rule.
pub(super) fn bookkeeping(record: &'static str, rule: rule::Name) -> Outcome {
    Outcome::Bookkeeping { record, rule }
}
