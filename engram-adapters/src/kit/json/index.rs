//! The one checking pass over a record: where each of its values begins and ends, so that none is looked for twice.

use engram_core::emit::Fault;
use engram_core::limits::LimitExceeded;
use serde::de::IgnoredAny;

use super::quotes::Quotes;
use super::scan::{Declined, Scanner};

/// The most values of one record. The index takes 12 bytes a value, and a text of short ones would make it many times its size.
const MAX_VALUES: usize = 4 << 20;

/// One value: where it begins and ends, and how many nodes it and all that is in it take. A member of an object is a name and a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::kit) struct Node {
    pub start: u32,
    pub end: u32,
    pub size: u32,
}

/// Where the values of a record lie. Used again for each record, so that it allocates only while records grow.
#[derive(Debug, Default)]
pub struct Index {
    nodes: Vec<Node>,
    open: Vec<Around>,
    quotes: Quotes,
}

impl Index {
    /// Checks that `text` is one JSON value and notes where its values lie.
    ///
    /// # Errors
    /// [`Fault::Json`] with what `serde_json` says of the text, [`Fault::Limit`] when it holds too many values.
    pub(in crate::kit) fn note(&mut self, text: &str) -> Result<&[Node], Fault> {
        self.nodes.clear();
        self.open.clear();
        match self.check(text) {
            Ok(()) => Ok(&self.nodes),
            Err(Declined) if self.nodes.len() >= MAX_VALUES => Err(LimitExceeded { limit: "values", allowed: MAX_VALUES as u64 }.into()),
            Err(Declined) => match serde_json::from_str::<IgnoredAny>(text) {
                Err(error) => Err(error.into()),
                // The scanner accepts what `serde_json` does, so this text is longer than an index can say.
                Ok(_) => Err(LimitExceeded { limit: "record_bytes", allowed: u64::from(u32::MAX) }.into()),
            },
        }
    }

    fn check(&mut self, text: &str) -> Result<(), Declined> {
        u32::try_from(text.len()).map_err(|_| Declined)?;
        // Out of its place while the scanner borrows it.
        let mut quotes = std::mem::take(&mut self.quotes);
        let checked = quotes.note(text).and_then(|()| self.scan(Scanner::new(text, &quotes)));
        self.quotes = quotes;
        checked
    }

    /// Notes one value after the other. Never recurses: what encloses the value at hand is kept in `open`.
    fn scan(&mut self, mut scanner: Scanner<'_>) -> Result<(), Declined> {
        let mut around = Around { node: u32::MAX, close: 0 };
        loop {
            let byte = scanner.peek()?;
            let start = scanner.offset();
            if byte == b'{' || byte == b'[' {
                let close = if byte == b'{' { b'}' } else { b']' };
                scanner.take();
                self.push(start, start)?;
                self.open.push(around);
                around = Around { node: self.nodes.len() as u32 - 1, close };
                if scanner.peek()? != close {
                    if byte == b'{' {
                        self.name(&mut scanner)?;
                    }
                    continue;
                }
            } else {
                scanner.scalar(byte)?;
                self.push(start, scanner.offset())?;
            }
            // After a value: another one, or the end of what is around it.
            loop {
                if around.close == 0 {
                    return if scanner.at_end() { Ok(()) } else { Err(Declined) };
                }
                let byte = scanner.peek()?;
                scanner.take();
                if byte == b',' {
                    if around.close == b'}' {
                        self.name(&mut scanner)?;
                    }
                    break;
                }
                if byte != around.close {
                    return Err(Declined);
                }
                self.close(around.node, scanner.offset());
                around = self.open.pop().ok_or(Declined)?;
            }
        }
    }

    #[inline(always)]
    fn close(&mut self, node: u32, end: u32) {
        let count = self.nodes.len() as u32;
        if let Some(container) = self.nodes.get_mut(node as usize) {
            container.end = end;
            container.size = count - node;
        }
    }

    /// Takes a member's name and its colon.
    #[inline(always)]
    fn name(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Declined> {
        scanner.expect(b'"')?;
        let start = scanner.offset() - 1;
        scanner.string_rest()?;
        self.push(start, scanner.offset())?;
        scanner.expect(b':')
    }

    #[inline(always)]
    fn push(&mut self, start: u32, end: u32) -> Result<(), Declined> {
        if self.nodes.len() >= MAX_VALUES {
            return Err(Declined);
        }
        self.nodes.push(Node { start, end, size: 1 });
        Ok(())
    }
}

/// The object or array around the value at hand; `close` is 0 around the whole.
#[derive(Debug, Clone, Copy)]
struct Around {
    node: u32,
    close: u8,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The scanner accepts exactly what `serde_json` does.
    fn agree(text: &str) {
        let mut index = Index::default();
        let accepted = index.check(text).is_ok();
        assert_eq!(accepted, serde_json::from_str::<IgnoredAny>(text).is_ok(), "{text:?}");
    }

    #[test]
    fn what_is_not_json_is_declined() {
        for text in [
            "",
            "{",
            "{}x",
            "{\"a\":}",
            "{\"a\":1 \"b\":1}",
            "01",
            "1.",
            "-",
            "\"a\tb\"",
            "\"\\x\"",
            "\"\\u12g4\"",
            "[1,]",
            "{\"a\":1,}",
            "[}",
            "tru",
            "+1",
            "{,}",
            "1e",
            "nul",
            "\"",
            "[1 2]",
            "{1:2}",
            "\"\\",
        ] {
            agree(text);
            assert!(Index::default().note(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn deep_values_are_noted_without_recursion() {
        let deep = format!("{}{}", "[{\"a\":".repeat(50_000), "1".to_owned() + &"}]".repeat(50_000));
        agree(&deep);
        assert!(Index::default().note(&deep).is_ok());
    }

    #[test]
    fn too_many_values_are_a_limit() {
        let many = format!("[{}1]", "1,".repeat(MAX_VALUES));
        assert!(matches!(Index::default().note(&many), Err(Fault::Limit(_))));
    }

    proptest! {
        #[test]
        fn any_text_is_judged_alike(text in r#"[{}\[\],:"\\ntrue0-9.eE+ \n-]{0,60}"#) {
            agree(&text);
            agree(&format!("{{\"a\":{text}}}"));
        }

        #[test]
        fn cut_text_is_judged_alike(name in any::<String>(), other in ".{0,80}", cut in 0usize..200) {
            let text = serde_json::json!({"name": name, "x": [other, {"k\n": name}], "y": -1.5e3}).to_string();
            agree(&text);
            let cut = (0..=cut.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            agree(&text[..cut]);
        }
    }
}
