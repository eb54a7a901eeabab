//! The names of a view's fields, found at once: most names of a record are of no interest.

use std::ops::Range;

use super::shape::Shape;

/// The most fields of a view.
const FIELDS: usize = 64;
/// Places in the table of a view's names.
const PLACES: usize = 512;

/// Ways to spread names that are tried before it is said that there is none.
const TRIES: usize = 256;

/// The names of a view's fields.
#[derive(Debug)]
pub struct Names {
    names: &'static [&'static str],
    entries: [Entry; FIELDS],
    /// The number of the name that belongs to each place. Where none does, it is some other name's: a name is compared anyway.
    places: [u8; PLACES],
    /// What gives each name a place of its own.
    spread: u64,
}

/// The first and the last eight bytes of a name, and its length: all of a name of up to 16 bytes. And the shape of what it names.
#[derive(Debug, Clone, Copy)]
struct Entry {
    first: u64,
    last: u64,
    len: u32,
    shape: Shape,
}

impl Names {
    /// Tries one way to spread the names after the other, until no two share a place. Names that are alike in length, first eight
    /// bytes and last byte always do: then the compiler says that this does not end.
    pub const fn of(names: &'static [&'static str], shapes: &[Shape]) -> Names {
        assert!(!names.is_empty() && names.len() <= FIELDS, "a view has no fields, or too many");
        let mut entries = [Entry { first: 0, last: 0, len: 0, shape: Shape::Any }; FIELDS];
        let mut number = 0;
        while number < names.len() {
            let name = names[number].as_bytes();
            let (_, last) = name.split_at(name.len().saturating_sub(8));
            let shape = shapes[number];
            entries[number] = Entry { first: first_word(name), last: first_word(last), len: name.len() as u32, shape };
            number += 1;
        }
        let (mut spread, mut tries) = (0x9e37_79b9_7f4a_7c15_u64, 0);
        loop {
            if let Some(places) = spread_out(names, spread) {
                return Names { names, entries, places, spread };
            }
            tries += 1;
            assert!(tries < TRIES, "two names of a view have the same length, beginning and end");
            spread = spread.wrapping_mul(0x5851_f42d_4c95_7f2d);
        }
    }

    /// The name of that number.
    pub(crate) fn name(&self, number: usize) -> &'static str {
        self.names.get(number).copied().unwrap_or_default()
    }

    /// The number of the name that lies at `place` in `bytes`, and the shape of what it names.
    #[inline(always)]
    pub(crate) fn find(&self, bytes: &[u8], place: Range<usize>) -> Option<(usize, Shape)> {
        let Range { start, end } = place;
        let len = end - start;
        let first = match word_at(bytes, start) {
            Some(word) => word & MASKS[len.min(8)],
            None => first_word(bytes.get(start..end)?),
        };
        let last_byte = *bytes.get(end.wrapping_sub(1))?;
        let number = usize::from(self.places[own_place(first, last_byte, len, self.spread)]);
        let entry = self.entries.get(number)?;
        if entry.first != first || entry.len as usize != len || (len > 8 && word_at(bytes, end - 8) != Some(entry.last)) {
            return None;
        }
        (len <= 16 || bytes.get(start..end) == Some(self.names[number].as_bytes())).then_some((number, entry.shape))
    }
}

/// The number of a name that is one of these.
pub(crate) const fn number_of(name: &str, names: &[&str]) -> usize {
    let mut number = 0;
    while !is_same(name.as_bytes(), names[number].as_bytes()) {
        number += 1;
    }
    number
}

const fn is_same(name: &[u8], other: &[u8]) -> bool {
    let mut byte = 0;
    while byte < name.len() && byte < other.len() && name[byte] == other[byte] {
        byte += 1;
    }
    byte == name.len() && byte == other.len()
}

/// The numbers of names at their places, if each has a place of its own.
const fn spread_out(names: &[&str], spread: u64) -> Option<[u8; PLACES]> {
    let (mut places, mut taken) = ([0; PLACES], [false; PLACES]);
    let mut number = 0;
    while number < names.len() {
        let name = names[number].as_bytes();
        let place = own_place(first_word(name), name[name.len() - 1], name.len(), spread);
        if taken[place] {
            return None;
        }
        taken[place] = true;
        places[place] = number as u8;
        number += 1;
    }
    Some(places)
}

/// Where a name belongs.
#[inline(always)]
const fn own_place(first: u64, last_byte: u8, len: usize, spread: u64) -> usize {
    let mixed = first.wrapping_add((len as u64) << 8 | last_byte as u64);
    (mixed.wrapping_mul(spread) >> (u64::BITS - PLACES.ilog2())) as usize
}

/// What a word has of a name that is so long.
const MASKS: [u64; 9] = [0, 0xff, 0xffff, 0xff_ffff, 0xffff_ffff, 0xff_ffff_ffff, 0xffff_ffff_ffff, 0xff_ffff_ffff_ffff, u64::MAX];

/// The eight bytes at `at`.
#[inline(always)]
fn word_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes)
}

/// The first eight bytes of a name. What a shorter one lacks is zeros.
const fn first_word(name: &[u8]) -> u64 {
    let (mut word, mut byte) = (0, 0);
    while byte < name.len() && byte < 8 {
        word |= (name[byte] as u64) << (8 * byte);
        byte += 1;
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_numbered() {
        const NAMES: [&str; 8] =
            ["a", "type", "uuid", "outputPath", "outputSize", "sessionId", "twelve bytes", "a name of more than sixteen bytes"];
        static TABLE: Names = Names::of(&NAMES, &[Shape::Any; NAMES.len()]);
        // At the end of the text, and with something behind it.
        let find = |name: &str| {
            let places = [name.to_owned(), format!("{name}, and more"), format!("before{name}")];
            let found =
                [0, 0, 6].iter().zip(&places).map(|(at, text)| TABLE.find(text.as_bytes(), *at..at + name.len()).map(|(number, _)| number));
            let found: Vec<_> = found.collect();
            assert!(found.iter().all(|number| *number == found[0]), "{name}");
            found[0]
        };
        for (number, name) in NAMES.iter().enumerate() {
            assert_eq!(find(name), Some(number), "{name}");
        }
        for name in ["b", "typ", "types", "Uuid", "session", "sessionIdx", "a name of more than SIXTEEN bytes", "outputPage", "\0", ""] {
            assert_eq!(find(name), None, "{name}");
        }
    }
}
