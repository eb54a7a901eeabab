//! What is remembered from record to record.

use engram_core::adapter::{SessionInit, SideInfo};
use engram_core::event::Author;
use engram_core::keys::KeyMap;

use super::last_notices::LastNotices;
use super::last_stated::LastStated;
use super::later_calls::LaterCalls;
use super::replay::ReplayTracker;
use super::revert::{Revert, Undone};
use super::titles::Titles;
use super::typed::Typed;
use crate::opencode::dialect::{Dialect, dialect};
use crate::opencode::plan::Decision;
use crate::shared::time::MillisFormatter;

/// What is remembered from record to record.
pub struct SessionState {
    pub dialect: Dialect,
    pub side_info: SideInfo,
    pub replay: ReplayTracker,
    pub revert: Revert,
    /// Turns that were taken back.
    pub undone: Undone,
    /// Titles that the session got later.
    pub titles: Titles,
    /// Who writes the prompts: in the session of a sub-agent, the agent that started it.
    pub prompt_author: Author,
    /// The session is that of a sub-agent: it says so, or a call of its parent names it.
    pub is_agents: bool,
    pub later_calls: LaterCalls,
    /// What a person typed instead of allowing a call. It stands behind the response with the call.
    pub typed: Vec<Typed>,
    /// What started the last compaction, whose summary is in a later message.
    pub compaction: Option<&'static str>,
    pub last_stated: LastStated,
    pub last_notices: LastNotices,
    /// The decision about the current record.
    pub decision: Decision,
    /// The records of the files of the current prompt.
    pub files: Vec<usize>,
    /// The file that the harness has just read for a prompt, and the key of the prompt's message.
    pub attached: Option<(u64, String)>,
    /// Keys of system prompts that have been emitted.
    pub system_prompts: KeyMap<()>,
    pub clock: MillisFormatter,
}

impl SessionState {
    /// The state before the first record.
    pub fn new(init: &SessionInit<'_>) -> Self {
        let side_info = init.context.clone();
        SessionState {
            dialect: dialect(init.identity),
            replay: ReplayTracker::default(),
            revert: Revert::default(),
            undone: Undone::default(),
            titles: Titles::default(),
            prompt_author: Author::Person,
            is_agents: init.identity.agent_id.is_some() || side_info.parent_call_id.is_some(),
            typed: Vec::new(),
            later_calls: LaterCalls::new(
                side_info.later_calls.clone(),
                side_info.parent_call_id.is_some(),
            ),
            side_info,
            compaction: None,
            last_stated: LastStated::default(),
            last_notices: LastNotices::default(),
            decision: Decision::default(),
            files: Vec::new(),
            attached: None,
            system_prompts: KeyMap::default(),
            clock: MillisFormatter::default(),
        }
    }
}
