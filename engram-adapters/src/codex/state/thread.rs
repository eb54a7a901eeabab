//! The thread itself: its agent, and what the files beside the session state about it.

use engram_core::adapter::SideInfo;
use engram_core::event::SessionFacts;
use engram_core::text::Text;

/// Who runs in this thread.
#[derive(Debug)]
pub struct Thread {
    side_info: SideInfo,
    is_spawned: bool,
    agent_path: Option<String>,
}

impl Thread {
    /// A thread whose header has not been read.
    pub fn new(side_info: &SideInfo) -> Self {
        Thread { side_info: side_info.clone(), is_spawned: false, agent_path: None }
    }

    /// Records who runs in the thread, as its own header states it.
    pub fn set_agent(&mut self, is_spawned: bool, agent_path: Option<String>) {
        self.is_spawned = is_spawned;
        self.agent_path = agent_path;
    }

    /// True when an agent started the thread: what is in the user's place is then that agent's.
    pub fn is_spawned(&self) -> bool {
        self.is_spawned
    }

    /// The thread's name in messages between agents.
    pub fn agent_path(&self) -> &str {
        self.agent_path.as_deref().unwrap_or("/root")
    }

    /// Adds what only the files beside the session state.
    pub fn add_side_info<'a>(&'a self, facts: &mut SessionFacts<'a>) {
        let stated = |text: &'a Option<String>| text.as_deref().map(Text::Plain);
        facts.parent_session_id = facts.parent_session_id.or(stated(&self.side_info.parent_session_id));
        facts.parent_call_id = facts.parent_call_id.or(stated(&self.side_info.parent_call_id));
        facts.agent = facts.agent.or(stated(&self.side_info.agent));
    }
}
