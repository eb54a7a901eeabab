//! The values of a line of a tape, found in the index of the line, and read by their types.
//!
//! The index is made again for each line. What is read here borrows from the line only.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};

use super::error::InvalidEvent;
use crate::event::{Number, Range};
use crate::hash::Hash;
use crate::json::{JsonType, Node, StructuralIndex};
use crate::text::Text;

/// A JSON value of a line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Value<'t, 'n> {
    line: &'t str,
    /// Its own node.
    node: &'n Node,
    /// The nodes of the values in it.
    inner: &'n [Node],
    /// True if the line has no escapes.
    is_plain: bool,
}

/// An object of a line. No name of a member has escapes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Object<'t, 'n> {
    line: &'t str,
    /// The nodes of the values in it.
    inner: &'n [Node],
    /// True if the line has no escapes.
    is_plain: bool,
}

/// A member that an object may have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member<'t, 'n> {
    pub name: &'static str,
    pub value: Option<Value<'t, 'n>>,
}

impl<'t, 'n> Value<'t, 'n> {
    /// The outermost values of these nodes.
    fn each(line: &'t str, nodes: &'n [Node], is_plain: bool) -> impl Iterator<Item = Self> {
        let mut rest = nodes;
        std::iter::from_fn(move || {
            let (node, after) = rest.split_first()?;
            let (inner, after) = after.split_at_checked(node.size().saturating_sub(1))?;
            rest = after;
            Some(Value {
                line,
                node,
                inner,
                is_plain,
            })
        })
    }

    /// The JSON text.
    pub fn raw(self) -> &'t str {
        let range = self.node.start as usize..self.node.end as usize;
        self.line.get(range).unwrap_or_default()
    }

    /// The text, if this is a string.
    pub fn text(self) -> Option<Text<'t>> {
        let token = self.raw();
        if !self.node.is(JsonType::String) {
            return None;
        }
        Some(if !self.node.may_have_escapes() {
            Text::Unescaped(token)
        } else if self.node.has_canonical_escapes() {
            Text::Canonical(token)
        } else {
            Text::Token(token)
        })
    }

    /// The text, if this is a string without escapes. All names that the format defines are.
    pub fn word(self) -> Option<&'t str> {
        match self.text()? {
            Text::Unescaped(token) => token.get(1..token.len() - 1),
            text => word(text.raw()),
        }
    }

    /// The number, if this is an integer of 0 or more.
    pub fn count(self) -> Option<u64> {
        self.raw().parse().ok()
    }

    /// The object, if this is an object whose names have no escapes.
    pub fn object(self) -> Option<Object<'t, 'n>> {
        let object = Object {
            line: self.line,
            inner: self.inner,
            is_plain: self.is_plain,
        };
        let has_plain_names = || object.is_plain || object.values().all(Value::has_plain_name);
        (self.node.is(JsonType::Object) && has_plain_names()).then_some(object)
    }

    /// True if the name of this member has no escapes.
    fn has_plain_name(self) -> bool {
        let name = self.line.as_bytes().get(self.node.name as usize + 1..);
        let is_end = |byte: &&u8| matches!(**byte, b'"' | b'\\');
        name.unwrap_or_default().iter().find(is_end) == Some(&b'"')
    }

    /// True if this member has this name.
    #[inline(always)]
    fn has_name(self, name: &str) -> bool {
        let text = self.line.as_bytes();
        let start = self.node.name as usize + 1;
        let end = start + name.len();
        // The closing quote first: most other names differ in length.
        text.get(end) == Some(&b'"') && text.get(start..end) == Some(name.as_bytes())
    }

    /// The lines, if this is a range.
    pub fn range(self) -> Option<Range> {
        let mut lines = self.items()?.map(Value::count);
        let (first, last) = (lines.next()??, lines.next()??);
        lines.next().is_none().then_some(Range { first, last })
    }

    /// The items, if this is an array.
    pub fn items(self) -> Option<impl Iterator<Item = Value<'t, 'n>>> {
        self.node
            .is(JsonType::Array)
            .then(|| Value::each(self.line, self.inner, self.is_plain))
    }
}

impl<'t, 'n> Object<'t, 'n> {
    /// The object that is this line, or another text that is JSON.
    ///
    /// # Errors
    /// If the line is not one JSON object, has too many values, or a name in the object has escapes.
    pub fn of_line(
        line: &'t str,
        index: &'n mut StructuralIndex,
    ) -> Result<Self, serde_json::Error> {
        let (nodes, has_escapes) = index.nodes_as_written(line).unwrap_or_default();
        Value::each(line, nodes, !has_escapes)
            .next()
            .and_then(Value::object)
            .ok_or_else(|| why_no_object(line))
    }

    fn values(self) -> impl Iterator<Item = Value<'t, 'n>> {
        Value::each(self.line, self.inner, self.is_plain)
    }

    /// Names and values, in their order.
    pub fn members(self) -> impl Iterator<Item = (&'t str, Value<'t, 'n>)> {
        let line = self.line;
        self.values().map(move |value| {
            let name = line.get(value.node.name_in(line.as_bytes()));
            (name.unwrap_or_default(), value)
        })
    }

    /// The value of the first member with this name.
    pub fn get(self, name: &str) -> Option<Value<'t, 'n>> {
        self.values().find(|value| value.has_name(name))
    }

    /// The value of a member, if it is a string.
    pub fn text(self, name: &str) -> Option<Text<'t>> {
        self.get(name)?.text()
    }

    /// The value of a member, if it is a string without escapes.
    pub fn word(self, name: &str) -> Option<&'t str> {
        self.get(name)?.word()
    }

    /// The value of a member, if it is an integer of 0 or more.
    pub fn count(self, name: &str) -> Option<u64> {
        self.get(name)?.count()
    }

    /// The value of a member, if it is an object.
    pub fn object(self, name: &str) -> Option<Object<'t, 'n>> {
        self.get(name)?.object()
    }

    /// The member with this name, to be read by its type.
    pub fn member(self, name: &'static str) -> Member<'t, 'n> {
        Member {
            name,
            value: self.get(name),
        }
    }

    /// The members with these names.
    pub fn find<const N: usize>(self, name: impl Fn(usize) -> &'static str) -> [Member<'t, 'n>; N] {
        self.find_first(name).0
    }

    /// As [`Object::find`], with the object from its first other member on: what is left to be found.
    pub fn find_first<const N: usize>(
        self,
        name: impl Fn(usize) -> &'static str,
    ) -> ([Member<'t, 'n>; N], Self) {
        let mut found = std::array::from_fn(|n| Member {
            name: name(n),
            value: None,
        });
        let others = self.fill(&mut found);
        let inner = self.inner.get(others..).unwrap_or_default();
        (found, Object { inner, ..self })
    }

    /// Fills in the values of members. The next one is looked for first, since a tape has its members in the order of their list. Returns
    /// the number of nodes before the first member that is not wanted.
    #[inline(never)]
    fn fill(self, wanted: &mut [Member<'t, 'n>]) -> usize {
        // All before `open` have their values.
        let (mut open, mut next) = (0, 0);
        let (mut nodes, mut others) = (0, None);
        for value in self.values() {
            let is_it = |member: &Member<'_, '_>| value.has_name(member.name);
            let later = wanted[next..].iter().position(is_it).map(|at| next + at);
            let earlier = || {
                wanted[open..next]
                    .iter()
                    .position(is_it)
                    .map(|at| open + at)
            };
            if let Some(at) = later.or_else(earlier) {
                wanted[at].value.get_or_insert(value);
                next = at + 1;
                while open < next && wanted[open].value.is_some() {
                    open += 1;
                }
            } else {
                others.get_or_insert(nodes);
            }
            nodes += 1 + value.inner.len();
        }
        others.unwrap_or(nodes)
    }
}

impl<'t, 'n> Member<'t, 'n> {
    /// The value, read by `parse`; `None` if it is absent.
    pub fn parsed<T>(
        self,
        expected: &str,
        parse: impl FnOnce(Value<'t, 'n>) -> Option<T>,
    ) -> Result<Option<T>, InvalidEvent> {
        let Some(value) = self.value else {
            return Ok(None);
        };
        match parse(value) {
            Some(read) => Ok(Some(read)),
            None => Err(self.is_not(expected)),
        }
    }

    pub fn required<T>(
        self,
        expected: &str,
        parse: impl FnOnce(Value<'t, 'n>) -> Option<T>,
    ) -> Result<T, InvalidEvent> {
        self.parsed(expected, parse)?
            .ok_or_else(|| self.is_missing())
    }

    #[cold]
    fn is_not(self, expected: &str) -> InvalidEvent {
        InvalidEvent::new(format!("`{}` is not {expected}", self.name))
    }

    #[cold]
    fn is_missing(self) -> InvalidEvent {
        InvalidEvent::new(format!("`{}` is missing", self.name))
    }

    /// The JSON text.
    pub fn json(self) -> Option<&'t str> {
        self.value.map(Value::raw)
    }

    pub fn text(self) -> Result<Option<Text<'t>>, InvalidEvent> {
        self.parsed("a string", Value::text)
    }

    pub fn span_text(self) -> Result<Option<Cow<'t, str>>, InvalidEvent> {
        self.parsed("a string without half surrogate pairs", |value| {
            value.text()?.decode().ok()
        })
    }

    pub fn required_text(self) -> Result<Text<'t>, InvalidEvent> {
        self.required("a string", Value::text)
    }

    pub fn maybe_word(self) -> Result<Option<&'t str>, InvalidEvent> {
        self.parsed("a string without escapes", Value::word)
    }

    pub fn word(self) -> Result<&'t str, InvalidEvent> {
        self.required("a string without escapes", Value::word)
    }

    /// The variant with this name; `all` lists all variants.
    pub fn maybe_one_of<T: Copy>(
        self,
        all: &[T],
        name: fn(T) -> &'static str,
    ) -> Result<Option<T>, InvalidEvent> {
        self.parsed("a known name", |value| {
            let word = value.word()?;
            all.iter().copied().find(|variant| word == name(*variant))
        })
    }

    pub fn one_of<T: Copy>(
        self,
        all: &[T],
        name: fn(T) -> &'static str,
    ) -> Result<T, InvalidEvent> {
        self.maybe_one_of(all, name)?
            .ok_or_else(|| self.is_missing())
    }

    pub fn maybe_bool(self) -> Result<Option<bool>, InvalidEvent> {
        self.parsed("a boolean", |value| value.raw().parse().ok())
    }

    pub fn flag(self) -> Result<bool, InvalidEvent> {
        Ok(self.maybe_bool()?.unwrap_or_default())
    }

    pub fn count(self) -> Result<Option<u64>, InvalidEvent> {
        self.parsed("a count", Value::count)
    }

    pub fn required_count(self) -> Result<u64, InvalidEvent> {
        self.required("a count", Value::count)
    }

    pub fn number(self) -> Result<Option<Number<'t>>, InvalidEvent> {
        self.parsed("a number", |value| Number::of_str(value.raw()))
    }

    pub fn hash(self) -> Result<Option<Hash>, InvalidEvent> {
        self.parsed("a hash", |value| Hash::of_json(value.raw()))
    }

    pub fn range(self) -> Result<Option<Range>, InvalidEvent> {
        self.parsed("a range", Value::range)
    }

    pub fn anchors(self) -> Result<Vec<u64>, InvalidEvent> {
        let anchor = |hex: Value<'_, '_>| u64::from_str_radix(hex.word()?, 16).ok();
        let anchors = self.parsed("a list of fingerprints", |value| {
            value.items()?.map(anchor).collect()
        });
        Ok(anchors?.unwrap_or_default())
    }

    pub fn maybe_object(self) -> Result<Option<Object<'t, 'n>>, InvalidEvent> {
        self.parsed("an object", Value::object)
    }

    pub fn object(self) -> Result<Object<'t, 'n>, InvalidEvent> {
        self.required("an object", Value::object)
    }

    pub fn objects(self) -> Result<Vec<Object<'t, 'n>>, InvalidEvent> {
        let objects = self.parsed("a list of objects", |value| {
            value.items()?.map(Value::object).collect()
        });
        Ok(objects?.unwrap_or_default())
    }
}

/// The string in a JSON text, if it is a string without escapes.
pub(crate) fn word(raw: &str) -> Option<&str> {
    raw.strip_prefix('"')?
        .strip_suffix('"')
        .filter(|word| !word.contains('\\'))
}

/// Why a line is not an object of a tape.
#[cold]
fn why_no_object(line: &str) -> serde_json::Error {
    serde_json::from_str::<IgnoredAny>(line)
        .err()
        .or_else(|| serde_json::from_str::<PlainNames>(line).err())
        .unwrap_or_else(|| serde_json::Error::custom("too many values"))
}

/// An object whose names have no escapes.
struct PlainNames;

impl<'de> Deserialize<'de> for PlainNames {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PlainNames)
    }
}

impl<'de> Visitor<'de> for PlainNames {
    type Value = PlainNames;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PlainNames, A::Error> {
        while map
            .next_key::<&'de str>()
            .map_err(|_| A::Error::custom("expected a key without escapes"))?
            .is_some()
        {
            map.next_value::<IgnoredAny>()?;
        }
        Ok(PlainNames)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a line is read as, or why it is no object.
    fn read<T>(line: &str, read: impl FnOnce(Object<'_, '_>) -> T) -> Result<T, String> {
        Object::of_line(line, &mut StructuralIndex::of_tapes())
            .map(read)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn only_an_object_with_plain_names_is_read() {
        let members = |object: Object<'_, '_>| {
            let members = object.members();
            members
                .map(|(name, value)| format!("{name}={}", value.raw()))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            read(r#" {"a" : {"b":[1]}, "c":"\u0041","a":null} "#, members).unwrap(),
            [r#"a={"b":[1]}"#, r#"c="\u0041""#, "a=null"]
        );
        for (line, why) in [
            (
                "[1]",
                "invalid type: sequence, expected an object at line 1 column 0",
            ),
            (
                r#"{"a":1"#,
                "EOF while parsing an object at line 1 column 6",
            ),
            (r#"{"a":1}x"#, "trailing characters at line 1 column 8"),
            (
                r#"{"\u0061":1}"#,
                "expected a key without escapes at line 1 column 9",
            ),
        ] {
            assert_eq!(read(line, members), Err(why.to_owned()));
        }
    }

    #[test]
    fn members_are_found_in_any_order_and_the_first_of_a_name_counts() {
        let found = read(r#"{"c":3,"a":1,"x":0,"b":null,"a":2}"#, |object| {
            object
                .find::<4>(|n| ["a", "b", "c", "d"][n])
                .map(|member| member.json().map(str::to_owned))
        });
        let expected = [Some("1"), Some("null"), Some("3"), None];
        assert_eq!(found.unwrap(), expected.map(|json| json.map(str::to_owned)));
    }

    #[test]
    fn values_of_another_type_are_named() {
        let line = r#"{"text":1,"word":"a\n","count":-1,"flag":"true","range":[1,2,3],"anchors":["+f",1],"objects":[{}, 1],"hash":"blake3:0"}"#;
        let faults = read(line, |of| {
            [
                of.member("text").text().err(),
                of.member("word").word().err(),
                of.member("count").count().err(),
                of.member("flag").flag().err(),
                of.member("range").range().err(),
                of.member("anchors").anchors().err(),
                of.member("objects").objects().err(),
                of.member("hash").hash().err(),
                of.member("absent").required_text().err(),
            ]
            .map(|fault| fault.map_or(String::new(), |fault| fault.to_string()))
        });
        let expected = [
            "`text` is not a string",
            "`word` is not a string without escapes",
            "`count` is not a count",
            "`flag` is not a boolean",
            "`range` is not a range",
            "`anchors` is not a list of fingerprints",
            "`objects` is not a list of objects",
            "`hash` is not a hash",
            "`absent` is missing",
        ];
        assert_eq!(faults.unwrap(), expected);
    }

    #[test]
    fn escapes_decide_how_a_text_is_kept() {
        let long = "a".repeat(64);
        for (token, expected) in [
            ("plain", "Unescaped"),
            (r"a\nb", "Canonical"),
            (r"\u0041", "Token"),
            (r"\ud800", "Token"),
        ] {
            let line = format!(r#"{{"pad":"{long}","x":"{token}","end":"{long}"}}"#);
            let kept = read(&line, |of| {
                format!("{:?}", of.member("x").text().unwrap().unwrap())
            });
            assert!(kept.unwrap().starts_with(expected), "{token}");
        }
    }
}
