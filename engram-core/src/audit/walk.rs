//! Every string value of a JSON text with its place, without recursion and without building a tree.

use std::borrow::Cow;

use memchr::memchr2;

use crate::text::{Text, push_text};

/// One level of nesting that the walk is in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Level<'j> {
    /// Byte offset at which the object or array begins.
    pub start: usize,
    pub step: Step<'j>,
}

/// The member or item that the walk is at.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step<'j> {
    /// In an object, before a key.
    NoKey,
    /// In an object, at the value of this key (a string token with its quotes).
    Key(&'j str),
    /// In an array, at this index.
    Item(usize),
}

/// A key that is no JSON string.
const NO_KEY: &str = "\"\"";

/// Walks one value and stops at its end.
pub(super) struct Walk<'j> {
    json: &'j str,
    at: usize,
    levels: Vec<Level<'j>>,
    /// The text has passed a JSON parser.
    is_json: bool,
}

impl<'j> Walk<'j> {
    /// Walks a value that has passed a JSON parser.
    pub fn of_json(json: &'j str) -> Self {
        Walk { json, at: 0, levels: Vec::new(), is_json: true }
    }

    /// Walks text that is no JSON, or ends too early, as far as it goes.
    pub fn of_fragment(json: &'j str) -> Self {
        Walk { json, at: 0, levels: Vec::new(), is_json: false }
    }

    /// The place of the string that was found last, outermost level first.
    pub fn levels(&self) -> &[Level<'j>] {
        &self.levels
    }

    /// The next string value: a token with its quotes. A token that the text cuts off is closed.
    pub fn next_string(&mut self) -> Option<Cow<'j, str>> {
        let bytes = self.json.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            match byte {
                b'"' => {
                    let token = self.token();
                    match (self.levels.last_mut().map(|level| &mut level.step), &token) {
                        (Some(step @ Step::NoKey), Cow::Borrowed(key)) => *step = Step::Key(key),
                        (Some(step @ Step::NoKey), Cow::Owned(_)) => *step = Step::Key(NO_KEY),
                        _ => return Some(token),
                    }
                    continue;
                }
                b'{' => self.levels.push(Level { start: self.at, step: Step::NoKey }),
                b'[' => self.levels.push(Level { start: self.at, step: Step::Item(0) }),
                b'}' | b']' => {
                    self.levels.pop();
                    if self.levels.is_empty() {
                        self.at = bytes.len();
                        return None;
                    }
                }
                b',' => match self.levels.last_mut().map(|level| &mut level.step) {
                    Some(Step::Item(index)) => *index += 1,
                    Some(step) => *step = Step::NoKey,
                    None => {}
                },
                _ => {}
            }
            self.at += 1;
        }
        None
    }

    /// Reads the token that begins here and passes over it.
    fn token(&mut self) -> Cow<'j, str> {
        let (json, bytes, start) = (self.json, self.json.as_bytes(), self.at);
        let mut from = start + 1;
        while let Some(found) = bytes.get(from..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
            let at = from + found;
            if bytes[at] == b'"' {
                self.at = at + 1;
                let token = &json[start..=at];
                return if self.is_json || is_string(token) { Cow::Borrowed(token) } else { Cow::Owned(escaped(&json[start + 1..at])) };
            }
            from = at + 2;
        }
        self.at = bytes.len();
        let token = closed(&json[start..]);
        Cow::Owned(if is_string(&token) { token } else { escaped(&json[start + 1..]) })
    }
}

fn is_string(token: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(token).is_ok()
}

/// Text that is no valid token, as the token of its characters as they stand.
fn escaped(text: &str) -> String {
    let mut token = String::new();
    push_text(&mut token, Text::Plain(text));
    token
}

/// A string token that ends too early, closed after its last whole character.
fn closed(cut: &str) -> String {
    let mut end = cut.len();
    if let Some(escape) = cut.rfind('\\') {
        let is_escaped = cut[..escape].bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1;
        let whole = if cut[escape..].starts_with("\\u") { 6 } else { 2 };
        if !is_escaped && cut.len() - escape < whole {
            end = escape;
        }
    }
    format!("{}\"", &cut[..end])
}

/// The place as a JSON pointer.
pub(super) fn pointer(levels: &[Level<'_>]) -> String {
    let mut pointer = String::new();
    for level in levels {
        pointer.push('/');
        match level.step {
            Step::NoKey => {}
            Step::Key(key) => pointer.push_str(&Text::Token(key).decode_lossy().replace('~', "~0").replace('/', "~1")),
            Step::Item(index) => pointer.push_str(&index.to_string()),
        }
    }
    pointer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(json: &str) -> Vec<(String, String)> {
        let mut walk = Walk::of_fragment(json);
        let mut found = Vec::new();
        while let Some(token) = walk.next_string() {
            found.push((pointer(walk.levels()), token.into_owned()));
        }
        found
    }

    fn expect(json: &str, expected: &[(&str, &str)]) {
        let found = strings(json);
        let found: Vec<(&str, &str)> = found.iter().map(|(place, token)| (place.as_str(), token.as_str())).collect();
        assert_eq!(found, expected, "{json}");
    }

    #[test]
    fn values_have_places_and_keys_are_no_values() {
        expect(
            r#"{"a" : {"b/c":["x",1,{"~":"y\"z"}],"d":true},"e":"w"}"#,
            &[("/a/b~1c/0", "\"x\""), ("/a/b~1c/2/~0", r#""y\"z""#), ("/e", "\"w\"")],
        );
        expect(r#""alone""#, &[("", "\"alone\"")]);
        expect(r#"[[],["x"]]"#, &[("/1/0", "\"x\"")]);
    }

    #[test]
    fn text_that_ends_too_early_is_walked_to_its_end() {
        expect(r#"{"a":"x","b":"y\"#, &[("/a", "\"x\""), ("/b", "\"y\"")]);
        expect(r#"{"b":"y\u00"#, &[("/b", "\"y\"")]);
        expect(r#"{"b":"y\\"#, &[("/b", r#""y\\""#)]);
        expect(r#"{"a":"x","b"#, &[("/a", "\"x\"")]);
        expect(r#"{"a":"\u00zz \x","b\q":"y"}"#, &[("/a", r#""\\u00zz \\x""#), ("/", "\"y\"")]);
    }

    #[test]
    fn the_walk_ends_with_its_value() {
        expect(r#"{"a":"x"} {"b":"y"}"#, &[("/a", "\"x\"")]);
    }

    #[test]
    fn deep_nesting_is_no_problem() {
        let deep = format!("{}\"x\"{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(strings(&deep).len(), 1);
    }
}
