//! What a line states beside its envelope, to compare it with an earlier line that has its `uuid`.

use engram_core::keys::hash64;

use crate::claude_code::schema::Line;
use crate::shared::record_facts::{fact_of, fact_of_members};
use crate::shared::value::{Value, raw_str};

/// Members that say how and when a line was written. A line that is written again may have others.
const ENVELOPE: &[&str] = &[
    "uuid",
    "timestamp",
    "parentUuid",
    "logicalParentUuid",
    "isSidechain",
    "userType",
    "entrypoint",
    "cwd",
    "sessionId",
    "session_id",
    "version",
    "gitBranch",
    "agentId",
    "slug",
    "promptId",
    "requestId",
    "type",
];

/// Replaces the list by the facts of a line: one for each block of its message, or one for its text or for all its content; and then
/// one if it has the structured form of a result.
pub(super) fn set_facts(facts: &mut Vec<u64>, line: &Line<'_>) {
    facts.clear();
    let kind = raw_str(line.kind());
    let member = |name| line.message().and_then(|message| message.first_member(name));
    let Some(content) = member("content") else {
        facts.push(hash64((kind, fact_of_members(line.object(), ENVELOPE))));
        return;
    };
    let of = |value: Value<'_>| hash64((kind, member("id").map(Value::raw), fact_of(value)));
    if content.is_array() && !content.is_empty_list() {
        facts.extend(content.elements().map(of));
    } else {
        facts.push(of(content));
    }
    if line.tool_use_result().is_some_and(Value::is_object) {
        facts.push(hash64((kind, "structured")));
    }
}
