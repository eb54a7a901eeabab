//! Documents of many records: the list that holds these, and what is beside it.

use engram_core::emit::Fault;
use engram_core::head::Head;

use super::value::Value;

/// The text of the head, where that may be one whole document: then its members need not stand in the harness's own order.
pub(crate) fn whole_document<'h>(head: &Head<'h>) -> Option<&'h str> {
    let text = head.text().trim_ascii();
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let is_of_lines = first.trim_ascii_end().ends_with('}') && !rest.is_empty();
    (head.is_complete() && text.ends_with('}') && !is_of_lines).then_some(text)
}

/// The one list of that name in `document`.
///
/// # Errors
/// [`Fault::Malformed`] where there is none, or several values have the name: then it is not known which of them counts.
pub(crate) fn required_array<'a>(document: Value<'a>, name: &str) -> Result<Value<'a>, Fault> {
    let mut named = document.members().filter(|(other, _)| *other == name).map(|(_, value)| value);
    match (named.next().filter(|value| value.is_array()), named.next()) {
        (Some(list), None) => Ok(list),
        (_, several) => Err(Fault::malformed(format!("/{name}"), "one list", several.map_or("none", |_| "several values"))),
    }
}

/// The document without its list, as JSON. Only where something is wrong with it is that needed.
#[cold]
pub(crate) fn without_member(document: Value<'_>, name: &str) -> String {
    let members = document.members().filter(|(other, _)| *other != name);
    let members: Vec<String> = members.map(|(name, value)| format!("\"{name}\":{}", value.raw())).collect();
    format!("{{{}}}", members.join(","))
}

#[cfg(test)]
mod tests {
    use super::super::value::{StructuralIndex, parse};
    use super::*;

    #[test]
    fn a_document_has_one_list_of_records() {
        let mut index = StructuralIndex::default();
        let document = parse(r#"{"a":1,"list":[2],"b":{"list":3}}"#, &mut index).unwrap();
        assert_eq!(required_array(document, "list").unwrap().raw(), "[2]");
        assert_eq!(without_member(document, "list"), r#"{"a":1,"b":{"list":3}}"#);
        for source in [r#"{"list":[1],"list":[2]}"#, r#"{"list":7}"#, r#"{"list":7,"list":[1]}"#, "{}", "[[1]]"] {
            assert!(required_array(parse(source, &mut index).unwrap(), "list").is_err(), "{source}");
        }
    }
}
