//! The events of messages with the role `user`: prompts, contexts, results as the model gets them, and what was typed at the terminal.

use std::borrow::Cow;

use engram_core::emit::{Pointer, RecordHeader};
use engram_core::event::{Attachment, Author, ImplicitInput, Meta, MsgIn};
use engram_core::keys::{KeyMap, hash64};
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;
use engram_core::text::{Text, push_text};

use super::messages::Message;
use super::result_texts::ResultTexts;
use super::state::{Events, attachment};
use crate::gemini::readers::{FunctionResponse, TypedPrompt};
use crate::gemini::schema::{
    HOOK_BEGIN, LOADED_CONTEXT, STATE_SNAPSHOT, TypedTexts, count_responses, displayed_responses,
    hook_before, is_context, objective, parts,
};
use crate::gemini::wrappers::{
    REFERENCES, References, WRAPPERS, is_of_harness, mentions, without_mentions,
};
use crate::shared::time::tape_time;
use crate::shared::value::{Value, text};
use crate::shared::wrappers::{self, split};

/// The longest text that is looked through for what stands around the words: decoding one needs its size once more, and memory is bounded.
const MAX_WRAPPED: usize = 16 << 20;

/// A text in the user's place.
#[derive(Clone, Copy)]
pub(super) struct UserText<'t> {
    pub text: Text<'t>,
    pub giver: Giver,
    /// Its message is part of a history that is written again.
    pub in_history: bool,
    /// What the harness wrote behind words for the files that came with them.
    pub mentions: &'t [String],
    pub place: Pointer<'t>,
}

/// What the log tells of who gave a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Giver {
    /// Nothing, or that it was typed.
    Typed,
    /// The harness expanded what was typed, or a hook wrote it.
    Expanded,
    /// It is the content of a file that the prompt names, or a line around such contents.
    Referenced,
}

impl Events {
    /// A message in the user's place: prompts with their files, expanded prompts, results as the model gets them.
    pub(super) fn user(&mut self, message: &Message<'_>, out: &mut Emitter<'_>) {
        let (line, path) = (&message.line, message.path);
        let Some(content) = line.content() else {
            return;
        };
        let mentions = mentions(line);
        let typed = |text, giver, place| UserText {
            text,
            giver,
            in_history: message.in_history,
            mentions: &mentions,
            place,
        };
        if let Some(text) = content.text() {
            let text = typed(text, Giver::Typed, Pointer::At(path));
            return self.user_text(text, &mut Vec::new(), out);
        }
        let responses = count_responses(Some(content));
        let mut files = match responses {
            0 => self.new_files(content),
            _ => Vec::new(),
        };
        let words = TypedTexts::of(line);
        if words.are_missing {
            for text in &words.texts {
                let text = typed(*text, Giver::Typed, Pointer::At("/displayContent"));
                self.user_text(text, &mut files, out);
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
        let (mut references, mut first_file) = (References::default(), None);
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
                let giver = match () {
                    () if references.hold(text) => Giver::Referenced,
                    () if words.is_typed(text) => Giver::Typed,
                    () => Giver::Expanded,
                };
                let text = typed(text, giver, Pointer::Field(path, n, "/text"));
                self.user_text(text, &mut files, out);
            } else if part.file().is_some() {
                if responses == 0 && self.plan.is_new() {
                    first_file.get_or_insert(n);
                }
            } else {
                out.unrecognized_block(
                    part.unknown_name(),
                    part.object().raw(),
                    Pointer::Item(path, n),
                );
            }
        }
        // No words have them.
        if let Some(n) = first_file.filter(|_| !files.is_empty()) {
            let message = MsgIn::user(self.prompt_author(), None).with(files);
            out.emit(message, Pointer::Item(path, n));
        }
    }

    /// The files of a prompt that were not given before.
    fn new_files<'c>(&self, content: Value<'c>) -> Vec<Attachment<'c>> {
        let files = parts(Some(content)).filter(|part| text(part.plain_text()).is_none());
        files
            .filter_map(|part| part.file())
            .zip(self.plan.files_of_message())
            .filter(|(_, is_new)| *is_new)
            .map(|(file, _)| attachment(file))
            .collect()
    }

    /// A text in the user's place: a prompt, the environment, or the summary of a compaction. The first words of a prompt take its files.
    pub(super) fn user_text(
        &mut self,
        said: UserText<'_>,
        files: &mut Vec<Attachment<'_>>,
        out: &mut Emitter<'_>,
    ) {
        let (text, place) = (said.text, said.place);
        let is_instructions = self.is_subagent && text.starts_with(LOADED_CONTEXT);
        let is_context = is_context(text) || is_instructions;
        let is_summary = text.starts_with(STATE_SNAPSHOT);
        self.follows_context = is_context || is_summary;
        if text.is_empty() || !self.plan.is_new() {
            return;
        }
        if said.giver == Giver::Referenced {
            emit_context(REFERENCES, text, place, out);
        } else if is_context {
            let name = if is_instructions {
                "instructions"
            } else {
                "environment"
            };
            emit_context(name, text, place, out);
        } else if said.in_history && is_summary {
            out.emit(
                Meta::Compaction {
                    text: Some(text),
                    trigger: None,
                },
                place,
            );
        } else {
            self.prompt(said, files, out);
        }
    }

    /// A prompt, the task of a sub-agent, or what the harness writes in their place.
    fn prompt(
        &mut self,
        said: UserText<'_>,
        files: &mut Vec<Attachment<'_>>,
        out: &mut Emitter<'_>,
    ) {
        let place = said.place;
        let words = split_hook(said.text, place, out);
        let text = words.as_deref().map_or(said.text, Text::Plain);
        if text.is_empty() {
            return;
        }
        let decoded = if text.raw().len() > MAX_WRAPPED {
            Cow::Borrowed("")
        } else {
            text.decode_lossy()
        };
        let by = match text {
            _ if said.giver == Giver::Expanded || is_of_harness(&decoded) => Author::Harness,
            _ if self.is_task(text) => Author::Agent,
            _ => self.prompt_author(),
        };
        let message = |text, files: Vec<_>| MsgIn::user(by, Some(text)).with(files);
        match by {
            Author::Harness => drop(out.emit(message(text, Vec::new()), place)),
            Author::Agent => {
                let task = objective(&decoded);
                let files = std::mem::take(files);
                match task.as_deref() {
                    // The harness has put the task into a template.
                    Some(task) => {
                        out.emit(message(Text::Token(task), files), place);
                        emit_context("agent_template", text, place, out);
                    }
                    None => drop(out.emit(message(text, files), place)),
                }
            }
            Author::Person => {
                let (words, mentioned) = without_mentions(&decoded, said.mentions);
                let mut parts = split(words, WRAPPERS);
                if decoded.is_empty() {
                    parts.push(wrappers::Part::Words(words));
                }
                if !mentioned.is_empty() {
                    parts.push(wrappers::Part::Wrapped {
                        name: REFERENCES,
                        text: mentioned,
                    });
                }
                let is_whole = matches!(parts[..], [] | [wrappers::Part::Words(_)]);
                for part in parts {
                    match part {
                        wrappers::Part::Words(words) => {
                            // As the log has it: a half surrogate pair is lost when it is decoded.
                            let words = if is_whole { text } else { Text::Plain(words) };
                            out.emit(message(words, std::mem::take(files)), place);
                        }
                        wrappers::Part::Wrapped { name, text } => {
                            emit_context(name, Text::Plain(text), place, out);
                        }
                    }
                }
            }
        }
    }

    /// True for the prompt of a sub-agent whose messages are in the log of its parent: a call asks the same. The first prompt is a person's.
    fn is_task(&self, text: Text<'_>) -> bool {
        if self.tasks.is_empty() || self.first_prompt.is_none() {
            return false;
        }
        let mut token = String::new();
        push_text(&mut token, text);
        self.tasks.contains(&hash64(&*token))
            || text
                .decode()
                .ok()
                .and_then(|text| objective(&text))
                .is_some_and(|task| self.tasks.contains(&hash64(&*task)))
    }

    /// Who wrote a prompt. A sub-agent has one task, which the call that started it gives; the harness writes the later ones.
    fn prompt_author(&mut self) -> Author {
        let first = *self.first_prompt.get_or_insert(self.number);
        match first == self.number {
            _ if !self.is_subagent => Author::Person,
            true => Author::Agent,
            false => Author::Harness,
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
        out.emit(MsgIn::user(Author::Person, message), "/message");
        Outcome::Mapped
    }

    /// True if the log of this session has this prompt as often as this file has said it by now, or a log whose session this file never
    /// names: `/clear` begins a session of its own, and the file keeps the id of the one before it (0.61.0).
    fn is_logged_prompt(&mut self, session_id: Option<&str>, prompt: Text<'_>) -> bool {
        let Some(files) = &self.side_info.side_files else {
            return false;
        };
        let prompt = prompt.raw();
        let of_session = files.count_prompts(session_id, prompt);
        if of_session > 0 && counted(&mut self.typed, (session_id, prompt)) <= of_session {
            return true;
        }
        let named = self.typed_sessions.iter();
        let of_named = named.map(|session| files.count_prompts(Some(session), prompt));
        let of_others = files
            .count_prompts(None, prompt)
            .saturating_sub(of_named.fold(0, u32::saturating_add));
        of_others > 0 && counted(&mut self.typed, (Some(""), prompt)) <= of_others
    }
}

/// Counts a prompt, and returns how often that was done.
fn counted(typed: &mut KeyMap<u32>, key: (Option<&str>, &str)) -> u32 {
    let count = typed.entry(hash64(key)).or_default();
    *count = count.saturating_add(1);
    *count
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
        let input = ImplicitInput::of_text("tool_result", Some(text));
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
pub(super) fn emit_context(name: &str, text: Text<'_>, place: Pointer<'_>, out: &mut Emitter<'_>) {
    let input = ImplicitInput::of_text(name, Some(text));
    out.emit(Meta::Context(input), place);
}
