//! The types of lines, and what follows from several fields of a record.

use super::format::LineKind;
use super::readers::{Duration, SessionMeta, Settings, ThreadSpawn};
use crate::shared::value::Field;

/// True for the type of an envelope line, all of them specific to Codex.
pub(super) fn is_line_type(kind: &str) -> bool {
    matches!(kind, "response_item" | "event_msg" | "retained_context")
        || LineKind::named(kind).is_some()
}

/// True for the type of a line that `exec --json` prints.
pub(super) fn is_exec_type(kind: &str) -> bool {
    kind == "error"
        || ["thread.", "turn.", "item."]
            .iter()
            .any(|beginning| kind.starts_with(beginning))
}

impl Duration<'_> {
    /// Whole milliseconds.
    pub fn millis(&self) -> Option<u64> {
        let (secs, nanos) = (self.secs()?.unsigned()?, self.nanos()?.unsigned()?);
        secs.checked_mul(1000)?.checked_add(nanos / 1_000_000)
    }
}

/// True for the header of a sub-agent's thread.
pub(super) fn is_of_agent(meta: &SessionMeta<'_>) -> bool {
    meta.parent_thread_id().is_some()
        || meta
            .source()
            .is_some_and(|source| source.member("subagent").is_some())
}

/// The spawning thread, if `source` says that an agent started the session.
pub(super) fn spawned(source: Field<'_>) -> Option<ThreadSpawn<'_>> {
    source?
        .member("subagent")?
        .member("thread_spawn")
        .map(ThreadSpawn::lenient)
}

impl<'a> Settings<'a> {
    /// The instructions of the collaboration mode.
    pub fn mode_instructions(&self) -> Field<'a> {
        self.collaboration_mode()?
            .member("settings")?
            .member("developer_instructions")
    }
}
