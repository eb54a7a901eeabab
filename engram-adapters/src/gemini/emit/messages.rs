//! The events of each record: headers, changes, messages and notices.

use engram_core::emit::{Pointer, RecordHeader};
use engram_core::event::{
    self, Author, Channel, ImplicitInput, Meta, MsgIn, MsgOut, Role, SessionFacts,
};
use engram_core::keys::hash64;
use engram_core::ledger::Outcome;
use engram_core::steps::{Emitter, Record};
use engram_core::text::Text;

use super::result_texts::ResultTexts;
use super::state::{Events, OpenUsage, attachment, set_header};
use crate::gemini::format::{ChangeKind, HeaderKind, MessageKind, SavedKind, rule};
use crate::gemini::notes::Note;
use crate::gemini::plan::responses::Usage;
use crate::gemini::readers::{
    FunctionResponse, Line, SavedTurn, StreamLine, Thought, Tokens, TypedPrompt,
};
use crate::gemini::schema::{
    FILLERS, Form, HOOK_BEGIN, LOADED_CONTEXT, SESSION_CONTEXT, STATE_SNAPSHOT, TypedTexts,
    UNTAGGED_CONTEXT, count_responses, displayed_responses, hook_before, joined_thought, objective,
    parts,
};
use crate::shared::time::tape_time;
use crate::shared::value::{
    Field, Value, count, count_or_zero, is_true, non_empty_text, raw_str, text,
};

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

/// One message, as its handlers get it.
pub(super) struct Message<'m> {
    pub line: Line<'m>,
    /// The field with the content: `/content`, in a saved conversation `/parts`.
    pub path: &'static str,
    pub in_history: bool,
}

impl Events {
    /// Sets time and id of a record that is kept as it is.
    pub fn envelope(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) {
        let member = |name| record.value.member(name);
        set_header(
            member("timestamp").or(member("startTime")),
            member("id").filter(|_| self.form != Form::Stream),
            out,
        );
    }

    /// Step 3 of one record.
    pub fn record(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
        self.number = record.number;
        self.plan.begin(record.number);
        let outcome = match self.form {
            Form::Stream => self.stream_line(record, &StreamLine::lenient(record.value), out),
            Form::TypedPrompts => self.typed_prompt(&TypedPrompt::lenient(record.value), out),
            Form::Saved => self.saved_turn(&SavedTurn::lenient(record.value), out),
            Form::Lines => self.line(&Line::lenient(record.value), out),
            Form::Document if record.base.is_root() => {
                self.header(&Line::lenient(record.value), out)
            }
            Form::Document => {
                self.message(Line::lenient(record.value), rule::MESSAGE_REWRITTEN, out)
            }
        };
        self.end_response(out);
        outcome
    }

    fn line(&mut self, line: &Line<'_>, out: &mut Emitter<'_>) -> Outcome {
        if let Some(changes) = line.changes() {
            self.changes(changes, out)
        } else if let Some(to) = line.rewind_to() {
            self.plan.is_new();
            set_header(line.timestamp(), None, out);
            let rewind = match self.rewind_points.get(&hash64(to.raw())).copied().flatten() {
                Some(to) => Meta::Rewind { to, files: false },
                None => Meta::System {
                    name: Text::Plain("rewind"),
                    text: to.text(),
                },
            };
            out.emit(rewind, Pointer::At("/$rewindTo"));
            Outcome::Mapped
        } else if line.kind().is_some() {
            self.message(*line, rule::MESSAGE_REWRITTEN, out)
        } else {
            self.header(line, out)
        }
    }

    /// A header: the first line, or a document without its messages.
    #[cold]
    fn header(&mut self, header: &Line<'_>, out: &mut Emitter<'_>) -> Outcome {
        set_header(header.start_time(), None, out);
        self.is_subagent = HeaderKind::named(raw_str(header.role())) == Some(HeaderKind::Subagent);
        let is_first = !std::mem::replace(&mut self.has_header, true);
        self.switch_to(header.session_id(), out);
        if !is_first && header.directories().is_none() && header.summary().is_none() {
            out.emit(
                Meta::System {
                    name: Text::Plain("resumed"),
                    text: None,
                },
                Pointer::Root,
            );
            return Outcome::Mapped;
        }
        let side_info = self.side_info.clone();
        let mut facts = SessionFacts::default();
        if is_first {
            facts.parent_session_id = side_info.parent_session_id.as_deref().map(Text::Plain);
            facts.parent_call_id = side_info.parent_call_id.as_deref().map(Text::Plain);
            facts.agent = side_info.agent.as_deref().map(Text::Plain);
            facts.cwd = side_info.cwd.as_deref().map(Text::Plain);
        }
        self.session_facts(facts, header, true, out);
        Outcome::Mapped
    }

    /// What a header says, or a change of it.
    #[cold]
    fn session_facts<'f>(
        &self,
        mut facts: SessionFacts<'f>,
        header: &Line<'f>,
        is_header: bool,
        out: &mut Emitter<'_>,
    ) {
        let directories: Vec<Text<'_>> = header
            .directories()
            .into_iter()
            .flat_map(Value::elements)
            .filter_map(Value::text)
            .collect();
        // The first directory is the working directory; the user added the others.
        facts.cwd = directories.first().copied().or(facts.cwd);
        let summary = non_empty_text(header.summary());
        // The summary of a sub-agent is what it returns, not a title.
        facts.title = summary.filter(|_| !self.is_subagent);
        if is_header || facts.cwd.is_some() || facts.title.is_some() {
            out.emit(Meta::Session(facts), Pointer::Root);
        }
        if let Some(summary) = summary.filter(|_| self.is_subagent) {
            let system = Meta::System {
                name: Text::Plain("summary"),
                text: Some(summary),
            };
            out.emit(
                system,
                Pointer::At(if is_header {
                    "/summary"
                } else {
                    "/$set/summary"
                }),
            );
        }
        let path = if is_header {
            "/directories"
        } else {
            "/$set/directories"
        };
        for (n, directory) in directories.iter().enumerate().skip(1) {
            let name = Text::Plain("directory");
            let input = ImplicitInput {
                name,
                file: Some(*directory),
                hash: None,
                bytes: None,
                text: None,
            };
            out.emit(Meta::Context(input), Pointer::Item(path, n));
        }
    }

    /// True if the following events belong to another session than the ones before.
    fn switch_to(&mut self, session_id: Field<'_>, out: &mut Emitter<'_>) -> bool {
        let Some(session_id) = text(session_id).map(|id| id.decode_lossy()) else {
            return false;
        };
        if self.session_id.as_deref() == Some(&*session_id) {
            return false;
        }
        out.set_source(Some(&*session_id), self.is_subagent.then_some(&*session_id));
        self.session_id = Some(session_id.into_owned());
        true
    }

    /// A `$set` line: what the harness changes in the header and the history.
    fn changes(&mut self, changes: Value<'_>, out: &mut Emitter<'_>) -> Outcome {
        let mut members = changes.members();
        let Some(kind) = members.next().and_then(|(name, _)| ChangeKind::named(name)) else {
            return Outcome::Mapped;
        };
        let record = kind.name();
        if kind == ChangeKind::LastUpdated && members.next().is_none() {
            return Outcome::Bookkeeping {
                record,
                rule: rule::SESSION_CLOCK,
            };
        }
        let (set, time) = (Line::lenient(changes), changes.member("lastUpdated"));
        if set.summary().is_some() || set.directories().is_some() {
            set_header(time, None, out);
            self.session_facts(SessionFacts::default(), &set, false, out);
        }
        if set.session_id().is_some() && self.switch_to(set.session_id(), out) {
            set_header(time, None, out);
            out.emit(
                Meta::Session(SessionFacts::default()),
                Pointer::At("/$set/sessionId"),
            );
        }
        if let Some(messages) = set.messages().filter(|messages| !messages.is_empty_list()) {
            // Only what the log does not have yet is new; nothing is taken back.
            for (n, message) in messages.elements().enumerate() {
                out.set_pointer_prefix(Pointer::Item("/$set/messages", n));
                self.message_events(Line::lenient(message), out);
            }
            return self.outcome(record, rule::HISTORY_RESTATED, out);
        }
        let rule = match kind {
            _ if out.has_events() => return Outcome::Mapped,
            ChangeKind::SessionId => rule::SESSION_SAME_ID,
            ChangeKind::LastUpdated => rule::SESSION_CLOCK,
            ChangeKind::Messages | ChangeKind::Summary | ChangeKind::Directories => {
                rule::MESSAGE_EMPTY
            }
        };
        Outcome::Bookkeeping { record, rule }
    }

    /// A message that is a record of its own.
    fn message(
        &mut self,
        line: Line<'_>,
        repeated: &'static str,
        out: &mut Emitter<'_>,
    ) -> Outcome {
        let (record, in_history) = self.message_events(line, out);
        self.outcome(
            record,
            if in_history {
                rule::HISTORY_RELOGGED
            } else {
                repeated
            },
            out,
        )
    }

    /// The outcome of a record: mapped if it gives events, else a duplicate if something in it was stated before, else without content.
    fn outcome(&self, record: &'static str, repeated: &'static str, out: &Emitter<'_>) -> Outcome {
        let gives_usage = self
            .usage
            .as_ref()
            .is_some_and(|usage| usage.of == self.number);
        if out.has_events()
            || (gives_usage
                && self
                    .plan
                    .usages
                    .get(self.plan.usage_at)
                    .is_some_and(|usage| usage.of as usize == self.number))
        {
            Outcome::Mapped
        } else if self.plan.has_repeats || gives_usage {
            Outcome::Duplicate {
                record,
                rule: repeated,
            }
        } else {
            Outcome::Bookkeeping {
                record,
                rule: rule::MESSAGE_EMPTY,
            }
        }
    }

    /// Emits a message. Returns its type, and whether it is part of a history.
    fn message_events(&mut self, line: Line<'_>, out: &mut Emitter<'_>) -> (&'static str, bool) {
        let (note, decision) = self.plan.next_note();
        if let Note::Message { id, .. } = note
            && let Some(point @ None) = self.rewind_points.get_mut(&id)
        {
            *point = out.last_seq();
        }
        set_header(line.timestamp(), line.id(), out);
        let message = Message {
            line,
            path: "/content",
            in_history: decision.in_history,
        };
        let Some(kind) = MessageKind::named(raw_str(line.kind())) else {
            return ("", decision.in_history);
        };
        match kind {
            MessageKind::Gemini => self.turn(&message, out),
            MessageKind::User => self.user(&message, out),
            MessageKind::Info | MessageKind::Warning | MessageKind::Error => {
                self.notice(kind, &message, out)
            }
        }
        (kind.name(), decision.in_history)
    }

    /// A turn of the model.
    fn turn(&mut self, message: &Message<'_>, out: &mut Emitter<'_>) {
        let line = &message.line;
        if let Some(model) = non_empty_text(line.model())
            && self.plan.is_new()
        {
            let facts = SessionFacts {
                model: Some(model),
                ..SessionFacts::default()
            };
            out.emit(Meta::Session(facts), Pointer::At("/model"));
        }
        let (_, repeated) = self.plan.next_note();
        self.plan.has_repeats |= repeated.is_repeated;
        for (n, thought) in line
            .thoughts()
            .into_iter()
            .flat_map(Value::elements)
            .enumerate()
        {
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

    fn model_content(&mut self, message: &Message<'_>, out: &mut Emitter<'_>) {
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
            out.emit(
                Meta::System {
                    name: Text::Plain("filler"),
                    text: Some(text),
                },
                place,
            );
        } else {
            emit_text(text, None, line, place, out);
        }
    }

    /// The token counts of a turn: in a log of lines they stand after the last record of the turn.
    fn usage(&mut self, tokens: event::Tokens, message: &Message<'_>, out: &mut Emitter<'_>) {
        let line = &message.line;
        if self.form == Form::Lines && !message.in_history {
            let owned = |field: Field<'_>| field.map(|value| value.raw().to_owned());
            let time = tape_time(line.timestamp()).map(|time| time.into_owned());
            self.usage = Some(OpenUsage {
                of: self.number,
                tokens,
                time,
                id: owned(line.id()),
                model: owned(line.model()),
            });
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
        out.emit(Meta::Usage(usage), Pointer::At("/tokens"));
    }

    /// Emits the token counts that stand after the current record.
    fn end_response(&mut self, out: &mut Emitter<'_>) {
        let Some(Usage { of, after }) = self.plan.usages.get(self.plan.usage_at).copied() else {
            return;
        };
        if after as usize != self.number {
            return;
        }
        self.plan.usage_at += 1;
        let Some(OpenUsage {
            tokens,
            time,
            id,
            model,
            ..
        }) = self.usage.take()
        else {
            return;
        };
        let header = RecordHeader {
            t: time.as_deref(),
            id: token_text(&id),
            replay: false,
        };
        let usage = event::Usage {
            message_id: token_text(&id),
            model: token_text(&model),
            tokens,
            ..event::Usage::default()
        };
        out.of_record(of as usize, header, |out| {
            out.emit(Meta::Usage(usage), Pointer::At("/tokens"))
        });
    }

    /// A message in the user's place: prompts, expanded prompts, results as the model gets them, files.
    fn user(&mut self, message: &Message<'_>, out: &mut Emitter<'_>) {
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
            emit_context(
                if is_instructions {
                    "instructions"
                } else {
                    "environment"
                },
                text,
                place,
                out,
            );
        } else if in_history && is_summary {
            out.emit(
                Meta::Compaction {
                    text: Some(text),
                    trigger: None,
                },
                place,
            );
        } else {
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

    /// A notice of the terminal: an information, a warning, an error, a cancellation.
    #[cold]
    fn notice(&mut self, kind: MessageKind, message: &Message<'_>, out: &mut Emitter<'_>) {
        let text = non_empty_text(message.line.content());
        if !self.plan.is_new() {
            return;
        }
        let event = match kind {
            MessageKind::Error => Meta::Error { code: None, text },
            _ if text.is_some_and(|text| text.eq_str("Request cancelled.")) => {
                Meta::Interrupt { text }
            }
            _ => Meta::System {
                name: Text::Plain(kind.name()),
                text,
            },
        };
        out.emit(event, Pointer::At("/content"));
    }

    /// An entry of `logs.json`: what was typed at the terminal, its commands included.
    fn typed_prompt(&mut self, prompt: &TypedPrompt<'_>, out: &mut Emitter<'_>) -> Outcome {
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

    /// True if the log of this session has this prompt as often as this file has stated it by now.
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

    /// A turn of a saved conversation, as the message that it would be in a log.
    fn saved_turn(&mut self, turn: &SavedTurn<'_>, out: &mut Emitter<'_>) -> Outcome {
        let texts = || {
            parts(turn.parts())
                .filter_map(|part| part.text().or(part.call()?.member("id")))
                .filter_map(Value::text)
        };
        if let Some(text) = texts().next() {
            self.is_saved_copy = self
                .side_info
                .side_files
                .as_ref()
                .is_some_and(|files| files.has_text(None, text.raw()));
        }
        out.set_header(RecordHeader {
            replay: self.is_saved_copy,
            ..RecordHeader::default()
        });
        let message = Message {
            line: Line::of_turn(turn),
            path: "/parts",
            in_history: false,
        };
        self.plan.next_note();
        let Some(kind) = SavedKind::named(raw_str(turn.role())) else {
            return Outcome::Mapped;
        };
        match kind {
            SavedKind::User => self.user(&message, out),
            SavedKind::Model => {
                self.plan.next_note();
                self.model_content(&message, out);
            }
        }
        if out.has_events() {
            Outcome::Mapped
        } else {
            Outcome::Bookkeeping {
                record: kind.name(),
                rule: rule::MESSAGE_EMPTY,
            }
        }
    }
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
