//! Which omission rule a record or a field falls under, from the descriptor alone.

use super::walk::{Level, Step, Walk};
use crate::descriptor::{AdapterDescriptor, Omission, OmissionRule};
use crate::text::Text;

/// The type of a record: the strings at the places that the descriptor names, joined with `/`.
pub(super) fn record_type(descriptor: &AdapterDescriptor, record: &str) -> String {
    let mut parts: Vec<Option<String>> = vec![None; descriptor.record_type.len()];
    let mut walk = Walk::of_fragment(record);
    while let Some(token) = walk.next_string() {
        for (place, part) in descriptor.record_type.iter().zip(&mut parts) {
            if part.is_none() {
                *part = type_part(place, &token, walk.levels());
            }
        }
        if parts.iter().all(Option::is_some) {
            break;
        }
    }
    parts.into_iter().flatten().collect::<Vec<_>>().join("/")
}

/// What a string says of its record's type: its text, or the name of the member that it lies in, where `place` ends with `#`.
fn type_part(place: &str, token: &str, levels: &[Level<'_>]) -> Option<String> {
    let named = match place.strip_suffix("/#") {
        None => return pointer_matches(place, levels).then(|| Text::Token(token).decode_lossy().into_owned()),
        Some(object) => {
            let (outer, inner) = levels.split_at_checked(object.matches('/').count())?;
            inner.first().filter(|_| pointer_matches(object, outer))?.step
        }
    };
    match named {
        Step::Key(key) => Some(Text::Token(key).decode_lossy().into_owned()),
        Step::Item(_) | Step::NoKey => None,
    }
}

/// The rules that omit whole records of this type.
pub(super) fn record_rules<'d>(descriptor: &'d AdapterDescriptor, record: &str) -> impl Iterator<Item = &'d OmissionRule> {
    descriptor.omission_rules.iter().filter(move |rule| is_record_rule(rule) && type_matches(rule.record, record))
}

/// True for rules that omit whole records.
pub(super) fn is_record_rule(rule: &OmissionRule) -> bool {
    matches!(rule.omission, Omission::Duplicate | Omission::Bookkeeping)
}

/// The first rule that omits the field at this place of a record of this type.
pub(super) fn field_rule<'d>(descriptor: &'d AdapterDescriptor, record: &str, levels: &[Level<'_>]) -> Option<&'d OmissionRule> {
    descriptor.omission_rules.iter().find(|rule| {
        !is_record_rule(rule) && type_matches(rule.record, record) && rule.pointer.is_some_and(|pointer| pointer_matches(pointer, levels))
    })
}

/// `*` matches any run of characters.
pub(super) fn type_matches(pattern: &str, record: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = pieces.next().and_then(|first| record.strip_prefix(first)) else {
        return false;
    };
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else {
        return rest.is_empty();
    };
    for piece in pieces {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// `*` matches one segment, a last `**` any rest.
fn pointer_matches(pattern: &str, levels: &[Level<'_>]) -> bool {
    let mut levels = levels.iter();
    let mut segments = pattern.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        if segment == "**" && segments.peek().is_none() {
            return true;
        }
        if !levels.next().is_some_and(|level| segment == "*" || segment_is(segment, level.step)) {
            return false;
        }
    }
    levels.next().is_none()
}

fn segment_is(segment: &str, step: Step<'_>) -> bool {
    match step {
        Step::NoKey => false,
        Step::Item(index) => segment.parse() == Ok(index),
        Step::Key(key) if segment.contains('~') => Text::Token(key).eq_str(&segment.replace("~1", "/").replace("~0", "~")),
        Step::Key(key) => Text::Token(key).eq_str(segment),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_member_can_be_a_type() {
        let mut walk = Walk::of_json(r#"{"$set":{"messages":[{"id":"x"}],"lastUpdated":"t"}}"#);
        let token = walk.next_string().expect("a string");
        assert_eq!(type_part("/$set/#", &token, walk.levels()).as_deref(), Some("messages"));
        assert_eq!(type_part("/#", &token, walk.levels()).as_deref(), Some("$set"));
        assert_eq!(type_part("/other/#", &token, walk.levels()), None);
        assert_eq!(type_part("/$set/messages/0/id", &token, walk.levels()).as_deref(), Some("x"));
    }

    #[test]
    fn type_patterns() {
        for (pattern, record) in [("a", "a"), ("*", ""), ("*", "x/y"), ("a/*", "a/b"), ("*/b", "a/b"), ("a*c*e", "abcde"), ("a**", "a")] {
            assert!(type_matches(pattern, record), "{pattern} {record}");
        }
        for (pattern, record) in [("a", "ab"), ("a/*", "a"), ("*b", "bc"), ("a*a", "a"), ("", "a")] {
            assert!(!type_matches(pattern, record), "{pattern} {record}");
        }
    }

    #[test]
    fn pointer_patterns() {
        let mut walk = Walk::of_json(r#"{"a/b":[{"c":{"d":"x"}}]}"#);
        walk.next_string();
        for pattern in ["/a~1b/0/c/d", "/a~1b/*/c/d", "/*/*/*/*", "/a~1b/**", "/**", "/a~1b/0/c/d/**"] {
            assert!(pointer_matches(pattern, walk.levels()), "{pattern}");
        }
        for pattern in ["", "/a~1b", "/a~1b/1/c/d", "/*/*/*", "/*/*/*/*/*", "/**/d"] {
            assert!(!pointer_matches(pattern, walk.levels()), "{pattern}");
        }
    }
}
