//! Members that no table names, as the ledger counts them.

use serde::{Deserialize, Serialize};

use crate::event::RecordLocation;

/// The reason code of claims that are lowered because of unknown members.
pub const DEGRADED_BY_MEMBERS: &str = "unknown_members";

/// The most different members that a ledger lists.
pub const MAX_UNKNOWN_MEMBERS: usize = 64;

/// A member that the table does not name, or whose value does not have the JSON type that the table names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownMember {
    /// The record type.
    #[serde(rename = "type")]
    pub record: String,
    /// A JSON pointer from the record, with `*` for items of arrays and keys of maps.
    pub pointer: String,
    /// The JSON type of the value, if the table names the member with another type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// How often it occurs.
    pub count: u64,
    /// Where it occurs first. Not part of a tape.
    #[serde(skip)]
    pub first: RecordLocation,
}

impl UnknownMember {
    fn key(&self) -> (&str, &str, Option<&str>) {
        (&self.record, &self.pointer, self.found.as_deref())
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The unknown members of an artifact, sorted by type, pointer and found type.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownMembers {
    /// At most [`MAX_UNKNOWN_MEMBERS`].
    #[serde(
        rename = "unknown_members",
        default,
        skip_serializing_if = "Vec::is_empty"
    )]
    pub listed: Vec<UnknownMember>,
    /// Occurrences of further members.
    #[serde(
        rename = "unknown_members_more",
        default,
        skip_serializing_if = "is_zero"
    )]
    pub more: u64,
}

impl UnknownMembers {
    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.listed.is_empty() && self.more == 0
    }

    /// The number of occurrences of all members.
    pub fn total(&self) -> u64 {
        self.listed
            .iter()
            .fold(self.more, |sum, member| sum.saturating_add(member.count))
    }

    /// Adds occurrences of a member.
    pub fn add(&mut self, member: UnknownMember) {
        match self
            .listed
            .binary_search_by(|known| known.key().cmp(&member.key()))
        {
            Ok(at) => self.listed[at].count += member.count,
            Err(at) if self.listed.len() < MAX_UNKNOWN_MEMBERS => self.listed.insert(at, member),
            Err(_) => self.more += member.count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(pointer: &str) -> UnknownMember {
        UnknownMember {
            record: "user".into(),
            pointer: pointer.into(),
            found: None,
            count: 1,
            first: RecordLocation::default(),
        }
    }

    #[test]
    fn members_are_counted_and_sorted_and_bounded() {
        let mut unknown = UnknownMembers::default();
        assert!(unknown.is_empty());
        for pointer in ["/b", "/a", "/b"] {
            unknown.add(member(pointer));
        }
        let listed: Vec<(&str, u64)> = unknown
            .listed
            .iter()
            .map(|member| (member.pointer.as_str(), member.count))
            .collect();
        assert_eq!(listed, [("/a", 1), ("/b", 2)]);
        for number in 0..MAX_UNKNOWN_MEMBERS {
            unknown.add(member(&format!("/c{number}")));
        }
        assert_eq!(
            (unknown.listed.len(), unknown.more, unknown.total()),
            (MAX_UNKNOWN_MEMBERS, 2, 67)
        );
    }
}
