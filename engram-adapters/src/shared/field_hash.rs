//! The names of a view's fields, found at once: most names of a record are of no interest.

use std::ops::Range;

use super::json_type::JsonType;

/// Ways to seed names that are tried before it is said that there is none.
const TRIES: usize = 1024;

/// The names of a view's fields.
#[derive(Debug)]
pub struct Names {
    names: &'static [&'static str],
    places: &'static [Entry],
    /// Slots are numbered by so many bits.
    bits: u32,
    /// What gives each name a place of its own.
    seed: u64,
}

/// The names of a view, each at a place of its own.
#[derive(Debug)]
pub struct Slots<const N: usize> {
    entries: [Entry; N],
    seed: u64,
}

/// What lies at a place: the end of a name, as [`end_of`] gives it, which is all of a name of less than 16 bytes; its number, and the shape
/// of what it names.
#[derive(Debug, Clone, Copy)]
struct Entry {
    end: u128,
    number: u8,
    shape: JsonType,
}

/// No name ends so: text has no such bytes.
const EMPTY: Entry = Entry { end: u128::MAX, number: 0, shape: JsonType::Any };

/// How many places so many names need: twice as many, and where there are many names enough that some way to seed them is found.
pub const fn slots_for(names: usize) -> usize {
    assert!(names > 0 && names <= u8::MAX as usize, "a view has no fields, or too many");
    let (few, many) = (2 * names, names * names / 8);
    if few > many { few.next_power_of_two() } else { many.next_power_of_two() }
}

impl<const N: usize> Slots<N> {
    /// Tries one way to seed the names after the other, until no two share a place. Names of one length that end alike always do:
    /// then the compiler says that this does not end.
    pub const fn of(names: &[&str], shapes: &[JsonType]) -> Slots<N> {
        let (mut seed, mut tries) = (0x9e37_79b9_7f4a_7c15_u64, 0);
        loop {
            if let Some(entries) = spread_out(names, shapes, seed) {
                return Slots { entries, seed };
            }
            tries += 1;
            assert!(tries < TRIES, "two names of a view have the same length and end");
            seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d);
        }
    }
}

impl Names {
    /// The names that lie at these places.
    pub const fn of<const N: usize>(names: &'static [&'static str], places: &'static Slots<N>) -> Names {
        Names { names, places: &places.entries, bits: N.ilog2(), seed: places.seed }
    }

    /// The name of that number.
    pub(crate) fn name(&self, number: usize) -> &'static str {
        self.names.get(number).copied().unwrap_or_default()
    }

    /// The number of the name that lies at `place` in `bytes`, and the shape of what it names.
    #[inline(always)]
    pub(crate) fn find(&self, bytes: &[u8], place: Range<usize>) -> Option<(usize, JsonType)> {
        let Range { start, end } = place;
        let before = bytes.get(..end)?;
        let len = end - start;
        let window = before.last_chunk().map_or_else(|| first_window(bytes, end), |window| u128::from_le_bytes(*window));
        let name = window & MASKS[len.min(END)];
        let entry = self.places.get(own_place(name, len, self.seed, self.bits))?;
        let number = usize::from(entry.number);
        let is_it = entry.end == name && (len < END || self.is_name(number, before, start));
        is_it.then_some((number, entry.shape))
    }

    /// True when the name from `start` to the end is the one of that number: for long ones, which are few.
    #[inline(never)]
    fn is_name(&self, number: usize, before: &[u8], start: usize) -> bool {
        before.get(start..) == Some(self.name(number).as_bytes())
    }
}

/// The bytes before the end of a name that begins a record, which has too little before it.
#[inline(never)]
fn first_window(bytes: &[u8], end: usize) -> u128 {
    match bytes.first_chunk() {
        Some(window) => u128::from_le_bytes(*window) << (8 * (END - end) % 128),
        None => end_of(bytes.get(..end).unwrap_or_default()),
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

/// The names at their places, if each has a place of its own.
const fn spread_out<const N: usize>(names: &[&str], shapes: &[JsonType], seed: u64) -> Option<[Entry; N]> {
    let mut entries = [EMPTY; N];
    let mut number = 0;
    while number < names.len() {
        let name = names[number].as_bytes();
        let (end, len) = (end_of(name), name.len());
        let entry = &mut entries[own_place(end, len, seed, N.ilog2())];
        if entry.end != EMPTY.end {
            return None;
        }
        *entry = Entry { end, number: number as u8, shape: shapes[number] };
        number += 1;
    }
    Some(entries)
}

/// Where a name belongs: the upper bits of a product, as many as places are numbered by.
#[inline(always)]
const fn own_place(end: u128, len: usize, seed: u64, bits: u32) -> usize {
    let mixed = (end as u64).wrapping_add((end >> 64) as u64).wrapping_add(len as u64);
    (mixed.wrapping_mul(seed) >> (u64::BITS - bits)) as usize
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
        static SLOTS: Slots<{ slots_for(NAMES.len()) }> = Slots::of(&NAMES, &[JsonType::Any; NAMES.len()]);
        static TABLE: Names = Names::of(&NAMES, &SLOTS);
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
