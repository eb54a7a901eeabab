//! A perfect hash of a view's field names, computed at compile time. Rejects most other names with one comparison.

use std::ops::Range;

use super::json::JsonType;

/// Seeds that are tried before the build fails.
const TRIES: usize = 1024;

/// The names of a view's fields.
#[derive(Debug)]
pub struct Names {
    names: &'static [&'static str],
    slots: &'static [Slot],
    /// Binary logarithm of the number of slots.
    bits: u32,
    /// The seed with which each name has a slot of its own.
    seed: u64,
}

/// The names of a view, each in a slot of its own.
#[derive(Debug)]
pub struct Slots<const N: usize> {
    slots: [Slot; N],
    seed: u64,
}

/// One slot: the last bytes of a name as [`end_of`] computes them (all of a name of up to 16 bytes), the name's number, and the type of
/// the field.
#[derive(Debug, Clone, Copy)]
struct Slot {
    end: u128,
    number: u8,
    json_type: JsonType,
}

/// An unused slot. No name has this end: UTF-8 has no such bytes.
const EMPTY: Slot = Slot {
    end: u128::MAX,
    number: 0,
    json_type: JsonType::Any,
};

/// The number of slots for this many names: at least twice as many, and more for many names, so that a seed without collisions exists.
pub const fn slots_for(names: usize) -> usize {
    assert!(
        names > 0 && names <= u8::MAX as usize,
        "a view has no fields, or too many"
    );
    let (few, many) = (2 * names, names * names / 8);
    if few > many {
        few.next_power_of_two()
    } else {
        many.next_power_of_two()
    }
}

impl<const N: usize> Slots<N> {
    /// Tries seeds until no two names share a slot. Names of equal length and equal last 16 bytes always collide; the assertion below
    /// then fails the build.
    pub const fn of(names: &[&str], types: &[JsonType]) -> Slots<N> {
        let (mut seed, mut tries) = (0x9e37_79b9_7f4a_7c15_u64, 0);
        loop {
            if let Some(slots) = assign_slots(names, types, seed) {
                return Slots { slots, seed };
            }
            tries += 1;
            assert!(
                tries < TRIES,
                "two names of a view have the same length and end"
            );
            seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d);
        }
    }
}

impl Names {
    /// The names in these slots.
    pub const fn of<const N: usize>(
        names: &'static [&'static str],
        slots: &'static Slots<N>,
    ) -> Names {
        Names {
            names,
            slots: &slots.slots,
            bits: N.ilog2(),
            seed: slots.seed,
        }
    }

    /// The name with this number.
    pub(crate) fn name(&self, number: usize) -> &'static str {
        self.names.get(number).copied().unwrap_or_default()
    }

    /// The number of the name at `range` of `bytes`, and the type of the field. None for other names.
    #[inline(always)]
    pub(crate) fn find(&self, bytes: &[u8], range: Range<usize>) -> Option<(usize, JsonType)> {
        let Range { start, end } = range;
        let up_to_end = bytes.get(..end)?;
        let len = end - start;
        let window = up_to_end.last_chunk().map_or_else(
            || first_window(bytes, end),
            |window| u128::from_le_bytes(*window),
        );
        let name_end = window & MASKS[len.min(END_BYTES)];
        let slot = self
            .slots
            .get(slot_of(name_end, len, self.seed, self.bits))?;
        let number = usize::from(slot.number);
        let is_found =
            slot.end == name_end && (len < END_BYTES || self.is_name(number, up_to_end, start));
        is_found.then_some((number, slot.json_type))
    }

    /// True if the name from `start` to the end is the one with this number. Only long names need this comparison.
    #[inline(never)]
    fn is_name(&self, number: usize, up_to_end: &[u8], start: usize) -> bool {
        up_to_end.get(start..) == Some(self.name(number).as_bytes())
    }
}

/// The 16 bytes before the end of a name that is too near the start of its record.
#[inline(never)]
fn first_window(bytes: &[u8], end: usize) -> u128 {
    match bytes.first_chunk() {
        Some(window) => u128::from_le_bytes(*window) << (8 * (END_BYTES - end) % 128),
        None => end_of(bytes.get(..end).unwrap_or_default()),
    }
}

/// The number of a name in `names`, which must contain it.
pub const fn number_of(name: &str, names: &[&str]) -> usize {
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

/// The names in their slots; none if two names share a slot.
const fn assign_slots<const N: usize>(
    names: &[&str],
    types: &[JsonType],
    seed: u64,
) -> Option<[Slot; N]> {
    let mut slots = [EMPTY; N];
    let mut number = 0;
    while number < names.len() {
        let name = names[number].as_bytes();
        let (end, len) = (end_of(name), name.len());
        let slot = &mut slots[slot_of(end, len, seed, N.ilog2())];
        if slot.end != EMPTY.end {
            return None;
        }
        *slot = Slot {
            end,
            number: number as u8,
            json_type: types[number],
        };
        number += 1;
    }
    Some(slots)
}

/// The slot of a name: the upper `bits` bits of a product.
#[inline(always)]
const fn slot_of(end: u128, len: usize, seed: u64, bits: u32) -> usize {
    let mixed = (end as u64)
        .wrapping_add((end >> 64) as u64)
        .wrapping_add(len as u64);
    (mixed.wrapping_mul(seed) >> (u64::BITS - bits)) as usize
}

/// Bytes of a name that are compared at once.
const END_BYTES: usize = 16;

/// By the length of a name: which of the 16 bytes before its end belong to it.
const MASKS: [u128; END_BYTES + 1] = {
    let mut masks = [0; END_BYTES + 1];
    let mut len = 1;
    while len <= END_BYTES {
        masks[len] = u128::MAX << (8 * (END_BYTES - len));
        len += 1;
    }
    masks
};

/// The last 16 bytes of a name. A shorter name is padded with zeros at its start.
const fn end_of(name: &[u8]) -> u128 {
    let (mut end, mut byte) = (0, name.len().saturating_sub(END_BYTES));
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
    fn only_the_names_of_the_table_are_found() {
        const NAMES: [&str; 8] = [
            "a",
            "type",
            "uuid",
            "outputPath",
            "outputSize",
            "sessionId",
            "twelve bytes",
            "a name of more than sixteen bytes",
        ];
        static SLOTS: Slots<{ slots_for(NAMES.len()) }> =
            Slots::of(&NAMES, &[JsonType::Any; NAMES.len()]);
        static TABLE: Names = Names::of(&NAMES, &SLOTS);
        // At the end of the text, and with text after or before the name.
        let find = |name: &str| {
            let texts = [
                name.to_owned(),
                format!("{name}, and more"),
                format!("before{name}"),
            ];
            let found = [0, 0, 6].iter().zip(&texts).map(|(at, text)| {
                TABLE
                    .find(text.as_bytes(), *at..at + name.len())
                    .map(|(number, _)| number)
            });
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
