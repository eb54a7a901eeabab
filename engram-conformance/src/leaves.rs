//! Counts the leaf values of JSON (strings, numbers, booleans) with an ordinary parser, independently of the audit.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::tape::without_lone_surrogates;

/// The number of leaf values in a source of JSON values. `None` if it is not only JSON.
pub fn count(source: &[u8]) -> Option<u64> {
    let text = str::from_utf8(source).ok()?.trim_start_matches('\u{feff}');
    values(text).or_else(|| values(&without_lone_surrogates(text)?))
}

fn values(text: &str) -> Option<u64> {
    let values = serde_json::Deserializer::from_str(text).into_iter::<Leaves>();
    values
        .map(|value| value.ok().map(|Leaves(count)| count))
        .sum()
}

/// The number of leaf values in one value. A member that an object has twice counts twice.
struct Leaves(u64);

impl<'de> Deserialize<'de> for Leaves {
    fn deserialize<D: Deserializer<'de>>(read: D) -> Result<Self, D::Error> {
        read.deserialize_any(Count).map(Leaves)
    }
}

struct Count;

impl<'de> Visitor<'de> for Count {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<u64, E> {
        Ok(0)
    }

    fn visit_bool<E>(self, _: bool) -> Result<u64, E> {
        Ok(1)
    }

    fn visit_i64<E>(self, _: i64) -> Result<u64, E> {
        Ok(1)
    }

    fn visit_u64<E>(self, _: u64) -> Result<u64, E> {
        Ok(1)
    }

    fn visit_f64<E>(self, _: f64) -> Result<u64, E> {
        Ok(1)
    }

    fn visit_str<E>(self, _: &str) -> Result<u64, E> {
        Ok(1)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<u64, A::Error> {
        let mut sum = 0;
        while let Some(Leaves(count)) = items.next_element()? {
            sum += count;
        }
        Ok(sum)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<u64, A::Error> {
        let mut sum = 0;
        while let Some((_, Leaves(count))) = members.next_entry::<IgnoredAny, Leaves>()? {
            sum += count;
        }
        Ok(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_numbers_and_booleans_count() {
        assert_eq!(
            count(br#"{"a":["x",1,-2,0.5,true,null,{}],"a":""}"#),
            Some(6)
        );
        assert_eq!(count(b"{\"a\":1}\n[2] \"\\ud800\"\n\n"), Some(3));
        assert_eq!(count(b"{\"a\":1}\nnot JSON"), None);
        assert_eq!(count(b"\"\xff\""), None);
    }
}
