//! The converter of one transcript: what it remembers, and which module a line goes to.

use std::borrow::Cow;

use engram_core::adapter::{Context, Opening, Session};
use engram_core::emit::{Emitter, Fault, Stamp};
use engram_core::ledger::Outcome;
use engram_core::render::Pointer;
use engram_core::text::Text;

use super::descriptor::never_mapped;
use super::edits::LastEdited;
use super::history::History;
use super::notices::pull_request;
use super::progress::{UnderWay, hook};
use super::queue::Queue;
use super::results::Call;
use super::revisions::{Dialect, dialect};
use super::schema::{Line, Message};
use super::standing::Standing;
use super::usage::Usages;
use crate::kit::correlate::{OpenCalls, key};
use crate::kit::time::rfc3339;
use crate::kit::value::{Index, Value, parse, text, word};

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
    pub under_way: UnderWay,
    /// What started the last compaction, until its summary comes.
    pub compaction_trigger: Option<String>,
    /// Where the values of arguments lie that are read again.
    pub arguments: Index,
    /// The last notebook cell that was set, as its call asked for it.
    pub last_cell: Option<u64>,
    pub last_edited: LastEdited,
    pub standing: Standing,
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
    /// It belongs to the conversation itself.
    pub is_conversation: bool,
    /// It repeats another session's history.
    pub replay: bool,
}

impl<'a> Record<'a> {
    /// The session that the line belongs to.
    pub fn session(&self) -> Option<Cow<'a, str>> {
        text(self.line.session_id()).map(|id| id.decode_lossy())
    }
}

/// A text that is said only once it is known that no other record says it.
pub(super) struct Late {
    token: String,
    line: u64,
    time: Option<String>,
    session: Option<String>,
}

impl Late {
    /// A text of this line, which has that number.
    pub fn of(said: Value<'_>, line: &Line<'_>, number: u64) -> Late {
        Late {
            token: said.raw().to_owned(),
            line: number,
            time: line_time(line).map(Cow::into_owned),
            session: text(line.session_id()).map(|id| id.decode_lossy().into_owned()),
        }
    }

    /// Places the events that follow where the text stands, and gives it.
    pub fn take_place(&self, out: &mut Emitter) -> Text<'_> {
        out.source(self.session.as_deref(), None);
        out.restamp(self.line, Stamp { t: self.time.as_deref(), id: None, replay: false });
        Text::Token(&self.token)
    }
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
            under_way: UnderWay::default(),
            compaction_trigger: None,
            arguments: Index::default(),
            last_cell: None,
            last_edited: LastEdited::default(),
            standing: Standing::default(),
        }
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
        record.message_key = record.message.id().map(|id| key(id.raw()));
        if record.agent.is_none() {
            record.agent = self.history.agent(&record.line);
        }
        record.time = line_time(&record.line);
        record.is_conversation = matches!(record.kind, "user" | "assistant" | "system" | "attachment" | "progress");
        record.replay = record.is_conversation && self.history.is_replay(record);
        Ok(())
    }

    // What most lines need stands in functions of its own, apart from the rest: so it stays in the cache of a core.
    fn convert(&mut self, value: Value<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let mut record = Record::default();
        record.line.fill(value, "")?;
        let record = &mut record;
        if word(record.line.kind()) == "progress" { self.progress(record, out) } else { self.say(record, out) }
    }

    /// Converts a line that is whole: as the file has it, or as another line wraps it.
    pub fn say(&mut self, record: &mut Record<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        self.read(record)?;
        self.enter(record, out)?;
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
            "summary" | "ai-title" | "custom-title" => self.title(line, out),
            "agent-name" => self.agent_name(line, out),
            "worktree-state" | "relocated" => self.moved(line, out),
            "permission-mode" | "mode" => self.mode(line, out),
            "cost-state" => self.cost(line, out),
            "api-request-shape" => self.request_shape(line, out),
            other => never_mapped(other).ok_or_else(|| Fault::unrecognized(other)),
        }
    }
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
        self.converter.under_way.finish(out)?;
        self.converter.queue.finish(out)
    }
}
