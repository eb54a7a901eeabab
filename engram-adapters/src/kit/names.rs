//! The names of a view's fields, found at once: most names of a record are of no interest.

/// The most fields of a view.
const FIELDS: usize = 64;
/// Places in the table of a view's names.
const PLACES: usize = 512;

/// The names of a view's fields.
#[derive(Debug)]
pub struct Names {
    names: &'static [&'static str],
    ends: [Ends; FIELDS],
    /// The number of the name that belongs to each place. Where none does, it is some other name's: a name is compared anyway.
    places: [u8; PLACES],
    /// What gives each name a place of its own.
    spread: u64,
}

/// The first and the last eight bytes of a name, and its length: all of a name of up to 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ends {
    first: u64,
    /// 0 where the name has no more than eight bytes.
    last: u64,
    len: usize,
}

impl Names {
    /// Tries one way to spread the names after the other, until no two share a place.
    pub const fn of(names: &'static [&'static str]) -> Names {
        assert!(!names.is_empty() && names.len() <= FIELDS, "a view has no fields, or too many");
        let mut ends = [Ends { first: 0, last: 0, len: 0 }; FIELDS];
        let mut number = 0;
        while number < names.len() {
            ends[number] = Ends::of(names[number].as_bytes(), 0, names[number].len());
            number += 1;
        }
        let mut spread = 0x9e37_79b9_7f4a_7c15_u64;
        loop {
            if let Some(places) = spread_out(&ends, names.len(), spread) {
                return Names { names, ends, places, spread };
            }
            spread = spread.wrapping_mul(0x5851_f42d_4c95_7f2d);
        }
    }

    /// The name of that number.
    pub(crate) fn name(&self, number: usize) -> &'static str {
        self.names.get(number).copied().unwrap_or_default()
    }

    /// The number of the name at `at` in `bytes`, `len` bytes long.
    #[inline(always)]
    pub(crate) fn find(&self, bytes: &[u8], at: usize, len: usize) -> Option<usize> {
        let ends = Ends::of(bytes, at, len);
        let number = usize::from(self.places[ends.place(self.spread)]);
        let is_name = self.ends.get(number) == Some(&ends);
        (is_name && (len <= 16 || bytes.get(at..at + len) == Some(self.names[number].as_bytes()))).then_some(number)
    }
}

/// The numbers of names at their places, if each has a place of its own.
const fn spread_out(ends: &[Ends; FIELDS], count: usize, spread: u64) -> Option<[u8; PLACES]> {
    let (mut places, mut taken) = ([0; PLACES], [false; PLACES]);
    let mut number = 0;
    while number < count {
        let place = ends[number].place(spread);
        if taken[place] {
            return None;
        }
        taken[place] = true;
        places[place] = number as u8;
        number += 1;
    }
    Some(places)
}

impl Ends {
    /// The ends of the name at `at`, `len` bytes long.
    #[inline(always)]
    const fn of(bytes: &[u8], at: usize, len: usize) -> Ends {
        const MASKS: [u64; 9] = [0, 0xff, 0xffff, 0xff_ffff, 0xffff_ffff, 0xff_ffff_ffff, 0xffff_ffff_ffff, 0xff_ffff_ffff_ffff, u64::MAX];
        let first = match word_at(bytes, at) {
            Some(word) => word & MASKS[if len < 8 { len } else { 8 }],
            None => short_word(bytes, at, len),
        };
        let last = match word_at(bytes, (at + len).saturating_sub(8)) {
            Some(word) if len > 8 => word,
            _ => 0,
        };
        Ends { first, last, len }
    }

    /// Where the name belongs.
    #[inline(always)]
    const fn place(self, spread: u64) -> usize {
        let mixed = self.first.wrapping_add(self.last.rotate_left(29)).wrapping_add(self.len as u64);
        (mixed.wrapping_mul(spread) >> (u64::BITS - PLACES.ilog2())) as usize
    }
}

#[inline(always)]
const fn word_at(bytes: &[u8], at: usize) -> Option<u64> {
    match bytes.split_at_checked(at) {
        Some((_, rest)) => match rest.first_chunk::<8>() {
            Some(word) => Some(u64::from_le_bytes(*word)),
            None => None,
        },
        None => None,
    }
}

/// The first eight bytes of a name near the end of the text.
#[cold]
const fn short_word(bytes: &[u8], at: usize, len: usize) -> u64 {
    let (mut word, mut byte) = (0, 0);
    while byte < len && byte < 8 && at + byte < bytes.len() {
        word |= (bytes[at + byte] as u64) << (8 * byte);
        byte += 1;
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_numbered() {
        const NAMES: [&str; 8] = ["a", "type", "uuid", "", "duty", "sessionId", "twelve bytes", "a name of more than sixteen bytes"];
        static TABLE: Names = Names::of(&NAMES);
        // At the end of the text, and with something behind it.
        let find = |name: &str| {
            let places = [name.to_owned(), format!("{name}, and more"), format!("before{name}")];
            let found = [0, 0, 6].iter().zip(&places).map(|(at, text)| TABLE.find(text.as_bytes(), *at, name.len()));
            let found: Vec<_> = found.collect();
            assert!(found.iter().all(|number| *number == found[0]), "{name}");
            found[0]
        };
        for (number, name) in NAMES.iter().enumerate() {
            assert_eq!(find(name), Some(number), "{name}");
        }
        for name in ["b", "typ", "types", "Uuid", "session", "sessionIdx", "a name of more than SIXTEEN bytes", "\0"] {
            assert_eq!(find(name), None, "{name}");
        }
    }
}
