//! Headers: a member of the first record with a value that cannot be right is a fault of that member. The log is still that of its harness.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;

use engram_adapters::Registration;
use engram_adapters::shared::value::{StructuralIndex, Value, parse};
use engram_core::adapter::{Evidence, Framing};
use engram_core::error::ErrorCode;
use engram_core::head::Head;
use engram_core::members::JsonTypes;
use engram_core::policy::Policy;

use crate::report::{self, Tally};
use crate::tape::convert_bytes;
use crate::tree::{Artifact, fixtures, registered};

/// Larger artifacts are not used: smaller ones have the same headers.
const MAX_BYTES: usize = 256 << 10;

/// A text that is no time, id or type.
const UNREADABLE: &str = "\"?\"";

/// Values that take the place of another one, each with its type.
const VALUES: [(JsonTypes, &str); 4] = [
    (JsonTypes::NUMBER, "-5"),
    (JsonTypes::STRING, UNREADABLE),
    (JsonTypes::OBJECT, "{}"),
    (JsonTypes::ARRAY, "[]"),
];

/// Members whose value says which harness wrote a log, by its marks. If it is bad, the log may be of any program.
const NAMES_THE_HARNESS: &[(&str, &[&str])] = &[
    ("stream.init.tools+session_id", &["/type", "/subtype"]),
    ("envelope", &["/type"]),
    ("exec_thread", &["/type"]),
    ("stream.init.session_id+model", &["/type"]),
    ("history.role+parts", &["/history"]),
    ("export.info.id=ses_+version,messages", &["/info"]),
    ("export.info.id=ses_+location,messages", &["/info"]),
    (
        "export.info.id=ses_+version=7,messages",
        &["/info", "/info/version"],
    ),
    ("run.sessionID=ses_+part.messageID=msg_", &["/type"]),
    ("transcript.json", &["/messages"]),
    (
        "transcript.message",
        &["/role", "/message", "/message/content"],
    ),
    ("sdk.message", &["/type"]),
    ("store.chat", &["/store"]),
    ("store.run", &["/store"]),
    ("store.composer_row", &["/store"]),
    ("store.composer_inline", &["/store"]),
    (
        "session.start.data.sessionId+copilotVersion+producer",
        &["/data"],
    ),
    ("log.header", &["/log"]),
    ("message.dir+t+m", &["/m", "/m/jsonrpc"]),
];

/// Members that state the version or the schema, or contain the member that does.
const NAMES_THE_VERSION: &[(&str, &[&str])] = &[
    ("line.sessionId+uuid+isSidechain+version", &["/version"]),
    // Only some versions write files of titles alone.
    ("summary.leafUuid", &["/type"]),
    ("stream.init.tools+session_id", &["/claude_code_version"]),
    (
        "session_meta",
        &["/type", "/payload", "/payload/cli_version"],
    ),
    ("export.info.id=ses_+version,messages", &["/info/version"]),
    ("hook.payload", &["/cursor_version"]),
    ("store.composer_row", &["/composer", "/composer/_v"]),
    (
        "session.start.data.sessionId+copilotVersion+producer",
        &["/data/copilotVersion"],
    ),
    (
        "line.uuid+parentUuid+sessionId+timestamp+type+agentName+isSidechain",
        &["/version"],
    ),
    (
        "line.uuid+parentUuid+sessionId+timestamp+type+provenance",
        &["/version"],
    ),
    (
        "printed.init.session_id+qwen_code_version",
        &["/qwen_code_version"],
    ),
];

/// What a bad value is under strict policy.
const FAULTS: [ErrorCode; 3] = [
    ErrorCode::UnknownMember,
    ErrorCode::MalformedRecord,
    ErrorCode::UnrecognizedRecord,
];

/// One member of a header.
struct Member {
    /// Its names, joined with `/`.
    pointer: String,
    /// Where its value is in the artifact.
    at: Range<usize>,
    types: JsonTypes,
}

/// The members of an object and of the objects in it.
fn members(source: &str, object: Value<'_>, above: &str, depth: usize) -> Vec<Member> {
    let mut found = Vec::new();
    for (name, value) in object.members() {
        let start = value.raw().as_ptr() as usize - source.as_ptr() as usize;
        let pointer = format!("{above}/{name}");
        if depth > 0 && value.is_object() {
            found.extend(members(source, value, &pointer, depth - 1));
        }
        found.push(Member {
            pointer,
            at: start..start + value.raw().len(),
            types: JsonTypes(value.types()),
        });
    }
    found
}

/// A changed header.
struct Trial<'a> {
    artifact: &'a Artifact,
    marks: Vec<&'static str>,
    member: String,
    value: &'static str,
    /// True if nothing follows the record.
    is_alone: bool,
    bytes: Vec<u8>,
}

impl fmt::Display for Trial<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let alone = if self.is_alone { ", alone" } else { "" };
        write!(
            f,
            "{} ({}): {} = {}{alone}",
            self.artifact.full_name(),
            self.marks.join(", "),
            self.member,
            self.value
        )
    }
}

/// Each member of the first record with each value of another type, with the records after it and alone. A document's first record is its
/// outer object.
fn trials(artifact: &Artifact) -> Vec<Trial<'_>> {
    let Some(source) = std::str::from_utf8(&artifact.bytes)
        .ok()
        .filter(|text| text.len() <= MAX_BYTES)
    else {
        return Vec::new();
    };
    let is_document =
        probe(artifact, source).is_some_and(|evidence| evidence.framing == Framing::Document);
    let first = if is_document {
        source
    } else {
        source.lines().next().unwrap_or_default()
    };
    let mut index = StructuralIndex::default();
    let Ok(record) = parse(first, &mut index) else {
        return Vec::new();
    };
    let members = members(source, record, "", 1);
    let mut found = Vec::new();
    for (is_alone, source) in [(false, source), (true, first)] {
        if is_alone && is_document
            || convert_bytes(
                artifact.adapter(),
                source.as_bytes(),
                Policy::Strict,
                artifact.context.clone(),
            )
            .is_err()
        {
            continue;
        }
        let Some(Evidence { marks, .. }) = probe(artifact, source) else {
            continue;
        };
        for Member { pointer, at, types } in &members {
            for (_, value) in VALUES
                .iter()
                .filter(|(of_value, value)| !of_value.meets(*types) || *value == UNREADABLE)
            {
                let bytes = [&source[..at.start], value, &source[at.end..]]
                    .concat()
                    .into_bytes();
                found.push(Trial {
                    artifact,
                    marks: marks.clone(),
                    member: pointer.clone(),
                    value,
                    is_alone,
                    bytes,
                });
            }
        }
    }
    found
}

fn probe(artifact: &Artifact, source: &str) -> Option<Evidence> {
    artifact.entry.probe(&Head::new(source.as_bytes(), true))
}

/// What becomes of a log with a changed header.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Found {
    /// It is converted, or is refused for the member.
    Member,
    /// No adapter recognises it.
    NoHarness,
    /// Its version or schema is not known.
    NoVersion,
    /// Anything else.
    Wrong(String),
}

/// True if two adapters have one member table.
fn has_table_of(entry: &Registration, artifact: &Artifact) -> bool {
    let table = |entry: &Registration| entry.descriptor().members;
    let (one, other) = (table(entry), table(artifact.entry));
    one.zip(other)
        .is_some_and(|(one, other)| std::ptr::eq(one, other))
}

fn found(trial: &Trial<'_>) -> Found {
    let Trial {
        artifact, bytes, ..
    } = trial;
    match registered().detect(&Head::new(bytes, true)) {
        Err(error) if error.code == ErrorCode::UnknownHarness => return Found::NoHarness,
        // The harness that this one is a fork of.
        Ok((entry, _)) if entry.id() != artifact.entry.id() && has_table_of(entry, artifact) => {
            return Found::NoHarness;
        }
        Ok((entry, _)) if entry.id() == artifact.entry.id() => {}
        other => {
            return Found::Wrong(format!(
                "detected as {:?}",
                other.map(|(entry, _)| entry.id())
            ));
        }
    }
    let convert = |policy| {
        convert_bytes(artifact.adapter(), bytes, policy, artifact.context.clone())
            .map(|tape| tape.summary)
    };
    match (convert(Policy::Strict), convert(Policy::Permissive)) {
        (Ok(_), Ok(_)) => Found::Member,
        (Err(strict), Ok(_)) if strict.code == ErrorCode::UnknownHarnessVersion => Found::NoVersion,
        (Err(strict), Ok(kept)) if FAULTS.contains(&strict.code) => {
            let is_counted = !kept.ledger.unknown.is_empty()
                || kept.ledger.unrecognized + kept.ledger.malformed > 0;
            if is_counted {
                Found::Member
            } else {
                Found::Wrong(format!(
                    "strict policy: {strict}; permissive policy counts no fault"
                ))
            }
        }
        // A document without its list of records.
        (Err(_), Err(kept)) if kept.code == ErrorCode::MalformedRecord => Found::Member,
        (strict, kept) => Found::Wrong(format!(
            "strict policy: {:?}, permissive policy: {:?}",
            strict.err(),
            kept.err()
        )),
    }
}

/// The members of the tables above that a changed header shows to be in it.
type Used = BTreeSet<(&'static str, &'static str)>;

/// The row and the member of a table, if it names the member for a log with these marks.
fn named(
    table: &[(&'static str, &'static [&'static str])],
    marks: &[&str],
    member: &str,
) -> Option<(&'static str, &'static str)> {
    let rows = table.iter().filter(|(mark, _)| marks.contains(mark));
    rows.flat_map(|(mark, members)| members.iter().map(|named| (*mark, *named)))
        .find(|(_, named)| *named == member)
}

fn finding(trial: &Trial<'_>, used: &mut Used) -> Option<String> {
    let (table, problem) = match found(trial) {
        Found::Member => return None,
        Found::Wrong(problem) => return Some(format!("{trial}: {problem}")),
        Found::NoHarness => (NAMES_THE_HARNESS, "not recognised"),
        Found::NoVersion => (NAMES_THE_VERSION, "refused for its version"),
    };
    match named(table, &trial.marks, &trial.member) {
        None => Some(format!("{trial}: {problem}")),
        Some(row) => {
            used.insert(row);
            None
        }
    }
}

#[test]
fn a_bad_value_in_a_header_is_a_fault_of_its_member() {
    let (mut tally, mut used, mut findings) = (Tally::default(), Used::new(), Vec::new());
    // The same change of records with the same marks is tried once, in the shortest artifact.
    let mut shortest: BTreeMap<_, Trial<'_>> = BTreeMap::new();
    for artifact in fixtures().artifacts() {
        tally.count("sessions");
        for trial in trials(artifact) {
            let key = (
                trial.marks.clone(),
                trial.member.clone(),
                trial.value,
                trial.is_alone,
            );
            if shortest
                .get(&key)
                .is_none_or(|known| trial.bytes.len() < known.bytes.len())
            {
                shortest.insert(key, trial);
            }
        }
    }
    for trial in shortest.values() {
        tally.count("changed headers");
        findings.extend(finding(trial, &mut used));
    }
    for (mark, members) in [NAMES_THE_HARNESS, NAMES_THE_VERSION].into_iter().flatten() {
        let unused = members
            .iter()
            .filter(|member| !used.contains(&(*mark, **member)));
        findings.extend(unused.map(|member| format!("{mark}: {member} is not needed")));
    }
    report::print("headers", &tally);
    report::assert_none("headers", &findings);
    assert!(tally.of("changed headers") > 500);
}
