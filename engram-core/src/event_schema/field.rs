//! Types and fields of events, as the tape format defines them.

use crate::event::Kind;

/// What a value must be.
#[derive(Debug, Clone, Copy)]
pub enum FieldType {
    /// A string. An empty one is a fact: an output that was empty.
    Text,
    /// A string that is never empty: what is unknown is left out.
    Name,
    /// One of these strings.
    Word(&'static [&'static str]),
    /// An integer of 0 or more.
    Count,
    /// An integer.
    Integer,
    /// A number, spelled as the source spells it.
    Number,
    /// `true` or `false`.
    Bool,
    /// Only this; the other is said by leaving the key out.
    Only(bool),
    /// `YYYY-MM-DDTHH:MM:SS[.fraction]Z`.
    Time,
    /// `blake3:` and 64 hex digits.
    Hash,
    /// `[first,last]`, 1-based lines; `[n,n-1]` is the empty span between lines n-1 and n.
    Range,
    /// A list of one or more fingerprints of 16 hex digits.
    Anchors,
    /// A JSON pointer (RFC 6901) that is not empty.
    Pointer,
    /// Any JSON value of the source.
    Json,
    /// An object with these members, in this order.
    Object(&'static [Field]),
    /// A list of such values, and whether it may be empty.
    List(&'static FieldType, Empty),
}

/// Whether a list may be empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Empty {
    /// It may.
    Allowed,
    /// What is empty is left out.
    LeftOut,
}

/// Whether a field is always there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// Always.
    Always,
    /// Where the source states it.
    Stated,
}

/// One member of an object.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// The key.
    pub key: &'static str,
    /// Whether it is always there.
    pub presence: Presence,
    /// What its value must be.
    pub field_type: FieldType,
}

/// The own fields of one kind of event, or of one label of `meta`.
#[derive(Debug, Clone, Copy)]
pub struct EventSchema {
    /// The kind.
    pub kind: Kind,
    /// The label, for `meta`.
    pub label: Option<&'static str>,
    /// The fields, in their order.
    pub fields: &'static [Field],
    /// What the event says.
    pub meaning: &'static str,
}
