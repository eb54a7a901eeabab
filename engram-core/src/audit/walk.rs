//! Iteration over the string values of JSON text with their paths, without recursion and without a tree.

use std::borrow::Cow;

use memchr::memchr2;

use crate::text::{Text, push_text};

/// One level of the path to the current position.
#[derive(Debug, Clone, Copy)]
pub(super) struct Level<'j> {
    /// Byte offset at which the object or array begins.
    pub start: usize,
    pub step: Step<'j>,
}

/// The current member or item.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step<'j> {
    /// Of an object, before the key.
    NoKey,
    /// Of an object, the value of this key (a string token with its quotes).
    Key(&'j str),
    /// Of an array, the item at this index.
    Item(usize),
}

/// What a walk finds.
pub(super) enum Found<'j> {
    /// The name of a member. The path ends with it.
    Name,
    /// A string, number, boolean or `null`, as it is written.
    Leaf(Cow<'j, str>),
}

/// Replaces a key that is not a valid JSON string.
const NO_KEY: &str = "\"\"";

/// Iterates over the strings of one value and stops at its end.
pub(super) struct Walk<'j> {
    json: &'j str,
    at: usize,
    levels: Vec<Level<'j>>,
    /// True if a JSON parser has accepted the text.
    is_json: bool,
}

impl<'j> Walk<'j> {
    /// Walks a value that a JSON parser has accepted.
    pub fn of_json(json: &'j str) -> Self {
        Walk {
            json,
            at: 0,
            levels: Vec::new(),
            is_json: true,
        }
    }

    /// Walks text that is not JSON or is truncated, to its end.
    pub fn of_fragment(json: &'j str) -> Self {
        Walk {
            json,
            at: 0,
            levels: Vec::new(),
            is_json: false,
        }
    }

    /// The path of the last string, outermost level first.
    pub fn levels(&self) -> &[Level<'j>] {
        &self.levels
    }

    /// The next string value: a token with its quotes. A truncated token is closed.
    pub fn next_string(&mut self) -> Option<Cow<'j, str>> {
        loop {
            let leaf = self.next_leaf()?;
            if leaf.starts_with('"') {
                return Some(leaf);
            }
        }
    }

    /// The next string, number, boolean or `null`, as it is written.
    pub fn next_leaf(&mut self) -> Option<Cow<'j, str>> {
        loop {
            if let Found::Leaf(leaf) = self.next()? {
                return Some(leaf);
            }
        }
    }

    /// The next name of a member or leaf.
    #[inline]
    pub fn next(&mut self) -> Option<Found<'j>> {
        let bytes = self.json.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            match byte {
                b'"' => {
                    let token = self.token();
                    match (self.levels.last_mut().map(|level| &mut level.step), &token) {
                        (Some(step @ Step::NoKey), Cow::Borrowed(key)) => *step = Step::Key(key),
                        (Some(step @ Step::NoKey), Cow::Owned(_)) => *step = Step::Key(NO_KEY),
                        _ => return Some(Found::Leaf(token)),
                    }
                    return Some(Found::Name);
                }
                b'{' => self.levels.push(Level {
                    start: self.at,
                    step: Step::NoKey,
                }),
                b'[' => self.levels.push(Level {
                    start: self.at,
                    step: Step::Item(0),
                }),
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
                b' ' | b'\n' | b'\r' | b'\t' | b':' => {}
                _ => return Some(Found::Leaf(Cow::Borrowed(self.literal()))),
            }
            self.at += 1;
        }
        None
    }

    /// Reads a number or word at the current position.
    fn literal(&mut self) -> &'j str {
        let rest = &self.json[self.at..];
        let is_end = |c: char| {
            matches!(
                c,
                ',' | ']' | '}' | '"' | '[' | '{' | ':' | ' ' | '\n' | '\r' | '\t'
            )
        };
        let literal = &rest[..rest.find(is_end).unwrap_or(rest.len())];
        self.at += literal.len().max(1);
        literal
    }

    /// Reads the token at the current position.
    fn token(&mut self) -> Cow<'j, str> {
        let (json, bytes, start) = (self.json, self.json.as_bytes(), self.at);
        let mut from = start + 1;
        while let Some(found) = bytes
            .get(from..)
            .and_then(|rest| memchr2(b'"', b'\\', rest))
        {
            let at = from + found;
            if bytes[at] == b'"' {
                self.at = at + 1;
                let token = &json[start..=at];
                return if self.is_json || is_string(token) {
                    Cow::Borrowed(token)
                } else {
                    Cow::Owned(escaped(&json[start + 1..at]))
                };
            }
            from = at + 2;
        }
        self.at = bytes.len();
        let token = closed(&json[start..]);
        Cow::Owned(if is_string(&token) {
            token
        } else {
            escaped(&json[start + 1..])
        })
    }
}

fn is_string(token: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(token).is_ok()
}

/// A token with exactly these characters, for text that is not a valid token.
fn escaped(text: &str) -> String {
    let mut token = String::new();
    push_text(&mut token, Text::Plain(text));
    token
}

/// A truncated string token, closed after its last complete character.
fn closed(token: &str) -> String {
    let mut end = token.len();
    if let Some(escape) = token.rfind('\\') {
        let is_escaped = token[..escape]
            .bytes()
            .rev()
            .take_while(|byte| *byte == b'\\')
            .count()
            % 2
            == 1;
        let len = if token[escape..].starts_with("\\u") {
            6
        } else {
            2
        };
        if !is_escaped && token.len() - escape < len {
            end = escape;
        }
    }
    format!("{}\"", &token[..end])
}

/// The path as a JSON pointer.
pub(super) fn pointer(levels: &[Level<'_>]) -> String {
    let mut pointer = String::new();
    for level in levels {
        pointer.push('/');
        match level.step {
            Step::NoKey => {}
            Step::Key(key) => pointer.push_str(
                &Text::Token(key)
                    .decode_lossy()
                    .replace('~', "~0")
                    .replace('/', "~1"),
            ),
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
        let found: Vec<(&str, &str)> = found
            .iter()
            .map(|(pointer, token)| (pointer.as_str(), token.as_str()))
            .collect();
        assert_eq!(found, expected, "{json}");
    }

    #[test]
    fn values_have_paths_and_keys_are_not_values() {
        expect(
            r#"{"a" : {"b/c":["x",1,{"~":"y\"z"}],"d":true},"e":"w"}"#,
            &[
                ("/a/b~1c/0", "\"x\""),
                ("/a/b~1c/2/~0", r#""y\"z""#),
                ("/e", "\"w\""),
            ],
        );
        expect(r#""alone""#, &[("", "\"alone\"")]);
        expect(r#"[[],["x"]]"#, &[("/1/0", "\"x\"")]);
    }

    #[test]
    fn truncated_text_is_walked_to_its_end() {
        expect(r#"{"a":"x","b":"y\"#, &[("/a", "\"x\""), ("/b", "\"y\"")]);
        expect(r#"{"b":"y\u00"#, &[("/b", "\"y\"")]);
        expect(r#"{"b":"y\\"#, &[("/b", r#""y\\""#)]);
        expect(r#"{"a":"x","b"#, &[("/a", "\"x\"")]);
        expect(
            r#"{"a":"\u00zz \x","b\q":"y"}"#,
            &[("/a", r#""\\u00zz \\x""#), ("/", "\"y\"")],
        );
    }

    #[test]
    fn leaves_of_all_types_are_found() {
        let (mut walk, mut leaves) = (
            Walk::of_json(r#"{"a1":[-1.5e+3 , "2"],"b":20,"c":true,"d":null}"#),
            Vec::new(),
        );
        while let Some(leaf) = walk.next_leaf() {
            leaves.push(format!("{} {leaf}", pointer(walk.levels())));
        }
        assert_eq!(
            leaves,
            [
                "/a1/0 -1.5e+3",
                "/a1/1 \"2\"",
                "/b 20",
                "/c true",
                "/d null"
            ]
        );
    }

    #[test]
    fn the_walk_ends_with_the_value() {
        expect(r#"{"a":"x"} {"b":"y"}"#, &[("/a", "\"x\"")]);
    }

    #[test]
    fn deep_nesting_does_not_overflow_the_stack() {
        let deep = format!("{}\"x\"{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(strings(&deep).len(), 1);
    }
}
