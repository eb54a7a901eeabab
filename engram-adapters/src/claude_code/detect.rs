//! Is it ours, and what does its head say? Named marks of content, never a file name.

use std::borrow::Cow;
use std::sync::LazyLock;

use engram_core::adapter::{Evidence, Framing, Identity};
use engram_core::head::Head;
use engram_core::text::Text;
use memchr::memmem::Finder;

use crate::shared::time::tape_time;
use crate::shared::value::{find_line, raw_str, text};
use crate::shared::view::view;

/// A fact of a line that shows whose it is.
struct Mark {
    name: &'static str,
    shows: fn(&Probe<'_>) -> bool,
}

/// Every mark, that of the conversation first. A line shows the first that holds.
const MARKS: &[Mark] = &[
    // What every line of a conversation has, in every version.
    Mark {
        name: "line.sessionId+uuid+isSidechain+version",
        shows: |line| line.in_session() && line.uuid().is_some() && line.is_of_a_version(),
    },
    // The title that stands first in files resumed up to 2.0.10, and alone in some.
    Mark {
        name: "summary.leafUuid",
        shows: |line| raw_str(line.kind()) == "summary" && line.leaf_uuid().is_some() && line.summary().is_some(),
    },
    // A prompt waits (2.0.45 and later).
    Mark {
        name: "queue-operation.operation+sessionId",
        shows: |line| raw_str(line.kind()) == "queue-operation" && line.operation().is_some() && line.in_session(),
    },
    // State beside the conversation (2.1.80 and later).
    Mark { name: "state.sessionId", shows: |line| STATE.contains(&raw_str(line.kind())) && line.in_session() },
    // Backups of edited files, written first by the terminal interface (2.0.60 and later).
    Mark {
        name: "file-history-snapshot.messageId",
        shows: |line| raw_str(line.kind()) == "file-history-snapshot" && line.message_id().is_some() && line.snapshot().is_some(),
    },
];

/// Types of lines that hold a session's state.
const STATE: &[&str] = &["mode", "permission-mode", "atis-latch", "tools-used", "last-prompt", "cost-state", "ai-title"];

view! {
    /// What detection looks at in a line.
    Probe {
        kind: "type" String,
        uuid: "uuid" String,
        session_id: "sessionId" String,
        agent_id: "agentId" String,
        version: "version" String,
        timestamp: "timestamp" String,
        leaf_uuid: "leafUuid" String,
        summary: "summary" String,
        operation: "operation" String,
        message_id: "messageId" String,
        snapshot: "snapshot" Object,
        is_sidechain: "isSidechain" Bool,
    }
}

impl Probe<'_> {
    fn in_session(&self) -> bool {
        self.session_id().is_some()
    }

    fn is_of_a_version(&self) -> bool {
        self.version().is_some() && self.is_sidechain().is_some()
    }
}

/// The most lines that detection looks at. A line of the conversation comes early, and ends the search.
const LOOKED_AT: usize = 64;

/// The names of all marks.
pub(super) fn marks() -> Vec<&'static str> {
    MARKS.iter().map(|mark| mark.name).collect()
}

/// Yes when a line shows a mark.
pub(super) fn probe(head: &Head<'_>) -> Option<Evidence> {
    let mut marks: Vec<&'static str> = Vec::new();
    find_line(head.lines().take(LOOKED_AT).filter(|line| may_show_a_mark(line)), |line| {
        let line = Probe::lenient(line);
        let mark = MARKS.iter().find(|mark| (mark.shows)(&line))?.name;
        if !marks.contains(&mark) {
            marks.push(mark);
        }
        (mark == MARKS[0].name).then_some(())
    });
    (!marks.is_empty()).then_some(Evidence { marks, framing: Framing::Lines })
}

/// Every mark has one of these fields: a look for their names spares reading the lines of other harnesses.
fn may_show_a_mark(line: &str) -> bool {
    static NAMES: LazyLock<[Finder<'_>; 3]> = LazyLock::new(|| ["\"sessionId\"", "\"leafUuid\"", "\"messageId\""].map(Finder::new));
    NAMES.iter().any(|name| name.find(line.as_bytes()).is_some())
}

/// The first version, session, agent and time that the head records.
pub(super) fn identify(head: &Head<'_>) -> Identity {
    let mut identity = Identity::default();
    find_line(head.lines(), |line| {
        let line = Probe::lenient(line);
        fill(&mut identity.version, text(line.version()));
        fill(&mut identity.session_id, text(line.session_id()));
        fill(&mut identity.agent_id, text(line.agent_id()));
        if identity.start.is_none() {
            identity.start = tape_time(line.timestamp()).map(Cow::into_owned);
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
