//! Where an event comes from: the record's place in its artifact, and the place inside the record.

use crate::buffer::{Buffer, Piece, Push as _};
use crate::digits::push_number;
use crate::members::{key, piece};
use crate::text::push_plain;

/// A place inside a record (RFC 6901), built without allocation. Its paths hold nothing that JSON escapes.
#[derive(Debug, Clone, Copy, Default)]
pub enum Pointer<'p> {
    /// The whole record.
    #[default]
    Root,
    /// A fixed place, `/payload/item`.
    At(&'p str),
    /// An element of an array, `/message/content/` and its index.
    Item(&'p str, usize),
    /// A field of an element of an array: the array's path, the index, and the rest of the path.
    Field(&'p str, usize, &'p str),
    /// A member that the source names: the object's path, and the name as a segment, which may hold anything.
    Member(&'p str, &'p str),
}

impl Pointer<'_> {
    fn is_root(self) -> bool {
        matches!(self, Pointer::Root)
    }

    /// Appends what stands between the quotes of it as a JSON string.
    fn push(self, out: &mut Buffer) {
        match self {
            Pointer::Root => {}
            Pointer::At(path) => push_path(out, path),
            Pointer::Item(path, index) => push_item(out, path, index),
            Pointer::Field(path, index, rest) => {
                push_item(out, path, index);
                push_path(out, rest);
            }
            Pointer::Member(path, segment) => {
                push_path(out, path);
                out.ascii(b"/");
                push_plain(out, segment);
            }
        }
    }
}

fn push_path(out: &mut Buffer, path: &str) {
    debug_assert!(!path.bytes().any(|byte| byte < b' ' || byte == b'"' || byte == b'\\'), "a path of the source's own words: {path:?}");
    out.push_str(path);
}

fn push_item(out: &mut Buffer, path: &str, index: usize) {
    push_path(out, path);
    out.ascii(b"/");
    push_number(out, index as u64);
}

/// The record that a place is in, to come back to: [`Emitter::attribute_to`](crate::emit::Emitter::attribute_to).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecordLocation {
    line: u64,
    part: u64,
}

impl From<Place> for RecordLocation {
    fn from(Place { line, part, .. }: Place) -> RecordLocation {
        RecordLocation { line, part }
    }
}

impl From<RecordLocation> for Place {
    fn from(RecordLocation { line, part }: RecordLocation) -> Place {
        Place { line, part, ..Place::default() }
    }
}

/// Where a record lies in its artifact.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Place {
    /// 1-based physical line; 0 for documents.
    pub line: u64,
    /// Index among the values of that line.
    pub part: u64,
    /// Where in the record pointers begin.
    pub within: Pointer<'static>,
}

/// Writes `origin`, if anything is known of it. `line` and `id` are the members that state the record's line and own id, `id` empty
/// where it has none.
pub(crate) fn push_origin(out: &mut Buffer, place: Place, line: &Piece, pointer: Pointer<'_>, id: &Buffer) {
    let is_root = pointer.is_root() && place.within.is_root();
    if place.line == 0 && is_root && id.is_empty() {
        return;
    }
    out.piece(key!("origin"));
    let start = out.len();
    if place.line > 0 {
        out.piece(line);
    }
    if place.part > 0 {
        out.piece(key!("part"));
        push_number(out, place.part);
    }
    if !is_root {
        out.piece(piece!(",\"pointer\":\""));
        if !place.within.is_root() {
            place.within.push(out);
        }
        pointer.push(out);
        out.ascii(b"\"");
    }
    out.append(id);
    out.brace(start);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digits::Count;

    fn origin(place: Place, pointer: Pointer<'_>, id: &'static str) -> String {
        let (mut out, mut member) = (Buffer::default(), Buffer::default());
        member.piece(&Piece::of(&[id]));
        let mut line = Count::new(key!("line"));
        line.set(place.line);
        push_origin(&mut out, place, line.spelled(), pointer, &member);
        out.to_str().to_owned()
    }

    #[test]
    fn what_is_known_of_the_origin_is_written() {
        let line = Place { line: 7, part: 1, ..Place::default() };
        let wrapped = Place { within: Pointer::Item("/in", 2), ..Place::default() };
        assert_eq!(origin(Place::default(), Pointer::Root, ""), "");
        assert_eq!(origin(Place::default(), Pointer::Root, r#","id":"x""#), r#","origin":{"id":"x"}"#);
        assert_eq!(origin(line, Pointer::Root, ""), r#","origin":{"line":7,"part":1}"#);
        assert_eq!(origin(Place::default(), Pointer::Field("/a", 10, "/b"), ""), r#","origin":{"pointer":"/a/10/b"}"#);
        assert_eq!(origin(wrapped, Pointer::Root, ""), r#","origin":{"pointer":"/in/2"}"#);
        assert_eq!(origin(wrapped, Pointer::Item("/a", 10), ""), r#","origin":{"pointer":"/in/2/a/10"}"#);
        assert_eq!(origin(Place::default(), Pointer::Member("/a", "x\"~1\n"), ""), r#","origin":{"pointer":"/a/x\"~1\n"}"#);
    }
}
