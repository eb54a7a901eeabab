//! The type of a record, from the pointers of the descriptor.

use engram_core::descriptor::AdapterDescriptor;
use engram_core::members::{JsonNode, JsonTypes, RawNode};

/// The end of a pointer that means the name of the first member.
const FIRST_NAME: &str = "/#";

/// The strings at the pointers of the descriptor, joined with `/`.
pub fn record_type(descriptor: &AdapterDescriptor, record: RawNode<'_>) -> String {
    let parts = descriptor
        .record_type
        .iter()
        .filter_map(|pointer| part(record, pointer));
    parts.collect::<Vec<_>>().join("/")
}

fn part(record: RawNode<'_>, pointer: &str) -> Option<String> {
    let Some(object) = pointer.strip_suffix(FIRST_NAME) else {
        let part: String =
            value_at(record, pointer).and_then(|value| serde_json::from_str(value.json()).ok())?;
        let form = &pointer[..pointer.find('/').unwrap_or_default()];
        return Some(if form.is_empty() {
            part
        } else {
            format!("{form}/{part}")
        });
    };
    let name = value_at(record, object)?
        .members()
        .find(|(_, value)| has_string(*value))
        .map(|(name, _)| name)?;
    serde_json::from_str(&format!("\"{name}\"")).ok()
}

fn value_at<'a>(record: RawNode<'a>, pointer: &str) -> Option<RawNode<'a>> {
    pointer
        .split('/')
        .skip(1)
        .try_fold(record, |value, name| value.find(name))
}

/// True for a string, and for a value that contains one.
fn has_string(value: RawNode<'_>) -> bool {
    value.types() == JsonTypes::STRING
        || value.members().any(|(_, inner)| has_string(inner))
        || value.items().any(has_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_strings_and_names_of_first_members() {
        let part_of = |json: &str, pointer: &str| part(RawNode::parse(json).unwrap(), pointer);
        assert_eq!(part_of(r#"{"a":{"b":"x"}}"#, "/a/b").as_deref(), Some("x"));
        assert_eq!(part_of(r#"{"a":{"b":1}}"#, "/a/b"), None);
        assert_eq!(
            part_of(r#"{"a":{"b":"x"}}"#, "form/a/b").as_deref(),
            Some("form/x")
        );
        assert_eq!(
            part_of(
                r#"{"$set":{"n":1,"messages":[{"id":"x"}],"t":"y"}}"#,
                "/$set/#"
            )
            .as_deref(),
            Some("messages")
        );
        assert_eq!(part_of(r#"{"a":null}"#, "/a/#"), None);
    }
}
