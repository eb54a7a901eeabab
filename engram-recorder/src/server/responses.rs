//! OpenAI's responses.

use serde_json::{Map, Value, json};

use super::message::{
    Block, Dialect, Ending, Piece, Pieces, Reply, Request, ToolResult, function, list_at, text_at,
    texts, thirds,
};
use crate::tools::{Form, Offered};

/// Reads a request.
pub fn request(body: &Value) -> Request {
    let items: Vec<Value> = match &body["input"] {
        Value::String(text) => vec![json!({"role": "user", "content": text})],
        Value::Array(items) => items.clone(),
        _ => Vec::new(),
    };
    let mut tools: Vec<Offered> = list_at(body, "tools").iter().flat_map(offered).collect();
    for item in items.iter().filter(|item| {
        matches!(
            text_at(item, "type"),
            "additional_tools" | "tool_search_output"
        )
    }) {
        tools.extend(list_at(item, "tools").iter().flat_map(offered));
    }
    let users: Vec<Vec<String>> = items
        .iter()
        .filter(|item| is_of_user(item))
        .map(user_texts)
        .collect();
    // The results of the last answer stand behind it.
    let is_answer = |item: &&Value| {
        text_at(item, "role") == "assistant" || text_at(item, "type").ends_with("_call")
    };
    let behind = items.len()
        - items
            .iter()
            .rev()
            .take_while(|item| !is_answer(item))
            .count();
    let format = body
        .pointer("/text/format")
        .filter(|format| text_at(format, "type") == "json_schema");
    Request {
        dialect: Dialect::OpenaiResponses,
        model: text_at(body, "model").to_owned(),
        stream: body["stream"] == true,
        messages: items.len(),
        tools,
        system: text_at(body, "instructions").to_owned(),
        last: users
            .last()
            .map(|texts| texts.join("\n"))
            .unwrap_or_default(),
        users: users.into_iter().flatten().collect(),
        results: items[behind..].iter().filter_map(result).collect(),
        schema: format.and_then(|format| format.get("schema")).cloned(),
        compacts: items
            .last()
            .is_some_and(|item| text_at(item, "type") == "compaction_trigger"),
    }
}

fn is_of_user(item: &Value) -> bool {
    text_at(item, "role") == "user" || text_at(item, "type") == "agent_message"
}

fn user_texts(item: &Value) -> Vec<String> {
    let sealed = list_at(item, "content")
        .iter()
        .filter_map(|part| Some(part.get("encrypted_content")?.as_str()?.to_owned()));
    texts(item).into_iter().chain(sealed).collect()
}

/// A tool; of a group, its tools.
fn offered(tool: &Value) -> Vec<Offered> {
    let kind = text_at(tool, "type");
    let name = [text_at(tool, "name"), kind]
        .into_iter()
        .find(|name| !name.is_empty())
        .unwrap_or_default();
    if kind == "namespace" {
        let group = |tool: Offered| Offered {
            namespace: Some(name.to_owned()),
            ..tool
        };
        return list_at(tool, "tools")
            .iter()
            .flat_map(offered)
            .map(group)
            .collect();
    }
    let form = match kind {
        "custom" => Form::Custom,
        "local_shell" => Form::LocalShell,
        "tool_search" => Form::ToolSearch,
        _ => Form::Function,
    };
    vec![Offered {
        form,
        ..function(name, &tool["parameters"])
    }]
}

fn result(item: &Value) -> Option<ToolResult> {
    if !text_at(item, "type").ends_with("_output") || text_at(item, "type") == "tool_search_output"
    {
        return None;
    }
    let text = match &item["output"] {
        Value::String(text) => text.clone(),
        parts @ Value::Array(_) => texts(&json!({ "content": parts })).join("\n"),
        other => other.to_string(),
    };
    Some(ToolResult {
        id: item["call_id"].as_str().map(str::to_owned),
        tool: None,
        text,
        is_error: None,
    })
}

fn item(reply: &Reply, at: usize, block: &Block) -> Value {
    let id = |kind: &str| format!("{kind}_{}_{at}", reply.id.trim_start_matches("resp_"));
    match block {
        Block::Say(text, phase) => {
            let mut item = json!({
                "id": id("msg"), "type": "message", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": text, "annotations": []}],
            });
            if let Some(phase) = phase {
                item["phase"] = json!(phase);
            }
            item
        }
        Block::Think(text) => json!({
            "id": id("rs"), "type": "reasoning", "summary": [{"type": "summary_text", "text": text}], "encrypted_content": "sealed".repeat(12),
        }),
        Block::Redacted(text) => {
            json!({"id": id("rs"), "type": "reasoning", "summary": [], "encrypted_content": text})
        }
        Block::Item(item) => item.clone(),
        Block::Call(call_id, call) => {
            let mut made: Map<String, Value> = Map::new();
            let (kind, members) = match call.form {
                Form::Function => (
                    "function_call",
                    json!({"name": call.tool, "arguments": written(&call.args)}),
                ),
                Form::Custom => (
                    "custom_tool_call",
                    json!({"name": call.tool, "input": written(&call.args)}),
                ),
                Form::LocalShell => ("local_shell_call", json!({"action": call.args})),
                Form::ToolSearch => (
                    "tool_search_call",
                    json!({"execution": "client", "arguments": call.args}),
                ),
            };
            made.insert("id".to_owned(), json!(id("call")));
            made.insert("type".to_owned(), json!(kind));
            made.insert("status".to_owned(), json!("completed"));
            made.insert("call_id".to_owned(), json!(call_id));
            made.extend(members.as_object().cloned().unwrap_or_default());
            if let Some(namespace) = &call.namespace {
                made.insert("namespace".to_owned(), json!(namespace));
            }
            Value::Object(made)
        }
    }
}

/// Arguments as the API writes them: a text, or JSON as a text.
fn written(args: &Value) -> String {
    args.as_str()
        .map_or_else(|| args.to_string(), str::to_owned)
}

/// The whole answer.
pub fn plain(reply: &Reply) -> Value {
    let usage = json!({
        "input_tokens": reply.usage.input + reply.usage.cache_read,
        "input_tokens_details": {"cached_tokens": reply.usage.cache_read},
        "output_tokens": reply.usage.output,
        "output_tokens_details": {"reasoning_tokens": reply.usage.reasoning},
        "total_tokens": reply.usage.input + reply.usage.cache_read + reply.usage.output,
    });
    let output: Vec<Value> = reply
        .blocks
        .iter()
        .enumerate()
        .map(|(at, block)| item(reply, at, block))
        .collect();
    json!({
        "id": reply.id, "object": "response", "created_at": 1_767_225_600, "status": "completed", "model": reply.model, "output": output,
        "usage": usage, "error": null, "incomplete_details": null, "parallel_tool_calls": true, "tool_choice": "auto", "tools": [],
    })
}

/// The answer as a stream.
pub fn stream(reply: &Reply) -> Vec<Piece> {
    let mut out = Events::default();
    let whole = plain(reply);
    let mut begun = whole.clone();
    (begun["status"], begun["output"], begun["usage"]) =
        (json!("in_progress"), json!([]), Value::Null);
    out.send(json!({"type": "response.created", "response": begun}));
    for (at, block) in reply.blocks.iter().enumerate() {
        let item = item(reply, at, block);
        out.item(reply, at, block, &item);
        out.send(json!({"type": "response.output_item.done", "output_index": at, "item": item}));
        out.pieces.after(reply, at);
    }
    match &reply.ending {
        Ending::Whole => out.send(json!({"type": "response.completed", "response": whole})),
        Ending::Fails(what) => {
            let mut failed = begun;
            (failed["status"], failed["error"]) = (
                json!("failed"),
                json!({"code": "server_error", "message": what}),
            );
            out.send(json!({"type": "response.failed", "response": failed}));
        }
        Ending::Cut | Ending::Refused { .. } => {}
    }
    out.pieces.list
}

/// A stream whose events are numbered.
#[derive(Default)]
struct Events {
    pieces: Pieces,
    number: u64,
}

impl Events {
    fn send(&mut self, mut event: Value) {
        event["sequence_number"] = json!(self.number);
        self.number += 1;
        let name = text_at(&event, "type").to_owned();
        self.pieces.event(&name, &event);
    }

    /// An item as it grows.
    fn item(&mut self, reply: &Reply, at: usize, block: &Block, item: &Value) {
        let id = &item["id"];
        let mut begun = item.clone();
        begun["status"] = json!("in_progress");
        for (member, empty) in [
            ("content", json!([])),
            ("summary", json!([])),
            ("arguments", json!("")),
            ("input", json!("")),
        ] {
            if item
                .get(member)
                .is_some_and(|value| value.is_array() == empty.is_array() && !value.is_object())
            {
                begun[member] = empty;
            }
        }
        self.send(json!({"type": "response.output_item.added", "output_index": at, "item": begun}));
        match block {
            Block::Say(text, _) => {
                let part = json!({"type": "output_text", "text": "", "annotations": []});
                self.send(
                    json!({"type": "response.content_part.added", "item_id": id, "output_index": at, "content_index": 0, "part": part}),
                );
                for delta in thirds(text) {
                    self.pieces.wait(reply.pace);
                    self.send(json!({"type": "response.output_text.delta", "item_id": id, "output_index": at, "content_index": 0, "delta": delta}));
                }
                self.send(
                    json!({"type": "response.output_text.done", "item_id": id, "output_index": at, "content_index": 0, "text": text}),
                );
                let part = &item["content"][0];
                self.send(
                    json!({"type": "response.content_part.done", "item_id": id, "output_index": at, "content_index": 0, "part": part}),
                );
            }
            Block::Think(text) => {
                let place = |kind: &str| json!({"type": format!("response.reasoning_summary_{kind}"), "item_id": id, "output_index": at, "summary_index": 0});
                let with = |kind: &str, member: &str, value: Value| {
                    let mut event = place(kind);
                    event[member] = value;
                    event
                };
                self.send(with(
                    "part.added",
                    "part",
                    json!({"type": "summary_text", "text": ""}),
                ));
                self.send(with("text.delta", "delta", json!(text)));
                self.send(with("text.done", "text", json!(text)));
                self.send(with("part.done", "part", item["summary"][0].clone()));
            }
            Block::Call(_, call) => {
                let (kind, member) = match call.form {
                    Form::Function => ("function_call_arguments", "arguments"),
                    Form::Custom => ("custom_tool_call_input", "input"),
                    Form::LocalShell | Form::ToolSearch => return,
                };
                self.send(json!({"type": format!("response.{kind}.delta"), "item_id": id, "output_index": at, "delta": item[member]}));
                self.send(json!({"type": format!("response.{kind}.done"), "item_id": id, "output_index": at, member: item[member]}));
            }
            Block::Redacted(_) | Block::Item(_) => {}
        }
    }
}

/// The answer to a request for a compact history.
pub fn compacted(body: &Value) -> Value {
    let mut kept: Vec<Value> = list_at(body, "input")
        .iter()
        .filter(|item| text_at(item, "role") == "user")
        .cloned()
        .collect();
    kept.push(json!({"type": "compaction", "encrypted_content": "sealed".repeat(12)}));
    json!({"id": "resp_compacted", "object": "response.compaction", "output": kept})
}

/// An error of the API.
pub fn error(kind: &str, message: &str) -> Value {
    json!({"error": {"message": message, "type": kind, "code": kind}})
}
