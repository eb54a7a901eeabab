//! The text of a chat: its records in the order of the conversation, from the blobs that its root names.

use std::collections::HashSet;

use engram_core::error::{AdapterError, ErrorCode};
use engram_core::limits::Limits;
use serde::Deserialize;

use super::chat_proto::{self, push_message};
use super::turn_graph::{Blobs, StepKey, TurnGraph};
use crate::cursor::wrappers::words_of;
use crate::open::lines::{Lines, Size, json_or_text, quoted};

/// What a store has of one chat.
pub(in crate::cursor) struct Chat<'c> {
    /// The record of the chat itself, without its secret, as JSON.
    pub(in crate::cursor) meta: &'c str,
    /// The blobs that the store names as the root, the best one first.
    pub(in crate::cursor) roots: Vec<String>,
    /// The last blob of the store. None if it has no blobs.
    pub(in crate::cursor) last: Option<String>,
    /// The agent of the chat in the run store beside it, as JSON.
    pub(in crate::cursor) agent: Option<String>,
    /// Its runs, in order.
    pub(in crate::cursor) runs: Vec<String>,
    /// What the run store beside it lacks.
    pub(in crate::cursor) missing: Option<String>,
    /// The blobs.
    pub(in crate::cursor) blobs: &'c Blobs<'c>,
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

/// One compaction.
struct Archive<'i> {
    /// The id of its blob.
    id: &'i str,
    /// What it says, and its JSON. None if the store lacks its blob, or cannot read it.
    content: Option<(SummaryArchive, String)>,
}

impl Archive<'_> {
    /// The ids of the messages that it replaced.
    fn messages(&self) -> impl Iterator<Item = &String> {
        let content = self.content.iter();
        content.flat_map(|(archive, _)| &archive.summarized_messages)
    }

    /// True if its summary is a message that is written as one.
    fn is_summary_named(&self, named: &HashSet<&String>) -> bool {
        let summary = |(archive, _): &(SummaryArchive, String)| {
            archive
                .summary_message
                .as_ref()
                .is_some_and(|id| named.contains(id))
        };
        self.content.as_ref().is_some_and(summary)
    }

    /// Its own line: the summary, or that it is missing.
    fn line(&self, limits: Limits) -> Result<MessageLine, AdapterError> {
        let id = quoted(self.id);
        match &self.content {
            Some((_, json)) => single(
                &[("store", "\"summary\""), ("blob", &id), ("archive", json)],
                limits,
            ),
            None => single(&[("store", "\"missing\""), ("blob", &id)], limits),
        }
    }
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

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    request_id: Option<String>,
}

/// The member of an agent that names the root of its chat.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Agent {
    latest_checkpoint: Option<Checkpoint>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Checkpoint {
    #[serde(alias = "rootBlobId")]
    blob_id: Option<String>,
}

/// The id of the root blob that an agent names, from its record.
pub(in crate::cursor) fn root_of_agent(agent: &str) -> Option<String> {
    serde_json::from_str::<Agent>(agent)
        .ok()?
        .latest_checkpoint?
        .blob_id
}

/// A line of a message, and the turn whose steps it has.
struct MessageLine {
    line: Lines,
    turn: Option<usize>,
    /// It is a system prompt: the model begins anew, as after a compaction.
    is_system_prompt: bool,
}

/// The lines of messages, and their size: ids may name one message many times.
struct Messages {
    lines: Vec<MessageLine>,
    size: Size,
}

impl Messages {
    fn push(&mut self, line: MessageLine) -> Result<(), AdapterError> {
        self.size.add(line.line.len())?;
        self.lines.push(line);
        Ok(())
    }
}

impl Chat<'_> {
    /// The text.
    ///
    /// # Errors
    /// `malformed_record` if the store has blobs, but no root that leads to a message; those of the store.
    pub(in crate::cursor) fn text(&self, limits: Limits) -> Result<String, AdapterError> {
        let mut lines = Lines::new(limits);
        lines.line(&[("store", "\"chat\""), ("meta", self.meta)])?;
        if let Some(agent) = &self.agent {
            lines.line(&[("store", "\"chat_agent\""), ("agent", agent)])?;
        }
        if let Some(missing) = &self.missing {
            lines.line(&[("store", "\"missing\""), ("blob", &quoted(missing))])?;
        }
        let Some((json, root)) = self.root(&mut lines)? else {
            if self.last.is_some() {
                let error = AdapterError::new(ErrorCode::MalformedRecord)
                    .expected("the root of the conversation");
                return Err(error.found("blobs without a root"));
            }
            return self.runs_at_the_end(lines);
        };
        lines.line(&[("store", "\"root\""), ("root", &json)])?;
        let mut graph = TurnGraph::read(&root.turns, self.blobs, limits)?;
        let mut messages = Messages {
            lines: Vec::new(),
            size: Size::new(limits),
        };
        let archives = self.archives(&root.summary_archives)?;
        let current: HashSet<&String> = root.root_prompt_messages_json.iter().collect();
        // A later compaction replaces the summary of the one before, too.
        let replaced = archives.iter().flat_map(Archive::messages);
        let named: HashSet<&String> = current.iter().copied().chain(replaced).collect();
        for archive in &archives {
            self.push_replaced(archive, &current, &mut graph, &mut messages, limits)?;
            if !archive.is_summary_named(&named) {
                messages.push(archive.line(limits)?)?;
            }
        }
        for id in &root.root_prompt_messages_json {
            messages.push(self.message_line(id, &mut graph, limits)?)?;
        }
        self.write_in_order(messages.lines, &graph, lines)
    }

    /// The root: the first blob that is one. A named blob that should be there and is not is reported. Since 1.0.18 the chat itself does
    /// not name its root; in every recording it is the last blob.
    fn root(&self, lines: &mut Lines) -> Result<Option<(String, Root)>, AdapterError> {
        for id in &self.roots {
            if let Some(json) = self.decoded(id, &chat_proto::ROOT)? {
                let root = serde_json::from_str(&json).unwrap_or_default();
                return Ok(Some((json, root)));
            }
            lines.line(&[("store", "\"missing\""), ("blob", &quoted(id))])?;
        }
        let last = self.last.as_ref().filter(|last| !self.roots.contains(last));
        let Some(json) = last
            .map(|id| self.decoded(id, &chat_proto::ROOT))
            .transpose()?
            .flatten()
        else {
            return Ok(None);
        };
        let root: Root = serde_json::from_str(&json).unwrap_or_default();
        // Other messages of the graph begin with ids too, but not with those of JSON messages and turns.
        let (message, turn) = (root.root_prompt_messages_json.first(), root.turns.first());
        let is_json = |bytes: Vec<u8>| bytes.starts_with(b"{");
        let names_message = message
            .map(|id| (self.blobs)(id))
            .transpose()?
            .flatten()
            .is_some_and(is_json);
        let names_turn = message.is_none()
            && turn
                .map(|id| self.decoded(id, &chat_proto::TURN))
                .transpose()?
                .flatten()
                .is_some();
        Ok((names_message || names_turn).then_some((json, root)))
    }

    fn runs_at_the_end(&self, mut lines: Lines) -> Result<String, AdapterError> {
        self.runs
            .iter()
            .try_for_each(|run| push_run(run, &mut lines))?;
        Ok(lines.end())
    }

    /// Writes the messages, and before the first message of a turn what else is known of the turns before it: steps that no message has,
    /// and the ends of runs. A system prompt and a summary between two turns belong to the later one.
    fn write_in_order(
        &self,
        messages: Vec<MessageLine>,
        graph: &TurnGraph,
        mut lines: Lines,
    ) -> Result<String, AdapterError> {
        let ends = self.ends_of_runs(graph);
        let mut runs = self.runs.iter().zip(ends).peekable();
        let mut turn = messages
            .iter()
            .find_map(|message| message.turn)
            .unwrap_or(0);
        let mut end_turns = |before: usize, lines: &mut Lines| -> Result<(), AdapterError> {
            while let Some((run, _)) = runs.next_if(|(_, end)| *end < before) {
                push_run(run, lines)?;
            }
            Ok(())
        };
        graph.write(&mut lines, 0..turn)?;
        let mut following = turns_from(&messages);
        for message in messages {
            let from_here = following.pop().flatten();
            let next = match message.is_system_prompt {
                true => from_here,
                false => message.turn,
            };
            if let Some(next) = next.filter(|next| *next > turn) {
                graph.write(&mut lines, turn..next)?;
                end_turns(next, &mut lines)?;
                turn = next;
            }
            lines.append(message.line)?;
        }
        graph.write(&mut lines, turn..usize::MAX)?;
        end_turns(usize::MAX, &mut lines)?;
        graph.write_missing(&mut lines)?;
        Ok(lines.end())
    }

    /// The last turn of each run. A run that was taken up again has several turns, and only the first has the id of its request.
    fn ends_of_runs(&self, graph: &TurnGraph) -> Vec<usize> {
        let request_id = |run: &String| serde_json::from_str::<Run>(run).ok()?.request_id;
        let named: Vec<Option<usize>> = self
            .runs
            .iter()
            .map(|run| graph.turn_of_request(&request_id(run)?))
            .collect();
        // Before 1.0.18 runs do not have it.
        let has_all = self.runs.len() == graph.turns() && named.iter().all(Option::is_none);
        let first = |n: usize| {
            if has_all {
                Some(n)
            } else {
                named.get(n).copied().flatten()
            }
        };
        let mut ends = vec![usize::MAX - 1; self.runs.len()];
        let mut next = None;
        for (n, end) in ends.iter_mut().enumerate().rev() {
            *end = next.map_or(*end, |next: usize| next.saturating_sub(1));
            next = first(n).or(next);
        }
        ends
    }

    /// A blob that is a protobuf message, as JSON. None if it is missing, or is not a message.
    fn decoded(
        &self,
        id: &str,
        layout: &chat_proto::Layout,
    ) -> Result<Option<String>, AdapterError> {
        let mut json = String::new();
        Ok((self.blobs)(id)?
            .filter(|bytes| push_message(&mut json, bytes, layout).is_ok())
            .map(|_| json))
    }

    /// The compactions, in order.
    fn archives<'i>(&self, ids: &'i [String]) -> Result<Vec<Archive<'i>>, AdapterError> {
        let archive = |id: &'i String| -> Result<Archive<'i>, AdapterError> {
            let json = self.decoded(id, &chat_proto::SUMMARY_ARCHIVE)?;
            let content = json.map(|json| (serde_json::from_str(&json).unwrap_or_default(), json));
            Ok(Archive { id, content })
        };
        ids.iter().map(archive).collect()
    }

    /// Writes the messages that a compaction replaced, and that the root no longer names.
    fn push_replaced(
        &self,
        archive: &Archive<'_>,
        current: &HashSet<&String>,
        graph: &mut TurnGraph,
        messages: &mut Messages,
        limits: Limits,
    ) -> Result<(), AdapterError> {
        for id in archive.messages().filter(|id| !current.contains(id)) {
            messages.push(self.message_line(id, graph, limits)?)?;
        }
        Ok(())
    }

    /// One message as the model received it, with the steps of the turn graph that have the same content.
    fn message_line(
        &self,
        id: &str,
        graph: &mut TurnGraph,
        limits: Limits,
    ) -> Result<MessageLine, AdapterError> {
        let Some(bytes) = (self.blobs)(id)? else {
            return single(&[("store", "\"missing\""), ("blob", &quoted(id))], limits);
        };
        let json = json_or_text(&bytes);
        let Ok(message) = serde_json::from_str::<Message>(&json) else {
            return single(
                &[
                    ("store", "\"message\""),
                    ("blob", &quoted(id)),
                    ("message", &json),
                ],
                limits,
            );
        };
        let keys: Vec<Option<StepKey>> = match &message.content {
            Content::Text(text) => vec![text_key(&message.role, text)],
            Content::Parts(parts) => parts
                .iter()
                .map(|part| part_key(&message.role, part))
                .collect(),
        };
        let (mut steps, mut turn) = (String::new(), None);
        for (index, key) in keys.iter().enumerate() {
            if let Some((of_turn, step)) = key.as_ref().and_then(|key| graph.join(key)) {
                steps.push_str(if steps.is_empty() { "{" } else { "," });
                steps.push_str(&format!("\"{index}\":{step}"));
                turn = turn.or(Some(of_turn));
            }
        }
        steps.push_str(if steps.is_empty() { "{}" } else { "}" });
        let role = quoted(&message.role);
        let line = single(
            &[
                ("store", "\"message\""),
                ("role", &role),
                ("blob", &quoted(id)),
                ("message", &json),
                ("steps", &steps),
            ],
            limits,
        )?;
        Ok(MessageLine {
            turn,
            is_system_prompt: message.role == "system",
            ..line
        })
    }
}

/// For each message, the last one first, the first turn of the messages from it on.
fn turns_from(messages: &[MessageLine]) -> Vec<Option<usize>> {
    let mut turn = None;
    let turns = messages.iter().rev().map(|message| {
        turn = message.turn.or(turn);
        turn
    });
    turns.collect()
}

fn single(members: &[(&str, &str)], limits: Limits) -> Result<MessageLine, AdapterError> {
    let mut line = Lines::new(limits);
    line.line(members)?;
    Ok(MessageLine {
        line,
        turn: None,
        is_system_prompt: false,
    })
}

fn push_run(run: &str, lines: &mut Lines) -> Result<(), AdapterError> {
    lines.line(&[("store", "\"chat_run\""), ("run", run)])
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
        "user" => Some(StepKey::Prompt(words_of(text).to_owned())),
        "assistant" => Some(StepKey::Answer(text.to_owned())),
        _ => None,
    }
}
