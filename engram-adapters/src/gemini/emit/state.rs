//! What the handlers know: the decisions about the notes, and what events need of the records before them.

use std::collections::{BTreeSet, HashSet};

use engram_core::adapter::{SessionInit, SideInfo};
use engram_core::emit::RecordHeader;
use engram_core::event::{self, Attachment, Seq};
use engram_core::keys::{KeyMap, PlaceMap};
use engram_core::steps::Emitter;

use crate::gemini::format::MessageKind;
use crate::gemini::notes::{Note, notice_key};
use crate::gemini::plan::repeats::{Decision, repeats};
use crate::gemini::plan::responses::{Piece, Usage, last_counts, pieces, usages};
use crate::gemini::plan::rewinds::rewinds;
use crate::gemini::readers::Blob;
use crate::gemini::schema::{CANCELLED, Form};
use crate::shared::media::base64_hash;
use crate::shared::time::tape_time;
use crate::shared::value::{Field, Value, text};

/// Emits the events of records by the decisions about their notes.
pub struct Events {
    pub(super) form: Form,
    pub(super) plan: Plan,
    pub(super) side_info: SideInfo,
    pub(super) session_id: Option<String>,
    pub(super) is_subagent: bool,
    pub(super) has_header: bool,
    /// The record with the first prompt: that of a person, or the task of the sub-agent.
    pub(super) first_prompt: Option<usize>,
    /// The current record.
    pub(super) number: usize,
    /// The last text in the user's place was a context or a summary of the harness.
    pub(super) follows_context: bool,
    /// The last turn of a saved conversation is in a log beside it.
    pub(super) is_saved_copy: bool,
    /// What calls ask of a sub-agent, by the key of the text.
    pub(super) tasks: HashSet<u64>,
    /// How often a file that repeats prompts has said each.
    pub(super) typed: KeyMap<u32>,
    /// The sessions that such a file names.
    pub(super) typed_sessions: BTreeSet<String>,
    /// The last event before each message that a person goes back to.
    pub(super) rewind_points: KeyMap<Option<Seq>>,
    /// The message of the current record, if a person goes back to it and all of it was given before.
    pub(super) open_point: Option<u64>,
    /// The token counts of turns that have not ended, by the number of their record.
    pub(super) open_usages: PlaceMap<usize, OpenUsage>,
    pub(super) answer: Answer,
}

/// The decisions about all notes, taken one by one.
#[derive(Default)]
pub struct Plan {
    pub(super) notes: Vec<Note>,
    pub(super) decisions: Vec<Decision>,
    pub(super) usages: Vec<Usage>,
    pub(super) pieces: std::vec::IntoIter<Piece>,
    /// The histories that go back, see [`rewinds`].
    pub(super) rewinds: PlaceMap<usize, u64>,
    /// The next note.
    pub(super) at: usize,
    /// The next usage.
    pub(super) usage_at: usize,
    /// Something in the current record was given before.
    pub(super) has_repeats: bool,
}

impl Plan {
    /// Goes to the notes of a record.
    pub(super) fn begin(&mut self, number: usize) {
        self.has_repeats = false;
        if matches!(self.notes.get(self.at), Some(Note::Record { number: next, .. }) if *next as usize == number)
        {
            self.at += 1;
        }
    }

    /// The next note and its decision.
    pub(super) fn next_note(&mut self) -> (Note, Decision) {
        let next = self
            .notes
            .get(self.at)
            .copied()
            .zip(self.decisions.get(self.at).copied());
        self.at += 1;
        next.unwrap_or((Note::Piece { bytes: 0 }, Decision::default()))
    }

    /// For each file of the current message, in their order: whether it is new.
    pub(super) fn files_of_message(&self) -> impl Iterator<Item = bool> {
        let rest = self.notes.iter().zip(&self.decisions).skip(self.at);
        rest.take_while(|(note, _)| !matches!(note, Note::Record { .. } | Note::Message { .. }))
            .filter(|(note, _)| matches!(note, Note::File { .. }))
            .map(|(_, decision)| !decision.is_repeated)
    }

    /// What becomes of the next call.
    pub(super) fn next_call(&mut self) -> CallFate {
        let decision = self.decisions.get(self.at).copied().unwrap_or_default();
        match self.is_new() {
            true if decision.is_collected => CallFate::Collected,
            true => CallFate::New,
            false if decision.has_other_arguments => CallFate::Rewritten,
            false => CallFate::Repeated,
        }
    }

    /// True if the next fact is new.
    pub fn is_new(&mut self) -> bool {
        let (note, decision) = self.next_note();
        self.has_repeats |= decision.is_repeated && !matches!(note, Note::Model { .. });
        !decision.is_repeated
    }
}

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallFate {
    Repeated,
    /// A hook has changed its arguments before it ran, and here are those of the model.
    Rewritten,
    New,
    /// It is new, and its message is not the response that asked for it.
    Collected,
}

/// Token counts that stand after a later record.
pub(super) struct OpenUsage {
    pub(super) tokens: event::Tokens,
    pub(super) time: Option<String>,
    /// Id and model as raw JSON.
    pub(super) id: Option<String>,
    pub(super) model: Option<String>,
}

/// The answer whose pieces are being read.
#[derive(Default)]
pub(super) struct Answer {
    /// The pieces so far, as the contents of a JSON string.
    pub(super) text: String,
    /// The record of the first piece, and its time.
    pub(super) first: usize,
    pub(super) time: Option<String>,
    /// The record of the last piece.
    pub(super) last: Option<usize>,
}

impl Events {
    pub fn new(form: Form, init: &SessionInit<'_>) -> Self {
        Events {
            form,
            plan: Plan::default(),
            side_info: init.context.clone(),
            session_id: init.identity.session_id.clone(),
            is_subagent: false,
            has_header: false,
            first_prompt: None,
            number: 0,
            follows_context: false,
            is_saved_copy: false,
            tasks: HashSet::new(),
            typed: KeyMap::default(),
            typed_sessions: BTreeSet::new(),
            rewind_points: KeyMap::default(),
            open_point: None,
            open_usages: PlaceMap::default(),
            answer: Answer::default(),
        }
    }

    /// Step 2.
    pub fn decide(
        &mut self,
        notes: Vec<Note>,
        tasks: HashSet<u64>,
        typed_sessions: BTreeSet<String>,
    ) {
        (self.tasks, self.typed_sessions) = (tasks, typed_sessions);
        let mut decisions = repeats(self.form, &notes);
        if self.form == Form::Document {
            last_counts(&notes, &mut decisions);
        }
        let usages = if self.form == Form::Lines {
            usages(&notes, &mut decisions)
        } else {
            Vec::new()
        };
        let pieces = if self.form == Form::Stream {
            pieces(&notes)
        } else {
            Vec::new()
        };
        let cancelled = CANCELLED.map(|text| notice_key(MessageKind::Info.name(), text));
        let restored = rewinds(&notes, &decisions, &cancelled);
        let stated = notes.iter().filter_map(|note| match note {
            Note::Rewind { to } => Some(*to),
            _ => None,
        });
        self.rewind_points = stated
            .chain(restored.values().copied())
            .map(|to| (to, None))
            .collect();
        self.plan = Plan {
            notes,
            decisions,
            usages,
            pieces: pieces.into_iter(),
            rewinds: restored,
            ..Plan::default()
        };
    }
}

/// Sets the time and id of the following events.
#[inline(never)]
pub(super) fn set_header(time: Field<'_>, id: Field<'_>, out: &mut Emitter<'_>) {
    let time = tape_time(time);
    out.set_header(RecordHeader::new(time.as_deref(), text(id)));
}

/// A file next to a text, as its hash.
pub(super) fn attachment(blob: Value<'_>) -> Attachment<'_> {
    let blob = Blob::lenient(blob);
    let (hash, bytes) = text(blob.data()).and_then(base64_hash).unzip();
    Attachment {
        media_type: text(blob.media_type()),
        hash,
        bytes,
        name: text(blob.uri()).or_else(|| text(blob.name())),
    }
}
