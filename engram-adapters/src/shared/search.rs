//! Substring search for long texts.

use memchr::memmem;

/// Bytes of `part` that are searched for first. `memmem` preprocesses all of its needle; for a long one that costs more than it saves,
/// as most parts are found at once or not at all.
const BEGINNING_BYTES: usize = 32;
/// After this many matches of the beginning alone, the search is for all of `part`: this keeps the time linear.
const TRIES: usize = 16;

/// True if `text` contains `part`.
pub fn contains(text: &str, part: &str) -> bool {
    text.ends_with(part) || (text.len() > part.len() && find(text, part).is_some())
}

/// The byte offset of the first occurrence of `part` in `text`.
pub fn find(text: &str, part: &str) -> Option<usize> {
    let (text, part) = (text.as_bytes(), part.as_bytes());
    let Some(beginning) = part.get(..BEGINNING_BYTES) else {
        return memmem::find(text, part);
    };
    let finder = memmem::Finder::new(beginning);
    let mut from = 0;
    for _ in 0..TRIES {
        let at = from + finder.find(&text[from..])?;
        if text[at..].starts_with(part) {
            return Some(at);
        }
        // Occurrences may overlap.
        from = at + 1;
    }
    memmem::find(&text[from..], part).map(|at| from + at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn part_is_found_after_many_matches_of_its_beginning() {
        let beginning = "0123456789".repeat(4);
        let part = format!("{beginning}the rest");
        let text = format!("{}{part}.", beginning.repeat(100));
        assert!(contains(&text, &part));
        assert!(!contains(&text, &format!("{part}!")));
    }

    #[test]
    fn occurrences_of_the_beginning_may_overlap() {
        for (dashes, longer) in [(32, 33), (33, 63), (36, 40), (40, 400)] {
            let part = format!("{}x", "-".repeat(dashes));
            let text = format!("{}x", "-".repeat(longer));
            assert_eq!(find(&text, &part), text.find(&part));
        }
    }

    proptest! {
        #[test]
        fn results_equal_those_of_the_standard_library(text in "[ab]{0,80}", part in "[ab]{0,6}", long in "[ab]{33,40}") {
            prop_assert_eq!(contains(&text, &part), text.contains(&part));
            prop_assert_eq!(find(&text, &part), text.find(&part));
            let longer = format!("{text}{long}{text}");
            prop_assert!(contains(&longer, &long));
            prop_assert_eq!(find(&longer, &long), longer.find(&long));
            prop_assert_eq!(contains(&longer, &format!("{long}{part}")), longer.contains(&format!("{long}{part}")));
        }
    }
}
