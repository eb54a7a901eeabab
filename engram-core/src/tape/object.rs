//! The members of an object of a tape, read by their types.

use std::borrow::Cow;

use super::error::InvalidEvent;
use super::raw::Members;
use crate::event::{Number, Range};
use crate::hash::Hash;
use crate::text::Text;

/// The members of an object, with a method for each type of value.
pub(crate) struct Reader<'t>(pub Members<'t>);

impl<'t> Reader<'t> {
    /// The value of a member, read by `parse`; `None` if it is absent.
    pub fn parsed<T>(
        &self,
        key: &str,
        expected: &str,
        parse: impl FnOnce(&'t str) -> Option<T>,
    ) -> Result<Option<T>, InvalidEvent> {
        let Some(raw) = self.0.get(key) else {
            return Ok(None);
        };
        parse(raw.get())
            .map(Some)
            .ok_or_else(|| InvalidEvent::new(format!("`{key}` is not {expected}")))
    }

    pub fn required<T>(
        &self,
        key: &str,
        expected: &str,
        parse: impl FnOnce(&'t str) -> Option<T>,
    ) -> Result<T, InvalidEvent> {
        self.parsed(key, expected, parse)?
            .ok_or_else(|| InvalidEvent::new(format!("`{key}` is missing")))
    }

    pub fn text(&self, key: &str) -> Result<Option<Text<'t>>, InvalidEvent> {
        self.parsed(key, "a string", Text::of_str)
    }

    pub fn span_text(&self, key: &str) -> Result<Option<Cow<'t, str>>, InvalidEvent> {
        self.parsed(key, "a string without half surrogate pairs", |raw| {
            Text::of_str(raw)?.decode().ok()
        })
    }

    pub fn required_text(&self, key: &str) -> Result<Text<'t>, InvalidEvent> {
        self.required(key, "a string", Text::of_str)
    }

    pub fn maybe_word(&self, key: &str) -> Result<Option<&'t str>, InvalidEvent> {
        self.parsed(key, "a string without escapes", word)
    }

    pub fn word(&self, key: &str) -> Result<&'t str, InvalidEvent> {
        self.required(key, "a string without escapes", word)
    }

    /// The variant with this name; `all` lists all variants.
    pub fn maybe_one_of<T: Copy>(
        &self,
        key: &str,
        all: &[T],
        name: fn(T) -> &'static str,
    ) -> Result<Option<T>, InvalidEvent> {
        self.parsed(key, "a known name", |raw| {
            all.iter()
                .copied()
                .find(|variant| word(raw) == Some(name(*variant)))
        })
    }

    pub fn one_of<T: Copy>(
        &self,
        key: &str,
        all: &[T],
        name: fn(T) -> &'static str,
    ) -> Result<T, InvalidEvent> {
        self.maybe_one_of(key, all, name)?
            .ok_or_else(|| InvalidEvent::new(format!("`{key}` is missing")))
    }

    pub fn flag(&self, key: &str) -> Result<bool, InvalidEvent> {
        Ok(self
            .parsed(key, "a boolean", |raw| raw.parse().ok())?
            .unwrap_or_default())
    }

    pub fn count(&self, key: &str) -> Result<Option<u64>, InvalidEvent> {
        self.parsed(key, "a count", |raw| raw.parse().ok())
    }

    pub fn number(&self, key: &str) -> Result<Option<Number<'t>>, InvalidEvent> {
        self.parsed(key, "a number", Number::of_str)
    }

    pub fn hash(&self, key: &str) -> Result<Option<Hash>, InvalidEvent> {
        self.parsed(key, "a hash", Hash::of_json)
    }

    pub fn range(&self, key: &str) -> Result<Option<Range>, InvalidEvent> {
        let range = |raw| {
            serde_json::from_str(raw)
                .ok()
                .map(|(first, last)| Range { first, last })
        };
        self.parsed(key, "a range", range)
    }

    pub fn anchors(&self, key: &str) -> Result<Vec<u64>, InvalidEvent> {
        let anchors = |raw: &'t str| {
            let hex: Vec<&str> = serde_json::from_str(raw).ok()?;
            hex.into_iter()
                .map(|hex| u64::from_str_radix(hex, 16).ok())
                .collect()
        };
        Ok(self
            .parsed(key, "a list of fingerprints", anchors)?
            .unwrap_or_default())
    }

    pub fn maybe_object(&self, key: &str) -> Result<Option<Reader<'t>>, InvalidEvent> {
        self.parsed(key, "an object", |raw| Members::of(raw).ok().map(Reader))
    }

    pub fn object(&self, key: &str) -> Result<Reader<'t>, InvalidEvent> {
        self.required(key, "an object", |raw| Members::of(raw).ok().map(Reader))
    }

    pub fn objects(&self, key: &str) -> Result<Vec<Reader<'t>>, InvalidEvent> {
        let all = |raw| serde_json::from_str::<Vec<Members<'t>>>(raw).ok();
        Ok(self
            .parsed(key, "a list of objects", all)?
            .unwrap_or_default()
            .into_iter()
            .map(Reader)
            .collect())
    }
}

/// The string in a raw value, if it is one without escapes.
fn word(raw: &str) -> Option<&str> {
    raw.strip_prefix('"')?
        .strip_suffix('"')
        .filter(|word| !word.contains('\\'))
}
