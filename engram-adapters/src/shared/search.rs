//! Looking for one text in another, where both may be long.

use memchr::memmem;

/// What is looked for first. A search prepares for the whole of what it looks for, and that costs more than it saves where
/// most texts are found at once or not at all.
const BEGINNING_BYTES: usize = 32;
/// After so many places where only the beginning stands, the whole is looked for.
const TRIES: usize = 16;

/// True when `text` contains `part`.
pub fn contains(text: &str, part: &str) -> bool {
    text.ends_with(part) || (text.len() > part.len() && find(text, part).is_some())
}

/// Where `text` first contains `part`.
pub fn find(text: &str, part: &str) -> Option<usize> {
    let (text, part) = (text.as_bytes(), part.as_bytes());
    let Some(beginning) = part.get(..BEGINNING_BYTES) else { return memmem::find(text, part) };
    let mut places = memmem::find_iter(text, beginning);
    for _ in 0..TRIES {
        let at = places.next()?;
        if text[at..].starts_with(part) {
            return Some(at);
        }
    }
    memmem::find(text, part)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_long_part_is_found_behind_many_of_its_beginnings() {
        let beginning = "0123456789".repeat(4);
        let part = format!("{beginning}the rest");
        let text = format!("{}{part}.", beginning.repeat(100));
        assert!(contains(&text, &part));
        assert!(!contains(&text, &format!("{part}!")));
    }

    proptest! {
        #[test]
        fn it_agrees_with_the_standard_library(text in "[ab]{0,80}", part in "[ab]{0,6}", long in "[ab]{33,40}") {
            prop_assert_eq!(contains(&text, &part), text.contains(&part));
            prop_assert_eq!(find(&text, &part), text.find(&part));
            let longer = format!("{text}{long}{text}");
            prop_assert!(contains(&longer, &long));
            prop_assert_eq!(find(&longer, &long), longer.find(&long));
            prop_assert_eq!(contains(&longer, &format!("{long}{part}")), longer.contains(&format!("{long}{part}")));
        }
    }
}
