//! `matrix/facts/<harness>.tsv`: which versions have shown each fact of a shape, and with which scenarios. So what is new in a version is what
//! the version before has not shown, and shards of a sweep can be joined in any order.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};
use std::path::Path;

use semver::Version;

use crate::error::{Fault, RecorderError};
use crate::shape::{Entry, Shape};
use crate::table_file;

/// The first line of a file.
const HEAD: &str = "set\trecord\tpointer\ttype\tversions";
/// Stands in place of a record type in the lines that say what was recorded.
const RECORDED: &str = "=";

/// A set of scenarios: versions are compared within one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Set {
    /// Those of every version.
    Core,
    /// All others.
    Wide,
}

impl Set {
    const ALL: [Set; 2] = [Set::Core, Set::Wide];

    const fn as_str(self) -> &'static str {
        match self {
            Set::Core => "core",
            Set::Wide => "wide",
        }
    }
}

/// What one version has shown with the scenarios of one set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shown {
    /// The scenarios that were recorded.
    pub scenarios: BTreeSet<String>,
    /// The facts of their logs.
    pub shape: Shape,
}

/// The facts of all versions of a harness.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts(pub BTreeMap<(Set, Version), Shown>);

impl Facts {
    /// Reads a file; no file has no facts.
    ///
    /// # Errors
    /// If a line is wrong.
    pub fn read(path: &Path) -> Result<Facts, RecorderError> {
        let Some(text) = table_file::read(path)? else {
            return Ok(Facts::default());
        };
        Facts::parse(&text).map_err(|what| {
            RecorderError::new(Fault::BadScenario, format!("{}: {what}", path.display()))
        })
    }

    /// Writes a file, in the order of sets, records and pointers.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn write(&self, path: &Path) -> Result<(), RecorderError> {
        table_file::replace(path, &self.to_string())
    }

    fn parse(text: &str) -> Result<Facts, String> {
        let mut lines = text.lines();
        if lines.next() != Some(HEAD) {
            return Err("its first line does not name the columns of this version".to_owned());
        }
        let mut facts = Facts::default();
        for (at, line) in lines.enumerate() {
            facts
                .add_line(line)
                .ok_or_else(|| format!("line {} is wrong", at + 2))?;
        }
        Ok(facts)
    }

    fn add_line(&mut self, line: &str) -> Option<()> {
        let [set, kind, pointer, json, versions] =
            <[&str; 5]>::try_from(line.split('\t').collect::<Vec<_>>()).ok()?;
        let set = Set::ALL.into_iter().find(|known| known.as_str() == set)?;
        if kind == RECORDED {
            let version = versions.parse().ok()?;
            let scenarios = pointer.split_whitespace().map(str::to_owned).collect();
            let shape = Shape::default();
            return self
                .0
                .insert((set, version), Shown { scenarios, shape })
                .is_none()
                .then_some(());
        }
        for range in versions.split(' ') {
            let (from, to) = range.split_once("..").unwrap_or((range, range));
            let (from, to) = ((set, from.parse().ok()?), (set, to.parse().ok()?));
            // What was recorded stands before the facts.
            if from > to || !self.0.contains_key(&from) || !self.0.contains_key(&to) {
                return None;
            }
            for shown in self.0.range_mut(from..=to).map(|(_, shown)| shown) {
                let entry = Entry(kind.to_owned(), pointer.to_owned(), json.to_owned());
                shown.shape.0.insert(entry);
            }
        }
        Some(())
    }

    /// Adds what another shard has found. The order of joins does not matter.
    pub fn join(&mut self, other: Facts) {
        for (key, shown) in other.0 {
            let own = self.0.entry(key).or_default();
            own.scenarios.extend(shown.scenarios);
            own.shape.join(shown.shape);
        }
    }

    /// What a version has shown that the recorded version before it has not; empty if there is none.
    pub fn new_in(&self, version: &Version) -> String {
        let since = |set| {
            let shown = self.0.get(&(set, version.clone()))?;
            let first = (set, Version::new(0, 0, 0));
            let ((_, before), older) = self.0.range(first..(set, version.clone())).next_back()?;
            let missing: Vec<&str> = shown
                .scenarios
                .difference(&older.scenarios)
                .map(String::as_str)
                .collect();
            let mut new: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
            for Entry(kind, pointer, json) in shown.shape.beyond(&older.shape) {
                if json != "null" {
                    new.entry(kind).or_default().insert(pointer);
                }
            }
            let count: usize = new.values().map(BTreeSet::len).sum();
            let lines = new.into_iter().map(|(kind, pointers)| {
                let pointers = pointers.into_iter().collect::<Vec<_>>().join(" ");
                format!("{kind}: {pointers}")
            });
            let without = if missing.is_empty() {
                String::new()
            } else {
                format!(" (without {})", missing.join(" "))
            };
            (count > 0).then(|| {
                format!(
                    "{count} since {before}{without}: {}",
                    lines.collect::<Vec<_>>().join("; ")
                )
            })
        };
        let parts: Vec<String> = Set::ALL.into_iter().filter_map(since).collect();
        parts.join("; ")
    }

    /// True if it has facts of this version.
    pub fn has(&self, version: &Version) -> bool {
        Set::ALL
            .into_iter()
            .any(|set| self.0.contains_key(&(set, version.clone())))
    }
}

impl Display for Facts {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEAD}")?;
        for ((set, version), shown) in &self.0 {
            let scenarios: Vec<&str> = shown.scenarios.iter().map(String::as_str).collect();
            let (set, scenarios) = (set.as_str(), scenarios.join(" "));
            writeln!(f, "{set}\t{RECORDED}\t{scenarios}\t\t{version}")?;
        }
        for set in Set::ALL {
            let recorded = self.0.iter().filter(|((other, _), _)| *other == set);
            let recorded: Vec<(&Version, &Shape)> = recorded
                .map(|((_, version), shown)| (version, &shown.shape))
                .collect();
            let all: BTreeSet<&Entry> = recorded
                .iter()
                .flat_map(|(_, shape)| shape.0.iter())
                .collect();
            for entry in all {
                let has = |(_, shape): &(&Version, &Shape)| shape.0.contains(entry);
                let ranges = recorded
                    .chunk_by(|one, other| has(one) == has(other))
                    .filter(|chunk| has(&chunk[0]))
                    .map(|chunk| match chunk {
                        [(one, _)] => one.to_string(),
                        [(from, _), .., (to, _)] => format!("{from}..{to}"),
                        [] => String::new(),
                    });
                let ranges = ranges.collect::<Vec<_>>().join(" ");
                let Entry(kind, pointer, json) = entry;
                writeln!(f, "{}\t{kind}\t{pointer}\t{json}\t{ranges}", set.as_str())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(all: &[(Set, &str, &str, &[&str])]) -> Facts {
        let shown = |scenarios: &str, pointers: &[&str]| {
            let entry =
                |pointer: &&str| Entry("user".to_owned(), (*pointer).to_owned(), "string".into());
            Shown {
                scenarios: scenarios.split_whitespace().map(str::to_owned).collect(),
                shape: Shape(pointers.iter().map(entry).collect()),
            }
        };
        let pairs = all.iter().map(|(set, version, scenarios, pointers)| {
            ((*set, version.parse().unwrap()), shown(scenarios, pointers))
        });
        Facts(pairs.collect())
    }

    #[test]
    fn file_has_ranges_and_is_read_as_it_was_written() {
        let facts = facts(&[
            (Set::Core, "1.9.0", "a", &["/x", "/y"]),
            (Set::Core, "1.10.0", "a", &["/x", "/y"]),
            (Set::Core, "1.11.0", "a", &["/x"]),
            (Set::Core, "1.12.0", "a", &["/x", "/y"]),
            (Set::Wide, "1.12.0", "b c", &["/z"]),
        ]);
        let text = facts.to_string();
        assert!(
            text.contains("core\tuser\t/y\tstring\t1.9.0..1.10.0 1.12.0\n"),
            "{text}"
        );
        assert_eq!(Facts::parse(&text).unwrap(), facts);
        for wrong in ["1.12.0..1.9.0", "1.13.0", "x"] {
            let text = text.replace("1.9.0..1.10.0 1.12.0", wrong);
            assert!(Facts::parse(&text).is_err(), "{wrong}");
        }
    }

    #[test]
    fn new_is_what_the_version_before_has_not_shown_with_the_same_set() {
        let all = facts(&[
            (Set::Core, "1.9.0", "a", &["/x", "/gone"]),
            (Set::Core, "1.10.0", "a", &["/x", "/new"]),
            (Set::Core, "1.11.0", "a b", &["/gone", "/new", "/x"]),
            (Set::Wide, "1.11.0", "c", &["/wide"]),
        ]);
        let new = |version: &str| all.new_in(&version.parse().unwrap());
        assert_eq!(new("1.9.0"), "");
        assert_eq!(new("1.10.0"), "1 since 1.9.0: user: /new");
        assert_eq!(new("1.11.0"), "1 since 1.10.0 (without b): user: /gone");
    }

    #[test]
    fn shards_are_joined_in_any_order() {
        let one = facts(&[
            (Set::Core, "1.0.0", "a", &["/x"]),
            (Set::Core, "1.2.0", "a", &["/y"]),
        ]);
        let two = facts(&[(Set::Core, "1.1.0", "a", &["/x", "/y"])]);
        let joined = |first: &Facts, then: &Facts| {
            let mut all = first.clone();
            all.join(then.clone());
            all
        };
        let all = joined(&one, &two);
        assert_eq!(all, joined(&two, &one));
        assert_eq!(all, joined(&all, &one));
        assert!(
            all.to_string().contains("/x\tstring\t1.0.0..1.1.0\n"),
            "{all}"
        );
    }
}
