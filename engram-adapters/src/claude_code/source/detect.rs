//! Recognises a transcript, or a capture of what the harness prints, by named marks in its content, never by a file name, and reads what
//! its head records.

use std::borrow::Cow;
use std::sync::LazyLock;

use engram_core::adapter::{Evidence, Framing, Identity};
use engram_core::head::Head;
use engram_core::text::Text;
use memchr::memmem::Finder;

use crate::claude_code::format::mark;
use crate::claude_code::readers::{PrintedHead, Stated};
use crate::claude_code::revisions::{STREAM, TITLES_SCHEMA};
use crate::shared::time::tape_time;
use crate::shared::value::{StructuralIndex, Value, find_line, has_members, parse, raw_str, text};

/// What only lines of transcripts of this harness have.
struct Mark {
    name: &'static str,
    /// The types of the lines; none if the members are enough.
    kinds: &'static [&'static str],
    /// Members, whatever their values are.
    members: &'static [&'static str],
}

impl Mark {
    fn is_in(&self, line: Value<'_>) -> bool {
        let is_of_kind =
            || self.kinds.is_empty() || self.kinds.contains(&raw_str(line.member("type")));
        has_members(line, self.members) && is_of_kind() && !is_of_other(line)
    }
}

/// iFlow and Qwen Code write lines with the same members. The id of iFlow's sessions begins with `session-`, that of this harness is a UUID. Messages
/// of Qwen Code have parts, and its notices a payload.
fn is_of_other(line: Value<'_>) -> bool {
    let parts = line
        .member("message")
        .and_then(|message| message.member("parts"));
    raw_str(line.member("sessionId")).starts_with("session-")
        || parts.is_some()
        || line.member("systemPayload").is_some()
}

/// Every mark, the one of conversation lines first. A line has the first mark that fits.
const MARKS: &[Mark] = &[
    // Every line of a conversation, in every version.
    Mark {
        name: mark::CONVERSATION,
        kinds: &[],
        members: &["sessionId", "uuid", "isSidechain", "version"],
    },
    // The title at the beginning of files that were resumed up to 2.0.10. Some files have nothing else.
    Mark {
        name: mark::TITLE,
        kinds: &[],
        members: &["leafUuid", "summary"],
    },
    // A queued prompt (2.0.45 and later).
    Mark {
        name: mark::QUEUED,
        kinds: &["queue-operation"],
        members: &["operation", "sessionId"],
    },
    // Session state (2.1.80 and later).
    Mark {
        name: mark::STATE,
        kinds: STATE,
        members: &["sessionId"],
    },
    // Backups of edited files, the first line of the terminal interface (2.0.60 and later).
    Mark {
        name: mark::BACKUP,
        kinds: &["file-history-snapshot"],
        members: &["messageId", "snapshot"],
    },
];

/// Types of lines with session state.
const STATE: &[&str] = &[
    "mode",
    "permission-mode",
    "atis-latch",
    "tools-used",
    "last-prompt",
    "cost-state",
    "ai-title",
];

/// The number of lines that detection reads. A conversation line comes early, and ends the search.
const MAX_LINES: usize = 64;

impl PrintedHead<'_> {
    fn is_init(&self) -> bool {
        let is_named = raw_str(self.kind()) == "system" && raw_str(self.subtype()) == "init";
        let is_other = self.camel_session_id().is_some() || self.permission_mode().is_some();
        is_named && !is_other && has_members(self.object(), &["session_id", "tools"])
    }
}

/// The lines of the head that may begin a turn of a capture.
fn init_lines<'h>(head: &Head<'h>) -> impl Iterator<Item = &'h str> {
    static INIT: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\"init\""));
    head.lines()
        .take(MAX_LINES)
        .map(str::trim_ascii_start)
        .filter(|line| line.starts_with('{') && INIT.find(line.as_bytes()).is_some())
}

/// True for a head of what `--output-format stream-json` prints.
pub fn is_stream(head: &Head<'_>) -> bool {
    find_line(init_lines(head), |line| {
        PrintedHead::lenient(line).is_init().then_some(())
    })
    .is_some()
}

/// The marks of the head's lines; none if it is neither a transcript nor a capture.
pub fn probe(head: &Head<'_>) -> Option<Evidence> {
    if is_stream(head) {
        return Some(Evidence {
            marks: vec![mark::STREAM_INIT],
            framing: Framing::Lines,
        });
    }
    let marks = marks(head);
    (!marks.is_empty() && !is_silent(head)).then_some(Evidence {
        marks,
        framing: Framing::Lines,
    })
}

/// True for a whole file of this harness that has state and no conversation.
pub fn is_state_alone(head: &Head<'_>) -> bool {
    is_silent(head) && !marks(head).is_empty()
}

/// The marks of the lines of a transcript.
fn marks(head: &Head<'_>) -> Vec<&'static str> {
    let mut marks: Vec<&'static str> = Vec::new();
    find_line(
        head.lines()
            .take(MAX_LINES)
            .filter(|line| may_have_mark(line)),
        |line| {
            let found = MARKS.iter().find(|mark| mark.is_in(line))?.name;
            if !marks.contains(&found) {
                marks.push(found);
            }
            (found == mark::CONVERSATION).then_some(())
        },
    );
    marks
}

/// True for a whole file that has state and no conversation: a background session that was stopped before anybody said anything, or the
/// snapshots of files alone (2.0.56, a session that goes on in its old file).
fn is_silent(head: &Head<'_>) -> bool {
    const SAID: [&str; 6] = [
        "uuid",
        "message",
        "operation",
        "summary",
        "leafUuid",
        "version",
    ];
    let is_state = |line: &str| {
        let mut index = StructuralIndex::default();
        parse(line, &mut index).is_ok_and(|line| {
            line.is_object() && SAID.iter().all(|member| line.member(member).is_none())
        })
    };
    head.is_complete()
        && head
            .lines()
            .all(|line| line.trim_ascii().is_empty() || is_state(line.trim_ascii()))
}

/// Every mark needs one of these fields. To search for their names spares parsing the lines of other harnesses.
fn may_have_mark(line: &str) -> bool {
    static NAMES: LazyLock<[Finder<'_>; 3]> =
        LazyLock::new(|| ["\"sessionId\"", "\"leafUuid\"", "\"messageId\""].map(Finder::new));
    NAMES
        .iter()
        .any(|name| name.find(line.as_bytes()).is_some())
}

/// The first version, session and time that a capture records.
fn identify_stream(head: &Head<'_>) -> Identity {
    let mut identity = Identity {
        schema: Some(STREAM),
        ..Identity::default()
    };
    find_line(init_lines(head), |line| {
        let line = PrintedHead::lenient(line);
        line.is_init().then(|| {
            fill(&mut identity.version, text(line.version()));
            fill(&mut identity.session_id, text(line.session_id()));
        })
    });
    identity.start = find_line(head.lines().take(MAX_LINES), |line| {
        tape_time(PrintedHead::lenient(line).timestamp()).map(Cow::into_owned)
    });
    identity
}

/// The first version, session, agent and time that the head records.
pub fn identify(head: &Head<'_>) -> Identity {
    if is_stream(head) {
        return identify_stream(head);
    }
    let mut identity = Identity::default();
    let mut only_titles = true;
    find_line(head.lines(), |line| {
        let line = Stated::lenient(line);
        fill(&mut identity.version, text(line.version()));
        fill(&mut identity.session_id, text(line.session_id()));
        fill(&mut identity.agent_id, text(line.agent_id()));
        if identity.start.is_none() {
            identity.start = tape_time(line.timestamp()).map(Cow::into_owned);
        }
        only_titles &= raw_str(line.kind()) == "summary";
        (identity.version.is_some() && identity.session_id.is_some() && identity.start.is_some())
            .then_some(())
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

#[cfg(test)]
mod tests {
    use super::*;

    fn is_marked(line: &str) -> bool {
        let mut index = StructuralIndex::default();
        let value = parse(line, &mut index).unwrap();
        MARKS.iter().any(|mark| mark.is_in(value)) || PrintedHead::lenient(value).is_init()
    }

    #[test]
    fn a_file_of_state_alone_is_no_session() {
        let is_found =
            |log: &str, is_complete| probe(&Head::new(log.as_bytes(), is_complete)).is_some();
        let state = "{\"type\":\"ai-title\",\"aiTitle\":\"x\",\"sessionId\":\"s\"}\n{\"type\":\"mode\",\"mode\":\"normal\",\"sessionId\":\"s\"}\n";
        assert!(!is_found(state, true));
        assert!(is_found(state, false), "more follows");
        assert!(
            is_found(&format!("{state}{{\"type\":\"user\",\"uu"), true),
            "a line is damaged"
        );
        let snapshot = r#"{"type":"file-history-snapshot","messageId":"m","snapshot":{"messageId":"m","trackedFileBackups":{}},"isSnapshotUpdate":false}"#;
        assert!(!is_found(snapshot, true));
        assert!(is_state_alone(&Head::new(snapshot.as_bytes(), true)));
        assert!(!is_state_alone(&Head::new(b"{\"a\":1}", true)), "of whom?");
        let queued =
            r#"{"type":"queue-operation","operation":"enqueue","content":"hi","sessionId":"s"}"#;
        assert!(is_found(&format!("{state}{queued}\n"), true));
    }

    #[test]
    fn lines_of_other_harnesses_have_no_mark() {
        let line = |session: &str| {
            format!(
                r#"{{"uuid":"u1","parentUuid":null,"sessionId":"{session}","type":"user","isSidechain":false,"version":"1.0.0"}}"#
            )
        };
        assert!(is_marked(&line("0a")));
        assert!(!is_marked(&line("session-0a")), "iFlow");
        let of_parts =
            |message: &str| line("0a").replace("\"version\"", &format!("{message},\"version\""));
        assert!(
            !is_marked(&of_parts(r#""message":{"role":"user","parts":[]}"#)),
            "Qwen Code"
        );
        assert!(!is_marked(&of_parts(r#""systemPayload":{}"#)), "Qwen Code");
        let init = |more: &str| {
            format!(
                r#"{{"type":"system","subtype":"init","session_id":"s","tools":["Edit"]{more}}}"#
            )
        };
        assert!(is_marked(&init("")));
        assert!(
            !is_marked(&init(
                r#","permission_mode":"default","qwen_code_version":"0.1.0""#
            )),
            "Qwen Code"
        );
        assert!(
            !is_marked(r#"{"type":"system","subtype":"init","session_id":"s","model":"m"}"#),
            "Cursor"
        );
    }
}
