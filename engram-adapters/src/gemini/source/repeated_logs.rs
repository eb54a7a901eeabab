//! The logs beside `logs.json` and saved conversations, which repeat what those logs have.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use engram_core::adapter::SideFiles;
use engram_core::event::BesideFile;
use engram_core::keys::hash64;
use engram_core::text::{Text, canonical_json, push_text};
use memchr::memchr2;

use crate::gemini::schema::hook_before;
use crate::shared::neighbours::Neighbours;

/// The directory of a project's sessions.
pub(super) const CHATS: &str = "chats";

/// The most texts of one session that are remembered.
const MAX_TEXTS: usize = 1 << 20;

/// The logs of a project. Those of a session are read when they are asked for first.
#[derive(Debug)]
pub(super) struct RepeatedLogs {
    neighbours: Neighbours,
    /// By the beginning of the session's id that file names have; all sessions under an empty one.
    texts: Mutex<BTreeMap<String, Arc<LoggedTexts>>>,
}

impl RepeatedLogs {
    pub fn new(neighbours: Neighbours) -> Self {
        RepeatedLogs {
            neighbours,
            texts: Mutex::default(),
        }
    }

    /// The texts of a session's logs; without a session, of all logs. Names of logs end with the first eight characters of the session's
    /// id.
    fn texts(&self, session_id: Option<&str>) -> Option<Arc<LoggedTexts>> {
        let session = session_id.map_or(Some(""), |id| id.get(..8))?;
        let mut known = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        Some(
            known
                .entry(session.to_owned())
                .or_insert_with(|| Arc::new(self.read(session)))
                .clone(),
        )
    }

    fn read(&self, session: &str) -> LoggedTexts {
        let mut texts = LoggedTexts::default();
        let endings = [format!("{session}.jsonl"), format!("{session}.json")];
        let names = self.neighbours.names(Path::new(CHATS)).into_iter();
        let logs = names.filter(|name| {
            name.starts_with("session-")
                && endings.iter().any(|ending| name.ends_with(ending.as_str()))
        });
        for log in logs {
            self.neighbours
                .each_line(&Path::new(CHATS).join(log), |line| {
                    if let Ok(line) = std::str::from_utf8(line) {
                        texts.add_line(line);
                    }
                });
        }
        texts
    }
}

/// The strings of logs that [`RepeatedLogs`] compares, each as a hash.
#[derive(Debug, Default)]
struct LoggedTexts {
    /// Texts of messages, and ids of calls.
    all: HashSet<u64>,
    /// Texts of prompts, each with the number of messages that have it.
    prompts: HashMap<u64, u32>,
    /// Each prompt once, by its message and its text: logs write messages again.
    counted: HashSet<(u64, u64)>,
    /// The id and the type that were read last. A message has both before its content.
    message: (u64, bool),
}

impl LoggedTexts {
    /// Adds the strings in a line of JSON, with their quotes, as the adapter asks for them. A document is indented, so that its lines have
    /// complete members, too.
    fn add_line(&mut self, line: &str) {
        let (mut rest, mut member) = (line, "");
        while let Some(start) = rest.find('"') {
            let Some(length) = string_length(&rest[start..]) else {
                return;
            };
            let (string, after) = rest[start..].split_at(length);
            if after.trim_start().starts_with(':') {
                member = &string[1..length - 1];
            } else if self.all.len() < MAX_TEXTS {
                self.add(member, string);
            }
            rest = after;
        }
    }

    fn add(&mut self, member: &str, string: &str) {
        let text = || hash64(&*canonical_json(string));
        match member {
            "type" => self.message.1 = string == "\"user\"",
            "id" => {
                self.message.0 = text();
                self.all.insert(self.message.0);
            }
            "content" | "text" => {
                let (text, (id, is_prompt)) = (text(), self.message);
                self.all.insert(text);
                // A person typed what stands behind the words of a hook.
                let text = if is_prompt {
                    behind_hook(string).unwrap_or(text)
                } else {
                    text
                };
                if is_prompt && self.counted.insert((id, text)) {
                    *self.prompts.entry(text).or_default() += 1;
                }
            }
            _ => {}
        }
    }
}

/// The key of the words behind the section of a hook that a text begins with.
fn behind_hook(string: &str) -> Option<u64> {
    let decoded = Text::Token(string).decode().ok()?;
    let (_, words) = hook_before(&decoded).filter(|(_, words)| !words.is_empty())?;
    let mut token = String::new();
    push_text(&mut token, Text::Plain(words));
    Some(hash64(&*token))
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

    fn directories(&self) -> Vec<String> {
        vec![self.neighbours.name_from_artifact(Path::new(CHATS))]
    }

    fn has_text(&self, session_id: Option<&str>, raw: &str) -> bool {
        self.texts(session_id)
            .is_some_and(|texts| texts.all.contains(&hash64(raw)))
    }

    fn count_prompts(&self, session_id: Option<&str>, raw: &str) -> u32 {
        self.texts(session_id)
            .and_then(|texts| texts.prompts.get(&hash64(raw)).copied())
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn texts_of_logs_are_found_as_the_adapter_asks_for_them() {
        let root = tempfile::tempdir().unwrap();
        let project = root.path();
        fs::create_dir(project.join(CHATS)).unwrap();
        let log = r#"{"sessionId":"926fe0a6-3070","kind":"main"}
{"type":"user","content":[{"text":"say \"hi\"\n"}]}"#;
        fs::write(
            project
                .join(CHATS)
                .join("session-2026-11-23T02-34-926fe0a6.jsonl"),
            log,
        )
        .unwrap();
        let logs =
            RepeatedLogs::new(Neighbours::open(project, &project.join("logs.json")).unwrap());
        let has = |session, token| logs.has_text(session, Text::Token(token).raw());
        assert!(has(Some("926fe0a6-3070"), r#""say \"hi\"\n""#) && has(None, r#""say \"hi\"\n""#));
        assert!(
            !has(Some("926fe0a6-3070"), r#""main""#)
                && !has(Some("another-one"), r#""say \"hi\"\n""#)
        );
        let read: Vec<(String, u64)> = logs
            .files_read()
            .into_iter()
            .map(|file| (file.name, file.bytes))
            .collect();
        assert_eq!(
            read,
            [(
                "chats/session-2026-11-23T02-34-926fe0a6.jsonl".to_owned(),
                log.len() as u64
            )]
        );
    }

    #[test]
    fn texts_and_ids_of_a_line_are_known() {
        let mut texts = LoggedTexts::default();
        texts.add_line(r#"{"id":"i","content":[{"text" : "a \"\u0062\" \\"}],"type":"user","more":{"content":"c"},"text":"never end"#);
        let known = [r#""i""#, r#""a \"b\" \\""#, r#""c""#].map(hash64);
        assert_eq!(texts.all, HashSet::from(known));
    }

    #[test]
    fn prompts_are_counted_once_for_each_message_of_a_person() {
        let mut texts = LoggedTexts::default();
        for line in [
            r#"{"id":"1","type":"user","content":[{"text":"thanks"}]}"#,
            r#"{"id":"4","type":"user","content":[{"text":"<hook_context>h</hook_context>\n\nsay \"hi\""}]}"#,
            r#"{"id":"2","type":"gemini","content":"yes","toolCalls":[{"id":"c","args":{"content":"continue"}}]}"#,
            r#"{"$set":{"messages":[{"id":"1","type":"user","content":[{"text":"thanks"}]},{"id":"3","type":"user","content":"thanks"}]}}"#,
        ] {
            texts.add_line(line);
        }
        let count = |raw: &str| texts.prompts.get(&hash64(raw)).copied().unwrap_or_default();
        assert_eq!(
            [
                r#""thanks""#,
                r#""yes""#,
                r#""continue""#,
                r#""say \"hi\"""#
            ]
            .map(count),
            [2, 0, 0, 1]
        );
    }
}
