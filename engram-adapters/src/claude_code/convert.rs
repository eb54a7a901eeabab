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
use super::queue::Queue;
use super::results::Call;
use super::revisions::{Dialect, dialect};
use super::schema::{Line, Message};
use super::usage::Usages;
use crate::kit::correlate::OpenCalls;
use crate::kit::time::rfc3339;
use crate::kit::value::{Field, Index, Value, filled_text, parse, text, word};

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
    index: Index,
}

/// What a line says of itself, decoded.
pub(super) struct Envelope<'a> {
    pub session: Option<Cow<'a, str>>,
    pub agent: Option<Cow<'a, str>>,
    pub time: Option<Cow<'a, str>>,
    pub replay: bool,
}

/// The last stated value of what a session says again and again.
#[derive(Default)]
pub(super) struct Standing {
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
    pub fn open(opening: &Opening<'_>) -> Self {
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
            index: Index::default(),
        }
    }

    /// What has been said of the session so far.
    pub fn standing(&mut self) -> &mut Standing {
        &mut self.standing
    }

    /// What the line says of itself.
    fn envelope<'a>(&mut self, line: &Line<'a>) -> Envelope<'a> {
        let session = text(line.session_id).map(|id| id.decode_lossy());
        let agent = self.history.agent(line);
        let time = line_time(line);
        let replay = is_conversation(line) && self.history.is_replay(line, time.as_deref(), session.as_deref());
        Envelope { session, agent, time, replay }
    }

    /// States whose line this is, when it was written, and by which version.
    fn enter(&mut self, line: &Line<'_>, envelope: &Envelope<'_>, out: &mut Emitter) -> Result<(), Fault> {
        let here = out.line();
        let moved = self.usages.flush(line, envelope, out)?;
        if envelope.session.is_some() {
            out.source(envelope.session.as_deref(), envelope.agent.as_deref());
        }
        let stamp = Stamp { t: envelope.time.as_deref(), id: text(line.uuid), replay: envelope.replay };
        if moved {
            out.restamp(here, stamp);
        } else {
            out.stamp(stamp);
        }
        if let Some(version) = text(line.version)
            && let Some(revision) = out.version(&version.decode_lossy())?
        {
            self.dialect = dialect(Some(revision));
        }
        Ok(())
    }

    /// Says what the line states of the session, where it is new.
    fn introduce(&mut self, line: &Line<'_>, out: &mut Emitter) -> Result<(), Fault> {
        let mut facts = SessionFacts::default();
        let mut new = false;
        if line.agent_id.is_some() && !std::mem::replace(&mut self.introduced, true) {
            facts.parent_session_id = text(line.session_id);
            facts.parent_call_id = self.context.parent_call_id.as_deref().map(Text::Plain);
            facts.agent = self.context.agent.as_deref().map(Text::Plain);
            new = true;
        }
        if changed(&mut self.standing.agent, line.agent_type) && facts.agent.is_none() {
            facts.agent = filled_text(line.agent_type);
            new |= facts.agent.is_some();
        }
        if changed(&mut self.standing.cwd, line.cwd) {
            facts.cwd = filled_text(line.cwd);
            new |= facts.cwd.is_some();
        }
        if changed(&mut self.standing.branch, line.git_branch) {
            facts.repo_branch = filled_text(line.git_branch);
            new |= facts.repo_branch.is_some();
        }
        let model = line.message.and_then(|message| Message::of(message).model);
        if word(line.kind) == "assistant" && word(model) != "<synthetic>" && changed(&mut self.standing.model, model) {
            facts.model = filled_text(model);
            new |= facts.model.is_some();
        }
        let origin = self.history.take_origin();
        facts.fork_of = origin.as_deref().map(Text::Plain);
        if new || origin.is_some() {
            out.emit(Meta::Session(facts), Pointer::Root)?;
        }
        Ok(())
    }

    fn line(&mut self, value: Value<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let line = Line::of(value);
        if line.kind.is_none() {
            return Err(Fault::malformed("/type", "the type of a record", value.raw()));
        }
        let envelope = self.envelope(&line);
        self.enter(&line, &envelope, out)?;
        if is_conversation(&line) {
            self.introduce(&line, out)?;
        }
        self.dispatch(&line, &envelope, out)
    }

    fn dispatch(&mut self, line: &Line<'_>, envelope: &Envelope<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        match word(line.kind) {
            "user" => self.user(line, out),
            "assistant" => self.assistant(line, envelope, out),
            "system" => self.system(line, out),
            "attachment" => self.attachment(line, out),
            "queue-operation" => self.queue_operation(line, out),
            "progress" => self.progress(line, out),
            "summary" | "ai-title" => self.title(line, out),
            "permission-mode" | "mode" => self.mode(line, out),
            "cost-state" => self.cost(line, out),
            "api-request-shape" => self.request_shape(line, out),
            other => never_mapped(other).ok_or_else(|| Fault::unrecognized(other)),
        }
    }
}

/// The line's own time in the tape's form.
pub(super) fn line_time<'a>(line: &Line<'a>) -> Option<Cow<'a, str>> {
    rfc3339(word(line.timestamp))
}

/// True for lines that belong to the conversation itself.
fn is_conversation(line: &Line<'_>) -> bool {
    matches!(word(line.kind), "user" | "assistant" | "system" | "attachment" | "progress")
}

impl Session for Converter {
    fn record(&mut self, source: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        // Out of its place while the line borrows it.
        let mut index = std::mem::take(&mut self.index);
        let outcome = parse(source, &mut index).and_then(|line| self.line(line, out));
        self.index = index;
        outcome
    }

    fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        self.usages.finish(out)?;
        self.queue.finish(out)
    }
}
