//! What step 3 keeps between records.

use engram_core::emit::Pointer;
use engram_core::event::{Meta, SessionFacts};
use engram_core::keys::{KeyMap, PlaceMap};
use engram_core::steps::Emitter;
use engram_core::text::Text;

use crate::qwen::notes::PARTS;
use crate::qwen::readers::Display;
use crate::shared::pending_calls::PendingCalls;
use crate::shared::value::{Field, changed};

/// Where a call is: its record, and the number of its part.
#[derive(Debug, Clone, Copy)]
pub struct CallPlace {
    pub record: usize,
    pub part: usize,
}

/// Facts about the session, as its lines said them last.
#[derive(Debug, Default)]
pub struct Stated {
    cwd: String,
    branch: String,
    model: String,
    title: String,
}

impl Stated {
    /// The facts among these that are not those before.
    pub fn changed<'a>(
        &mut self,
        cwd: Field<'a>,
        branch: Field<'a>,
        model: Field<'a>,
    ) -> SessionFacts<'a> {
        SessionFacts {
            cwd: changed(&mut self.cwd, cwd),
            repo_branch: changed(&mut self.branch, branch),
            model: changed(&mut self.model, model),
            ..SessionFacts::default()
        }
    }

    /// The title, if it is not the one before.
    pub fn changed_title<'a>(&mut self, title: Field<'a>) -> SessionFacts<'a> {
        SessionFacts {
            title: changed(&mut self.title, title),
            ..SessionFacts::default()
        }
    }
}

/// What the handlers of a session keep.
#[derive(Debug, Default)]
pub struct State {
    /// Calls without a result.
    pub calls: PendingCalls<CallPlace>,
    /// Facts about the session.
    pub stated: Stated,
    /// The provider's ids of responses whose line comes next, by its record.
    pub response_ids: PlaceMap<usize, String>,
    /// How long calls ran whose result comes next, in milliseconds, by the key of the call.
    pub durations: KeyMap<u64>,
    /// The session that this one is a fork of was said.
    pub is_fork_stated: bool,
}

/// Facts about the session, if there are any.
pub fn emit_facts(facts: SessionFacts<'_>, out: &mut Emitter<'_>) {
    if !facts.is_empty() {
        out.emit(Meta::Session(facts), Pointer::Root);
    }
}

/// A result, as its line has it.
pub struct Returned<'a> {
    pub tool: Field<'a>,
    pub call_id: Option<Text<'a>>,
    /// What the model got.
    pub output: Option<Text<'a>>,
    /// What the terminal shows, if it is more than a text.
    pub display: Display<'a>,
    /// What the terminal shows, if it is a text.
    pub shown: Option<Text<'a>>,
}

/// Where the text for the model is.
pub const OUTPUT: Pointer<'static> = Pointer::At(PARTS);
/// Where that is what the terminal shows.
pub const SHOWN: Pointer<'static> = Pointer::At("/toolCallResult/resultDisplay");
