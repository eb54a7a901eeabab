//! The report over any number of sessions, by harness and version.

use std::collections::BTreeMap;

use serde::Serialize;

use super::group::{DriftRow, Group, OTHER};

/// The most versions that are reported. Further ones are counted as [`OTHER`].
const MAX_GROUPS: usize = 1024;

/// What has changed in some sessions.
#[derive(Debug, Clone, Default)]
pub struct DriftReport {
    pub(super) sessions: u64,
    groups: BTreeMap<(String, Option<String>), Group>,
}

/// What has changed in the sessions of one harness version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct DriftGroup {
    /// The harness.
    pub harness: String,
    /// The version, if the logs record one.
    pub version: Option<String>,
    /// The sessions that the version wrote, or continued.
    pub sessions: u64,
    /// The records that it wrote.
    pub records: u64,
    /// False if the adapter has no member table for some of the records. Only unknown types are listed for those.
    pub members_checked: bool,
    /// The changes, at most [`MAX_DRIFT_ROWS`](super::MAX_DRIFT_ROWS).
    pub rows: Vec<DriftRow>,
    /// Occurrences of further changes.
    pub more: u64,
}

impl DriftGroup {
    /// True if nothing has changed.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.more == 0
    }
}

impl DriftReport {
    /// The number of sessions.
    pub fn sessions(&self) -> u64 {
        self.sessions
    }

    /// The number of records.
    pub fn records(&self) -> u64 {
        self.groups.values().map(|group| group.records).sum()
    }

    /// Adds the report of later sessions.
    pub fn merge(&mut self, later: DriftReport) {
        self.sessions += later.sessions;
        for ((harness, version), group) in later.groups {
            self.group(&harness, version.as_deref()).merge(group);
        }
    }

    /// All versions that wrote any of the sessions, also those without a change.
    pub fn groups(&self) -> Vec<DriftGroup> {
        let group = |((harness, version), group): (&(String, Option<String>), &Group)| {
            let (rows, more) = group.rows();
            DriftGroup {
                harness: harness.clone(),
                version: version.clone(),
                sessions: group.sessions,
                records: group.records,
                members_checked: !group.is_unchecked,
                rows,
                more,
            }
        };
        self.groups.iter().map(group).collect()
    }

    /// The version's group.
    pub(super) fn group(&mut self, harness: &str, version: Option<&str>) -> &mut Group {
        let key = (harness.to_owned(), version.map(str::to_owned));
        let is_listed = self.groups.len() < MAX_GROUPS || self.groups.contains_key(&key);
        self.groups
            .entry(if is_listed {
                key
            } else {
                (harness.to_owned(), Some(OTHER.to_owned()))
            })
            .or_default()
    }
}
