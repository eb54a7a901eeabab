//! Step 2: reads that are the first half of an edit. The harness runs an edit as a `Read` and then a `Write`, both with the id of the one call
//! that the model made.

use std::collections::{BTreeMap, BTreeSet};

use engram_core::keys::{KeyMap, hash64};

/// What step 1 notes of a payload about a call or a file. Ids, files and turns are keys with their conversation; 0 stands for what is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Note {
    /// The number of the record.
    pub(super) number: usize,
    /// The id of the call.
    pub(super) call: u64,
    /// The file in its turn.
    pub(super) file: u64,
    pub(super) what: What,
}

/// What a payload says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// A read begins.
    ReadBegins,
    /// The content of a file that is about to be read.
    Content,
    /// A read ends. `is_missing`: it failed, as it does where there is no such file.
    ReadEnds { is_missing: bool },
    /// A call of another tool begins.
    OtherBegins,
}

/// What a file was before a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Before {
    /// No payload shows it.
    #[default]
    Unknown,
    /// There was no such file.
    Missing,
    /// The payload with this number has its text.
    Text(usize),
}

/// What is decided.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// The payloads of reads that are a part of another call.
    pub(super) inner: BTreeSet<usize>,
    /// What the read inside a call shows, by the payload with which the call begins.
    pub(super) before: BTreeMap<usize, Before>,
}

/// A read, with its payloads.
#[derive(Debug)]
struct Read {
    before: Before,
    payloads: Vec<usize>,
}

/// Finds the reads that are a part of another call: a later call has their id, and their file.
pub(super) fn decide(notes: &[Note]) -> Plan {
    let mut plan = Plan::default();
    // By call and file: ids may repeat.
    let mut reads: KeyMap<Read> = KeyMap::default();
    // The call of the latest open read of a file.
    let mut open: KeyMap<u64> = KeyMap::default();
    for note in notes {
        let key = hash64((note.call, note.file));
        match note.what {
            What::ReadBegins => {
                reads.insert(
                    key,
                    Read {
                        before: Before::Unknown,
                        payloads: vec![note.number],
                    },
                );
                open.insert(note.file, key);
            }
            What::Content => {
                let key = if note.call == 0 {
                    open.get(&note.file).copied()
                } else {
                    Some(key)
                };
                if let Some(read) = key.and_then(|key| reads.get_mut(&key)) {
                    read.before = Before::Text(note.number);
                    read.payloads.push(note.number);
                }
            }
            What::ReadEnds { is_missing } => {
                let Some(read) = reads.get_mut(&key) else {
                    continue;
                };
                open.remove(&note.file);
                read.payloads.push(note.number);
                if is_missing && read.before == Before::Unknown {
                    read.before = Before::Missing;
                }
            }
            What::OtherBegins => {
                let Some(read) = reads.remove(&key) else {
                    continue;
                };
                plan.inner.extend(read.payloads);
                plan.before.insert(note.number, read.before);
            }
        }
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDS: What = What::ReadEnds { is_missing: false };

    /// Notes of one call after another, each with its call and file.
    fn plan(notes: &[(u64, u64, What)]) -> Plan {
        let note = |(number, (call, file, what)): (usize, &(u64, u64, What))| Note {
            number,
            call: *call,
            file: *file,
            what: *what,
        };
        decide(&notes.iter().enumerate().map(note).collect::<Vec<_>>())
    }

    #[test]
    fn a_read_with_the_id_of_a_later_call_is_a_part_of_it() {
        let found = plan(&[
            (1, 9, What::ReadBegins),
            (0, 9, What::Content),
            (1, 9, ENDS),
            (1, 9, What::OtherBegins),
        ]);
        assert_eq!(
            (found.inner, found.before),
            (
                BTreeSet::from([0, 1, 2]),
                BTreeMap::from([(3, Before::Text(1))])
            )
        );
        let missing = What::ReadEnds { is_missing: true };
        let found = plan(&[
            (1, 9, What::ReadBegins),
            (1, 9, missing),
            (1, 9, What::OtherBegins),
        ]);
        assert_eq!(found.before, BTreeMap::from([(2, Before::Missing)]));
    }

    #[test]
    fn reads_side_by_side_and_of_their_own_are_told_apart() {
        let notes = [
            (1, 9, What::ReadBegins),
            (2, 8, What::ReadBegins),
            (0, 8, What::Content),
            (0, 9, What::Content),
            (2, 8, ENDS),
            (1, 9, ENDS),
            (3, 0, What::OtherBegins),
            (2, 8, What::OtherBegins),
        ];
        let found = plan(&notes);
        assert_eq!(
            (found.inner, found.before),
            (
                BTreeSet::from([1, 2, 4]),
                BTreeMap::from([(7, Before::Text(2))])
            )
        );
    }

    #[test]
    fn a_repeated_id_is_told_apart_by_its_file() {
        let other = What::OtherBegins;
        let found = plan(&[
            (1, 9, What::ReadBegins),
            (1, 8, What::ReadBegins),
            (1, 9, ENDS),
            (1, 8, ENDS),
            (1, 8, other),
            (1, 9, other),
        ]);
        assert_eq!(found.inner, BTreeSet::from([0, 1, 2, 3]));
        assert_eq!(
            plan(&[(1, 9, What::ReadBegins), (1, 9, ENDS), (1, 8, other)]),
            Plan::default()
        );
    }
}
