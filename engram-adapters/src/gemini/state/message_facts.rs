//! What a message of a document states, to compare it with an earlier one that has its id.

use engram_core::keys::hash64;

use crate::gemini::schema::Record;
use crate::shared::record_facts::{fact_of, fact_of_members};
use crate::shared::value::Value;

/// The place of the fact that a message has its content.
pub(super) const CONTENT: usize = 0;
/// The place of the fact that a message states tokens.
pub(super) const TOKENS: usize = 1;

/// Replaces the list by the facts of the message: its content, its tokens, its thoughts and its calls. The tokens of two messages may be
/// equal, so they count with the content.
pub(super) fn set_facts(facts: &mut Vec<u64>, message: &Record<'_>) {
    facts.clear();
    let content = fact_of_members(message.object(), &["id", "timestamp", "tokens", "thoughts", "toolCalls"]);
    facts.push(content);
    facts.push(message.tokens().map_or(content, |tokens| hash64((content, fact_of(tokens)))));
    let thoughts = message.thoughts().into_iter().flat_map(Value::elements);
    facts.extend(thoughts.map(|thought| hash64(("thought", fact_of_members(thought, &["timestamp"])))));
    facts.extend(message.tool_calls().into_iter().flat_map(Value::elements).map(|call| hash64(("call", fact_of(call)))));
}
