//! Sources that are one document, brought into the form that the truth gate looks into: a line a record.

use std::borrow::Cow;

use serde_json::Value;

/// A document of messages with parts as lines: the session's record, then each message's and each part's. Other sources are lines
/// as they stand, or are not looked into by record.
pub fn one_a_line(source: &[u8]) -> Cow<'_, [u8]> {
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
fn parts_are_lines_and_other_documents_stay() {
    let document = br#"{"info": {"id": 1}, "messages": [{"info": {"id": 2}, "parts": [{"id": 3}]}]}"#;
    assert_eq!(one_a_line(document).as_ref(), b"{\"id\":1}\n{\"id\":2}\n{\"id\":3}");
    assert_eq!(one_a_line(b"{\"messages\": []}").as_ref(), b"{\"messages\": []}");
}
