//! Step 1 for a line of a transcript, for the lines of a sub-agent that it wraps, and for a printed line.

use engram_core::emit::Fault;
use engram_core::event::Author;
use engram_core::keys::hash64;
use engram_core::steps::Check;
use engram_core::text::Text;

use super::{Checker, key, shape};
use crate::claude_code::authors::{self, Place};
use crate::claude_code::blocks::prompt_texts;
use crate::claude_code::emit::dispatch::Row;
use crate::claude_code::emit::progress::{unwrapped, wrapped_lines};
use crate::claude_code::emit::stream::{agent_of, as_transcript, kind_of};
use crate::claude_code::emit::usage::tokens;
use crate::claude_code::emit::{dispatch, system};
use crate::claude_code::format::{AttachmentKind, LineKind, PrintedKind, ProgressKind, SystemKind};
use crate::claude_code::notes::{BlockKind, Flags, Kind, NONE, Note, ResponseEnd};
use crate::claude_code::readers::{Block, Line, Message, Printed, Progress, Usage};
use crate::shared::value::{Field, Value, elements, is_true, non_empty_text, raw_str, text};

impl Checker {
    /// Looks at one line, and notes it. `has_file` is true for sub-agents that have a file of their own.
    pub fn transcript_line(
        &mut self,
        value: Value<'_>,
        record: usize,
        has_file: impl Fn(&str) -> bool,
        check: &mut Check<'_>,
    ) -> Result<(), Fault> {
        let mut line = Line::default();
        line.strict_into(value, "")?;
        let kind = raw_str(line.kind());
        if kind.is_empty() {
            return Err(Fault::malformed(
                "/type",
                "the type of a record",
                value.raw(),
            ));
        }
        let row = dispatch::row_of(&line)?;
        let is_progress = matches!(row, Row::Progress(_));
        if !is_progress || row == Row::Progress(ProgressKind::HookProgress) {
            self.set_version(&line, check)?;
        }
        let mut message = Message::default();
        if let Some(value) = line.message().filter(|_| !is_progress) {
            message.strict_into(value, "/message")?;
        }
        self.members(&line, message.content(), check);
        if let Row::Progress(kind) = row {
            self.progress(kind, &line, record, &has_file, check)?;
        } else {
            let mut note = self.line(row, &line, &message, record, check)?;
            if note.is_conversation() {
                let own = *self.own_agent.get_or_insert(note.agent);
                let is_other = note.agent != NONE && note.agent != own;
                let has_file =
                    || text(line.agent_id()).is_some_and(|agent| has_file(&agent.decode_lossy()));
                note.flags.set(Flags::BESIDE, is_other && has_file());
            }
            let blocks = std::mem::take(&mut self.blocks);
            self.notes.push(note, &blocks);
            self.blocks = blocks;
        }
        Ok(())
    }

    /// The note of a line that has the shape of its type.
    fn line(
        &mut self,
        row: Row,
        line: &Line<'_>,
        message: &Message<'_>,
        record: usize,
        check: &mut Check<'_>,
    ) -> Result<Note, Fault> {
        Ok(match row {
            Row::Line(LineKind::Assistant) => {
                shape::answer(message, check)?;
                let mut note = self.note(Kind::Assistant, line, message, record);
                self.note_answer(&mut note, line, message);
                note
            }
            Row::Line(LineKind::User) => {
                shape::input(line, message, check)?;
                let mut note = self.note(Kind::User, line, message, record);
                self.note_input(&mut note, line, message, check);
                note
            }
            Row::Line(kind) => {
                shape::session_line(kind, line)?;
                self.session_line(kind, line, message, record)
            }
            Row::System(kind) => self.system(kind, line, message, record)?,
            Row::Attachment(kind) => self.attachment(kind, line, message, record)?,
            Row::Queue(_) => self.queue(line, message, record)?,
            // A line of a sub-agent that `progress` wraps is of another type.
            Row::Progress(_) => self.note(Kind::Other, line, message, record),
        })
    }

    fn system(
        &mut self,
        of: SystemKind,
        line: &Line<'_>,
        message: &Message<'_>,
        record: usize,
    ) -> Result<Note, Fault> {
        shape::notice(line)?;
        let kind = match of {
            SystemKind::StopHookSummary => Kind::TurnEnd,
            SystemKind::Omitted(omitted) if omitted.record() == "system/turn_duration" => {
                Kind::TurnEnd
            }
            SystemKind::CompactBoundary => Kind::Boundary,
            _ => Kind::System,
        };
        let note = self.note(kind, line, message, record);
        match (of, text(line.content())) {
            (SystemKind::LocalCommand, None) => {
                return Err(Fault::malformed("/content", "text", "nothing"));
            }
            (SystemKind::LocalCommand, Some(said)) => {
                let place = Place {
                    is_agents: note.agent != NONE,
                    is_block: true,
                    follows_command: true,
                };
                if authors::of_text(line, said, place) != Author::Harness {
                    self.note_local_command(said);
                }
            }
            (SystemKind::Informational, Some(said)) if self.has_queue => {
                if let Some(prompt) = system::blocked_prompt(&said.decode_lossy()) {
                    self.add_words(hash64(prompt), BlockKind::Text);
                }
            }
            _ => {}
        }
        Ok(note)
    }

    fn attachment(
        &mut self,
        of: AttachmentKind,
        line: &Line<'_>,
        message: &Message<'_>,
        record: usize,
    ) -> Result<Note, Fault> {
        let attachment = shape::attachment(line)?;
        if of.name() == "attachment/structured_output"
            && !self
                .calls
                .contains(&key(attachment.object().member("toolUseID")))
        {
            return Err(Fault::unrecognized(of.name()));
        }
        let kind = if raw_str(attachment.kind()) == "fork_briefing" {
            Kind::ForkBriefing
        } else {
            Kind::Attachment
        };
        let note = self.note(kind, line, message, record);
        if of == AttachmentKind::Hook {
            self.note_hook(attachment.object().member("stdout"));
        }
        if self.has_queue
            && of == AttachmentKind::QueuedCommand
            && let Some(prompt) = attachment.prompt()
        {
            for said in prompt_texts(prompt) {
                self.add_words(hash64(said.comparable()), BlockKind::Text);
                self.add_words_of_program(said);
            }
            self.add_words(hash64(prompt.raw()), BlockKind::Text);
        }
        Ok(note)
    }

    fn queue(
        &mut self,
        line: &Line<'_>,
        message: &Message<'_>,
        record: usize,
    ) -> Result<Note, Fault> {
        const CONTENT: &str = "/content";
        let prompt = line
            .content()
            .filter(|prompt| !prompt.text().is_some_and(|text| text.is_empty()));
        let kind = match raw_str(line.operation()) {
            "enqueue" => Kind::Enqueue,
            "dequeue" => Kind::Dequeue,
            "remove" => Kind::Remove,
            _ => Kind::Other,
        };
        if kind == Kind::Enqueue && prompt.is_some() {
            shape::prompt(prompt, CONTENT, "text, or a list of texts and images")?;
            self.has_queue = true;
        }
        let mut note = self.note(kind, line, message, record);
        note.message = if kind == Kind::Enqueue {
            prompt
        } else {
            line.content()
        }
        .map_or(NONE, prompt_key);
        note.flags
            .set(Flags::CLEARS, note.message == hash64("/clear"));
        note.flags.set(
            Flags::DELIVERS,
            matches!(
                raw_str(line.object().member("reason")),
                "" | "absorbed_mid_turn"
            ),
        );
        Ok(note)
    }

    fn session_line(
        &mut self,
        of: LineKind,
        line: &Line<'_>,
        message: &Message<'_>,
        record: usize,
    ) -> Note {
        let kind = match of {
            LineKind::Summary if line.leaf().is_some() && text(line.summary()).is_some() => {
                Kind::Title
            }
            LineKind::LastPrompt => Kind::LastPrompt,
            LineKind::ApiRequestBlob => Kind::Blob,
            LineKind::Omitted(omitted) if omitted.record() == "file-history-snapshot" => {
                Kind::Snapshot
            }
            LineKind::Omitted(omitted) if omitted.record() == "file-history-delta" => {
                Kind::OneMoreFile
            }
            LineKind::Omitted(omitted) if omitted.record() == "fork-context-ref" => Kind::Fork,
            _ => Kind::Other,
        };
        let mut note = self.note(kind, line, message, record);
        if matches!(kind, Kind::Title | Kind::LastPrompt) {
            note.parent = key(line.leaf());
            note.flags.set(Flags::EXPLICIT, is_true(line.is_explicit()));
        }
        if kind == Kind::Snapshot {
            (note.parent, note.message) = snapshot(line);
        }
        if kind == Kind::OneMoreFile {
            (note.parent, note.message) = one_more_file(line);
        }
        if kind == Kind::Title {
            note.flags.set(Flags::IDENTITY, true);
            note.uuid = hash64(("title", raw_str(line.leaf()), raw_str(line.summary())));
        }
        note
    }

    /// A `progress` line. A sub-agent that has no file of its own has its lines here.
    fn progress(
        &mut self,
        of: ProgressKind,
        line: &Line<'_>,
        record: usize,
        has_file: impl Fn(&str) -> bool,
        check: &mut Check<'_>,
    ) -> Result<(), Fault> {
        let data = line
            .data()
            .map(Progress::lenient)
            .ok_or_else(|| Fault::malformed("/data", "the data of a progress line", "nothing"))?;
        let kind = match of {
            ProgressKind::HookProgress => Kind::Progress,
            ProgressKind::BashProgress => Kind::Output,
            ProgressKind::AgentProgress | ProgressKind::Omitted(_) => Kind::Other,
        };
        let mut outer = self.note(kind, line, &Message::default(), record);
        if kind == Kind::Output && non_empty_text(data.full_output()).is_some() {
            outer.message = key(line.parent_call());
        }
        let mut notes = vec![(outer, self.blocks.clone())];
        if of == ProgressKind::AgentProgress {
            let agent = text(data.agent_id()).ok_or_else(|| {
                Fault::malformed("/data/agentId", "the id of a sub-agent", "nothing")
            })?;
            if !has_file(&agent.decode_lossy()) {
                self.wrapped(line, &data, agent, record, &mut notes, check)?;
            }
        }
        notes
            .iter()
            .for_each(|(note, blocks)| self.notes.push(*note, blocks));
        Ok(())
    }

    fn wrapped(
        &mut self,
        outer: &Line<'_>,
        data: &Progress<'_>,
        agent: Text<'_>,
        record: usize,
        notes: &mut Vec<(Note, Vec<super::Block>)>,
        check: &mut Check<'_>,
    ) -> Result<(), Fault> {
        for (place, value) in wrapped_lines(data) {
            let within = |fault: Fault| fault.within(place);
            let line = unwrapped(outer, value, place)?;
            if raw_str(line.kind()) == "progress" {
                continue;
            }
            let row = dispatch::row_of(&line).map_err(within)?;
            let mut message = Message::default();
            if let Some(value) = line.message() {
                message.strict_into(value, "/message").map_err(within)?;
            }
            let mut note = self
                .line(row, &line, &message, record, check)
                .map_err(within)?;
            note.agent = hash64(agent.raw());
            note.flags.set(Flags::WRAPPED, true);
            if note.uuid != NONE {
                let content = line.message().or(line.attachment()).map(Value::raw);
                note.uuid = hash64((note.uuid, content));
                note.flags.set(Flags::IDENTITY, true);
            }
            notes.push((note, self.blocks.clone()));
        }
        Ok(())
    }
}

/// The message at which files were kept, and which files there were, each with the name of its copy. A line that completes a snapshot has the
/// message of the snapshot inside.
fn snapshot(line: &Line<'_>) -> (u64, u64) {
    let member = |name| line.object().member("snapshot")?.member(name);
    let files = member("trackedFileBackups");
    let kept = files
        .iter()
        .flat_map(|files| files.members())
        .filter_map(|(name, file)| kept_file(name, Some(file)));
    let message = member("messageId").or(line.object().member("messageId"));
    (key(message), kept.fold(0, u64::wrapping_add))
}

/// The message whose snapshot has one more file, and that file.
fn one_more_file(line: &Line<'_>) -> (u64, u64) {
    let member = |name| line.object().member(name);
    let file = kept_file(raw_str(member("trackingPath")), member("backup"));
    (key(member("snapshotMessageId")), file.unwrap_or_default())
}

/// A file, and the name of its copy. None for a file that did not exist.
fn kept_file(name: &str, file: Field<'_>) -> Option<u64> {
    let copy = text(file?.member("backupFileName"))?;
    Some(hash64((name, copy.raw())))
}

/// The first text of a prompt, or its whole list.
fn prompt_key(prompt: Value<'_>) -> u64 {
    prompt_texts(prompt)
        .next()
        .map_or_else(|| hash64(prompt.raw()), |said| hash64(said.comparable()))
}

impl Checker {
    /// Looks at one line, and notes it.
    pub fn printed_line(
        &mut self,
        value: Value<'_>,
        record: usize,
        check: &mut Check<'_>,
    ) -> Result<(), Fault> {
        let mut printed = Printed::default();
        printed.strict_into(value, "")?;
        let kind = raw_str(printed.kind());
        if kind.is_empty() {
            return Err(Fault::malformed(
                "/type",
                "the type of a record",
                value.raw(),
            ));
        }
        let is_conversation = matches!(kind, "assistant" | "user");
        if let Some(message) = printed
            .message()
            .filter(|message| is_conversation && !message.is_object())
        {
            return Err(Fault::malformed("/message", "an object", message.raw()));
        }
        let of = kind_of(&printed)?;
        let line = as_transcript(&printed);
        let mut message = Message::default();
        if let Some(value) = line.message() {
            message.strict_into(value, "/message")?;
        }
        self.members(&line, message.content(), check);
        let kind = match of {
            PrintedKind::Assistant => Kind::Assistant,
            PrintedKind::User => Kind::User,
            PrintedKind::Result | PrintedKind::SystemInit => Kind::TurnEnd,
            PrintedKind::SystemCompactBoundary => Kind::Boundary,
            _ => Kind::Other,
        };
        match kind {
            Kind::Assistant => shape::answer(&message, check)?,
            Kind::User => shape::input(&line, &message, check)?,
            Kind::Boundary => shape::notice(&line)?,
            _ => {}
        }
        let mut note = self.note(kind, &line, &message, record);
        match kind {
            Kind::Assistant => self.note_answer(&mut note, &line, &message),
            Kind::User => self.note_input(&mut note, &line, &message, check),
            _ => {}
        }
        match of {
            PrintedKind::SystemHookResponse => {
                self.note_hook(printed.object().member("stdout"));
            }
            PrintedKind::StreamEvent => self.note_part(record, value, &printed),
            PrintedKind::Assistant => {
                let stream = key(printed.parent_call());
                for block in elements(message.content()).map(Block::lenient) {
                    let parts = &mut self.notes.parts;
                    parts.line(stream, block.text(), block.thinking());
                }
            }
            _ => {}
        }
        note.agent = key(agent_of(&printed));
        note.flags
            .set(Flags::OMITTED, matches!(of, PrintedKind::Omitted(_)));
        self.notes.push(note, &self.blocks);
        Ok(())
    }

    /// Notes a part of an answer, and how a response ended: the part `message_delta` has the last counts, and the lines of the answer have the
    /// first (2.1.332: recorded).
    fn note_part(&mut self, record: usize, value: Value<'_>, printed: &Printed<'_>) {
        let Some(part) = value.member("event") else {
            return;
        };
        let place = (record, printed.uuid().map_or(NONE, |_| hash64(value.raw())));
        let stream = key(printed.parent_call());
        self.notes.parts.part(stream, place, part);
        let message = key(value.member("api_message_id"));
        if message == NONE || raw_str(part.member("type")) != "message_delta" {
            return;
        }
        let reason = part
            .member("delta")
            .and_then(|delta| text(delta.member("stop_reason")));
        let end = ResponseEnd {
            tokens: tokens(&Usage::lenient_opt(part.member("usage"))),
            stop_reason: reason.map(|reason| reason.decode_lossy().into()),
        };
        self.notes
            .ends
            .entry(message)
            .and_modify(|known| {
                if known.as_ref() != Some(&end) {
                    *known = None;
                }
            })
            .or_insert_with(|| Some(end.clone()));
    }
}
