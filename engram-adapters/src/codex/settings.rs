//! What the session works with: its header, the settings of its turns, the state behind its messages, compactions and token counts.

use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault};
use engram_core::event::{ImplicitInput, Meta, SessionFacts, Tokens, Usage};
use engram_core::hash::Hash;
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use crate::shared::correlate::hash64;
use crate::shared::value::{Field, Value, non_empty_text, number, text};

use super::convert::Converter;
use super::rules;
use super::schema::{BaseInstructions, Git, HistoryBase, Notice, SessionMeta, Settings, TokenUsage, UsageRecord, spawned};

/// How deep the state of instruction files is looked into.
const MAX_STATE_DEPTH: usize = 8;

impl Converter {
    /// The header of the envelope form. That of another thread belongs to the history that a fork or child copied.
    pub(super) fn session_meta(&mut self, meta: Value<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let meta = SessionMeta::strict(meta, "/payload")?;
        if self.history.copied.is_own_meta() {
            let (prompt, tools) = (meta.base_instructions(), meta.dynamic_tools());
            let stated = [meta.cwd(), meta.git(), meta.model_provider(), meta.instructions(), prompt, tools, meta.source()];
            let header = hash64(stated.map(|field| field.map(Value::raw)));
            if self.history.header.replace(header) == Some(header) {
                return Ok(rules::duplicate("session_meta", rules::HEADER));
            }
        }
        let spawn = spawned(meta.source());
        let mut facts = SessionFacts { provider: text(meta.model_provider()), cwd: text(meta.cwd()), ..SessionFacts::default() };
        self.repository(meta.git(), &mut facts);
        let path = non_empty_text(meta.agent_path()).or_else(|| non_empty_text(spawn?.agent_path()));
        let nickname = non_empty_text(meta.agent_nickname()).or_else(|| non_empty_text(spawn?.agent_nickname()));
        // A sub-agent of the harness's own has a name only: `review`, or `{"other":"guardian"}`.
        let helper = meta.source().and_then(|source| source.member("subagent"));
        facts.agent = path.or(nickname).or_else(|| text(helper).or_else(|| text(helper?.member("other"))));
        facts.parent_session_id = text(meta.parent_thread_id()).or_else(|| text(spawn?.parent_thread_id()));
        if spawn.is_none() {
            facts.fork_of = text(meta.forked_from_id()).or_else(|| text(HistoryBase::lenient(meta.history_base()?).thread_id()));
        }
        if self.history.copied.is_own_meta() {
            self.history.is_spawned = helper.is_some();
            self.history.agent_path = path.map(|path| path.decode_lossy().into_owned());
            self.surroundings(&mut facts);
        }
        out.emit(Meta::Session(facts), Pointer::At("/payload"))?;
        self.instructions(meta.instructions(), "/payload/instructions", out)?;
        if let Some(prompt) = meta.base_instructions().and_then(|base| text(BaseInstructions::lenient(base).text())) {
            let decoded = prompt.decode_lossy();
            let (hash, bytes) = (Some(Hash::of_text(&decoded)), Some(decoded.len() as u64));
            let context = ImplicitInput { name: Text::Plain("system_prompt"), file: None, hash, bytes, text: None };
            out.emit(Meta::Context(context), Pointer::At("/payload/base_instructions/text"))?;
        }
        self.tools_offered(meta.dynamic_tools().filter(|tools| tools.raw() != "[]"), "/payload/dynamic_tools", out)?;
        Ok(Outcome::Mapped)
    }

    pub(super) fn repository<'a>(&self, git: Field<'a>, facts: &mut SessionFacts<'a>) {
        let git = Git::lenient_opt(git);
        facts.repo_head = text(git.commit_hash());
        facts.repo_branch = text(git.branch());
        facts.repo_url = text(git.repository_url());
    }

    /// Adds what only the files around the artifact say.
    pub(super) fn surroundings<'a>(&'a self, facts: &mut SessionFacts<'a>) {
        let told = |text: &'a Option<String>| text.as_deref().map(Text::Plain);
        facts.parent_session_id = facts.parent_session_id.or(told(&self.context.parent_session_id));
        facts.parent_call_id = facts.parent_call_id.or(told(&self.context.parent_call_id));
        facts.agent = facts.agent.or(told(&self.context.agent));
    }

    /// Instructions that a person wrote: they keep their text, and stand once.
    pub(super) fn instructions(&mut self, said: Field<'_>, path: &'static str, out: &mut Emitter) -> Result<bool, Fault> {
        let Some(said) = non_empty_text(said) else { return Ok(false) };
        if !self.history.said.first(("instructions", said.raw())) {
            return Ok(false);
        }
        let decoded = said.decode_lossy();
        let (hash, bytes) = (Some(Hash::of_text(&decoded)), Some(decoded.len() as u64));
        let context = ImplicitInput { name: Text::Plain("instructions"), file: None, hash, bytes, text: Some(said) };
        out.emit(Meta::Context(context), Pointer::At(&self.at(path)))?;
        Ok(true)
    }

    /// Up to 0.105 one a request, later one a turn: an event when something changed.
    pub(super) fn turn_context(&mut self, turn: Value<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let turn = Settings::strict(turn, "/payload")?;
        let mut mapped = self.session_facts(&turn, out)?;
        mapped |= self.instructions(turn.user_instructions(), "/payload/user_instructions", out)?;
        mapped |= self.instructions(turn.developer_instructions(), "/payload/developer_instructions", out)?;
        let path = "/payload/collaboration_mode/settings/developer_instructions";
        mapped |= self.instructions(turn.mode_instructions(), path, out)?;
        Ok(if mapped { Outcome::Mapped } else { rules::duplicate("turn_context", rules::SETTINGS) })
    }

    pub(super) fn settings_applied(&mut self, event: &Notice<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let Some(settings) = event.thread_settings() else {
            return Err(Fault::malformed("/payload/thread_settings", "settings", "nothing"));
        };
        let settings = Settings::strict(settings, "/payload/thread_settings")?;
        let mut mapped = self.session_facts(&settings, out)?;
        let path = "/payload/thread_settings/collaboration_mode/settings/developer_instructions";
        mapped |= self.instructions(settings.mode_instructions(), path, out)?;
        Ok(if mapped { Outcome::Mapped } else { rules::duplicate("event_msg/thread_settings_applied", rules::SETTINGS_EVENT) })
    }

    /// States model and directory when they changed.
    fn session_facts(&mut self, settings: &Settings<'_>, out: &mut Emitter) -> Result<bool, Fault> {
        let now = hash64((settings.model().map(Value::raw), settings.cwd().map(Value::raw)));
        if self.history.settings.replace(now) == Some(now) {
            return Ok(false);
        }
        let provider = text(settings.model_provider_id());
        let facts = SessionFacts { model: text(settings.model()), cwd: text(settings.cwd()), provider, ..SessionFacts::default() };
        out.emit(Meta::Session(facts), Pointer::At("/payload"))?;
        Ok(true)
    }

    pub(super) fn renamed(&mut self, event: &Notice<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let facts = SessionFacts { title: text(event.thread_name()), ..SessionFacts::default() };
        out.emit(Meta::Session(facts), Pointer::At("/payload/thread_name"))?;
        Ok(Outcome::Mapped)
    }

    /// The state behind the harness's own messages (0.150 and later), by hash.
    pub(super) fn world_state(&mut self, world: Value<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let Some(state) = world.member("state") else {
            return Err(Fault::malformed("/payload/state", "an object", "nothing"));
        };
        let (hash, bytes) = (Some(Hash::of_bytes(state.raw().as_bytes())), Some(state.raw().len() as u64));
        let context = ImplicitInput { name: Text::Plain("world_state"), file: None, hash, bytes, text: None };
        out.emit(Meta::Context(context), Pointer::At("/payload/state"))?;
        let mut files = Vec::new();
        texts(state.member("agents_md"), 0, &mut files);
        for text in files {
            self.instructions(Some(text), "/payload/state/agents_md", out)?;
        }
        Ok(Outcome::Mapped)
    }

    pub(super) fn compacted(&mut self, compacted: Value<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        self.history.unmarked_compactions += 1;
        let summary = non_empty_text(compacted.member("message"));
        out.emit(Meta::Compaction { text: summary, trigger: None }, Pointer::At("/payload/message"))?;
        Ok(Outcome::Mapped)
    }

    pub(super) fn usage_record(&mut self, record: Value<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let record = UsageRecord::strict(record, "/payload")?;
        let Some(usage) = record.usage() else {
            return Err(Fault::malformed("/payload/usage", "token counts", "nothing"));
        };
        if !self.counts_are_new(usage, record.thread()) {
            return Ok(rules::duplicate("token_usage_record", rules::SAME_COUNTS));
        }
        out.emit(Meta::Usage(Usage { tokens: tokens(usage, "/payload/usage")?, ..Usage::default() }), Pointer::At("/payload/usage"))?;
        Ok(Outcome::Mapped)
    }

    /// True when the counts of this request are not those of the last record of counts.
    pub(super) fn counts_are_new(&mut self, last: Value<'_>, total: Field<'_>) -> bool {
        let (now, known) = ([last.raw(), total.map_or("", Value::raw)], &mut self.history.tokens);
        let is_new = *known != now;
        if is_new {
            known.iter_mut().zip(now).for_each(|(known, now)| now.clone_into(known));
        }
        is_new
    }
}

/// The texts in a value, in its order.
fn texts<'a>(field: Field<'a>, depth: usize, out: &mut Vec<Value<'a>>) {
    let Some(value) = field.filter(|_| depth < MAX_STATE_DEPTH) else { return };
    for element in value.elements().chain(value.members().map(|(_, member)| member)) {
        texts(Some(element), depth + 1, out);
    }
    if value.text().is_some() && value.raw().contains(char::is_whitespace) {
        out.push(value);
    }
}

/// Token counts as the source spells them.
pub(super) fn tokens<'a>(usage: Value<'a>, at: &str) -> Result<Tokens<'a>, Fault> {
    let usage = TokenUsage::strict(usage, at)?;
    Ok(Tokens {
        input: number(usage.input()),
        output: number(usage.output()),
        cache_read: number(usage.cached_input()),
        cache_write: number(usage.cache_write_input()),
        reasoning: number(usage.reasoning_output()),
        total: number(usage.total()),
    })
}
