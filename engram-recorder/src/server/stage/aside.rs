//! Requests that are no turn of a scenario: how they are known, and what is answered.

use serde_json::{Value, json};

use crate::server::message::{Block, Dialect, Request, text_at};

/// What requests for a summary of the history say, in the last text of a user or in the system prompt; in small letters.
const COMPACTING: &[&str] = &[
    "detailed summary of the conversation",
    "detailed summary of our conversation",
    "detailed summary of this conversation",
    "summary of the conversation so far",
    "create a detailed summary",
    "context checkpoint compaction",
    "state_snapshot",
    "detailed prompt for continuing our conversation",
    "anchored summary",
    "summarize the conversation history",
];

pub(super) fn is_compaction(request: &Request) -> bool {
    let says = |text: &str| {
        let text = text.to_lowercase();
        COMPACTING.iter().any(|phrase| text.contains(phrase))
    };
    // Among tools, a system prompt may describe how summaries are made.
    let system_too = request.tools.is_empty() || request.dialect == Dialect::GeminiGenerate;
    request.compacts || says(&request.last) || (system_too && says(&request.system))
}

/// The answer to a request for a summary. It names the conversation, so that what follows is known to go on with it.
pub(super) fn summary(request: &Request, key: &str) -> Block {
    let text = format!(
        "The person asked for work on the project, and some of it is done. The work goes on. [[{key}]]"
    );
    match request.dialect {
        Dialect::OpenaiResponses if request.compacts => {
            Block::Item(json!({"type": "compaction", "encrypted_content": "sealed".repeat(12)}))
        }
        Dialect::GeminiGenerate => Block::Say(
            format!("<state_snapshot><overall_goal>{text}</overall_goal></state_snapshot>"),
            None,
        ),
        Dialect::AnthropicMessages => Block::Say(
            format!("<analysis>Looked at all of it.</analysis>\n<summary>\n{text}\n</summary>"),
            None,
        ),
        _ => Block::Say(text, None),
    }
}

/// The answer to what a harness asks on its own behalf: in its schema, if it has one.
pub(super) fn aside(request: &Request) -> String {
    let Some(schema) = &request.schema else {
        let wants_json = request.system.contains("JSON") || request.system.contains("isNewTopic");
        return if wants_json {
            json!({"isNewTopic": true, "title": "A title"}).to_string()
        } else {
            "A title".to_owned()
        };
    };
    example(schema).to_string()
}

/// The simplest value that a schema allows.
fn example(schema: &Value) -> Value {
    if let Some(first) = schema["enum"].as_array().and_then(|values| values.first()) {
        return first.clone();
    }
    match text_at(schema, "type").to_ascii_lowercase().as_str() {
        "string" => json!(if schema["title"].is_string() {
            "A title"
        } else {
            "text"
        }),
        "boolean" => json!(false),
        "array" => json!([]),
        "number" | "integer" => json!(0),
        _ => {
            let members = schema["properties"].as_object().into_iter().flatten();
            Value::Object(
                members
                    .map(|(name, schema)| {
                        (
                            name.clone(),
                            known_answer(name).unwrap_or_else(|| example(schema)),
                        )
                    })
                    .collect(),
            )
        }
    }
}

/// Members whose simplest value would change what the harness does next.
fn known_answer(name: &str) -> Option<Value> {
    Some(match name {
        "next_speaker" => json!("user"),
        "model_choice" => json!("flash"),
        "outcome" => json!("allow"),
        _ => return None,
    })
}
