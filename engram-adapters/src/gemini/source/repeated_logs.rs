//! The logs beside `logs.json` and saved conversations, which repeat what those logs have.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use engram_core::adapter::SideFiles;
use engram_core::event::BesideFile;
use engram_core::keys::hash64;
use memchr::memchr2;

use crate::shared::neighbours::Neighbours;

/// The folder of a project's sessions.
pub(super) const CHATS: &str = "chats";

/// The most texts of one session that are remembered.
const MAX_TEXTS: usize = 1 << 20;

/// The texts of a session's logs, each as a hash.
type Texts = Arc<HashSet<u64>>;

/// The logs of a project. Those of a session are read when they are asked for first.
#[derive(Debug)]
pub(super) struct RepeatedLogs {
    neighbours: Neighbours,
    /// By the beginning of the session's id that file names have; all sessions under an empty one.
    texts: Mutex<BTreeMap<String, Texts>>,
}

impl RepeatedLogs {
    pub fn new(neighbours: Neighbours) -> Self {
        RepeatedLogs { neighbours, texts: Mutex::default() }
    }

    fn texts(&self, session: &str) -> Texts {
        let mut known = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(session.to_owned()).or_insert_with(|| Arc::new(self.read(session))).clone()
    }

    fn read(&self, session: &str) -> HashSet<u64> {
        let mut texts = HashSet::new();
        let endings = [format!("{session}.jsonl"), format!("{session}.json")];
        let names = self.neighbours.names(Path::new(CHATS)).into_iter();
        let logs = names.filter(|name| name.starts_with("session-") && endings.iter().any(|ending| name.ends_with(ending.as_str())));
        for log in logs {
            self.neighbours.find_line(&Path::new(CHATS).join(log), "\"", |line| {
                add_texts(line, &mut texts);
                None::<()>
            });
        }
        texts
    }
}

/// Adds every string of a line of JSON, without its quotes. A document is indented, so that its lines have complete strings, too.
fn add_texts(line: &str, texts: &mut HashSet<u64>) {
    let mut rest = line;
    while let Some((_, inside)) = rest.split_once('"') {
        let mut end = 0;
        while let Some(at) = memchr2(b'"', b'\\', &inside.as_bytes()[end..]) {
            end += at;
            if inside.as_bytes()[end] == b'"' {
                break;
            }
            end = (end + 2).min(inside.len());
        }
        let Some((text, after)) = inside.split_at_checked(end).filter(|(_, after)| after.starts_with('"')) else { return };
        if texts.len() < MAX_TEXTS {
            texts.insert(hash64(text));
        }
        rest = &after[1..];
    }
}

impl SideFiles for RepeatedLogs {
    fn files_read(&self) -> Vec<BesideFile> {
        self.neighbours.files_read()
    }

    fn has_text(&self, session_id: Option<&str>, raw: &str) -> bool {
        // Names of logs end with the first eight characters of the session's id.
        let session = session_id.map_or(Some(""), |id| id.get(..8));
        session.is_some_and(|session| self.texts(session).contains(&hash64(raw)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_strings_of_a_line_are_known() {
        let mut texts = HashSet::new();
        add_texts(r#"{"content":[{"text":"a \"b\" \\"}],"n":1,"cut":"never end"#, &mut texts);
        let known = ["content", "text", r#"a \"b\" \\"#, "n", "cut"].map(hash64);
        assert_eq!(texts, HashSet::from(known));
    }
}
