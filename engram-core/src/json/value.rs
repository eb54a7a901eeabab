//! One JSON value of a record: a slice of the text and of the structural index. Borrowed and `Copy`; nothing is allocated.

use std::hash::{BuildHasher as _, Hasher as _};

use foldhash::quality::FixedState;

use crate::emit::Fault;
use crate::event::Number;
use crate::members::KnownName;
use crate::text::Text;

use super::index::StructuralIndex;
use super::json_type::{JsonType, NULL};
use super::node::Node;

/// A JSON value in the text of its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Value<'a> {
    /// The text of the record that contains it.
    record: &'a str,
    /// The node of this value, then the nodes of its contents, then the nodes of the values after it.
    nodes: &'a [Node],
}

/// A member of an object.
#[derive(Debug, Clone, Copy)]
pub struct Member<'a> {
    object: Value<'a>,
    /// The offset of its node from that of the object.
    offset: u32,
    node: &'a Node,
}

impl<'a> Member<'a> {
    /// The name. Escapes are not decoded.
    pub(super) fn name(self) -> &'a str {
        let record = self.object.record;
        record
            .get(self.node.name_in(record.as_bytes()))
            .unwrap_or_default()
    }

    /// True if it has this name.
    #[inline(always)]
    pub(super) fn has_name(self, name: &KnownName) -> bool {
        name.is_at(self.object.record.as_bytes(), self.node.name as usize + 1)
    }

    /// The JSON types, one bit each: all of them for `null`.
    #[inline(always)]
    pub(super) fn types(self) -> u8 {
        self.node.types()
    }

    /// The value.
    pub(super) fn value(self) -> Value<'a> {
        self.object.at_offset(self.offset)
    }
}

/// A member of an object, or none if it is absent. JSON `null` counts as absent.
pub type Field<'a> = Option<Value<'a>>;

/// Parses a text that is one JSON value.
///
/// # Errors
/// [`Fault::Json`] if `text` is not one JSON value, [`Fault::Limit`] if it contains too many values.
///
/// ```
/// use engram_core::json::{StructuralIndex, Value, parse};
///
/// let mut index = StructuralIndex::default();
/// let record = parse(r#"{"type":"result","exit":1,"lines":["a","b"]}"#, &mut index)?;
/// assert_eq!(record.member("type").map(Value::raw_str), Some("result"));
/// assert_eq!(record.member("exit").and_then(Value::integer), Some(1));
/// assert_eq!(record.member("lines").map_or(0, |lines| lines.elements().count()), 2);
/// # Ok::<(), engram_core::emit::Fault>(())
/// ```
pub fn parse<'a>(text: &'a str, index: &'a mut StructuralIndex) -> Result<Value<'a>, Fault> {
    let (text, nodes) = index.build(text)?;
    Ok(Value::of_nodes(text, nodes))
}

impl<'a> Value<'a> {
    /// No value: neither an object nor anything else.
    pub const MISSING: Value<'static> = Value {
        record: "",
        nodes: &[],
    };

    /// The value of the first of these nodes.
    pub fn of_nodes(record: &'a str, nodes: &'a [Node]) -> Self {
        Value { record, nodes }
    }

    /// The text of its record, and its nodes.
    pub(crate) fn parts(self) -> (&'a str, &'a [Node]) {
        (self.record, self.nodes)
    }

    /// The JSON text, without white space around it. Its strings are in canonical form, so equal strings have equal bytes.
    #[inline(always)]
    pub fn raw(self) -> &'a str {
        raw_of(self.record, self.nodes.first())
    }

    /// The JSON types, one bit each (see [`JsonType`]): all of them for `null`.
    #[inline(always)]
    pub fn types(self) -> u8 {
        self.nodes.first().map_or(0, |node| node.types())
    }

    #[inline(always)]
    fn is(self, json_type: JsonType) -> bool {
        self.nodes.first().is_some_and(|node| node.is(json_type))
    }

    /// The text, if this is a string.
    #[inline(always)]
    pub fn text(self) -> Option<Text<'a>> {
        text_of(self.record, self.nodes.first())
    }

    /// The text, if this is a string that is not empty.
    #[inline(always)]
    pub fn non_empty_text(self) -> Option<Text<'a>> {
        non_empty_text_of(self.record, self.nodes.first())
    }

    /// The JSON value as a text, in canonical form.
    #[inline(always)]
    pub fn json(self) -> Text<'a> {
        Text::Json(self.raw())
    }

    /// The text, if this is a string, and the JSON value as a text otherwise.
    pub fn text_or_json(self) -> Text<'a> {
        self.text().unwrap_or(self.json())
    }

    /// The string contents in canonical form, without quotes. Empty if this is not a string. Only for identifiers.
    #[inline(always)]
    pub fn raw_str(self) -> &'a str {
        raw_str_of(self.record, self.nodes.first())
    }

    /// The number as the source writes it, if this is a number.
    #[inline(always)]
    pub fn number(self) -> Option<Number<'a>> {
        number_of(self.record, self.nodes.first())
    }

    /// The number, if this is an integer that fits `i64`.
    #[inline(always)]
    pub fn integer(self) -> Option<i64> {
        integer_of(self.record, self.nodes.first())
    }

    /// The number, if this is a non-negative integer that fits `u64`.
    #[inline(always)]
    pub fn unsigned(self) -> Option<u64> {
        unsigned_of(self.record, self.nodes.first())
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
        self.types() == NULL
    }

    /// True for an array without elements.
    pub fn is_empty_list(self) -> bool {
        self.is_array() && self.elements().next().is_none()
    }

    /// True for an object without members.
    pub fn is_empty_object(self) -> bool {
        self.is_object() && self.members().next().is_none()
    }

    /// What the value says, as a hash: its type, and the names and values in it, in their order. White space does not count, nor does how a
    /// character is escaped, since the strings of a record are in canonical form. The same in every run.
    pub fn content_hash(self) -> u64 {
        let text = self.record.as_bytes();
        let mut hasher = FixedState::default().build_hasher();
        for (at, node) in self
            .nodes
            .iter()
            .take(self.nodes.first().map_or(0, |node| node.size()))
            .enumerate()
        {
            // An item of an array has no name: its place is white space, or its own first byte.
            let is_named =
                at > 0 && node.name < node.start && text.get(node.name as usize) == Some(&b'"');
            if is_named {
                hasher.write(text.get(node.name_in(text)).unwrap_or_default());
            }
            let is_container = node.is(JsonType::Object) || node.is(JsonType::Array);
            hasher.write_u64(
                u64::from(node.types()) << 32 | u64::from(is_named) << 40 | node.size() as u64,
            );
            if !is_container {
                hasher.write(
                    slice(self.record, Some(node))
                        .unwrap_or_default()
                        .as_bytes(),
                );
            }
        }
        hasher.finish()
    }

    /// The elements, if this is an array.
    pub fn elements(self) -> impl Iterator<Item = Value<'a>> {
        self.children(JsonType::Array)
    }

    /// Names and values, if this is an object. Escapes in names are not decoded.
    pub fn members(self) -> impl Iterator<Item = (&'a str, Value<'a>)> {
        self.member_nodes().filter_map(move |(node, value)| {
            Some((
                self.record.get(node.name_in(self.record.as_bytes()))?,
                value,
            ))
        })
    }

    /// The members, if this is an object.
    #[inline(always)]
    pub(super) fn each_member(self) -> impl Iterator<Item = Member<'a>> {
        self.child_nodes(JsonType::Object)
            .map(move |(offset, node)| Member {
                object: self,
                offset,
                node,
            })
    }

    /// The member after the first `nodes` nodes in this object and `leaves` more. `nodes` becomes the number of nodes up to its end.
    #[inline(always)]
    pub(super) fn member_after(self, nodes: &mut u32, leaves: u32) -> Option<Member<'a>> {
        let offset = *nodes + leaves + 1;
        let node = self.nodes.get(offset as usize)?;
        *nodes = offset + node.size() as u32 - 1;
        Some(Member {
            object: self,
            offset,
            node,
        })
    }

    /// The last member with this name. None if it is absent or `null`.
    pub fn member(self, name: &str) -> Field<'a> {
        self.members_named(name)
            .filter(|value| !value.is_null())
            .last()
    }

    /// The first member with this name. Does not look at the members after it. None if it is absent or `null`.
    pub fn first_member(self, name: &str) -> Field<'a> {
        self.members_named(name)
            .next()
            .filter(|value| !value.is_null())
    }

    /// The members with this name.
    #[inline(always)]
    fn members_named(self, name: &str) -> impl Iterator<Item = Value<'a>> {
        let text = self.record.as_bytes();
        let has_name = move |node: &Node| {
            let start = node.name as usize + 1;
            let end = start + name.len();
            // The closing quote first: most other names differ in length.
            text.get(end) == Some(&b'"') && text.get(start..end) == Some(name.as_bytes())
        };
        self.member_nodes()
            .filter(move |(node, _)| has_name(node))
            .map(|(_, value)| value)
    }

    /// The nodes and values of the members, if this is an object.
    #[inline(always)]
    fn member_nodes(self) -> impl Iterator<Item = (&'a Node, Value<'a>)> {
        self.children(JsonType::Object)
            .filter_map(|value| Some((value.nodes.first()?, value)))
    }

    /// The values directly in this one, if it has this type.
    #[inline(always)]
    fn children(self, json_type: JsonType) -> impl Iterator<Item = Value<'a>> {
        self.child_nodes(json_type)
            .map(move |(offset, _)| self.at_offset(offset))
    }

    /// The nodes of the values directly in this one, if it has this type. Each with its offset from this value's node.
    #[inline(always)]
    pub fn child_nodes(self, json_type: JsonType) -> impl Iterator<Item = (u32, &'a Node)> {
        let (contents, mut at) = (self.contents(json_type), 0);
        std::iter::from_fn(move || {
            let node = contents.get(at)?;
            at += node.size();
            Some(((at - node.size()) as u32 + 1, node))
        })
    }

    /// The nodes of all values in this one, if it has this type.
    #[inline(always)]
    fn contents(self, json_type: JsonType) -> &'a [Node] {
        let [node, ..] = self.nodes else { return &[] };
        if self.is(json_type) {
            self.nodes.get(1..node.size()).unwrap_or_default()
        } else {
            &[]
        }
    }

    /// The value whose node is `offset` nodes after this value's node.
    #[inline(always)]
    pub fn at_offset(self, offset: u32) -> Value<'a> {
        Value {
            record: self.record,
            nodes: self.nodes.get(offset as usize..).unwrap_or_default(),
        }
    }

    /// The offset of this value's node from that of `outer`, which contains it.
    #[inline(always)]
    pub fn offset_in(self, outer: Value<'_>) -> u32 {
        outer.nodes.len().saturating_sub(self.nodes.len()) as u32
    }

    /// The text of the record that contains this value.
    #[inline(always)]
    pub fn record(self) -> &'a str {
        self.record
    }
}

/// The elements of an array, or the one value in its place. Nothing if the field is absent.
pub fn one_or_many(field: Field<'_>) -> impl Iterator<Item = Value<'_>> {
    let list = field.unwrap_or(Value::MISSING);
    let (mut at, end) = if list.is_array() {
        (1, list.nodes.first().map_or(0, |node| node.size()))
    } else {
        (0, 1)
    };
    std::iter::from_fn(move || {
        let value = if at < end {
            list.at_offset(at as u32)
        } else {
            return None;
        };
        at += value.nodes.first()?.size();
        Some(value)
    })
}

// Adapters call these everywhere, so they are not inlined. Their arguments fit registers.

#[inline(never)]
fn raw_of<'a>(record: &'a str, node: Option<&Node>) -> &'a str {
    slice(record, node).unwrap_or_default()
}

#[inline(never)]
fn text_of<'a>(record: &'a str, node: Option<&Node>) -> Option<Text<'a>> {
    let token = slice(record, node.filter(|node| node.is(JsonType::String)))?;
    // The text of a record is in canonical form, unless it has no other escapes.
    Some(if node?.may_have_escapes() {
        Text::Canonical(token)
    } else {
        Text::Unescaped(token)
    })
}

#[inline(never)]
fn non_empty_text_of<'a>(record: &'a str, node: Option<&Node>) -> Option<Text<'a>> {
    if slice(record, node)? == r#""""# {
        None
    } else {
        text_of(record, node)
    }
}

#[inline(never)]
fn raw_str_of<'a>(record: &'a str, node: Option<&Node>) -> &'a str {
    let contents =
        |node: &Node| record.get(node.start as usize + 1..(node.end as usize).saturating_sub(1));
    node.filter(|node| node.is(JsonType::String))
        .and_then(contents)
        .unwrap_or_default()
}

#[inline(never)]
fn number_of<'a>(record: &'a str, node: Option<&Node>) -> Option<Number<'a>> {
    Number::of_str(slice(record, node)?)
}

#[inline(never)]
fn unsigned_of(record: &str, node: Option<&Node>) -> Option<u64> {
    let number = slice(record, node)?;
    short_integer(number).or_else(|| number.parse().ok())
}

#[inline(never)]
fn integer_of(record: &str, node: Option<&Node>) -> Option<i64> {
    let number = slice(record, node)?;
    short_integer(number)
        .map(|integer| integer as i64)
        .or_else(|| number.parse().ok())
}

/// The value of a few digits. Most numbers are like that.
#[inline(always)]
fn short_integer(number: &str) -> Option<u64> {
    /// A number with this many digits fits `i64`.
    const DIGITS: usize = 18;
    if number.len() > DIGITS {
        return None;
    }
    number.bytes().try_fold(0, |value, byte| {
        byte.is_ascii_digit()
            .then(|| value * 10 + u64::from(byte - b'0'))
    })
}

#[inline(always)]
fn slice<'a>(record: &'a str, node: Option<&Node>) -> Option<&'a str> {
    node.and_then(|node| record.get(node.start as usize..node.end as usize))
}

#[cfg(test)]
mod tests {
    use crate::text::push_text;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_hash_of_the_content_is_that_of_names_and_values() {
        let hash = |json: &str| {
            let mut index = StructuralIndex::default();
            parse(&format!(r#"{{"of":{json}}}"#), &mut index)
                .unwrap()
                .member("of")
                .map(Value::content_hash)
        };
        let known = r#"{"a":["x","y",{"b":1}],"c":"d"}"#;
        assert_eq!(
            hash(known),
            hash(" { \"a\" : [ \"\\u0078\", \"y\" , {\"b\" : 1 } ] ,\n\"c\":\"d\" } ")
        );
        for other in [
            r#"{"a":["x","y",{"b":1}],"c":"e"}"#,
            r#"{"a":["x","y",{"b":2}],"c":"d"}"#,
            r#"{"a":["x","y",{"b":"1"}],"c":"d"}"#,
            r#"{"a":["x","y",{"e":1}],"c":"d"}"#,
            r#"{"a":["x","y"],"b":1,"c":"d"}"#,
            r#"{"a":["xy",{"b":1}],"c":"d"}"#,
            r#"{"a":["y","x",{"b":1}],"c":"d"}"#,
            r#"{"c":"d","a":["x","y",{"b":1}]}"#,
            r#"{"a":["x","y",["b",1]],"c":"d"}"#,
        ] {
            assert_ne!(hash(known), hash(other), "{other}");
        }
        assert_ne!(hash("[]"), hash("{}"));
        assert_ne!(hash("[[],[]]"), hash("[[[]]]"));
    }

    #[test]
    fn members_and_elements_are_found() {
        let mut index = StructuralIndex::default();
        let value = parse(
            r#" { "a" : [1, {"x":"}\""}] ,"b":"\\","c":null,"a":true } "#,
            &mut index,
        )
        .unwrap();
        let members: Vec<_> = value
            .members()
            .map(|(name, value)| (name, value.raw()))
            .collect();
        assert_eq!(
            members,
            [
                ("a", r#"[1, {"x":"}\""}]"#),
                ("b", r#""\\""#),
                ("c", "null"),
                ("a", "true")
            ]
        );
        assert_eq!(value.member("a").map(Value::raw), Some("true"));
        assert_eq!(value.member("c"), None);
        assert_eq!(
            value.first_member("a").map(Value::raw),
            Some(r#"[1, {"x":"}\""}]"#)
        );
        assert_eq!(
            [
                value.first_member("c"),
                value.first_member("d"),
                value
                    .first_member("b")
                    .and_then(|text| text.first_member("a"))
            ],
            [None; 3]
        );
        assert_eq!(parse("[]", &mut index).unwrap().elements().count(), 0);
        for (source, values) in [
            (r#"[{"a":[1]},2]"#, &[r#"{"a":[1]}"#, "2"][..]),
            (r#"{"a":[1]}"#, &[r#"{"a":[1]}"#]),
            ("[]", &[]),
        ] {
            assert_eq!(
                one_or_many(Some(parse(source, &mut index).unwrap()))
                    .map(Value::raw)
                    .collect::<Vec<_>>(),
                values
            );
        }
        assert_eq!(one_or_many(None).count(), 0);
        assert_eq!(parse("7", &mut index).unwrap().members().count(), 0);
    }

    #[test]
    fn text_that_is_not_one_json_value_is_an_error() {
        for text in ["", "{", "{} {}", "[1,]", "{\"a\":}", "\"\\x\""] {
            assert!(
                parse(text, &mut StructuralIndex::default()).is_err(),
                "{text}"
            );
        }
    }

    #[test]
    fn text_variant_states_the_escapes() {
        let mut index = StructuralIndex::default();
        for len in 0..150 {
            let filler = "a".repeat(len);
            let source = format!(r#"["{filler}", "{filler}\n{filler}", "{filler}\u0041"]"#);
            let texts: Vec<Text> = parse(&source, &mut index)
                .unwrap()
                .elements()
                .filter_map(Value::text)
                .collect();
            for text in &texts {
                match text {
                    Text::Unescaped(token) => assert!(!token.contains('\\'), "{token}"),
                    Text::Canonical(token) => assert!(!token.contains("\\u"), "{token}"),
                    _ => unreachable!("{text:?}"),
                }
            }
            // The strings share no block.
            if len >= 128 {
                assert!(
                    matches!(
                        texts[..],
                        [Text::Unescaped(_), Text::Canonical(_), Text::Unescaped(_)]
                    ),
                    "{len}"
                );
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
                proptest::collection::btree_map(any::<String>(), inner, 0..5)
                    .prop_map(|map| map.into_iter().collect()),
            ]
        })
    }

    /// String tokens with every kind of escape.
    fn token() -> impl Strategy<Value = String> {
        let pieces = [
            r"\n",
            r"\/",
            r"\u0041",
            r"\ud83d\ude00",
            r"\udc00",
            r"\\",
            r#"\""#,
            "a",
            "é",
            "twenty plain bytes..",
        ];
        proptest::collection::vec(proptest::sample::select(pieces.to_vec()), 0..12)
            .prop_map(|pieces| format!("\"{}\"", pieces.concat()))
    }

    /// The text of the record of `text`.
    fn record(text: &str) -> String {
        parse(text, &mut StructuralIndex::default())
            .unwrap()
            .raw()
            .to_owned()
    }

    #[test]
    fn strings_and_names_of_a_record_are_in_canonical_form() {
        let long = "a text of more than sixty-four bytes, so that the blocks of this string are not those of others";
        for (source, canonical) in [
            (
                r#"{"c\u006fntent":[{"te\u0078t" : "\u0041"},"\u0042"]}"#,
                r#"{"content":[{"text":"A"},"B"]}"#,
            ),
            (r#"{"a\/b":{"c\"\\\n":1}}"#, r#"{"a/b":{"c\"\\\n":1}}"#),
            (
                r#""\u003cb\u003E \u0022\u000A\u001B\ud83D\uDE00""#,
                "\"<b> \\\"\\n\\u001b😀\"",
            ),
            (r#"["\uD800",{"a":1}]"#, r#"["\ud800",{"a":1}]"#),
            (
                &format!(r#"["{long}\u0041","{long}"]"#),
                &format!(r#"["{long}A","{long}"]"#),
            ),
        ] {
            assert_eq!(record(source), canonical);
        }
        for same in [
            r#"{"\ud800":1}"#,
            r#"["\ud800",{"a":1}]"#,
            r#"{"\u0007" : "a\nb\"\\\u001b" }"#,
        ] {
            assert_eq!(record(same), same);
        }
    }

    proptest! {
        #[test]
        fn every_spelling_of_a_record_gives_the_same_text(strings in prop::collection::vec("[a-c\"\\\\/\n\u{7}\u{e9}\u{1f600}]{0,4}", 2..6), pad in 0usize..120) {
            let pad = "a".repeat(pad);
            let escaped = |string: &str| string.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect::<String>();
            let nest = |inner: String, string: String| format!(r#"{{{string}:{inner},"pad":"\u0041{pad}","x":{string}}}"#);
            let text = strings.iter().map(|string| format!("\"{}\"", escaped(string))).fold("1".to_owned(), nest);
            let expected = strings.iter().map(|string| serde_json::to_string(string).unwrap()).fold("1".to_owned(), nest);
            prop_assert_eq!(record(&text), expected.replace("\\u0041", "A"));
        }

        #[test]
        fn escape_kinds_do_not_change_the_decoded_text(tokens in proptest::collection::vec(token(), 0..8)) {
            let source = format!("[{}]", tokens.join(","));
            let mut index = StructuralIndex::default();
            let texts: Vec<Text> = parse(&source, &mut index).unwrap().elements().filter_map(Value::text).collect();
            prop_assert_eq!(texts.len(), tokens.len());
            for (text, token) in texts.into_iter().zip(&tokens) {
                prop_assert_eq!(text.decode(), Text::Token(token).decode());
                let (mut with_kinds, mut without_kinds) = (String::new(), String::new());
                push_text(&mut with_kinds, text);
                push_text(&mut without_kinds, Text::Token(token));
                prop_assert_eq!(with_kinds, without_kinds);
            }
        }

        #[test]
        fn values_equal_those_of_serde_json(values in proptest::collection::vec(json(), 0..6)) {
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
