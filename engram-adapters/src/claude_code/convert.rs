//! The converter of one transcript: what it remembers, and which module a line goes to.

use std::borrow::Cow;

use engram_core::adapter::{Context, Opening, Session};
use engram_core::emit::{Emitter, Fault, Stamp};
use engram_core::event::{Meta, SessionFacts};
use engram_core::ledger::Outcome;
use engram_core::render::Pointer;
use engram_core::text::Text;

use super::descriptor::never_mapped;
use super::history::History;
use super::notices::pull_request;
use super::progress::hook;
use super::queue::Queue;
use super::results::Call;
use super::revisions::{Dialect, dialect};
use super::schema::{Line, Message};
use super::usage::Usages;
use crate::kit::correlate::{OpenCalls, key};
use crate::kit::time::rfc3339;
use crate::kit::value::{Field, Index, Value, filled_text, parse, text, word};

/// The model's name in messages that the harness writes in the model's place.
pub(super) const SYNTHETIC: &str = "<synthetic>";

/// What is remembered from line to line.
pub(super) struct Converter {
    pub dialect: Dialect,
    pub context: Context,
    pub calls: OpenCalls<Call>,
    pub history: History,
    pub usages: Usages,
    pub queue: Queue,
    /// What started the last compaction, until its summary comes.
    pub compaction_trigger: Option<String>,
    /// The last notebook cell that was set, as its call asked for it.
    pub last_cell: Option<u64>,
    /// What has been said of the session and has not changed since.
    standing: Standing,
    /// The facts from around the file have been said.
    introduced: bool,
}

/// A transcript that is read line by line.
pub(super) struct Transcript {
    converter: Converter,
    /// Where the values of the current line lie.
    index: Index,
}

/// One line, and what it says of itself.
#[derive(Default)]
pub(super) struct Record<'a> {
    /// `user`, `assistant`, `system`, ...
    pub kind: &'a str,
    pub line: Line<'a>,
    /// Where the line lies in the record, if another one wraps it.
    pub within: Pointer<'static>,
    /// Empty where the line has none.
    pub message: Message<'a>,
    /// A key of the message's id.
    pub message_key: Option<u64>,
    pub agent: Option<Cow<'a, str>>,
    pub time: Option<Cow<'a, str>>,
    /// It repeats another session's history.
    pub replay: bool,
}

impl<'a> Record<'a> {
    /// The session that the line belongs to.
    pub fn session(&self) -> Option<Cow<'a, str>> {
        text(self.line.session_id()).map(|id| id.decode_lossy())
    }

    /// True for lines that belong to the conversation itself.
    fn is_conversation(&self) -> bool {
        matches!(self.kind, "user" | "assistant" | "system" | "attachment" | "progress")
    }
}

/// The last stated value of what a session says again and again.
#[derive(Default)]
pub(super) struct Standing {
    session: Option<String>,
    session_agent: Option<String>,
    version: Option<String>,
    cwd: Option<String>,
    branch: Option<String>,
    model: Option<String>,
    agent: Option<String>,
    pub title: Option<String>,
    pub permission_mode: Option<String>,
    pub mode: Option<String>,
    pub cost: Option<String>,
}

/// Puts the source's spelling of a value in its place. True when it is new.
pub(super) fn changed(slot: &mut Option<String>, value: Field<'_>) -> bool {
    let Some(value) = value.map(|value| value.raw()) else { return false };
    if slot.as_deref() == Some(value) {
        return false;
    }
    *slot = Some(value.to_owned());
    true
}

impl Converter {
    /// A converter that has seen nothing yet.
    fn open(opening: &Opening<'_>) -> Self {
        let dialect = dialect(opening.revision);
        Converter {
            dialect,
            context: opening.context.clone(),
            calls: OpenCalls::default(),
            history: History::open(opening.head, dialect),
            usages: Usages::default(),
            queue: Queue::default(),
            compaction_trigger: None,
            last_cell: None,
            standing: Standing::default(),
            introduced: false,
        }
    }

    /// What has been said of the session so far.
    pub fn standing(&mut self) -> &mut Standing {
        &mut self.standing
    }

    /// Finds out whose line it is.
    #[inline(never)]
    fn read(&mut self, record: &mut Record<'_>) -> Result<(), Fault> {
        if let Some(message) = record.line.message() {
            record.message.fill(message, "/message")?;
        }
        record.kind = word(record.line.kind());
        if record.kind.is_empty() {
            return Err(Fault::malformed("/type", "the type of a record", record.line.object().raw()));
        }
        record.message_key = text(record.message.id()).map(|id| key(id.decode_lossy()));
        if record.agent.is_none() {
            record.agent = self.history.agent(&record.line);
        }
        record.time = line_time(&record.line);
        record.replay = record.is_conversation() && self.history.is_replay(record);
        Ok(())
    }

    // What most lines need stands in functions of its own, apart from the rest: so it stays in the cache of a core.
    fn convert(&mut self, value: Value<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let mut record = Record::default();
        record.line.fill(value, "")?;
        if word(record.line.kind()) == "progress" { self.progress(record, out) } else { self.say(record, out) }
    }

    /// Converts a line that is whole: as the file has it, or as another line wraps it.
    pub fn say(&mut self, mut record: Record<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        self.read(&mut record)?;
        let record = &record;
        self.enter(record, out)?;
        if record.is_conversation() {
            self.introduce(record, out)?;
        }
        match record.kind {
            "user" => self.user(record, out),
            "assistant" => self.assistant(record, out),
            _ => self.rarer(record, out),
        }
    }

    /// Converts what neither a person nor the model says.
    #[inline(never)]
    fn rarer(&mut self, record: &Record<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let line = &record.line;
        match record.kind {
            "system" => self.system(line, out),
            "attachment" => self.attachment(line, out),
            "queue-operation" => self.queue_operation(record, out),
            "progress" => hook(line, out),
            "pr-link" => pull_request(line, out),
            "summary" | "ai-title" => self.title(line, out),
            "permission-mode" | "mode" => self.mode(line, out),
            "cost-state" => self.cost(line, out),
            "api-request-shape" => self.request_shape(line, out),
            other => never_mapped(other).ok_or_else(|| Fault::unrecognized(other)),
        }
    }

    /// States whose line this is, when it was written, and by which version.
    #[inline(never)]
    fn enter(&mut self, record: &Record<'_>, out: &mut Emitter) -> Result<(), Fault> {
        let here = out.line();
        let moved = self.usages.flush(record, out)?;
        self.state_source(record, moved, out);
        let stamp = Stamp { t: record.time.as_deref(), id: text(record.line.uuid()), replay: record.replay };
        if moved {
            out.restamp(here, stamp);
        } else {
            out.stamp(stamp);
        }
        out.within(record.within);
        if changed(&mut self.standing.version, record.line.version()) {
            self.change_version(&record.line, out)?;
        }
        Ok(())
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

    /// States whose line this is, where that is not what was stated last or where `moved` says that another's came between.
    fn state_source(&mut self, record: &Record<'_>, moved: bool, out: &mut Emitter) {
        let standing = &mut self.standing;
        if moved {
            standing.session = None;
        }
        let agent = record.agent.as_deref();
        let other_session = changed(&mut standing.session, record.line.session_id());
        if record.line.session_id().is_some() && (other_session || standing.session_agent.as_deref() != agent) {
            standing.session_agent = agent.map(str::to_owned);
            out.source(record.session().as_deref(), agent);
        }
    }

    /// Says what the record states of the session, where it is new. Nearly always nothing is.
    #[inline(never)]
    fn introduce(&mut self, record: &Record<'_>, out: &mut Emitter) -> Result<(), Fault> {
        let line = &record.line;
        let standing = &mut self.standing;
        let is_answer = record.kind == "assistant" && word(record.message.model()) != SYNTHETIC;
        let news = News {
            parent: line.agent_id().is_some() && !std::mem::replace(&mut self.introduced, true),
            agent: changed(&mut standing.agent, line.agent_type()),
            cwd: changed(&mut standing.cwd, line.cwd()),
            branch: changed(&mut standing.branch, line.git_branch()),
            model: is_answer && changed(&mut standing.model, record.message.model()),
            origin: self.history.take_origin(),
        };
        if news.parent || news.agent || news.cwd || news.branch || news.model || news.origin.is_some() {
            self.say_news(&news, record, out)?;
        }
        Ok(())
    }

    #[cold]
    fn say_news(&self, news: &News, record: &Record<'_>, out: &mut Emitter) -> Result<(), Fault> {
        let line = &record.line;
        let mut facts = SessionFacts { fork_of: news.origin.as_deref().map(Text::Plain), ..SessionFacts::default() };
        if news.parent {
            facts.parent_session_id = text(line.session_id());
            facts.parent_call_id = self.context.parent_call_id.as_deref().map(Text::Plain);
            facts.agent = self.context.agent.as_deref().map(Text::Plain);
        }
        let stated = |is_new: bool, field| if is_new { filled_text(field) } else { None };
        facts.agent = facts.agent.or_else(|| stated(news.agent, line.agent_type()));
        facts.cwd = stated(news.cwd, line.cwd());
        facts.repo_branch = stated(news.branch, line.git_branch());
        facts.model = stated(news.model, record.message.model());
        let stated = [facts.parent_session_id, facts.agent, facts.cwd, facts.repo_branch, facts.model, facts.fork_of];
        if stated.iter().any(Option::is_some) {
            out.emit(Meta::Session(facts), Pointer::Root)?;
        }
        Ok(())
    }
}

/// Which facts of the session a record is the first to state.
struct News {
    parent: bool,
    agent: bool,
    cwd: bool,
    branch: bool,
    model: bool,
    /// The session that the history is copied from.
    origin: Option<String>,
}

/// The line's own time in the tape's form.
pub(super) fn line_time<'a>(line: &Line<'a>) -> Option<Cow<'a, str>> {
    rfc3339(word(line.timestamp()))
}

impl Transcript {
    /// A transcript of which nothing has been read.
    pub fn open(opening: &Opening<'_>) -> Self {
        Transcript { converter: Converter::open(opening), index: Index::default() }
    }
}

impl Session for Transcript {
    fn record(&mut self, source: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        self.converter.convert(parse(source, &mut self.index)?, out)
    }

    fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        self.converter.usages.finish(out)?;
        self.converter.say_unfinished(out)?;
        self.converter.queue.finish(out)
    }
}
