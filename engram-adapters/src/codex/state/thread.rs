//! The thread itself: its agent, and what the files beside the session state about it.

use engram_core::adapter::SideInfo;
use engram_core::emit::Emitter;
use engram_core::event::{Author, SessionFacts};
use engram_core::text::Text;

use crate::shared::seen_set::SeenSet;

/// Who runs in this thread.
#[derive(Debug)]
pub struct Thread {
    side_info: SideInfo,
    id: String,
    /// Who writes the prompts of this thread.
    sender: Author,
    /// Who wrote those of the thread whose history was copied last.
    copied_sender: Author,
    /// The threads whose headers are in this file.
    known: SeenSet,
    agent_path: Option<String>,
    /// An agent started the thread.
    is_agent: bool,
}

impl Thread {
    /// A thread whose header has not been read.
    pub fn new(side_info: &SideInfo) -> Self {
        Thread {
            side_info: side_info.clone(),
            id: String::new(),
            sender: Author::Person,
            copied_sender: Author::Person,
            known: SeenSet::default(),
            agent_path: None,
            is_agent: false,
        }
    }

    /// Records the thread's own header: its id, who writes its prompts, and its agent.
    pub fn set_own(&mut self, id: &str, sender: Author, agent_path: Option<String>, is_agent: bool) {
        self.add_known(id);
        id.clone_into(&mut self.id);
        self.sender = sender;
        self.agent_path = agent_path;
        self.is_agent = is_agent || self.side_info.parent_session_id.is_some();
    }

    /// True if the file had a header of its own session before, with another id.
    pub fn is_other_session(&self, id: &str) -> bool {
        !self.id.is_empty() && self.id != id
    }

    /// Records the header of a thread whose history was copied.
    pub fn add_copied(&mut self, id: &str, sender: Author) {
        self.add_known(id);
        self.copied_sender = sender;
    }

    fn add_known(&mut self, id: &str) {
        self.known.insert(id);
        self.known.commit();
    }

    /// True if no header in this file is that of this thread.
    pub fn is_foreign(&self, id: &str) -> bool {
        !self.id.is_empty() && !id.is_empty() && !self.known.contains(id)
    }

    /// Makes another thread the agent of the following events, or this thread if there is none.
    pub fn set_source(&self, foreign: Option<&str>, out: &mut Emitter<'_>) {
        if !self.id.is_empty() {
            out.set_source(Some(&self.id), foreign.or(Some(&*self.id).filter(|_| self.is_agent)));
        }
    }

    /// Who writes what is in the user's place.
    pub fn sender(&self, is_copied: bool) -> Author {
        if is_copied { self.copied_sender } else { self.sender }
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
