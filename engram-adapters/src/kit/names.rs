//! The names of a view's fields, found at once: most names of a record are of no interest.

/// The most fields of a view.
const FIELDS: usize = 64;
/// Places in the table of a view's names.
const PLACES: usize = 2 * FIELDS;

/// The names of a view's fields, found at once: most names of a record are of no interest.
#[derive(Debug)]
pub struct Names {
    names: &'static [&'static str],
    ends: [Ends; FIELDS],
    /// At each place the number of a name plus one, or 0. Small, since most lookups end here.
    places: [u8; PLACES],
}

/// The first and the last eight bytes of a name, and its length: all of a name of up to 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ends {
    first: u64,
    last: u64,
    len: usize,
}

impl Ends {
    /// The ends of the name at `at`, `len` bytes long.
    #[inline(always)]
    const fn of(bytes: &[u8], at: usize, len: usize) -> Ends {
        if len >= 8 {
            return Ends { first: word_at(bytes, at), last: word_at(bytes, at + len - 8), len };
        }
        let mut first = 0;
        if at + 8 <= bytes.len() {
            first = word_at(bytes, at) & ((1 << (8 * len)) - 1);
        } else {
            let mut byte = 0;
            while byte < len {
                first |= (bytes[at + byte] as u64) << (8 * byte);
                byte += 1;
            }
        }
        Ends { first, last: 0, len }
    }

    const fn place(self) -> usize {
        const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
        let mixed = (self.first ^ self.last.rotate_left(29)).wrapping_mul(SPREAD).wrapping_add(self.len as u64);
        (mixed >> 40) as usize % PLACES
    }
}

#[inline(always)]
const fn word_at(bytes: &[u8], at: usize) -> u64 {
    match bytes.split_at(at).1.first_chunk::<8>() {
        Some(word) => u64::from_le_bytes(*word),
        None => 0,
    }
}

impl Names {
    /// Puts each name at the first free place after its own.
    pub const fn of(names: &'static [&'static str]) -> Names {
        assert!(names.len() <= FIELDS, "a view has too many fields");
        let mut ends = [Ends { first: 0, last: 0, len: 0 }; FIELDS];
        let mut places = [0; PLACES];
        let mut number = 0;
        while number < names.len() {
            ends[number] = Ends::of(names[number].as_bytes(), 0, names[number].len());
            let mut place = ends[number].place();
            while places[place] != 0 {
                place = (place + 1) % PLACES;
            }
            number += 1;
            places[place] = number as u8;
        }
        Names { names, ends, places }
    }

    /// The name of that number.
    pub(crate) fn name(&self, number: usize) -> &'static str {
        self.names.get(number).copied().unwrap_or_default()
    }

    /// The number of the name at `at` in `bytes`, `len` bytes long.
    #[inline(always)]
    pub(crate) fn find(&self, bytes: &[u8], at: usize, len: usize) -> Option<usize> {
        let ends = Ends::of(bytes, at, len);
        let mut place = ends.place();
        loop {
            let number = (self.places[place] as usize).checked_sub(1)?;
            if self.ends[number % FIELDS] == ends && (len <= 16 || bytes.get(at..at + len) == Some(self.names[number].as_bytes())) {
                return Some(number);
            }
            place = (place + 1) % PLACES;
        }
    }
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
