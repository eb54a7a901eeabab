//! Which lines stayed between two texts, and texts as differences.

use std::ops::Range;
use std::rc::Rc;

use imara_diff::{Algorithm, Diff, InternedInput};

use crate::line_key::{Key, are_next, is_hole, nth_hole};
use crate::text_state::MAX_LINES;
use crate::varint;

/// Lines that became other lines. What stands between two hunks stayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// Lines of the old text, from 0.
    pub old: Range<usize>,
    /// Lines of the new text, from 0.
    pub new: Range<usize>,
}

/// The hunks that lead from one text to another, in order: histogram diff of what stands between the common beginning and end.
pub fn hunks(old: &[Key], new: &[Key]) -> Vec<Hunk> {
    let start = common(old.iter().zip(new));
    let end = common(old[start..].iter().rev().zip(new[start..].iter().rev()));
    let (old_middle, new_middle) = (&old[start..old.len() - end], &new[start..new.len() - end]);
    if old_middle.is_empty() && new_middle.is_empty() {
        return Vec::new();
    }
    if old_middle.is_empty() || new_middle.is_empty() {
        return vec![Hunk {
            old: start..old.len() - end,
            new: start..new.len() - end,
        }];
    }
    let mut input = InternedInput::default();
    input.update_before(old_middle.iter().copied());
    input.update_after(new_middle.iter().copied());
    let moved = |range: Range<u32>| range.start as usize + start..range.end as usize + start;
    Diff::compute(Algorithm::Histogram, &input)
        .hunks()
        .map(|hunk| Hunk {
            old: moved(hunk.before),
            new: moved(hunk.after),
        })
        .collect()
}

fn common<'k>(pairs: impl Iterator<Item = (&'k Key, &'k Key)>) -> usize {
    pairs.take_while(|(one, other)| one == other).count()
}

/// For each line of the new text, the line of the old one that stayed.
pub fn stayed(hunks: &[Hunk], new: usize) -> Vec<Option<usize>> {
    let mut from = vec![None; new];
    let (mut o, mut n) = (0, 0);
    for hunk in hunks {
        while n < hunk.new.start {
            from[n] = Some(o);
            (o, n) = (o + 1, n + 1);
        }
        (o, n) = (hunk.old.end, hunk.new.end);
    }
    while n < new {
        from[n] = Some(o);
        (o, n) = (o + 1, n + 1);
    }
    from
}

/// Writes a text as what is different from an old one: for each hunk how many lines stay before it, how many go, and those that come.
pub fn encode(old: &[Key], new: &[Key], data: &mut Vec<u8>) {
    let hunks = hunks(old, new);
    number(data, hunks.len());
    let mut at = 0;
    for hunk in &hunks {
        number(data, hunk.old.start - at);
        number(data, hunk.old.len());
        write_keys(data, &new[hunk.new.clone()]);
        at = hunk.old.end;
    }
}

/// Reads what [`encode`] wrote, and moves `data` behind it. `None` if the data does not fit the old text.
pub fn decode(old: &Rc<[Key]>, data: &mut &[u8]) -> Option<Rc<[Key]>> {
    let count = next(data)?;
    if count == 0 {
        return Some(old.clone());
    }
    let mut new = Vec::with_capacity(old.len());
    let mut at = 0_usize;
    for _ in 0..count {
        let (stay, go) = (next(data)?, next(data)?);
        new.extend_from_slice(old.get(at..at.checked_add(stay)?)?);
        at = at.checked_add(stay)?.checked_add(go)?;
        read_keys(data, &mut new)?;
    }
    new.extend_from_slice(old.get(at..)?);
    Some(new.into())
}

/// The lines that come in one text of what [`encode`] wrote: `skip` texts stand before it.
pub fn come(mut data: &[u8], skip: usize) -> Vec<Key> {
    for at in 0..=skip {
        let found = come_of_one(&mut data);
        if at == skip {
            return found.unwrap_or_default();
        }
    }
    Vec::new()
}

fn come_of_one(data: &mut &[u8]) -> Option<Vec<Key>> {
    let mut found = Vec::new();
    for _ in 0..next(data)? {
        let _ = (next(data)?, next(data)?);
        read_keys(data, &mut found)?;
    }
    Some(found)
}

/// Writes how many lines come, and the lines in runs: known ones each with its key, or unknown ones that follow each other with the first key.
fn write_keys(data: &mut Vec<u8>, keys: &[Key]) {
    number(data, keys.len());
    for run in keys.chunk_by(|one, other| match is_hole(*one) {
        true => are_next(*one, *other),
        false => !is_hole(*other),
    }) {
        let are_unknown = is_hole(run[0]);
        number(data, run.len() << 1 | usize::from(are_unknown));
        let written = if are_unknown { &run[..1] } else { run };
        written
            .iter()
            .for_each(|key| data.extend_from_slice(&key.to_le_bytes()));
    }
}

/// Reads what [`write_keys`] wrote.
fn read_keys(data: &mut &[u8], keys: &mut Vec<Key>) -> Option<()> {
    let end = keys.len().checked_add(next(data)?)?;
    while keys.len() < end {
        let head = next(data)?;
        let (count, are_unknown) = (head >> 1, head & 1 == 1);
        if count == 0 || count > end - keys.len() {
            return None;
        }
        let written = if are_unknown { 1 } else { count };
        let (run, rest) = data.split_at_checked(written.checked_mul(8)?)?;
        *data = rest;
        let run = run
            .chunks_exact(8)
            .map(|key| Key::from_le_bytes(key.try_into().unwrap_or_default()));
        match are_unknown {
            true => {
                // No text is so long, whatever damaged data says.
                if keys.len() + count > 8 * MAX_LINES {
                    return None;
                }
                keys.extend(run.flat_map(|first| (0..count).map(move |n| nth_hole(first, n))));
            }
            false => keys.extend(run),
        }
    }
    Some(())
}

fn number(data: &mut Vec<u8>, number: usize) {
    varint::write(data, number as u64);
}

fn next(data: &mut &[u8]) -> Option<usize> {
    usize::try_from(varint::read(data)?).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_text_is_read_as_it_was_written(old in prop::collection::vec(0_u64..9, 0..40), new in prop::collection::vec(0_u64..9, 0..40)) {
            let mut data = Vec::new();
            encode(&old, &new, &mut data);
            let mut rest = data.as_slice();
            prop_assert_eq!(decode(&Rc::from(old.as_slice()), &mut rest), Some(Rc::from(new.as_slice())));
            prop_assert!(rest.is_empty());
            for (n, from) in stayed(&hunks(&old, &new), new.len()).into_iter().enumerate() {
                prop_assert!(from.is_none_or(|o| old[o] == new[n]));
            }
        }

        #[test]
        fn unknown_lines_take_few_bytes(known in prop::collection::vec(any::<u64>(), 0..6), unknown in 0_usize..5000) {
            let holes = (0..unknown).map(|n| crate::line_key::hole("x", n));
            let new: Vec<Key> = known.iter().copied().chain(holes).chain(known.iter().copied()).collect();
            let mut data = Vec::new();
            encode(&[], &new, &mut data);
            prop_assert!(data.len() < 24 + 24 * known.len(), "{}", data.len());
            prop_assert_eq!(decode(&Rc::default(), &mut data.as_slice()), Some(Rc::from(new)));
        }

        #[test]
        fn damaged_data_is_no_text_and_no_panic(old in prop::collection::vec(0_u64..9, 0..9), data in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = decode(&Rc::from(old), &mut data.as_slice());
        }
    }
}
