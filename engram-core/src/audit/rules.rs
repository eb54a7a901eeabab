//! The omission rule for a record or field, from the descriptor alone.

use super::walk::{Found, Level, Step, Walk};
use crate::descriptor::{AdapterDescriptor, Omission, OmissionRule};
use crate::text::Text;

/// The type of a record, as the ledger and the omission rules name it: the strings at the pointers of the descriptor, joined with `/`.
/// Empty if the record says none.
pub fn record_type(descriptor: &AdapterDescriptor, record: &str) -> String {
    let mut parts: Vec<Option<String>> = vec![None; descriptor.record_type.len()];
    let mut walk = Walk::of_fragment(record);
    while let Some(found) = walk.next() {
        for (pattern, part) in descriptor.record_type.iter().zip(&mut parts) {
            if part.is_none() {
                *part = type_part(pattern, &found, walk.levels());
            }
        }
        if parts.iter().all(Option::is_some) {
            break;
        }
    }
    parts.into_iter().flatten().collect::<Vec<_>>().join("/")
}

/// The part of the type that a string gives, or that the name of a member gives if `pattern` ends with `#`. The member may have any value.
/// What precedes the pointer is put before the string.
fn type_part(pattern: &str, found: &Found<'_>, levels: &[Level<'_>]) -> Option<String> {
    let (form, pattern) = pattern.split_at(pattern.find('/').unwrap_or_default());
    let token = match (pattern.strip_suffix("/#"), found) {
        (None, Found::Leaf(token)) if token.starts_with('"') => {
            pointer_matches(pattern, levels).then_some(&**token)
        }
        (Some(object), Found::Name) => {
            let (last, outer) = levels.split_last()?;
            match last.step {
                Step::Key(key) => pointer_matches(object, outer).then_some(key),
                Step::Item(_) | Step::NoKey => None,
            }
        }
        _ => None,
    };
    token.map(|token| {
        let part = Text::Token(token).decode_lossy();
        if form.is_empty() {
            part.into_owned()
        } else {
            format!("{form}/{part}")
        }
    })
}

/// The rules that omit records of this type.
pub(super) fn record_rules<'d>(
    descriptor: &'d AdapterDescriptor,
    record: &str,
) -> impl Iterator<Item = &'d OmissionRule> {
    descriptor
        .omission_rules
        .iter()
        .filter(move |rule| is_record_rule(rule) && type_matches(rule.record, record))
}

/// True for rules that omit records, not fields.
pub(super) fn is_record_rule(rule: &OmissionRule) -> bool {
    matches!(
        rule.omission,
        Omission::Duplicate | Omission::Piece | Omission::Bookkeeping
    )
}

/// The first rule that omits the field at this path in records of this type.
pub(super) fn field_rule<'d>(
    descriptor: &'d AdapterDescriptor,
    record: &str,
    levels: &[Level<'_>],
) -> Option<&'d OmissionRule> {
    descriptor.omission_rules.iter().find(|rule| {
        !is_record_rule(rule)
            && type_matches(rule.record, record)
            && rule
                .pointer
                .is_some_and(|pointer| pointer_matches(pointer, levels))
    })
}

/// The first rule that omits the field at this pointer in records of this type.
pub(super) fn field_rule_at<'d>(
    descriptor: &'d AdapterDescriptor,
    record: &str,
    pointer: &str,
) -> Option<&'d OmissionRule> {
    let is_named = |rule: &&OmissionRule| {
        rule.pointer
            .is_some_and(|pattern| pointer_is(pattern, pointer))
    };
    descriptor
        .omission_rules
        .iter()
        .filter(|rule| !is_record_rule(rule) && type_matches(rule.record, record))
        .find(is_named)
}

/// True if a pointer matches a pattern. As [`pointer_matches`].
fn pointer_is(pattern: &str, pointer: &str) -> bool {
    let mut segments = pointer.split('/').skip(1);
    let mut patterns = pattern.split('/').skip(1).peekable();
    while let Some(pattern) = patterns.next() {
        if pattern == "**" && patterns.peek().is_none() {
            return true;
        }
        if !segments
            .next()
            .is_some_and(|segment| pattern == "*" || pattern == segment)
        {
            return false;
        }
    }
    segments.next().is_none()
}

/// True if a record type matches a pattern. `*` matches any run of characters.
pub(super) fn type_matches(pattern: &str, record: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| record.strip_prefix(first)) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// True if a path matches a pattern. `*` matches one segment, `**` at the end any rest.
fn pointer_matches(pattern: &str, levels: &[Level<'_>]) -> bool {
    let mut levels = levels.iter();
    let mut segments = pattern.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        if segment == "**" && segments.peek().is_none() {
            return true;
        }
        if !levels
            .next()
            .is_some_and(|level| segment == "*" || segment_is(segment, level.step))
        {
            return false;
        }
    }
    levels.next().is_none()
}

fn segment_is(segment: &str, step: Step<'_>) -> bool {
    match step {
        Step::NoKey => false,
        Step::Item(index) => segment.parse() == Ok(index),
        Step::Key(key) if segment.contains('~') => {
            Text::Token(key).eq_str(&segment.replace("~1", "/").replace("~0", "~"))
        }
        Step::Key(key) => Text::Token(key).eq_str(segment),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The part of the type that this pattern finds first.
    fn part(pattern: &str, json: &str) -> Option<String> {
        let mut walk = Walk::of_json(json);
        std::iter::from_fn(|| {
            walk.next()
                .map(|found| type_part(pattern, &found, walk.levels()))
        })
        .flatten()
        .next()
    }

    #[test]
    fn the_name_of_a_member_can_be_the_type() {
        let json = r#"{"$set":{"messages":[{"id":"x"}],"lastUpdated":"t"}}"#;
        assert_eq!(part("/$set/#", json).as_deref(), Some("messages"));
        assert_eq!(part("/#", json).as_deref(), Some("$set"));
        assert_eq!(part("/other/#", json), None);
        assert_eq!(part("/$set/messages/0/id", json).as_deref(), Some("x"));
    }

    #[test]
    fn a_name_before_the_pointer_tells_forms_apart() {
        assert_eq!(
            part("msg/msg/type", r#"{"msg":{"type":"error"}}"#).as_deref(),
            Some("msg/error")
        );
        assert_eq!(part("msg/msg/type", r#"{"type":"error"}"#), None);
    }

    #[test]
    fn the_value_of_a_member_that_is_the_type_does_not_matter() {
        for value in ["null", "7", "[]", "{}", "{\"b\":\"x\"}", "\"x\""] {
            let json = format!(r#"{{"$set":{{"a":{value},"c":"x"}}}}"#);
            assert_eq!(part("/$set/#", &json).as_deref(), Some("a"), "{json}");
        }
        assert_eq!(part("/$set/#", r#"{"$set":{},"a":"x"}"#), None);
        assert_eq!(part("/type", r#"{"type":null}"#), None);
    }

    #[test]
    fn type_patterns_match_runs_of_characters() {
        for (pattern, record) in [
            ("a", "a"),
            ("*", ""),
            ("*", "x/y"),
            ("a/*", "a/b"),
            ("*/b", "a/b"),
            ("a*c*e", "abcde"),
            ("a**", "a"),
        ] {
            assert!(type_matches(pattern, record), "{pattern} {record}");
        }
        for (pattern, record) in [
            ("a", "ab"),
            ("a/*", "a"),
            ("*b", "bc"),
            ("a*a", "a"),
            ("", "a"),
        ] {
            assert!(!type_matches(pattern, record), "{pattern} {record}");
        }
    }

    #[test]
    fn pointer_patterns_match_segments() {
        let mut walk = Walk::of_json(r#"{"a/b":[{"c":{"d":"x"}}]}"#);
        walk.next_string();
        for pattern in [
            "/a~1b/0/c/d",
            "/a~1b/*/c/d",
            "/*/*/*/*",
            "/a~1b/**",
            "/**",
            "/a~1b/0/c/d/**",
        ] {
            assert!(pointer_matches(pattern, walk.levels()), "{pattern}");
            assert!(pointer_is(pattern, "/a~1b/0/c/d"), "{pattern}");
        }
        for pattern in ["", "/a~1b", "/a~1b/1/c/d", "/*/*/*", "/*/*/*/*/*", "/**/d"] {
            assert!(!pointer_matches(pattern, walk.levels()), "{pattern}");
            assert!(!pointer_is(pattern, "/a~1b/0/c/d"), "{pattern}");
        }
    }
}
