//! What has been said of the session, and holds until a line says otherwise.

use engram_core::emit::{Emitter, Fault, Stamp};
use engram_core::event::{Meta, SessionFacts};
use engram_core::render::Pointer;
use engram_core::text::Text;

use super::convert::{Converter, Record, SYNTHETIC};
use super::revisions::dialect;
use super::schema::{Fact, Line};
use crate::kit::value::{Field, filled_text, text, word};

/// What was stated last, as the source spells it. Empty where nothing was.
#[derive(Default)]
pub(super) struct Standing {
    facts: [String; Fact::REPEATED],
    model: String,
    pub title: String,
    pub agent_name: String,
    pub permission_mode: String,
    pub mode: String,
    pub cost: String,
    /// The agent whose line was the last, decoded.
    agent_id: Option<String>,
    /// The facts from around the file have been said.
    introduced: bool,
}

/// Puts the source's spelling of a value in its place. True when it is new.
pub(super) fn changed(slot: &mut String, value: Field<'_>) -> bool {
    let Some(value) = value.map(|value| value.raw()) else { return false };
    let is_new = slot != value;
    if is_new {
        renew(slot, value);
    }
    is_new
}

#[cold]
fn renew(slot: &mut String, value: &str) {
    slot.clear();
    slot.push_str(value);
}

/// Which facts are stated otherwise than before: a bit for each.
#[derive(Clone, Copy)]
struct News(u8);

impl News {
    fn has(self, fact: Fact) -> bool {
        self.0 & (1 << fact as u8) != 0
    }

    fn with(self, fact: Fact, is_new: bool) -> News {
        News(self.0 | u8::from(is_new) << fact as u8)
    }
}

impl Standing {
    /// Puts the first `count` facts of a line in their places. Nearly always none of them is new.
    #[inline(never)]
    fn note(&mut self, line: &Line<'_>, count: usize) -> News {
        let facts = self.facts.iter_mut().zip(line.facts()).take(count).enumerate();
        News(facts.fold(0, |news, (number, (slot, value))| news | u8::from(changed(slot, value)) << number))
    }

    /// As `note`, for what only lines of the conversation state.
    fn note_conversation(&mut self, record: &Record<'_>, news: News) -> News {
        let model = record.message.model();
        // What the harness says in the model's place is of no model.
        let is_new_model = record.kind == "assistant" && word(model) != SYNTHETIC && changed(&mut self.model, model);
        let is_first_of_agent = record.line.agent_id().is_some() && !std::mem::replace(&mut self.introduced, true);
        news.with(Fact::Model, is_new_model).with(Fact::Parent, is_first_of_agent)
    }
}

impl Converter {
    /// States whose line this is, when it was written, by which version, and what else is new of the session.
    #[inline(never)]
    pub fn enter(&mut self, record: &Record<'_>, out: &mut Emitter) -> Result<(), Fault> {
        let here = out.line();
        // What is said now of earlier lines is of other agents.
        let moved = self.usages.flush(record, out)?;
        if moved {
            self.standing.facts[Fact::Session as usize].clear();
        }
        let count = if record.is_conversation { Fact::REPEATED } else { Fact::OF_ANY_LINE };
        let mut news = self.standing.note(&record.line, count);
        if news.has(Fact::Session) || self.standing.agent_id.as_deref() != record.agent.as_deref() {
            self.state_source(record, out);
        }
        let stamp = Stamp { t: record.time.as_deref(), id: text(record.line.uuid()), replay: record.replay };
        if moved {
            out.restamp(here, stamp);
        } else {
            out.stamp(stamp);
        }
        out.within(record.within);
        if news.has(Fact::Version) {
            self.change_version(&record.line, out)?;
        }
        if record.is_conversation {
            news = self.standing.note_conversation(record, news);
            if news.0 >> Fact::OF_ANY_LINE != 0 || self.history.has_origin() {
                self.say_news(news, record, out)?;
            }
        }
        Ok(())
    }

    #[inline(never)]
    fn state_source(&mut self, record: &Record<'_>, out: &mut Emitter) {
        if let Some(session) = record.session() {
            let agent = record.agent.as_deref();
            self.standing.agent_id = agent.map(str::to_owned);
            out.source(Some(&session), agent);
        }
    }

    #[cold]
    fn change_version(&mut self, line: &Line<'_>, out: &mut Emitter) -> Result<(), Fault> {
        if let Some(version) = text(line.version())
            && let Some(revision) = out.version(&version.decode_lossy())?
        {
            self.dialect = dialect(Some(revision));
        }
        Ok(())
    }

    #[cold]
    fn say_news(&mut self, news: News, record: &Record<'_>, out: &mut Emitter) -> Result<(), Fault> {
        let line = &record.line;
        let origin = self.history.take_origin();
        let mut facts = SessionFacts { fork_of: origin.as_deref().map(Text::Plain), ..SessionFacts::default() };
        if news.has(Fact::Parent) {
            facts.parent_session_id = text(line.session_id());
            facts.parent_call_id = self.context.parent_call_id.as_deref().map(Text::Plain);
            facts.agent = self.context.agent.as_deref().map(Text::Plain);
        }
        let stated = |fact, field| if news.has(fact) { filled_text(field) } else { None };
        facts.agent = facts.agent.or_else(|| stated(Fact::AgentType, line.agent_type()));
        facts.cwd = stated(Fact::Cwd, line.cwd());
        facts.repo_branch = stated(Fact::Branch, line.git_branch());
        facts.model = stated(Fact::Model, record.message.model());
        let stated = [facts.parent_session_id, facts.agent, facts.cwd, facts.repo_branch, facts.model, facts.fork_of];
        if stated.iter().any(Option::is_some) {
            out.emit(Meta::Session(facts), Pointer::Root)?;
        }
        Ok(())
    }
}
