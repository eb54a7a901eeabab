//! Reading a struct from JSON text in one pass, with borrowed strings and raw values.

use std::fmt::Display;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{self, Deserialize, DeserializeSeed, Visitor};

use super::scan::{Declined, Scanner};

/// Objects and arrays that are read into types may nest this deep; deeper ones are left to `serde_json`.
const MAX_DEPTH: u8 = 64;

/// The name by which `serde_json::value::RawValue` asks for raw text.
const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// Reads one JSON value as `T`.
///
/// The fast path declines whatever is unusual, and `serde_json` then decides: the outcome is always the one that
/// `serde_json` alone would have.
///
/// # Errors
/// Those of [`serde_json::from_str`].
pub fn parse<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T, serde_json::Error> {
    fast(text).map_or_else(|Declined| serde_json::from_str(text), Ok)
}

fn fast<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T, Declined> {
    let mut reader = Reader { scanner: Scanner::new(text), depth: 0 };
    let value = T::deserialize(&mut reader)?;
    if reader.scanner.at_end() { Ok(value) } else { Err(Declined) }
}

impl Display for Declined {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("declined")
    }
}

impl std::error::Error for Declined {}

impl de::Error for Declined {
    fn custom<T: Display>(_: T) -> Self {
        Declined
    }
}

struct Reader<'t> {
    scanner: Scanner<'t>,
    depth: u8,
}

impl<'t> Reader<'t> {
    fn string<V: Visitor<'t>>(&mut self, visitor: V) -> Result<V::Value, Declined> {
        let (token, has_escapes) = self.scanner.string()?;
        if has_escapes {
            let decoded: String = serde_json::from_str(token).map_err(|_| Declined)?;
            return visitor.visit_string(decoded);
        }
        visitor.visit_borrowed_str(&token[1..token.len() - 1])
    }

    #[inline(always)]
    fn object<V: Visitor<'t>>(&mut self, visitor: V) -> Result<V::Value, Declined> {
        self.descend()?;
        let value = visitor.visit_map(Members { reader: self, first: true })?;
        self.depth -= 1;
        self.scanner.expect(b'}')?;
        Ok(value)
    }

    #[inline(always)]
    fn array<V: Visitor<'t>>(&mut self, visitor: V) -> Result<V::Value, Declined> {
        self.descend()?;
        let value = visitor.visit_seq(Members { reader: self, first: true })?;
        self.depth -= 1;
        self.scanner.expect(b']')?;
        Ok(value)
    }

    fn descend(&mut self) -> Result<(), Declined> {
        self.scanner.take();
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(Declined) } else { Ok(()) }
    }

    fn number<V: Visitor<'t>>(&mut self, visitor: V) -> Result<V::Value, Declined> {
        let text = self.scanner.value()?;
        match (text.parse::<u64>(), text.parse::<i64>()) {
            (Ok(number), _) if !text.starts_with('-') => visitor.visit_u64(number),
            (_, Ok(number)) if number != 0 => visitor.visit_i64(number),
            _ => Err(Declined),
        }
    }
}

impl<'t> de::Deserializer<'t> for &mut Reader<'t> {
    type Error = Declined;

    fn deserialize_any<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Declined> {
        match self.scanner.peek()? {
            b'"' => self.string(visitor),
            b'{' => self.object(visitor),
            b'[' => self.array(visitor),
            b't' => self.scanner.scalar(b't').and_then(|()| visitor.visit_bool(true)),
            b'f' => self.scanner.scalar(b'f').and_then(|()| visitor.visit_bool(false)),
            b'n' => self.scanner.scalar(b'n').and_then(|()| visitor.visit_unit()),
            _ => self.number(visitor),
        }
    }

    #[inline(always)]
    fn deserialize_option<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Declined> {
        if self.scanner.peek()? == b'n' {
            self.scanner.scalar(b'n')?;
            return visitor.visit_none();
        }
        visitor.visit_some(self)
    }

    #[inline(always)]
    fn deserialize_newtype_struct<V: Visitor<'t>>(self, name: &'static str, visitor: V) -> Result<V::Value, Declined> {
        if name == RAW_VALUE {
            let raw = self.scanner.value()?;
            return visitor.visit_map(RawText { raw: Some(raw) });
        }
        visitor.visit_newtype_struct(self)
    }

    #[inline(always)]
    fn deserialize_ignored_any<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Declined> {
        self.scanner.value()?;
        visitor.visit_unit()
    }

    #[inline(always)]
    fn deserialize_struct<V: Visitor<'t>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Declined> {
        if self.scanner.peek()? == b'{' { self.object(visitor) } else { self.deserialize_any(visitor) }
    }

    // Enums are left to `serde_json`: their visitor declines what `deserialize_any` gives.
    serde::forward_to_deserialize_any! {
        <W: Visitor<'t>>
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map enum identifier
    }
}

/// The members of an object or array.
struct Members<'r, 't> {
    reader: &'r mut Reader<'t>,
    first: bool,
}

impl Members<'_, '_> {
    /// Takes the comma before a member. False at the closing bracket.
    #[inline(always)]
    fn next(&mut self, close: u8) -> Result<bool, Declined> {
        let byte = self.reader.scanner.peek()?;
        if byte == close {
            return Ok(false);
        }
        if !std::mem::take(&mut self.first) {
            self.reader.scanner.expect(b',')?;
        }
        Ok(true)
    }
}

impl<'t> de::MapAccess<'t> for Members<'_, 't> {
    type Error = Declined;

    #[inline(always)]
    fn next_key_seed<K: DeserializeSeed<'t>>(&mut self, seed: K) -> Result<Option<K::Value>, Declined> {
        if !self.next(b'}')? {
            return Ok(None);
        }
        let (token, has_escapes) = self.reader.scanner.string()?;
        if has_escapes {
            return Err(Declined);
        }
        seed.deserialize(BorrowedStrDeserializer::new(&token[1..token.len() - 1])).map(Some)
    }

    #[inline(always)]
    fn next_value_seed<S: DeserializeSeed<'t>>(&mut self, seed: S) -> Result<S::Value, Declined> {
        self.reader.scanner.expect(b':')?;
        seed.deserialize(&mut *self.reader)
    }
}

impl<'t> de::SeqAccess<'t> for Members<'_, 't> {
    type Error = Declined;

    #[inline(always)]
    fn next_element_seed<S: DeserializeSeed<'t>>(&mut self, seed: S) -> Result<Option<S::Value>, Declined> {
        if !self.next(b']')? {
            return Ok(None);
        }
        seed.deserialize(&mut *self.reader).map(Some)
    }
}

/// A raw value in the form in which `RawValue` takes it: a map with one entry.
struct RawText<'t> {
    raw: Option<&'t str>,
}

impl<'t> de::MapAccess<'t> for RawText<'t> {
    type Error = Declined;

    fn next_key_seed<K: DeserializeSeed<'t>>(&mut self, seed: K) -> Result<Option<K::Value>, Declined> {
        self.raw.map(|_| seed.deserialize(BorrowedStrDeserializer::new(RAW_VALUE))).transpose()
    }

    fn next_value_seed<S: DeserializeSeed<'t>>(&mut self, seed: S) -> Result<S::Value, Declined> {
        seed.deserialize(BorrowedStrDeserializer::new(self.raw.take().ok_or(Declined)?))
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use proptest::prelude::*;
    use serde_json::value::RawValue;

    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[expect(dead_code, reason = "compared through Debug")]
    struct Sample<'a> {
        #[serde(borrow)]
        name: Option<Cow<'a, str>>,
        #[serde(borrow)]
        raw: Option<&'a RawValue>,
        #[serde(borrow)]
        inner: Option<Box<Sample<'a>>>,
        #[serde(borrow, default)]
        list: Vec<Sample<'a>>,
        number: Option<i64>,
        flag: Option<bool>,
    }

    /// The fast path gives what `serde_json` gives, or declines.
    fn agree(text: &str) -> bool {
        let judged = serde_json::from_str::<Sample<'_>>(text);
        match fast::<Sample<'_>>(text) {
            Ok(value) => {
                assert_eq!(format!("{value:?}"), format!("{:?}", judged.expect("the fast path accepts only what serde_json accepts")));
                true
            }
            Err(Declined) => false,
        }
    }

    #[test]
    fn ordinary_records_take_the_fast_path() {
        for text in [
            r#"{"name":"a","raw":{"x":[1,2.5e3,"y\n"]},"number":-3,"flag":true}"#,
            r#" { "inner" : { "name" : "a\u00e9\"" } , "list" : [ {} , {"raw":null} ] , "other" : [[[{"a":{}}]]] } "#,
            "{\n  \"name\": \"pretty\",\n  \"unknown\": [\n    1,\n    false\n  ]\n}",
            r#"{"raw":"\ud800 stands raw"}"#,
        ] {
            assert!(agree(text), "{text}");
        }
    }

    #[test]
    fn what_is_not_json_is_declined() {
        for text in [
            "",
            "{",
            "{}x",
            "{\"name\":}",
            "{\"name\":\"a\" \"raw\":1}",
            "{\"raw\":01}",
            "{\"raw\":1.}",
            "{\"raw\":-}",
            "{\"raw\":\"a\tb\"}",
            "{\"raw\":\"\\x\"}",
            "{\"raw\":\"\\u12g4\"}",
            "{\"raw\":[1,]}",
            "{\"raw\":{\"a\":1,}}",
            "{\"raw\":[}",
            "{\"raw\":tru}",
            "{\"raw\":+1}",
            "{\"name\":\"a\",\"name\":\"b\"}",
            "{\"name\":1}",
            "{,}",
            "{\"raw\":1e}",
            "{\"raw\":nul",
            "{\"raw\":\"",
        ] {
            assert!(!agree(text), "{text}");
            assert!(parse::<Sample<'_>>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn deep_values_are_skipped_without_recursion() {
        let deep = format!("{{\"other\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(agree(&deep));
        let mixed = format!("{{\"other\":{}1{}}}", "[{\"a\":".repeat(500), "}]".repeat(500));
        assert!(agree(&mixed));
    }

    proptest! {
        #[test]
        fn any_text_is_judged_alike(text in r#"[{}\[\],:"\\ntrue0-9.eE+ \n]{0,60}"#) {
            agree(&text);
            agree(&format!("{{\"raw\":{text}}}"));
        }

        #[test]
        fn strings_of_any_kind_are_found_whole(name in any::<String>(), other in ".{0,80}", cut in 0usize..200) {
            let text = serde_json::json!({"name": name, "x": [other, {"k\n": name}], "raw": other}).to_string();
            agree(&text);
            let cut = (0..=cut.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            agree(&text[..cut]);
        }
    }
}
