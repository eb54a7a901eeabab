//! The one checking pass over a record: where each of its values begins and ends, so that none is looked for twice.

use engram_core::emit::Fault;
use engram_core::limits::LimitExceeded;
use serde::de::IgnoredAny;

use super::quotes::Quotes;
use super::scan::{Declined, Scanner};

/// The most values of one record. The index takes 16 bytes a value, and a text of short ones would make it many times its size.
const MAX_VALUES: usize = 4 << 20;
/// Records of logs have fewer values than one in so many bytes.
const BYTES_A_NODE: usize = 16;

/// One value: where it begins and ends, and how many nodes it and all that is in it take. A member of an object is a name and a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::kit) struct Node {
    pub start: u32,
    pub end: u32,
    pub size: u32,
    pub escapes: Escapes,
}

/// What is known of a string's escapes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::kit) enum Escapes {
    #[default]
    None,
    /// There may be some. None is `\/` or `\u`, which the tape spells otherwise.
    Canonical,
    /// There may be any.
    Any,
}

/// Where the values of a record lie. Used again for each record, so that it allocates only while records grow.
#[derive(Debug, Default)]
pub struct Index {
    quotes: Quotes,
    /// Room for nodes: those of the last record, and what lies behind them.
    nodes: Vec<Node>,
}

/// Why a text is not noted.
#[derive(Debug)]
enum Stop {
    Declined,
    /// There is no room for its nodes.
    Full,
}

impl From<Declined> for Stop {
    fn from(Declined: Declined) -> Stop {
        Stop::Declined
    }
}

impl Index {
    /// Checks that `text` is one JSON value and notes where its values lie.
    ///
    /// # Errors
    /// [`Fault::Json`] with what `serde_json` says of the text, [`Fault::Limit`] when it holds too many values.
    pub(in crate::kit) fn note(&mut self, text: &str) -> Result<&[Node], Fault> {
        match self.check(text) {
            Ok(count) => Ok(&self.nodes[..count]),
            Err(Stop::Full) => Err(LimitExceeded { limit: "values", allowed: MAX_VALUES as u64 }.into()),
            Err(Stop::Declined) => match serde_json::from_str::<IgnoredAny>(text) {
                Err(error) => Err(error.into()),
                // The scanner accepts what `serde_json` does, so this text is longer than an index can say.
                Ok(_) => Err(LimitExceeded { limit: "record_bytes", allowed: u64::from(u32::MAX) }.into()),
            },
        }
    }

    /// How many nodes `text` has.
    fn check(&mut self, text: &str) -> Result<usize, Stop> {
        u32::try_from(text.len()).map_err(|_| Declined)?;
        self.quotes.note(text)?;
        self.make_room(text.len() / BYTES_A_NODE + 1);
        loop {
            let escapes = if self.quotes.has_odd_escapes() { Escapes::Any } else { Escapes::Canonical };
            let walk = Walk { scanner: Scanner::new(text, &self.quotes), escapes, nodes: &mut self.nodes, count: 0 };
            match walk.whole() {
                Err(Stop::Full) if self.nodes.len() < MAX_VALUES => self.make_room(2 * self.nodes.len()),
                walked => return walked,
            }
        }
    }

    fn make_room(&mut self, nodes: usize) {
        let nodes = nodes.min(MAX_VALUES);
        if nodes > self.nodes.len() {
            self.nodes.resize(nodes, Node::default());
        }
    }
}

/// The way over a text, from value to value.
struct Walk<'t> {
    scanner: Scanner<'t>,
    /// Those of the text, where there are any.
    escapes: Escapes,
    nodes: &'t mut [Node],
    /// Nodes noted so far.
    count: usize,
}

/// An object or array whose end is not reached.
#[derive(Clone, Copy)]
struct Open {
    node: u32,
    /// The byte that ends it.
    close: u8,
}

/// What is around the whole.
const NOTHING: Open = Open { node: u32::MAX, close: 0 };

impl Walk<'_> {
    /// Notes the one value of the text, and gives the number of its nodes.
    #[inline(always)]
    fn whole(mut self) -> Result<usize, Stop> {
        let start = self.scanner.behind_spaces(0);
        let byte = self.scanner.byte(start)?;
        let end = if closing(byte).is_some() { self.container(start)? } else { self.scalar(byte, start)? };
        if self.scanner.byte(self.scanner.behind_spaces(end)).is_ok() { Err(Stop::Declined) } else { Ok(self.count) }
    }

    /// Notes the container at `at` and all that is in it, and gives the place behind it. Never recurses: the node of an open
    /// container tells what is around it.
    #[inline(always)]
    fn container(&mut self, mut at: usize) -> Result<usize, Stop> {
        let mut open = NOTHING;
        loop {
            // At a value.
            let byte = self.scanner.byte(at)?;
            if byte == b'"' {
                at = self.string(at)?;
            } else if let Some(close) = closing(byte) {
                open = self.open(at, close, open)?;
                at = self.scanner.behind_spaces(at + 1);
                if self.scanner.byte(at)? != close {
                    at = self.name_in(open, at)?;
                    continue;
                }
            } else if byte > b' ' {
                at = self.bare(byte, at)?;
            } else {
                at = self.scanner.behind_some_spaces(at)?;
                continue;
            }
            // Behind a value is another one, or the end of what is around it.
            loop {
                let byte = self.scanner.byte(at)?;
                if byte == b',' {
                    at = self.name_in(open, at + 1)?;
                    break;
                }
                if byte != open.close {
                    at = self.scanner.behind_some_spaces(at)?;
                    continue;
                }
                at += 1;
                match self.close(open, at)? {
                    Some(outer) => open = outer,
                    None => return Ok(at),
                }
            }
        }
    }

    /// Notes the start of a container. Until it ends, its node says what is around it.
    #[inline(always)]
    fn open(&mut self, start: usize, close: u8, outer: Open) -> Result<Open, Stop> {
        let node = self.count as u32;
        self.push(start, outer.node as usize, Escapes::None)?;
        Ok(Open { node, close })
    }

    /// Notes the end of a container, and gives what is around it.
    #[inline(always)]
    fn close(&mut self, open: Open, end: usize) -> Result<Option<Open>, Stop> {
        let container = self.nodes.get_mut(open.node as usize).ok_or(Stop::Declined)?;
        let outer = std::mem::replace(&mut container.end, end as u32);
        container.size = self.count as u32 - open.node;
        let Some(around) = self.nodes.get(outer as usize) else { return Ok(None) };
        let byte = self.scanner.byte(around.start as usize)?;
        Ok(closing(byte).map(|close| Open { node: outer, close }))
    }

    /// Takes the name of the next member, if it is an object that is open, and gives the place behind its colon.
    #[inline(always)]
    fn name_in(&mut self, open: Open, at: usize) -> Result<usize, Stop> {
        if open.close != b'}' {
            return Ok(at);
        }
        let start = self.scanner.find(b'"', at)?;
        let (end, _) = self.scanner.behind_string(start)?;
        self.push(start, end, Escapes::None)?;
        Ok(self.scanner.find(b':', end)? + 1)
    }

    /// Notes a value that is no container, and gives the place behind it. `byte` is its first.
    fn scalar(&mut self, byte: u8, start: usize) -> Result<usize, Stop> {
        if byte == b'"' { self.string(start) } else { self.bare(byte, start) }
    }

    /// Notes a string, and gives the place behind it.
    #[inline(always)]
    fn string(&mut self, start: usize) -> Result<usize, Stop> {
        let (end, may_hold_escapes) = self.scanner.behind_string(start)?;
        self.push(start, end, if may_hold_escapes { self.escapes } else { Escapes::None })?;
        Ok(end)
    }

    /// Notes a number or a word, and gives the place behind it. `byte` is its first.
    #[inline(always)]
    fn bare(&mut self, byte: u8, start: usize) -> Result<usize, Stop> {
        let end = self.scanner.behind_bare(byte, start)?;
        self.push(start, end, Escapes::None)?;
        Ok(end)
    }

    /// Notes a value. The text's places fit 32 bits.
    #[inline(always)]
    fn push(&mut self, start: usize, end: usize, escapes: Escapes) -> Result<(), Stop> {
        *self.nodes.get_mut(self.count).ok_or(Stop::Full)? = Node { start: start as u32, end: end as u32, size: 1, escapes };
        self.count += 1;
        Ok(())
    }
}

/// The byte that ends what `byte` begins, if that is an object or an array.
#[inline(always)]
fn closing(byte: u8) -> Option<u8> {
    match byte {
        b'{' => Some(b'}'),
        b'[' => Some(b']'),
        _ => None,
    }
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
