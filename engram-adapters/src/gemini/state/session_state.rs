//! The state of one session's conversion.

use engram_core::adapter::{SessionInit, SideInfo};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::current_session::CurrentSession;
use super::dedup::Dedup;
use super::history_rewrite::HistoryRewrites;
use super::last_stated::LastStated;
use super::open_answer::OpenAnswer;
use super::pending_usage::PendingUsage;
use super::rewind_points::RewindPoints;
use super::tally::RecordTally;
use super::typed_prompts::TypedPrompts;
use crate::gemini::descriptor::rule;
use crate::gemini::schema::Form;

/// What is remembered from record to record.
pub struct SessionState {
    pub form: Form,
    pub side_info: SideInfo,
    pub session: CurrentSession,
    pub last_stated: LastStated,
    pub dedup: Dedup,
    pub rewrites: HistoryRewrites,
    pub tally: RecordTally,
    /// What a rewind can go back to.
    pub rewind_points: RewindPoints,
    /// The token counts of the last turn of a log of lines.
    pub usage: PendingUsage,
    /// How often a file that repeats prompts has stated each.
    pub typed: TypedPrompts,
    /// What a run prints as the model's answer.
    pub answer: OpenAnswer,
    /// The last turn of a saved conversation is in a log beside it.
    pub is_saved_copy: bool,
    /// The last text in the user's place was a context or a summary of the harness.
    pub follows_context: bool,
}

impl SessionState {
    /// The state before the first record.
    pub fn new(form: Form, init: &SessionInit<'_>) -> Self {
        Self::of_session(form, init.identity.session_id.clone(), init.context.clone())
    }

    /// The state before the first record of this session.
    pub fn of_session(form: Form, session_id: Option<String>, side_info: SideInfo) -> Self {
        SessionState {
            form,
            side_info,
            session: CurrentSession::new(session_id),
            last_stated: LastStated::default(),
            dedup: Dedup::new(form),
            rewrites: HistoryRewrites::default(),
            tally: RecordTally::default(),
            rewind_points: RewindPoints::default(),
            usage: PendingUsage::default(),
            typed: TypedPrompts::default(),
            answer: OpenAnswer::default(),
            is_saved_copy: false,
            follows_context: false,
        }
    }

    /// True if the log of this session, or any log beside the artifact, has this text.
    pub fn is_in_log(&self, session_id: Option<&str>, text: Text<'_>) -> bool {
        self.side_info.side_files.as_ref().is_some_and(|files| files.has_text(session_id, text.raw()))
    }

    /// True if the log of this session has this prompt as often as this file has stated it by now.
    pub fn is_logged_prompt(&mut self, session_id: Option<&str>, prompt: Text<'_>) -> bool {
        let Some(files) = &self.side_info.side_files else { return false };
        let logged = files.count_prompts(session_id, prompt.raw());
        logged > 0 && self.typed.add((session_id, prompt.raw())) <= logged
    }

    /// Starts a record: resets what [`SessionState::outcome`] counts.
    pub fn begin_record(&mut self) {
        self.tally.begin_record();
        self.dedup.begin_record();
    }

    /// Ends a record. What a malformed one has changed is restored.
    pub fn end_record(&mut self, is_converted: bool) {
        if is_converted {
            self.session.commit();
            self.last_stated.commit();
            self.dedup.commit();
            self.usage.commit();
            self.rewrites.commit();
            self.typed.commit();
            self.rewind_points.commit();
        } else {
            self.session.roll_back();
            self.last_stated.roll_back();
            self.dedup.roll_back();
            self.usage.roll_back();
            self.rewrites.roll_back();
            self.typed.roll_back();
            self.rewind_points.roll_back();
        }
    }

    /// The outcome of the current record: mapped if it gave events, else a duplicate by `duplicate_rule` if something in it was a
    /// repetition or is pending, else a message without content.
    pub fn outcome(&self, record: &'static str, duplicate_rule: &'static str) -> Outcome {
        if self.tally.has_events() {
            Outcome::Mapped
        } else if self.dedup.has_duplicates() || self.tally.has_pending() {
            Outcome::Duplicate { record, rule: duplicate_rule }
        } else {
            Outcome::Bookkeeping { record, rule: rule::EMPTY }
        }
    }
}
