//! What the records with each id have stated. An id alone does not show that a record is repeated: other records may have it too.

use std::hash::Hash;

use engram_core::keys::hash64;
use engram_core::text::canonical_json;

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
    /// Each fact with the id of its record, and also with the time of its record.
    facts: SeenSet,
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
        let key = hash64(id);
        let repetition = self.compare(key, time, facts);
        match self.ids.get(key) {
            None => drop(self.ids.insert(key, false)),
            Some(false) if repetition == Repetition::New => drop(self.ids.insert(key, true)),
            Some(_) => {}
        }
        if repetition != Repetition::Whole {
            for fact in facts {
                self.facts.insert((key, fact));
                self.facts.insert((key, fact, time));
            }
        }
        repetition
    }

    /// As [`RecordFacts::begin`], but the record does not count as read.
    pub fn repetition(&mut self, id: impl Hash, time: &str, facts: &[u64]) -> Repetition {
        self.compare(hash64(id), time, facts)
    }

    fn compare(&mut self, id: u64, time: &str, facts: &[u64]) -> Repetition {
        self.stated.clear();
        let Some(is_shared) = self.ids.get(id) else { return Repetition::New };
        let is_known = |fact| if is_shared { self.facts.contains((id, fact, time)) } else { self.facts.contains((id, fact)) };
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
    }

    /// The record is malformed: its facts are forgotten.
    pub fn roll_back(&mut self) {
        self.ids.roll_back();
        self.facts.roll_back();
    }
}

/// Values that are nested deeper are copied in canonical form to be hashed, so that the stack is bounded.
const MAX_DEPTH: usize = 32;

/// What the members of an object state, without some of them, as a hash.
pub fn fact_of_members(object: Value<'_>, without: &[&str]) -> u64 {
    fact_of_object(object, without, MAX_DEPTH)
}

/// What a value states, as a hash. White space does not count.
pub fn fact_of(value: Value<'_>) -> u64 {
    fact_at(value, MAX_DEPTH)
}

fn fact_of_object(object: Value<'_>, without: &[&str], depth: usize) -> u64 {
    let members = object.members().filter(|(name, _)| !without.contains(name));
    members.fold(hash64("object"), |sum, (name, value)| hash64((sum, name, fact_at(value, depth))))
}

fn fact_at(value: Value<'_>, depth: usize) -> u64 {
    let Some(below) = depth.checked_sub(1) else { return hash64(canonical_json(value.raw())) };
    if value.is_object() {
        fact_of_object(value, &[], below)
    } else if value.is_array() {
        value.elements().fold(hash64("array"), |sum, item| hash64((sum, fact_at(item, below))))
    } else {
        // Strings of a record are in canonical form.
        hash64(value.raw())
    }
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
