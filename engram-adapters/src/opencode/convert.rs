//! The converter of one session: the walk over an export's messages and parts.

use std::fmt::Write as _;

use engram_core::adapter::Session;
use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault, RecordHeader};
use engram_core::event::{Decision, Meta, Permission, SessionFacts};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::converter::{Converter, changed};
use super::messages::Turn;
use super::schema::{Document, Envelope, Info, Line, Message, Model, Part, Rule, Time};
use crate::shared::value::{PullReader, StructuralIndex, Value, integer, non_empty_text, parse, raw_str, text};

impl Converter {
    /// States what the session says of itself.
    #[cold]
    fn info(&mut self, info: Value<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let info = Info::strict(info, "")?;
        let time = Time::lenient_opt(info.time());
        self.created = integer(time.created());
        let created = self.created.and_then(|created| self.clock.spell(created));
        out.set_header(RecordHeader { t: created, id: text(info.id()), replay: false });
        let context = self.context.clone();
        let model = Model::lenient_opt(info.model());
        let facts = SessionFacts {
            title: non_empty_text(info.title()),
            cwd: changed(&mut self.standing.cwd, info.directory()),
            agent: changed(&mut self.standing.agent, info.agent()),
            model: changed(&mut self.standing.model, model.id()),
            provider: changed(&mut self.standing.provider, model.provider_id()),
            parent_session_id: non_empty_text(info.parent_id()).or(context.parent_session_id.as_deref().map(Text::Plain)),
            parent_call_id: context.parent_call_id.as_deref().map(Text::Plain),
            ..SessionFacts::default()
        };
        out.emit(Meta::Session(facts), INFO)?;
        for rule in info.permission().into_iter().flat_map(Value::elements) {
            out.emit(Meta::Permission(permission(&Rule::strict(rule, "/permission")?)), INFO)?;
        }
        if let Some(url) = info.share().and_then(|share| non_empty_text(share.member("url"))) {
            out.emit(Meta::System { name: Text::Plain("share"), text: Some(url) }, INFO)?;
        }
        if let Some(revert) = info.revert() {
            out.emit(Meta::System { name: Text::Plain("revert"), text: non_empty_text(revert.member("diff")) }, INFO)?;
        }
        if time.archived().is_some() {
            out.emit(Meta::System { name: Text::Plain("archived"), text: None }, INFO)?;
        }
        Ok(Outcome::Mapped)
    }
}

fn permission<'a>(rule: &Rule<'a>) -> Permission<'a> {
    let decision = match raw_str(rule.action()) {
        "allow" => Decision::Allow,
        "deny" => Decision::Deny,
        _ => Decision::Ask,
    };
    Permission { decision, tool: text(rule.permission()), call_id: None, text: non_empty_text(rule.pattern()) }
}

/// Where the session's own record lies.
const INFO: Pointer<'static> = Pointer::At("/info");

impl Session for Converter {
    fn record(&mut self, source: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        let mut index = std::mem::take(&mut self.index);
        let outcome = parse(source, &mut index).and_then(|line| self.stream_line(&Line::strict(line, "")?, out));
        self.index = index;
        outcome
    }

    fn fragment(&mut self, text: &str, out: &mut Emitter) -> Option<Result<Outcome, Fault>> {
        self.stream_notice(text, out)
    }

    fn document(&mut self, source: &str, out: &mut Emitter) -> Result<(), Fault> {
        let mut index = std::mem::take(&mut self.index);
        let converted = self.export(source, &mut index, out);
        self.index = index;
        converted.map_err(|fault| whole(source).err().unwrap_or(fault))
    }
}

/// What is wrong with an export as a whole: that is said before what is wrong with one of its records.
#[cold]
fn whole(source: &str) -> Result<(), Fault> {
    let mut index = StructuralIndex::default();
    let document = Document::strict(parse(source, &mut index)?, "")?;
    let missing = |field: &'static str| Fault::malformed(field, "a session with messages", "nothing");
    document.info().ok_or_else(|| missing("/info"))?;
    document.messages().ok_or_else(|| missing("/messages"))?;
    Ok(())
}

impl Converter {
    /// Converts an export piece by piece. Those that were converted before it turned out to be cut off are passed over.
    fn export(&mut self, source: &str, index: &mut StructuralIndex, out: &mut Emitter) -> Result<(), Fault> {
        let odd = || Fault::malformed("", "a session with messages", "another document");
        let mut pieces = PullReader::of(source, index)?;
        let (mut has_info, mut has_messages) = (false, false);
        if !pieces.enter(b'{')? {
            return Err(odd());
        }
        while let Some(name) = pieces.member()? {
            match name {
                "info" if !has_info => {
                    has_info = true;
                    let info = pieces.value()?;
                    self.piece(0, |converter| converter.record_at(INFO, info, out, |converter, out| converter.info(info, out)))?;
                }
                "messages" if has_info && !has_messages && pieces.enter(b'[')? => {
                    has_messages = true;
                    for n in 0.. {
                        if !pieces.element()? {
                            break;
                        }
                        let message = pieces.value()?;
                        self.piece(n + 1, |converter| converter.message(n, message, out))?;
                    }
                }
                "messages" if !has_info => return Err(Fault::malformed("/messages", "the session's own record before them", "none")),
                "info" | "messages" => return Err(odd()),
                _ => {
                    pieces.value()?;
                }
            }
        }
        pieces.end()?;
        if has_messages { Ok(()) } else { Err(odd()) }
    }

    /// Converts the piece of an export that has this number, unless that has been done.
    fn piece(&mut self, number: usize, convert: impl FnOnce(&mut Self) -> Result<(), Fault>) -> Result<(), Fault> {
        if number == self.converted {
            convert(self)?;
            self.converted += 1;
        }
        Ok(())
    }

    /// Converts a message: what it says of itself, then a record a part.
    fn message(&mut self, n: usize, message: Value<'_>, out: &mut Emitter) -> Result<(), Fault> {
        let stated = Message::lenient(message);
        let (Some(info), Some(parts)) = (stated.info(), stated.parts()) else {
            let fault = Fault::malformed("", "a message with parts", message.raw());
            return self.record_at(Pointer::Item("/messages", n), message, out, |_, _| Err(fault));
        };
        let mut turn = Turn::default();
        let place = Pointer::Field("/messages", n, "/info");
        self.record_at(place, info, out, |converter, out| {
            let mut envelope = Envelope::default();
            envelope.fill_message(info)?;
            turn = Turn::of(&envelope, has_steps(parts), converter.created);
            converter.envelope(&envelope, &turn, place, out)
        })?;
        let mut list = std::mem::take(&mut self.parts_at);
        list.clear();
        let _ = write!(list, "/messages/{n}/parts");
        for (n, part) in parts.elements().enumerate() {
            let place = Pointer::Item(&list, n);
            self.record_at(place, part, out, |converter, out| {
                let mut view = Part::default();
                view.strict_into(part, "")?;
                converter.part(&view, &turn, place, out)
            })?;
        }
        self.parts_at = list;
        Ok(())
    }

    /// Converts one record of a document, and applies the policy to what is wrong with it.
    fn record_at(
        &mut self,
        place: Pointer<'_>,
        record: Value<'_>,
        out: &mut Emitter,
        convert: impl FnOnce(&mut Self, &mut Emitter) -> Result<Outcome, Fault>,
    ) -> Result<(), Fault> {
        out.begin();
        match convert(self, out) {
            Ok(outcome) => {
                out.settle(outcome);
                Ok(())
            }
            Err(fault) => out.settle_fault(under(place, fault), record.raw()),
        }
    }
}

/// True when a part of the message states the tokens of each request.
fn has_steps(parts: Value<'_>) -> bool {
    parts.elements().any(|part| raw_str(part.first("type")) == "step-finish")
}

/// The fault of a field whose path was given from the record that lies at `place`.
pub(super) fn under(place: Pointer<'_>, fault: Fault) -> Fault {
    match fault {
        Fault::Malformed { pointer, expected, found } => Fault::Malformed { pointer: format!("{place}{pointer}"), expected, found },
        other => other,
    }
}
