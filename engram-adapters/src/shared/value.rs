//! Values of a record, found by an index of their ends: parsed once, borrowed, never built.

use engram_core::emit::Fault;
use engram_core::event::Number;
use engram_core::text::Text;

use super::json::{NONCANONICAL, Node};
pub use super::json::{PullReader, StructuralIndex};
use super::json_type::{ABSENT, JsonType};

/// A JSON value as a slice of its source, without white space around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Value<'a> {
    /// The text of the record that it is a part of.
    record: &'a str,
    /// This value's node, then those of what is in it and of what is behind it.
    nodes: &'a [Node],
}

/// A value, or absent. JSON `null` counts as absent.
pub type Field<'a> = Option<Value<'a>>;

/// The one JSON value that `text` holds.
///
/// # Errors
/// [`Fault::Json`] where `text` is not one JSON value, [`Fault::Limit`] where it holds too many.
pub fn parse<'a>(text: &'a str, index: &'a mut StructuralIndex) -> Result<Value<'a>, Fault> {
    Ok(Value::of_nodes(text, index.build(text)?))
}

/// What `visit` finds in the lines that are JSON: its first answer. Lines of other kinds are passed over.
pub fn find_line<'t, T>(lines: impl Iterator<Item = &'t str>, mut visit: impl FnMut(Value<'_>) -> Option<T>) -> Option<T> {
    let mut index = StructuralIndex::default();
    for line in lines {
        if let Ok(value) = parse(line, &mut index)
            && let Some(found) = visit(value)
        {
            return Some(found);
        }
    }
    None
}

impl<'a> Value<'a> {
    /// No value at all: neither an object nor anything else.
    pub(in crate::shared) const MISSING: Value<'static> = Value { record: "", nodes: &[] };

    /// The value whose nodes these are.
    pub(in crate::shared) fn of_nodes(record: &'a str, nodes: &'a [Node]) -> Self {
        Value { record, nodes }
    }

    /// The source text.
    #[inline(always)]
    pub fn raw(self) -> &'a str {
        raw_of(self.record, self.nodes.first())
    }

    /// Its shapes, a bit each: all of them for `null`, and none of no value.
    #[inline(always)]
    pub fn shapes(self) -> u8 {
        self.nodes.first().map_or(0, |node| node.shapes())
    }

    #[inline(always)]
    fn is(self, shape: JsonType) -> bool {
        self.nodes.first().is_some_and(|node| node.is(shape))
    }

    /// The text, if this is a string.
    #[inline(always)]
    pub fn text(self) -> Option<Text<'a>> {
        text_of(self.record, self.nodes.first())
    }

    /// True for an object.
    #[inline(always)]
    pub fn is_object(self) -> bool {
        self.is(JsonType::Object)
    }

    /// True for an array.
    #[inline(always)]
    pub fn is_array(self) -> bool {
        self.is(JsonType::Array)
    }

    /// True for `true`.
    pub fn is_true(self) -> bool {
        self.is(JsonType::Bool) && self.raw() == "true"
    }

    /// True for `null`.
    #[inline(always)]
    pub fn is_null(self) -> bool {
        self.shapes() == ABSENT
    }

    /// The number, if this is a whole number that is not negative.
    #[inline(always)]
    pub fn unsigned(self) -> Option<u64> {
        unsigned_of(self.record, self.nodes.first())
    }

    /// The elements, if this is an array.
    pub fn elements(self) -> impl Iterator<Item = Value<'a>> {
        self.each_inside(JsonType::Array)
    }

    /// Names and values, if this is an object. Names are as the source spells them, so one with escapes matches nothing.
    pub fn members(self) -> impl Iterator<Item = (&'a str, Value<'a>)> {
        self.each_member().filter_map(move |(name, value)| Some((self.record.get(name.name_in(self.record.as_bytes()))?, value)))
    }

    /// The nodes of members, and their values, if this is an object.
    #[inline(always)]
    fn each_member(self) -> impl Iterator<Item = (&'a Node, Value<'a>)> {
        self.each_inside(JsonType::Object).filter_map(|value| Some((value.nodes.first()?, value)))
    }

    /// The values in this one, if it is of this shape.
    #[inline(always)]
    fn each_inside(self, shape: JsonType) -> impl Iterator<Item = Value<'a>> {
        self.each_node(shape).map(move |(behind, _)| self.behind(behind))
    }

    /// The nodes of the values in this one, if it is of this shape, and how many nodes behind this one's each is.
    #[inline(always)]
    pub(in crate::shared) fn each_node(self, shape: JsonType) -> impl Iterator<Item = (u32, &'a Node)> {
        let (inner, mut at) = (self.inner(shape), 0);
        std::iter::from_fn(move || {
            let node = inner.get(at)?;
            at += node.size();
            Some(((at - node.size()) as u32 + 1, node))
        })
    }

    /// The nodes of what is in this value, if it is of this shape.
    #[inline(always)]
    fn inner(self, shape: JsonType) -> &'a [Node] {
        let [node, ..] = self.nodes else { return &[] };
        if self.is(shape) { self.nodes.get(1..node.size()).unwrap_or_default() } else { &[] }
    }

    /// The value in this one whose node is that many behind this one's.
    #[inline(always)]
    pub(in crate::shared) fn behind(self, nodes: u32) -> Value<'a> {
        Value { record: self.record, nodes: self.nodes.get(nodes as usize..).unwrap_or_default() }
    }

    /// How many nodes behind that of `other`, in which it lies, this value's is.
    #[inline(always)]
    pub(in crate::shared) fn nodes_behind(self, other: Value<'_>) -> u32 {
        other.nodes.len().saturating_sub(self.nodes.len()) as u32
    }

    /// The text of the record that this value is a part of.
    #[inline(always)]
    pub(in crate::shared) fn record(self) -> &'a str {
        self.record
    }

    /// The member of that name; the last where there are several.
    pub fn member(self, name: &str) -> Field<'a> {
        self.all_named(name).filter(|value| !value.is_null()).last()
    }

    /// The first member of that name. Those behind it are not looked at.
    pub fn first(self, name: &str) -> Field<'a> {
        self.all_named(name).next().filter(|value| !value.is_null())
    }

    /// The members of that name.
    #[inline(always)]
    fn all_named(self, name: &str) -> impl Iterator<Item = Value<'a>> {
        let text = self.record.as_bytes();
        let is_named = move |node: &Node| {
            let start = node.name as usize + 1;
            let end = start + name.len();
            // Where no quote stands at its end, it is another name, and need not be compared.
            text.get(end) == Some(&b'"') && text.get(start..end) == Some(name.as_bytes())
        };
        self.each_member().filter(move |(node, _)| is_named(node)).map(|(_, value)| value)
    }
}

// What is asked of values everywhere stands once, out of line, and gets all that it needs in registers.

#[inline(never)]
fn raw_of<'a>(record: &'a str, node: Option<&Node>) -> &'a str {
    slice(record, node).unwrap_or_default()
}

#[inline(never)]
fn text_of<'a>(record: &'a str, node: Option<&Node>) -> Option<Text<'a>> {
    let token = slice(record, node.filter(|node| node.is(JsonType::String)))?;
    Some(match node?.escapes() {
        0 => Text::Unescaped(token),
        odd if odd & NONCANONICAL != 0 => Text::Token(token),
        _ => Text::Canonical(token),
    })
}

#[inline(never)]
fn filled_text_of<'a>(record: &'a str, node: Option<&Node>) -> Option<Text<'a>> {
    if slice(record, node)? == r#""""# { None } else { text_of(record, node) }
}

#[inline(never)]
fn word_of<'a>(record: &'a str, node: Option<&Node>) -> &'a str {
    let inside = |node: &Node| record.get(node.start as usize + 1..(node.end as usize).saturating_sub(1));
    node.filter(|node| node.is(JsonType::String)).and_then(inside).unwrap_or_default()
}

#[inline(never)]
fn number_of<'a>(record: &'a str, node: Option<&Node>) -> Option<Number<'a>> {
    Number::of_str(slice(record, node)?)
}

#[inline(never)]
fn unsigned_of(record: &str, node: Option<&Node>) -> Option<u64> {
    let number = slice(record, node)?;
    short_whole(number).or_else(|| number.parse().ok())
}

#[inline(never)]
fn integer_of(record: &str, node: Option<&Node>) -> Option<i64> {
    let number = slice(record, node)?;
    short_whole(number).map(|whole| whole as i64).or_else(|| number.parse().ok())
}

/// The number that a few digits are: most are so.
#[inline(always)]
fn short_whole(number: &str) -> Option<u64> {
    /// No number of so many digits is too large.
    const DIGITS: usize = 18;
    if number.len() > DIGITS {
        return None;
    }
    number.bytes().try_fold(0, |whole, byte| byte.is_ascii_digit().then(|| whole * 10 + u64::from(byte - b'0')))
}

#[inline(always)]
fn slice<'a>(record: &'a str, node: Option<&Node>) -> Option<&'a str> {
    node.and_then(|node| record.get(node.start as usize..node.end as usize))
}

/// The elements of a list, or the one value that stands in place of one.
pub fn one_or_many(field: Field<'_>) -> impl Iterator<Item = Value<'_>> {
    let list = field.unwrap_or(Value::MISSING);
    let (mut at, end) = if list.is_array() { (1, list.nodes.first().map_or(0, |node| node.size())) } else { (0, 1) };
    std::iter::from_fn(move || {
        let value = if at < end { list.behind(at as u32) } else { return None };
        at += value.nodes.first()?.size();
        Some(value)
    })
}

/// The text of a field, if it is a string.
#[inline(always)]
pub fn text(field: Field<'_>) -> Option<Text<'_>> {
    field.and_then(Value::text)
}

/// The text of a field, if it is a string that is not empty.
#[inline(always)]
pub fn non_empty_text(field: Field<'_>) -> Option<Text<'_>> {
    field.and_then(|value| filled_text_of(value.record, value.nodes.first()))
}

/// The text of a field as the source spells it, without its quotes. For names, which never hold escapes; empty for what is no string.
#[inline(always)]
pub fn raw_str(field: Field<'_>) -> &str {
    field.map(|value| word_of(value.record, value.nodes.first())).unwrap_or_default()
}

/// The number of a field as the source spells it, if it is one.
#[inline(always)]
pub fn number(field: Field<'_>) -> Option<Number<'_>> {
    field.and_then(|value| number_of(value.record, value.nodes.first()))
}

/// The whole number of a field, if it is one.
#[inline(always)]
pub fn integer(field: Field<'_>) -> Option<i64> {
    field.and_then(|value| integer_of(value.record, value.nodes.first()))
}

/// True if the field is `true`.
pub fn is_true(field: Field<'_>) -> bool {
    field.is_some_and(Value::is_true)
}

#[cfg(test)]
mod tests {
    use engram_core::text::push_text;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn members_are_found_by_their_ends() {
        let mut index = StructuralIndex::default();
        let value = parse(r#" { "a" : [1, {"x":"}\""}] ,"b":"\\","c":null,"a":true } "#, &mut index).unwrap();
        let members: Vec<_> = value.members().map(|(name, value)| (name, value.raw())).collect();
        assert_eq!(members, [("a", r#"[1, {"x":"}\""}]"#), ("b", r#""\\""#), ("c", "null"), ("a", "true")]);
        assert_eq!(value.member("a").map(Value::raw), Some("true"));
        assert_eq!(value.member("c"), None);
        assert_eq!(value.first("a").map(Value::raw), Some(r#"[1, {"x":"}\""}]"#));
        assert_eq!([value.first("c"), value.first("d"), value.first("b").and_then(|text| text.first("a"))], [None; 3]);
        assert_eq!(parse("[]", &mut index).unwrap().elements().count(), 0);
        for (source, values) in [(r#"[{"a":[1]},2]"#, &[r#"{"a":[1]}"#, "2"][..]), (r#"{"a":[1]}"#, &[r#"{"a":[1]}"#]), ("[]", &[])] {
            assert_eq!(one_or_many(Some(parse(source, &mut index).unwrap())).map(Value::raw).collect::<Vec<_>>(), values);
        }
        assert_eq!(one_or_many(None).count(), 0);
        assert_eq!(parse("7", &mut index).unwrap().members().count(), 0);
    }

    #[test]
    fn what_is_not_one_value_is_refused() {
        for text in ["", "{", "{} {}", "[1,]", "{\"a\":}", "\"\\x\""] {
            assert!(parse(text, &mut StructuralIndex::default()).is_err(), "{text}");
        }
    }

    #[test]
    fn text_says_what_is_known_of_its_escapes() {
        let mut index = StructuralIndex::default();
        for len in 0..150 {
            let filler = "a".repeat(len);
            let source = format!(r#"["{filler}", "{filler}\n{filler}", "{filler}\u0041"]"#);
            let texts: Vec<Text> = parse(&source, &mut index).unwrap().elements().filter_map(Value::text).collect();
            for text in &texts {
                match text {
                    Text::Unescaped(token) => assert!(!token.contains('\\'), "{token}"),
                    Text::Canonical(token) => assert!(!token.contains("\\u"), "{token}"),
                    _ => {}
                }
            }
            // Far from each other.
            if len >= 128 {
                assert!(matches!(texts[..], [Text::Unescaped(_), Text::Canonical(_), Text::Token(_)]), "{len}");
            }
        }
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<String>().prop_map(Into::into)
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
                proptest::collection::btree_map(any::<String>(), inner, 0..5).prop_map(|map| map.into_iter().collect()),
            ]
        })
    }

    /// String tokens with every kind of escape.
    fn token() -> impl Strategy<Value = String> {
        let pieces = [r"\n", r"\/", r"\u0041", r"\ud83d\ude00", r"\udc00", r"\\", r#"\""#, "a", "é", "twenty plain bytes.."];
        proptest::collection::vec(proptest::sample::select(pieces.to_vec()), 0..12).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
    }

    proptest! {
        #[test]
        fn what_is_known_of_escapes_changes_no_text(tokens in proptest::collection::vec(token(), 0..8)) {
            let source = format!("[{}]", tokens.join(","));
            let mut index = StructuralIndex::default();
            let texts: Vec<Text> = parse(&source, &mut index).unwrap().elements().filter_map(Value::text).collect();
            prop_assert_eq!(texts.len(), tokens.len());
            for (text, token) in texts.into_iter().zip(&tokens) {
                prop_assert_eq!(text.decode(), Text::Token(token).decode());
                let (mut known, mut searched) = (String::new(), String::new());
                push_text(&mut known, text);
                push_text(&mut searched, Text::Token(token));
                prop_assert_eq!(known, searched);
            }
        }

        #[test]
        fn every_part_is_found_whole(values in proptest::collection::vec(json(), 0..6)) {
            let source = serde_json::to_string_pretty(&values).unwrap();
            let mut index = StructuralIndex::default();
            let found: Vec<serde_json::Value> =
                parse(&source, &mut index).unwrap().elements().map(|value| serde_json::from_str(value.raw()).unwrap()).collect();
            prop_assert_eq!(&found, &values);
            for (value, expected) in parse(&source, &mut index).unwrap().elements().zip(&values) {
                if let Some(map) = expected.as_object() {
                    let inner: Vec<serde_json::Value> = value.members().map(|(_, value)| serde_json::from_str(value.raw()).unwrap()).collect();
                    let mut inner_sorted: Vec<String> = inner.iter().map(ToString::to_string).collect();
                    let mut expected: Vec<String> = map.values().map(ToString::to_string).collect();
                    inner_sorted.sort();
                    expected.sort();
                    prop_assert_eq!(inner_sorted, expected);
                }
            }
        }
    }
}
