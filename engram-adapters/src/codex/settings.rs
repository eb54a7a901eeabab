//! What the session works with: its header, the settings of its turns, the state behind its messages, compactions and token counts.

use std::borrow::Cow;
use std::collections::BTreeMap;

use engram_core::emit::{Emitter, Fault};
use engram_core::event::{Context, Meta, Number, SessionFacts, Tokens, Usage};
use engram_core::hash::Hash;
use engram_core::ledger::Outcome;
use engram_core::render::Pointer;
use engram_core::text::Text;
use serde_json::value::RawValue;

use crate::kit::correlate::key;
use crate::kit::json::{self, Raw, filled_text, text};

use super::convert::Converter;
use super::rules;
use super::schema::{Git, Payload, Source, SubAgent, ThreadSpawn, TokenUsage, WorldState};

/// How deep the state of instruction files is looked into.
const MAX_STATE_DEPTH: usize = 8;

impl Converter {
    /// The header of the envelope form. A second one belongs to the history that a fork or child copied.
    pub(super) fn session_meta(&mut self, meta: &Payload<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let spawn = meta.source.and_then(spawned);
        let mut facts = SessionFacts { provider: text(meta.model_provider), cwd: text(meta.cwd), ..SessionFacts::default() };
        self.repository(meta.git.as_ref(), &mut facts);
        let path = filled_text(meta.agent_path).or_else(|| spawn.as_ref().and_then(|spawn| filled_text(spawn.agent_path)));
        let nickname = filled_text(meta.agent_nickname).or_else(|| spawn.as_ref().and_then(|spawn| filled_text(spawn.agent_nickname)));
        facts.agent = path.or(nickname);
        facts.parent_session_id = text(meta.parent_thread_id).or_else(|| spawn.as_ref().and_then(|spawn| text(spawn.parent_thread_id)));
        if spawn.is_none() {
            facts.fork_of = text(meta.forked_from_id).or_else(|| meta.history_base.as_ref().and_then(|base| text(base.thread_id)));
        }
        if self.history.copied.is_own_meta() {
            self.history.is_spawned = spawn.is_some();
            self.history.agent_path = path.map(|path| path.decode_lossy().into_owned());
            self.surroundings(&mut facts);
        }
        out.emit(Meta::Session(facts), Pointer::At("/payload"))?;
        self.instructions(meta.instructions, "/payload/instructions", out)?;
        if let Some(prompt) = meta.base_instructions.as_ref().and_then(|base| text(base.text)) {
            let decoded = prompt.decode_lossy();
            let (hash, bytes) = (Some(Hash::of_text(&decoded)), Some(decoded.len() as u64));
            let context = Context { name: Text::Plain("system_prompt"), file: None, hash, bytes, text: None };
            out.emit(Meta::Context(context), Pointer::At("/payload/base_instructions/text"))?;
        }
        Ok(Outcome::Mapped)
    }

    pub(super) fn repository<'a>(&self, git: Option<&Git<'a>>, facts: &mut SessionFacts<'a>) {
        if let Some(git) = git {
            facts.repo_head = text(git.commit_hash);
            facts.repo_branch = text(git.branch);
            facts.repo_url = text(git.repository_url);
        }
    }

    /// Adds what only the files around the artifact say.
    pub(super) fn surroundings<'a>(&'a self, facts: &mut SessionFacts<'a>) {
        let told = |text: &'a Option<String>| text.as_deref().map(Text::Plain);
        facts.parent_session_id = facts.parent_session_id.or(told(&self.context.parent_session_id));
        facts.parent_call_id = facts.parent_call_id.or(told(&self.context.parent_call_id));
        facts.agent = facts.agent.or(told(&self.context.agent));
    }

    /// Instructions that a person wrote: they keep their text, and stand once.
    pub(super) fn instructions(&mut self, said: Raw<'_>, path: &'static str, out: &mut Emitter) -> Result<bool, Fault> {
        let Some(said) = filled_text(said) else { return Ok(false) };
        let decoded = said.decode_lossy();
        if !self.history.said.first(("instructions", decoded.as_ref())) {
            return Ok(false);
        }
        let (hash, bytes) = (Some(Hash::of_text(&decoded)), Some(decoded.len() as u64));
        let context = Context { name: Text::Plain("instructions"), file: None, hash, bytes, text: Some(said) };
        out.emit(Meta::Context(context), Pointer::At(&self.at(path)))?;
        Ok(true)
    }

    /// Up to 0.105 one a request, later one a turn: an event when something changed.
    pub(super) fn turn_context(&mut self, turn: &Payload<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let mut mapped = self.session_facts(turn.model, turn.cwd, None, out)?;
        mapped |= self.instructions(turn.user_instructions, "/payload/user_instructions", out)?;
        mapped |= self.instructions(turn.developer_instructions, "/payload/developer_instructions", out)?;
        let mode = turn.collaboration_mode.as_ref().and_then(|mode| mode.settings.as_ref());
        let mode = mode.and_then(|settings| settings.developer_instructions);
        mapped |= self.instructions(mode, "/payload/collaboration_mode/settings/developer_instructions", out)?;
        Ok(if mapped { Outcome::Mapped } else { rules::duplicate("turn_context", rules::SETTINGS) })
    }

    pub(super) fn settings_applied(&mut self, event: &Payload<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let Some(settings) = &event.thread_settings else {
            return Err(Fault::malformed("/payload/thread_settings", "settings", "nothing"));
        };
        let mut mapped = self.session_facts(settings.model, settings.cwd, settings.model_provider_id, out)?;
        let mode = settings.collaboration_mode.as_ref().and_then(|mode| mode.settings.as_ref());
        let mode = mode.and_then(|settings| settings.developer_instructions);
        mapped |= self.instructions(mode, "/payload/thread_settings/collaboration_mode/settings/developer_instructions", out)?;
        Ok(if mapped { Outcome::Mapped } else { rules::duplicate("event_msg/thread_settings_applied", rules::SETTINGS_EVENT) })
    }

    /// States model and directory when they changed.
    fn session_facts(&mut self, model: Raw<'_>, cwd: Raw<'_>, provider: Raw<'_>, out: &mut Emitter) -> Result<bool, Fault> {
        let now = key((model.map(|model| model.get()), cwd.map(|cwd| cwd.get())));
        if self.history.settings.replace(now) == Some(now) {
            return Ok(false);
        }
        let facts = SessionFacts { model: text(model), cwd: text(cwd), provider: text(provider), ..SessionFacts::default() };
        out.emit(Meta::Session(facts), Pointer::At("/payload"))?;
        Ok(true)
    }

    pub(super) fn renamed(&mut self, event: &Payload<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        out.emit(
            Meta::Session(SessionFacts { title: text(event.thread_name), ..SessionFacts::default() }),
            Pointer::At("/payload/thread_name"),
        )?;
        Ok(Outcome::Mapped)
    }

    /// The state behind the harness's own messages (0.150 and later), by hash.
    pub(super) fn world_state(&mut self, world: &Payload<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let Some(state) = world.state else {
            return Err(Fault::malformed("/payload/state", "an object", "nothing"));
        };
        let (hash, bytes) = (Some(Hash::of_bytes(state.get().as_bytes())), Some(state.get().len() as u64));
        let context = Context { name: Text::Plain("world_state"), file: None, hash, bytes, text: None };
        out.emit(Meta::Context(context), Pointer::At("/payload/state"))?;
        let state: WorldState<'_> = json::read(state, "/payload/state", "an object")?;
        let mut files = Vec::new();
        texts(state.agents_md, 0, &mut files);
        for text in files {
            self.instructions(Some(text), "/payload/state/agents_md", out)?;
        }
        Ok(Outcome::Mapped)
    }

    pub(super) fn compacted(&mut self, compacted: &Payload<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        self.history.unmarked_compactions += 1;
        out.emit(Meta::Compaction { text: filled_text(compacted.message), trigger: None }, Pointer::At("/payload/message"))?;
        Ok(Outcome::Mapped)
    }

    pub(super) fn usage_record(&mut self, record: &Payload<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let Some(usage) = record.usage else {
            return Err(Fault::malformed("/payload/usage", "token counts", "nothing"));
        };
        if !self.counts_are_new(usage, record.thread_token_usage) {
            return Ok(rules::duplicate("token_usage_record", rules::SAME_COUNTS));
        }
        out.emit(Meta::Usage(Usage { tokens: tokens(usage), ..Usage::default() }), Pointer::At("/payload/usage"))?;
        Ok(Outcome::Mapped)
    }

    /// True when the counts of this request are not those of the last record of counts.
    pub(super) fn counts_are_new(&mut self, last: TokenUsage<'_>, total: Option<TokenUsage<'_>>) -> bool {
        let spelled = |usage: TokenUsage<'_>| {
            [usage.input_tokens, usage.cached_input_tokens, usage.output_tokens, usage.reasoning_output_tokens, usage.total_tokens]
                .map(|count| count.map(|count| count.get().to_owned()))
        };
        let now = key((spelled(last), total.map(spelled)));
        self.history.tokens.replace(now) != Some(now)
    }
}

/// The texts in a value, in its order.
fn texts<'a>(raw: Raw<'a>, depth: usize, out: &mut Vec<&'a RawValue>) {
    let Some(raw) = raw.filter(|_| depth < MAX_STATE_DEPTH) else { return };
    if json::is_array(raw) {
        let elements: Vec<&RawValue> = json::parse(raw.get()).unwrap_or_default();
        elements.into_iter().for_each(|element| texts(Some(element), depth + 1, out));
    } else if json::is_object(raw) {
        let members: BTreeMap<Cow<'_, str>, &RawValue> = json::parse(raw.get()).unwrap_or_default();
        members.into_values().for_each(|member| texts(Some(member), depth + 1, out));
    } else if raw.get().starts_with('"') && raw.get().contains(char::is_whitespace) {
        out.push(raw);
    }
}

/// Token counts as the source spells them.
pub(super) fn tokens(usage: TokenUsage<'_>) -> Tokens<'_> {
    Tokens {
        input: usage.input_tokens.and_then(Number::of),
        output: usage.output_tokens.and_then(Number::of),
        cache_read: usage.cached_input_tokens.and_then(Number::of),
        cache_write: usage.cache_write_input_tokens.and_then(Number::of),
        reasoning: usage.reasoning_output_tokens.and_then(Number::of),
        total: usage.total_tokens.and_then(Number::of),
    }
}

/// Who spawned a session, if `source` says that an agent did.
pub(super) fn spawned(source: &RawValue) -> Option<ThreadSpawn<'_>> {
    let source: Source<'_> = serde_json::from_str(source.get()).ok()?;
    let subagent: SubAgent<'_> = serde_json::from_str(source.subagent?.get()).ok()?;
    subagent.thread_spawn
}
