//! Splits a source that is one JSON document into records, so that texts can be searched record by record.

use std::borrow::Cow;

use serde_json::Value;

/// Turns a document of messages with parts into lines: the session's own record, then each message and each of its parts. A message without
/// a record of its own has its parts in `content`.
/// Any other source is returned unchanged.
pub fn one_record_per_line(source: &[u8]) -> Cow<'_, [u8]> {
    let Ok(Value::Object(document)) = serde_json::from_slice(source) else {
        return Cow::Borrowed(source);
    };
    let (Some(info), Some(Value::Array(messages))) =
        (document.get("info"), document.get("messages"))
    else {
        return Cow::Borrowed(source);
    };
    let mut lines = vec![info.to_string()];
    for message in messages {
        let (own, parts) = match message.get("info") {
            Some(info) => (info.to_string(), message.get("parts")),
            None => (without_content(message).to_string(), message.get("content")),
        };
        lines.push(own);
        lines.extend(
            parts
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .map(Value::to_string),
        );
    }
    Cow::Owned(lines.join("\n").into_bytes())
}

fn without_content(message: &Value) -> Value {
    let mut own = message.clone();
    if let Value::Object(members) = &mut own
        && members.get("content").is_some_and(Value::is_array)
    {
        members.remove("content");
    }
    own
}

#[test]
fn messages_without_a_record_of_their_own_have_their_parts_in_content() {
    let document = br#"{"info": {"id": 1}, "messages": [{"id": 2, "content": [{"id": 3}]}, {"id": 4, "content": "a"}]}"#;
    assert_eq!(
        one_record_per_line(document).as_ref(),
        b"{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n{\"content\":\"a\",\"id\":4}"
    );
}

#[test]
fn message_parts_become_lines_and_other_documents_do_not_change() {
    let document =
        br#"{"info": {"id": 1}, "messages": [{"info": {"id": 2}, "parts": [{"id": 3}]}]}"#;
    assert_eq!(
        one_record_per_line(document).as_ref(),
        b"{\"id\":1}\n{\"id\":2}\n{\"id\":3}"
    );
    assert_eq!(
        one_record_per_line(b"{\"messages\": []}").as_ref(),
        b"{\"messages\": []}"
    );
}
