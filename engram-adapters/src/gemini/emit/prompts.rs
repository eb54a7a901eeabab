//! The events of messages with the role `user`: prompts, contexts, results as the model gets them, and what was typed at the terminal.

use engram_core::emit::{Pointer, RecordHeader};
use engram_core::event::{Author, ImplicitInput, Meta, MsgIn, Role};
use engram_core::keys::hash64;
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use super::messages::Message;
use super::result_texts::ResultTexts;
use super::state::{Events, attachment};
use crate::gemini::readers::{FunctionResponse, TypedPrompt};
use crate::gemini::schema::{
    HOOK_BEGIN, LOADED_CONTEXT, SESSION_CONTEXT, STATE_SNAPSHOT, TypedTexts, UNTAGGED_CONTEXT,
    count_responses, displayed_responses, hook_before, objective, parts,
};
use crate::shared::time::tape_time;
use crate::shared::value::{Value, text};

/// Prefixes of texts that the harness writes in the user's place, as raw JSON.
const HARNESS_TEXTS: &[&str] = &[
    // In a message in place of a tool result (0.16.0).
    "[Function Response: ",
    // The output of a command that the user ran with `!`.
    "I ran the following shell command:\\n",
    // Files that the user named with `@`, inserted in the prompt.
    "\\n--- Content from referenced files ---",
    "\\nContent from @",
    "\\n--- End of content ---",
    "System: Please continue.",
    // What a sub-agent gets that stops without its last call, or too late. Up to 0.31 the log of its session has it.
    "You have stopped calling tools without finishing. You have one final chance ",
    "You have exceeded the time limit. You have one final chance ",
    "You have exceeded the maximum number of turns. You have one final chance ",
    // The request for a summary, which 0.4.1 records as a prompt.
    "First, reason in your scratchpad. Then, generate the <state_snapshot>.",
];

impl Events {
    /// A message in the user's place: prompts, expanded prompts, results as the model gets them, files.
    pub(super) fn user(&mut self, message: &Message<'_>, out: &mut Emitter<'_>) {
        let (line, path) = (&message.line, message.path);
        let Some(content) = line.content() else {
            return;
        };
        if let Some(text) = content.text() {
            return self.user_text(text, true, message.in_history, Pointer::At(path), out);
        }
        let typed = TypedTexts::of(line);
        if typed.are_missing {
            for text in &typed.texts {
                self.user_text(
                    *text,
                    true,
                    message.in_history,
                    Pointer::At("/displayContent"),
                    out,
                );
            }
        }
        for (n, response) in displayed_responses(line) {
            if self.plan.is_new() {
                emit_displayed_response(
                    &response,
                    Pointer::Field("/displayContent", n, "/functionResponse"),
                    out,
                );
            }
        }
        let responses = count_responses(Some(content));
        for (n, part) in parts(Some(content)).enumerate() {
            if let Some(response) = part.response() {
                // A file next to a single result is part of that result.
                let files = (responses == 1).then_some(content);
                if self.plan.is_new() {
                    self.response(
                        response,
                        files,
                        Pointer::Field(path, n, "/functionResponse"),
                        out,
                    );
                }
            } else if let Some(text) = text(part.plain_text()) {
                self.user_text(
                    text,
                    typed.is_typed(text),
                    message.in_history,
                    Pointer::Field(path, n, "/text"),
                    out,
                );
            } else if let Some(file) = part.file() {
                if responses == 0 && self.plan.is_new() {
                    let message = MsgIn {
                        role: Role::User,
                        by: self.prompt_author(),
                        text: None,
                        attachments: vec![attachment(file)],
                    };
                    out.emit(message, Pointer::Item(path, n));
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

    /// A text in the user's place: a prompt, the environment, or the summary of a compaction. `is_typed` unless the harness expanded what
    /// the user typed.
    pub(super) fn user_text(
        &mut self,
        text: Text<'_>,
        is_typed: bool,
        in_history: bool,
        place: Pointer<'_>,
        out: &mut Emitter<'_>,
    ) {
        let is_instructions = self.is_subagent && text.starts_with(LOADED_CONTEXT);
        let is_context = text.starts_with(SESSION_CONTEXT)
            || text.starts_with(UNTAGGED_CONTEXT)
            || is_instructions;
        let is_summary = text.starts_with(STATE_SNAPSHOT);
        self.follows_context = is_context || is_summary;
        if text.is_empty() || !self.plan.is_new() {
            return;
        }
        if is_context {
            let name = if is_instructions {
                "instructions"
            } else {
                "environment"
            };
            emit_context(name, text, place, out);
        } else if in_history && is_summary {
            out.emit(
                Meta::Compaction {
                    text: Some(text),
                    trigger: None,
                },
                place,
            );
        } else {
            self.prompt(text, is_typed, place, out);
        }
    }

    /// A prompt, the task of a sub-agent, or what the harness writes in their place.
    fn prompt(
        &mut self,
        text: Text<'_>,
        is_typed: bool,
        place: Pointer<'_>,
        out: &mut Emitter<'_>,
    ) {
        let words = split_hook(text, place, out);
        let text = words.as_deref().map_or(text, Text::Plain);
        if text.is_empty() {
            return;
        }
        let is_harness_text =
            !is_typed || HARNESS_TEXTS.iter().any(|prefix| text.starts_with(prefix));
        let by = match text {
            _ if is_harness_text => Author::Harness,
            _ if self.is_task(text) => Author::Agent,
            _ => self.prompt_author(),
        };
        let message = |text| MsgIn {
            role: Role::User,
            by,
            text: Some(text),
            attachments: Vec::new(),
        };
        let task = if by == Author::Agent {
            objective(&text.decode_lossy())
        } else {
            None
        };
        match task.as_deref() {
            // The harness has put the task into a template.
            Some(task) => {
                out.emit(message(Text::Token(task)), place);
                emit_context("agent_template", text, place, out);
            }
            None => drop(out.emit(message(text), place)),
        }
    }

    /// True for the prompt of a sub-agent whose messages are in the log of its parent: a call asks the same.
    fn is_task(&self, text: Text<'_>) -> bool {
        !self.objectives.is_empty()
            && text
                .decode()
                .ok()
                .and_then(|text| objective(&text))
                .is_some_and(|task| self.objectives.contains(&hash64(&*task)))
    }

    /// Who wrote a prompt. A sub-agent has one task, which the call that started it gives.
    fn prompt_author(&mut self) -> Author {
        if !self.is_subagent {
            return Author::Person;
        }
        let task = *self.task.get_or_insert(self.number);
        if task == self.number {
            Author::Agent
        } else {
            Author::Harness
        }
    }

    /// An entry of `logs.json`: what was typed at the terminal, its commands included.
    pub(super) fn typed_prompt(
        &mut self,
        prompt: &TypedPrompt<'_>,
        out: &mut Emitter<'_>,
    ) -> Outcome {
        let session = text(prompt.session_id()).map(|id| id.decode_lossy());
        out.set_source(session.as_deref(), None);
        let time = tape_time(prompt.timestamp());
        let message = text(prompt.message());
        let replay =
            message.is_some_and(|message| self.is_logged_prompt(session.as_deref(), message));
        out.set_header(RecordHeader {
            t: time.as_deref(),
            id: None,
            replay,
        });
        out.emit(
            MsgIn {
                role: Role::User,
                by: Author::Person,
                text: message,
                attachments: Vec::new(),
            },
            Pointer::At("/message"),
        );
        Outcome::Mapped
    }

    /// True if the log of this session has this prompt as often as this file has said it by now.
    fn is_logged_prompt(&mut self, session_id: Option<&str>, prompt: Text<'_>) -> bool {
        let Some(files) = &self.side_info.side_files else {
            return false;
        };
        let logged = files.count_prompts(session_id, prompt.raw());
        if logged == 0 {
            return false;
        }
        let typed = self
            .typed
            .entry(hash64((session_id, prompt.raw())))
            .or_default();
        *typed = typed.saturating_add(1);
        *typed <= logged
    }
}

/// The texts of a result that the terminal shows, if the log has the call's own result truncated.
#[cold]
fn emit_displayed_response(
    response: &FunctionResponse<'_>,
    place: Pointer<'_>,
    out: &mut Emitter<'_>,
) {
    let texts = ResultTexts::of_response(response);
    let call_id = text(response.id());
    for text in texts
        .output
        .iter()
        .chain(texts.error.iter())
        .filter_map(Value::text)
    {
        let input = ImplicitInput {
            name: Text::Plain("tool_result"),
            file: None,
            hash: None,
            bytes: None,
            text: Some(text),
        };
        out.emit_child(
            call_id.and_then(|id| out.seq_of_call(id)),
            Meta::Context(input),
            place,
        );
    }
}

/// Emits what a hook has put before a prompt (`<hook_context>`), and returns the prompt without it; `None` if there is no such text.
pub(super) fn split_hook(
    text: Text<'_>,
    place: Pointer<'_>,
    out: &mut Emitter<'_>,
) -> Option<String> {
    let decoded = text
        .decode()
        .ok()
        .filter(|_| text.starts_with(HOOK_BEGIN))?;
    let (section, words) = hook_before(&decoded)?;
    emit_context("hook", Text::Plain(section), place, out);
    Some(words.to_owned())
}

/// Emits a text that the harness gives the model beside the conversation.
fn emit_context(name: &str, text: Text<'_>, place: Pointer<'_>, out: &mut Emitter<'_>) {
    let input = ImplicitInput {
        name: Text::Plain(name),
        file: None,
        hash: None,
        bytes: None,
        text: Some(text),
    };
    out.emit(Meta::Context(input), place);
}
