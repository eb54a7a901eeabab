//! Splits a source that is one JSON document into records, so that texts can be searched record by record.

use std::borrow::Cow;

use serde_json::Value;

/// Turns a document of messages with parts into lines: the session's own record, then each message and each of its parts.
/// Any other source is returned unchanged.
pub fn one_record_per_line(source: &[u8]) -> Cow<'_, [u8]> {
    let Ok(Value::Object(document)) = serde_json::from_slice(source) else { return Cow::Borrowed(source) };
    let (Some(info), Some(Value::Array(messages))) = (document.get("info"), document.get("messages")) else { return Cow::Borrowed(source) };
    let mut lines = vec![info.to_string()];
    for message in messages {
        lines.push(message["info"].to_string());
        lines.extend(message["parts"].as_array().into_iter().flatten().map(Value::to_string));
    }
    Cow::Owned(lines.join("\n").into_bytes())
}

#[test]
fn message_parts_become_lines_and_other_documents_do_not_change() {
    let document = br#"{"info": {"id": 1}, "messages": [{"info": {"id": 2}, "parts": [{"id": 3}]}]}"#;
    assert_eq!(one_record_per_line(document).as_ref(), b"{\"id\":1}\n{\"id\":2}\n{\"id\":3}");
    assert_eq!(one_record_per_line(b"{\"messages\": []}").as_ref(), b"{\"messages\": []}");
}
