//! Lines about the run: how it begins and ends, hooks, permissions, background tasks, failed requests.

use engram_core::emit::Pointer;
use engram_core::event::{Decision, Meta, SessionFacts};
use engram_core::keys::hash64;
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use super::line::{StreamRecord, StreamState};
use crate::claude_code::context_events::emit_hash;
use crate::claude_code::emit::state::last_stated::Said;
use crate::claude_code::emit::system;
use crate::claude_code::format::{PrintedKind, rule};
use crate::shared::value::{
    Field, Value, amount, elements, is_true, non_empty_text, raw_str, text,
};

/// `system/init`: a turn begins. Its facts are those of the session; the names of tools are kept as a hash.
pub(super) fn init(
    state: &mut StreamState,
    stream: &StreamRecord<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let member = |name| stream.printed.object().member(name);
    let permission_mode = text(member("permissionMode"));
    let facts = SessionFacts {
        model: text(member("model")),
        cwd: text(member("cwd")),
        permission_mode,
        ..SessionFacts::default()
    };
    out.emit(Meta::Session(facts), Pointer::Root);
    emit_hash(
        "tools",
        member("tools"),
        "/tools",
        &mut state.session.scratch.text,
        out,
    );
    Outcome::Mapped
}

/// `result/success`, `result/error_during_execution`, ...: a turn ends. Its text mostly repeats the last answer.
pub(super) fn result(
    state: &mut StreamState,
    stream: &StreamRecord<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let line = stream.printed.object();
    let cost = line.member("total_cost_usd").or(line.member("total_cost"));
    if state.session.last_stated.set(Said::Cost, cost) {
        let pointer = if line.member("total_cost_usd").is_some() {
            "/total_cost_usd"
        } else {
            "/total_cost"
        };
        out.emit(
            Meta::session(|facts| facts.cost_total_usd = amount(cost)),
            pointer,
        );
    }
    out.emit(
        Meta::system("result", text(stream.printed.subtype())),
        "/subtype",
    );
    let answer = non_empty_text(line.member("result"))
        .filter(|answer| state.last_text != Some(hash64(answer.raw())));
    if answer.is_some() {
        emit_outcome(stream, answer, Pointer::At("/result"), out);
    }
    for (index, error) in elements(line.member("errors")).enumerate() {
        emit_outcome(stream, error.text(), Pointer::Item("/errors", index), out);
    }
    Outcome::Mapped
}

fn emit_outcome(
    stream: &StreamRecord<'_>,
    text: Option<Text<'_>>,
    pointer: Pointer<'_>,
    out: &mut Emitter<'_>,
) {
    if is_true(stream.printed.object().member("is_error")) {
        out.emit(Meta::error(None, text), pointer);
    } else {
        out.emit(Meta::system("result", text), pointer);
    }
}

/// `system/compact_boundary`: a compaction, whose summary follows as a `user` line.
pub(super) fn compact_boundary(
    state: &mut StreamState,
    stream: &StreamRecord<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    system::compact_boundary(&mut state.session, &stream.record, out)
}

/// Notices with one text: for the person, of the program, and that the context was cleared and a new conversation begins.
pub(super) fn notice(
    _: &mut StreamState,
    stream: &StreamRecord<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let (name, pointer) = match raw_str(stream.printed.subtype()) {
        "informational" => ("informational", "/content"),
        "notification" => ("notification", "/text"),
        _ => ("conversation_reset", "/new_conversation_id"),
    };
    emit_notice(name, stream.printed.object(), pointer, out)
}

/// `system/session_title_changed`: the session has a name (2.1.332).
pub(super) fn title(
    _: &mut StreamState,
    stream: &StreamRecord<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let title = text(stream.printed.object().member("title"));
    out.emit(Meta::session(|facts| facts.title = title), "/title");
    Outcome::Mapped
}

/// `system/model_fallback`: another model goes on.
pub(super) fn model_fallback(
    _: &mut StreamState,
    stream: &StreamRecord<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let line = stream.printed.object();
    for pointer in ["/original_model", "/fallback_model", "/content"] {
        let _ = emit_notice("model_fallback", line, pointer, out);
    }
    Outcome::Mapped
}

/// `system/task_started`: a background task begins. Its prompt is a fact where its call is not printed: that of a sub-agent's sub-agent.
pub(super) fn task_started(
    _: &mut StreamState,
    stream: &StreamRecord<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let line = stream.printed.object();
    let is_printed =
        text(line.member("tool_use_id")).is_some_and(|call| out.seq_of_call(call).is_some());
    if is_printed || line.member("prompt").is_none() {
        return Outcome::duplicate(PrintedKind::SystemTaskStarted.name(), rule::STREAM_STATE);
    }
    emit_notice("task_started", line, "/prompt", out)
}

/// `system/task_notification`: a background task has ended.
pub(super) fn task_notification(
    _: &mut StreamState,
    stream: &StreamRecord<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let line = stream.printed.object();
    if let Some(file) = non_empty_text(line.member("output_file")) {
        out.emit(Meta::system("task_output", Some(file)), "/output_file");
    }
    emit_notice("task_notification", line, "/summary", out)
}

/// Emits a notice with the text of a member of the line.
fn emit_notice(name: &str, line: Value<'_>, pointer: &str, out: &mut Emitter<'_>) -> Outcome {
    let said = text(line.member(&pointer[1..]));
    out.emit(Meta::system(name, said), pointer);
    Outcome::Mapped
}

/// `system/hook_response`: a hook that ran, and what it printed.
pub(super) fn hook_response(
    _: &mut StreamState,
    stream: &StreamRecord<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let line = stream.printed.object();
    let name = non_empty_text(line.member("hook_name")).unwrap_or(Text::Plain("hook"));
    let printed = ["output", "stdout", "stderr"].map(|member| non_empty_text(line.member(member)));
    let mut texts: Vec<Text<'_>> = printed.into_iter().flatten().collect();
    texts.dedup_by(|one, other| one.raw() == other.raw());
    for text in texts
        .iter()
        .copied()
        .map(Some)
        .chain(texts.is_empty().then_some(None))
    {
        out.emit(Meta::system(name, text), Pointer::Root);
    }
    Outcome::Mapped
}

/// `system/permission_denied`: a call was denied by a rule, a mode or a hook.
pub(super) fn permission_denied(
    _: &mut StreamState,
    stream: &StreamRecord<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let line = stream.printed.object();
    let (tool, call_id) = (
        text(line.member("tool_name")),
        text(line.member("tool_use_id")),
    );
    let denied = Decision::Deny.of_call(tool, call_id, text(line.member("message")));
    out.emit(denied, "/message");
    if let Some(reason) = non_empty_text(line.member("decision_reason")) {
        out.emit(
            Meta::system("decision_reason", Some(reason)),
            "/decision_reason",
        );
    }
    Outcome::Mapped
}

/// `system/api_retry`: a request failed and is sent again.
pub(super) fn api_retry(
    _: &mut StreamState,
    stream: &StreamRecord<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let code = error_code(stream.printed.object().member("error_status"));
    out.emit(Meta::error(code, text(stream.printed.error())), "/error");
    Outcome::Mapped
}

/// `tool_progress`: a call runs. Only a failed request of its sub-agent is a fact of the session.
pub(super) fn tool_progress(
    _: &mut StreamState,
    stream: &StreamRecord<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let Some(retry) = stream.printed.agent_retry() else {
        return Outcome::bookkeeping(PrintedKind::ToolProgress.name(), rule::STREAM_STATE);
    };
    let error = Meta::error(
        error_code(retry.member("error_status")),
        text(retry.member("error_category")),
    );
    out.emit(error, "/subagent_retry");
    Outcome::Mapped
}

/// The status of a failed request. A request without an answer has none.
fn error_code(status: Field<'_>) -> Option<Text<'_>> {
    status
        .filter(|status| status.unsigned().is_some())
        .map(Value::json)
}

/// `control_request`: the harness asks the program that runs it. Only the questions whether a call may run are facts of the session.
pub(super) fn control_request(
    state: &mut StreamState,
    stream: &StreamRecord<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let request = stream.printed.object().member("request");
    let member = |name| request.and_then(|request| request.member(name));
    if raw_str(member("subtype")) != "can_use_tool" {
        return Outcome::bookkeeping(PrintedKind::ControlRequest.name(), rule::STREAM_CONTROL);
    }
    state.session.permission_is_asked = true;
    let (tool, call_id) = (text(member("tool_name")), text(member("tool_use_id")));
    let asked = Decision::Ask.of_call(tool, call_id, text(member("decision_reason")));
    out.emit(asked, "/request");
    Outcome::Mapped
}
