//! One entry of the structural index: the position, size and type of a JSON value.

use std::ops::Range;

use crate::members::JsonTypes;

use super::json_type::JsonType;

/// One JSON value. The nodes of an array or object are followed by the nodes of its contents, depth first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Node {
    /// Byte offset of the opening quote of its name, if it is a member of an object.
    pub name: u32,
    /// Byte offset of the first byte.
    pub start: u32,
    /// Byte offset after the last byte.
    pub end: u32,
    /// Bits 0-22: subtree size in nodes, including this one. Bits 23-24: escape kinds (over-approximated per 64-byte block).
    /// Bits 25-31: JSON types.
    packed: u32,
}

/// The bits of `packed` below the escape kinds.
const SIZE_BITS: u32 = 23;
/// The bits of `packed` below the JSON types.
const TYPES_AT: u32 = SIZE_BITS + 2;

/// Kinds of escapes, at the bits that they have in [`Node::packed`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Escapes(u32);

impl Escapes {
    pub(super) const NONE: Escapes = Escapes(0);

    /// Only the kinds [`CANONICAL`] and [`NONCANONICAL`] are kept.
    #[inline(always)]
    pub(super) fn of_kinds(kinds: u8) -> Escapes {
        Escapes(u32::from(kinds & (CANONICAL | NONCANONICAL)) << SIZE_BITS)
    }

    /// True if none of the escapes is [`NONCANONICAL`].
    #[inline(always)]
    pub(super) fn are_canonical(self) -> bool {
        self.0 & u32::from(NONCANONICAL) << SIZE_BITS == 0
    }

    #[inline(always)]
    pub(super) fn or(self, other: Escapes) -> Escapes {
        Escapes(self.0 | other.0)
    }
}

/// An escape that a tape uses for the same character.
pub(super) const CANONICAL: u8 = 0b01;
/// An escape for which a tape may use another one, or the plain character.
pub(super) const NONCANONICAL: u8 = 0b10;

impl Node {
    /// A string.
    #[inline(always)]
    pub(super) fn string(name: u32, start: u32, end: u32, escapes: Escapes) -> Node {
        Node {
            name,
            start,
            end,
            packed: (JsonType::String as u32) << TYPES_AT | escapes.0 | 1,
        }
    }

    /// A number, `true`, `false` or `null`.
    #[inline(always)]
    pub(super) fn literal(types: JsonTypes, name: u32, start: u32, end: u32) -> Node {
        Node {
            name,
            start,
            end,
            packed: u32::from(types.0) << TYPES_AT | 1,
        }
    }

    /// An array or object whose end is not known yet. Until then `end` has the index of the enclosing container's node.
    #[inline(always)]
    pub(super) fn open_container(json_type: JsonType, name: u32, start: u32, outer: u32) -> Node {
        Node {
            name,
            start,
            end: outer,
            packed: (json_type as u32) << TYPES_AT,
        }
    }

    /// Sets the end and the size of an open container, and returns the index of the enclosing container's node.
    #[inline(always)]
    pub(super) fn close_container(&mut self, end: u32, nodes: u32) -> u32 {
        self.packed |= nodes;
        std::mem::replace(&mut self.end, end)
    }

    /// The number of nodes of this value and its contents.
    #[inline(always)]
    pub fn size(self) -> usize {
        (self.packed & ((1 << SIZE_BITS) - 1)) as usize
    }

    /// False if the string contains no escape.
    #[inline(always)]
    pub fn may_have_escapes(self) -> bool {
        (self.packed >> SIZE_BITS) as u8 & (CANONICAL | NONCANONICAL) != 0
    }

    /// True if the string has only escapes that a tape uses for the same characters, or none.
    #[inline(always)]
    pub(crate) fn has_canonical_escapes(self) -> bool {
        (self.packed >> SIZE_BITS) as u8 & NONCANONICAL == 0
    }

    /// The JSON types, one bit each. `null` has all of them.
    #[inline(always)]
    pub fn types(self) -> u8 {
        (self.packed >> TYPES_AT) as u8
    }

    /// True if the value has this type, which is not a number, and is not `null`.
    #[inline(always)]
    pub fn is(self, json_type: JsonType) -> bool {
        self.types() == json_type as u8
    }

    /// The byte range of the member name in `text`, without its quotes. Only a colon and white space separate name and value.
    #[inline(always)]
    pub fn name_in(self, text: &[u8]) -> Range<usize> {
        let start = self.start as usize;
        let is_end = |end: &usize| text.get(*end) == Some(&b'"');
        // Usually a colon alone, or a colon and one space.
        let end = [start.wrapping_sub(2), start.wrapping_sub(3)]
            .into_iter()
            .find(is_end)
            .unwrap_or_else(|| end_of_name(text, start));
        self.name as usize + 1..end
    }
}

#[cold]
fn end_of_name(text: &[u8], start: usize) -> usize {
    let before = text.get(..start).unwrap_or_default();
    before
        .iter()
        .rposition(|byte| *byte == b'"')
        .unwrap_or_default()
}
