//! The state of one session's conversion.

use engram_core::adapter::{SessionInit, SideInfo};
use engram_core::event::Author;

use super::compaction::PendingCompaction;
use super::last_stated::LastStated;
use super::later_calls::LaterCalls;
use super::record_facts::{RecordId, set_facts};
use super::replay::ReplayTracker;
use super::revert::Revert;
use crate::opencode::revisions::{Dialect, dialect};
use crate::shared::record_facts::{RecordFacts, Repetition};
use crate::shared::seen_set::SeenSet;
use crate::shared::time::MillisFormatter;
use crate::shared::value::Value;

/// What is remembered from record to record.
pub struct SessionState {
    pub dialect: Dialect,
    pub side_info: SideInfo,
    pub replay: ReplayTracker,
    pub revert: Revert,
    /// Who writes the prompts: in the session of a sub-agent, the agent that started it.
    pub prompt_author: Author,
    pub later_calls: LaterCalls,
    pub compaction: PendingCompaction,
    pub last_stated: LastStated,
    /// What the messages, parts and lines with each id have stated.
    pub read: RecordFacts,
    facts: Vec<u64>,
    /// System prompts that have been emitted.
    pub system_prompts: SeenSet,
    pub clock: MillisFormatter,
}

impl SessionState {
    /// The state before the first record.
    pub fn new(init: &SessionInit<'_>) -> Self {
        Self::of_dialect(dialect(init.identity), init.context.clone())
    }

    /// The state before the first record of a session in this dialect.
    pub fn of_dialect(dialect: Dialect, side_info: SideInfo) -> Self {
        SessionState {
            dialect,
            replay: ReplayTracker::default(),
            revert: Revert::default(),
            prompt_author: Author::Person,
            later_calls: LaterCalls::new(side_info.later_calls.clone(), side_info.parent_call_id.is_some()),
            side_info,
            compaction: PendingCompaction::default(),
            last_stated: LastStated::default(),
            read: RecordFacts::default(),
            facts: Vec::new(),
            system_prompts: SeenSet::default(),
            clock: MillisFormatter::default(),
        }
    }

    /// True if records of this type and id have stated all that this one states. False without an id.
    pub fn is_repeat(&mut self, id: RecordId<'_>, record: Value<'_>) -> bool {
        let Some(key) = id.key() else {
            self.read.begin_without_id();
            return false;
        };
        let time = set_facts(&mut self.facts, id, record);
        self.read.begin(key, time, &self.facts) == Repetition::Whole
    }

    /// Ends a record. What a malformed one has changed is restored.
    pub fn end_record(&mut self, is_converted: bool) {
        if is_converted {
            self.last_stated.commit();
            self.read.commit();
            self.system_prompts.commit();
            self.compaction.commit();
            self.later_calls.commit();
        } else {
            self.last_stated.roll_back();
            self.read.roll_back();
            self.system_prompts.roll_back();
            self.compaction.roll_back();
            self.later_calls.roll_back();
        }
    }
}
