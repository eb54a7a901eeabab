//! The session that started this one. The transcript does not name it.

use crate::cursor::steps::Out;
use engram_core::adapter::SideInfo;
use engram_core::emit::{Fault, Pointer};
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
        let prompts_by = if context.parent_session_id.is_some() {
            Author::Agent
        } else {
            Author::Person
        };
        ParentSession {
            session_id: context.parent_session_id.clone(),
            prompts_by,
        }
    }

    /// Who writes the prompts of this session.
    pub(super) fn prompts_by(&self) -> Author {
        self.prompts_by
    }

    /// Emits the parent session with the first record.
    pub(super) fn emit(&mut self, out: &mut Out<'_, '_>) -> Result<(), Fault> {
        let Some(session_id) = self.session_id.take_if(|_| !out.is_check()) else {
            return Ok(());
        };
        let facts = SessionFacts {
            parent_session_id: Some(Text::Plain(&session_id)),
            ..SessionFacts::default()
        };
        out.emit(Meta::Session(facts), Pointer::Root).map(drop)
    }
}
