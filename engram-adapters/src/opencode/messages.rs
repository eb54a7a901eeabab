//! Messages: who speaks, with which model, and what the harness notes beside the parts.

use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault, RecordHeader};
use engram_core::event::{ImplicitInput, Meta, SessionFacts, Tokens, Usage};
use engram_core::hash::Hash;
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::converter::{Converter, bookkeeping, changed};
use super::descriptor::rule;
use super::schema::{self, Cache, Envelope, ErrorData, Model, Summary, Time};
use crate::shared::time::Clock;
use crate::shared::value::{Field, Value, integer, is_true, non_empty_text, number, raw_str, text};

/// Who speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Speaker {
    /// The user, or the harness in the user's place.
    User,
    /// The agent.
    Assistant,
    /// The message does not say, or is gone.
    #[default]
    Unknown,
}

/// What the parts of a message need to know of it.
#[derive(Default)]
pub(super) struct Turn<'a> {
    pub speaker: Speaker,
    pub message_id: Option<Text<'a>>,
    pub model: Option<Text<'a>>,
    /// The text is the summary of a compaction.
    pub is_summary: bool,
    /// A part of the message states the tokens of each request.
    pub has_steps: bool,
    /// The message is older than its session: a copy from the session that this one is a fork of.
    pub replay: bool,
    /// When the line of a stream was printed, in milliseconds, for parts without a time. Parts of a message have none then.
    pub printed: Field<'a>,
    /// 0.1.174: what tools add to their results, by call id.
    pub tool_metadata: Field<'a>,
}

impl<'a> Turn<'a> {
    /// What an envelope says.
    pub fn of(envelope: &Envelope<'a>, has_steps: bool, session_created: Option<i64>) -> Self {
        let created = integer(Time::lenient_opt(envelope.time()).created());
        Turn {
            speaker: match raw_str(envelope.role()) {
                "user" => Speaker::User,
                "assistant" => Speaker::Assistant,
                _ => Speaker::Unknown,
            },
            message_id: text(envelope.id()),
            model: non_empty_text(envelope.model_id()),
            is_summary: is_true(envelope.summary()),
            has_steps,
            replay: created.zip(session_created).is_some_and(|(message, session)| message < session),
            printed: None,
            tool_metadata: envelope.tool(),
        }
    }

    /// States when a record was made, and whether it is a copy.
    pub fn set_header(&self, millis: Option<i64>, id: Field<'_>, clock: &mut Clock, out: &mut Emitter) {
        let time = millis.or_else(|| integer(self.printed)).and_then(|millis| clock.spell(millis));
        out.set_header(RecordHeader { t: time, id: text(id), replay: self.replay });
    }
}

impl Converter {
    /// Converts what a message says of itself. Most only repeat what the messages before them said.
    pub fn envelope(&mut self, envelope: &Envelope<'_>, turn: &Turn<'_>, place: Pointer<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        if turn.speaker == Speaker::Unknown {
            let role = envelope.role().ok_or_else(|| Fault::malformed("/role", "who speaks", "nothing"))?;
            return Err(Fault::unrecognized(&format!("message/{}", raw_str(Some(role)))));
        }
        turn.set_header(integer(Time::lenient_opt(envelope.time()).created()), envelope.id(), &mut self.clock, out);
        let mut said = self.state_session(envelope, place, out)?;
        if let Some(system) = envelope.system() {
            said |= self.system_prompts(system, place, out)?;
        }
        if let Some(stated) = envelope.summary().filter(|summary| summary.is_object()) {
            said |= summary(stated, place, out)?;
        }
        if let Some(error) = envelope.error() {
            state_error(error, place, out)?;
            said = true;
        }
        said |= usage_of_message(envelope, turn, place, out)?;
        Ok(if said { Outcome::Mapped } else { bookkeeping(record_type(turn), rule::ENVELOPE) })
    }

    /// States model, agent and directory, where they changed.
    fn state_session(&mut self, envelope: &Envelope<'_>, place: Pointer<'_>, out: &mut Emitter) -> Result<bool, Fault> {
        let asked = Model::lenient_opt(envelope.model());
        let cwd = envelope.path().and_then(|path| path.member("cwd"));
        let model = changed(&mut self.standing.model, envelope.model_id().or(asked.model_id()));
        let provider = changed(&mut self.standing.provider, envelope.provider_id().or(asked.provider_id()));
        let cwd = changed(&mut self.standing.cwd, cwd);
        let agent = changed(&mut self.standing.agent, envelope.agent().or(envelope.mode()));
        let is_new = [model, provider, cwd, agent].iter().any(Option::is_some);
        if is_new {
            out.emit(Meta::Session(SessionFacts { model, provider, cwd, agent, ..SessionFacts::default() }), place)?;
        }
        Ok(is_new)
    }

    /// States the system prompts: the harness's own by hash, instruction files by text, each once.
    #[inline(never)]
    fn system_prompts(&mut self, system: Value<'_>, place: Pointer<'_>, out: &mut Emitter) -> Result<bool, Fault> {
        let mut said = false;
        for prompt in system.elements().filter_map(Value::text) {
            if self.prompts.first(("list", prompt.raw())) {
                out.emit(Meta::Context(context_of(&prompt.decode_lossy())), place)?;
                said = true;
            }
        }
        if let Some(prompt) = non_empty_text(Some(system))
            && self.prompts.first(system.raw())
        {
            // On user messages it is what the caller asked for, not the harness's own.
            let context = ImplicitInput { name: Text::Plain("system_prompt"), file: None, hash: None, bytes: None, text: Some(prompt) };
            out.emit(Meta::Context(context), place)?;
            said = true;
        }
        Ok(said)
    }
}

/// The type of a message's own record, in the ledger.
fn record_type(turn: &Turn<'_>) -> &'static str {
    match turn.speaker {
        Speaker::User => "message/user",
        Speaker::Assistant | Speaker::Unknown => "message/assistant",
    }
}

/// A system prompt by what it begins with (0.1.174 and 0.5.29).
fn context_of(plain: &str) -> ImplicitInput<'_> {
    let (name, file) = match plain.strip_prefix("Instructions from: ") {
        Some(rest) => ("instructions", rest.lines().next()),
        None if plain.starts_with("Here is some useful information about the environment") => ("environment", None),
        None => ("system_prompt", None),
    };
    let is_instructions = file.is_some();
    ImplicitInput {
        name: Text::Plain(name),
        file: file.map(Text::Plain),
        hash: Some(Hash::of_text(plain)),
        bytes: Some(plain.len() as u64),
        text: is_instructions.then_some(Text::Plain(plain)),
    }
}

/// States the title and text that a model wrote of the turn (user messages, 1.0.0 to 1.2.27).
#[inline(never)]
fn summary(summary: Value<'_>, place: Pointer<'_>, out: &mut Emitter) -> Result<bool, Fault> {
    let summary = Summary::strict(summary, "/summary")?;
    let mut said = false;
    for (name, value) in [("summary.title", summary.title()), ("summary.body", summary.body())] {
        if let Some(value) = non_empty_text(value) {
            out.emit(Meta::System { name: Text::Plain(name), text: Some(value) }, place)?;
            said = true;
        }
    }
    Ok(said)
}

/// States an error, or that the turn was stopped.
#[cold]
pub(super) fn state_error(error: Value<'_>, place: Pointer<'_>, out: &mut Emitter) -> Result<(), Fault> {
    let error = schema::Error::strict(error, "/error")?;
    let data = ErrorData::lenient_opt(error.data());
    if raw_str(error.name()) == "MessageAbortedError" {
        out.emit(Meta::Interrupt { text: non_empty_text(data.message()) }, place)?;
        return Ok(());
    }
    out.emit(Meta::Error { code: text(error.name()), text: non_empty_text(data.message()) }, place)?;
    if let Some(body) = non_empty_text(data.response_body()) {
        out.emit(Meta::System { name: Text::Plain("error.response"), text: Some(body) }, place)?;
    }
    Ok(())
}

/// States the tokens of a message none of whose parts does.
fn usage_of_message(envelope: &Envelope<'_>, turn: &Turn<'_>, place: Pointer<'_>, out: &mut Emitter) -> Result<bool, Fault> {
    let Some(tokens) = envelope.tokens().filter(|_| !turn.has_steps) else { return Ok(false) };
    let tokens = schema::Tokens::strict(tokens, "/tokens")?;
    if !is_spent(&tokens) {
        return Ok(false);
    }
    out.emit(usage(&tokens, envelope.cost(), turn.model), place)?;
    Ok(true)
}

/// False while a request has not come back: the counts are then written as zeros.
fn is_spent(tokens: &schema::Tokens<'_>) -> bool {
    [tokens.input(), tokens.output()].into_iter().flatten().any(|count| count.raw() != "0")
}

/// Tokens and cost as an event.
pub(super) fn usage<'a>(tokens: &schema::Tokens<'a>, cost: Field<'a>, model: Option<Text<'a>>) -> Meta<'a> {
    let cache = Cache::lenient_opt(tokens.cache());
    Meta::Usage(Usage {
        model,
        tokens: Tokens {
            input: number(tokens.input()),
            output: number(tokens.output()),
            cache_read: number(cache.read_from_cache()),
            cache_write: number(cache.written_to_cache()),
            reasoning: number(tokens.reasoning()),
            total: number(tokens.total()),
        },
        cost_usd: number(cost),
    })
}
