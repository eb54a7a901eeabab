//! The logs beside `logs.json` and saved conversations, which repeat what those logs have.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use engram_core::adapter::SideFiles;
use engram_core::event::BesideFile;
use engram_core::keys::hash64;
use engram_core::text::canonical_json;
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
            self.neighbours.each_line(&Path::new(CHATS).join(log), |line| {
                if let Ok(line) = std::str::from_utf8(line) {
                    add_texts(line, &mut texts);
                }
            });
        }
        texts
    }
}

/// The members of a log whose values [`RepeatedLogs`] compares: texts, and ids of calls.
const COMPARED: [&str; 3] = ["content", "text", "id"];

/// Adds the strings of these members in a line of JSON, with their quotes, as [`SideFiles::has_text`] gets them. A document is indented, so
/// that its lines have complete members, too.
fn add_texts(line: &str, texts: &mut HashSet<u64>) {
    let (mut rest, mut is_compared) = (line, false);
    while let Some(start) = rest.find('"') {
        let Some(length) = string_length(&rest[start..]) else { return };
        let (string, after) = rest[start..].split_at(length);
        if after.trim_start().starts_with(':') {
            is_compared = COMPARED.contains(&&string[1..length - 1]);
        } else if is_compared && texts.len() < MAX_TEXTS {
            texts.insert(hash64(&*canonical_json(string)));
        }
        rest = after;
    }
}

/// The length of the JSON string at the beginning of a text, with its quotes. None if it does not end.
fn string_length(text: &str) -> Option<usize> {
    let mut end = 1;
    loop {
        end += memchr2(b'"', b'\\', text.as_bytes().get(end..)?)?;
        if text.as_bytes()[end] == b'"' {
            return Some(end + 1);
        }
        end += 2;
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
    use std::fs;

    use engram_core::text::Text;

    use super::*;

    #[test]
    fn texts_of_logs_are_found_as_the_adapter_asks_for_them() {
        let root = tempfile::tempdir().unwrap();
        let project = root.path();
        fs::create_dir(project.join(CHATS)).unwrap();
        let log = r#"{"sessionId":"926fe0a6-3070","kind":"main"}
{"type":"user","content":[{"text":"say \"hi\"\n"}]}"#;
        fs::write(project.join(CHATS).join("session-2026-11-23T02-34-926fe0a6.jsonl"), log).unwrap();
        let logs = RepeatedLogs::new(Neighbours::open(project, &project.join("logs.json")).unwrap());
        let has = |session, token| logs.has_text(session, Text::Token(token).raw());
        assert!(has(Some("926fe0a6-3070"), r#""say \"hi\"\n""#) && has(None, r#""say \"hi\"\n""#));
        assert!(!has(Some("926fe0a6-3070"), r#""main""#) && !has(Some("another-one"), r#""say \"hi\"\n""#));
        let read: Vec<(String, u64)> = logs.files_read().into_iter().map(|file| (file.name, file.bytes)).collect();
        assert_eq!(read, [("chats/session-2026-11-23T02-34-926fe0a6.jsonl".to_owned(), log.len() as u64)]);
    }

    #[test]
    fn texts_and_ids_of_a_line_are_known() {
        let mut texts = HashSet::new();
        add_texts(
            r#"{"id":"i","content":[{"text" : "a \"\u0062\" \\"}],"type":"user","more":{"content":"c"},"text":"never end"#,
            &mut texts,
        );
        let known = [r#""i""#, r#""a \"b\" \\""#, r#""c""#].map(hash64);
        assert_eq!(texts, HashSet::from(known));
    }
}
