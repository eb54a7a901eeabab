//! The member of agents and chats that must not leave a store.

use engram_core::text::Text;

use crate::shared::value::{StructuralIndex, Value, parse};

/// The key with which the harness encrypts content that it sends away.
const SECRET: &str = "blobEncryptionKey";

/// How deep the member is looked for. What is nested deeper is left out.
const MAX_DEPTH: usize = 8;

/// An object without the secret, at any depth. None if the text is not a JSON object.
pub(in crate::cursor) fn without_secret(json: &str) -> Option<String> {
    let mut index = StructuralIndex::default();
    let object = parse(json, &mut index)
        .ok()
        .filter(|value| value.is_object())?;
    let mut out = String::with_capacity(json.len());
    push(object, &mut out, 0);
    Some(out)
}

fn push(value: Value<'_>, out: &mut String, depth: usize) {
    if depth > MAX_DEPTH {
        out.push_str("null");
    } else if value.is_object() {
        out.push('{');
        let mut separator = "";
        for (name, member) in value.members().filter(|(name, _)| !is_secret(name)) {
            out.push_str(separator);
            out.push('"');
            out.push_str(name);
            out.push_str("\":");
            push(member, out, depth + 1);
            separator = ",";
        }
        out.push('}');
    } else if value.is_array() {
        out.push('[');
        for (n, item) in value.elements().enumerate() {
            out.push_str(if n > 0 { "," } else { "" });
            push(item, out, depth + 1);
        }
        out.push(']');
    } else {
        out.push_str(value.raw());
    }
}

/// Compares the decoded name, so that escapes cannot hide it.
fn is_secret(name: &str) -> bool {
    Text::Token(&format!("\"{name}\"")).eq_str(SECRET)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_is_left_out_however_it_is_spelled() {
        let json = r#"{"a":1,"blobEncryptionKey":"x","b":{"blob\u0045ncryptionKey":"y","c":[{"blobEncryptionKey":1,"d":"e"}]}}"#;
        assert_eq!(
            without_secret(json).unwrap(),
            r#"{"a":1,"b":{"c":[{"d":"e"}]}}"#
        );
        assert_eq!(without_secret("[1]"), None);
        assert_eq!(without_secret("secret"), None);
    }
}
