//! Documents of many records: one JSON object with an array of records.

use engram_core::emit::Fault;
use engram_core::head::Head;
use serde::de::IgnoredAny;

use super::value::Value;

/// The text of the head, if it may be a complete document. Its members can then be read in any order.
pub fn whole_document<'h>(head: &Head<'h>) -> Option<&'h str> {
    let text = head.text().trim_ascii();
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let is_json_lines = first.trim_ascii_end().ends_with('}') && !rest.is_empty();
    (head.is_complete() && text.ends_with('}') && !is_json_lines).then_some(text)
}

/// The member `name` of `document`, which must be an array and occur once.
///
/// ```
/// use engram_adapters::shared::document::required_array;
/// use engram_adapters::shared::value::{StructuralIndex, parse};
///
/// let mut index = StructuralIndex::default();
/// let document = parse(r#"{"id":"s1","messages":[{"role":"user"}]}"#, &mut index)?;
/// assert_eq!(required_array(document, "messages")?.elements().count(), 1);
/// assert!(required_array(document, "id").is_err());
/// # Ok::<(), engram_core::emit::Fault>(())
/// ```
///
/// # Errors
/// [`Fault::Malformed`] if it is absent or not an array, or if several members have the name: readers disagree which of them counts.
pub fn required_array<'a>(document: Value<'a>, name: &str) -> Result<Value<'a>, Fault> {
    let mut named = document
        .members()
        .filter(|(other, _)| *other == name)
        .map(|(_, value)| value);
    match (named.next(), named.next()) {
        (Some(array), None) if array.is_array() => Ok(array),
        (Some(other), None) => Err(Fault::malformed(
            format!("/{name}"),
            "one list",
            other.raw(),
        )),
        (_, second) => Err(Fault::malformed(
            format!("/{name}"),
            "one list",
            second.map_or("none", |_| "several values"),
        )),
    }
}

/// The texts of the complete elements of a list, which may be cut off.
pub fn listed(list: &str) -> impl Iterator<Item = &str> {
    let mut rest = list.strip_prefix('[').unwrap_or_default();
    std::iter::from_fn(move || {
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<IgnoredAny>();
        values.next()?.ok()?;
        let (element, after) = rest.split_at_checked(values.byte_offset())?;
        rest = after.trim_start().trim_start_matches(',');
        Some(element)
    })
}

/// The document without the members of this name, as JSON. For error reports, which must not contain all records.
#[cold]
pub fn without_member(document: Value<'_>, name: &str) -> String {
    let members = document.members().filter(|(other, _)| *other != name);
    let members: Vec<String> = members
        .map(|(name, value)| format!("\"{name}\":{}", value.raw()))
        .collect();
    format!("{{{}}}", members.join(","))
}

#[cfg(test)]
mod tests {
    use super::super::value::{StructuralIndex, parse};
    use super::*;

    #[test]
    fn required_array_rejects_duplicates_and_other_types() {
        let mut index = StructuralIndex::default();
        let document = parse(r#"{"a":1,"list":[2],"b":{"list":3}}"#, &mut index).unwrap();
        assert_eq!(required_array(document, "list").unwrap().raw(), "[2]");
        assert_eq!(
            without_member(document, "list"),
            r#"{"a":1,"b":{"list":3}}"#
        );
        for source in [
            r#"{"list":[1],"list":[2]}"#,
            r#"{"list":7}"#,
            r#"{"list":7,"list":[1]}"#,
            "{}",
            "[[1]]",
        ] {
            assert!(
                required_array(parse(source, &mut index).unwrap(), "list").is_err(),
                "{source}"
            );
        }
    }
}
