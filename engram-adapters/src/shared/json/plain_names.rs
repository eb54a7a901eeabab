//! Names of members and words without needless escapes: `"c\u006fntent"` is the name `content`. A word is a short string. Types of records
//! are words, and adapters compare them as they are written.

use super::node::Node;
use crate::shared::json_type::JsonType;

/// The length of the longest word with its quotes.
pub(super) const MAX_WORD: u32 = 50;

/// The text with each name of a member and each word as a tape writes it. None if all names and words are written so, or cannot be: half of a surrogate pair.
/// `nodes` are those of the text.
pub(super) fn plain_names(text: &str, nodes: &[Node]) -> Option<String> {
    let mut plain = String::new();
    let mut done = 0;
    for node in nodes {
        for (start, token) in name_token(text, *node).into_iter().chain(word_token(text, *node)) {
            let Some(name) = plain_name(token) else { continue };
            plain.push_str(text.get(done..start)?);
            plain.push_str(&name);
            done = start + token.len();
        }
    }
    if done == 0 {
        return None;
    }
    plain.push_str(text.get(done..)?);
    Some(plain)
}

/// The name of a value with its quotes, and where it begins. None for a value that is not a member, or whose name has no escape.
fn name_token(text: &str, node: Node) -> Option<(usize, &str)> {
    let start = node.name as usize;
    if node.name >= node.start || text.as_bytes().get(start) != Some(&b'"') {
        return None;
    }
    let token = text.get(start..node.name_in(text.as_bytes()).end + 1)?;
    token.contains('\\').then_some((start, token))
}

/// A word with its quotes, and where it begins. None for another value, or a word without escapes.
fn word_token(text: &str, node: Node) -> Option<(usize, &str)> {
    let is_word = node.is(JsonType::String) && node.end - node.start <= MAX_WORD;
    let token = text.get(node.start as usize..node.end as usize).filter(|_| is_word)?;
    token.contains('\\').then_some((node.start as usize, token))
}

fn plain_name(token: &str) -> Option<String> {
    let name: String = serde_json::from_str(token).ok()?;
    serde_json::to_string(&name).ok().filter(|plain| plain != token)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::shared::value::{PullReader, StructuralIndex, parse};

    /// What an object has after its names were made plain.
    fn plain(text: &str) -> String {
        parse(text, &mut StructuralIndex::default()).unwrap().raw().to_owned()
    }

    #[test]
    fn escaped_names_are_the_names() {
        assert_eq!(plain(r#"{"c\u006fntent":[{"te\u0078t" : "\u0041"},"\u0042"]}"#), r#"{"content":[{"text" : "A"},"B"]}"#);
        assert_eq!(plain(r#"{"a\/b":{"c\"\\\n":1}}"#), r#"{"a/b":{"c\"\\\n":1}}"#);
        assert_eq!(plain(r#""\u0041""#), r#""A""#);
        // Long strings, and strings that need their escapes.
        for same in [
            r#"{"a":"\u0041 text of more than fifty bytes, which is longer than any word"}"#,
            r#"{"\ud800":1}"#,
            r#"["\ud800",{"a":1}]"#,
            r#"{"\u0007":"a\nb\"\\"}"#,
        ] {
            assert_eq!(plain(same), same);
        }
    }

    #[test]
    fn escaped_names_in_a_part_of_a_document_are_the_names() {
        let (mut index, text) = (StructuralIndex::default(), r#"{"\u0061":[{"\u0062":1},{"c":"\u0064"}],"\u0065":{"\u0066":2}}"#);
        let mut reader = PullReader::of(text, &mut index).unwrap();
        assert!(reader.enter(b'{').unwrap());
        assert_eq!(reader.member().unwrap().unwrap(), "a");
        assert!(reader.enter(b'[').unwrap());
        let mut found = Vec::new();
        while reader.element().unwrap() {
            found.push(reader.value().unwrap().raw().to_owned());
        }
        assert_eq!(reader.member().unwrap().unwrap(), "e");
        found.push(reader.value().unwrap().raw().to_owned());
        assert_eq!(found, [r#"{"b":1}"#, r#"{"c":"d"}"#, r#"{"f":2}"#]);
        assert!(reader.member().unwrap().is_none() && reader.end().is_ok());
    }

    proptest! {
        #[test]
        fn every_spelling_of_a_name_gives_the_same_text(names in prop::collection::vec("[a-c\"\\\\/\n\u{e9}\u{1f600}]{0,4}", 1..6), pad in 50usize..120) {
            let pad = " ".repeat(pad);
            let escaped = |name: &str| name.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect::<String>();
            let nest = |inner: String, name: String| format!(r#"{{{name}:{inner},"pad":"\u0041{pad}"}}"#);
            let text = names.iter().map(|name| format!("\"{}\"", escaped(name))).fold("1".to_owned(), nest);
            let expected = names.iter().map(|name| serde_json::to_string(name).unwrap()).fold("1".to_owned(), nest);
            prop_assert_eq!(plain(&text), expected);
        }
    }
}
