//! OpenAI's chat completions.

use serde_json::{Value, json};

use super::message::{
    Block, Dialect, Ending, Piece, Pieces, Reply, Request, ToolResult, function, list_at, text_at,
    texts, thirds,
};
use crate::tools::Call;

/// Reads a request.
pub fn request(body: &Value) -> Request {
    let messages = list_at(body, "messages");
    let of = |role: &str| {
        messages
            .iter()
            .filter(|message| text_at(message, "role") == role)
            .collect::<Vec<_>>()
    };
    let users = of("user");
    let behind = messages.len()
        - messages
            .iter()
            .rev()
            .take_while(|message| text_at(message, "role") != "assistant")
            .count();
    let result = |message: &Value| ToolResult {
        id: message["tool_call_id"].as_str().map(str::to_owned),
        tool: None,
        text: texts(message).join("\n"),
        is_error: None,
    };
    Request {
        dialect: Dialect::OpenaiChat,
        model: text_at(body, "model").to_owned(),
        stream: body["stream"] == true,
        messages: messages.len(),
        tools: list_at(body, "tools")
            .iter()
            .map(|tool| {
                function(
                    text_at(&tool["function"], "name"),
                    &tool["function"]["parameters"],
                )
            })
            .collect(),
        system: of("system")
            .into_iter()
            .flat_map(texts)
            .collect::<Vec<_>>()
            .join("\n"),
        last: users
            .last()
            .map(|message| texts(message).join("\n"))
            .unwrap_or_default(),
        users: users.into_iter().flat_map(texts).collect(),
        results: messages[behind..]
            .iter()
            .filter(|message| text_at(message, "role") == "tool")
            .map(result)
            .collect(),
        schema: body.pointer("/response_format/json_schema/schema").cloned(),
        compacts: false,
    }
}

fn finish(reply: &Reply) -> Value {
    json!(
        reply
            .stop
            .as_deref()
            .unwrap_or(if reply.calls() { "tool_calls" } else { "stop" })
    )
}

fn usage(reply: &Reply) -> Value {
    let input = reply.usage.input + reply.usage.cache_read;
    json!({
        "prompt_tokens": input, "completion_tokens": reply.usage.output, "total_tokens": input + reply.usage.output,
        "prompt_tokens_details": {"cached_tokens": reply.usage.cache_read},
        "completion_tokens_details": {"reasoning_tokens": reply.usage.reasoning},
    })
}

fn written(call: &Call) -> String {
    call.args
        .as_str()
        .map_or_else(|| call.args.to_string(), str::to_owned)
}

/// The whole answer.
pub fn plain(reply: &Reply) -> Value {
    let mut message = json!({"role": "assistant", "content": reply.text()});
    let calls: Vec<Value> = reply.blocks.iter().filter_map(call).collect();
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    json!({
        "id": reply.id, "object": "chat.completion", "created": 1_767_225_600, "model": reply.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish(reply)}], "usage": usage(reply),
    })
}

fn call(block: &Block) -> Option<Value> {
    let Block::Call(id, call) = block else {
        return None;
    };
    Some(
        json!({"id": id, "type": "function", "function": {"name": call.tool, "arguments": written(call)}}),
    )
}

/// The answer as a stream.
pub fn stream(reply: &Reply) -> Vec<Piece> {
    let mut out = Pieces::default();
    let base = json!({"id": reply.id, "object": "chat.completion.chunk", "created": 1_767_225_600, "model": reply.model});
    let chunk = |delta: Value, finish: Value| {
        let mut chunk = base.clone();
        chunk["choices"] = json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
        chunk
    };
    out.data(&chunk(
        json!({"role": "assistant", "content": ""}),
        Value::Null,
    ));
    let mut calls = 0;
    for (at, block) in reply.blocks.iter().enumerate() {
        match block {
            Block::Say(text, _) => thirds(text).into_iter().for_each(|part| {
                out.wait(reply.pace);
                out.data(&chunk(json!({"content": part}), Value::Null));
            }),
            Block::Think(text) => out.data(&chunk(json!({"reasoning_content": text}), Value::Null)),
            Block::Call(id, call) => {
                let opened = json!({"index": calls, "id": id, "type": "function", "function": {"name": call.tool, "arguments": ""}});
                out.data(&chunk(json!({"tool_calls": [opened]}), Value::Null));
                out.data(&chunk(json!({"tool_calls": [{"index": calls, "function": {"arguments": written(call)}}]}), Value::Null));
                calls += 1;
            }
            Block::Redacted(_) | Block::Item(_) => {}
        }
        out.after(reply, at);
    }
    match &reply.ending {
        Ending::Whole => {
            out.data(&chunk(json!({}), finish(reply)));
            let mut last = base.clone();
            (last["choices"], last["usage"]) = (json!([]), usage(reply));
            out.data(&last);
            out.push("data: [DONE]\n\n".to_owned());
        }
        Ending::Fails(what) => out.data(&error("server_error", what)),
        Ending::Cut | Ending::Refused { .. } => {}
    }
    out.list
}

/// An error of the API.
pub fn error(kind: &str, message: &str) -> Value {
    json!({"error": {"message": message, "type": kind, "code": kind}})
}
