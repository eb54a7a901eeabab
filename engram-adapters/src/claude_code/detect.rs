//! Is it ours, and what does its head say? Named marks of content, never a file name.

use engram_core::adapter::{Evidence, Framing, Identity};
use engram_core::head::Head;
use engram_core::text::Text;

use crate::kit::time::rfc3339;
use crate::kit::value::{find_line, text, view};

/// A conversational line: the fields that every such line of every version has.
const CONVERSATION: &str = "line.sessionId+uuid+isSidechain+version";
/// The title line that stands first in files resumed up to 2.0.10, and alone in some.
const SUMMARY: &str = "summary.leafUuid";
/// Lines that newer versions write before and between the conversation.
const QUEUE: &str = "queue-operation.operation+sessionId";
/// State lines of newer versions (`mode`, `permission-mode`, `atis-latch`, ...).
const STATE: &str = "state.sessionId";
/// Backups of edited files, written first by the terminal interface.
const BACKUP: &str = "file-history-snapshot.messageId";

view! {
    /// What detection looks at in a line.
    Probe {
        kind: "type",
        uuid: "uuid",
        session_id: "sessionId",
        agent_id: "agentId",
        version: "version",
        timestamp: "timestamp",
        leaf_uuid: "leafUuid",
        summary: "summary",
        operation: "operation",
        message_id: "messageId",
        snapshot: "snapshot",
        is_sidechain: "isSidechain",
    }
}

impl Probe<'_> {
    /// The mark that this line shows.
    fn mark(&self) -> Option<&'static str> {
        let kind = text(self.kind)?;
        let in_session = text(self.session_id).is_some();
        if in_session && text(self.uuid).is_some() && text(self.version).is_some() && self.is_sidechain.is_some() {
            return Some(CONVERSATION);
        }
        let is = |names: &[&str]| names.iter().any(|name| kind.is(name));
        if kind.is("summary") && text(self.leaf_uuid).is_some() && text(self.summary).is_some() {
            return Some(SUMMARY);
        }
        if kind.is("queue-operation") && in_session && text(self.operation).is_some() {
            return Some(QUEUE);
        }
        if is(&["mode", "permission-mode", "atis-latch", "tools-used", "last-prompt", "cost-state", "ai-title"]) && in_session {
            return Some(STATE);
        }
        if kind.is("file-history-snapshot") && text(self.message_id).is_some() && self.snapshot.is_some() {
            return Some(BACKUP);
        }
        None
    }
}

/// Lines that detection looks at: an artifact shows its marks early, and its head may be long.
const LOOKED_AT: usize = 64;

/// Yes when a line shows a mark.
pub(super) fn probe(head: &Head<'_>) -> Option<Evidence> {
    let mut marks: Vec<&'static str> = Vec::new();
    find_line(head.lines().take(LOOKED_AT), |line| {
        if let Some(mark) = Probe::of(line).mark()
            && !marks.contains(&mark)
        {
            marks.push(mark);
        }
        None::<()>
    });
    (!marks.is_empty()).then_some(Evidence { marks, framing: Framing::Lines })
}

/// The first version, session, agent and time that the head records.
pub(super) fn identify(head: &Head<'_>) -> Identity {
    let mut identity = Identity::default();
    find_line(head.lines(), |line| {
        let line = Probe::of(line);
        fill(&mut identity.version, text(line.version));
        fill(&mut identity.session_id, text(line.session_id));
        fill(&mut identity.agent_id, text(line.agent_id));
        if identity.start.is_none() {
            identity.start = text(line.timestamp).and_then(|time| rfc3339(&time.decode_lossy()).map(|time| time.into_owned()));
        }
        (identity.version.is_some() && identity.session_id.is_some() && identity.start.is_some()).then_some(())
    });
    identity
}

fn fill(slot: &mut Option<String>, found: Option<Text<'_>>) {
    if slot.is_none() {
        *slot = found.map(|text| text.decode_lossy().into_owned());
    }
}
