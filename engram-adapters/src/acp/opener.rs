//! A log of several sessions is a store: an editor has all its sessions in one connection. The export of a session is the log with empty lines in
//! the place of those of other sessions, so that each line keeps its number. A line of no session is in each export.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use engram_core::error::AdapterError;
use engram_core::limits::Limits;

use super::detect::{begins, first_session};
use super::message::{at, is_out, session_of};
use crate::open::found;
use crate::open::store::{Export, OpenedStore, Opener, Store, StoredSession};
use crate::session_form::{FormPlace, SessionForm};
use crate::shared::value::{StructuralIndex, Value, owned, parse, raw_str};

/// Where `engram acp` keeps its logs, below the data directory.
pub(super) const HOME: &str = "engram/acp";
/// How much of a log is searched for its session.
const HEAD: u64 = 256 << 10;
const KIND: &str = "log of an ACP connection";
/// A log of more sessions is one artifact.
const MAX_SESSIONS: usize = 256;

pub(super) const OPENER: Opener = Opener {
    begins_lines: begins,
    open_text,
    ..Opener::NOTHING
};

/// The agent may keep a log of its own.
pub(super) const FORMS: &[SessionForm] = &[SessionForm {
    name: KIND,
    only_here: "",
    session_id: |place| match place {
        FormPlace::Stored(KIND, session) => Some(session.id.clone()),
        FormPlace::Stored(..) => None,
        FormPlace::File(path) => {
            let is_log = path.parent()?.ends_with(HOME) && path.extension()? == "jsonl";
            let mut first = Vec::new();
            let log = is_log.then(|| found(path).ok())??;
            log.take(HEAD).read_to_end(&mut first).ok()?;
            first_session(&first)
        }
    },
}];

/// The log, if it has several sessions and is no larger than a record may be.
fn open_text(path: &Path, first: &[u8], limits: Limits) -> OpenedStore {
    if !begins(first) {
        return Ok(None);
    }
    let mut owners = Owners::default();
    let is_whole = each_line(path, limits, |line| {
        owners.add(line);
        owners.sessions.len() <= MAX_SESSIONS
    })?;
    if !is_whole || owners.sessions.len() < 2 {
        return Ok(None);
    }
    let session = |id: &String| StoredSession {
        id: id.clone(),
        path: path.to_owned(),
    };
    let mut sessions: Vec<_> = owners.sessions.iter().map(session).collect();
    sessions.sort_by(|one, other| one.id.cmp(&other.id));
    Ok(Some(Box::new(Connection {
        path: path.to_owned(),
        limits,
        owners,
        sessions,
    })))
}

/// Calls a function for each line, until it returns false. True if it saw all lines, and they are no larger than a record may be.
fn each_line(
    path: &Path,
    limits: Limits,
    mut line: impl FnMut(&[u8]) -> bool,
) -> Result<bool, AdapterError> {
    let failed = |error: std::io::Error| AdapterError::from(error).path(path.to_string_lossy());
    let reader = found(path).map_err(failed)?;
    let mut reader = BufReader::new(reader.take(limits.record_bytes.saturating_add(1)));
    let (mut text, mut bytes) = (Vec::new(), 0_u64);
    loop {
        text.clear();
        bytes += reader.read_until(b'\n', &mut text).map_err(failed)? as u64;
        if text.is_empty() || bytes > limits.record_bytes || !line(&text) {
            return Ok(text.is_empty());
        }
    }
}

/// Which session each line is of.
#[derive(Default)]
struct Owners {
    /// The sessions, in the order in which the log names them.
    sessions: Vec<String>,
    /// For each line the place of its session; `None` if it is of no session.
    of_lines: Vec<Option<usize>>,
    /// Requests without an answer, by direction and id: their lines.
    open: HashMap<(bool, String), usize>,
}

impl Owners {
    fn add(&mut self, line: &[u8]) {
        let mut index = StructuralIndex::default();
        let text = std::str::from_utf8(line).ok();
        let value = text.and_then(|text| parse(text.trim_end(), &mut index).ok());
        let owner = value.and_then(|value| self.owner(value));
        self.of_lines.push(owner);
    }

    fn owner(&mut self, value: Value<'_>) -> Option<usize> {
        let named = owned(session_of(value)).map(|id| self.place(id));
        let Some(id) = at(value, "m/id") else {
            return named;
        };
        let id = id.raw().to_owned();
        let is_out = is_out(value);
        if !raw_str(at(value, "m/method")).is_empty() {
            self.open.insert((is_out, id), self.of_lines.len());
            return named;
        }
        let request = self.open.remove(&(!is_out, id))?;
        if let Some(begun) = named {
            // The answer names the session that the request begins.
            self.of_lines[request] = Some(begun);
        }
        self.of_lines[request]
    }

    fn place(&mut self, id: String) -> usize {
        let known = self.sessions.iter().position(|known| *known == id);
        known.unwrap_or_else(|| {
            self.sessions.push(id);
            self.sessions.len() - 1
        })
    }
}

/// A log of several sessions.
struct Connection {
    path: PathBuf,
    limits: Limits,
    owners: Owners,
    sessions: Vec<StoredSession>,
}

impl Store for Connection {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn sessions(&self) -> &[StoredSession] {
        &self.sessions
    }

    fn export(&self, session: &StoredSession) -> Result<Export, AdapterError> {
        let mut ids = self.owners.sessions.iter();
        let wanted = ids.position(|id| *id == session.id);
        let (mut text, mut lines) = (Vec::new(), self.owners.of_lines.iter());
        // What was written since the log was opened is not of this export.
        each_line(&self.path, self.limits, |line| match lines.next() {
            Some(owner) if owner.is_none() || *owner == wanted => {
                text.extend_from_slice(line);
                true
            }
            Some(_) => {
                text.push(b'\n');
                true
            }
            None => false,
        })?;
        Ok(Export {
            text: String::from_utf8_lossy(&text).into_owned(),
            context: Default::default(),
        })
    }

    fn verify_unchanged(&self) -> Result<(), AdapterError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::open::beginning;
    use crate::sessions::{FoundSessions, SessionFinder, SessionOptions};

    fn found(path: &Path) -> FoundSessions {
        let options = SessionOptions::default();
        let mut finder = SessionFinder::new(&options);
        finder.add(path);
        finder.finish()
    }

    fn fixture(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../fixtures")
            .join(name)
    }

    #[test]
    fn each_session_of_a_connection_has_its_lines_at_their_places() {
        let path = fixture("acp/1/sessions/session/1.jsonl");
        let text = fs::read_to_string(&path).unwrap();
        let first = beginning(&path).unwrap();
        let store = open_text(&path, &first, Limits::default())
            .unwrap()
            .unwrap();
        let [one, other] = store.sessions() else {
            panic!("{:?}", store.sessions())
        };
        let exports = [one, other].map(|session| store.export(session).unwrap().text);
        for (export, id) in exports.iter().zip([&other.id, &one.id]) {
            assert!(!export.contains(id.as_str()));
            let lines = export.lines().zip(text.lines());
            assert!(
                lines
                    .clone()
                    .all(|(line, whole)| line.is_empty() || line == whole)
            );
            assert_eq!(lines.count(), text.lines().count());
        }
        // Each line is in one of them; the header, `initialize` and its answer, and the end are in both.
        let lines = exports[0].lines().zip(exports[1].lines());
        let both = lines.clone().filter(|(one, other)| one == other);
        assert_eq!(both.count(), 4);
        assert!(
            lines
                .into_iter()
                .all(|(one, other)| one.len() + other.len() > 0)
        );
        // A log of one session is a file.
        let path = fixture("acp/1/kimi/session/1.jsonl");
        let first = beginning(&path).unwrap();
        assert!(
            open_text(&path, &first, Limits::default())
                .unwrap()
                .is_none()
        );
    }

    #[cfg(feature = "qwen")]
    #[test]
    fn the_agents_own_log_comes_first_if_it_has_as_much() {
        let id = "d46d6792-7dd3-4dd3-b867-5c07b9465c3b";
        let log = format!(".qwen/projects/-home-dev-proj/chats/{id}.jsonl");
        let own = fixture("qwen/0.24.4/acp/session").join(&log);
        let home = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = home.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put(&log, &fs::read_to_string(own).unwrap());
        let connection = |prompts: usize| {
            let prompt = |n| {
                format!(
                    "{{\"dir\":\"out\",\"t\":1795900441.{n:06},\"m\":{{\"jsonrpc\":\"2.0\",\"id\":{n},\"method\":\"session/prompt\",\
                     \"params\":{{\"sessionId\":\"{id}\",\"prompt\":[{{\"type\":\"text\",\"text\":\"a {n}\"}}]}}}}}}\n"
                )
            };
            (0..prompts).map(prompt).collect::<String>()
        };
        put(".local/share/engram/acp/1.jsonl", &connection(1));
        let forms = found(home.path());
        assert_eq!(forms.locations.len(), 1);
        let [other] = forms.other_forms.as_slice() else {
            panic!("{:?}", forms.other_forms)
        };
        assert!(
            other.is_skipped && other.reason.starts_with(KIND),
            "{}",
            other.reason
        );
        assert!(other.used.path().ends_with(&log));
        // One that has more is converted, too.
        put(".local/share/engram/acp/1.jsonl", &connection(90));
        assert_eq!(found(home.path()).locations.len(), 2);
    }
}
