//! The thread itself: its agent, and what the files beside the session say about it.

use engram_core::adapter::SideInfo;
use engram_core::event::{Author, SessionFacts};
use engram_core::steps::Emitter;
use engram_core::text::Text;

/// Who runs in this thread.
#[derive(Debug, Default)]
pub struct Thread {
    side_info: SideInfo,
    id: String,
    /// Who writes the prompts of this thread.
    sender: Option<Author>,
    /// Who wrote those of the thread whose history was copied last.
    copied_sender: Option<Author>,
    agent_path: Option<String>,
    /// An agent started the thread.
    is_agent: bool,
}

impl Thread {
    /// A thread whose header has not been read.
    pub fn new(side_info: &SideInfo) -> Self {
        Thread {
            side_info: side_info.clone(),
            ..Thread::default()
        }
    }

    /// Sets what the thread's own header says: its id, who writes its prompts, and its agent.
    pub fn set_own(
        &mut self,
        id: &str,
        sender: Author,
        agent_path: Option<String>,
        is_agent: bool,
    ) {
        id.clone_into(&mut self.id);
        self.sender = Some(sender);
        self.agent_path = agent_path;
        self.is_agent = is_agent || self.side_info.parent_session_id.is_some();
    }

    /// True if the file had a header of its own session before, with another id.
    pub fn is_other_session(&self, id: &str) -> bool {
        !self.id.is_empty() && self.id != id
    }

    /// Sets who wrote the prompts of a thread whose history was copied.
    pub fn set_copied_sender(&mut self, sender: Author) {
        self.copied_sender = Some(sender);
    }

    /// Makes another thread the agent of the following events, or this thread if there is none.
    pub fn set_source(&self, foreign: Option<&str>, out: &mut Emitter<'_>) {
        if !self.id.is_empty() {
            out.set_source(
                Some(&self.id),
                foreign.or(Some(&*self.id).filter(|_| self.is_agent)),
            );
        }
    }

    /// Who writes what is in the user's place.
    pub fn sender(&self, is_copied: bool) -> Author {
        // A copy without a header of its own is of a thread that a person wrote to.
        let sender = if is_copied {
            self.copied_sender
        } else {
            self.sender
        };
        sender.unwrap_or(Author::Person)
    }

    /// The thread's name in messages between agents.
    pub fn agent_path(&self) -> &str {
        self.agent_path.as_deref().unwrap_or("/root")
    }

    /// Adds what only the files beside the session say.
    pub fn add_side_info<'a>(&'a self, facts: &mut SessionFacts<'a>) {
        let said = |text: &'a Option<String>| text.as_deref().map(Text::Plain);
        facts.parent_session_id = facts
            .parent_session_id
            .or(said(&self.side_info.parent_session_id));
        facts.parent_call_id = facts
            .parent_call_id
            .or(said(&self.side_info.parent_call_id));
        facts.agent = facts.agent.or(said(&self.side_info.agent));
    }
}
