//! The note of a line: its ids, flags, and what each block says.

use engram_core::emit::Pointer;
use engram_core::event::Author;
use engram_core::keys::hash64;
use engram_core::steps::Check;
use engram_core::text::Text;
use engram_core::tool_kind::ToolKind;

use super::{Checker, Lacking, key};
use crate::claude_code::authors;
use crate::claude_code::blocks::{CONTENT, is_call};
use crate::claude_code::emit::state::open_calls::lacks_arguments;
use crate::claude_code::notes::{Block, BlockKind, Flags, Kind, NO_TIME, NONE, Note};
use crate::claude_code::readers::{self, Line, Message, Usage};
use crate::claude_code::record::{COMPACTING_AGENT, SUMMARY_REQUESTS, SYNTHETIC_MODEL};
use crate::claude_code::tools::TOOLS;
use crate::claude_code::wrappers::{self, CUT_OFF, MADE_UP};
use crate::shared::seen::{fact_of, fact_of_members};
use crate::shared::time::millis;
use crate::shared::value::{
    Field, StructuralIndex, Value, elements, is_true, parse, raw_str, text,
};
use std::borrow::Cow;

/// Members that say how and when a line was written. A line that is written again may have others.
const ENVELOPE: &[&str] = &[
    "uuid",
    "timestamp",
    "parentUuid",
    "logicalParentUuid",
    "isSidechain",
    "userType",
    "entrypoint",
    "cwd",
    "sessionId",
    "session_id",
    "version",
    "gitBranch",
    "agentId",
    "slug",
    "promptId",
    "requestId",
    "type",
];

/// The type of lines with running totals of the session. Totals grow, so a line with the same bytes as an earlier line repeats it.
const TOTALS: &str = "cost-state";

/// The type of lines that have an id of another name.
const REQUEST: &str = "api-request";

impl Checker {
    /// The note of a line of this kind. Its blocks are in `self.blocks`, for [`Notes::push`](crate::claude_code::notes::Notes::push).
    pub(super) fn note(
        &mut self,
        kind: Kind,
        line: &Line<'_>,
        message: &Message<'_>,
        record: usize,
    ) -> Note {
        let session =
            text(line.session_id()).map_or(0, |id| self.notes.session(&id.decode_lossy()));
        let mut note = Note {
            uuid: key(line.uuid()),
            parent: key(line.parent_uuid()),
            agent: key(line.agent_id()),
            time: millis(raw_str(line.timestamp())).unwrap_or(NO_TIME),
            record: u32::try_from(record).unwrap_or(u32::MAX),
            dialect: self.dialect,
            session,
            kind,
            ..Note::default()
        };
        let flags = &mut note.flags;
        flags.set(Flags::SIDECHAIN, is_true(line.is_sidechain()));
        flags.set(Flags::META, is_true(line.is_meta()));
        flags.set(Flags::FORKED, line.forked_from().is_some());
        flags.set(
            Flags::COMPACTING,
            text(line.agent_id()).is_some_and(|agent| agent.starts_with(COMPACTING_AGENT)),
        );
        if let Some(copied) = text(
            line.forked_from()
                .and_then(|copied| copied.member("sessionId")),
        ) {
            let from = self.notes.session(&copied.decode_lossy());
            self.notes
                .requested_by
                .push((self.notes.all.len() as u32, from));
        }
        if let Some(requested_by) = text(line.request_session_id()) {
            let requested_by = self.notes.session(&requested_by.decode_lossy());
            let is_foreign = session != 0 && requested_by != session;
            note.flags.set(Flags::FOREIGN_REQUEST, is_foreign);
            note.flags.set(Flags::OWN_REQUEST, requested_by == session);
            if is_foreign {
                self.notes
                    .requested_by
                    .push((self.notes.all.len() as u32, requested_by));
            }
        }
        self.set_blocks(&mut note, line, message);
        if note.uuid == NONE {
            self.identify(&mut note, line);
        }
        note
    }

    /// What identifies a line without an id: all its bytes, a time among them.
    fn identify(&self, note: &mut Note, line: &Line<'_>) {
        let identity = match raw_str(line.kind()) {
            REQUEST => line
                .object()
                .member("id")
                .map(|id| hash64((REQUEST, id.raw()))),
            TOTALS => Some(hash64(line.object().raw())),
            _ => line.timestamp().map(|_| hash64(line.object().raw())),
        };
        if let Some(identity) = identity {
            note.flags.set(Flags::IDENTITY, true);
            note.uuid = identity;
        }
    }

    /// Replaces the blocks by the blocks of a line. A list gives a block for each of its items, any other content gives one block. The
    /// structured form of a result is one more block.
    fn set_blocks(&mut self, note: &mut Note, line: &Line<'_>, message: &Message<'_>) {
        self.blocks.clear();
        let kind = raw_str(line.kind());
        let Some(content) = message.content() else {
            if note.uuid != NONE {
                let fact = hash64((kind, fact_of_members(line.object(), ENVELOPE)));
                self.blocks.push(Block {
                    fact,
                    key: NONE,
                    kind: BlockKind::Other,
                });
            }
            return;
        };
        let id = message.object().first_member("id").map(Value::raw);
        let fact = |value: Value<'_>| hash64((kind, id, fact_of(value)));
        let is_sent_answer =
            note.kind == Kind::Blob && raw_str(message.object().member("role")) == "assistant";
        let is_answer = note.kind == Kind::Assistant || is_sent_answer;
        if content.is_array() && !content.is_empty_list() {
            for value in content.elements() {
                let (key, kind) = if is_answer {
                    of_answer(value)
                } else {
                    of_input(value)
                };
                self.blocks.push(Block {
                    fact: fact(value),
                    key,
                    kind,
                });
            }
        } else {
            let said = content
                .text()
                .filter(|_| note.kind == Kind::User)
                .map(|said| hash64(said.comparable()));
            let kind = if said.is_some() {
                BlockKind::Text
            } else {
                BlockKind::Other
            };
            self.blocks.push(Block {
                fact: fact(content),
                key: said.unwrap_or(NONE),
                kind,
            });
        }
        if line.tool_use_result().is_some_and(Value::is_object) {
            self.blocks.push(Block {
                fact: hash64((kind, "structured")),
                key: NONE,
                kind: BlockKind::Structured,
            });
        }
    }

    /// Notes a text that stands beside the blocks of the line, or a second form of a text in a block.
    pub(super) fn add_words(&mut self, key: u64, kind: BlockKind) {
        self.blocks.push(Block {
            fact: NONE,
            key,
            kind,
        });
    }

    /// Completes the note of an `assistant` line.
    pub(super) fn note_answer(&mut self, note: &mut Note, line: &Line<'_>, message: &Message<'_>) {
        note.message = key(message.id().or_else(|| line.request_id()));
        note.request = key(line.request_id());
        note.flags.set(Flags::USAGE, message.usage().is_some());
        note.flags.set(
            Flags::RELAYED,
            text(message.id()).is_some_and(|id| !id.starts_with("msg_")),
        );
        note.flags.set(
            Flags::SYNTHETIC,
            raw_str(message.model()) == SYNTHETIC_MODEL,
        );
        if line.stream_cut_cause().is_some() {
            note.flags.set(Flags::BROKEN, true);
            note.request = key(line
                .stream_cut_error()
                .and_then(|error| error.member("requestId")));
        }
        if message.usage().is_some() {
            let usage = Usage::lenient_opt(message.usage());
            let counts = [usage.input(), usage.cache_read(), usage.cache_write()];
            let input = hash64(counts.map(|count| count.map(Value::raw)));
            self.add_words(input, BlockKind::Input);
        }
        for value in elements(message.content()) {
            self.note_call(value);
        }
    }

    fn note_call(&mut self, value: Value<'_>) {
        let block = readers::Block::lenient(value);
        if !is_call(raw_str(block.kind())) {
            return;
        }
        let (Some(id), Some(name)) = (text(block.id()), text(block.name())) else {
            return;
        };
        let id = hash64(id.raw());
        self.calls.insert(id);
        let (tool, kind) = TOOLS.named(&name.decode_lossy());
        let is_own = matches!(tool, Cow::Borrowed(_));
        if is_own && lacks_arguments(kind, block.input()) {
            let json = block
                .input()
                .map(|input| input.raw().to_owned())
                .unwrap_or_default();
            self.lacking.insert(
                id,
                Lacking {
                    tool: tool.clone(),
                    json,
                },
            );
        }
        if is_own || kind == ToolKind::Mcp {
            self.tools.insert(id, tool);
        } else {
            self.tools.remove(&id);
        }
    }

    /// Completes the note of a `user` line.
    pub(super) fn note_input(
        &mut self,
        note: &mut Note,
        line: &Line<'_>,
        message: &Message<'_>,
        check: &mut Check<'_>,
    ) {
        let Some(content) = message.content() else {
            return;
        };
        let stated = authors::stated(line);
        let is_typed = authors::is_entered(line) || line.thinking_metadata().is_some();
        note.flags.set(Flags::PERSON, is_typed);
        note.flags.set(Flags::STRING, content.text().is_some());
        let asks = |said: Text<'_>| {
            SUMMARY_REQUESTS
                .iter()
                .any(|request| said.starts_with(request))
        };
        let said = content.text();
        note.flags.set(Flags::ASKS_SUMMARY, said.is_some_and(asks));
        let is_cut_off = note.is(Flags::META) && said.is_some_and(|said| said.starts_with(CUT_OFF));
        note.flags.set(Flags::BROKEN, is_cut_off);
        let mut has_text = false;
        let mut has_image = false;
        for (index, value) in content.elements().enumerate() {
            let block = readers::Block::lenient(value);
            has_text |= raw_str(block.kind()) == "text";
            has_image |= block.source().is_some();
            if super::is_result(value) {
                note.flags.set(Flags::RESULT, true);
                note.flags.set(
                    Flags::MADE_UP,
                    text(block.content()).is_some_and(|said| said.starts_with(MADE_UP)),
                );
                self.note_result(line, &block, Pointer::Item(CONTENT, index), check);
            } else if let Some(said) = text(block.text()) {
                self.add_command(stated, said);
                self.add_words_of_program(said);
            }
        }
        if let Some(said) = content.text() {
            note.flags
                .set(Flags::PRINTED, authors::is_command_output(said));
            self.add_command(stated, said);
            self.add_words_of_program(said);
        } else if has_image && !has_text {
            self.add_words(hash64(content.raw()), BlockKind::Text);
        }
        let result = line.tool_use_result().filter(|result| result.is_object());
        let changes_file = |result: Value<'_>| {
            result.member("filePath").is_some() && result.member("structuredPatch").is_some()
        };
        note.flags
            .set(Flags::CHANGES_FILE, result.is_some_and(changes_file));
        if note.is(Flags::RESULT) {
            note.request = key(line.source_assistant());
        }
    }

    fn note_result(
        &mut self,
        line: &Line<'_>,
        block: &readers::Block<'_>,
        at: Pointer<'_>,
        check: &mut Check<'_>,
    ) {
        let id = key(block.tool_use_id());
        self.tools.remove(&id);
        let lacking = if self.lacking.is_empty() {
            None
        } else {
            self.lacking.remove(&id)
        };
        let is_bare =
            !line.tool_use_result().is_some_and(Value::is_object) && !is_true(block.is_error());
        if let Some(lacking) = lacking.filter(|_| is_bare) {
            Self::check_arguments(&lacking, at, check);
        }
    }

    /// A text in the harness's tags is the command that a person typed.
    fn add_command(&mut self, stated: Option<Author>, said: Text<'_>) {
        if self.has_queue
            && authors::is_command(said)
            && !matches!(stated, Some(Author::Harness | Author::Person))
            && let Some(typed) = authors::typed_command(said)
        {
            self.add_words(hash64(&*typed), BlockKind::Typed);
        }
    }

    /// The queue has the words of a program without what the harness writes before them.
    pub(super) fn add_words_of_program(&mut self, said: Text<'_>) {
        if self.has_queue
            && let Some(words) = wrappers::words_of_program(said)
        {
            self.add_words(hash64(&*words), BlockKind::Text);
        }
    }

    /// Notes the prompt that a hook gives at the start of a session: what it printed has it (2.1.332).
    pub(super) fn note_hook(&mut self, printed: Field<'_>) {
        const EVENT: &[u8] = b"initialUserMessage";
        let Some(printed) = text(printed)
            .filter(|printed| memchr::memmem::find(printed.raw().as_bytes(), EVENT).is_some())
        else {
            return;
        };
        let (printed, mut index) = (printed.decode_lossy(), StructuralIndex::default());
        let prompt = parse(&printed, &mut index).ok().and_then(|printed| {
            let prompt = printed
                .member("hookSpecificOutput")?
                .member("initialUserMessage")?
                .text()?;
            Some(hash64(prompt.comparable()))
        });
        if let Some(prompt) = prompt {
            self.add_words(prompt, BlockKind::HookPrompt);
        }
    }

    /// Notes the command or the words of a `system/local_command` line.
    pub(super) fn note_local_command(&mut self, said: Text<'_>) {
        if !self.has_queue {
            return;
        }
        match authors::typed_command(said) {
            Some(typed) => self.add_words(hash64(&*typed), BlockKind::Typed),
            None => self.add_words(hash64(said.comparable()), BlockKind::Text),
        }
    }
}

/// Which block of an answer it is.
fn of_answer(value: Value<'_>) -> (u64, BlockKind) {
    let block = readers::Block::lenient(value);
    match text(block.id()).filter(|_| is_call(raw_str(block.kind()))) {
        Some(id) => (hash64(id.raw()), BlockKind::Call),
        None => (NONE, BlockKind::Other),
    }
}

/// Which block in the user's place it is.
fn of_input(value: Value<'_>) -> (u64, BlockKind) {
    let block = readers::Block::lenient(value);
    match raw_str(block.kind()) {
        "tool_result" => (key(block.tool_use_id()), BlockKind::Result),
        "text" => (
            text(block.text()).map_or(NONE, |said| hash64(said.comparable())),
            BlockKind::Text,
        ),
        _ => (NONE, BlockKind::Other),
    }
}
