//! Types and fields of events, as the tape format defines them.

use crate::event::Kind;

/// The type of a value.
#[derive(Debug, Clone, Copy)]
pub enum FieldType {
    /// A string. It may be empty, as an output may be.
    Text,
    /// A string that is not empty. If it is unknown, the key is left out.
    Name,
    /// One of these strings.
    Word(&'static [&'static str]),
    /// The name of a scheme. Another scheme has another name.
    Scheme(&'static str),
    /// An integer of 0 or more.
    Count,
    /// An integer.
    Integer,
    /// A number, as written in the source.
    Number,
    /// `true` or `false`.
    Bool,
    /// Only this boolean. The key is left out for the other one.
    Only(bool),
    /// `YYYY-MM-DDTHH:MM:SS[.fraction]Z`.
    Time,
    /// `blake3:` and 64 hex digits.
    Hash,
    /// `[first,last]`, 1-based lines; `[n,n-1]` is the empty span between lines n-1 and n.
    Range,
    /// A list of at least one fingerprint of 16 hex digits.
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
    /// It may be empty.
    Allowed,
    /// The key of an empty list is left out.
    Omitted,
}

/// Whether a field is always present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// Always present.
    Always,
    /// Present if the source says it.
    Stated,
}

/// One member of an object.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// The key.
    pub key: &'static str,
    /// Whether it is always present.
    pub presence: Presence,
    /// The type of its value.
    pub field_type: FieldType,
}

/// The fields of one kind of event, or of one label of `meta`, without the envelope.
#[derive(Debug, Clone, Copy)]
pub struct EventSchema {
    /// The kind.
    pub kind: Kind,
    /// The label of a `meta` event.
    pub label: Option<&'static str>,
    /// The fields, in the order of the format.
    pub fields: &'static [Field],
    /// What the event means.
    pub meaning: &'static str,
}
