//! What is said: the messages of people, the model and the harness, as strings or as lists of parts.

use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault};
use engram_core::event::{Attachment, Channel, ImplicitInput, Meta, MsgIn, MsgOut, Role, SessionFacts, Usage};
use engram_core::text::Text;

use super::converter::Converter;
use super::heard::{Reading, text_key, thought_key};
use super::schema::{Blob, FunctionCall, FunctionResponse, Record, Thought, Tokens, parts, under};
use crate::shared::correlate::hash64;
use crate::shared::media::base64_hash;
use crate::shared::value::{Field, Value, is_true, non_empty_text, number, raw_str, text};

/// What the harness writes in the user's place begins with one of these.
const HARNESS_TEXTS: &[&str] = &[
    // What stands in a message for the result of a tool (0.16.0).
    "[Function Response: ",
    // The output of a command that the user ran with `!`.
    "I ran the following shell command:\\n",
    // Files that the user named with `@`, put into the prompt.
    "\\n--- Content from referenced files ---",
    "\\nContent from @",
    "\\n--- End of content ---",
    "System: Please continue.",
    // The request for a summary, which 0.4.1 recorded as a prompt.
    "First, reason in your scratchpad. Then, generate the <state_snapshot>.",
];

impl Converter {
    /// Says what a message says, and gives its type. `reading` is the history that it is part of, where one is written again.
    pub fn say(
        &mut self,
        message: &Record<'_>,
        base: &str,
        reading: Option<&mut Reading>,
        out: &mut Emitter,
    ) -> Result<&'static str, Fault> {
        match raw_str(message.kind()) {
            "user" => self.user(message, base, "/content", reading, out).map(|()| "user"),
            "gemini" => self.model(message, base, "/content", reading, out).map(|()| "gemini"),
            "info" => self.notice("info", message, base, reading, out).map(|()| "info"),
            "warning" => self.notice("warning", message, base, reading, out).map(|()| "warning"),
            "error" => self.notice("error", message, base, reading, out).map(|()| "error"),
            "" => Err(Fault::malformed(under(base, "/type"), "a message type", "none")),
            other => Err(Fault::unrecognized(other)),
        }
    }

    /// What a person, or the harness in a person's place, says. `field` leads to the content.
    #[inline(never)]
    pub fn user(
        &mut self,
        message: &Record<'_>,
        base: &str,
        field: &'static str,
        mut reading: Option<&mut Reading>,
        out: &mut Emitter,
    ) -> Result<(), Fault> {
        let path = under(base, field);
        let Some(content) = message.content() else { return Ok(()) };
        if let Some(text) = content.text() {
            return self.user_text(text, false, reading, Pointer::At(&path), out);
        }
        if !content.is_array() {
            return Err(Fault::malformed(path, "text or a list of parts", content.raw()));
        }
        let typed = message.display_content().map(texts).unwrap_or_default();
        let is_typed = |said: Text<'_>| typed.iter().any(|text| same(*text, said));
        if !typed.is_empty() && !parts(Some(content)).any(|part| text(part.said()).is_some_and(is_typed)) {
            for text in &typed {
                let shown = under(base, "/displayContent");
                self.user_text(*text, false, reading.as_deref_mut(), Pointer::At(&shown), out)?;
            }
        }
        if let Some(shown) = message.display_content().filter(|shown| shown.is_array()) {
            self.shown_again(shown, base, out)?;
        }
        let mut counted = None;
        let mut responses = || *counted.get_or_insert_with(|| parts(Some(content)).filter(|part| part.response().is_some()).count());
        for (n, part) in parts(Some(content)).enumerate() {
            let reading = reading.as_deref_mut();
            if let Some(response) = part.response() {
                // The model's turn mostly holds it already. A file beside a result belongs to the result.
                if response.first("id").is_none_or(|id| !self.repeats_answer(hash64(id.raw()), response)) {
                    let beside = (responses() == 1).then_some(content);
                    self.response(response, beside, Pointer::Field(&path, n, "/functionResponse"), out)?;
                }
            } else if let Some(said) = text(part.said()) {
                let put_in = !typed.is_empty() && !is_typed(said);
                self.user_text(said, put_in, reading, Pointer::Field(&path, n, "/text"), out)?;
            } else if let Some(blob) = part.inline_data().or(part.file_data()) {
                if responses() == 0 && self.is_news(hash64(("file", blob.raw())), reading) {
                    let said = MsgIn { role: Role::User, text: None, synthetic: self.in_subagent, attachments: vec![attachment(blob)] };
                    self.emit(said, Pointer::Item(&path, n), out)?;
                }
            } else {
                unknown_part(content, n, &path, out)?;
            }
        }
        Ok(())
    }

    /// Results among what the terminal shows in place of a prompt (where the harness itself says to go on): whole, where the turn has
    /// been cut since.
    #[cold]
    fn shown_again(&mut self, shown: Value<'_>, base: &str, out: &mut Emitter) -> Result<(), Fault> {
        for (n, part) in parts(Some(shown)).enumerate() {
            let Some(response) = part.response().map(FunctionResponse::lenient) else { continue };
            if !response.id().is_some_and(|id| self.is_same_answer(hash64(id.raw()), &response)) {
                let path = format!("{base}/displayContent/{n}/functionResponse");
                self.told(&response, &path, out)?;
            }
        }
        Ok(())
    }

    #[inline(never)]
    pub fn user_text(
        &mut self,
        text: Text<'_>,
        put_in: bool,
        reading: Option<&mut Reading>,
        pointer: Pointer<'_>,
        out: &mut Emitter,
    ) -> Result<(), Fault> {
        let restated = reading.is_some();
        let heard = text_key("user", text);
        if text.is_empty() || (!restated && self.repeats_interjection(heard)) || !self.is_news(heard, reading) {
            return Ok(());
        }
        if text.starts_with("<session_context>") {
            let name = Text::Plain("environment");
            return self.emit(Meta::Context(ImplicitInput { name, file: None, hash: None, bytes: None, text: Some(text) }), pointer, out);
        }
        if restated && text.starts_with("<state_snapshot>") {
            return self.emit(Meta::Compaction { text: Some(text), trigger: None }, pointer, out);
        }
        let synthetic = put_in || self.in_subagent || HARNESS_TEXTS.iter().any(|prefix| text.starts_with(prefix));
        self.emit(MsgIn { role: Role::User, text: Some(text), synthetic, attachments: Vec::new() }, pointer, out)
    }

    /// What the model says, thinks and calls. `field` leads to the content.
    #[inline(never)]
    pub fn model(
        &mut self,
        message: &Record<'_>,
        base: &str,
        field: &'static str,
        mut reading: Option<&mut Reading>,
        out: &mut Emitter,
    ) -> Result<(), Fault> {
        self.change_model(message.model(), base, out)?;
        // A turn is written again under its id when its tools have run.
        let written = self.rewritten(message, reading.is_some());
        if let Some(thoughts) = message.thoughts().filter(|_| !written.thoughts) {
            self.thoughts(thoughts, message, &under(base, "/thoughts"), reading.as_deref_mut(), out)?;
        }
        if let Some(content) = message.content() {
            let path = under(base, field);
            match content.text() {
                Some(said) if said.is_empty() || written.text => {}
                Some(said) => {
                    if self.is_news(text_key("model", said), reading) {
                        self.answer(said, message, Pointer::At(&path), out)?;
                    }
                }
                None => self.model_parts(content, message, &path, reading, out)?,
            }
        }
        if let Some(tokens) = message.tokens().filter(|_| !written.tokens) {
            self.usage(&Tokens::lenient(tokens), message.model(), &under(base, "/tokens"), out)?;
        }
        message.tool_calls().map_or(Ok(()), |calls| self.calls(calls, &under(base, "/toolCalls"), out))
    }

    #[inline(never)]
    fn thoughts(
        &mut self,
        thoughts: Value<'_>,
        message: &Record<'_>,
        path: &str,
        mut reading: Option<&mut Reading>,
        out: &mut Emitter,
    ) -> Result<(), Fault> {
        for (n, thought) in thoughts.elements().enumerate() {
            let spelled = spell(&Thought::lenient(thought));
            let spelled = Text::Token(&spelled);
            if !spelled.is_empty() && self.is_news(thought_key(spelled), reading.as_deref_mut()) {
                self.reasoning(spelled, message, Pointer::Item(path, n), out)?;
            }
        }
        Ok(())
    }

    #[inline(never)]
    fn model_parts(
        &mut self,
        content: Value<'_>,
        message: &Record<'_>,
        path: &str,
        mut reading: Option<&mut Reading>,
        out: &mut Emitter,
    ) -> Result<(), Fault> {
        if !content.is_array() {
            return Err(Fault::malformed(path, "text or a list of parts", content.raw()));
        }
        for (n, part) in parts(Some(content)).enumerate() {
            let reading = reading.as_deref_mut();
            if let Some(call) = part.call() {
                self.function_call(&FunctionCall::lenient(call), reading, Pointer::Field(path, n, "/functionCall"), out)?;
            } else if let Some(said) = text(part.said()) {
                let pointer = Pointer::Field(path, n, "/text");
                let is_thought = is_true(part.thought());
                let heard = if is_thought { thought_key(said) } else { text_key("model", said) };
                if said.is_empty() || !self.is_news(heard, reading) {
                    continue;
                }
                if is_thought { self.reasoning(said, message, pointer, out)? } else { self.answer(said, message, pointer, out)? }
            } else {
                unknown_part(content, n, path, out)?;
            }
        }
        Ok(())
    }

    #[inline(never)]
    fn reasoning(&mut self, text: Text<'_>, message: &Record<'_>, pointer: Pointer<'_>, out: &mut Emitter) -> Result<(), Fault> {
        let channel = Some(Channel::Reasoning);
        let said = MsgOut { text: Some(text), channel, model: self::text(message.model()), ..MsgOut::default() };
        self.emit(said, pointer, out)
    }

    #[inline(never)]
    fn answer(&mut self, text: Text<'_>, message: &Record<'_>, pointer: Pointer<'_>, out: &mut Emitter) -> Result<(), Fault> {
        self.emit(MsgOut { text: Some(text), model: self::text(message.model()), ..MsgOut::default() }, pointer, out)
    }

    #[inline(never)]
    fn usage(&mut self, tokens: &Tokens<'_>, model: Field<'_>, path: &str, out: &mut Emitter) -> Result<(), Fault> {
        let tokens = engram_core::event::Tokens {
            input: number(tokens.input()),
            output: number(tokens.output()),
            cache_read: number(tokens.cached()),
            cache_write: None,
            reasoning: number(tokens.thoughts()),
            total: number(tokens.total()),
        };
        self.emit(Meta::Usage(Usage { model: text(model), tokens, cost_usd: None }), Pointer::At(path), out)
    }

    fn change_model(&mut self, model: Field<'_>, base: &str, out: &mut Emitter) -> Result<(), Fault> {
        match model {
            Some(model) if self.model.as_deref() != Some(model.raw()) => self.say_model(model, base, out),
            _ => Ok(()),
        }
    }

    #[cold]
    fn say_model(&mut self, model: Value<'_>, base: &str, out: &mut Emitter) -> Result<(), Fault> {
        if non_empty_text(Some(model)).is_none() {
            return Ok(());
        }
        self.model = Some(model.raw().to_owned());
        let facts = SessionFacts { model: model.text(), ..SessionFacts::default() };
        self.emit(Meta::Session(facts), Pointer::At(&under(base, "/model")), out)
    }

    /// A notice of the terminal.
    #[cold]
    fn notice(
        &mut self,
        name: &'static str,
        message: &Record<'_>,
        base: &str,
        reading: Option<&mut Reading>,
        out: &mut Emitter,
    ) -> Result<(), Fault> {
        let path = under(base, "/content");
        if let Some(content) = message.content().filter(|content| content.text().is_none()) {
            return Err(Fault::malformed(path, "text", content.raw()));
        }
        let said = non_empty_text(message.content());
        if !self.is_news(hash64((name, spelling(message.content()))), reading) {
            return Ok(());
        }
        let event = match name {
            "error" => Meta::Error { code: None, text: said },
            _ if said.is_some_and(|text| text.eq_str("Request cancelled.")) => Meta::Interrupt { text: said },
            _ => Meta::System { name: Text::Plain(name), text: said },
        };
        self.emit(event, Pointer::At(&path), out)
    }
}

/// The texts among the parts of a list.
#[cold]
fn texts(list: Value<'_>) -> Vec<Text<'_>> {
    parts(Some(list)).filter_map(|part| text(part.said())).collect()
}

fn same(one: Text<'_>, other: Text<'_>) -> bool {
    one.decode_lossy() == other.decode_lossy()
}

/// A thought as the model wrote it, spelled as a JSON string: the harness took `**subject** description` apart.
fn spell(thought: &Thought<'_>) -> String {
    let (subject, description) = (raw_str(thought.subject()), raw_str(thought.description()));
    match (subject.is_empty(), description.is_empty()) {
        (true, _) => ["\"", description, "\""].concat(),
        (false, true) => ["\"**", subject, "**\""].concat(),
        (false, false) => ["\"**", subject, "** ", description, "\""].concat(),
    }
}

/// Keeps a part of a kind that this adapter does not know.
#[cold]
fn unknown_part(content: Value<'_>, n: usize, path: &str, out: &mut Emitter) -> Result<(), Fault> {
    let Some(part) = content.elements().nth(n) else { return Ok(()) };
    let name = part.members().next().map_or("part", |(name, _)| name);
    out.unrecognized_block(name, part.raw(), Pointer::Item(path, n))
}

/// The source's spelling of a value, for telling values apart.
pub(super) fn spelling<'a>(field: Field<'a>) -> Option<&'a str> {
    field.map(Value::raw)
}

/// A file beside a text, hashed.
pub(super) fn attachment(blob: Value<'_>) -> Attachment<'_> {
    let blob = Blob::lenient(blob);
    let (hash, bytes) = blob.data().map(|data| base64_hash(raw_str(Some(data)))).unzip();
    Attachment { media_type: text(blob.media_type()), hash, bytes, name: text(blob.uri()).or_else(|| text(blob.name())) }
}
