//! The session that started this one. The transcript does not name it.

use engram_core::adapter::SideInfo;
use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{Author, Meta, SessionFacts};
use engram_core::text::Text;

/// The parent session, until it is emitted with a record.
pub(super) struct ParentSession {
    session_id: Option<String>,
    /// Who writes the prompts: the agent of the parent session, if there is one.
    prompts_by: Author,
}

impl ParentSession {
    /// The parent session that the files around the transcript show.
    pub(super) fn new(context: &SideInfo) -> Self {
        let prompts_by = if context.parent_session_id.is_some() { Author::Agent } else { Author::Person };
        ParentSession { session_id: context.parent_session_id.clone(), prompts_by }
    }

    /// Who writes the prompts of this session.
    pub(super) fn prompts_by(&self) -> Author {
        self.prompts_by
    }

    /// Emits the parent session, unless a record has it already.
    pub(super) fn emit(&self, out: &mut Emitter) -> Result<(), Fault> {
        if let Some(session_id) = &self.session_id {
            let facts = SessionFacts { parent_session_id: Some(Text::Plain(session_id)), ..SessionFacts::default() };
            out.emit(Meta::Session(facts), Pointer::Root)?;
        }
        Ok(())
    }

    /// Notes that a record has the parent session. Not for a malformed record: it leaves no events.
    pub(super) fn set_emitted(&mut self) {
        self.session_id = None;
    }
}
