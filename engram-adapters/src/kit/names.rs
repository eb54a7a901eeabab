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

/// The end of a name, as [`end_of`] gives it, and its length: all of a name of up to 16 bytes. And the shape of what it names.
#[derive(Debug, Clone, Copy)]
struct Entry {
    end: u128,
    len: u32,
    shape: Shape,
}

impl Names {
    /// Tries one way to spread the names after the other, until no two share a place. Names of one length that end alike always do:
    /// then the compiler says that this does not end.
    pub const fn of(names: &'static [&'static str], shapes: &[Shape]) -> Names {
        assert!(!names.is_empty() && names.len() <= FIELDS, "a view has no fields, or too many");
        let mut entries = [Entry { end: 0, len: 0, shape: Shape::Any }; FIELDS];
        let mut number = 0;
        while number < names.len() {
            let name = names[number].as_bytes();
            entries[number] = Entry { end: end_of(name), len: name.len() as u32, shape: shapes[number] };
            number += 1;
        }
        let (mut spread, mut tries) = (0x9e37_79b9_7f4a_7c15_u64, 0);
        loop {
            if let Some(places) = spread_out(names, spread) {
                return Names { names, entries, places, spread };
            }
            tries += 1;
            assert!(tries < TRIES, "two names of a view have the same length and end");
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
        let before = bytes.get(..end)?;
        let len = end - start;
        let name = match before.last_chunk() {
            Some(window) => u128::from_le_bytes(*window) & MASKS[len.min(END)],
            None => end_of_first(before, start),
        };
        let number = usize::from(self.places[own_place(name, len, self.spread)]);
        let entry = &self.entries[number % FIELDS];
        if entry.end != name || entry.len as usize != len || (len > END && !self.is_name(number, before, start)) {
            return None;
        }
        Some((number, entry.shape))
    }

    /// True when the name from `start` to the end is the one of that number: for long ones, which are few.
    #[inline(never)]
    fn is_name(&self, number: usize, before: &[u8], start: usize) -> bool {
        before.get(start..) == Some(self.name(number).as_bytes())
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
        let place = own_place(end_of(name), name.len(), spread);
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
const fn own_place(end: u128, len: usize, spread: u64) -> usize {
    let mixed = (end as u64).wrapping_add((end >> 64) as u64).wrapping_add(len as u64);
    (mixed.wrapping_mul(spread) >> (u64::BITS - PLACES.ilog2())) as usize
}

/// So many bytes of a name are compared at once.
const END: usize = 16;

/// What the bytes before the end of a name have of one that is so long.
const MASKS: [u128; END + 1] = {
    let mut masks = [0; END + 1];
    let mut len = 1;
    while len <= END {
        masks[len] = u128::MAX << (8 * (END - len));
        len += 1;
    }
    masks
};

/// The same of a name that begins at `start`, where a record has fewer bytes up to its end.
#[inline(never)]
fn end_of_first(before: &[u8], start: usize) -> u128 {
    end_of(before.get(start..).unwrap_or_default())
}

/// The last bytes of a name. What a shorter one lacks is zeros before it.
const fn end_of(name: &[u8]) -> u128 {
    let (mut end, mut byte) = (0, name.len().saturating_sub(END));
    while byte < name.len() {
        end = end >> 8 | (name[byte] as u128) << 120;
        byte += 1;
    }
    end
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
        for name in [
            "b",
            "typ",
            "types",
            "Uuid",
            "session",
            "sessionIdx",
            "a name of more than SIXTEEN bytes",
            "A name of more than sixteen bytes",
            "of more than sixteen bytes",
            "outputPage",
            "\0",
            "",
        ] {
            assert_eq!(find(name), None, "{name}");
        }
    }
}
