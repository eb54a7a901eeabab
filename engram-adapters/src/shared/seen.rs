//! What a repeat is: a record whose facts the log has said before, under its id. For plans, which never take anything back.

use std::collections::HashSet;

use engram_core::keys::{KeyMap, hash64};

use super::json::Value;

/// Whether a record repeats earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repetition {
    /// It says nothing that an earlier record with its id has said.
    New,
    /// Some of its facts were given, others not: see [`Seen::is_stated`].
    Partial,
    /// All its facts were given.
    Whole,
}

/// What the records with each id have said, as keys. An id alone makes no repeat: other records may have it too.
///
/// A record whose id was seen before is compared by its facts. If it shares none with the earlier records, its id does not identify it: from
/// then on, only a fact with the time of an earlier one repeats it. A harness gives the keys of ids, times and facts
/// ([`hash64`], [`fact_of`]).
///
/// ```
/// use engram_adapters::shared::seen::{Repetition, Seen};
///
/// let mut seen = Seen::default();
/// assert_eq!(seen.add(7, 10, &[1]), Repetition::New);
/// assert_eq!(seen.add(7, 11, &[1]), Repetition::Whole);
/// assert_eq!(seen.add(7, 11, &[1, 2]), Repetition::Partial);
/// assert!(seen.is_stated(0) && !seen.is_stated(1));
/// ```
#[derive(Debug, Default)]
pub struct Seen {
    /// The ids, and whether records without a common fact have it.
    ids: KeyMap<bool>,
    /// Each fact with the id of its record, and the time of the first record that says it.
    facts: KeyMap<u64>,
    /// Each fact with the id and the time of a later record.
    later: HashSet<(u64, u64)>,
    /// Which facts of the last record earlier ones with its id have. Empty if none.
    stated: Vec<bool>,
}

impl Seen {
    /// Adds a record with an id. `facts` are its members other than id and time. A record without facts repeats every record with the same
    /// id.
    pub fn add(&mut self, id: u64, time: u64, facts: &[u64]) -> Repetition {
        let repetition = self.repetition(id, time, facts);
        match self.ids.get_mut(&id) {
            None => drop(self.ids.insert(id, false)),
            Some(is_shared) => *is_shared |= repetition == Repetition::New,
        }
        if repetition != Repetition::Whole {
            for fact in facts {
                let fact = hash64((id, fact));
                if *self.facts.entry(fact).or_insert(time) != time {
                    self.later.insert((fact, time));
                }
            }
        }
        repetition
    }

    /// As [`Seen::add`], but the record does not count as seen.
    pub fn repetition(&mut self, id: u64, time: u64, facts: &[u64]) -> Repetition {
        self.stated.clear();
        let Some(is_shared) = self.ids.get(&id).copied() else {
            return Repetition::New;
        };
        let is_known = |fact: &u64| {
            let fact = hash64((id, fact));
            let first = self.facts.get(&fact);
            first.is_some_and(|first| {
                !is_shared || *first == time || self.later.contains(&(fact, time))
            })
        };
        self.stated.extend(facts.iter().map(is_known));
        if self.stated.iter().all(|is_stated| *is_stated) {
            return Repetition::Whole;
        }
        if self.stated.contains(&true) {
            return Repetition::Partial;
        }
        self.stated.clear();
        Repetition::New
    }

    /// True if an earlier record with the id of the last one has said the fact at this place of its list.
    pub fn is_stated(&self, place: usize) -> bool {
        self.stated.get(place) == Some(&true)
    }
}

/// What the members of an object state, without some of them, as a hash. White space does not count.
pub fn fact_of_members(object: Value<'_>, without: &[&str]) -> u64 {
    let members = object.members().filter(|(name, _)| !without.contains(name));
    members.fold(hash64("object"), |sum, (name, value)| {
        hash64((sum, name, fact_of(value)))
    })
}

/// What a value says, as a hash. White space does not count.
pub fn fact_of(value: Value<'_>) -> u64 {
    value.content_hash()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_of_several_records_identifies_none_of_them() {
        let mut seen = Seen::default();
        assert_eq!(seen.add(1, 10, &[1]), Repetition::New);
        assert_eq!(seen.add(1, 11, &[2]), Repetition::New);
        assert_eq!(seen.add(1, 12, &[1]), Repetition::New);
        assert_eq!(seen.add(1, 10, &[1]), Repetition::Whole);
        assert_eq!(seen.add(1, 12, &[1]), Repetition::Whole);
        assert_eq!(seen.add(2, 10, &[1]), Repetition::New);
    }

    #[test]
    fn a_record_that_is_only_compared_is_not_seen() {
        let mut seen = Seen::default();
        assert_eq!(seen.repetition(1, 10, &[1]), Repetition::New);
        assert_eq!(seen.add(1, 10, &[1]), Repetition::New);
    }
}
