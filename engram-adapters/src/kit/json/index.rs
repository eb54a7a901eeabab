//! The one checking pass over a record: where each of its values begins and ends, so that none is looked for twice.

use engram_core::emit::Fault;
use engram_core::limits::LimitExceeded;
use serde::de::IgnoredAny;

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
}

impl Index {
    /// Checks that `text` is one JSON value and notes where its values lie.
    ///
    /// # Errors
    /// [`Fault::Json`] with what `serde_json` says of the text, [`Fault::Limit`] when it holds too many values.
    pub(in crate::kit) fn note(&mut self, text: &str) -> Result<&[Node], Fault> {
        self.nodes.clear();
        self.open.clear();
        match self.scan(&mut Scanner::new(text)) {
            Ok(()) => Ok(&self.nodes),
            Err(Declined) if self.nodes.len() >= MAX_VALUES => Err(LimitExceeded { limit: "values", allowed: MAX_VALUES as u64 }.into()),
            Err(Declined) => match serde_json::from_str::<IgnoredAny>(text) {
                Err(error) => Err(error.into()),
                // The scanner accepts what `serde_json` does, so this text is longer than an index can say.
                Ok(_) => Err(LimitExceeded { limit: "record_bytes", allowed: u64::from(u32::MAX) }.into()),
            },
        }
    }

    /// Notes one value after the other. Never recurses: what encloses the value at hand is kept in `open`.
    fn scan(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Declined> {
        scanner.fits_u32()?;
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
                        self.name(scanner)?;
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
                        self.name(scanner)?;
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
