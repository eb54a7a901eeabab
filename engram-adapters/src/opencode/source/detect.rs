//! Detection by named marks in the content, never by file name: which harness of the family, and the identity that the head says.

use std::sync::LazyLock;

use engram_core::adapter::{Evidence, Framing, Identity};
use engram_core::head::Head;
use memchr::memmem::Finder;
use serde::de::IgnoredAny;

use crate::opencode::dialect::dialect;
use crate::opencode::family::{FAMILIES, OF_KILO, OF_OPENCODE, of_version};
use crate::opencode::format::{LineKind, mark};
use crate::opencode::readers::{Info, Line, Time};
use crate::opencode::revisions::{STEP_STREAM, STEPS, STREAM};
use crate::shared::time::from_millis;
use crate::shared::value::{
    StructuralIndex, Value, find_line, has_members, integer, parse, raw_str, text,
};

/// A stream line names its session within this many bytes.
const SESSION_ID_WITHIN_BYTES: usize = 256;

/// At most this many lines of JSON are examined. Plain notices before a stream do not count.
const MAX_LINES: usize = 64;

/// The prefix of session ids.
const SESSION_PREFIX: &str = "ses_";
/// The prefix of message ids.
const MESSAGE_PREFIX: &str = "msg_";
/// Members of the session record of an export, whose id may be bad.
const OF_SESSION: &[&str] = &["title", "time"];

/// What the session record of an export says.
struct ExportHeader {
    session_id: Option<String>,
    parent_id: Option<String>,
    /// The title is that of an agent's session, as the harness writes it: `work (@general subagent)`.
    names_agent: bool,
    /// True in an export of 2.x, which has no version.
    is_step: bool,
    version: Option<String>,
    created: Option<i64>,
}

/// The session record at the beginning of an export. The head may end in the middle of the messages.
fn export_header(head: &Head<'_>) -> Option<ExportHeader> {
    let source = head.text();
    let record = skip_token(skip_token(skip_token(source, "{")?, "\"info\"")?, ":")?;
    let mut values = serde_json::Deserializer::from_str(record).into_iter::<IgnoredAny>();
    values.next()?.ok()?;
    let (record, rest) = record.split_at_checked(values.byte_offset())?;
    skip_token(skip_token(rest, ",")?, "\"messages\"")?;
    let mut index = StructuralIndex::default();
    let record = parse(record, &mut index).ok()?;
    let info = Info::lenient(record);
    let is_step = !has_members(record, &["version"]);
    let has_session_id = raw_str(info.id()).starts_with(SESSION_PREFIX);
    if !has_members(
        record,
        &["id", if is_step { "location" } else { "version" }],
    ) || !(has_session_id || has_members(record, OF_SESSION))
    {
        return None;
    }
    let owned = |field| text(field).map(|text| text.decode_lossy().into_owned());
    Some(ExportHeader {
        session_id: owned(info.id()).filter(|_| has_session_id),
        parent_id: owned(info.parent_id()).filter(|id| !id.is_empty()),
        names_agent: text(info.title())
            .is_some_and(|title| title.decode_lossy().ends_with(" subagent)")),
        is_step,
        version: owned(info.version()),
        created: integer(Time::lenient_opt(info.time()).created()),
    })
}

fn skip_token<'t>(source: &'t str, token: &str) -> Option<&'t str> {
    source.trim_ascii_start().strip_prefix(token)
}

/// The lines of the head that may be stream lines: each names its session before its part. Other lines are not parsed.
fn stream_lines<'h>(head: &Head<'h>) -> impl Iterator<Item = &'h str> {
    static SESSION_ID: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\"sessionID\""));
    let lines = head
        .lines()
        .filter(|line| line.trim_ascii_start().starts_with('{'))
        .take(MAX_LINES);
    lines.filter(|line| {
        SESSION_ID
            .find(&line.as_bytes()[..line.len().min(SESSION_ID_WITHIN_BYTES)])
            .is_some()
    })
}

/// True for a stream line with a call as 2.x writes it.
fn is_step_call(line: &Line<'_>) -> bool {
    let metadata = line
        .part()
        .and_then(|part| part.member("state"))
        .and_then(|state| state.member("metadata"));
    metadata
        .and_then(|metadata| metadata.member("providerCall"))
        .is_some_and(Value::is_object)
}

/// True for a stream line about the end of a request whose part says when the request began.
fn has_step_time(line: &Line<'_>) -> bool {
    line.part()
        .and_then(|part| part.member("time"))
        .is_some_and(Value::is_object)
}

/// The mark of a stream line.
fn mark_of(line: &Line<'_>) -> Option<&'static str> {
    let of_message = || {
        line.part()
            .is_some_and(|part| raw_str(part.member("messageID")).starts_with(MESSAGE_PREFIX))
    };
    let is_of_session = raw_str(line.session_id()).starts_with(SESSION_PREFIX) || of_message();
    let has = |name| has_members(line.object(), &["sessionID", "timestamp", name]);
    match LineKind::named(raw_str(line.kind())) {
        _ if !is_of_session => None,
        None => None,
        Some(LineKind::Error) => has("error").then_some(mark::STREAM_ERROR),
        Some(LineKind::ToolUse) if is_step_call(line) => {
            has("part").then_some(mark::STEP_STREAM_CALL)
        }
        Some(LineKind::StepFinish) if has_step_time(line) => Some(mark::KILO_STREAM_STEP),
        Some(_) => has("part").then_some(mark::STREAM_PART),
    }
}

/// The place of the harness in [`FAMILIES`] with its evidence, if the head is that of an export, or contains a stream line.
pub fn probe(head: &Head<'_>) -> Option<(usize, Evidence)> {
    if let Some(header) = export_header(head) {
        let family = header.version.as_deref().map_or(OF_OPENCODE, of_version);
        let mark = match family {
            OF_KILO => mark::KILO_EXPORT,
            _ if header.is_step => mark::STEP_EXPORT,
            _ => mark::EXPORT,
        };
        let evidence = Evidence {
            marks: vec![mark],
            framing: Framing::Document,
        };
        return Some((family, evidence));
    }
    let mut marks: Vec<&'static str> = Vec::new();
    find_line(stream_lines(head), |line| {
        marks.extend(mark_of(&Line::lenient(line)).filter(|mark| !marks.contains(mark)));
        None::<()>
    });
    // A fork prints lines with marks of OpenCode, too.
    let is_kilos = |mark: &&str| FAMILIES[OF_KILO].marks.contains(mark);
    let family = if marks.iter().any(is_kilos) {
        marks.retain(is_kilos);
        OF_KILO
    } else {
        OF_OPENCODE
    };
    (!marks.is_empty()).then_some((
        family,
        Evidence {
            marks,
            framing: Framing::Lines,
        },
    ))
}

/// The session id, the version that created the session, and when.
pub fn identify(head: &Head<'_>) -> Identity {
    if let Some(header) = export_header(head) {
        let identity = Identity {
            // Third-party builds may prefix the version with `v`.
            schema: header.is_step.then_some(STEPS),
            version: header.version.map(|version| {
                version
                    .strip_prefix('v')
                    .map(str::to_owned)
                    .unwrap_or(version)
            }),
            session_id: header.session_id,
            start: header.created.and_then(from_millis),
            ..Identity::default()
        };
        // A client can make a child session, too. Older versions, and 2.x, are not known to name those of agents.
        let is_agents = header.parent_id.is_some()
            && (header.names_agent || !dialect(&identity).counts_only_lines);
        return Identity {
            agent_id: identity.session_id.clone().filter(|_| is_agents),
            ..identity
        };
    }
    let of_stream = |line: Value<'_>| {
        let line = Line::lenient(line);
        mark_of(&line)?;
        let session_id = text(line.session_id()).map(|id| id.decode_lossy().into_owned());
        let start = integer(line.timestamp()).and_then(from_millis);
        Some(Identity {
            schema: Some(STREAM),
            session_id,
            start,
            ..Identity::default()
        })
    };
    let mut identity = find_line(stream_lines(head), of_stream).unwrap_or_default();
    // Without a call, a stream of 2.x is that of 1.x.
    let is_step = find_line(stream_lines(head), |line| {
        is_step_call(&Line::lenient(line)).then_some(())
    })
    .is_some();
    if is_step && identity.schema.is_some() {
        identity.schema = Some(STEP_STREAM);
    }
    identity
}

/// The ids of an exported session and of its parent.
pub fn session_and_parent(head: &Head<'_>) -> Option<(String, String)> {
    let header = export_header(head)?;
    Some((header.session_id?, header.parent_id?))
}
