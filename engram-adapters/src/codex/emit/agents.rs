//! Other agents: sub-agents, messages between agents, reviews, and the reviewer that approves calls.

use engram_core::emit::Pointer;
use engram_core::event::{Author, Decision, ImplicitInput, Meta, MsgIn, MsgOut};
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use crate::codex::readers::{AgentActivity, AgentWords, ApprovalReview, Message, Part, Review};
use crate::shared::value::{Field, elements, non_empty_text, raw_str, text};

use super::State;
use crate::codex::format::rule;
use crate::codex::record::Record;
use crate::codex::wrappers::{AGENT_ERRORED, is_failed_turn};

/// A message between agents (0.169).
pub fn agent_message(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let message = Message::lenient(record.value);
    let own_path = state.thread.agent_path();
    let is_own = text(message.author()).is_some_and(|author| author.eq_str(own_path));
    let list = record.pointer_to("/payload/content");
    let mut is_mapped = false;
    for (index, value) in elements(message.content()).enumerate() {
        let part = Part::lenient(value);
        let pointer = Pointer::Field(list, index, "/text");
        match (raw_str(part.kind()), text(part.text())) {
            ("input_text" | "output_text" | "text", Some(whole)) => {
                let words = split_envelope(whole, pointer, out);
                let words = words.as_deref().map_or(whole, Text::Plain);
                // Empty words are in a part that only the provider can read.
                if !words.is_empty() {
                    emit_words(state, words, is_own.then_some(message.id()), pointer, out);
                }
            }
            ("encrypted_content", _) => continue,
            (kind, _) => out.unrecognized_block(kind, value.raw(), Pointer::Item(list, index)),
        }
        is_mapped = true;
    }
    if !is_mapped {
        emit_hidden_words(message.author(), out);
    }
    Outcome::Mapped
}

/// Words between agents that are no item of the model's history.
pub fn words_of_agents(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let message = AgentWords::lenient(record.value);
    let author = text(message.author());
    let is_own = author.is_some_and(|author| author.eq_str(state.thread.agent_path()));
    match non_empty_text(message.content()) {
        Some(words) => {
            let pointer = Pointer::At("/payload/content");
            emit_words(state, words, is_own.then_some(None), pointer, out);
        }
        None => emit_hidden_words(message.author(), out),
    }
    Outcome::Mapped
}

/// Emits words between agents. Those of this thread's own agent come with the id of their message.
fn emit_words(
    state: &State,
    words: Text<'_>,
    own: Option<Field<'_>>,
    pointer: Pointer<'_>,
    out: &mut Emitter<'_>,
) {
    if let Some(id) = own {
        let (model, message_id) = (state.last.model(), text(id));
        out.emit(
            MsgOut {
                text: Some(words),
                model,
                message_id,
                ..MsgOut::default()
            },
            pointer,
        );
    } else {
        let by = match words.starts_with(AGENT_ERRORED) && is_failed_turn(&words.decode_lossy()) {
            true => Author::Harness,
            false => Author::Agent,
        };
        out.emit(MsgIn::user(by, Some(words)), pointer);
    }
}

/// Emits the author of words that only the provider can read.
fn emit_hidden_words(author: Field<'_>, out: &mut Emitter<'_>) {
    out.emit(Meta::system("agent_message", text(author)), Pointer::Root);
}

/// Emits what the harness writes before the words of an agent: type, task and sender. Returns the words; `None` if there is no such text.
fn split_envelope(whole: Text<'_>, pointer: Pointer<'_>, out: &mut Emitter<'_>) -> Option<String> {
    const PAYLOAD: &str = "\nPayload:\n";
    let decoded = whole
        .decode()
        .ok()
        .filter(|_| whole.starts_with("Message Type: "))?;
    let (envelope, words) = decoded.split_at(decoded.find(PAYLOAD)? + PAYLOAD.len());
    let name = Text::Plain("agent_message");
    out.emit(
        Meta::Context(ImplicitInput::of_text(name, Some(Text::Plain(envelope)))),
        pointer,
    );
    Some(words.to_owned())
}

/// An action of a sub-agent as an event (up to 0.146).
pub fn sub_agent_activity(_: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let event = AgentActivity::lenient(record.value);
    emit_event_activity(
        &event,
        &format!("sub_agent_activity.{}", raw_str(event.kind())),
        out,
    )
}

/// The end of a call that spawns, asks, awaits or closes an agent (up to 0.146).
pub fn collab_event(_: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    emit_event_activity(
        &AgentActivity::lenient(record.value),
        record.short_name(),
        out,
    )
}

fn emit_event_activity(event: &AgentActivity<'_>, name: &str, out: &mut Emitter<'_>) -> Outcome {
    let thread = event
        .agent_thread_id()
        .or(event.new_thread_id())
        .or(event.receiver_thread_id());
    emit_activity(
        event.event_id().or(event.call_id()),
        name,
        text(thread),
        "/payload",
        out,
    )
}

/// An action of a sub-agent as an item.
pub fn sub_agent_item(_: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let item = AgentActivity::lenient(record.value);
    let name = format!("SubAgentActivity.{}", raw_str(item.kind()));
    emit_activity(
        item.id(),
        &name,
        text(item.agent_thread_id()),
        record.at,
        out,
    )
}

/// The end of a call that spawns, asks, awaits or closes agents, as an item.
pub fn collab_item(_: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let item = AgentActivity::lenient(record.value);
    let name = format!("CollabAgentToolCall.{}", raw_str(item.tool()));
    emit_activity(
        item.id(),
        &name,
        text(elements(item.receiver_thread_ids()).next()),
        record.at,
        out,
    )
}

/// Emits an action of another agent as a child of the call that caused it.
fn emit_activity(
    call_id: Field<'_>,
    name: &str,
    thread: Option<Text<'_>>,
    at: &str,
    out: &mut Emitter<'_>,
) -> Outcome {
    let parent = text(call_id).and_then(|id| out.seq_of_call(id));
    out.emit_child(parent, Meta::system(name, thread), at);
    Outcome::Mapped
}

/// A review begins, as an event or an item. A person may write its instructions; the harness writes those of other targets.
pub fn entered_review_mode(
    state: &mut State,
    record: &Record<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let review = Review::lenient(record.value);
    let hint = review.user_facing_hint();
    let typed = typed_instructions(&review);
    // Older versions have a prompt alone, of a person or of the harness.
    for notice in [
        hint.or(review.prompt()),
        review.prompt().filter(|_| hint.is_some()),
    ]
    .into_iter()
    .flatten()
    {
        if typed.is_none_or(|typed| typed.raw() != notice.raw()) {
            out.emit(
                Meta::system("entered_review_mode", text(Some(notice))),
                record.at,
            );
        }
    }
    if let Some(typed) = typed {
        let (by, at) = (
            state.thread.sender(state.is_replay()),
            format!("{}/target/instructions", record.at),
        );
        out.emit(MsgIn::user(by, text(Some(typed))), Pointer::At(&at));
    }
    Outcome::Mapped
}

/// A review ends. The next answer contains it.
pub fn exited_review_mode(_: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    out.emit(Meta::system("exited_review_mode", None), record.at);
    Outcome::Mapped
}

/// The harness's own reviewer allows or denies a call that needs approval. A first record announces the review.
pub fn approval_review(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let review = ApprovalReview::lenient(record.value);
    let rationale = text(review.rationale());
    let decision = match raw_str(review.status()) {
        "in_progress" => return record.bookkeeping(rule::ASSESSMENT_BEGUN),
        "approved" => Decision::Allow,
        "denied" => Decision::Deny,
        other => {
            let name = format!("guardian_assessment.{other}");
            out.emit(Meta::system(Text::Plain(&name), rationale), record.at);
            return Outcome::Mapped;
        }
    };
    let call_id = text(review.target_item_id());
    let tool = state.tool_of(state.call().1).map(Text::Plain);
    let parent = call_id.and_then(|id| out.seq_of_call(id));
    out.emit_child(
        parent,
        decision.of_call(tool, call_id, rationale),
        record.at,
    );
    if let Some(action) = review.action().filter(|_| parent.is_none()) {
        let event = Meta::system("guardian_assessment", Some(action.json()));
        out.emit(event, "/payload/action");
    }
    Outcome::Mapped
}

/// The instructions that a person wrote for a review.
pub fn typed_instructions<'a>(review: &Review<'a>) -> Field<'a> {
    let target = review
        .target()
        .filter(|target| raw_str(target.first_member("type")) == "custom");
    target.and_then(|target| target.first_member("instructions"))
}
