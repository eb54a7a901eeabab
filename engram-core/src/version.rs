//! The version matrix: the supported versions of a harness, and the revision of the log schema for each.

use semver::{Version, VersionReq};
use serde::Serialize;

use crate::coverage::Coverage;
use crate::input::head::Identity;

/// One revision of a harness's log schema, and the claims for it.
#[derive(Debug, Clone, Copy)]
pub struct Revision {
    /// The name of the schema in `tape.start`.
    pub schema: &'static str,
    /// The versions that write it, as a semver requirement (`>=1.0.10, <=1.0.100`). Fixtures prove both ends.
    /// `None` if the harness or schema records no version. Then the structure alone proves the revision.
    pub versions: Option<&'static str>,
    /// The exact versions that fixtures prove.
    pub tested: &'static [&'static str],
    /// The claims for it.
    pub coverage: Coverage,
}

impl Revision {
    /// True if `version` is in the range of this revision.
    pub fn covers(&self, version: &Version) -> bool {
        // A pre-release counts as its release: `1.2.0-beta` writes the same log as 1.2.0.
        let release = Version::new(version.major, version.minor, version.patch);
        self.versions.and_then(requirement).is_some_and(|req| req.matches(&release))
    }
}

/// Versions whose logs cannot be trusted.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct KnownBad {
    /// The versions, as a semver requirement.
    pub versions: &'static str,
    /// Why.
    pub reason: &'static str,
}

/// How well the version of an artifact is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// Fixtures prove exactly this version, or the schema if no version is recorded.
    Tested,
    /// Inside a supported range, between two proven versions.
    Untested,
    /// Outside the matrix, or not identified.
    Unknown,
    /// On the known-bad list.
    KnownBad,
}

impl Support {
    /// Every level.
    pub const ALL: [Support; 4] = [Support::Tested, Support::Untested, Support::Unknown, Support::KnownBad];

    /// The name in a tape.
    pub const fn as_str(self) -> &'static str {
        match self {
            Support::Tested => "tested",
            Support::Untested => "untested",
            Support::Unknown => "unknown",
            Support::KnownBad => "known_bad",
        }
    }

    /// The reason code of the degradation at this level, if there is one.
    pub fn degradation(self) -> Option<&'static str> {
        match self {
            Support::Tested | Support::Untested => None,
            Support::Unknown => Some("unknown_harness_version"),
            Support::KnownBad => Some("known_bad_version"),
        }
    }
}

/// All revisions of one harness, oldest first.
#[derive(Debug, Clone, Copy)]
pub struct VersionMatrix {
    /// The revisions.
    pub revisions: &'static [Revision],
    /// Versions whose logs cannot be trusted.
    pub known_bad: &'static [KnownBad],
}

impl VersionMatrix {
    /// The revision of a recorded version, and how well it is known. An unknown version gets the newest revision, because its rules are
    /// the most likely to fit.
    pub fn resolve(&self, version: Option<&str>) -> (Option<&'static Revision>, Support) {
        let newest = self.revisions.iter().rev().find(|revision| revision.versions.is_some()).or(self.revisions.last());
        let Some(parsed) = version.and_then(parse) else {
            return (newest, Support::Unknown);
        };
        let found = self.revisions.iter().find(|revision| revision.covers(&parsed));
        if self.is_known_bad(&parsed) {
            return (found.or(newest), Support::KnownBad);
        }
        match found {
            None => (newest, Support::Unknown),
            Some(revision) if revision.tested.iter().any(|tested| Some(*tested) == version) => (found, Support::Tested),
            Some(_) => (found, Support::Untested),
        }
    }

    /// The revision of an artifact, and how well it is known. Decided by the version if one is recorded, otherwise by the schema that the
    /// structure proves.
    pub fn identify(&self, identity: &Identity) -> (Option<&'static Revision>, Support) {
        match (&identity.version, identity.schema.and_then(|schema| self.schema(schema))) {
            (None, Some(revision)) => (Some(revision), Support::Tested),
            (version, _) => self.resolve(version.as_deref()),
        }
    }

    /// The revision with this schema name.
    pub fn schema(&self, schema: &str) -> Option<&'static Revision> {
        self.revisions.iter().find(|revision| revision.schema == schema)
    }

    fn is_known_bad(&self, version: &Version) -> bool {
        self.known_bad.iter().filter_map(|bad| requirement(bad.versions)).any(|req| req.matches(version))
    }
}

/// A version number: semver, or a date such as `2026.10.01-e373342`, whose month and day can have leading zeros.
fn parse(text: &str) -> Option<Version> {
    Version::parse(text).ok().or_else(|| {
        let mut numbers = text.split('-').next()?.split('.').map(|number| number.parse().ok());
        let date = Version::new(numbers.next()??, numbers.next()??, numbers.next()??);
        numbers.next().is_none().then_some(date)
    })
}

/// A requirement with bounds that [`parse`] accepts.
fn requirement(text: &str) -> Option<VersionReq> {
    let bound = |bound: &str| {
        let bound = bound.trim();
        let at = bound.find(|c: char| c.is_ascii_digit()).unwrap_or(bound.len());
        let (operator, version) = bound.split_at(at);
        parse(version).map(|version| format!("{operator}{version}"))
    };
    VersionReq::parse(text).ok().or_else(|| {
        let bounds: Option<Vec<String>> = text.split(',').map(bound).collect();
        VersionReq::parse(&bounds?.join(",")).ok()
    })
}
