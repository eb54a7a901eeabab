//! Step 3: the handlers of all record types. They emit what the plan has decided, and keep only what events need of those before them.

pub mod agents;
pub mod context;
pub mod directories;
pub mod edits;
pub mod ends;
pub mod exec_stream;
pub mod files;
pub mod last_said;
pub mod message_events;
pub mod messages;
pub mod nested_calls;
pub mod output_text;
pub mod outputs;
pub mod patch_text;
pub mod printed_events;
pub mod printed_files;
pub mod provider_calls;
pub mod scripts;
pub mod settings;
pub mod thread;
pub mod tool_calls;
pub mod turns;
pub mod usage;

use std::collections::HashSet;

use engram_core::adapter::SideInfo;
use engram_core::emit::RecordHeader;
use engram_core::event::Seq;
use engram_core::keys::{KeyMap, hash64};
use engram_core::steps::Emitter;

use crate::shared::time::tape_time;
use crate::shared::value::{Value, raw_str, text};

use super::notes::{CallNote, Note, Notes};
use super::plan::Plan;
use super::plan::calls::CallFate;
use super::record::{Container, Record};

/// What the handlers know.
#[derive(Default)]
pub struct State {
    pub notes: Notes,
    pub plan: Plan,
    /// The note of the current record.
    pub here: usize,
    pub thread: thread::Thread,
    pub files: files::SeenFiles,
    pub last: last_said::LastSaid,
    pub scripts: scripts::Scripts,
    /// The last event before each turn.
    pub turns: Vec<Option<Seq>>,
    /// The directory of each call that asks for a patch, by its place in `calls`. `None` if the log does not say it.
    pub directories: KeyMap<Option<String>>,
    /// The records of patches that have begun, in what `exec --json` prints up to 0.42, by the key of the call.
    pub printed_patches: KeyMap<u32>,
    /// The notes of outputs that are a cut copy of what the end of their call has.
    pub cut_outputs: HashSet<u32>,
}

impl State {
    /// The state before the first record.
    pub fn new(side_info: &SideInfo) -> Self {
        State {
            thread: thread::Thread::new(side_info),
            ..State::default()
        }
    }

    /// Goes to the note of a record.
    pub fn go_to(&mut self, number: usize) {
        while self
            .notes
            .notes
            .get(self.here)
            .is_some_and(|note| (note.number as usize) < number)
        {
            self.here += 1;
        }
    }

    /// True if the current record repeats an earlier one.
    pub fn is_repeat(&self) -> bool {
        self.plan.repeats.get(self.here) == Some(&true)
    }

    /// Sets session, time, id and replay mark of a record.
    pub fn set_header(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) {
        match record.container {
            Container::Envelope => {
                let payload = record
                    .line
                    .first_member("payload")
                    .unwrap_or(Value::MISSING);
                let foreign = payload
                    .first_member("thread_id")
                    .and_then(Value::text)
                    .filter(|_| self.is_foreign());
                self.thread
                    .set_source(foreign.map(|id| id.decode_lossy()).as_deref(), out);
                let is_item = record.at == "/payload/item"
                    || raw_str(record.line.first_member("type")) == "response_item";
                let id = if is_item {
                    text(record.value.first_member("id"))
                } else {
                    None
                };
                let t = tape_time(record.line.first_member("timestamp"));
                out.set_header(RecordHeader {
                    t: t.as_deref(),
                    id,
                    replay: self.is_replay(),
                });
            }
            Container::Bare if record.is_item => out.set_header(RecordHeader::default()),
            Container::Bare => {
                let t = tape_time(record.value.first_member("timestamp"));
                out.set_header(RecordHeader::new(
                    t.as_deref(),
                    text(record.value.first_member("id")),
                ));
            }
            Container::Stream => {
                out.set_header(RecordHeader::default());
                // The thread that a run of `exec --json` names when it begins. Its other lines have no id.
                if let Some(thread) = text(record.line.first_member("thread_id"))
                    .filter(|_| record.name == "thread.started")
                {
                    let thread = thread.decode_lossy();
                    self.files.run = hash64(&*thread);
                    out.set_source(Some(&*thread), None);
                }
            }
        }
    }

    /// Sets time and id of a record that cannot be converted.
    pub fn set_envelope(&self, line: Value<'_>, out: &mut Emitter<'_>) {
        self.thread.set_source(None, out);
        let payload = line
            .first_member("payload")
            .filter(|payload| payload.is_object());
        let holder = match raw_str(line.first_member("type")) {
            "response_item" => payload,
            "event_msg" => payload.and_then(|payload| payload.first_member("item")),
            _ => Some(line).filter(|_| payload.is_none()),
        };
        let t = tape_time(line.first_member("timestamp"));
        let replay = payload.is_some() && self.is_replay();
        out.set_header(RecordHeader {
            t: t.as_deref(),
            id: text(holder.and_then(|holder| holder.first_member("id"))),
            replay,
        });
    }

    /// The note of the current record.
    pub fn note(&self) -> Note {
        self.notes.notes.get(self.here).copied().unwrap_or_default()
    }

    /// True if the current record repeats one of another thread.
    pub fn is_replay(&self) -> bool {
        self.plan.replay.is_copied.get(self.here) == Some(&true)
    }

    /// True if the current record is an item of another thread, mirrored into this one.
    pub fn is_foreign(&self) -> bool {
        self.plan.replay.is_foreign.get(self.here) == Some(&true)
    }

    /// True if an earlier record has what the current one says.
    pub fn is_told(&self) -> bool {
        self.plan.twins.told.contains(&(self.here as u32))
    }

    /// What the current record says of its call, and what becomes of it.
    pub fn call(&self) -> (Option<CallNote>, CallFate) {
        let note = self.note();
        (
            self.notes.call_of(&note).copied(),
            self.plan
                .calls
                .get(note.at as usize)
                .copied()
                .unwrap_or_default(),
        )
    }

    /// The tool of the call that a record is about. `None` if no record makes the call.
    pub fn tool_of(&self, fate: CallFate) -> Option<&str> {
        let call = self.notes.calls.get(fate.call? as usize)?;
        Some(self.notes.tools.name(call.tool))
    }

    /// The number of the record of a note.
    pub fn number_of(&self, note: u32) -> usize {
        self.notes
            .notes
            .get(note as usize)
            .map_or(usize::MAX, |note| note.number as usize)
    }
}
