//! The forms of times that a row of a member table names.

use std::borrow::Cow;

use super::json_types::JsonTypes;
use super::node::JsonNode;
use crate::time::{is_millis, utc};

/// What a value must be that is a time: a set of forms, one bit each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimeForms(u8);

/// What the ledger and errors call a value of the right JSON type that is not a time.
pub(super) const UNREADABLE: &str = "unreadable time";

impl TimeForms {
    /// Not a time.
    pub const NONE: TimeForms = TimeForms(0);
    /// A string in an RFC 3339 form.
    const TEXT: TimeForms = TimeForms(0b001);
    /// A number of milliseconds since the Unix epoch.
    const MILLIS: TimeForms = TimeForms(0b010);
    /// A string with such a number.
    const DIGITS: TimeForms = TimeForms(0b100);

    const NAMES: [(&'static str, TimeForms, JsonTypes); 3] = [
        ("time", TimeForms::TEXT, JsonTypes::STRING),
        ("millis", TimeForms::MILLIS, JsonTypes::NUMBER),
        ("digits", TimeForms::DIGITS, JsonTypes::STRING),
    ];

    /// The form with this name in a table.
    pub fn named(name: &str) -> Option<TimeForms> {
        TimeForms::from_name(name).map(|(form, _)| form)
    }

    /// The forms of values that one or the other accepts. Without any form every value is accepted.
    #[must_use]
    pub fn either(self, other: TimeForms) -> TimeForms {
        if self.is_none() || other.is_none() { TimeForms::NONE } else { self.or(other) }
    }

    /// The form with this name in a table, and its JSON type.
    pub(super) fn from_name(name: &str) -> Option<(TimeForms, JsonTypes)> {
        TimeForms::NAMES.iter().find(|(known, ..)| *known == name).map(|(_, form, types)| (*form, *types))
    }

    pub(super) fn or(self, other: TimeForms) -> TimeForms {
        TimeForms(self.0 | other.0)
    }

    fn has(self, form: TimeForms) -> bool {
        self.0 & form.0 != 0
    }

    /// True if the row is not for times.
    #[inline(always)]
    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    /// True if the value is a time in one of the forms, or of a type that none of them has.
    pub fn accept<'a, N: JsonNode<'a>>(self, node: N) -> bool {
        let json = node.json();
        match json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
            None => !node.types().meets(JsonTypes::NUMBER) || !self.has(TimeForms::MILLIS) || json.parse().is_ok_and(is_millis),
            Some(text) => self.accept_text(text),
        }
    }

    #[inline(always)]
    fn accept_text(self, text: &str) -> bool {
        (self.has(TimeForms::TEXT) && utc(text).is_some()) || self.accept_other_text(text)
    }

    /// As [`TimeForms::accept_text`], for a text that is not RFC 3339 as it is written.
    #[cold]
    fn accept_other_text(self, text: &str) -> bool {
        let decoded: Cow<'_, str> = match text.contains('\\') {
            true => serde_json::from_str::<String>(&format!("\"{text}\"")).map_or(Cow::Borrowed(text), Cow::Owned),
            false => Cow::Borrowed(text),
        };
        let is_text = self.has(TimeForms::TEXT);
        let is_digits = self.has(TimeForms::DIGITS);
        (!is_text && !is_digits) || (is_text && utc(&decoded).is_some()) || (is_digits && decoded.parse().is_ok_and(is_millis))
    }

    /// The names of types, with those of the forms in place of the JSON types that the forms have.
    pub(super) fn names(self, types: JsonTypes) -> String {
        let forms = || TimeForms::NAMES.into_iter().filter(|(_, form, _)| self.has(*form));
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
        let accepts = |forms: TimeForms, json: &str| forms.accept(RawNode::parse(json).unwrap());
        let all = TimeForms::TEXT.or(TimeForms::MILLIS).or(TimeForms::DIGITS);
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
            ("true", true, true, true),
        ] {
            assert_eq!(accepts(TimeForms::TEXT, json), text, "{json}");
            assert_eq!(accepts(TimeForms::MILLIS, json), millis, "{json}");
            assert_eq!(accepts(TimeForms::DIGITS, json), digits, "{json}");
            assert_eq!(accepts(all, json), (text || digits) && millis, "{json}");
        }
    }

    #[test]
    fn forms_have_names() {
        assert_eq!(TimeForms::TEXT.or(TimeForms::MILLIS).names(JsonTypes::STRING.or(JsonTypes::NUMBER)), "time|millis");
        assert_eq!(TimeForms::TEXT.names(JsonTypes::STRING.or(JsonTypes::BOOL)), "time|bool");
        assert_eq!(TimeForms::NONE.names(JsonTypes::STRING), "string");
    }
}
