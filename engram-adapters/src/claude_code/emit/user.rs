//! `user` lines: prompts, tool results, and text that the harness writes in the user's place.

use engram_core::emit::{Pointer, RecordHeader};
use engram_core::event::{Attachment, Author, Meta, MsgIn};
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use crate::claude_code::authors::{self, Place};
use crate::claude_code::blocks::{CONTENT, emit_empty_message, images};
use crate::claude_code::check::{has_several_results, is_shared_result};
use crate::claude_code::context_events::emit_text;
use crate::claude_code::emit::results::tool_result::tool_result;
use crate::claude_code::emit::state::State;
use crate::claude_code::format::{LineKind, rule};
use crate::claude_code::readers::{Block, Line};
use crate::claude_code::record::{COMPACTING_AGENT, Record};
use crate::claude_code::wrappers;
use crate::shared::value::{Value, is_true, non_empty_text, raw_str, text};

/// What the blocks of a `user` line gave.
#[derive(Default)]
struct BlockSummary {
    /// An event was emitted.
    emitted: bool,
    /// A block repeated an earlier one.
    repeated: bool,
    has_text: bool,
    has_image: bool,
    has_result: bool,
    /// The text that the images of the message belong to.
    images_at: usize,
}

/// Where a text is in its line.
#[derive(Clone, Copy)]
struct TextForm {
    /// It is a block of a list.
    is_block: bool,
    /// It comes after a result in the list.
    follows_result: bool,
}

/// `user`: a text, or a list of blocks.
#[inline(never)]
pub(super) fn user(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let line = &record.line;
    let Some(content) = record.message.content() else {
        return emit_empty_message("user", out);
    };
    if let Some(text) = content.text() {
        if state.plan.is_stated(record.at, 0) {
            return Outcome::duplicate(LineKind::User.name(), rule::HISTORY_APPENDED_AGAIN);
        }
        if is_true(line.is_meta())
            && let Some(lead) = non_empty_text(line.object().member("hookTextLead"))
        {
            emit_text(
                "hook_text_lead",
                Some(lead),
                Pointer::At("/hookTextLead"),
                out,
            );
        }
        let form = TextForm {
            is_block: false,
            follows_result: false,
        };
        emit_input(
            state,
            record,
            (text, form),
            Vec::new(),
            Pointer::At(CONTENT),
            out,
        );
        return Outcome::Mapped;
    }
    let mut summary = BlockSummary {
        images_at: first_words(line, content),
        ..BlockSummary::default()
    };
    let unshared = (line.tool_use_result().is_some() && has_several_results(content))
        .then(|| without_structured(line));
    if unshared.is_some()
        && is_shared_result(line, content)
        && let Some(structured) = line.tool_use_result()
    {
        out.unrecognized_block(
            "toolUseResult",
            structured.raw(),
            Pointer::At("/toolUseResult"),
        );
    }
    let line = unshared.as_ref().unwrap_or(line);
    let structured = content.elements().count();
    let is_result_stated = state.plan.is_stated(record.at, structured);
    let is_structured_repeated = state.plan.is_repeated(record.at, structured);
    for (index, value) in content.elements().enumerate() {
        let block = Block::lenient(value);
        summary.has_image |= block.source().is_some();
        let is_result = raw_str(block.kind()) == "tool_result";
        summary.has_result |= is_result;
        if state.plan.is_stated(record.at, index) && (is_result_stated || !is_result) {
            summary.repeated = true;
        } else if is_result && state.plan.is_refuted(record.at, index) {
            emit_text(
                "call_interrupted",
                text(block.content()),
                Pointer::Item(CONTENT, index),
                out,
            );
            summary.emitted = true;
        } else if is_result {
            state.words.set_result(line, state.dialect);
            let is_launch = state.plan.replay.results.contains(&(record.at, index));
            let number = state.plan.notes.all[record.at].record as usize;
            let mut emit = |out: &mut Emitter<'_>| {
                tool_result(
                    state,
                    line,
                    &block,
                    (record.at, index),
                    is_structured_repeated,
                    out,
                )
            };
            let emitted = if is_launch {
                of_launch(record, number, emit, out)
            } else {
                emit(out)
            };
            summary.emitted |= emitted;
            summary.repeated |= !emitted;
        } else {
            other_block(state, record, &block, (index, value), &mut summary, out);
        }
    }
    let only_images = summary.has_image && !summary.has_text && emit_images(line, content, out);
    if only_images || summary.emitted {
        Outcome::Mapped
    } else if summary.repeated {
        Outcome::duplicate(LineKind::User.name(), rule::HISTORY_APPENDED_AGAIN)
    } else {
        emit_empty_message("user", out)
    }
}

/// Emits the result of the response that launched a fork, which is a copy in a line that is new.
#[cold]
fn of_launch(
    record: &Record<'_>,
    number: usize,
    emit: impl FnOnce(&mut Emitter<'_>) -> bool,
    out: &mut Emitter<'_>,
) -> bool {
    let header = RecordHeader {
        t: record.time.as_deref(),
        id: text(record.line.uuid()),
        replay: true,
    };
    out.of_record(number, header, emit)
}

/// The line without its structured result.
#[cold]
fn without_structured<'a>(line: &Line<'a>) -> Line<'a> {
    let mut line = *line;
    line.set(const { Line::number("toolUseResult") }, None);
    line
}

/// The text that the images of a message belong to: the first one with words, else the first.
fn first_words(line: &Line<'_>, content: Value<'_>) -> usize {
    let texts = || {
        content.elements().enumerate().filter_map(|(index, value)| {
            let block = Block::lenient(value);
            text(block.text())
                .filter(|_| raw_str(block.kind()) == "text")
                .map(|text| (index, text))
        })
    };
    let states = authors::states(line);
    texts()
        .find(|(_, text)| !wrappers::is_without_words(*text, states))
        .or_else(|| texts().next())
        .map_or(0, |(index, _)| index)
}

/// A block that is not a tool result.
#[inline(never)]
fn other_block(
    state: &mut State,
    record: &Record<'_>,
    block: &Block<'_>,
    (index, value): (usize, Value<'_>),
    summary: &mut BlockSummary,
    out: &mut Emitter,
) {
    let pointer = Pointer::Item(CONTENT, index);
    match raw_str(block.kind()) {
        "text" => {
            let Some(text) = text(block.text()) else {
                return;
            };
            summary.has_text = true;
            let attachments = if index == summary.images_at {
                images(record.message.content())
            } else {
                Vec::new()
            };
            let form = TextForm {
                is_block: true,
                follows_result: summary.has_result,
            };
            emit_input(state, record, (text, form), attachments, pointer, out);
            summary.emitted = true;
        }
        "image" | "document" => {}
        other => {
            out.unrecognized_block(other, value.raw(), pointer);
            summary.emitted = true;
        }
    }
}

/// Emits one text in the user's place.
#[inline(never)]
fn emit_input<'a>(
    state: &mut State,
    record: &Record<'a>,
    (text, form): (Text<'a>, TextForm),
    mut attachments: Vec<Attachment<'a>>,
    pointer: Pointer<'_>,
    out: &mut Emitter,
) {
    let line = &record.line;
    let follows_command = state.words.follows_command;
    state.words.follows_command =
        authors::is_command(text) || (follows_command && authors::is_command_output(text));
    let is_printed_summary = state.summary_follows && record.agent.is_none();
    if is_printed_summary || authors::is_summary(line, text) {
        let trigger = state.compaction_trigger.take();
        let trigger = trigger.as_deref().map(Text::Token);
        out.emit(
            Meta::Compaction {
                text: Some(text),
                trigger,
            },
            pointer,
        );
        return;
    }
    if authors::is_interrupt(line, (text, form.is_block)) {
        out.emit(Meta::Interrupt { text: Some(text) }, pointer);
        return;
    }
    // The copy of the session in the file of the agent that compacts it is not the agent's.
    let is_copy = record.replay
        && record
            .agent
            .as_deref()
            .is_some_and(|agent| agent.starts_with(COMPACTING_AGENT));
    let is_agents = !is_copy && (record.agent.is_some() || is_true(line.is_sidechain()));
    let is_harness = state.words.is_note(line, text) || state.plan.by_hook.contains(&record.at);
    let by = match is_harness {
        true => Author::Harness,
        false => {
            // Beside a result is what a person said when approving the call, also to a sub-agent.
            let is_agents =
                is_agents && (!form.follows_result || state.plan.replay.is_launch(record.at));
            authors::of_text(
                line,
                text,
                Place {
                    is_agents,
                    is_block: form.is_block,
                    follows_command,
                },
            )
        }
    };
    if by == Author::Harness
        && is_true(line.is_meta())
        && text.starts_with("<local-command-caveat>")
    {
        state.words.follows_command = true;
    }
    let is_tagged = || match authors::is_typed_mode(text) {
        true => state.plan.has_run(record.at),
        // A person may type such tags, too.
        false => {
            let is_stated = authors::stated(line) == Some(Author::Person);
            authors::is_command(text) && (!is_stated || state.plan.is_expanded(record.at))
        }
    };
    if by != Author::Harness && is_tagged() {
        let by = if state.words.is_launched(line) {
            Author::Agent
        } else {
            by
        };
        return emit_command(state, record, (text, by), pointer, out);
    }
    if by == Author::Person {
        state.words.set_typed(line, text);
    }
    if state.plan.targets.contains(&record.at)
        && let Some(before) = out.last_seq()
    {
        state.befores.entry(record.at).or_insert(before);
    }
    if emit_unwrapped(line, text, by, pointer, out) {
        return;
    }
    if by == Author::Person
        && wrappers::emit_around(text, authors::states(line), &mut attachments, pointer, out)
    {
        return;
    }
    let parent = if is_true(line.is_sidechain()) && line.parent_uuid().is_none() {
        state
            .calls
            .id_by_prompt(text)
            .and_then(|id| out.seq_of_call(Text::Plain(id)))
    } else {
        line.parent_call()
            .and_then(Value::text)
            .and_then(|call| out.seq_of_call(call))
    };
    out.emit_child(
        parent,
        MsgIn::user(by, Some(text)).with(attachments),
        pointer,
    );
}

/// Emits the words of another agent without those that the harness puts around them, and then the whole. Returns false if there are none.
fn emit_unwrapped(
    line: &Line<'_>,
    whole: Text<'_>,
    by: Author,
    pointer: Pointer<'_>,
    out: &mut Emitter<'_>,
) -> bool {
    if by != Author::Agent {
        return false;
    }
    let message = |text| MsgIn::user(by, Some(text));
    if let Some(body) = non_empty_text(line.origin().and_then(|origin| origin.member("body"))) {
        out.emit(message(body), "/origin/body");
        emit_text("agent_message", Some(whole), pointer, out);
        return true;
    }
    let Some((name, words)) = authors::words_of_agent(line, whole) else {
        return false;
    };
    out.emit(message(Text::Plain(&words)), pointer);
    emit_text(name, Some(whole), pointer, out);
    true
}

/// Emits a command as it was typed, and then the form that the harness gives it.
pub(super) fn emit_command(
    state: &mut State,
    record: &Record<'_>,
    (text, by): (Text<'_>, Author),
    pointer: Pointer<'_>,
    out: &mut Emitter,
) {
    let message = |text| MsgIn::user(by, Some(text));
    let Some(mut typed) = authors::typed_command(text) else {
        out.emit(message(text), pointer);
        return;
    };
    if let Some(sent) = state.plan.prompts.typed_as.get(&record.at) {
        (*sent).clone_into(&mut typed);
    }
    if !state.words.is_typed_again(&record.line, &typed) {
        out.emit(message(Text::Plain(&typed)), pointer);
    }
    emit_text("command", Some(text), pointer, out)
}

/// Emits images without a text. Returns whether there were any.
#[cold]
fn emit_images(line: &Line<'_>, content: Value<'_>, out: &mut Emitter) -> bool {
    let attachments = images(Some(content));
    let is_any = !attachments.is_empty();
    if is_any {
        let by = authors::stated(line).unwrap_or(Author::Person);
        out.emit(MsgIn::user(by, None).with(attachments), CONTENT);
    }
    is_any
}
