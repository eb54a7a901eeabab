//! The one checking pass over a record: where each of its values begins and ends, so that none is looked for twice.

use std::ops::Range;

use engram_core::emit::Fault;
use engram_core::limits::LimitExceeded;
use serde::de::IgnoredAny;

use super::scan::Scanner;
use super::string_mask::{ESCAPES_AT, OffFastPath, Pass, Quotes};
use crate::shared::json_type::{JsonType, SHAPES};

/// The most values of one record. The index takes 16 bytes a value, and a text of short ones would make it many times its size.
const MAX_VALUES: usize = 4 << 20;
/// Large records have fewer values than one in so many bytes.
const BYTES_A_NODE: usize = 32;

/// One value: where it lies, and how many values it and all that is in it are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::shared) struct Node {
    /// Where its name begins, if it is a member of an object.
    pub name: u32,
    pub start: u32,
    pub end: u32,
    /// How many nodes it and all that is in it take, above that the escapes that a string may hold (those of all 64 bytes that it has
    /// a part of), and above these its shapes.
    packed: u32,
}

/// Where the shapes of a node begin: behind the two kinds of escapes that sound strings have.
const SHAPES_AT: u32 = ESCAPES_AT + 2;

/// The shape of a node, where it stands in it.
const fn placed(shape: JsonType) -> u32 {
    (shape as u32) << SHAPES_AT
}

impl Node {
    /// How many nodes it and all that is in it take.
    #[inline(always)]
    pub fn size(self) -> usize {
        (self.packed & ((1 << ESCAPES_AT) - 1)) as usize
    }

    /// The kinds of escapes that a string may hold.
    #[inline(always)]
    pub fn escapes(self) -> u8 {
        (self.packed >> ESCAPES_AT) as u8 & ((1 << (SHAPES_AT - ESCAPES_AT)) - 1)
    }

    /// The shapes that it has, a bit each: all of them where it is `null`.
    #[inline(always)]
    pub fn shapes(self) -> u8 {
        (self.packed >> SHAPES_AT) as u8
    }

    /// True when its value is of this shape, and not `null`.
    #[inline(always)]
    pub fn is(self, shape: JsonType) -> bool {
        self.shapes() == shape as u8
    }

    /// Where its name lies in `text`, without its quotes. Between the name and the value are a colon, and white space at most.
    #[inline(always)]
    pub fn name_in(self, text: &[u8]) -> Range<usize> {
        let start = self.start as usize;
        let is_end = |end: &usize| text.get(*end) == Some(&b'"');
        // Mostly there is the colon alone, or one space behind it.
        let end = [start.wrapping_sub(2), start.wrapping_sub(3)].into_iter().find(is_end).unwrap_or_else(|| end_of_name(text, start));
        self.name as usize + 1..end
    }
}

#[cold]
fn end_of_name(text: &[u8], start: usize) -> usize {
    let before = text.get(..start).unwrap_or_default();
    before.iter().rposition(|byte| *byte == b'"').unwrap_or_default()
}

/// Where the values of a record lie. Used again for each record, so that it allocates only while records grow.
#[derive(Debug, Default)]
pub struct StructuralIndex {
    pub(super) quotes: Quotes,
    /// DecodeBuffer for nodes: those of the last record, and what lies behind them.
    pub(super) nodes: Vec<Node>,
}

/// Why a text is not noted.
#[derive(Debug)]
pub(super) enum Stop {
    OffFastPath,
    /// There is no room for its nodes.
    Full,
}

impl From<OffFastPath> for Stop {
    fn from(OffFastPath: OffFastPath) -> Stop {
        Stop::OffFastPath
    }
}

impl StructuralIndex {
    /// Checks that `text` is one JSON value and notes where its values lie.
    ///
    /// # Errors
    /// [`Fault::Json`] with what `serde_json` says of the text, [`Fault::Limit`] when it holds too many values.
    pub(in crate::shared) fn build(&mut self, text: &str) -> Result<&[Node], Fault> {
        match self.check(text) {
            Ok(count) => Ok(&self.nodes[..count]),
            Err(stop) => Err(stop.fault(text)),
        }
    }

    /// How many nodes `text` has.
    fn check(&mut self, text: &str) -> Result<usize, Stop> {
        let mut pass = Pass::new(text)?;
        self.quotes.clear();
        self.quotes.note(&mut pass, text.len())?;
        self.make_room(text.len() / BYTES_A_NODE + 1);
        self.walk(text, 0, 0, |walk: &mut Builder<'_, false>| walk.whole())
    }

    /// Walks over `text` from `at` on, with as much room for nodes as that takes. The quotes that are noted begin at `from`.
    #[inline(always)]
    pub(super) fn walk<const PRETTY: bool, T>(
        &mut self,
        text: &str,
        from: u32,
        at: u32,
        take: impl Fn(&mut Builder<'_, PRETTY>) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        loop {
            let scanner = Scanner::new(text, self.quotes.strings(from, at));
            let mut walk = Builder { scanner, nodes: &mut self.nodes, count: 0 };
            match take(&mut walk) {
                Err(Stop::Full) if self.nodes.len() < MAX_VALUES => self.make_room(2 * self.nodes.len()),
                taken => return taken,
            }
        }
    }

    pub(super) fn make_room(&mut self, nodes: usize) {
        let nodes = nodes.min(MAX_VALUES);
        if nodes > self.nodes.len() {
            self.nodes.resize(nodes, Node::default());
        }
    }
}

impl Stop {
    /// What is wrong with `text`.
    #[cold]
    pub(super) fn fault(self, text: &str) -> Fault {
        if let Stop::Full = self {
            return LimitExceeded { limit: "values", allowed: MAX_VALUES as u64 }.into();
        }
        match serde_json::from_str::<IgnoredAny>(text) {
            Err(error) => error.into(),
            // The scanner accepts what `serde_json` does, so this text is longer than an index can say.
            Ok(_) => LimitExceeded { limit: "record_bytes", allowed: u64::from(u32::MAX) }.into(),
        }
    }
}

/// The way over a text, from value to value.
pub(super) struct Builder<'t, const PRETTY: bool> {
    pub scanner: Scanner<'t, PRETTY>,
    nodes: &'t mut [Node],
    /// Nodes noted so far.
    pub count: usize,
}

/// An object or array whose end is not reached.
#[derive(Clone, Copy)]
struct Open {
    node: u32,
    /// The byte that ends it.
    close: u8,
}

/// A value in a container.
struct Next {
    /// Where its name begins, if it has one.
    name: u32,
    /// Where it begins, white space before it aside; behind it if it is noted.
    at: u32,
    is_noted: bool,
}

/// What is around the whole.
const NOTHING: Open = Open { node: u32::MAX, close: 0 };

impl<const PRETTY: bool> Builder<'_, PRETTY> {
    /// Notes the one value of the text, and gives the number of its nodes.
    #[inline(always)]
    fn whole(&mut self) -> Result<usize, Stop> {
        let end = self.value(0)?;
        if self.scanner.ends_behind(end) { Ok(self.count) } else { Err(Stop::OffFastPath) }
    }

    /// Notes the value at `at`, white space before it aside, and gives the place behind it.
    #[inline(always)]
    pub(super) fn value(&mut self, at: u32) -> Result<u32, Stop> {
        let (start, byte) = self.scanner.skip_whitespace(at)?;
        if closing(byte).is_some() { self.container(start) } else { self.scalar(byte, start, start) }
    }

    /// Notes the container at `start` and all that is in it, and gives the place behind it. Never recurses: the node of an open
    /// container tells what is around it.
    #[inline(always)]
    fn container(&mut self, start: u32) -> Result<u32, Stop> {
        let mut open = NOTHING;
        let mut at = start;
        loop {
            let next = self.next_in(open, at)?;
            at = next.at;
            if !next.is_noted {
                let byte;
                (at, byte) = self.scanner.skip_whitespace(at)?;
                if let Some(close) = closing(byte) {
                    open = self.open(next.name, at, close, open)?;
                    let first;
                    (at, first) = self.scanner.skip_whitespace(at + 1)?;
                    if first != close {
                        continue;
                    }
                } else {
                    at = self.scalar(byte, next.name, at)?;
                }
            }
            // Behind a value is another one, or the end of what is around it.
            loop {
                let byte = self.scanner.byte(at)?;
                if byte == b',' {
                    at += 1;
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
    fn open(&mut self, name: u32, start: u32, close: u8, outer: Open) -> Result<Open, Stop> {
        let node = self.count as u32;
        self.push(Node { name, start, end: outer.node, packed: placed(if close == b'}' { JsonType::Object } else { JsonType::Array }) })?;
        Ok(Open { node, close })
    }

    /// Notes the end of a container, and gives what is around it.
    #[inline(always)]
    fn close(&mut self, open: Open, end: u32) -> Result<Option<Open>, Stop> {
        let container = self.nodes.get_mut(open.node as usize).ok_or(Stop::OffFastPath)?;
        let outer = std::mem::replace(&mut container.end, end);
        container.packed |= self.count as u32 - open.node;
        let Some(around) = self.nodes.get(outer as usize) else { return Ok(None) };
        Ok(Some(Open { node: outer, close: if around.is(JsonType::Object) { b'}' } else { b']' } }))
    }

    /// What is next in a container.
    #[inline(always)]
    fn next_in(&mut self, open: Open, at: u32) -> Result<Next, Stop> {
        if open.close == b'}' { self.member(at) } else { Ok(Next { name: at, at, is_noted: false }) }
    }

    /// The next member of an object that is not noted in one go, as strings, words and numbers are that are spaced as usual; or the last.
    #[inline(always)]
    fn member(&mut self, at: u32) -> Result<Next, Stop> {
        let mut name = self.scanner.find(b'"', at)?;
        loop {
            let (end, _) = self.scanner.behind_string()?;
            let Some((start, first)) = self.scanner.value_of_name(end) else {
                return Ok(Next { name, at: self.scanner.find(b':', end)? + 1, is_noted: false });
            };
            let at = match first {
                b'{' | b'[' | ..=b' ' => return Ok(Next { name, at: start, is_noted: false }),
                _ => self.scalar(first, name, start)?,
            };
            match self.scanner.name_behind(at) {
                Some(next) => name = next,
                None => return Ok(Next { name, at, is_noted: true }),
            }
        }
    }

    /// Notes a value that is no container, and gives the place behind it. `byte` is its first.
    #[inline(always)]
    fn scalar(&mut self, byte: u8, name: u32, start: u32) -> Result<u32, Stop> {
        if byte == b'"' {
            return self.string(name, start);
        }
        let end = self.scanner.skip_literal(byte, start)?;
        self.push(Node { name, start, end, packed: u32::from(SHAPES[usize::from(byte)]) << SHAPES_AT | 1 })?;
        Ok(end)
    }

    /// Notes a string, and gives the place behind it.
    #[inline(always)]
    fn string(&mut self, name: u32, start: u32) -> Result<u32, Stop> {
        let (end, escapes) = self.scanner.behind_string()?;
        self.push(Node { name, start, end, packed: placed(JsonType::String) | escapes | 1 })?;
        Ok(end)
    }

    /// Notes a value. The text's places fit 32 bits.
    #[inline(always)]
    fn push(&mut self, node: Node) -> Result<(), Stop> {
        *self.nodes.get_mut(self.count).ok_or(Stop::Full)? = node;
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
        let mut index = StructuralIndex::default();
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
            assert!(StructuralIndex::default().build(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn deep_values_are_noted_without_recursion() {
        let deep = format!("{}{}", "[{\"a\":".repeat(50_000), "1".to_owned() + &"}]".repeat(50_000));
        agree(&deep);
        assert!(StructuralIndex::default().build(&deep).is_ok());
    }

    #[test]
    fn too_many_values_are_a_limit() {
        let many = format!("[{}1]", "1,".repeat(MAX_VALUES));
        assert!(matches!(StructuralIndex::default().build(&many), Err(Fault::Limit(_))));
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
