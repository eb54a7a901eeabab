//! A document that ends too early or is broken, without the record in which it ends or breaks.

use crate::text::json::string_end;

/// The sound part of a document.
pub(crate) struct Whole {
    /// It, closed again where it was open.
    pub text: String,
    /// Where it ends in the document.
    pub end: usize,
}

/// The part of a cut document that holds only whole items of its outermost list. None where not even that list, or a member
/// beside it, is whole.
pub(crate) fn complete_items(text: &str) -> Option<Whole> {
    let bytes = text.as_bytes();
    let (mut open, mut at) = (Vec::new(), 0);
    let mut end: Option<(usize, usize)> = None;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let Some((close, _)) = string_end(bytes, at) else { break };
                at = close;
                continue;
            }
            b'{' => open.push(b'}'),
            b'[' => open.push(b']'),
            b'}' | b']' => {
                open.pop();
                if open.is_empty() {
                    return Some(Whole { text: text.get(..=at)?.to_owned(), end: at + 1 });
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
    // What was open there is open still: a container that closes moves the end behind itself.
    let mut whole = text.get(..end)?.to_owned();
    whole.extend(open.iter().take(depth).rev().map(|close| char::from(*close)));
    Some(Whole { text: whole, end })
}

/// True at the level of the root's members, or of the outermost list's items.
fn is_outside_items(open: &[u8]) -> bool {
    matches!(open, [_] | [b'}', b']'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_document_ends_after_its_last_whole_item() {
        for (cut, whole) in [
            (r#"{"a":"x","list":[{"n":[1,2]},{"n":[3,"#, Some(r#"{"a":"x","list":[{"n":[1,2]}]}"#)),
            (r#"{"a":"x","list":[{"n":1},{"n":2}"#, Some(r#"{"a":"x","list":[{"n":1},{"n":2}]}"#)),
            (r#"{"a":"x","list":[{"n":1}],"kind":"ma"#, Some(r#"{"a":"x","list":[{"n":1}]}"#)),
            (r#"{"a":"x","list":[{"n":"]}"#, Some(r#"{"a":"x"}"#)),
            (r#"[{"n":1},{"n""#, Some(r#"[{"n":1}]"#)),
            (r#"["one","two"#, Some(r#"["one"]"#)),
            (r#"{"a":"x"#, None),
            ("", None),
            (r#"{"list":[{"n":1}]} {"n"#, Some(r#"{"list":[{"n":1}]}"#)),
        ] {
            let kept = complete_items(cut);
            assert_eq!(kept.as_ref().map(|kept| &*kept.text), whole, "{cut}");
            assert!(kept.is_none_or(|kept| kept.text.starts_with(&cut[..kept.end])), "{cut}");
        }
    }

    #[test]
    fn any_cut_gives_json_or_nothing() {
        let document = r#"{"a":"x\"}","list":[{"n":[1,{"m":"]"}]},{"n":2}],"kind":"main"}"#;
        for end in 0..document.len() {
            if let Some(Whole { text, .. }) = complete_items(&document[..end]) {
                assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{text}");
            }
        }
    }
}
