//! What a line says of the session before anything else: whose it is, when it was written, and what is new.

use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault, RecordHeader};
use engram_core::event::{Meta, SessionFacts};
use engram_core::text::Text;

use super::converter::Converter;
use super::record::Record;
use super::revisions::dialect;
use super::schema::{Fact, Line};
use super::standing::News;
use crate::shared::value::{non_empty_text, text};

impl Converter {
    /// States whose line this is, when it was written, by which version, and what else is new of the session. True where that is an event.
    #[inline(never)]
    pub fn enter(&mut self, record: &Record<'_>, out: &mut Emitter) -> Result<bool, Fault> {
        let here = out.location();
        // What is said now of earlier lines is of other agents.
        let moved = self.usages.flush(record, out)?;
        if moved {
            self.standing.forget_session();
        }
        let count = if record.is_conversation { Fact::REPEATED } else { Fact::OF_ANY_LINE };
        let mut news = self.standing.note(&record.line, count);
        if news.has(Fact::Session) || self.standing.agent_id.as_deref() != record.agent.as_deref() {
            self.state_source(record, out);
        }
        let stamp = RecordHeader { t: record.time.as_deref(), id: text(record.line.uuid()), replay: record.replay };
        if moved {
            out.attribute_to(here, stamp);
        } else {
            out.set_header(stamp);
        }
        out.set_pointer_prefix(record.within);
        if news.has(Fact::Version) {
            self.change_version(&record.line, out)?;
        }
        if record.is_conversation {
            news = self.standing.note_conversation(record, news);
            if news.is_of_conversation() || self.history.has_origin() {
                return self.say_news(news, record, out);
            }
        }
        Ok(false)
    }

    #[inline(never)]
    fn state_source(&mut self, record: &Record<'_>, out: &mut Emitter) {
        if let Some(session) = record.session() {
            let agent = record.agent.as_deref();
            self.standing.agent_id = agent.map(str::to_owned);
            out.set_source(Some(&session), agent);
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
    fn say_news(&mut self, news: News, record: &Record<'_>, out: &mut Emitter) -> Result<bool, Fault> {
        let line = &record.line;
        let origin = self.history.take_origin();
        let mut facts = SessionFacts { fork_of: origin.as_deref().map(Text::Plain), ..SessionFacts::default() };
        if news.has(Fact::Parent) {
            facts.parent_session_id = text(line.session_id());
            facts.parent_call_id = self.context.parent_call_id.as_deref().map(Text::Plain);
            facts.agent = self.context.agent.as_deref().map(Text::Plain);
        }
        let stated = |fact, field| if news.has(fact) { non_empty_text(field) } else { None };
        facts.agent = facts.agent.or_else(|| stated(Fact::AgentType, line.agent_type()));
        facts.cwd = stated(Fact::Cwd, line.cwd());
        facts.repo_branch = stated(Fact::Branch, line.git_branch());
        facts.model = stated(Fact::Model, record.message.model());
        let stated = [facts.parent_session_id, facts.agent, facts.cwd, facts.repo_branch, facts.model, facts.fork_of];
        let is_any = stated.iter().any(Option::is_some);
        if is_any {
            out.emit(Meta::Session(facts), Pointer::Root)?;
        }
        Ok(is_any)
    }
}
