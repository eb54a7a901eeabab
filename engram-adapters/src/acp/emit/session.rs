//! Facts about a session, and answers that say them.

use engram_core::emit::Pointer;
use engram_core::event::{Meta, SessionFacts, Usage};
use engram_core::ledger::Outcome;
use engram_core::steps::{Emitter, Record};
use engram_core::text::Text;

use super::state::{COPILOT, Connection, State};
use super::usage::{is_nothing, of_model, since, totals, usage};
use crate::acp::format::MessageKind;
use crate::acp::message::at;
use crate::shared::stated::emit_facts;
use crate::shared::value::{Field, Value, amount, count, elements, non_empty_text, raw_str, text};

const PARAMS: Pointer<'static> = Pointer::At("/m/params");
const RESULT: Pointer<'static> = Pointer::At("/m/result");
const UPDATE_AT: &str = "/m/params/update";
const UPDATE: Pointer<'static> = Pointer::At(UPDATE_AT);

/// A request that begins a session, or goes on with one. If the agent refused a fork, no session began.
pub fn begin(kind: MessageKind, record: &Record<'_>, is_begun: bool, out: &mut Emitter<'_>) {
    let is_fork = kind == MessageKind::Fork;
    if is_fork && !is_begun {
        out.emit(Meta::system(kind.name(), None), PARAMS);
        return;
    }
    let said = SessionFacts {
        cwd: non_empty_text(at(record.value, "m/params/cwd")),
        fork_of: non_empty_text(at(record.value, "m/params/sessionId")).filter(|_| is_fork),
        ..SessionFacts::default()
    };
    emit_facts(said, PARAMS, out);
    if !out.has_events() {
        out.emit(Meta::system(kind.name(), None), PARAMS);
    }
}

/// The mode, the model or the settings that the client has chosen, from the answer on.
pub fn chosen(state: &mut State, record: &Record<'_>, request: Value<'_>, out: &mut Emitter<'_>) {
    let params = |name| at(request, "m/params").and_then(|params| params.member(name));
    let options = at(record.value, "m/result/configOptions");
    let said = state.model(
        params("modelId").or(setting(options, "model")),
        params("modeId").or(setting(options, "mode")),
        setting(options, "thought_level"),
    );
    emit_facts(said, RESULT, out);
}

/// The value of the setting of a category.
fn setting<'a>(options: Field<'a>, category: &str) -> Field<'a> {
    let mut options = options.into_iter().flat_map(Value::elements);
    let of = options.find(|option| raw_str(option.member("category")) == category)?;
    of.member("currentValue")
}

/// A change of settings, of the mode, of the title.
pub fn changed(
    kind: MessageKind,
    state: &mut State,
    record: &Record<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let update = at(record.value, "m/params/update");
    let of = |name| update.and_then(|update| update.member(name));
    let options = of("configOptions");
    let mode = of("currentModeId").or(setting(options, "mode"));
    let model = setting(options, "model");
    let effort = setting(options, "thought_level");
    let said = SessionFacts {
        title: non_empty_text(of("title")),
        ..state.model(model, mode, effort)
    };
    emit_facts(said, UPDATE, out);
    match kind {
        _ if out.has_events() => Outcome::Mapped,
        MessageKind::UpdateConfigOptionUpdate => Outcome::bookkeeping(kind.name(), "client.menu"),
        _ => {
            out.emit(Meta::system(kind.name(), non_empty_text(mode)), UPDATE);
            Outcome::Mapped
        }
    }
}

/// The size of the context, and the cost so far. Vibe adds the tokens of the session so far: what is new of them is the usage of a response.
pub fn context(
    state: &mut State,
    record: &Record<'_>,
    (is_same, is_history): (bool, bool),
    out: &mut Emitter<'_>,
) -> Outcome {
    let update = at(record.value, "m/params/update");
    let of = |path| update.and_then(|update| at(update, path));
    if let Some(now) = of("_meta").and_then(totals) {
        let before = state.total.replace(now);
        let new = before.map(|before| since(before, now));
        if let Some(tokens) = new.filter(|new| !is_history && !is_nothing(new)) {
            let usage = Usage {
                tokens,
                ..Usage::default()
            };
            out.emit(Meta::Usage(usage), Pointer::Member(UPDATE_AT, "_meta"));
            state.is_counted = true;
        }
    }
    let is_dollars = raw_str(of("cost/currency")) == "USD";
    let said = SessionFacts {
        context_tokens: count(of("used")),
        cost_total_usd: amount(of("cost/amount")).filter(|_| is_dollars),
        ..SessionFacts::default()
    };
    if is_same || said.is_empty() {
        if out.has_events() {
            return Outcome::Mapped;
        }
        return Outcome::duplicate(MessageKind::UpdateUsageUpdate.name(), "usage.same");
    }
    emit_facts(said, UPDATE, out);
    Outcome::Mapped
}

/// The answer to `initialize`: which agent it is.
pub fn agent(connection: &mut Connection, record: &Record<'_>, out: &mut Emitter<'_>) {
    let agent = at(record.value, "m/result/agentInfo");
    let name = agent.and_then(|agent| text(agent.member("name")));
    connection.agent = name
        .map(|name| name.decode_lossy().into_owned())
        .unwrap_or_default();
    let version = at(record.value, "m/result/protocolVersion");
    let said = agent.or(version).map(Value::json);
    out.emit(Meta::system("agent", said), RESULT);
}

/// The answer that begins a session: agent, mode, model.
pub fn began(
    connection: &Connection,
    state: &mut State,
    record: &Record<'_>,
    out: &mut Emitter<'_>,
) {
    let result = |path| at(record.value, "m/result").and_then(|result| at(result, path));
    let options = result("configOptions");
    let model = result("models/currentModelId").or(setting(options, "model"));
    let mode = result("modes/currentModeId").or(setting(options, "mode"));
    let agent = (!connection.agent.is_empty()).then_some(Text::Plain(&connection.agent));
    let said = SessionFacts {
        agent,
        ..state.model(model, mode, setting(options, "thought_level"))
    };
    emit_facts(said, RESULT, out);
    if !out.has_events() {
        out.emit(Meta::system("session", None), RESULT);
    }
}

/// The answer to a prompt: tokens of the turn, unless the responses had them, and how it ended.
pub fn turn_end(
    connection: &Connection,
    state: &mut State,
    record: &Record<'_>,
    out: &mut Emitter<'_>,
) {
    let counts = at(record.value, "m/result/usage").filter(|_| !state.is_counted);
    let stop = at(record.value, "m/result/stopReason");
    let mut usage = counts.map(usage);
    if let Some(usage) = &mut usage
        && connection.agent == COPILOT
    {
        let before = state.total.replace(usage.tokens);
        usage.tokens = since(before.unwrap_or_default(), usage.tokens);
    }
    // Of a turn that was cancelled an agent may count nothing.
    let rows = at(record.value, "m/result/_meta/quota/model_usage").filter(|_| !state.is_counted);
    let rows = elements(rows).map(of_model);
    let rows: Vec<_> = rows.filter(|usage| !is_nothing(&usage.tokens)).collect();
    let usage = usage.filter(|usage| rows.is_empty() && !is_nothing(&usage.tokens));
    let is_usage = usage.is_some() || !rows.is_empty();
    for usage in rows {
        let pointer = Pointer::At("/m/result/_meta/quota/model_usage");
        out.emit(Meta::Usage(usage), pointer);
    }
    if let Some(mut usage) = usage {
        usage.stop_reason = non_empty_text(stop);
        out.emit(Meta::Usage(usage), Pointer::At("/m/result/usage"));
    }
    let pointer = Pointer::At("/m/result/stopReason");
    if raw_str(stop) == "cancelled" {
        out.emit(Meta::Interrupt { text: text(stop) }, pointer);
    } else if !is_usage {
        out.emit(Meta::system("stop_reason", text(stop)), pointer);
    }
}

/// An error in place of a result.
pub fn error(record: &Record<'_>, out: &mut Emitter<'_>) {
    let error = |name| at(record.value, "m/error").and_then(|error| error.member(name));
    let code = error("code").map(Value::json);
    let pointer = Pointer::At("/m/error");
    out.emit(Meta::error(code, text(error("message"))), pointer);
    if let Some(data) = error("data") {
        out.emit(
            Meta::system("error_data", Some(data.text_or_json())),
            pointer,
        );
    }
}

/// The result of a request of which the tape has no more than the JSON.
pub fn result(method: &str, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let result = at(record.value, "m/result").filter(|result| !result.is_empty_object());
    let Some(result) = result else {
        return Outcome::bookkeeping("", "answer.empty");
    };
    let name = if method.is_empty() { "answer" } else { method };
    out.emit(Meta::system(name, Some(result.text_or_json())), RESULT);
    Outcome::Mapped
}
