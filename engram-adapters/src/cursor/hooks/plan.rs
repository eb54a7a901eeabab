//! Step 2: reads that are the first half of an edit. The harness runs an edit as a `Read` and then a `Write`, both with the id of the one call
//! that the model made.

use std::collections::{BTreeMap, BTreeSet};

use engram_core::keys::KeyMap;

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
    file: u64,
    has_ended: bool,
    before: Before,
    payloads: Vec<usize>,
}

/// Finds the reads that are a part of another call: a later call has their id.
pub(super) fn decide(notes: &[Note]) -> Plan {
    let mut plan = Plan::default();
    let mut reads: KeyMap<Read> = KeyMap::default();
    // The call of the latest open read of a file.
    let mut open: KeyMap<u64> = KeyMap::default();
    for note in notes {
        match note.what {
            What::ReadBegins => {
                let payloads = vec![note.number];
                reads.insert(note.call, Read { file: note.file, has_ended: false, before: Before::Unknown, payloads });
                open.insert(note.file, note.call);
            }
            What::Content => {
                let of_file = || open.get(&note.file).copied();
                let call = Some(note.call).filter(|call| reads.contains_key(call)).or_else(of_file);
                if let Some(read) = call.and_then(|call| reads.get_mut(&call)) {
                    read.before = Before::Text(note.number);
                    read.payloads.push(note.number);
                }
            }
            What::ReadEnds { is_missing } => {
                let Some(read) = reads.get_mut(&note.call) else { continue };
                read.has_ended = true;
                open.remove(&read.file);
                read.payloads.push(note.number);
                if is_missing && read.before == Before::Unknown {
                    read.before = Before::Missing;
                }
            }
            What::OtherBegins => {
                let Some(read) = reads.remove(&note.call) else { continue };
                if !read.has_ended {
                    open.remove(&read.file);
                }
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
        let note = |(number, (call, file, what)): (usize, &(u64, u64, What))| Note { number, call: *call, file: *file, what: *what };
        decide(&notes.iter().enumerate().map(note).collect::<Vec<_>>())
    }

    #[test]
    fn a_read_with_the_id_of_a_later_call_is_a_part_of_it() {
        let found = plan(&[(1, 9, What::ReadBegins), (0, 9, What::Content), (1, 9, ENDS), (1, 0, What::OtherBegins)]);
        assert_eq!((found.inner, found.before), (BTreeSet::from([0, 1, 2]), BTreeMap::from([(3, Before::Text(1))])));
        let missing = What::ReadEnds { is_missing: true };
        let found = plan(&[(1, 9, What::ReadBegins), (1, 9, missing), (1, 0, What::OtherBegins)]);
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
            (2, 0, What::OtherBegins),
        ];
        let found = plan(&notes);
        assert_eq!((found.inner, found.before), (BTreeSet::from([1, 2, 4]), BTreeMap::from([(7, Before::Text(2))])));
    }
}
