//! The complete items of a document that is truncated or broken.

use crate::text::json::string_end;

/// The valid part of a document.
pub(crate) struct ValidPrefix {
    /// Its text, with all open objects and arrays closed.
    pub text: String,
    /// The offset of its end in the document.
    pub end: usize,
}

/// The start of a truncated document up to the last complete item of its outermost list, or the last complete member next to that list.
/// `None` if there is no complete item or member.
pub(crate) fn complete_items(text: &str) -> Option<ValidPrefix> {
    let bytes = text.as_bytes();
    let (mut open, mut at) = (Vec::new(), 0);
    let mut end: Option<(usize, usize)> = None;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let Some((close, _)) = string_end(bytes, at) else {
                    break;
                };
                at = close;
                continue;
            }
            b'{' => open.push(b'}'),
            b'[' => open.push(b']'),
            b'}' | b']' => {
                open.pop();
                if open.is_empty() {
                    return Some(ValidPrefix {
                        text: text.get(..=at)?.to_owned(),
                        end: at + 1,
                    });
                }
                if is_outside_items(&open) {
                    end = Some((at + 1, open.len()));
                }
            }
            b',' if is_outside_items(&open) => end = Some((at, open.len())),
            _ => {}
        }
        at += 1;
    }
    let (end, depth) = end?;
    // All containers open at `end` are still open: closing one moves `end`.
    let mut closed = text.get(..end)?.to_owned();
    closed.extend(
        open.iter()
            .take(depth)
            .rev()
            .map(|close| char::from(*close)),
    );
    Some(ValidPrefix { text: closed, end })
}

/// True at the level of the members of the root, or of the items of the outermost list.
fn is_outside_items(open: &[u8]) -> bool {
    matches!(open, [_] | [b'}', b']'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncated_document_ends_after_its_last_complete_item() {
        for (truncated, expected) in [
            (
                r#"{"a":"x","list":[{"n":[1,2]},{"n":[3,"#,
                Some(r#"{"a":"x","list":[{"n":[1,2]}]}"#),
            ),
            (
                r#"{"a":"x","list":[{"n":1},{"n":2}"#,
                Some(r#"{"a":"x","list":[{"n":1},{"n":2}]}"#),
            ),
            (
                r#"{"a":"x","list":[{"n":1}],"kind":"ma"#,
                Some(r#"{"a":"x","list":[{"n":1}]}"#),
            ),
            (r#"{"a":"x","list":[{"n":"]}"#, Some(r#"{"a":"x"}"#)),
            (r#"[{"n":1},{"n""#, Some(r#"[{"n":1}]"#)),
            (r#"["one","two"#, Some(r#"["one"]"#)),
            (r#"{"a":"x"#, None),
            ("", None),
            (r#"{"list":[{"n":1}]} {"n"#, Some(r#"{"list":[{"n":1}]}"#)),
        ] {
            let kept = complete_items(truncated);
            assert_eq!(
                kept.as_ref().map(|kept| &*kept.text),
                expected,
                "{truncated}"
            );
            assert!(
                kept.is_none_or(|kept| kept.text.starts_with(&truncated[..kept.end])),
                "{truncated}"
            );
        }
    }

    #[test]
    fn any_truncation_gives_valid_json_or_nothing() {
        let document = r#"{"a":"x\"}","list":[{"n":[1,{"m":"]"}]},{"n":2}],"kind":"main"}"#;
        for end in 0..document.len() {
            if let Some(ValidPrefix { text, .. }) = complete_items(&document[..end]) {
                assert!(
                    serde_json::from_str::<serde_json::Value>(&text).is_ok(),
                    "{text}"
                );
            }
        }
    }
}
