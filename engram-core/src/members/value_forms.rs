//! The forms of values that a row of a member table names: times, and amounts.

use std::borrow::Cow;

use super::json_types::JsonTypes;
use super::node::JsonNode;
use crate::time::{is_millis, utc};

/// What a value must be in addition to its JSON type: a set of forms, one bit each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct ValueForms(#[doc(hidden)] pub u8);

/// What the ledger and errors call a value of the right JSON type that is not a time.
const UNREADABLE: &str = "unreadable time";
/// What they call a number that is not an amount.
const NEGATIVE: &str = "negative number";

impl ValueForms {
    /// Any value.
    pub const NONE: ValueForms = ValueForms(0);
    /// A string in an RFC 3339 form.
    const TEXT: ValueForms = ValueForms(0b001);
    /// A number of milliseconds since the Unix epoch.
    const MILLIS: ValueForms = ValueForms(0b010);
    /// A string with such a number.
    const DIGITS: ValueForms = ValueForms(0b100);
    /// A number that is not negative.
    const AMOUNT: ValueForms = ValueForms(0b1000);

    const NAMES: [(&'static str, ValueForms, JsonTypes); 4] = [
        ("time", ValueForms::TEXT, JsonTypes::STRING),
        ("millis", ValueForms::MILLIS, JsonTypes::NUMBER),
        ("digits", ValueForms::DIGITS, JsonTypes::STRING),
        ("amount", ValueForms::AMOUNT, JsonTypes::NUMBER),
    ];

    /// The form with this name in a table.
    pub fn named(name: &str) -> Option<ValueForms> {
        ValueForms::from_name(name).map(|(form, _)| form)
    }

    /// The forms of values that one or the other accepts. Without any form every value is accepted.
    #[must_use]
    pub fn either(self, other: ValueForms) -> ValueForms {
        if self.is_none() || other.is_none() {
            ValueForms::NONE
        } else {
            self.or(other)
        }
    }

    /// The form with this name in a table, and its JSON type.
    pub(super) fn from_name(name: &str) -> Option<(ValueForms, JsonTypes)> {
        ValueForms::NAMES
            .iter()
            .find(|(known, ..)| *known == name)
            .map(|(_, form, types)| (*form, *types))
    }

    pub(super) fn or(self, other: ValueForms) -> ValueForms {
        ValueForms(self.0 | other.0)
    }

    fn has(self, form: ValueForms) -> bool {
        self.0 & form.0 != 0
    }

    /// True if the JSON type alone decides.
    #[inline(always)]
    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    /// True if the value has one of the forms, or a type that none of them has.
    pub fn accept<'a, N: JsonNode<'a>>(self, node: N) -> bool {
        let json = node.json();
        match json
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'))
        {
            None => {
                !node.types().meets(JsonTypes::NUMBER)
                    || node.types() == JsonTypes::ANY
                    || self.accept_number(json)
            }
            Some(text) => self.accept_text(text),
        }
    }

    fn accept_number(self, json: &str) -> bool {
        let (is_time, is_amount) = (self.has(ValueForms::MILLIS), self.has(ValueForms::AMOUNT));
        (!is_time && !is_amount)
            || (is_time && json.parse().is_ok_and(is_millis))
            || (is_amount && !json.starts_with('-'))
    }

    /// What a value is that has none of the forms.
    pub(super) fn mismatch<'a, N: JsonNode<'a>>(self, node: N) -> &'static str {
        if self.has(ValueForms::AMOUNT) && node.json().starts_with('-') {
            NEGATIVE
        } else {
            UNREADABLE
        }
    }

    #[inline(always)]
    fn accept_text(self, text: &str) -> bool {
        (self.has(ValueForms::TEXT) && utc(text).is_some()) || self.accept_other_text(text)
    }

    /// As [`ValueForms::accept_text`], for a text that is not RFC 3339 as it is written.
    #[cold]
    fn accept_other_text(self, text: &str) -> bool {
        let decoded: Cow<'_, str> = match text.contains('\\') {
            true => serde_json::from_str::<String>(&format!("\"{text}\""))
                .map_or(Cow::Borrowed(text), Cow::Owned),
            false => Cow::Borrowed(text),
        };
        let is_text = self.has(ValueForms::TEXT);
        let is_digits = self.has(ValueForms::DIGITS);
        (!is_text && !is_digits)
            || (is_text && utc(&decoded).is_some())
            || (is_digits && decoded.parse().is_ok_and(is_millis))
    }

    /// The names of types, with those of the forms in place of the JSON types that the forms have.
    pub(super) fn names(self, types: JsonTypes) -> String {
        let forms = || {
            ValueForms::NAMES
                .into_iter()
                .filter(|(_, form, _)| self.has(*form))
        };
        let rest = forms().fold(types, |rest, (.., of_form)| rest.without(of_form));
        let mut names: Vec<String> = forms().map(|(name, ..)| name.to_owned()).collect();
        if !rest.is_empty() {
            names.push(rest.name().into_owned());
        }
        names.join("|")
    }
}

#[cfg(test)]
mod tests {
    use super::super::node::RawNode;
    use super::*;

    #[test]
    fn values_of_the_forms_are_accepted() {
        let accepts = |forms: ValueForms, json: &str| forms.accept(RawNode::parse(json).unwrap());
        let all = ValueForms::TEXT
            .or(ValueForms::MILLIS)
            .or(ValueForms::DIGITS);
        for (json, text, millis, digits) in [
            (r#""2026-11-21T10:02:05.5Z""#, true, true, false),
            (r#""2026\u002d11-21t10:02:05+05:30""#, true, true, false),
            (r#""2026-11-21T10:02:60Z""#, false, true, false),
            (r#""yesterday""#, false, true, false),
            (r#""""#, false, true, false),
            (r#""1795256784268""#, false, true, true),
            ("1795256784268", true, true, true),
            ("1e30", true, false, true),
            ("1.5", true, false, true),
            ("99999999999999999", true, false, true),
            ("0", true, true, true),
            ("-1", true, false, true),
            ("true", true, true, true),
        ] {
            assert_eq!(accepts(ValueForms::TEXT, json), text, "{json}");
            assert_eq!(accepts(ValueForms::MILLIS, json), millis, "{json}");
            assert_eq!(accepts(ValueForms::DIGITS, json), digits, "{json}");
            assert_eq!(accepts(all, json), (text || digits) && millis, "{json}");
        }
    }

    #[test]
    fn an_amount_is_not_negative() {
        for (json, expected) in [
            ("0", true),
            ("1.5", true),
            ("1e-7", true),
            ("-0.1", false),
            ("-7", false),
            ("null", true),
            ("\"-7\"", true),
        ] {
            assert_eq!(
                ValueForms::AMOUNT.accept(RawNode::parse(json).unwrap()),
                expected,
                "{json}"
            );
        }
        let found = |json: &str| ValueForms::AMOUNT.mismatch(RawNode::parse(json).unwrap());
        assert_eq!(
            (
                found("-1"),
                ValueForms::MILLIS.mismatch(RawNode::parse("-1").unwrap())
            ),
            (NEGATIVE, UNREADABLE)
        );
    }

    #[test]
    fn forms_have_names() {
        assert_eq!(
            ValueForms::TEXT
                .or(ValueForms::MILLIS)
                .names(JsonTypes::STRING.or(JsonTypes::NUMBER)),
            "time|millis"
        );
        assert_eq!(
            ValueForms::TEXT.names(JsonTypes::STRING.or(JsonTypes::BOOL)),
            "time|bool"
        );
        assert_eq!(ValueForms::NONE.names(JsonTypes::STRING), "string");
    }
}
