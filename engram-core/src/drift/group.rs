//! What has changed in the sessions of one harness version: counted, each with its first place, and bounded.

use std::collections::BTreeMap;

use serde::Serialize;

/// The most different changes that are listed for one version.
pub const MAX_DRIFT_ROWS: usize = 256;
/// A member has stopped appearing if it is absent in every object of its place, and there are at least this many.
pub const MIN_ABSENT: u64 = 3;
/// The most members whose presence is followed in one version.
const MAX_FOLLOWED: usize = 16_384;
/// The name for further versions and types, if there are too many.
pub(super) const OTHER: &str = "*";

/// How a log differs from the member table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Change {
    /// A record, or a block in one, has a type that the adapter does not know.
    UnknownType,
    /// An object has a member that the table does not name.
    UnknownMember,
    /// A value does not have the JSON type that the table names.
    TypeChange {
        /// The types that the table names, if they are known.
        #[serde(skip_serializing_if = "Option::is_none")]
        expected: Option<String>,
        /// The type of the value.
        found: String,
    },
    /// A member that every object in its place had is absent in all of them.
    MissingMember,
    /// A member or a type that the harness's own types declare is in a log. The table has no row for it: it can get one.
    Declared,
}

/// Where something is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The path of the session, as messages show it.
    pub path: String,
    /// The 1-based physical line; 0 in a document.
    #[serde(skip_serializing_if = "is_zero")]
    pub line: u64,
    /// The 0-based index among the JSON values of that line.
    #[serde(skip_serializing_if = "is_zero")]
    pub part: u64,
    /// The JSON pointer (RFC 6901) from the value on the line, or from the document. Empty if it is only known which record it is.
    pub pointer: String,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DriftRow {
    /// What has changed.
    #[serde(flatten)]
    pub change: Change,
    /// The type of the record, or of the block if that is unknown.
    #[serde(rename = "type")]
    pub record: String,
    /// A JSON pointer from the record, with `*` for items of arrays and keys of maps.
    pub pointer: String,
    /// How often it occurs; for a member that has stopped appearing, the number of objects without it.
    pub count: u64,
    /// Where it occurs first.
    pub first: Place,
}

/// Identifies a change: what it is, record type, and pointer.
pub(super) type ChangeKey = (Change, String, String);

impl DriftRow {
    /// What rows are sorted by.
    fn rank(&self) -> (u8, &str, &str) {
        let kind = match self.change {
            Change::UnknownType => 0,
            Change::UnknownMember => 1,
            Change::TypeChange { .. } => 2,
            Change::MissingMember => 3,
            Change::Declared => 4,
        };
        (kind, &self.record, &self.pointer)
    }
}

/// What is known of one harness version.
#[derive(Debug, Clone, Default)]
pub(super) struct Group {
    pub sessions: u64,
    pub records: u64,
    /// True if some records could not be compared, because the adapter has no table for them.
    pub is_unchecked: bool,
    changes: BTreeMap<ChangeKey, (u64, Place)>,
    /// Occurrences of further changes.
    more: u64,
    /// Members that every object in their place has, by record type and pointer.
    required: BTreeMap<(String, String), Presence>,
}

/// Whether the objects in one place have a member.
#[derive(Debug, Clone, Default)]
struct Presence {
    is_present: bool,
    absent: u64,
    /// The first object without it.
    first: Option<Place>,
}

impl Group {
    /// Counts occurrences of a change. `first` is the first of them.
    pub fn add(&mut self, key: ChangeKey, count: u64, first: impl FnOnce() -> Place) {
        if let Some((known, _)) = self.changes.get_mut(&key) {
            *known += count;
        } else if self.changes.len() < MAX_DRIFT_ROWS {
            self.changes.insert(key, (count, first()));
        } else {
            self.more += count;
        }
    }

    /// True if such a change was counted, whatever type the table expects.
    pub fn has(&self, change: &Change, record: &str, pointer: &str) -> bool {
        let is_same = |known: &Change| match (known, change) {
            (Change::TypeChange { found: known, .. }, Change::TypeChange { found, .. }) => {
                known == found
            }
            (known, change) => known == change,
        };
        self.changes
            .keys()
            .any(|(known, of, at)| of == record && at == pointer && is_same(known))
    }

    /// The number of records of unknown types, without blocks.
    pub fn unknown_records(&self) -> u64 {
        let is_record =
            |(change, _, pointer): &ChangeKey| *change == Change::UnknownType && pointer.is_empty();
        self.changes
            .iter()
            .filter(|(key, _)| is_record(key))
            .map(|(_, (count, _))| count)
            .sum()
    }

    /// Notes whether an object has a member that every object in its place has.
    pub fn require(
        &mut self,
        record: &str,
        pointer: String,
        is_present: bool,
        place: impl FnOnce() -> Place,
    ) {
        let key = (record.to_owned(), pointer);
        if self.required.len() >= MAX_FOLLOWED && !self.required.contains_key(&key) {
            return;
        }
        let presence = self.required.entry(key).or_default();
        presence.is_present |= is_present;
        if !is_present {
            presence.absent += 1;
            presence.first.get_or_insert_with(place);
        }
    }

    /// Adds what was found in later sessions.
    pub fn merge(&mut self, later: Group) {
        self.sessions += later.sessions;
        self.records += later.records;
        self.is_unchecked |= later.is_unchecked;
        self.more += later.more;
        for (key, (count, first)) in later.changes {
            self.add(key, count, || first);
        }
        for (key, presence) in later.required {
            if self.required.len() < MAX_FOLLOWED || self.required.contains_key(&key) {
                self.required.entry(key).or_default().merge(presence);
            }
        }
    }

    /// The changes, and the number of occurrences of those that are not listed.
    pub fn rows(&self) -> (Vec<DriftRow>, u64) {
        let known = self
            .changes
            .iter()
            .map(|((change, record, pointer), (count, first))| DriftRow {
                change: change.clone(),
                record: record.clone(),
                pointer: pointer.clone(),
                count: *count,
                first: first.clone(),
            });
        let mut rows: Vec<DriftRow> = known.chain(self.missing()).collect();
        rows.sort_by(|a, b| a.rank().cmp(&b.rank()));
        let unlisted = rows.split_off(rows.len().min(MAX_DRIFT_ROWS));
        (
            rows,
            self.more + unlisted.iter().map(|row| row.count).sum::<u64>(),
        )
    }

    /// The members that have stopped appearing.
    fn missing(&self) -> impl Iterator<Item = DriftRow> {
        self.required
            .iter()
            .filter(|(_, presence)| !presence.is_present && presence.absent >= MIN_ABSENT)
            .map(|((record, pointer), presence)| DriftRow {
                change: Change::MissingMember,
                record: record.clone(),
                pointer: pointer.clone(),
                count: presence.absent,
                first: presence.first.clone().unwrap_or_default(),
            })
    }
}

impl Presence {
    fn merge(&mut self, later: Presence) {
        self.is_present |= later.is_present;
        self.absent += later.absent;
        self.first = self.first.take().or(later.first);
    }
}
