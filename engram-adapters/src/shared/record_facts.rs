//! What the records with each id have stated. An id alone does not show that a record is repeated: other records may have it too.

use std::hash::Hash;

use engram_core::keys::hash64;

use super::json::Value;
use super::restorable::RestorableMap;
use super::seen_set::SeenSet;

/// What the records with each id have stated, as hashes. Grows with the session.
///
/// A record whose id was read before is compared by its facts. If it shares none with the earlier records, its id does not identify it:
/// from then on, only a fact with the time of an earlier one repeats it. A session calls [`RecordFacts::commit`] or
/// [`RecordFacts::roll_back`] after each record.
///
/// ```
/// use engram_adapters::shared::record_facts::{RecordFacts, Repetition};
///
/// let mut records = RecordFacts::default();
/// assert_eq!(records.begin("id", "10:00", &[1]), Repetition::New);
/// assert_eq!(records.begin("id", "11:00", &[1]), Repetition::Whole);
/// assert_eq!(records.begin("id", "11:00", &[1, 2]), Repetition::Partial);
/// assert!(records.is_stated(0) && !records.is_stated(1));
/// ```
#[derive(Debug, Default)]
pub struct RecordFacts {
    /// The ids that were read, and whether records without a common fact have it.
    ids: RestorableMap<bool>,
    /// Each fact with the id of its record, and the time of the first record that states it.
    facts: RestorableMap<u64>,
    /// Each fact with the id and the time of a later record.
    later: SeenSet,
    /// Which facts of the current record earlier ones with its id have. Empty if none.
    stated: Vec<bool>,
}

/// Whether a record repeats earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repetition {
    /// It states nothing that an earlier record with its id has stated.
    New,
    /// Some of its facts were stated, others not: see [`RecordFacts::is_stated`].
    Partial,
    /// All its facts were stated.
    Whole,
}

impl RecordFacts {
    /// Begins a record with an id that is not empty. `time` is that of the record, in any form; `facts` are hashes of what it states
    /// beside its id and time. A record without facts repeats any other one with its id.
    pub fn begin(&mut self, id: impl Hash, time: &str, facts: &[u64]) -> Repetition {
        let (id, time) = (hash64(id), hash64(time));
        let is_first = self.ids.insert_new(id, false);
        let repetition = if is_first { self.none_stated() } else { self.compare(id, time, facts) };
        if repetition == Repetition::New && !is_first && self.ids.get(id) == Some(false) {
            self.ids.insert(id, true);
        }
        if repetition != Repetition::Whole {
            facts.iter().for_each(|fact| self.insert(hash64((id, fact)), time));
        }
        repetition
    }

    fn insert(&mut self, fact: u64, time: u64) {
        if !self.facts.insert_new(fact, time) && self.facts.get(fact) != Some(time) {
            self.later.insert((fact, time));
        }
    }

    /// As [`RecordFacts::begin`], but the record does not count as read.
    pub fn repetition(&mut self, id: impl Hash, time: &str, facts: &[u64]) -> Repetition {
        self.compare(hash64(id), hash64(time), facts)
    }

    fn compare(&mut self, id: u64, time: u64, facts: &[u64]) -> Repetition {
        let Some(is_shared) = self.ids.get(id) else { return self.none_stated() };
        let is_known = |fact| {
            let fact = hash64((id, fact));
            let first = self.facts.get(fact);
            first.is_some_and(|first| !is_shared || first == time || self.later.contains((fact, time)))
        };
        self.stated.clear();
        self.stated.extend(facts.iter().map(is_known));
        if self.stated.iter().all(|is_stated| *is_stated) {
            return Repetition::Whole;
        }
        if self.stated.contains(&true) {
            return Repetition::Partial;
        }
        self.none_stated()
    }

    fn none_stated(&mut self) -> Repetition {
        self.stated.clear();
        Repetition::New
    }

    /// True if an earlier record with the id of the current one has stated the fact at this place of its list.
    pub fn is_stated(&self, place: usize) -> bool {
        self.stated.get(place) == Some(&true)
    }

    /// Begins a record without an id, which repeats none.
    pub fn begin_without_id(&mut self) {
        self.stated.clear();
    }

    /// The record is converted: its facts stay.
    pub fn commit(&mut self) {
        self.ids.commit();
        self.facts.commit();
        self.later.commit();
    }

    /// The record is malformed: its facts are forgotten.
    pub fn roll_back(&mut self) {
        self.ids.roll_back();
        self.facts.roll_back();
        self.later.roll_back();
    }
}

/// What the members of an object state, without some of them, as a hash. White space does not count.
pub fn fact_of_members(object: Value<'_>, without: &[&str]) -> u64 {
    let members = object.members().filter(|(name, _)| !without.contains(name));
    members.fold(hash64("object"), |sum, (name, value)| hash64((sum, name, fact_of(value))))
}

/// What a value states, as a hash. White space does not count.
pub fn fact_of(value: Value<'_>) -> u64 {
    hash64(value.compact())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_with_a_known_id_is_compared_by_its_facts() {
        let mut records = RecordFacts::default();
        let mut begin = |id, time, facts: &[u64]| records.begin(id, time, facts);
        assert_eq!([begin("a", "1", &[1]), begin("b", "1", &[1])], [Repetition::New; 2]);
        assert_eq!([begin("a", "1", &[1]), begin("a", "2", &[1])], [Repetition::Whole; 2]);
        assert_eq!([begin("a", "2", &[1, 2]), begin("a", "2", &[2])], [Repetition::Partial, Repetition::Whole]);
    }

    #[test]
    fn an_id_of_records_without_a_common_fact_identifies_none() {
        let mut records = RecordFacts::default();
        let mut begin = |time, fact| records.begin("a", time, &[fact]);
        assert_eq!([begin("1", 1), begin("2", 2), begin("3", 1)], [Repetition::New; 3]);
        assert_eq!([begin("1", 1), begin("2", 2), begin("3", 1)], [Repetition::Whole; 3]);
    }

    #[test]
    fn facts_of_a_malformed_record_are_forgotten() {
        let mut records = RecordFacts::default();
        records.begin("a", "", &[1]);
        records.commit();
        records.begin("a", "", &[1, 2]);
        records.roll_back();
        assert_eq!(records.begin("a", "", &[1, 2]), Repetition::Partial);
        assert_eq!([records.is_stated(0), records.is_stated(1)], [true, false]);
        records.begin_without_id();
        assert!(!records.is_stated(0));
    }
}
