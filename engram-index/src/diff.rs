//! Which lines stayed between two texts, and texts as differences.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};

use crate::line_key::Key;

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
        number(data, hunk.new.len());
        new[hunk.new.clone()]
            .iter()
            .for_each(|key| data.extend_from_slice(&key.to_le_bytes()));
        at = hunk.old.end;
    }
}

/// Reads what [`encode`] wrote, and moves `data` behind it. `None` if the data does not fit the old text.
pub fn decode(old: &[Key], data: &mut &[u8]) -> Option<Vec<Key>> {
    let mut new = Vec::new();
    let mut at = 0_usize;
    for _ in 0..next(data)? {
        let (stay, go, come) = (next(data)?, next(data)?, next(data)?);
        new.extend_from_slice(old.get(at..at.checked_add(stay)?)?);
        at = at.checked_add(stay)?.checked_add(go)?;
        let (keys, rest) = data.split_at_checked(come.checked_mul(8)?)?;
        *data = rest;
        let keys = keys.chunks_exact(8);
        new.extend(keys.map(|key| Key::from_le_bytes(key.try_into().unwrap_or_default())));
    }
    new.extend_from_slice(old.get(at..)?);
    Some(new)
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
        let (_, _, come) = (next(data)?, next(data)?, next(data)?);
        let (keys, rest) = data.split_at_checked(come.checked_mul(8)?)?;
        *data = rest;
        let keys = keys.chunks_exact(8);
        found.extend(keys.map(|key| Key::from_le_bytes(key.try_into().unwrap_or_default())));
    }
    Some(found)
}

/// Writes a number, seven bits a byte, the lowest first; the last byte is below 128.
fn number(data: &mut Vec<u8>, mut number: usize) {
    while number >= 128 {
        data.push((number as u8) | 128);
        number >>= 7;
    }
    data.push(number as u8);
}

fn next(data: &mut &[u8]) -> Option<usize> {
    let mut number = 0;
    for shift in (0..63).step_by(7) {
        let (byte, rest) = data.split_first()?;
        *data = rest;
        number |= usize::from(byte & 127) << shift;
        if *byte < 128 {
            return Some(number);
        }
    }
    None
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
            prop_assert_eq!(decode(&old, &mut rest), Some(new.clone()));
            prop_assert!(rest.is_empty());
            for (n, from) in stayed(&hunks(&old, &new), new.len()).into_iter().enumerate() {
                prop_assert!(from.is_none_or(|o| old[o] == new[n]));
            }
        }

        #[test]
        fn damaged_data_is_no_text_and_no_panic(old in prop::collection::vec(0_u64..9, 0..9), data in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = decode(&old, &mut data.as_slice());
        }
    }
}
