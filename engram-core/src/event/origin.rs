//! Locations in an artifact: the record, and a JSON pointer inside it that needs no allocation.

use std::fmt;

use crate::text::Text;

/// A location inside a record, as a JSON pointer (RFC 6901). Constant paths must not contain characters that JSON escapes.
#[derive(Debug, Clone, Copy, Default)]
pub enum Pointer<'p> {
    /// The record itself.
    #[default]
    Root,
    /// A constant path, such as `/payload/item`.
    At(&'p str),
    /// An element of an array: the path of the array, and the index.
    Item(&'p str, usize),
    /// A field of an element of an array: the path of the array, the index, and the rest of the path.
    Field(&'p str, usize, &'p str),
    /// An element of an array that is a member of an element of another: the path of the outer array, the index in it, the path from there
    /// to the inner array, and the index in that.
    Nested(&'p str, usize, &'p str, usize),
    /// A member with a name from the source: the path of the object, and the name as a pointer segment (`~` and `/` escaped). It may
    /// contain any characters.
    Member(&'p str, &'p str),
    /// A pointer that was read from a tape.
    Read(Text<'p>),
}

impl<'p> From<&'p str> for Pointer<'p> {
    /// A constant path.
    fn from(path: &'p str) -> Self {
        Pointer::At(path)
    }
}

impl Pointer<'_> {
    /// True for the record itself.
    pub fn is_root(self) -> bool {
        matches!(self, Pointer::Root)
    }
}

/// Writes the pointer as RFC 6901 text; empty for the record itself.
impl fmt::Display for Pointer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pointer::Root => Ok(()),
            Pointer::At(path) => f.write_str(path),
            Pointer::Item(path, index) => write!(f, "{path}/{index}"),
            Pointer::Field(path, index, rest) => write!(f, "{path}/{index}{rest}"),
            Pointer::Nested(path, outer, rest, inner) => write!(f, "{path}/{outer}{rest}/{inner}"),
            Pointer::Member(path, segment) => write!(f, "{path}/{segment}"),
            Pointer::Read(text) => f.write_str(&text.decode_lossy()),
        }
    }
}

/// The location of a record in its artifact: line and part in a line format, neither in a document.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordLocation {
    /// 1-based physical line; 0 for documents.
    pub(crate) line: u64,
    /// Index among the values of that line.
    pub(crate) part: u64,
}

impl RecordLocation {
    /// The 1-based physical line; 0 for documents.
    pub fn line(self) -> u64 {
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_are_written_as_rfc_6901_text() {
        let shown = |pointer: Pointer<'_>| pointer.to_string();
        assert_eq!(shown(Pointer::Root), "");
        assert_eq!(shown(Pointer::At("/a")), "/a");
        assert_eq!(shown(Pointer::Item("/a", 10)), "/a/10");
        assert_eq!(shown(Pointer::Field("/a", 10, "/b")), "/a/10/b");
        assert_eq!(shown(Pointer::Nested("/a", 10, "/b", 2)), "/a/10/b/2");
        assert_eq!(shown(Pointer::Member("/a", "x~1y")), "/a/x~1y");
        assert_eq!(shown(Pointer::Read(Text::Token(r#""/a\n""#))), "/a\n");
    }
}
