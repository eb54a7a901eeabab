//! Authorship logs of the Git AI standard 3.0.0 (github.com/git-ai-project/git-ai, `specs/git_ai_standard_v3.0.0.md` of August 2026), in its
//! form with sessions. A log is the text of a git note of one commit.
//!
//! Sessions have no numbers of added or overwritten lines: nobody counted them. Where the standard asks for a random id of each checkpoint,
//! the id here follows from the name of the call, so that the same commit gives the same log.

use std::collections::BTreeMap;

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{Commit, File, Made, merged};

/// Where the standard keeps the notes.
pub const NOTES_REF: &str = "refs/notes/ai";
/// The version of the format.
const SCHEMA_VERSION: &str = "authorship/3.0.0";
/// Hexadecimal digits of an id.
const ID_DIGITS: usize = 14;
/// The standard's own words for harnesses that it calls otherwise (its table of the member `tool`).
const TOOLS: [(&str, &str); 1] = [("claude-code", "claude")];
/// The word for a model that nobody knows. The standard needs one.
const NO_MODEL: &str = "unknown";

#[derive(Serialize)]
struct Metadata<'c> {
    schema_version: &'static str,
    base_commit_sha: &'c str,
    /// Of versions of the tool before 1.4. The member must be there.
    prompts: BTreeMap<String, ()>,
    sessions: BTreeMap<String, Session<'c>>,
}

#[derive(Serialize)]
struct Session<'c> {
    agent_id: AgentId<'c>,
}

#[derive(Serialize)]
struct AgentId<'c> {
    tool: &'c str,
    id: &'c str,
    model: &'c str,
}

/// The log of a commit, and what it cannot hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Log {
    /// The text; `None` for a commit without lines whose call is known.
    pub text: Option<String>,
    /// Files whose names the format cannot hold: a quotation mark or a control character is in them.
    pub left_out: Vec<String>,
}

/// Writes the log of a commit.
pub fn log(commit: &Commit) -> Log {
    let (mut log, mut attested) = (Log::default(), String::new());
    let mut sessions = BTreeMap::new();
    for file in commit.files.iter().filter(|file| !file.made.is_empty()) {
        let Some(name) = quoted(&file.path) else {
            log.left_out.push(file.path.clone());
            continue;
        };
        attested.push_str(&format!("{name}\n{}", entries(file)));
        for made in &file.made {
            let model = made.model.as_deref().unwrap_or(NO_MODEL);
            let agent_id = AgentId {
                tool: tool(&made.harness),
                id: &made.session,
                model,
            };
            // A session that changed its model keeps the first one that is met: the format has one.
            sessions
                .entry(session_id(made))
                .or_insert(Session { agent_id });
        }
    }
    if attested.is_empty() {
        return log;
    }
    let metadata = Metadata {
        schema_version: SCHEMA_VERSION,
        base_commit_sha: &commit.sha,
        prompts: BTreeMap::new(),
        sessions,
    };
    // A value of strings and maps has a JSON form.
    let metadata = serde_json::to_string_pretty(&metadata).unwrap_or_default();
    log.text = Some(format!("{attested}---\n{metadata}"));
    log
}

/// A line for each call, in the order of the lines of the file.
fn entries(file: &File) -> String {
    let mut calls: BTreeMap<String, Vec<[usize; 2]>> = BTreeMap::new();
    for made in &file.made {
        let key = format!("{}::{}", session_id(made), id("t_", &made.call));
        calls.entry(key).or_default().extend(&made.lines);
    }
    let mut entries: Vec<(Vec<[usize; 2]>, String)> = calls
        .into_iter()
        .map(|(key, lines)| (merged(lines), key))
        .collect();
    entries.sort_unstable();
    entries
        .into_iter()
        .map(|(lines, key)| format!("  {key} {}\n", ranges(&lines)))
        .collect()
}

/// `1-4,9`.
fn ranges(lines: &[[usize; 2]]) -> String {
    let range = |[first, last]: &[usize; 2]| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    lines.iter().map(range).collect::<Vec<_>>().join(",")
}

/// The path as a line of its own: in quotation marks if there is white space in it, or if it looks like the line between the two sections.
fn quoted(path: &str) -> Option<String> {
    if path.contains(|c: char| c == '"' || c.is_control()) {
        return None;
    }
    let needs = path.contains(char::is_whitespace) || path == "---";
    Some(if needs {
        format!("\"{path}\"")
    } else {
        path.to_owned()
    })
}

fn tool(harness: &str) -> &str {
    let known = TOOLS.iter().find(|(own, _)| *own == harness);
    known.map_or(harness, |(_, theirs)| theirs)
}

/// The id that the tool of the standard itself gives the same session.
fn session_id(made: &Made) -> String {
    id("s_", &format!("{}:{}", tool(&made.harness), made.session))
}

fn id(prefix: &str, of: &str) -> String {
    let hash = Sha256::digest(of.as_bytes());
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{prefix}{}", &hex[..ID_DIGITS])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, made: &[(usize, usize, &str)]) -> File {
        let made = made.iter().map(|(first, last, call)| Made {
            lines: vec![[*first, *last]],
            harness: "claude-code".to_owned(),
            session: "s".to_owned(),
            model: None,
            call: (*call).to_owned(),
        });
        File {
            path: path.to_owned(),
            made: made.collect(),
        }
    }

    #[test]
    fn a_log_has_a_line_for_each_call_and_a_record_for_each_session() {
        let files = vec![
            file("a b.rs", &[(9, 9, "s#2"), (1, 2, "s#1"), (3, 4, "s#1")]),
            file("b\n.rs", &[(1, 1, "s#1")]),
            file("none.rs", &[]),
        ];
        let commit = Commit {
            sha: "f".repeat(40),
            files,
            ..Commit::default()
        };
        let log = log(&commit);
        assert_eq!(log.left_out, ["b\n.rs"]);
        let text = log.text.unwrap();
        let (attested, metadata) = text.split_once("\n---\n").unwrap();
        let lines: Vec<&str> = attested.lines().collect();
        assert_eq!((lines.len(), lines[0]), (3, "\"a b.rs\""));
        assert!(
            lines[1].ends_with(" 1-4") && lines[2].ends_with(" 9"),
            "{attested}"
        );
        let metadata: serde_json::Value = serde_json::from_str(metadata).unwrap();
        // The first 14 digits of the SHA-256 of `claude:s`.
        let session = id("s_", "claude:s");
        assert!(
            lines[1].starts_with(&format!("  {session}::t_")),
            "{attested}"
        );
        assert_eq!(
            metadata["sessions"][&session]["agent_id"],
            serde_json::json!({"tool": "claude", "id": "s", "model": "unknown"})
        );
        assert_eq!(metadata["base_commit_sha"], commit.sha);
        assert_eq!(super::log(&Commit::default()), Log::default());
    }
}
