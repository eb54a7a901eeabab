//! The model's turns: thoughts, answers, tokens, calls.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{self, Channel, Meta, MsgOut, SessionFacts, Usage};
use engram_core::keys::KeyMap;
use engram_core::text::Text;

use super::message_record::{MessageRecord, set_header};
use super::unknown_part::emit_unknown_part;
use crate::gemini::results::tool_calls::{function_call, tool_calls};
use crate::gemini::schema::{FILLERS, Form, FunctionCall, Part, Thought, Tokens, parts};
use crate::gemini::state::occurrences::{HistoryPass, text_key, thought_key};
use crate::gemini::state::session_state::SessionState;
use crate::gemini::state::tally::RecordTally;
use crate::shared::value::{self, Value, count, count_or_zero, is_true, raw_str};

/// Converts a turn of the model.
#[inline(never)]
pub(super) fn model(
    state: &mut SessionState,
    record: &MessageRecord<'_>,
    mut pass: Option<&mut HistoryPass>,
    out: &mut Emitter<'_>,
) -> Result<(), Fault> {
    let message = record.message;
    if let Some(model) = state.last_stated.changed_model(message.id(), message.model()) {
        let facts = SessionFacts { model: Some(model), ..SessionFacts::default() };
        state.tally.emit(Meta::Session(facts), Pointer::At(&record.path("/model")), out)?;
    }
    let is_line = state.form == Form::Lines && pass.is_none();
    state.dedup.begin_message(message.id());
    // The harness writes a turn again under its id after its tools ran.
    let repeated = state.dedup.repeated_parts(message, pass.is_some());
    if let Some(list) = message.thoughts().filter(|_| !repeated.thoughts) {
        thoughts(state, list, record, pass.as_deref_mut(), out)?;
    }
    if let Some(content) = message.content() {
        let path = record.content_path();
        match content.text() {
            Some(text) if text.is_empty() || repeated.text => {}
            Some(text) => {
                if state.dedup.is_new_text(text_key("model", text), pass.as_deref_mut()) {
                    emit_answer(state, text, record, Pointer::At(&path), out)?;
                }
            }
            None => content_parts(state, content, record, &path, pass.as_deref_mut(), out)?,
        }
    }
    if let Some(calls) = message.tool_calls() {
        tool_calls(state, calls, message.id(), &record.path("/toolCalls"), pass, out)?;
    }
    if let Some(tokens) = message.tokens().filter(|_| !repeated.tokens) {
        let tokens = tokens_of(&Tokens::lenient(tokens));
        if is_line {
            state.usage.set(message, tokens, !state.tally.has_events(), out.location());
            state.tally.add_pending();
        } else {
            emit_usage(&mut state.tally, tokens, record, out)?;
        }
    }
    Ok(())
}

#[inline(never)]
fn thoughts(
    state: &mut SessionState,
    thoughts: Value<'_>,
    record: &MessageRecord<'_>,
    mut pass: Option<&mut HistoryPass>,
    out: &mut Emitter<'_>,
) -> Result<(), Fault> {
    let path = record.path("/thoughts");
    let mut counts: KeyMap<u32> = KeyMap::default();
    for (n, thought) in thoughts.elements().enumerate() {
        let joined = join_thought(&Thought::lenient(thought));
        let text = Text::Token(&joined);
        let key = thought_key(text);
        let number = counts.entry(key).or_default();
        *number += 1;
        // A turn that is written again may have more thoughts, or other times of them.
        let is_new_in_turn = pass.is_some() || state.dedup.is_new_thought(record.message, key, *number);
        if !text.is_empty() && is_new_in_turn && state.dedup.is_new_text(key, pass.as_deref_mut()) {
            emit_text(&mut state.tally, text, Some(Channel::Reasoning), record, Pointer::Item(&path, n), out)?;
        }
    }
    Ok(())
}

#[inline(never)]
fn content_parts(
    state: &mut SessionState,
    content: Value<'_>,
    record: &MessageRecord<'_>,
    path: &str,
    mut pass: Option<&mut HistoryPass>,
    out: &mut Emitter<'_>,
) -> Result<(), Fault> {
    if !content.is_array() {
        return Err(Fault::malformed(path, "text or a list of parts", content.raw()));
    }
    for (n, part) in parts(Some(content)).enumerate() {
        let pass = pass.as_deref_mut();
        if let Some(call) = part.call() {
            function_call(state, &FunctionCall::lenient(call), record.message.id(), pass, Pointer::Field(path, n, "/functionCall"), out)?;
        } else if let Some(text) = value::text(part.plain_text()) {
            text_part(state, &part, text, record, pass, Pointer::Field(path, n, "/text"), out)?;
        } else {
            emit_unknown_part(content, n, path, out)?;
        }
    }
    Ok(())
}

fn text_part(
    state: &mut SessionState,
    part: &Part<'_>,
    text: Text<'_>,
    record: &MessageRecord<'_>,
    pass: Option<&mut HistoryPass>,
    pointer: Pointer<'_>,
    out: &mut Emitter<'_>,
) -> Result<(), Fault> {
    let (channel, key) =
        if is_true(part.thought()) { (Some(Channel::Reasoning), thought_key(text)) } else { (None, text_key("model", text)) };
    if text.is_empty() || !state.dedup.is_new_text(key, pass) {
        return Ok(());
    }
    match channel {
        None => emit_answer(state, text, record, pointer, out),
        channel => emit_text(&mut state.tally, text, channel, record, pointer, out),
    }
}

/// Emits an answer, or what the harness wrote in place of one.
fn emit_answer(
    state: &mut SessionState,
    text: Text<'_>,
    record: &MessageRecord<'_>,
    pointer: Pointer<'_>,
    out: &mut Emitter<'_>,
) -> Result<(), Fault> {
    if state.follows_context && FILLERS.iter().any(|filler| text.eq_str(filler)) {
        return state.tally.emit(Meta::System { name: Text::Plain("filler"), text: Some(text) }, pointer, out);
    }
    emit_text(&mut state.tally, text, None, record, pointer, out)
}

/// Emits an answer, or reasoning.
#[inline(never)]
fn emit_text(
    tally: &mut RecordTally,
    text: Text<'_>,
    channel: Option<Channel>,
    record: &MessageRecord<'_>,
    pointer: Pointer<'_>,
    out: &mut Emitter<'_>,
) -> Result<(), Fault> {
    let message = MsgOut {
        text: Some(text),
        channel,
        model: value::text(record.message.model()),
        message_id: value::text(record.message.id()),
        redacted: false,
    };
    tally.emit(message, pointer, out)
}

/// The counts of a turn.
fn tokens_of(tokens: &Tokens<'_>) -> event::Tokens {
    let [cached, of_tools, thoughts] = [tokens.cached(), tokens.tool(), tokens.thoughts()].map(count_or_zero);
    let input = count(tokens.input()).zip(cached.zip(of_tools));
    event::Tokens {
        // The harness counts what came from the cache as input. It counts the results of the provider's tools apart from the input, and
        // reasoning apart from the output.
        input: input.map(|(input, (cached, of_tools))| input.saturating_sub(cached).saturating_add(of_tools)),
        cache_read: count(tokens.cached()),
        output: count(tokens.output()).zip(thoughts).map(|(output, thoughts)| output.saturating_add(thoughts)),
        reasoning: count(tokens.thoughts()),
        ..event::Tokens::default()
    }
}

#[inline(never)]
fn emit_usage(tally: &mut RecordTally, tokens: event::Tokens, record: &MessageRecord<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    // Calls have times and ids of their own.
    set_header(record.message.timestamp(), record.message.id(), out);
    let (model, message_id) = (value::text(record.message.model()), value::text(record.message.id()));
    let usage = Usage { message_id, model, tokens, ..Usage::default() };
    tally.emit(Meta::Usage(usage), Pointer::At(&record.path("/tokens")), out)
}

/// A thought as the model wrote it, as a JSON string: the harness splits `**subject** description`.
fn join_thought(thought: &Thought<'_>) -> String {
    let (subject, description) = (raw_str(thought.subject()), raw_str(thought.description()));
    match (subject.is_empty(), description.is_empty()) {
        (true, _) => ["\"", description, "\""].concat(),
        (false, true) => ["\"**", subject, "**\""].concat(),
        (false, false) => ["\"**", subject, "** ", description, "\""].concat(),
    }
}
