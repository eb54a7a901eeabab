//! The converter of one transcript: which module a line goes to.

use engram_core::adapter::{Session, SessionInit};
use engram_core::emit::{Emitter, Fault};
use engram_core::ledger::Outcome;

use super::converter::Converter;
use super::descriptor::{Omitted, never_mapped, rule};
use super::notices::pull_request;
use super::progress::{hook, of_session, wrapped};
use super::record::{Record, line_time};
use super::schema::{Line, Progress};
use crate::shared::value::{StructuralIndex, Value, parse, raw_str, text};
use engram_core::keys::hash64;

/// A transcript that is read line by line.
pub(super) struct Transcript {
    converter: Converter,
    /// Where the values of the current line lie.
    index: StructuralIndex,
}

impl Converter {
    /// Finds out whose line it is.
    #[inline(never)]
    fn read(&mut self, record: &mut Record<'_>) -> Result<(), Fault> {
        if let Some(message) = record.line.message() {
            record.message.strict_into(message, "/message")?;
        }
        record.kind = raw_str(record.line.kind());
        if record.kind.is_empty() {
            return Err(Fault::malformed("/type", "the type of a record", record.line.object().raw()));
        }
        record.message_key = record.message.id().map(|id| hash64(id.raw()));
        if record.agent.is_none() {
            record.agent = self.history.agent(&record.line);
        }
        record.time = line_time(&record.line);
        record.is_conversation = matches!(record.kind, "user" | "assistant" | "system" | "attachment" | "progress");
        record.replay = record.is_conversation && self.history.is_replay(record);
        // It gives no event: what it states of the session is said at the next line.
        record.is_conversation &= record.kind != "system" || raw_str(record.line.subtype()) != "turn_duration";
        Ok(())
    }

    // What most lines need stands in functions of its own, apart from the rest: so it stays in the cache of a core.
    fn convert(&mut self, value: Value<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let mut record = Record::default();
        record.line.strict_into(value, "")?;
        let record = &mut record;
        if raw_str(record.line.kind()) == "progress" { self.progress(record, out) } else { self.say(record, out) }
    }

    /// Converts a line that is whole: as the file has it, or as another line wraps it.
    fn say(&mut self, record: &mut Record<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        self.read(record)?;
        let news = self.enter(record, out)?;
        let outcome = match record.kind {
            "user" => self.user(record, out),
            "assistant" => self.assistant(record, out),
            _ => self.rarer(record, out),
        }?;
        // A line that states something new of the session does not only repeat.
        Ok(if news { Outcome::Mapped } else { outcome })
    }

    /// `progress`: what is under way.
    #[inline(never)]
    fn progress(&mut self, record: &mut Record<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let data = record.line.data().map(Progress::lenient).ok_or_else(|| Fault::malformed("/data", "what progressed", "nothing"))?;
        match raw_str(data.kind()) {
            "agent_progress" => self.agent_progress(&record.line, &data, out),
            "hook_progress" => self.say(record, out),
            "bash_progress" => self.so_far(&record.line, &data, out),
            other => {
                let record = format!("progress/{other}");
                never_mapped(&record).ok_or_else(|| Fault::unrecognized(&record))
            }
        }
    }

    /// The lines of a sub-agent that a line of its session wraps: said here, unless the sub-agent has a file of its own.
    fn agent_progress(&mut self, outer: &Line<'_>, data: &Progress<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let omitted = Omitted { record: "progress/agent_progress", rule: rule::AGENT_PROGRESS }.duplicate();
        let agent = text(data.agent_id()).ok_or_else(|| Fault::malformed("/data/agentId", "the id of a sub-agent", "nothing"))?;
        let agent = agent.decode_lossy();
        if self.context.side_files.as_ref().is_some_and(|files| files.has_agent(&agent)) {
            return Ok(omitted);
        }
        let mut news = false;
        for (within, line) in wrapped(data) {
            let line = of_session(outer, Line::strict(line, "/data/message")?);
            // What is under way in the sub-agent stands among its lines; results come of it.
            if raw_str(line.kind()) != "progress" && self.history.is_new_line(&line) {
                let mut record = Record { line, within, agent: Some(agent.clone()), ..Record::default() };
                news |= matches!(self.say(&mut record, out)?, Outcome::Mapped);
            }
        }
        Ok(if news { Outcome::Mapped } else { omitted })
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

impl Transcript {
    /// A transcript of which nothing has been read.
    pub fn open(init: &SessionInit<'_>) -> Self {
        Transcript { converter: Converter::open(init), index: StructuralIndex::default() }
    }
}

impl Session for Transcript {
    fn record(&mut self, source: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        self.converter.convert(parse(source, &mut self.index)?, out)
    }

    fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        self.converter.usages.finish(out)?;
        self.converter.under_way.finish(out)?;
        self.converter.unasked.finish(out)?;
        self.converter.queue.finish(out)
    }
}
