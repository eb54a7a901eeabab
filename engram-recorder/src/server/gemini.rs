//! Gemini's generateContent.

use serde_json::{Value, json};

use super::message::{
    Block, Dialect, Ending, Piece, Pieces, Reply, Request, ToolResult, function, list_at, text_at,
    texts, thirds,
};

/// Reads a request. The path has the model and says whether the answer is streamed.
pub fn request(path: &str, body: &Value) -> Request {
    let contents = list_at(body, "contents");
    let users: Vec<&Value> = contents
        .iter()
        .filter(|content| text_at(content, "role") == "user")
        .collect();
    let tools = list_at(body, "tools")
        .iter()
        .flat_map(|group| list_at(group, "functionDeclarations"));
    let tool = |tool: &Value| {
        let schema = tool
            .get("parametersJsonSchema")
            .or_else(|| tool.get("parameters"))
            .unwrap_or(&Value::Null);
        function(text_at(tool, "name"), schema)
    };
    let config = &body["generationConfig"];
    let schema = ["responseSchema", "responseJsonSchema"]
        .iter()
        .find_map(|member| config.get(*member));
    let is_json = text_at(config, "responseMimeType") == "application/json";
    Request {
        dialect: Dialect::GeminiGenerate,
        model: path
            .split("models/")
            .nth(1)
            .and_then(|rest| rest.split(':').next())
            .unwrap_or_default()
            .to_owned(),
        stream: path.contains("streamGenerateContent"),
        messages: contents.len(),
        tools: tools.map(tool).collect(),
        system: texts(&body["systemInstruction"]).join("\n"),
        last: users
            .last()
            .map(|content| texts(content).join("\n"))
            .unwrap_or_default(),
        users: users.iter().flat_map(|content| texts(content)).collect(),
        results: contents.last().map(results).unwrap_or_default(),
        schema: schema.cloned().or_else(|| is_json.then(|| json!({}))),
        compacts: false,
    }
}

fn results(content: &Value) -> Vec<ToolResult> {
    let returned = list_at(content, "parts")
        .iter()
        .filter_map(|part| part.get("functionResponse"));
    let result = |response: &Value| ToolResult {
        id: response["id"].as_str().map(str::to_owned),
        tool: response["name"].as_str().map(str::to_owned),
        text: response["response"].to_string(),
        is_error: None,
    };
    returned.map(result).collect()
}

fn parts(block: &Block) -> Vec<Value> {
    match block {
        Block::Say(text, _) => thirds(text)
            .into_iter()
            .map(|part| json!({"text": part}))
            .collect(),
        Block::Think(text) => vec![json!({"text": text, "thought": true})],
        Block::Call(_, call) => {
            vec![
                json!({"functionCall": {"name": call.tool, "args": call.args}, "thoughtSignature": "c2lnbmF0dXJl".repeat(6)}),
            ]
        }
        Block::Item(item) => vec![item.clone()],
        Block::Redacted(_) => Vec::new(),
    }
}

fn chunk(reply: &Reply, parts: Value, finish: Option<&str>, with_usage: bool) -> Value {
    let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
    if let Some(finish) = finish {
        candidate["finishReason"] = json!(finish);
    }
    let mut chunk =
        json!({"candidates": [candidate], "modelVersion": reply.model, "responseId": reply.id});
    if with_usage {
        let prompt = reply.usage.input + reply.usage.cache_read;
        chunk["usageMetadata"] = json!({
            "promptTokenCount": prompt,
            "candidatesTokenCount": reply.usage.output - reply.usage.reasoning,
            "thoughtsTokenCount": reply.usage.reasoning,
            "cachedContentTokenCount": reply.usage.cache_read,
            "totalTokenCount": prompt + reply.usage.output,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": prompt}],
        });
    }
    chunk
}

fn finish(reply: &Reply) -> &str {
    reply.stop.as_deref().unwrap_or("STOP")
}

/// The whole answer.
pub fn plain(reply: &Reply) -> Value {
    let parts: Vec<Value> = reply.blocks.iter().flat_map(parts).collect();
    chunk(reply, Value::Array(parts), Some(finish(reply)), true)
}

/// The answer as a stream. The last part has the reason of the end and the counts.
pub fn stream(reply: &Reply) -> Vec<Piece> {
    let mut out = Pieces::default();
    let last = reply.blocks.len().saturating_sub(1);
    for (at, block) in reply.blocks.iter().enumerate() {
        let parts = parts(block);
        let count = parts.len();
        for (n, part) in parts.into_iter().enumerate() {
            let ends = at == last && n + 1 == count && reply.ending == Ending::Whole;
            out.wait(reply.pace);
            let data = chunk(reply, json!([part]), ends.then(|| finish(reply)), ends);
            out.push(format!("data: {data}\r\n\r\n"));
        }
        out.after(reply, at);
    }
    if let Ending::Fails(what) = &reply.ending {
        out.push(format!("data: {}\r\n\r\n", error("UNAVAILABLE", what)));
    }
    out.list
}

/// An error of the API.
pub fn error(kind: &str, message: &str) -> Value {
    json!({"error": {"code": 500, "message": message, "status": kind}})
}
