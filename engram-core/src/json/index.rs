//! The structural index: one pass over a record that validates its JSON and finds where each value begins and ends.

use std::borrow::Cow;

use crate::emit::Fault;
use crate::limits::LimitExceeded;
use crate::text::canonical_json;
use serde::de::IgnoredAny;

use super::json_type::JsonType;
use super::node::{Escapes, Node};
use super::scan::Scanner;
use super::string_mask::{OffFastPath, StringMask};

/// The most values in one record. A node has 16 bytes, so a record of many short values needs several times its size.
const MAX_VALUES: usize = 3 << 20;
/// The initial guess for the number of nodes. Large records have fewer values than this.
const BYTES_PER_NODE: usize = 32;
/// The least nodes: a short text of many values is not indexed twice.
const LEAST_NODES: usize = 64;
/// The most nodes of the first guess: a record of many megabytes is mostly one long string. Those of more values are indexed again.
const FIRST_NODES: usize = 256 << 10;

/// The positions of a record's values. Reuse one index for all records: its memory grows to the largest record and stays.
#[derive(Debug, Clone)]
pub struct StructuralIndex {
    mask: StringMask,
    /// The nodes of the current record, then unused ones.
    nodes: Vec<Node>,
    /// The canonical form of the current record, if the record has other escapes.
    canonical: String,
    /// How deep the containers of a record may nest, if that is limited.
    max_depth: Option<usize>,
    /// The most values.
    max_values: usize,
}

impl Default for StructuralIndex {
    fn default() -> Self {
        StructuralIndex {
            mask: StringMask::default(),
            nodes: Vec::new(),
            canonical: String::new(),
            max_depth: None,
            max_values: MAX_VALUES,
        }
    }
}

/// Why a text could not be indexed.
#[derive(Debug)]
enum Stop {
    /// The text is not JSON, or the mask does not cover enough of it yet.
    OffFastPath,
    /// There are more values than allocated nodes.
    OutOfNodes,
}

impl From<OffFastPath> for Stop {
    fn from(OffFastPath: OffFastPath) -> Stop {
        Stop::OffFastPath
    }
}

impl StructuralIndex {
    /// Validates that `text` is one JSON value, and returns the nodes of its values with the text that they are positions in. It is `text`,
    /// or its canonical form if `text` has escapes that are not canonical. So adapters can compare strings as they are written: equal
    /// strings have equal bytes.
    ///
    /// # Errors
    /// [`Fault::Json`] with the error of `serde_json`, [`Fault::Limit`] if there are more than 3 Mi values.
    pub fn build<'a>(&'a mut self, text: &'a str) -> Result<(&'a str, &'a [Node]), Fault> {
        if !self.canonical.is_empty() {
            self.canonical = String::new();
        }
        let (count, escapes, depth) = self.index(text).map_err(|stop| stop.into_fault(text))?;
        if let Some(allowed) = self.max_depth.filter(|allowed| depth as usize > *allowed) {
            return Err(LimitExceeded {
                limit: "nesting",
                allowed: allowed as u64,
            }
            .into());
        }
        if escapes.are_canonical() {
            Ok((text, &self.nodes[..count]))
        } else {
            self.build_canonical(text, count)
        }
    }

    /// As [`StructuralIndex::build`], for a text with `count` nodes whose escapes may not be canonical.
    #[cold]
    fn build_canonical<'a>(
        &'a mut self,
        text: &'a str,
        count: usize,
    ) -> Result<(&'a str, &'a [Node]), Fault> {
        let canonical = match canonical_json(text) {
            Cow::Owned(canonical) if canonical != text => canonical,
            // Half of a surrogate pair stays an escape.
            _ => return Ok((text, &self.nodes[..count])),
        };
        let (count, ..) = self
            .index(&canonical)
            .map_err(|stop| stop.into_fault(&canonical))?;
        self.canonical = canonical;
        Ok((&self.canonical, &self.nodes[..count]))
    }

    /// An index for records whose containers nest at most this deep. Others are a [`Fault::Limit`].
    pub fn with_max_depth(depth: usize) -> Self {
        StructuralIndex {
            max_depth: Some(depth),
            ..StructuralIndex::default()
        }
    }

    /// An index for lines of tapes. An event of a record with attachments has more values than the record.
    pub(crate) fn of_tapes() -> Self {
        StructuralIndex {
            max_values: 2 * MAX_VALUES,
            ..StructuralIndex::default()
        }
    }

    /// The nodes of the values of `text`, whose strings stay as they are written, and whether it may have escapes. `None` if it is not one
    /// JSON value, or has too many.
    pub(crate) fn nodes_as_written(&mut self, text: &str) -> Option<(&[Node], bool)> {
        let (count, escapes, _) = self.index(text).ok()?;
        Some((self.nodes.get(..count)?, escapes != Escapes::NONE))
    }

    /// Indexes `text` and returns the number of its nodes, the escapes that its strings may have, and how deep its containers nest.
    fn index(&mut self, text: &str) -> Result<(usize, Escapes, u32), Stop> {
        self.mask.fill(text)?;
        self.grow_nodes((text.len() / BYTES_PER_NODE).clamp(LEAST_NODES, FIRST_NODES));
        let indexed = self.nodes_of(text);
        self.mask.release();
        indexed
    }

    /// As [`StructuralIndex::index`], when the mask is there. Begins again with more nodes if they run out.
    fn nodes_of(&mut self, text: &str) -> Result<(usize, Escapes, u32), Stop> {
        loop {
            let scanner = Scanner::new(text, self.mask.strings());
            let mut builder = Builder {
                scanner,
                nodes: &mut self.nodes,
                count: 0,
                escapes: Escapes::NONE,
                open: 0,
                depth: 0,
            };
            match builder.document() {
                Err(Stop::OutOfNodes) if self.nodes.len() < self.max_values => {
                    self.grow_nodes(2 * self.nodes.len())
                }
                result => return result,
            }
        }
    }

    fn grow_nodes(&mut self, nodes: usize) {
        let nodes = nodes.min(self.max_values);
        if nodes > self.nodes.len() {
            self.nodes.resize(nodes, Node::default());
        }
    }
}

impl Stop {
    /// The error for `text`.
    #[cold]
    fn into_fault(self, text: &str) -> Fault {
        if let Stop::OutOfNodes = self {
            return LimitExceeded {
                limit: "values",
                allowed: MAX_VALUES as u64,
            }
            .into();
        }
        match serde_json::from_str::<IgnoredAny>(text) {
            Err(error) => error.into(),
            // The scanner accepts what `serde_json` accepts, so this text is too long for 32-bit positions.
            Ok(_) => LimitExceeded {
                limit: "record_bytes",
                allowed: u64::from(u32::MAX),
            }
            .into(),
        }
    }
}

/// Builds the nodes of a text, value by value.
struct Builder<'t> {
    scanner: Scanner<'t>,
    nodes: &'t mut [Node],
    /// Nodes built so far.
    count: usize,
    /// The escapes that names and strings so far may have.
    escapes: Escapes,
    /// The number of open containers, and the most of them at once.
    open: u32,
    depth: u32,
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
    /// Where it begins, or white space before it. If it has its node already: the position after it.
    at: u32,
    has_node: bool,
}

/// No enclosing container.
const TOP_LEVEL: Open = Open {
    node: u32::MAX,
    close: 0,
};

impl Builder<'_> {
    /// Builds the nodes of a text that is one value, and returns their number, the escapes that its strings may have, and how deep its
    /// containers nest.
    #[inline(always)]
    fn document(&mut self) -> Result<(usize, Escapes, u32), Stop> {
        let end = self.value(0)?;
        if self.scanner.is_blank_from(end) {
            Ok((self.count, self.escapes, self.depth))
        } else {
            Err(Stop::OffFastPath)
        }
    }

    /// Builds the nodes of the value at `at`, which white space may precede, and returns the position after it.
    #[inline(always)]
    fn value(&mut self, at: u32) -> Result<u32, Stop> {
        let (start, byte) = self.scanner.skip_whitespace(at)?;
        if closing_byte(byte).is_some() {
            self.container(start)
        } else {
            self.scalar(byte, start, start)
        }
    }

    /// Builds the nodes of the container at `start`, and returns the position after it. Does not recurse: the node of an open
    /// container names the enclosing one.
    #[inline(always)]
    fn container(&mut self, start: u32) -> Result<u32, Stop> {
        let mut open = TOP_LEVEL;
        let mut at = start;
        loop {
            let next = self.next_in(open, at)?;
            at = next.at;
            if !next.has_node {
                let byte;
                (at, byte) = self.scanner.skip_whitespace(at)?;
                if let Some(close) = closing_byte(byte) {
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
            // A value is followed by another one, or by the end of its container.
            loop {
                let byte = self.scanner.byte(at)?;
                if byte == b',' {
                    at += 1;
                    break;
                }
                if byte != open.close {
                    at = self.scanner.skip_required_whitespace(at)?;
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

    /// Adds the node of a container that begins here.
    #[inline(always)]
    fn open(&mut self, name: u32, start: u32, close: u8, outer: Open) -> Result<Open, Stop> {
        self.open += 1;
        self.depth = self.depth.max(self.open);
        let node = self.count as u32;
        let json_type = if close == b'}' {
            JsonType::Object
        } else {
            JsonType::Array
        };
        self.push(Node::open_container(json_type, name, start, outer.node))?;
        Ok(Open { node, close })
    }

    /// Completes the node of a container, and returns the enclosing container.
    #[inline(always)]
    fn close(&mut self, open: Open, end: u32) -> Result<Option<Open>, Stop> {
        self.open -= 1;
        let container = self
            .nodes
            .get_mut(open.node as usize)
            .ok_or(Stop::OffFastPath)?;
        let outer = container.close_container(end, self.count as u32 - open.node);
        let Some(enclosing) = self.nodes.get(outer as usize) else {
            return Ok(None);
        };
        Ok(Some(Open {
            node: outer,
            close: if enclosing.is(JsonType::Object) {
                b'}'
            } else {
                b']'
            },
        }))
    }

    /// The next value in a container.
    #[inline(always)]
    fn next_in(&mut self, open: Open, at: u32) -> Result<Next, Stop> {
        if open.close == b'}' {
            self.member(at)
        } else {
            Ok(Next {
                name: at,
                at,
                has_node: false,
            })
        }
    }

    /// Builds the nodes of members as long as they are scalars with the usual spacing. Returns the first other member, or the last one.
    #[inline(always)]
    fn member(&mut self, at: u32) -> Result<Next, Stop> {
        let mut name = self.scanner.find(b'"', at)?;
        loop {
            let (end, escapes) = self.scanner.skip_string()?;
            self.escapes = self.escapes.or(escapes);
            let Some((start, first)) = self.scanner.value_of_name(end) else {
                return Ok(Next {
                    name,
                    at: self.scanner.find(b':', end)? + 1,
                    has_node: false,
                });
            };
            let at = match first {
                b'{' | b'[' | ..=b' ' => {
                    return Ok(Next {
                        name,
                        at: start,
                        has_node: false,
                    });
                }
                _ => self.scalar(first, name, start)?,
            };
            match self.scanner.next_name(at) {
                Some(next) => name = next,
                None => {
                    return Ok(Next {
                        name,
                        at,
                        has_node: true,
                    });
                }
            }
        }
    }

    /// Adds the node of a value that is no container, and returns the position after it. `byte` is its first byte.
    #[inline(always)]
    fn scalar(&mut self, byte: u8, name: u32, start: u32) -> Result<u32, Stop> {
        if byte == b'"' {
            return self.string(name, start);
        }
        let (end, types) = self.scanner.skip_literal(byte, start)?;
        self.push(Node::literal(types, name, start, end))?;
        Ok(end)
    }

    /// Adds the node of a string, and returns the position after it.
    #[inline(always)]
    fn string(&mut self, name: u32, start: u32) -> Result<u32, Stop> {
        let (end, escapes) = self.scanner.skip_string()?;
        self.escapes = self.escapes.or(escapes);
        self.push(Node::string(name, start, end, escapes))?;
        Ok(end)
    }

    #[inline(always)]
    fn push(&mut self, node: Node) -> Result<(), Stop> {
        *self.nodes.get_mut(self.count).ok_or(Stop::OutOfNodes)? = node;
        self.count += 1;
        Ok(())
    }
}

/// The byte that ends an object or array, by its first byte.
#[inline(always)]
fn closing_byte(byte: u8) -> Option<u8> {
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
    fn assert_agrees(text: &str) {
        let mut index = StructuralIndex::default();
        let accepted = index.index(text).is_ok();
        assert_eq!(
            accepted,
            serde_json::from_str::<IgnoredAny>(text).is_ok(),
            "{text:?}"
        );
    }

    #[test]
    fn invalid_json_is_rejected() {
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
            assert_agrees(text);
            assert!(StructuralIndex::default().build(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn deep_nesting_does_not_overflow_the_stack() {
        let deep = format!(
            "{}{}",
            "[{\"a\":".repeat(50_000),
            "1".to_owned() + &"}]".repeat(50_000)
        );
        assert_agrees(&deep);
        assert!(StructuralIndex::default().build(&deep).is_ok());
        assert!(
            StructuralIndex::with_max_depth(usize::MAX)
                .build(&deep)
                .is_ok()
        );
    }

    #[test]
    fn too_many_values_exceed_a_limit() {
        let many = format!("[{}1]", "1,".repeat(MAX_VALUES));
        assert!(matches!(
            StructuralIndex::default().build(&many),
            Err(Fault::Limit(_))
        ));
    }

    proptest! {
        #[test]
        fn accepts_what_serde_json_accepts(text in r#"[{}\[\],:"\\ntrue0-9.eE+ \n-]{0,60}"#) {
            assert_agrees(&text);
            assert_agrees(&format!("{{\"a\":{text}}}"));
        }

        #[test]
        fn accepts_no_truncated_text_that_serde_json_rejects(name in any::<String>(), other in ".{0,80}", cut in 0usize..200) {
            let text = serde_json::json!({"name": name, "x": [other, {"k\n": name}], "y": -1.5e3}).to_string();
            assert_agrees(&text);
            let cut = (0..=cut.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            assert_agrees(&text[..cut]);
        }
    }
}
