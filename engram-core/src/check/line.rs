//! Checks of one line: keys, their order, and the type of each value.

use std::fmt;

use super::finding::Finding;
use super::rule::Rule;
use crate::event::{Kind, Range};
use crate::event_schema::{self, Empty, EventSchema, Field, FieldType, Presence};
use crate::json::StructuralIndex;
use crate::tape::object::{Object, Value};
use crate::text::canonical_json;
use crate::time::is_time;

/// A line with a known kind. It may have violations.
pub(super) struct Checked<'l, 'n> {
    pub kind: Kind,
    pub label: Option<&'static str>,
    pub members: Object<'l, 'n>,
}

/// Where a value is in its line. It becomes a text only if something is wrong there: `origin.line`, `attachments[0].name`.
#[derive(Clone, Copy)]
enum Place<'p> {
    Line,
    Member(&'p Place<'p>, &'p str),
    Item(&'p Place<'p>, usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line => Ok(()),
            Place::Member(Place::Line, key) => f.write_str(key),
            Place::Member(object, key) => write!(f, "{object}.{key}"),
            Place::Item(list, at) => write!(f, "{list}[{at}]"),
        }
    }
}

/// Checks one line alone. `None` if it has no known kind, so that nothing else can be checked.
pub(super) fn check<'l, 'n>(
    line: &'l str,
    index: &'n mut StructuralIndex,
    found: &mut Vec<Finding>,
) -> Option<Checked<'l, 'n>> {
    let members = match Object::of_line(line, index) {
        Ok(members) => members,
        Err(error) => {
            found.push(Finding::new(Rule::Json, error.to_string()));
            return None;
        }
    };
    if !is_canonical(line) {
        found.push(Finding::new(
            Rule::Canonical,
            "the line is not in canonical form",
        ));
    }
    let Some(event) = event_schema_of(members) else {
        let (kind, label) = (raw_value(members, "k"), raw_value(members, "label"));
        found.push(Finding::new(
            Rule::Kind,
            format!("kind {kind}, label {label}"),
        ));
        return None;
    };
    check_members(
        members,
        &[
            event_schema::ENVELOPE_HEAD,
            event.fields,
            event_schema::ENVELOPE_TAIL,
        ],
        Place::Line,
        found,
    );
    Some(Checked {
        kind: event.kind,
        label: event.label,
        members,
    })
}

fn event_schema_of(members: Object<'_, '_>) -> Option<&'static EventSchema> {
    let kind = Kind::from_name(members.word("k")?)?;
    let label = if kind == Kind::Meta {
        Some(members.word("label")?)
    } else {
        None
    };
    event_schema::of(kind, label)
}

fn raw_value<'l>(members: Object<'l, '_>, key: &str) -> &'l str {
    members.get(key).map_or("absent", Value::raw)
}

fn is_canonical(line: &str) -> bool {
    canonical_json(line) == line
}

/// Checks the members of one object against its fields, given in groups that follow each other.
fn check_members(
    members: Object<'_, '_>,
    groups: &[&[Field]],
    object: Place<'_>,
    found: &mut Vec<Finding>,
) {
    let fields: Vec<&Field> = groups.iter().copied().flatten().collect();
    let mut next = 0;
    for (key, value) in members.members() {
        let place = Place::Member(&object, key);
        let is_it = |field: &&Field| field.key == key;
        let later = fields[next..].iter().position(is_it).map(|at| next + at);
        let Some(at) = later.or_else(|| fields.iter().position(is_it)) else {
            found.push(Finding::new(Rule::UnknownKey, place.to_string()));
            continue;
        };
        if at < next {
            found.push(Finding::new(
                Rule::KeyOrder,
                format!("{place} is out of order or repeated"),
            ));
        }
        next = next.max(at + 1);
        // Only empty members are left out, not empty items of a list: an attachment without known facts is still an attachment.
        if value.raw() == "{}" && !matches!(fields[at].field_type, FieldType::Json) {
            found.push(Finding::new(Rule::Empty, place.to_string()));
        }
        check_value(value, &fields[at].field_type, place, found);
    }
    for field in fields {
        if field.presence == Presence::Always && members.get(field.key).is_none() {
            found.push(Finding::new(
                Rule::MissingKey,
                Place::Member(&object, field.key).to_string(),
            ));
        }
    }
}

fn check_value(
    value: Value<'_, '_>,
    field_type: &FieldType,
    place: Place<'_>,
    found: &mut Vec<Finding>,
) {
    let text = value.raw();
    let (rule, fits) = match field_type {
        FieldType::Json => return,
        FieldType::Text => (Rule::Shape, text.starts_with('"')),
        FieldType::Name if text == "\"\"" => (Rule::Empty, false),
        FieldType::Name => (Rule::Shape, text.starts_with('"')),
        FieldType::Word(words) => (
            Rule::Word,
            value.word().is_some_and(|word| words.contains(&word)),
        ),
        FieldType::Scheme(name) => (Rule::Word, value.word() == Some(name)),
        FieldType::Count => (Rule::Shape, value.count().is_some()),
        FieldType::Integer => (
            Rule::Shape,
            text.parse::<i64>()
                .is_ok_and(|number| number.to_string() == text),
        ),
        FieldType::Number => (
            Rule::Shape,
            text.starts_with(|first: char| first == '-' || first.is_ascii_digit()),
        ),
        FieldType::Bool => (Rule::Shape, matches!(text, "true" | "false")),
        FieldType::Only(only) => (Rule::Shape, text == if *only { "true" } else { "false" }),
        FieldType::Time => (Rule::Time, value.word().is_some_and(is_time)),
        FieldType::Hash => (
            Rule::Hash,
            value
                .word()
                .and_then(|word| word.strip_prefix("blake3:"))
                .is_some_and(|hex| is_hex(hex, 64)),
        ),
        FieldType::Range => (
            Rule::Range,
            value
                .range()
                .is_some_and(|Range { first, last }| first >= 1 && last >= first - 1),
        ),
        FieldType::Anchors => (Rule::Anchors, are_anchors(value)),
        FieldType::Pointer => (
            Rule::Pointer,
            value.word().is_none_or(is_pointer) && text.starts_with("\"/"),
        ),
        FieldType::Object(fields) => match value.object() {
            Some(members) => {
                return check_members(members, &[fields], place, found);
            }
            None => (Rule::Shape, false),
        },
        FieldType::List(of, empty) => match value.items() {
            Some(items) => {
                let mut count = 0;
                for item in items {
                    check_value(item, of, Place::Item(&place, count), found);
                    count += 1;
                }
                if count == 0 && *empty == Empty::Omitted {
                    found.push(Finding::new(Rule::Empty, place.to_string()));
                }
                return;
            }
            None => (Rule::Shape, false),
        },
    };
    if !fits {
        found.push(Finding::quoting(rule, &place.to_string(), text));
    }
}

fn are_anchors(value: Value<'_, '_>) -> bool {
    let words = value.items().map(|items| items.map(Value::word).collect());
    let Some(Some(mut anchors)) = words.map(|words: Option<Vec<&str>>| words) else {
        return false;
    };
    let (length, are_hex) = (
        anchors.len(),
        anchors.iter().all(|anchor| is_hex(anchor, 16)),
    );
    anchors.sort_unstable();
    anchors.dedup();
    length > 0 && are_hex && anchors.len() == length
}

fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits
        && text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// True when every `~` is `~0` or `~1`.
fn is_pointer(pointer: &str) -> bool {
    pointer
        .split('~')
        .skip(1)
        .all(|rest| rest.starts_with(['0', '1']))
}
