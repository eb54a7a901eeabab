//! A line as the index keeps it: a number of 64 bits.

use engram_core::hash::Hash;
use engram_core::keys::PlaceMap;

/// The highest four bytes are of the hash of the line without white space and quotes, the 24 bits below of the hash of the line without its
/// line end, and the lowest byte is how many of its characters are no white space.
pub type Key = u64;

/// The bits of a key that white space and quotes change.
const EXACT: u64 = 0xffff_ff00;
/// The lowest byte of a line whose text nobody knows.
const HOLE: u64 = 0xff;

/// The key of a line. A `\r` at its end belongs to the line end.
pub fn key(line: &str) -> Key {
    let line = line.strip_suffix('\r').unwrap_or(line);
    let (mut bare, mut count) = (String::with_capacity(line.len()), 0_u64);
    for c in line.chars().filter(|c| !c.is_whitespace()) {
        count += 1;
        if !matches!(c, '"' | '\'' | '`') {
            bare.push(c);
        }
    }
    let exact = first_bytes(line.as_bytes()) & EXACT;
    (first_bytes(bare.as_bytes()) & !EXACT & !HOLE) | exact | count.min(HOLE - 1)
}

/// The part of a key that a line has in common with one that differs in white space and the kind of quotes alone.
pub const fn bare(key: Key) -> Key {
    if is_hole(key) { key } else { key & !EXACT }
}

/// The key of an unknown line: equal to itself and to nothing else. `of` names the step that left it unknown, and `n` is its number there.
pub fn hole(of: &str, n: usize) -> Key {
    nth_hole(first_bytes(of.as_bytes()) | HOLE, n)
}

/// True for two unknown lines of one step that follow each other.
pub const fn are_next(one: Key, other: Key) -> bool {
    is_hole(one) && other == nth_hole(one, 1)
}

/// The unknown line so many lines after another one.
pub const fn nth_hole(first: Key, n: usize) -> Key {
    first.wrapping_add((n as u64) << 8)
}

/// True for a line whose text nobody knows.
pub const fn is_hole(key: Key) -> bool {
    key & 0xff == HOLE
}

/// How many characters of the line are no white space: at most 254.
pub const fn letters(key: Key) -> usize {
    if is_hole(key) {
        0
    } else {
        (key & 0xff) as usize
    }
}

/// The letters of several lines.
pub fn letters_of(keys: &[Key]) -> usize {
    keys.iter().copied().map(letters).sum()
}

/// How often each line stands in a text.
pub type Counts = PlaceMap<Key, u32>;

/// Counts the lines of a text.
pub fn counts(keys: &[Key]) -> Counts {
    let mut counts = Counts::with_capacity_and_hasher(keys.len(), Default::default());
    for key in keys {
        *counts.entry(*key).or_default() += 1;
    }
    counts
}

/// The lines of a text. A final line end begins no other line.
pub fn keys(text: &str) -> Vec<Key> {
    lines(text).map(key).collect()
}

/// What may stand before the first line. Some harnesses leave it out of a text, and have it in the hash of the file.
pub const BYTE_ORDER_MARK: char = '\u{feff}';

/// The lines of a text, without a `\r` at their ends, and without a byte order mark.
pub fn lines(text: &str) -> impl Iterator<Item = &str> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let body = text.strip_suffix('\n').unwrap_or(text);
    let some = (!text.is_empty()).then(|| body.split('\n'));
    some.into_iter()
        .flatten()
        .map(|line| line.strip_suffix('\r').unwrap_or(line))
}

fn first_bytes(bytes: &[u8]) -> u64 {
    let hash = Hash::of_bytes(bytes);
    let mut first = [0; 8];
    first.copy_from_slice(&hash.bytes()[..8]);
    u64::from_le_bytes(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_knows_its_letters_and_no_line_end() {
        assert_eq!(key("a b"), key("a b\r"));
        assert_ne!(key("a b"), key("a  b"));
        assert_eq!(
            (
                letters(key(" a b\t")),
                letters(key("")),
                letters(hole("x", 0))
            ),
            (2, 0, 0)
        );
        assert_eq!(letters(key(&"x".repeat(900))), 254);
    }

    #[test]
    fn lines_that_differ_in_white_space_and_quotes_have_one_bare_key() {
        let (one, other) = (key("  print('a b')"), key("\tprint( \"a b\" )"));
        assert_ne!(one, other);
        assert_eq!(bare(one), bare(other));
        assert_ne!(bare(one), bare(key("print('a c')")));
        assert_ne!(bare(hole("x", 0)), bare(hole("x", 1)));
    }

    #[test]
    fn lines_have_no_line_end_and_a_text_may_lack_the_last_one() {
        let of = |text| lines(text).collect::<Vec<_>>();
        assert_eq!(of("a\r\nb\n\nc"), ["a", "b", "", "c"]);
        assert_eq!((of(""), of("\n"), of("a\n")), (vec![], vec![""], vec!["a"]));
        assert_eq!(of("\u{feff}a\r\nb"), ["a", "b"]);
    }
}
