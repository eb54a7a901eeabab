//! Changes of a member: another name, a value of another JSON type or form, or `null`. The rest of the source keeps its bytes.

use std::ops::Range;

use engram_core::members::{JsonNode, JsonTypes, RawNode, ValueForms};

/// What is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The name.
    Rename,
    /// The JSON type of the value.
    Retype,
    /// The value to `null`.
    Nullify,
    /// The form of the value: another kind of number, or no time.
    Reform,
}

/// A replacement of some bytes of a source.
#[derive(Debug, Clone)]
pub struct Change {
    /// What is changed.
    pub kind: Kind,
    at: Range<usize>,
    with: String,
}

/// What new names end with. No table has a name that ends so.
const RENAMED: &str = "_renamed";

/// Values of other types, the usual ones first.
const VALUES: [(JsonTypes, &str); 5] = [
    (JsonTypes::STRING, "\"changed\""),
    (JsonTypes::NUMBER, "7"),
    (JsonTypes::BOOL, "true"),
    (JsonTypes::OBJECT, "{\"changed\":true}"),
    (JsonTypes::ARRAY, "[\"changed\"]"),
];

/// Values of other forms: numbers that are no counts, integers or amounts, and values that are no times.
const FORMS: [&str; 9] = [
    "-1",
    "1.5",
    "1e3",
    "18446744073709551616",
    "-9223372036854775809",
    "1e300",
    "\"yesterday\"",
    "\"\"",
    "\"2026-06-30T23:59:60Z\"",
];

/// The values that the table allows for a member.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Allowed {
    /// The types.
    pub types: JsonTypes,
    /// The forms.
    pub forms: ValueForms,
}

impl Allowed {
    /// What either of them allows.
    pub fn or(self, other: Allowed) -> Allowed {
        Allowed {
            types: self.types.or(other.types),
            forms: self.forms.either(other.forms),
        }
    }

    /// True for a value of a type that is allowed, in a form that is not.
    fn is_only_of_other_form(self, json: &str) -> bool {
        let Some(node) = RawNode::parse(json) else {
            return false;
        };
        let is_number = node.types().meets(JsonTypes::NUMBER);
        let types = if is_number {
            JsonTypes::NATURAL
        } else {
            node.types()
        };
        types.meets(self.types) && !(node.types().meets(self.types) && self.forms.accept(node))
    }
}

impl Change {
    /// Another name for the member whose name, without its quotes, is at `name`.
    pub fn rename(name: Range<usize>) -> Change {
        Change {
            kind: Kind::Rename,
            at: name.end..name.end,
            with: RENAMED.to_owned(),
        }
    }

    /// A value of a type that the table does not allow. `None` if it allows every type.
    pub fn retype(value: Range<usize>, allowed: Allowed) -> Option<Change> {
        let is_other = |types: JsonTypes| {
            !types
                .or(if types.meets(JsonTypes::NUMBER) {
                    JsonTypes::NATURAL
                } else {
                    types
                })
                .meets(allowed.types)
        };
        let (_, with) = VALUES.iter().find(|(types, _)| is_other(*types))?;
        Some(Change {
            kind: Kind::Retype,
            at: value,
            with: (*with).to_owned(),
        })
    }

    /// `null`. `None` if the table allows it.
    pub fn nullify(value: Range<usize>, allowed: Allowed) -> Option<Change> {
        (!allowed.types.meets(JsonTypes::NULL)).then(|| Change {
            kind: Kind::Nullify,
            at: value,
            with: "null".to_owned(),
        })
    }

    /// A value of an allowed type, but of a form that the table does not allow. `choice` chooses among several. `None` if it allows every
    /// form.
    pub fn reform(value: Range<usize>, allowed: Allowed, choice: u64) -> Option<Change> {
        let others: Vec<&str> = FORMS
            .into_iter()
            .filter(|json| allowed.is_only_of_other_form(json))
            .collect();
        let at = usize::try_from(choice.checked_rem(others.len() as u64)?).ok()?;
        Some(Change {
            kind: Kind::Reform,
            at: value,
            with: (*others.get(at)?).to_owned(),
        })
    }

    /// The first `end` bytes of the source with the change.
    pub fn apply(&self, source: &[u8], end: usize) -> Vec<u8> {
        [
            &source[..self.at.start],
            self.with.as_bytes(),
            &source[self.at.end..end],
        ]
        .concat()
    }

    /// The new value or the end of the new name.
    pub fn with(&self) -> &str {
        &self.with
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(types: JsonTypes) -> Allowed {
        Allowed {
            types,
            forms: ValueForms::NONE,
        }
    }

    #[test]
    fn only_the_name_or_the_value_changes() {
        let source = br#"{"a": 1, "b":"x"} rest"#;
        let text = |change: Change, end| String::from_utf8(change.apply(source, end)).unwrap();
        assert_eq!(
            text(Change::rename(2..3), 22),
            r#"{"a_renamed": 1, "b":"x"} rest"#
        );
        assert_eq!(
            text(Change::retype(6..7, of(JsonTypes::NUMBER)).unwrap(), 17),
            r#"{"a": "changed", "b":"x"}"#
        );
        assert_eq!(
            text(Change::retype(13..16, of(JsonTypes::STRING)).unwrap(), 17),
            r#"{"a": 1, "b":7}"#
        );
    }

    #[test]
    fn the_new_type_is_one_that_the_table_does_not_allow() {
        let with = |types| Change::retype(0..0, of(types)).map(|change| change.with().to_owned());
        assert_eq!(
            with(JsonTypes::STRING.or(JsonTypes::NUMBER)).as_deref(),
            Some("true")
        );
        assert_eq!(
            with(JsonTypes::STRING.or(JsonTypes::COUNT)).as_deref(),
            Some("true")
        );
        assert_eq!(with(JsonTypes::ANY), None);
    }

    #[test]
    fn null_is_tried_where_the_table_does_not_allow_it() {
        let with = |types| Change::nullify(0..0, of(types)).map(|change| change.with().to_owned());
        assert_eq!(with(JsonTypes::STRING).as_deref(), Some("null"));
        assert_eq!(
            (
                with(JsonTypes::STRING.or(JsonTypes::NULL)),
                with(JsonTypes::EVERY)
            ),
            (None, None)
        );
    }

    #[test]
    fn the_new_form_is_one_that_the_table_does_not_allow() {
        let forms = |types, forms| -> Vec<String> {
            let all =
                (0..9).filter_map(|choice| Change::reform(0..0, Allowed { types, forms }, choice));
            let all: std::collections::BTreeSet<String> =
                all.map(|change| change.with().to_owned()).collect();
            all.into_iter().collect()
        };
        let none = ValueForms::NONE;
        assert_eq!(
            forms(JsonTypes::COUNT, none),
            [
                "-1",
                "-9223372036854775809",
                "1.5",
                "18446744073709551616",
                "1e3",
                "1e300"
            ]
        );
        assert_eq!(
            forms(JsonTypes::INTEGER.or(JsonTypes::STRING), none),
            [
                "-9223372036854775809",
                "1.5",
                "18446744073709551616",
                "1e3",
                "1e300"
            ]
        );
        assert_eq!(
            forms(JsonTypes::NUMBER.or(JsonTypes::STRING), none),
            [""; 0]
        );
        assert_eq!(
            forms(JsonTypes::STRING, ValueForms::named("time").unwrap()),
            ["\"\"", "\"2026-06-30T23:59:60Z\"", "\"yesterday\""]
        );
        assert!(
            forms(JsonTypes::NUMBER, ValueForms::named("millis").unwrap())
                .contains(&"1.5".to_owned())
        );
    }
}
