//! The session facts that every payload repeats. Only changes are emitted.

use std::borrow::Cow;

use engram_core::emit::{Fault, Pointer};
use engram_core::event::{Meta, SessionFacts};
use engram_core::text::Text;

use crate::cursor::fields::decoded;
use crate::cursor::readers::Payload;
use crate::cursor::steps::Out;
use crate::shared::value::{non_empty_text, raw_str};

/// What steps of tools have in place of a model.
const PLACEHOLDER: &str = "unknown";

/// The facts of the last payload. Empty texts are facts that it did not have.
#[derive(Default, PartialEq, Eq)]
pub(super) struct LastFacts {
    model: String,
    cwd: String,
    transcript_path: String,
}

impl LastFacts {
    /// Emits those of the facts `now` that changed. True if it emitted any.
    pub(super) fn emit_changed(
        &self,
        now: &LastFacts,
        payload: &Payload<'_>,
        out: &mut Out<'_, '_>,
    ) -> Result<bool, Fault> {
        if now == self {
            return Ok(false);
        }
        let facts = SessionFacts {
            model: changed(&now.model, &self.model),
            cwd: changed(&now.cwd, &self.cwd),
            agent: non_empty_text(payload.composer_mode()),
            ..SessionFacts::default()
        };
        let mut emitted = false;
        if facts.model.is_some() || facts.cwd.is_some() || facts.agent.is_some() {
            out.emit(Meta::Session(facts), Pointer::Root)?;
            emitted = true;
        }
        if let Some(path) = changed(&now.transcript_path, &self.transcript_path) {
            let notice = Meta::system("transcript_path", Some(path));
            out.emit(notice, "/transcript_path")?;
            emitted = true;
        }
        Ok(emitted)
    }

    /// The facts of a payload. The model of `preCompact` and `subagentStart` is not the session's.
    pub(super) fn facts_of(&self, payload: &Payload<'_>) -> LastFacts {
        let has_session_model = !matches!(
            raw_str(payload.hook_event_name()),
            "preCompact" | "subagentStart"
        );
        let is_known = |model: &Cow<'_, str>| !model.is_empty() && model != PLACEHOLDER;
        let stated = decoded(payload.model_id())
            .filter(is_known)
            .or_else(|| decoded(payload.model()).filter(is_known));
        let model = stated.filter(|_| has_session_model).map(Cow::into_owned);
        let text = |field| decoded(field).unwrap_or_default().into_owned();
        LastFacts {
            model: model.unwrap_or_else(|| self.model.clone()),
            cwd: text(
                payload
                    .workspace_roots()
                    .and_then(|roots| roots.elements().next()),
            ),
            transcript_path: text(payload.transcript_path()),
        }
    }
}

/// The fact, if it is given and differs from before.
fn changed<'n>(now: &'n str, before: &str) -> Option<Text<'n>> {
    (!now.is_empty() && now != before).then_some(Text::Plain(now))
}
