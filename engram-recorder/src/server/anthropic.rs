//! Anthropic's messages.

use serde_json::{Value, json};

use super::message::{
    Block, Dialect, Ending, Piece, Pieces, Reply, Request, ToolResult, function, list_at, text_at,
    texts, thirds,
};

/// How many of the last messages may have results: notes of the harness follow them.
const RESULT_MESSAGES: usize = 3;

/// Reads a request.
pub fn request(body: &Value) -> Request {
    let messages = list_at(body, "messages");
    let users: Vec<&Value> = messages
        .iter()
        .filter(|message| text_at(message, "role") == "user")
        .collect();
    let format = body
        .pointer("/output_config/format/schema")
        .or_else(|| body.pointer("/output_format/schema"));
    let system = match &body["system"] {
        Value::String(text) => text.clone(),
        blocks => texts(&json!({ "content": blocks })).join("\n"),
    };
    Request {
        dialect: Dialect::AnthropicMessages,
        model: text_at(body, "model").to_owned(),
        stream: body["stream"] == true,
        messages: messages.len(),
        tools: list_at(body, "tools")
            .iter()
            .map(|tool| function(text_at(tool, "name"), &tool["input_schema"]))
            .collect(),
        system,
        last: users
            .last()
            .map(|message| texts(message).join("\n"))
            .unwrap_or_default(),
        users: users.iter().flat_map(|message| texts(message)).collect(),
        results: messages
            .iter()
            .rev()
            .take(RESULT_MESSAGES)
            .rev()
            .flat_map(results)
            .collect(),
        schema: format.cloned(),
        compacts: false,
    }
}

fn results(message: &Value) -> Vec<ToolResult> {
    let blocks = list_at(message, "content")
        .iter()
        .filter(|block| text_at(block, "type") == "tool_result");
    let result = |block: &Value| {
        let text = match &block["content"] {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        };
        ToolResult {
            id: block["tool_use_id"].as_str().map(str::to_owned),
            tool: None,
            text,
            is_error: block["is_error"].as_bool(),
        }
    };
    blocks.map(result).collect()
}

fn content(block: &Block) -> Value {
    match block {
        Block::Say(text, _) => json!({"type": "text", "text": text}),
        Block::Think(text) => {
            json!({"type": "thinking", "thinking": text, "signature": "c2lnbmF0dXJl".repeat(12)})
        }
        Block::Redacted(text) => json!({"type": "redacted_thinking", "data": text}),
        Block::Call(id, call) => {
            json!({"type": "tool_use", "id": id, "name": call.tool, "input": call.args})
        }
        Block::Item(item) => item.clone(),
    }
}

fn message(reply: &Reply, content: Value, stop: Value, output: u64) -> Value {
    let usage = json!({
        "input_tokens": reply.usage.input,
        "cache_creation_input_tokens": reply.usage.cache_write,
        "cache_read_input_tokens": reply.usage.cache_read,
        "output_tokens": output,
    });
    json!({
        "id": reply.id, "type": "message", "role": "assistant", "model": reply.model, "content": content,
        "stop_reason": stop, "stop_sequence": null, "usage": usage,
    })
}

fn stop(reply: &Reply) -> Value {
    json!(reply.stop.as_deref().unwrap_or(if reply.calls() {
        "tool_use"
    } else {
        "end_turn"
    }))
}

/// The whole answer.
pub fn plain(reply: &Reply) -> Value {
    message(
        reply,
        reply.blocks.iter().map(content).collect(),
        stop(reply),
        reply.usage.output,
    )
}

/// The answer as a stream.
pub fn stream(reply: &Reply) -> Vec<Piece> {
    let mut out = Pieces::default();
    out.event(
        "message_start",
        &json!({"type": "message_start", "message": message(reply, json!([]), Value::Null, 1)}),
    );
    out.event("ping", &json!({"type": "ping"}));
    for (index, block) in reply.blocks.iter().enumerate() {
        let content = content(block);
        let (empty, deltas) = opened(block, &content);
        out.event(
            "content_block_start",
            &json!({"type": "content_block_start", "index": index, "content_block": empty}),
        );
        for delta in deltas {
            out.wait(reply.pace);
            out.event(
                "content_block_delta",
                &json!({"type": "content_block_delta", "index": index, "delta": delta}),
            );
        }
        out.event(
            "content_block_stop",
            &json!({"type": "content_block_stop", "index": index}),
        );
        out.after(reply, index);
    }
    match &reply.ending {
        Ending::Fails(what) => {
            out.event(
                "error",
                &json!({"type": "error", "error": {"type": "overloaded_error", "message": what}}),
            );
        }
        Ending::Whole => {
            let delta = json!({"stop_reason": stop(reply), "stop_sequence": null});
            out.event("message_delta", &json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": reply.usage.output}}));
            out.event("message_stop", &json!({"type": "message_stop"}));
        }
        Ending::Cut | Ending::Refused { .. } => {}
    }
    out.list
}

/// A block as it is opened, and what is added to it.
fn opened(block: &Block, content: &Value) -> (Value, Vec<Value>) {
    match block {
        Block::Say(text, _) => {
            let deltas = thirds(text)
                .into_iter()
                .map(|part| json!({"type": "text_delta", "text": part}));
            (json!({"type": "text", "text": ""}), deltas.collect())
        }
        Block::Think(text) => {
            let signature = json!({"type": "signature_delta", "signature": content["signature"]});
            let deltas = vec![
                json!({"type": "thinking_delta", "thinking": text}),
                signature,
            ];
            (
                json!({"type": "thinking", "thinking": "", "signature": ""}),
                deltas,
            )
        }
        Block::Call(id, call) => {
            let text = call.args.to_string();
            let deltas = thirds(&text)
                .into_iter()
                .map(|part| json!({"type": "input_json_delta", "partial_json": part}));
            (
                json!({"type": "tool_use", "id": id, "name": call.tool, "input": {}}),
                deltas.collect(),
            )
        }
        Block::Redacted(_) | Block::Item(_) => (content.clone(), Vec::new()),
    }
}

/// An error of the API.
pub fn error(kind: &str, message: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_recorded"})
}
