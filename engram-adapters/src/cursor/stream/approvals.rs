//! Questions to the user in a capture, such as whether a tool may run. Their arguments are those of a call before or after them.

use engram_core::emit::{Fault, Pointer};
use engram_core::event::{Decision, Meta};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::schema::Record;
use super::state::{Shared, StreamState};
use crate::cursor::fields::faults::{absent, within_member};
use crate::cursor::fields::required;
use crate::cursor::readers::{Answer, Question};
use crate::cursor::steps::Out;
use crate::shared::value::{Field, Value, non_empty_text, raw_str};

/// `{"id": 0, "<name>": {...}}`.
struct Named<'a> {
    id: Option<u64>,
    name: &'a str,
    value: Value<'a>,
}

impl<'a> Named<'a> {
    fn read(field: Field<'a>, place: Pointer<'_>) -> Result<Named<'a>, Fault> {
        let object = required(field, place, "an object")?;
        let id = object.member("id").and_then(Value::unsigned);
        let named = object.members().find(|(name, _)| *name != "id");
        let (name, value) = named.ok_or_else(|| absent(place, "a named member", field))?;
        Ok(Named { id, name, value })
    }
}

/// A question. Its arguments are a notice, unless a call with the same id has them.
pub(super) fn request(
    state: &mut StreamState,
    shared: &mut Shared,
    record: &Record<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let pointer = Pointer::At("/query");
    let query_type = raw_str(record.line.query_type());
    let named = Named::read(record.line.query(), pointer)?;
    let question = Question::strict(named.value, "")
        .map_err(|fault| within_member("/query", named.name, fault))?;
    let call_id = non_empty_text(question.tool_call_id()).or(question
        .args()
        .and_then(|args| non_empty_text(args.member("toolCallId"))));
    let tool = Some(Text::Plain(query_type)).filter(|name| !name.is_empty());
    out.emit(Decision::Ask.of_call(tool, call_id, None), pointer)?;
    let call_id = call_id
        .map(|id| id.decode_lossy().into_owned())
        .unwrap_or_default();
    if let Some(args) = question.args() {
        let name = if query_type.is_empty() {
            "query"
        } else {
            query_type
        };
        if out.is_check() {
            shared
                .questions
                .ask(shared.session, &call_id, shared.number);
        } else if shared.questions.is_unclaimed(shared.number) {
            out.emit(Meta::system(name, Some(Text::Json(args.raw()))), pointer)?;
        }
    }
    state.last_question = named.id.map(|id| (id, call_id));
    Ok(Outcome::Mapped)
}

/// The answer to the last question, if it has the same number.
pub(super) fn response(
    state: &mut StreamState,
    record: &Record<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let pointer = Pointer::At("/response");
    let named = Named::read(record.line.response(), pointer)?;
    let (decision, text) = decision(&named)?;
    let last = state
        .last_question
        .as_ref()
        .filter(|(id, call_id)| Some(*id) == named.id && !call_id.is_empty());
    let call_id = last.map(|(_, call_id)| Text::Plain(call_id));
    let tool = Some(Text::Plain(named.name)).filter(|name| !name.is_empty());
    out.emit(decision.of_call(tool, call_id, text), pointer)?;
    Ok(Outcome::Mapped)
}

/// `{"approved": {}}`, `{"rejected": {"reason": ..}}`, or `{"result": ..}` around either.
fn decision<'a>(response: &Named<'a>) -> Result<(Decision, Option<Text<'a>>), Fault> {
    let in_answer = |fault| within_member("/response", response.name, fault);
    let answer = Answer::strict(response.value, "").map_err(in_answer)?;
    if let Some(result) = answer.result() {
        let inner = Answer::strict(result, "/result").map_err(in_answer)?;
        return Ok(match inner.rejected() {
            Some(rejected) => (Decision::Deny, non_empty_text(rejected.member("reason"))),
            None => (Decision::Allow, Some(result.json())),
        });
    }
    if let Some(rejected) = answer.rejected() {
        return Ok((Decision::Deny, non_empty_text(rejected.member("reason"))));
    }
    match answer.approved() {
        Some(_) => Ok((Decision::Allow, None)),
        None => Err(Fault::unrecognized("interaction_query/response")),
    }
}
