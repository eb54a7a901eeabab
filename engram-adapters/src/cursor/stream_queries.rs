//! Questions to the user in a capture: may a tool run, which option is it to be. Their arguments are those of a call that comes before or after.

use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault, RecordHeader, RecordLocation};
use engram_core::event::{Decision, Meta, Permission};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use crate::shared::value::{Field, Value, non_empty_text};
use crate::shared::view::view;

/// The most questions that are held until their call comes.
const MAX_OPEN: usize = 256;

/// Questions whose call has not come.
#[derive(Default)]
pub(super) struct Queries {
    open: Vec<Open>,
    /// The call of the last question, which its response does not name.
    last: Option<(u64, String)>,
}

struct Open {
    location: RecordLocation,
    call_id: String,
    name: String,
    args: String,
}

/// `{"id": 0, "<name>": {...}}`.
struct Named<'a> {
    id: Option<u64>,
    name: &'a str,
    value: Value<'a>,
}

impl<'a> Named<'a> {
    fn of(field: Field<'a>, pointer: &'static str) -> Result<Named<'a>, Fault> {
        let Some(whole) = field else { return Err(Fault::malformed(pointer, "an object", "nothing")) };
        let id = whole.member("id").and_then(Value::unsigned);
        let named = whole.members().find(|(name, _)| *name != "id");
        let (name, value) = named.ok_or_else(|| Fault::malformed(pointer, "a named member", whole.raw()))?;
        Ok(Named { id, name, value })
    }
}

view! {
    /// A question. The call's id stands in it or in its arguments.
    Asked {
        args: "args" Any,
        tool_call_id: "toolCallId" Any,
    }
}

view! {
    /// An answer.
    Answered {
        approved: "approved" Any,
        rejected: "rejected" Object,
        result: "result" Any,
    }
}

impl Queries {
    /// A question. Its arguments are held until a call with the same id says them, or the capture ends.
    pub(super) fn request(&mut self, name: &str, query: Field<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let named = Named::of(query, "/query")?;
        let asked = Asked::strict(named.value, "/query")?;
        let call_id = non_empty_text(asked.tool_call_id()).or(asked.args().and_then(|args| non_empty_text(args.member("toolCallId"))));
        let permission =
            Permission { decision: Decision::Ask, tool: Some(Text::Plain(name)).filter(|name| !name.is_empty()), call_id, text: None };
        out.emit(Meta::Permission(permission), Pointer::At("/query"))?;
        let call_id = call_id.map(|id| id.decode_lossy().into_owned()).unwrap_or_default();
        let known = !call_id.is_empty() && out.seq_of_call(Text::Plain(&call_id)).is_some();
        if let Some(args) = asked.args().filter(|_| !known && self.open.len() < MAX_OPEN) {
            let name = if name.is_empty() { "query" } else { name };
            let (name, args) = (name.to_owned(), args.raw().to_owned());
            self.open.push(Open { location: out.location(), call_id: call_id.clone(), name, args });
        }
        self.last = named.id.map(|id| (id, call_id));
        Ok(Outcome::Mapped)
    }

    /// The answer to the last question with the same number.
    pub(super) fn response(&mut self, response: Field<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let named = Named::of(response, "/response")?;
        let (decision, text) = decision(named.value)?;
        let asked = self.last.as_ref().filter(|(id, call_id)| Some(*id) == named.id && !call_id.is_empty());
        let call_id = asked.map(|(_, call_id)| Text::Plain(call_id));
        let permission = Permission { decision, tool: Some(Text::Plain(named.name)).filter(|name| !name.is_empty()), call_id, text };
        out.emit(Meta::Permission(permission), Pointer::At("/response"))?;
        Ok(Outcome::Mapped)
    }

    /// The call has come, and says what the question said.
    pub(super) fn called(&mut self, call_id: Text<'_>) {
        if !self.open.is_empty() {
            let call_id = call_id.decode_lossy();
            self.open.retain(|open| open.call_id != call_id);
        }
    }

    /// Writes the questions whose call never came: a plan to be approved is nowhere else.
    pub(super) fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        for open in self.open.drain(..) {
            out.attribute_to(open.location, RecordHeader::default());
            out.emit(Meta::System { name: Text::Plain(&open.name), text: Some(Text::Plain(&open.args)) }, Pointer::At("/query"))?;
        }
        Ok(())
    }
}

/// `{"approved": {}}`, `{"rejected": {"reason": ..}}`, or `{"result": ..}` around either.
fn decision(value: Value<'_>) -> Result<(Decision, Option<Text<'_>>), Fault> {
    let answered = Answered::strict(value, "/response")?;
    if let Some(result) = answered.result() {
        let inner = Answered::strict(result, "/response/result")?;
        return Ok(match inner.rejected() {
            Some(rejected) => (Decision::Deny, non_empty_text(rejected.member("reason"))),
            None => (Decision::Allow, Some(Text::Plain(result.raw()))),
        });
    }
    if let Some(rejected) = answered.rejected() {
        return Ok((Decision::Deny, non_empty_text(rejected.member("reason"))));
    }
    match answered.approved() {
        Some(_) => Ok((Decision::Allow, None)),
        None => Err(Fault::unrecognized("interaction_query/response")),
    }
}
