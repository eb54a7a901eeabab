//! Runs of the session, sub-agents, hooks, permissions, compactions and errors.

use engram_core::emit::Pointer;
use engram_core::event::{Author, Decision, ImplicitInput, Meta, MsgIn, Seq, SessionFacts};
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use super::state::State;
use super::usage;
use crate::copilot::format::rule;
use crate::copilot::notes::fork_of;
use crate::copilot::readers::{
    Agent, Compaction, Context, Failure, Hook, Notice, Permission, Session, Shutdown,
};
use crate::shared::stated::emit_facts;
use crate::shared::value::{Value, count, is_true, non_empty_text, raw_str, text};

/// How a run ends that nothing ended early.
const ROUTINE: &str = "routine";
/// What the notice of a rewind says if files were restored too.
const RESTORED: &str = " and restored ";
/// The data of a record.
const DATA: Pointer<'static> = Pointer::At("/data");

/// What a run begins with, or what changes: directory, branch, model and effort.
pub fn facts(state: &mut State, data: Value<'_>, out: &mut Emitter<'_>) {
    let said = Session::lenient(data);
    let model = said.selected().or(said.new_model()).or(said.model());
    let facts = SessionFacts {
        model: state.changed("model", model),
        effort: state.changed("effort", said.effort()),
        ..of_context(state, &Context::lenient_opt(said.context()))
    };
    emit_facts(facts, DATA, out);
}

/// Another model or effort. Such a record may say only what was said before.
pub fn changes(
    state: &mut State,
    name: &'static str,
    data: Value<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    facts(state, data, out);
    match out.has_events() {
        true => Outcome::Mapped,
        false => Outcome::duplicate(name, rule::FACTS_REPEATED),
    }
}

/// Another directory or branch.
pub fn context(state: &mut State, data: Value<'_>, out: &mut Emitter<'_>) {
    let facts = of_context(state, &Context::lenient(data));
    emit_facts(facts, DATA, out);
}

fn of_context<'a>(state: &mut State, context: &Context<'a>) -> SessionFacts<'a> {
    SessionFacts {
        cwd: state.changed("cwd", context.cwd()),
        repo_branch: state.changed("branch", context.branch()),
        repo_head: state.changed("head", context.head()),
        ..SessionFacts::default()
    }
}

/// A sub-agent begins.
pub fn agent(state: &mut State, data: Value<'_>, out: &mut Emitter<'_>) {
    let agent = Agent::lenient(data);
    let model = state.changed("model", agent.model());
    let facts = SessionFacts {
        parent_session_id: state.session.as_deref().map(Text::Plain),
        agent: non_empty_text(agent.name()),
        model,
        parent_call_id: non_empty_text(agent.call()),
        ..SessionFacts::default()
    };
    let parent = text(agent.call()).and_then(|call| out.seq_of_call(call));
    out.emit_child(parent, Meta::Session(facts), DATA);
}

/// The end of a run: how, the size of the context, and the tokens where nothing else has them.
pub fn shutdown(state: &mut State, data: Value<'_>, sums: Option<bool>, out: &mut Emitter<'_>) {
    let run = Shutdown::lenient(data);
    let facts = SessionFacts {
        context_tokens: count(run.tokens()),
        ..SessionFacts::default()
    };
    emit_facts(facts, DATA, out);
    if let Some(is_of_session) = sums {
        usage::of_run(state, &run, is_of_session, out);
    }
    if raw_str(run.kind()) != ROUTINE {
        let code = non_empty_text(run.kind());
        out.emit(Meta::error(code, non_empty_text(run.error())), DATA);
    }
}

/// A failure that the harness reports.
pub fn error(name: &'static str, data: Value<'_>, out: &mut Emitter<'_>) {
    let failure = Failure::lenient(data);
    let code = non_empty_text(failure.kind()).unwrap_or(Text::Plain(name));
    let words = non_empty_text(failure.message()).or(non_empty_text(failure.error()));
    out.emit(Meta::error(Some(code), words), DATA);
}

/// A notice for the person. `is_fork`: it says of which session this one is a fork.
pub fn notice(data: Value<'_>, is_fork: bool, out: &mut Emitter<'_>) {
    let of = fork_of(data).filter(|_| is_fork);
    let facts = SessionFacts {
        fork_of: of.as_deref().map(Text::Plain),
        ..SessionFacts::default()
    };
    emit_facts(facts, "/data/message", out);
    let notice = Notice::lenient(data);
    let name = text(notice.warning().or(notice.info())).unwrap_or_default();
    out.emit(Meta::system(name, text(notice.message())), "/data/message");
}

/// The person went back. What was taken back is not in the log.
pub fn rewind(data: Value<'_>, to: Option<Seq>, out: &mut Emitter<'_>) {
    let words = text(Notice::lenient(data).message());
    let files = words.is_some_and(|words| words.decode_lossy().contains(RESTORED));
    if let Some(to) = to {
        out.emit(Meta::Rewind { to, files }, "/data/message");
    }
}

/// The person or a limit stopped the turn.
pub fn abort(data: Value<'_>, out: &mut Emitter<'_>) {
    let text = text(data.member("reason"));
    out.emit(Meta::Interrupt { text }, Pointer::At("/data/reason"));
}

/// What a hook said, or how it failed.
pub fn hook(data: Value<'_>, out: &mut Emitter<'_>) -> Outcome {
    let hook = Hook::lenient(data);
    if let Some(failure) = hook.error() {
        let words = non_empty_text(Failure::lenient(failure).message());
        out.emit(Meta::error(Some(Text::Plain("hook")), words), "/data/error");
    }
    let output = hook
        .output()
        .filter(|output| !output.is_null() && !output.is_empty_object());
    if let Some(output) = output {
        let input = ImplicitInput::of_text("hook", Some(output.text_or_json()));
        out.emit(Meta::Context(input), "/data/output");
    }
    match out.has_events() {
        true => Outcome::Mapped,
        false => Outcome::bookkeeping("hook.end", "hook.nothing"),
    }
}

/// The harness asks for permission.
pub fn asks(state: &State, data: Value<'_>, out: &mut Emitter<'_>) {
    let request = Permission::lenient(data).request();
    let call = request.and_then(|request| request.member("toolCallId"));
    decided(state, Decision::Ask, (call, None), out);
}

/// The answer, and the words with which a person refused.
pub fn answers(state: &State, data: Value<'_>, out: &mut Emitter<'_>) {
    let answer = Permission::lenient(data);
    let kind = answer.result().and_then(|result| result.member("kind"));
    let decision = match raw_str(kind).starts_with("approved") {
        true => Decision::Allow,
        false => Decision::Deny,
    };
    decided(state, decision, (answer.call(), text(kind)), out);
    let words = answer.result().and_then(|result| result.member("feedback"));
    if let Some(words) = non_empty_text(words) {
        let said = MsgIn::user(Author::Person, Some(words));
        out.emit(said, "/data/result/feedback");
    }
}

fn decided(
    state: &State,
    decision: Decision,
    (call, reason): (Option<Value<'_>>, Option<Text<'_>>),
    out: &mut Emitter<'_>,
) {
    let tool = state
        .calls
        .get(raw_str(call))
        .map(|call| call.tool.as_str());
    let event = decision.of_call(tool.map(Text::Plain), text(call), reason);
    out.emit(event, DATA);
}

/// The end of a compaction: what the person wanted of it, and the summary that the model has in place of the history.
pub fn compaction(data: Value<'_>, out: &mut Emitter<'_>) {
    let done = Compaction::lenient(data);
    if let Some(asked) = non_empty_text(done.asked()) {
        let said = MsgIn::user(Author::Person, Some(asked));
        out.emit(said, "/data/customInstructions");
    }
    if is_true(done.success()) {
        let event = Meta::Compaction {
            text: non_empty_text(done.summary()),
            trigger: non_empty_text(done.trigger()),
        };
        out.emit(event, "/data/summaryContent");
    } else {
        let code = Some(Text::Plain("compaction"));
        out.emit(
            Meta::error(code, non_empty_text(done.error())),
            "/data/error",
        );
    }
    usage::of_requests(data, "compactionTokensUsed", out);
}
