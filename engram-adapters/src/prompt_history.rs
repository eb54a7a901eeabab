//! Sessions that only the harness's history of prompts still names: harnesses delete logs after some weeks, and keep what was typed.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use engram_core::overview::Overview;

use crate::open;
use crate::shared::time::from_millis;
use crate::shared::value::{StructuralIndex, Value, integer, non_empty_text, parse};

/// The most bytes of a history that are read.
const FILE_BYTES: u64 = 256 << 20;
/// The most bytes of one line; a longer one is passed over.
const LINE_BYTES: u64 = 1 << 20;
/// The most sessions of one history.
const SESSIONS: usize = 100_000;
/// The most characters of a prompt.
const PROMPT_CHARS: usize = 200;

/// A harness's history of prompts: one JSON object a line. The fields are the names of members.
#[derive(Debug)]
pub struct PromptHistory {
    /// The file, in a home of the harness.
    pub file: &'static str,
    /// The session's id.
    pub session: &'static str,
    /// When the prompt was sent.
    pub time: &'static str,
    /// What one unit of the time is, in milliseconds.
    pub unit: i64,
    /// What was typed.
    pub prompt: &'static str,
    /// The directory; empty if the harness does not say it.
    pub project: &'static str,
}

/// A session that a history names.
#[derive(Debug)]
pub struct LostSession {
    /// The history.
    pub path: PathBuf,
    /// Id, first and last time, directory, first prompt, and the number of prompts.
    pub overview: Overview,
}

impl PromptHistory {
    /// The sessions that the history in a home names, in the order of their ids. A command of the harness (`/exit`) is no prompt.
    /// A session with commands only has no log, and is left out. Empty if the history is missing or cannot be read.
    pub fn sessions(&self, harness: &str, home: &Path) -> Vec<LostSession> {
        let path = home.join(self.file);
        let Ok(file) = open::found(&path) else {
            return Vec::new();
        };
        let (mut lines, mut found) = (BufReader::new(file.take(FILE_BYTES)), BTreeMap::new());
        let mut line = Vec::new();
        while let Some(is_whole) = next_line(&mut lines, &mut line) {
            if let (true, Ok(text)) = (is_whole, str::from_utf8(&line)) {
                self.add(text, harness, &mut found);
            }
        }
        let prompted = found.into_values().filter(|session| session.prompts > 0);
        prompted
            .map(|overview| LostSession {
                path: path.clone(),
                overview,
            })
            .collect()
    }

    fn add(&self, line: &str, harness: &str, found: &mut BTreeMap<String, Overview>) {
        let mut index = StructuralIndex::default();
        let Ok(entry) = parse(line, &mut index) else {
            return;
        };
        let word = |name| {
            Some(
                non_empty_text(entry.member(name))?
                    .decode_lossy()
                    .into_owned(),
            )
        };
        let Some((id, prompt)) = word(self.session).zip(word(self.prompt)) else {
            return;
        };
        if !found.contains_key(&id) && found.len() >= SESSIONS {
            return;
        }
        let time = self.time_of(entry);
        let session = found.entry(id.clone()).or_insert_with(|| {
            let mut session = Overview::default();
            (session.harness, session.session_id) = (harness.to_owned(), Some(id));
            session
        });
        session.start = earlier(session.start.take(), time.clone());
        session.end = session.end.take().max(time);
        session.project = session.project.take().or_else(|| word(self.project));
        if !prompt.starts_with('/') {
            session.prompts += 1;
            session.first_prompt = session
                .first_prompt
                .take()
                .or_else(|| Some(first_line(&prompt)));
        }
    }

    fn time_of(&self, entry: Value<'_>) -> Option<String> {
        from_millis(integer(entry.member(self.time))?.checked_mul(self.unit)?)
    }
}

/// The earlier of two times that are known.
fn earlier(one: Option<String>, other: Option<String>) -> Option<String> {
    one.into_iter().chain(other).min()
}

fn first_line(prompt: &str) -> String {
    let line = prompt.trim().lines().next().unwrap_or_default();
    line.chars().take(PROMPT_CHARS).collect()
}

/// Reads the next line. `Some(false)` if the line is longer than the limit; the rest of that line is skipped. `None` at the end of the file,
/// or if the file cannot be read.
fn next_line(lines: &mut impl BufRead, line: &mut Vec<u8>) -> Option<bool> {
    line.clear();
    let read = lines
        .by_ref()
        .take(LINE_BYTES)
        .read_until(b'\n', line)
        .ok()?;
    if line.ends_with(b"\n") || (read as u64) < LINE_BYTES {
        return (read > 0).then_some(true);
    }
    lines.skip_until(b'\n').ok()?;
    Some(false)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const CLAUDE: PromptHistory = PromptHistory {
        file: "history.jsonl",
        session: "sessionId",
        time: "timestamp",
        unit: 1,
        prompt: "display",
        project: "project",
    };

    fn read(text: &str) -> Vec<Overview> {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("history.jsonl"), text).unwrap();
        let sessions = CLAUDE.sessions("claude-code", home.path());
        sessions
            .into_iter()
            .map(|session| session.overview)
            .collect()
    }

    #[test]
    fn a_history_names_sessions_with_their_first_prompt() {
        let text = concat!(
            r#"{"display":"/model","pastedContents":{},"timestamp":1795256329000,"project":"/p","sessionId":"b"}"#,
            "\n",
            r#"{"display":"two\nlines","pastedContents":{},"timestamp":1795256340381,"project":"/p","sessionId":"b"}"#,
            "\n",
            r#"{"display":"more","pastedContents":{},"timestamp":1795256349464,"project":"/q","sessionId":"b"}"#,
            "\n",
            r#"{"display":"/exit","timestamp":1795256329654,"project":"/p","sessionId":"a"}"#,
            "\n",
            r#"{"display":"no id","timestamp":1795256329654,"project":"/p"}"#,
        );
        let [session] = &read(text)[..] else {
            panic!("{:?}", read(text))
        };
        assert_eq!(session.session_id.as_deref(), Some("b"));
        assert_eq!(session.first_prompt.as_deref(), Some("two"));
        assert_eq!(
            (session.project.as_deref(), session.prompts),
            (Some("/p"), 2)
        );
        assert_eq!(session.start.as_deref(), Some("2026-11-21T10:18:49.000Z"));
        assert_eq!(session.end.as_deref(), Some("2026-11-21T10:19:09.464Z"));
    }

    #[test]
    fn damaged_and_long_lines_are_passed_over() {
        let long = "x".repeat(2 << 20);
        let one = r#"{"display":"one","timestamp":1,"sessionId":"a"}"#;
        let text = format!(
            "not JSON\n[]\n{{\"display\":\"{long}\",\"timestamp\":1,\"sessionId\":\"long\"}}\n{one}\n\u{0}\n"
        );
        let ids: Vec<_> = read(&text)
            .into_iter()
            .filter_map(|session| session.session_id)
            .collect();
        assert_eq!(ids, ["a"]);
    }

    #[test]
    fn a_home_without_a_history_has_none() {
        let home = tempfile::tempdir().unwrap();
        assert!(CLAUDE.sessions("claude-code", home.path()).is_empty());
        fs::create_dir(home.path().join("history.jsonl")).unwrap();
        assert!(CLAUDE.sessions("claude-code", home.path()).is_empty());
    }
}
