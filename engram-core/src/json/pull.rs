//! A pull reader: reads one large document value by value, and keeps the index of the current value only.

use std::borrow::Cow;

use crate::emit::Fault;

use super::index::{Builder, Stop, StructuralIndex};
use super::names;
use super::string_mask::{MaskProgress, OffFastPath};
use super::value::{Value, parse};

/// Bytes whose string mask is computed at once. They must still be in the cache when the scanner reads them.
const MASK_BYTES: usize = 32 << 10;

/// The initial number of nodes.
const FIRST_NODES: usize = 1 << 10;

/// Reads the values of a JSON text in order. An error is reported when the reader reaches it, not before.
///
/// ```
/// use engram_core::json::{PullReader, StructuralIndex};
///
/// let mut index = StructuralIndex::default();
/// let mut reader = PullReader::of(r#"{"version":1,"messages":[{"id":"a"},{"id":"b"}]}"#, &mut index)?;
/// assert!(reader.enter(b'{')?);
/// let mut messages = 0;
/// while let Some(name) = reader.member()? {
///     if name == "messages" && reader.enter(b'[')? {
///         while reader.element()? {
///             let message = reader.value()?;
///             assert!(message.member("id").is_some());
///             messages += 1;
///         }
///     } else {
///         reader.value()?;
///     }
/// }
/// reader.end()?;
/// assert_eq!(messages, 2);
/// # Ok::<(), engram_core::emit::Fault>(())
/// ```
#[derive(Debug)]
pub struct PullReader<'t, 'i> {
    text: &'t str,
    index: &'i mut StructuralIndex,
    /// The index of a value whose escapes may not be canonical.
    part: StructuralIndex,
    progress: MaskProgress<'t>,
    /// The position of the mask's first block.
    mask_start: u32,
    /// The position of the next value, or of white space before it.
    at: u32,
    /// No member or element of the current container has been read.
    is_first: bool,
}

impl<'t, 'i> PullReader<'t, 'i> {
    /// A reader at the start of `text`.
    ///
    /// # Errors
    /// All methods: [`Fault::Json`] if `text` is not JSON, [`Fault::Limit`] if one value contains too many values.
    pub fn of(text: &'t str, index: &'i mut StructuralIndex) -> Result<Self, Fault> {
        let progress = MaskProgress::new(text).map_err(|error| Stop::from(error).into_fault(text))?;
        index.mask.clear();
        index.grow_nodes(FIRST_NODES);
        Ok(PullReader { text, index, part: StructuralIndex::default(), progress, mask_start: 0, at: 0, is_first: false })
    }

    /// Enters the next value if it begins with `open` (`{` or `[`). Returns whether it did.
    ///
    /// # Errors
    /// See [`PullReader::of`].
    pub fn enter(&mut self, open: u8) -> Result<bool, Fault> {
        self.step(|builder, at| {
            let (start, byte) = builder.scanner.skip_whitespace(at)?;
            Ok((start + u32::from(byte == open), byte == open))
        })
        .inspect(|entered| self.is_first = *entered)
    }

    /// The name of the next member of the current object. At its end: leaves the object and returns none.
    ///
    /// # Errors
    /// See [`PullReader::of`].
    pub fn member(&mut self) -> Result<Option<Cow<'t, str>>, Fault> {
        if !self.has_next(b'}')? {
            return Ok(None);
        }
        let text = self.text;
        self.step(|builder, at| {
            let start = builder.scanner.find(b'"', at)?;
            let (end, _) = builder.scanner.skip_string()?;
            let name = text.get(start as usize + 1..end as usize - 1).ok_or(OffFastPath)?;
            Ok((builder.scanner.find(b':', end)? + 1, Some(decoded(name))))
        })
    }

    /// True if the current array has another element. At its end: leaves the array and returns false.
    ///
    /// # Errors
    /// See [`PullReader::of`].
    pub fn element(&mut self) -> Result<bool, Fault> {
        self.has_next(b']')
    }

    /// Reads the next value.
    ///
    /// # Errors
    /// See [`PullReader::of`].
    pub fn value(&mut self) -> Result<Value<'_>, Fault> {
        let (count, escapes) = self.step(|builder, at| Ok((builder.value(at)?, (builder.count, builder.escapes))))?;
        self.mask_start = self.index.mask.release_before(self.mask_start, self.at);
        names::check(self.text, &self.index.nodes[..count])?;
        let value = Value::of_nodes(self.text, &self.index.nodes[..count]);
        if escapes.are_canonical() { Ok(value) } else { parse(value.raw(), &mut self.part) }
    }

    /// Checks that only white space follows.
    ///
    /// # Errors
    /// See [`PullReader::of`].
    pub fn end(&mut self) -> Result<(), Fault> {
        let is_end = self.step(|builder, at| Ok((at, builder.scanner.is_blank_from(at))))?;
        if is_end { Ok(()) } else { Err(Stop::OffFastPath.into_fault(self.text)) }
    }

    /// Moves to the next value of a container that ends with `close`, or out of the container.
    fn has_next(&mut self, close: u8) -> Result<bool, Fault> {
        let is_first = std::mem::take(&mut self.is_first);
        self.step(|builder, at| match builder.scanner.skip_whitespace(at)? {
            (at, byte) if byte == close => Ok((at + 1, false)),
            (at, b',') if !is_first => Ok((at + 1, true)),
            (at, _) if is_first => Ok((at, true)),
            _ => Err(Stop::OffFastPath),
        })
    }

    /// Runs `read` at the current position, and moves to the position that it returns. If the string mask ends too early, extends it
    /// and runs `read` again.
    #[inline(always)]
    fn step<T>(&mut self, read: impl Fn(&mut Builder<'_, true>, u32) -> Result<(u32, T), Stop>) -> Result<T, Fault> {
        let mut bytes = MASK_BYTES;
        loop {
            match self.index.with_builder(self.text, self.mask_start, self.at, |builder| read(builder, self.at)) {
                Ok((at, result)) => {
                    self.at = at;
                    return Ok(result);
                }
                Err(Stop::OffFastPath) if !self.progress.is_done() => self.extend_mask(bytes)?,
                Err(stop) => return Err(stop.into_fault(self.text)),
            }
            bytes *= 2;
        }
    }

    /// Discards the mask of what was read, and computes the mask of the next `bytes`.
    #[inline(never)]
    fn extend_mask(&mut self, bytes: usize) -> Result<(), Fault> {
        self.mask_start = self.index.mask.discard_before(self.mask_start, self.at);
        self.index.mask.extend(&mut self.progress, bytes).map_err(|error| Stop::from(error).into_fault(self.text))
    }
}

/// A name without its quotes. Escapes stay if they cannot be decoded.
fn decoded(name: &str) -> Cow<'_, str> {
    let decoded = name.contains('\\').then(|| serde_json::from_str(&format!("\"{name}\"")).ok()).flatten();
    decoded.map_or(Cow::Borrowed(name), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::de::IgnoredAny;

    use super::*;

    /// The names and values of an object, with the elements of its arrays as separate values.
    fn read_all(text: &str) -> Result<Vec<String>, Fault> {
        let mut index = StructuralIndex::default();
        let mut reader = PullReader::of(text, &mut index)?;
        let mut found = Vec::new();
        if !reader.enter(b'{')? {
            found.push(reader.value()?.raw().to_owned());
            return reader.end().map(|()| found);
        }
        while let Some(name) = reader.member()? {
            found.push(name.into_owned());
            if reader.enter(b'[')? {
                while reader.element()? {
                    found.push(reader.value()?.raw().to_owned());
                }
            } else {
                found.push(reader.value()?.raw().to_owned());
            }
        }
        reader.end().map(|()| found)
    }

    #[test]
    fn members_and_elements_are_read_in_order() {
        let found = read_all(" {\"a\" : {\"x\": [1]}, \n\t\"list\":[ {\"y\" : \"\\n\"} , [2],3 ],\"none\": [ ], \"b\":null }\n").unwrap();
        assert_eq!(found, ["a", "{\"x\": [1]}", "list", "{\"y\" : \"\\n\"}", "[2]", "3", "none", "b", "null"]);
        assert_eq!(read_all("{ }").unwrap(), [""; 0]);
        assert_eq!(read_all(" 7").unwrap(), ["7"]);
    }

    #[test]
    fn values_with_other_escapes_are_read_in_canonical_form() {
        let text =
            r#"{"\u0061":[{"\u0062" : 1},{"c":"\u0064"}],"\u0065":{"\u0066":2},"g":["a long text without \/ escapes that is no word"]}"#;
        let expected = ["a", r#"{"b":1}"#, r#"{"c":"d"}"#, "e", r#"{"f":2}"#, "g", r#""a long text without / escapes that is no word""#];
        assert_eq!(read_all(text).unwrap(), expected);
    }

    #[test]
    fn mask_is_extended_when_it_ends_too_early() {
        let list: Vec<String> = (0..5000).map(|n| format!("{{\n  \"n\": \"{n}\"\n}}")).collect();
        let found = read_all(&format!("{{\"list\": [\n{}\n]}}", list.join(",\n"))).unwrap();
        assert_eq!(found[1..], list);
    }

    #[test]
    fn members_may_be_on_lines_with_any_indentation() {
        for between in ["\n", "\r\n", " \n", "\n\n", "\n\t"].map(|line| (0..40).map(move |spaces| format!("{line}{}", " ".repeat(spaces))))
        {
            for line in between {
                let text =
                    format!("{{{line}\"a\": \"x\",{line}\"b\": [{line}{{{line}\"c\": \"y\",{line}\"d\": 1{line}}}{line}]{line}}}{line}");
                let found = read_all(&text).unwrap();
                assert_eq!(found[0..3], ["a", "\"x\"", "b"], "{text:?}");
                assert!(read_all(&text.replace('x', &line)).is_err(), "{text:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn accepts_what_serde_json_accepts(text in r#"[{}\[\],:"\\ntrue0-9.eE+ \n-]{0,40}"#, spaces in 0..MASK_BYTES + 100) {
            let pretty = text.replace([' ', ','], ",\n  ") + &" ".repeat(20);
            for text in [format!("{{\"a\":[{text}]}}"), format!("{{{}\"b\"{text}:[]}}", " ".repeat(spaces)), pretty, text] {
                let accepted = serde_json::from_str::<IgnoredAny>(&text).is_ok();
                prop_assert_eq!(read_all(&text).is_ok(), accepted, "{:?}", text);
            }
        }
    }
}
