//! Recognises a transcript by named marks in its content, never by a file name, and reads what its head records.

use std::borrow::Cow;
use std::sync::LazyLock;

use engram_core::adapter::{Evidence, Framing, Identity};
use engram_core::head::Head;
use engram_core::text::Text;
use memchr::memmem::Finder;

use crate::claude_code::revisions::TITLES_SCHEMA;
use crate::shared::time::tape_time;
use crate::shared::value::{find_line, raw_str, text};
use crate::shared::view::view;

/// A property of a line that only transcripts of this harness have.
struct Mark {
    name: &'static str,
    is_in: fn(&Probe<'_>) -> bool,
}

/// Every mark, the one of conversation lines first. A line has the first mark that fits.
const MARKS: &[Mark] = &[
    // Every line of a conversation, in every version.
    Mark {
        name: "line.sessionId+uuid+isSidechain+version",
        is_in: |line| line.has_session() && line.uuid().is_some() && line.has_version(),
    },
    // The title at the beginning of files that were resumed up to 2.0.10. Some files have nothing else.
    Mark {
        name: "summary.leafUuid",
        is_in: |line| raw_str(line.kind()) == "summary" && line.leaf_uuid().is_some() && line.summary().is_some(),
    },
    // A queued prompt (2.0.45 and later).
    Mark {
        name: "queue-operation.operation+sessionId",
        is_in: |line| raw_str(line.kind()) == "queue-operation" && line.operation().is_some() && line.has_session(),
    },
    // Session state (2.1.80 and later).
    Mark { name: "state.sessionId", is_in: |line| STATE.contains(&raw_str(line.kind())) && line.has_session() },
    // Backups of edited files, the first line of the terminal interface (2.0.60 and later).
    Mark {
        name: "file-history-snapshot.messageId",
        is_in: |line| raw_str(line.kind()) == "file-history-snapshot" && line.message_id().is_some() && line.snapshot().is_some(),
    },
];

/// Types of lines with session state.
const STATE: &[&str] = &["mode", "permission-mode", "atis-latch", "tools-used", "last-prompt", "cost-state", "ai-title"];

view! {
    /// The fields that detection reads.
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
    fn has_session(&self) -> bool {
        self.session_id().is_some()
    }

    fn has_version(&self) -> bool {
        self.version().is_some() && self.is_sidechain().is_some()
    }
}

/// The number of lines that detection reads. A conversation line comes early, and ends the search.
const MAX_LINES: usize = 64;

/// The names of all marks.
pub fn marks() -> Vec<&'static str> {
    MARKS.iter().map(|mark| mark.name).collect()
}

/// The marks of the head's lines; none if it is not a transcript.
pub fn probe(head: &Head<'_>) -> Option<Evidence> {
    let mut marks: Vec<&'static str> = Vec::new();
    find_line(head.lines().take(MAX_LINES).filter(|line| may_have_mark(line)), |line| {
        let line = Probe::lenient(line);
        let mark = MARKS.iter().find(|mark| (mark.is_in)(&line))?.name;
        if !marks.contains(&mark) {
            marks.push(mark);
        }
        (mark == MARKS[0].name).then_some(())
    });
    (!marks.is_empty()).then_some(Evidence { marks, framing: Framing::Lines })
}

/// Every mark needs one of these fields. To search for their names spares parsing the lines of other harnesses.
fn may_have_mark(line: &str) -> bool {
    static NAMES: LazyLock<[Finder<'_>; 3]> = LazyLock::new(|| ["\"sessionId\"", "\"leafUuid\"", "\"messageId\""].map(Finder::new));
    NAMES.iter().any(|name| name.find(line.as_bytes()).is_some())
}

/// The first version, session, agent and time that the head records.
pub fn identify(head: &Head<'_>) -> Identity {
    let mut identity = Identity::default();
    let mut only_titles = true;
    find_line(head.lines(), |line| {
        let line = Probe::lenient(line);
        fill(&mut identity.version, text(line.version()));
        fill(&mut identity.session_id, text(line.session_id()));
        fill(&mut identity.agent_id, text(line.agent_id()));
        if identity.start.is_none() {
            identity.start = tape_time(line.timestamp()).map(Cow::into_owned);
        }
        only_titles &= raw_str(line.kind()) == "summary";
        (identity.version.is_some() && identity.session_id.is_some() && identity.start.is_some()).then_some(())
    });
    // Some files have nothing but titles. Only these versions write them.
    identity.schema = (only_titles && identity.version.is_none()).then_some(TITLES_SCHEMA);
    identity
}

fn fill(slot: &mut Option<String>, found: Option<Text<'_>>) {
    if slot.is_none() {
        *slot = found.map(|text| text.decode_lossy().into_owned());
    }
}
