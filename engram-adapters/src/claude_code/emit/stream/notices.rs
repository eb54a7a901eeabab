//! Lines about the run: how it begins and ends, hooks, permissions, background tasks, failed requests.

use engram_core::emit::Pointer;
use engram_core::event::{Decision, Meta, SessionFacts};
use engram_core::keys::hash64;
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use super::line::{StreamRecord, StreamState};
use crate::claude_code::context_events::emit_hash;
use crate::claude_code::emit::system;
use crate::claude_code::format::{PrintedKind, rule};
use crate::shared::value::{Field, Value, amount, is_true, non_empty_text, raw_str, text};

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
        Pointer::At("/tools"),
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
    if state.session.last_stated.set_cost(cost) {
        let facts = SessionFacts {
            cost_total_usd: amount(cost),
            ..SessionFacts::default()
        };
        out.emit(
            Meta::Session(facts),
            Pointer::At(if line.member("total_cost_usd").is_some() {
                "/total_cost_usd"
            } else {
                "/total_cost"
            }),
        );
    }
    out.emit(
        Meta::System {
            name: Text::Plain("result"),
            text: text(stream.printed.subtype()),
        },
        Pointer::At("/subtype"),
    );
    let answer = non_empty_text(line.member("result"))
        .filter(|answer| state.last_text != Some(hash64(answer.raw())));
    if answer.is_some() {
        emit_outcome(stream, answer, Pointer::At("/result"), out);
    }
    for (index, error) in line
        .member("errors")
        .into_iter()
        .flat_map(Value::elements)
        .enumerate()
    {
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
        out.emit(Meta::Error { code: None, text }, pointer);
    } else {
        out.emit(
            Meta::System {
                name: Text::Plain("result"),
                text,
            },
            pointer,
        );
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

/// `system/informational`: a notice for the person.
pub(super) fn informational(
    _: &mut StreamState,
    stream: &StreamRecord<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    emit_notice("informational", stream.printed.content(), "/content", out)
}

/// `system/notification`: a notice of the program.
pub(super) fn notification(
    _: &mut StreamState,
    stream: &StreamRecord<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    emit_notice(
        "notification",
        stream.printed.object().member("text"),
        "/text",
        out,
    )
}

/// `system/session_title_changed`: the session has a name (2.1.332).
pub(super) fn title(
    _: &mut StreamState,
    stream: &StreamRecord<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let facts = SessionFacts {
        title: text(stream.printed.object().member("title")),
        ..SessionFacts::default()
    };
    out.emit(Meta::Session(facts), Pointer::At("/title"));
    Outcome::Mapped
}

/// `system/model_fallback`: another model goes on.
pub(super) fn model_fallback(
    _: &mut StreamState,
    stream: &StreamRecord<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let line = stream.printed.object();
    for (member, pointer) in [
        ("original_model", "/original_model"),
        ("fallback_model", "/fallback_model"),
    ] {
        out.emit(
            Meta::System {
                name: Text::Plain("model_fallback"),
                text: text(line.member(member)),
            },
            Pointer::At(pointer),
        );
    }
    emit_notice("model_fallback", stream.printed.content(), "/content", out)
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
    let prompt = line.member("prompt").filter(|_| !is_printed);
    if prompt.is_none() {
        return Outcome::Duplicate {
            record: PrintedKind::SystemTaskStarted.name(),
            rule: rule::STREAM_STATE,
        };
    }
    emit_notice("task_started", prompt, "/prompt", out)
}

/// `system/task_notification`: a background task has ended.
pub(super) fn task_notification(
    _: &mut StreamState,
    stream: &StreamRecord<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let line = stream.printed.object();
    if let Some(file) = non_empty_text(line.member("output_file")) {
        out.emit(
            Meta::System {
                name: Text::Plain("task_output"),
                text: Some(file),
            },
            Pointer::At("/output_file"),
        );
    }
    emit_notice("task_notification", line.member("summary"), "/summary", out)
}

/// `conversation_reset`: the context was cleared; a new conversation begins.
pub(super) fn conversation_reset(
    _: &mut StreamState,
    stream: &StreamRecord<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    emit_notice(
        "conversation_reset",
        stream.printed.object().member("new_conversation_id"),
        "/new_conversation_id",
        out,
    )
}

fn emit_notice(name: &str, value: Field<'_>, pointer: &str, out: &mut Emitter<'_>) -> Outcome {
    out.emit(
        Meta::System {
            name: Text::Plain(name),
            text: text(value),
        },
        Pointer::At(pointer),
    );
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
        out.emit(Meta::System { name, text }, Pointer::Root);
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
    out.emit(denied, Pointer::At("/message"));
    if let Some(reason) = non_empty_text(line.member("decision_reason")) {
        out.emit(
            Meta::System {
                name: Text::Plain("decision_reason"),
                text: Some(reason),
            },
            Pointer::At("/decision_reason"),
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
    out.emit(
        Meta::Error {
            code,
            text: text(stream.printed.error()),
        },
        Pointer::At("/error"),
    );
    Outcome::Mapped
}

/// `tool_progress`: a call runs. Only a failed request of its sub-agent is a fact of the session.
pub(super) fn tool_progress(
    _: &mut StreamState,
    stream: &StreamRecord<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let Some(retry) = stream.printed.agent_retry() else {
        return Outcome::Bookkeeping {
            record: PrintedKind::ToolProgress.name(),
            rule: rule::STREAM_STATE,
        };
    };
    let error = Meta::Error {
        code: error_code(retry.member("error_status")),
        text: text(retry.member("error_category")),
    };
    out.emit(error, Pointer::At("/subagent_retry"));
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
        return Outcome::Bookkeeping {
            record: PrintedKind::ControlRequest.name(),
            rule: rule::STREAM_CONTROL,
        };
    }
    state.session.permission_is_asked = true;
    let (tool, call_id) = (text(member("tool_name")), text(member("tool_use_id")));
    let asked = Decision::Ask.of_call(tool, call_id, text(member("decision_reason")));
    out.emit(asked, Pointer::At("/request"));
    Outcome::Mapped
}
