//! The form of the table: answers, their members, and the types of values.

/// A line of an answer.
#[derive(Debug, Clone, Copy)]
pub struct Answer {
    /// The command that prints it.
    pub command: &'static str,
    /// The name of the line in the schema.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Its type.
    pub is: Is,
}

/// A member of an object.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    /// Its name.
    pub name: &'static str,
    /// When it is there.
    pub when: When,
    /// The type of its value.
    pub is: Is,
    /// What it means.
    pub about: &'static str,
}

/// When a member is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Always.
    Always,
    /// If it is known, or has anything in it.
    Known,
}

/// The type of a value.
#[derive(Debug, Clone, Copy)]
pub enum Is {
    /// A text.
    Text,
    /// One of these texts.
    Word(&'static [&'static str]),
    /// RFC 3339, UTC.
    Time,
    /// A whole number of 0 or more.
    Count,
    /// A number.
    Number,
    /// `true` or `false`.
    Bool,
    /// Always true.
    True,
    /// Two lines, from 1, both ends included. The second is one less than the first where no line is.
    Lines,
    /// An event of a tape, as `docs/tape-v1.schema.json` describes it, its texts perhaps cut.
    Event,
    /// An object with these members.
    Object(&'static [Member]),
    /// A list of such values.
    List(&'static Is),
    /// An object with such values, by names that the log gives.
    Map(&'static Is),
    /// A row of a question: its members are what was asked for.
    Row,
    /// Such a value, or null.
    OrNull(&'static Is),
}
