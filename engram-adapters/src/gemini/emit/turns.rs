//! The events of the model's turns: thoughts, answers, and token counts.

use engram_core::emit::{Pointer, RecordHeader};
use engram_core::event::{self, Channel, Meta, MsgOut, SessionFacts};
use engram_core::steps::Emitter;
use engram_core::text::Text;

use super::messages::Message;
use super::state::{Events, OpenUsage, set_header};
use crate::gemini::plan::responses::Usage;
use crate::gemini::readers::{Line, Thought, Tokens};
use crate::gemini::schema::{FILLERS, Form, joined_thought, parts};
use crate::shared::time::tape_time;
use crate::shared::value::{Field, count, count_or_zero, elements, is_true, non_empty_text, text};

impl Events {
    /// A turn of the model.
    pub(super) fn turn(&mut self, message: &Message<'_>, out: &mut Emitter<'_>) {
        let line = &message.line;
        if let Some(model) = non_empty_text(line.model())
            && self.plan.is_new()
        {
            let facts = SessionFacts {
                model: Some(model),
                ..SessionFacts::default()
            };
            out.emit(Meta::Session(facts), "/model");
        }
        let (_, repeated) = self.plan.next_note();
        self.plan.has_repeats |= repeated.is_repeated || repeated.tokens;
        for (n, thought) in elements(line.thoughts()).enumerate() {
            let joined = joined_thought(&Thought::lenient(thought));
            let text = Text::Token(&joined);
            if !text.is_empty() && self.plan.is_new() {
                emit_text(
                    text,
                    Some(Channel::Reasoning),
                    line,
                    Pointer::Item("/thoughts", n),
                    out,
                );
            }
        }
        self.model_content(message, out);
        if let Some(calls) = line.tool_calls() {
            self.tool_calls(calls, line.id(), out);
        }
        if let Some(tokens) = line.tokens().filter(|_| !repeated.tokens) {
            self.usage(tokens_of(&Tokens::lenient(tokens)), message, out);
        }
    }

    pub(super) fn model_content(&mut self, message: &Message<'_>, out: &mut Emitter<'_>) {
        let (line, path) = (&message.line, message.path);
        let Some(content) = line.content() else {
            return;
        };
        if let Some(text) = content.text() {
            if !text.is_empty() && self.plan.is_new() {
                self.answer(text, line, Pointer::At(path), out);
            }
            return;
        }
        for (n, part) in parts(Some(content)).enumerate() {
            if let Some(call) = part.call() {
                self.function_call(
                    call,
                    line.id(),
                    Pointer::Field(path, n, "/functionCall"),
                    out,
                );
            } else if let Some(text) = text(part.plain_text()) {
                let place = Pointer::Field(path, n, "/text");
                if text.is_empty() || !self.plan.is_new() {
                    continue;
                }
                match is_true(part.thought()) {
                    true => emit_text(text, Some(Channel::Reasoning), line, place, out),
                    false => self.answer(text, line, place, out),
                }
            } else {
                out.unrecognized_block(
                    part.unknown_name(),
                    part.object().raw(),
                    Pointer::Item(path, n),
                );
            }
        }
    }

    /// An answer, or what the harness wrote in place of one.
    fn answer(&self, text: Text<'_>, line: &Line<'_>, place: Pointer<'_>, out: &mut Emitter<'_>) {
        if self.follows_context && FILLERS.iter().any(|filler| text.eq_str(filler)) {
            out.emit(Meta::system("filler", Some(text)), place);
        } else {
            emit_text(text, None, line, place, out);
        }
    }

    /// The token counts of a turn: in a log of lines they stand after the last record of the turn.
    pub(super) fn usage(
        &mut self,
        tokens: event::Tokens,
        message: &Message<'_>,
        out: &mut Emitter<'_>,
    ) {
        let line = &message.line;
        if self.form == Form::Lines && !message.in_history {
            let owned = |field: Field<'_>| field.map(|value| value.raw().to_owned());
            let time = tape_time(line.timestamp()).map(|time| time.into_owned());
            let open = OpenUsage {
                tokens,
                time,
                id: owned(line.id()),
                model: owned(line.model()),
            };
            self.open_usages.insert(self.number, open);
            return;
        }
        // Calls have times and ids of their own.
        set_header(line.timestamp(), line.id(), out);
        let usage = event::Usage {
            message_id: text(line.id()),
            model: text(line.model()),
            tokens,
            ..event::Usage::default()
        };
        out.emit(Meta::Usage(usage), "/tokens");
    }

    /// Emits the token counts that stand after the current record.
    pub(super) fn end_response(&mut self, out: &mut Emitter<'_>) {
        while let Some(Usage { of, after }) = self.plan.usages.get(self.plan.usage_at).copied()
            && after as usize == self.number
        {
            self.plan.usage_at += 1;
            let of = of as usize;
            if let Some(open) = self.open_usages.remove(&of) {
                emit_usage(of, open, out);
            }
        }
    }
}

fn emit_usage(of: usize, open: OpenUsage, out: &mut Emitter<'_>) {
    let header = RecordHeader::new(open.time.as_deref(), token_text(&open.id));
    let usage = event::Usage {
        message_id: token_text(&open.id),
        model: token_text(&open.model),
        tokens: open.tokens,
        ..event::Usage::default()
    };
    out.of_record(of, header, |out| out.emit(Meta::Usage(usage), "/tokens"));
}

/// An answer, or reasoning.
#[inline(never)]
fn emit_text(
    text: Text<'_>,
    channel: Option<Channel>,
    line: &Line<'_>,
    place: Pointer<'_>,
    out: &mut Emitter<'_>,
) {
    let (model, message_id) = (self::text(line.model()), self::text(line.id()));
    out.emit(
        MsgOut {
            text: Some(text),
            channel,
            model,
            message_id,
            redacted: false,
        },
        place,
    );
}

/// The text of a kept JSON string.
fn token_text(raw: &Option<String>) -> Option<Text<'_>> {
    raw.as_deref()
        .map(Text::Token)
        .filter(|text| !text.is_empty())
}

/// The counts of a turn.
fn tokens_of(tokens: &Tokens<'_>) -> event::Tokens {
    let [cached, of_tools, thoughts] =
        [tokens.cached(), tokens.tool(), tokens.thoughts()].map(count_or_zero);
    let input = count(tokens.input()).zip(cached.zip(of_tools));
    event::Tokens {
        // The harness counts what came from the cache as input. It counts the results of the provider's tools apart from the input, and
        // reasoning apart from the output.
        input: input.map(|(input, (cached, of_tools))| {
            input.saturating_sub(cached).saturating_add(of_tools)
        }),
        cache_read: count(tokens.cached()),
        output: count(tokens.output())
            .zip(thoughts)
            .map(|(output, thoughts)| output.saturating_add(thoughts)),
        reasoning: count(tokens.thoughts()),
        ..event::Tokens::default()
    }
}
