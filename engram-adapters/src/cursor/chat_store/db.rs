//! Opens `store.db` of the command line and the SDK: one chat as blobs under their hashes.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use engram_core::adapter::SideInfo;
use engram_core::error::AdapterError;
use engram_core::limits::Limits;
use engram_core::text::Text;
use rusqlite::OptionalExtension;
use serde::Deserialize;

use super::chat_proto::{self, push_message};
use super::turn_graph::{Blobs, StepKey, TurnGraph};
use crate::open::database::DatabaseFile;
use crate::open::lines::{Lines, json_or_text, quoted};
use crate::open::sqlite::{self, column, refused};
use crate::open::store::{Export, Opened, SkippedSession, Store, StoredSession};
use crate::shared::value::{StructuralIndex, parse};

/// A chat open for reading.
pub(in crate::cursor) struct ChatDatabase {
    store: Mutex<sqlite::Store>,
    limits: Limits,
    /// The record of the chat itself, without its secret.
    meta: String,
    root: String,
    sessions: Vec<StoredSession>,
    path: PathBuf,
}

/// The member of the chat's record that must not leave the store.
const SECRET: &str = "blobEncryptionKey";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    agent_id: String,
    #[serde(default)]
    latest_root_blob_id: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Root {
    #[serde(default)]
    root_prompt_messages_json: Vec<String>,
    #[serde(default)]
    turns: Vec<String>,
    #[serde(default)]
    summary_archives: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SummaryArchive {
    #[serde(default)]
    summarized_messages: Vec<String>,
    summary_message: Option<String>,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    content: Content,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    tool_call_id: Option<String>,
}

impl ChatDatabase {
    /// Opens a chat. None if the tables belong to another product.
    pub(in crate::cursor) fn open(database: DatabaseFile<'_>) -> Opened<ChatDatabase> {
        let DatabaseFile { path, limits, store, .. } = database;
        let value: Option<Vec<u8>> = store
            .connection()
            .query_row("SELECT value FROM meta WHERE key = '0'", [], |row| Ok(column(row.get_ref(0)?)))
            .optional()
            .map_err(refused)?;
        let Some(json) = value.as_deref().and_then(from_hex).and_then(|json| String::from_utf8(json).ok()) else { return Ok(None) };
        let mut index = StructuralIndex::default();
        let (Ok(meta), Ok(members)) = (serde_json::from_str::<Meta>(&json), parse(&json, &mut index)) else {
            return Ok(None);
        };
        // Compared decoded, so that escapes in the name cannot hide it.
        let is_secret = |name: &str| Text::Token(&format!("\"{name}\"")).eq_str(SECRET);
        let kept = members.members().filter(|(name, _)| !is_secret(name)).map(|(name, value)| format!("\"{name}\":{}", value.raw()));
        let kept = format!("{{{}}}", kept.collect::<Vec<_>>().join(","));
        let sessions = vec![StoredSession { id: meta.agent_id, path: path.to_owned() }];
        let meta_text = json_or_text(kept.as_bytes());
        let chat = ChatDatabase {
            store: Mutex::new(store),
            limits,
            meta: meta_text,
            root: meta.latest_root_blob_id,
            sessions,
            path: path.to_owned(),
        };
        Ok(Some(chat))
    }

    fn text(&self) -> Result<String, AdapterError> {
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        let mut query = store.connection().prepare("SELECT data FROM blobs WHERE id = ?1 AND data IS NOT NULL").map_err(refused)?;
        let query = std::cell::RefCell::new(&mut query);
        let blobs = |id: &str| -> Result<Option<Vec<u8>>, AdapterError> {
            query.borrow_mut().query_row([id], |row| Ok(column(row.get_ref(0)?))).optional().map_err(refused)
        };
        let mut lines = Lines::new(self.limits);
        lines.line(&[("store", "\"chat\""), ("meta", &self.meta)])?;
        if self.root.is_empty() {
            return Ok(lines.end());
        }
        let Some(json) = decoded(&self.root, &chat_proto::ROOT, &blobs)? else {
            lines.line(&[("store", "\"missing\""), ("blob", &quoted(&self.root))])?;
            return Ok(lines.end());
        };
        lines.line(&[("store", "\"root\""), ("root", &json)])?;
        let root: Root = serde_json::from_str(&json).unwrap_or_default();
        let mut graph = TurnGraph::read(&root.turns, &blobs)?;
        let mut messages = Lines::new(self.limits);
        for id in &root.summary_archives {
            push_summarized(id, &root, &mut graph, &mut messages, &blobs)?;
        }
        for id in &root.root_prompt_messages_json {
            push_message_line(id, &mut graph, &mut messages, &blobs)?;
        }
        graph.write_before(&mut lines)?;
        lines.append(messages)?;
        graph.write_after(&mut lines)?;
        Ok(lines.end())
    }
}

/// A blob that is a protobuf message, as JSON. None if it is missing, or is not a message.
fn decoded(id: &str, layout: &chat_proto::Layout, blobs: &Blobs<'_>) -> Result<Option<String>, AdapterError> {
    let mut json = String::new();
    Ok(blobs(id)?.filter(|bytes| push_message(&mut json, bytes, layout).is_ok()).map(|_| json))
}

/// Writes what a compaction replaced: the messages that the root no longer names, then the summary.
fn push_summarized(id: &str, root: &Root, graph: &mut TurnGraph, lines: &mut Lines, blobs: &Blobs<'_>) -> Result<(), AdapterError> {
    let Some(json) = decoded(id, &chat_proto::SUMMARY_ARCHIVE, blobs)? else {
        return lines.line(&[("store", "\"missing\""), ("blob", &quoted(id))]);
    };
    let archive: SummaryArchive = serde_json::from_str(&json).unwrap_or_default();
    let is_named = |id: &String| root.root_prompt_messages_json.contains(id);
    for id in archive.summarized_messages.iter().filter(|id| !is_named(id)) {
        push_message_line(id, graph, lines, blobs)?;
    }
    if archive.summary_message.as_ref().is_none_or(|id| !is_named(id)) {
        lines.line(&[("store", "\"summary\""), ("blob", &quoted(id)), ("archive", &json)])?;
    }
    Ok(())
}

/// Writes one message as the model received it, with the steps of the turn graph that have the same content.
fn push_message_line(id: &str, graph: &mut TurnGraph, lines: &mut Lines, blobs: &Blobs<'_>) -> Result<(), AdapterError> {
    let Some(bytes) = blobs(id)? else { return lines.line(&[("store", "\"missing\""), ("blob", &quoted(id))]) };
    let json = json_or_text(&bytes);
    let Ok(message) = serde_json::from_str::<Message>(&json) else {
        return lines.line(&[("store", "\"message\""), ("blob", &quoted(id)), ("message", &json)]);
    };
    let keys: Vec<Option<StepKey>> = match &message.content {
        Content::Text(text) => vec![text_key(&message.role, text)],
        Content::Parts(parts) => parts.iter().map(|part| part_key(&message.role, part)).collect(),
    };
    let mut steps = String::new();
    for (index, key) in keys.iter().enumerate() {
        if let Some(step) = key.as_ref().and_then(|key| graph.join(key)) {
            steps.push_str(if steps.is_empty() { "{" } else { "," });
            steps.push_str(&format!("\"{index}\":{step}"));
        }
    }
    steps.push_str(if steps.is_empty() { "{}" } else { "}" });
    let role = quoted(&message.role);
    lines.line(&[("store", "\"message\""), ("role", &role), ("blob", &quoted(id)), ("message", &json), ("steps", &steps)])
}

fn part_key(role: &str, part: &Part) -> Option<StepKey> {
    match (part.kind.as_str(), &part.text, &part.tool_call_id) {
        ("text", Some(text), _) => text_key(role, text),
        ("reasoning", Some(text), _) => Some(StepKey::Reasoning(text.clone())),
        ("tool-result", _, Some(id)) => Some(StepKey::Call(id.clone())),
        _ => None,
    }
}

fn text_key(role: &str, text: &str) -> Option<StepKey> {
    match role {
        "user" => {
            let query = text.split_once("<user_query>\n").and_then(|(_, rest)| Some(rest.rsplit_once("\n</user_query>")?.0));
            Some(StepKey::Prompt(query.unwrap_or(text).to_owned()))
        }
        "assistant" => Some(StepKey::Answer(text.to_owned())),
        _ => None,
    }
}

impl Store for ChatDatabase {
    fn kind(&self) -> &'static str {
        "Cursor chat store"
    }

    fn sessions(&self) -> &[StoredSession] {
        &self.sessions
    }

    fn skipped(&self) -> &[SkippedSession] {
        &[]
    }

    fn export(&self, _session: &StoredSession) -> Result<Export, AdapterError> {
        let text = self.text().map_err(|error| error.path(self.path.to_string_lossy()))?;
        Ok(Export { text, context: SideInfo::default() })
    }
}

fn from_hex(hex: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pairs = hex.chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return None;
    }
    pairs.map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}
