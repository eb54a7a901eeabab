//! Step 2: which entries are copies of another session, and where the session went back to an earlier entry.
//!
//! A fork or a clone is a new file with its own header. It begins with entries of the other session, as they are: same ids, same times. So
//! they are older than the header. An entry continues the one before it, unless the person went back in the tree.

use engram_core::keys::{KeyMap, PlaceMap, key_map};

use super::notes::{Note, Notes};

/// What is decided about the entries, by the numbers of their records.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// The last record that is a copy of another session.
    pub last_copy: Option<usize>,
    /// Entries that do not continue the entry before them: the record that they continue.
    pub back: PlaceMap<usize, usize>,
}

/// Decides about all entries.
pub(super) fn plan(notes: &Notes) -> Plan {
    Plan {
        last_copy: notes.copied_at.and_then(|at| last_copy(at, &notes.entries)),
        back: back(notes.header.unwrap_or_default(), &notes.entries),
    }
}

/// Copies are written at once, before anything else. An entry without a time stands among the others.
fn last_copy(at: i64, entries: &[Note]) -> Option<usize> {
    let is_older = |entry: &&Note| entry.time.is_some_and(|time| time < at);
    entries.iter().rfind(is_older).map(|entry| entry.number)
}

/// The entries that go back, each with the record behind which the session goes on. `root` is the header. An entry whose parent is not in the
/// log says nothing.
fn back(root: usize, entries: &[Note]) -> PlaceMap<usize, usize> {
    let mut numbers: KeyMap<usize> = key_map();
    let mut back = PlaceMap::default();
    let mut before: Option<&Note> = None;
    for entry in entries {
        if let Some(leaf) = before
            && let Some(parent) = entry.parent.filter(|parent| *parent != leaf.id)
        {
            let to = match parent {
                0 => Some(root),
                parent => numbers.get(&parent).copied(),
            };
            if let Some(to) = to.filter(|to| *to != leaf.number) {
                back.insert(entry.number, to);
            }
        }
        numbers.insert(entry.id, entry.number);
        before = Some(entry);
    }
    back
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(copied_at: Option<i64>, entries: &[(u64, u64, i64)]) -> Notes {
        let entry = |(at, &(id, parent, time)): (usize, &(u64, u64, i64))| Note {
            number: at + 1,
            id,
            parent: Some(parent),
            time: Some(time),
        };
        Notes {
            header: Some(0),
            copied_at,
            entries: entries.iter().enumerate().map(entry).collect(),
        }
    }

    fn went_back(entries: &[(u64, u64)]) -> Vec<(usize, usize)> {
        let entries: Vec<_> = entries
            .iter()
            .map(|(id, parent)| (*id, *parent, 0))
            .collect();
        let mut back: Vec<_> = plan(&notes(None, &entries)).back.into_iter().collect();
        back.sort_unstable();
        back
    }

    #[test]
    fn an_entry_that_does_not_continue_the_last_one_goes_back() {
        assert_eq!(went_back(&[(1, 0), (2, 1), (3, 2)]), []);
        // To the first entry, then to the end of the branch that was left.
        assert_eq!(
            went_back(&[(1, 0), (2, 1), (3, 1), (4, 2)]),
            [(3, 1), (4, 2)]
        );
        // To before the first entry.
        assert_eq!(went_back(&[(1, 0), (2, 1), (3, 0)]), [(3, 0)]);
        // The entry between is not in the log.
        assert_eq!(went_back(&[(1, 0), (3, 2), (4, 3)]), []);
    }

    #[test]
    fn entries_that_are_older_than_a_fork_are_copies() {
        let entries = [(1, 0, 10), (2, 1, 20), (3, 2, 30)];
        assert_eq!(plan(&notes(Some(20), &entries)).last_copy, Some(1));
        assert_eq!(plan(&notes(Some(10), &entries)).last_copy, None);
        assert_eq!(plan(&notes(None, &entries)).last_copy, None);
    }
}
