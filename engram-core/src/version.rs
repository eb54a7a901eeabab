//! The version matrix: the supported versions of a harness, and the revision of the log schema for each.

use semver::{Version, VersionReq};
use serde::Serialize;

use crate::coverage::Coverage;
use crate::input::head::Identity;
use crate::words::words;

/// One revision of a harness's log schema, and the claims for it.
#[derive(Debug, Clone, Copy)]
pub struct Revision {
    /// The name of the schema in `tape.start`.
    pub schema: &'static str,
    /// The versions that write it, as a semver requirement (`>=1.0.10, <=1.0.100`): from the oldest to the newest version that fixtures
    /// prove. Between two revisions, nothing proves where one schema ends and the next begins.
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
        self.versions
            .and_then(requirement)
            .is_some_and(|req| req.matches(&release(version)))
    }

    /// The oldest and the newest version that fixtures prove; `None` if none of them is a version number.
    pub fn recorded_ends(&self) -> Option<(&'static str, &'static str)> {
        Some((self.recorded().min()?.1, self.recorded().max()?.1))
    }

    /// The versions that fixtures prove, as numbers and as text.
    fn recorded(&self) -> impl Iterator<Item = (Version, &'static str)> {
        self.tested
            .iter()
            .filter_map(|text| Some((parse(text)?, *text)))
    }

    /// What is wrong with the range: it must run from the oldest to the newest version that fixtures prove.
    fn wrong_range(&self) -> Option<String> {
        let stated = self.versions?;
        let found: String = stated.split_whitespace().collect();
        let Some((oldest, newest)) = self.recorded_ends() else {
            return Some(format!(
                "the range of {} is `{stated}`, but no version of it is recorded",
                self.schema
            ));
        };
        let (one, many) = (format!("={oldest}"), format!(">={oldest},<={newest}"));
        let is_right = found == many || (found == one && oldest == newest);
        (!is_right).then(|| {
            format!(
                "the range of {} is `{stated}`, but its recorded versions are {oldest} to {newest}",
                self.schema
            )
        })
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

words! {
    /// How well the version of an artifact is known. The best known level is the smallest.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Support {
        /// Fixtures or a sweep prove exactly this version, or the schema if no version is recorded.
        Tested = "tested",
        /// Between two proven versions of one schema.
        Between = "between",
        /// Newer than the newest proven version.
        Ahead = "ahead",
        /// None of these: older than every proven version, between two schemas, or not identified.
        Unknown = "unknown",
        /// On the known-bad list.
        KnownBad = "known_bad",
    }
}

impl Support {
    /// The level with this name.
    pub fn named(name: &str) -> Option<Support> {
        Support::ALL
            .into_iter()
            .find(|level| level.as_str() == name)
    }

    /// The reason code of the degradation at this level, if there is one. A level without one proves the schema and keeps the claims.
    pub const fn degradation(self) -> Option<&'static str> {
        match self {
            Support::Tested | Support::Between => None,
            Support::Ahead => Some("ahead"),
            Support::Unknown => Some("unknown_harness_version"),
            Support::KnownBad => Some("known_bad_version"),
        }
    }
}

/// The recorded versions nearest to a version that is in no range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Nearest {
    /// The newest recorded version that is older.
    pub older: Option<&'static str>,
    /// The oldest recorded version that is newer.
    pub newer: Option<&'static str>,
}

/// All revisions of one harness, oldest first.
#[derive(Debug, Clone, Copy)]
pub struct VersionMatrix {
    /// The revisions.
    pub revisions: &'static [Revision],
    /// Versions that were run with the scenarios of the recorder, and every check of their tapes held. They need no fixtures.
    pub swept: &'static [&'static str],
    /// Versions whose logs cannot be trusted.
    pub known_bad: &'static [KnownBad],
}

impl VersionMatrix {
    /// The revision of a recorded version, and how well it is known. A version in no range gets the newest revision, because its rules are
    /// the most likely to fit.
    pub fn resolve(&self, version: Option<&str>) -> (Option<&'static Revision>, Support) {
        let newest = self.newest();
        let Some(parsed) = version.and_then(parse) else {
            return (newest.or(self.revisions.last()), Support::Unknown);
        };
        let is_in = |list: &[&str]| list.iter().any(|known| Some(*known) == version);
        let is_swept = is_in(self.swept);
        let covering = self.covering(&parsed);
        let found = covering.or_else(|| self.before(&parsed).filter(|_| is_swept));
        let support = match found {
            _ if self.is_known_bad(&parsed) => Support::KnownBad,
            Some(revision) if is_swept || is_in(revision.tested) => Support::Tested,
            Some(_) => Support::Between,
            None if newest.is_some_and(|newest| is_ahead(&parsed, newest)) => Support::Ahead,
            None => Support::Unknown,
        };
        (found.or(newest).or(self.revisions.last()), support)
    }

    /// The recorded versions around `version`. Both are `None` if a revision covers it, if it is not a version number, or if both write the
    /// same schema, one that records no version: then they do not explain why the version is unknown.
    pub fn nearest(&self, version: Option<&str>) -> Nearest {
        let Some(version) = version
            .and_then(parse)
            .filter(|version| self.covering(version).is_none())
        else {
            return Nearest::default();
        };
        let recorded = || self.revisions.iter().flat_map(Revision::recorded);
        let older = recorded()
            .filter(|(number, _)| release(number) <= release(&version))
            .max()
            .map(|(_, text)| text);
        let newer = recorded()
            .filter(|(number, _)| release(number) > release(&version))
            .min()
            .map(|(_, text)| text);
        let write = |revision: &Revision, version: Option<&str>| {
            version.is_some_and(|version| revision.tested.contains(&version))
        };
        if self
            .revisions
            .iter()
            .any(|revision| write(revision, older) && write(revision, newer))
        {
            return Nearest::default();
        }
        Nearest { older, newer }
    }

    /// What is wrong with the ranges: each must run from its oldest to its newest recorded version, and begin after the one before.
    pub fn defects(&self) -> Vec<String> {
        let mut defects: Vec<String> = self
            .revisions
            .iter()
            .filter_map(Revision::wrong_range)
            .collect();
        let versioned: Vec<&Revision> = self
            .revisions
            .iter()
            .filter(|revision| revision.versions.is_some())
            .collect();
        for pair in versioned.windows(2) {
            let newest = pair[0]
                .recorded_ends()
                .and_then(|(_, newest)| parse(newest));
            let oldest = pair[1]
                .recorded_ends()
                .and_then(|(oldest, _)| parse(oldest));
            if newest
                .zip(oldest)
                .is_some_and(|(newest, oldest)| release(&newest) >= release(&oldest))
            {
                defects.push(format!(
                    "the range of {} does not begin after that of {}",
                    pair[1].schema, pair[0].schema
                ));
            }
        }
        defects
    }

    /// The newest revision that records its version.
    fn newest(&self) -> Option<&'static Revision> {
        self.revisions
            .iter()
            .rev()
            .find(|revision| revision.versions.is_some())
    }

    /// The last revision that begins before a version that no range covers, else the first one.
    fn before(&self, version: &Version) -> Option<&'static Revision> {
        let versioned = || {
            let revisions = self.revisions.iter();
            revisions.filter(|revision| revision.versions.is_some())
        };
        let begins_before = |revision: &&Revision| {
            let oldest = revision.recorded().min();
            oldest.is_some_and(|(oldest, _)| release(&oldest) <= release(version))
        };
        versioned()
            .rfind(begins_before)
            .or_else(|| versioned().next())
    }

    fn covering(&self, version: &Version) -> Option<&'static Revision> {
        self.revisions
            .iter()
            .find(|revision| revision.covers(version))
    }

    /// The revision of an artifact, and how well it is known. Decided by the version if one is recorded, otherwise by the schema that the
    /// structure proves. A version does not decide about a schema that several versions write beside another one.
    pub fn identify(&self, identity: &Identity) -> (Option<&'static Revision>, Support) {
        match (
            &identity.version,
            identity.schema.and_then(|schema| self.schema(schema)),
        ) {
            (None, Some(revision)) => (Some(revision), Support::Tested),
            (Some(version), Some(revision)) if revision.versions.is_none() => {
                (Some(revision), self.support_beside(version, revision))
            }
            (version, _) => self.resolve(version.as_deref()),
        }
    }

    /// How well a version is known of a schema that the structure proves.
    fn support_beside(&self, version: &str, revision: &Revision) -> Support {
        let Some(parsed) = parse(version) else {
            return Support::Unknown;
        };
        let (oldest, newest) = (revision.recorded().min(), revision.recorded().max());
        match (oldest, newest) {
            _ if self.is_known_bad(&parsed) => Support::KnownBad,
            _ if revision.tested.contains(&version) || self.swept.contains(&version) => {
                Support::Tested
            }
            (Some((oldest, _)), _) if release(&parsed) < release(&oldest) => Support::Unknown,
            (_, Some((newest, _))) if release(&parsed) < release(&newest) => Support::Between,
            (_, Some(_)) => Support::Ahead,
            _ => Support::Unknown,
        }
    }

    /// The revision with this schema name.
    pub fn schema(&self, schema: &str) -> Option<&'static Revision> {
        self.revisions
            .iter()
            .find(|revision| revision.schema == schema)
    }

    fn is_known_bad(&self, version: &Version) -> bool {
        self.known_bad
            .iter()
            .filter_map(|bad| requirement(bad.versions))
            .any(|req| req.matches(version))
    }
}

/// True if `version` is newer than the newest recorded version of the newest revision.
fn is_ahead(version: &Version, newest: &Revision) -> bool {
    newest
        .recorded_ends()
        .and_then(|(_, recorded)| parse(recorded))
        .is_some_and(|recorded| release(version) > release(&recorded))
}

/// The version without the parts after its numbers. A pre-release counts as its release: `1.2.0-beta` writes the same log as 1.2.0.
fn release(version: &Version) -> Version {
    Version::new(version.major, version.minor, version.patch)
}

/// A version number: semver, or a date such as `2026.10.01-e373342`, whose month and day can have leading zeros.
fn parse(text: &str) -> Option<Version> {
    Version::parse(text).ok().or_else(|| {
        let mut numbers = text
            .split('-')
            .next()?
            .split('.')
            .map(|number| number.parse().ok());
        let date = Version::new(numbers.next()??, numbers.next()??, numbers.next()??);
        numbers.next().is_none().then_some(date)
    })
}

/// A requirement with bounds that [`parse`] accepts.
fn requirement(text: &str) -> Option<VersionReq> {
    let bound = |bound: &str| {
        let bound = bound.trim();
        let at = bound
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(bound.len());
        let (operator, version) = bound.split_at(at);
        parse(version).map(|version| format!("{operator}{version}"))
    };
    VersionReq::parse(text).ok().or_else(|| {
        let bounds: Option<Vec<String>> = text.split(',').map(bound).collect();
        VersionReq::parse(&bounds?.join(",")).ok()
    })
}
