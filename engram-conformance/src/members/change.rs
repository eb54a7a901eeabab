//! Changes of a member: another name, or a value of another JSON type. The rest of the source keeps its bytes.

use std::ops::Range;

use engram_core::members::JsonTypes;

/// What is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The name.
    Rename,
    /// The JSON type of the value.
    Retype,
}

/// A replacement of some bytes of a source.
#[derive(Debug, Clone)]
pub struct Change {
    /// What is changed.
    pub kind: Kind,
    at: Range<usize>,
    with: String,
}

/// What new names end with. No table has a name that ends so.
const RENAMED: &str = "_renamed";

/// Values of other types, the usual ones first.
const VALUES: [(JsonTypes, &str); 5] = [
    (JsonTypes::STRING, "\"changed\""),
    (JsonTypes::NUMBER, "7"),
    (JsonTypes::BOOL, "true"),
    (JsonTypes::OBJECT, "{\"changed\":true}"),
    (JsonTypes::ARRAY, "[\"changed\"]"),
];

impl Change {
    /// Another name for the member whose name, without its quotes, is at `name`.
    pub fn rename(name: Range<usize>) -> Change {
        Change { kind: Kind::Rename, at: name.end..name.end, with: RENAMED.to_owned() }
    }

    /// A value of a type that the table does not allow. `None` if it allows every type.
    pub fn retype(value: Range<usize>, allowed: JsonTypes) -> Option<Change> {
        let (_, with) = VALUES.iter().find(|(types, _)| !types.meets(allowed))?;
        Some(Change { kind: Kind::Retype, at: value, with: (*with).to_owned() })
    }

    /// The first `end` bytes of the source with the change.
    pub fn apply(&self, source: &[u8], end: usize) -> Vec<u8> {
        [&source[..self.at.start], self.with.as_bytes(), &source[self.at.end..end]].concat()
    }

    /// The new value or the end of the new name.
    pub fn with(&self) -> &str {
        &self.with
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_name_or_the_value_changes() {
        let source = br#"{"a": 1, "b":"x"} rest"#;
        let text = |change: Change, end| String::from_utf8(change.apply(source, end)).unwrap();
        assert_eq!(text(Change::rename(2..3), 22), r#"{"a_renamed": 1, "b":"x"} rest"#);
        assert_eq!(text(Change::retype(6..7, JsonTypes::NUMBER).unwrap(), 17), r#"{"a": "changed", "b":"x"}"#);
        assert_eq!(text(Change::retype(13..16, JsonTypes::STRING).unwrap(), 17), r#"{"a": 1, "b":7}"#);
    }

    #[test]
    fn the_new_type_is_one_that_the_table_does_not_allow() {
        let with = |allowed| Change::retype(0..0, allowed).map(|change| change.with().to_owned());
        assert_eq!(with(JsonTypes::STRING.or(JsonTypes::NUMBER)).as_deref(), Some("true"));
        assert_eq!(with(JsonTypes::ANY), None);
    }
}
