//! A text that is read from front to back, a value at a time, so that no more is noted of it than the value at hand.

use engram_core::emit::Fault;

use super::index::{Builder, Stop, StructuralIndex};
use super::string_mask::{OffFastPath, Pass};
use crate::shared::value::Value;

/// Bytes whose quotes are noted together: few enough that they stay in a core's cache until they have been walked over.
const NOTED_BYTES: usize = 32 << 10;

/// Nodes that there is room for at least.
const FIRST_NODES: usize = 1 << 10;

/// The values of a JSON text, one behind the other. What is wrong with the text is said where it stands, not before.
#[derive(Debug)]
pub struct PullReader<'t, 'i> {
    text: &'t str,
    index: &'i mut StructuralIndex,
    pass: Pass<'t>,
    /// Where the quotes that are noted begin.
    noted_from: u32,
    /// Where what comes next begins, white space before it aside.
    at: u32,
    /// A container has just been entered.
    is_first: bool,
}

impl<'t, 'i> PullReader<'t, 'i> {
    /// In front of all of `text`.
    ///
    /// # Errors
    /// As those of the other methods: [`Fault::Json`] where `text` is not JSON, [`Fault::Limit`] where a value holds too many values.
    pub fn of(text: &'t str, index: &'i mut StructuralIndex) -> Result<Self, Fault> {
        let pass = Pass::new(text).map_err(|declined| Stop::from(declined).fault(text))?;
        index.quotes.clear();
        index.make_room(FIRST_NODES);
        Ok(PullReader { text, index, pass, noted_from: 0, at: 0, is_first: false })
    }

    /// Enters the next value, if that begins with `open`.
    ///
    /// # Errors
    /// See [`PullReader::of`].
    pub fn enter(&mut self, open: u8) -> Result<bool, Fault> {
        self.step(|walk, at| {
            let (start, byte) = walk.scanner.skip_whitespace(at)?;
            Ok((start + u32::from(byte == open), byte == open))
        })
        .inspect(|entered| self.is_first = *entered)
    }

    /// The name of the next member of the object at hand; none at its end, which is then passed.
    ///
    /// # Errors
    /// See [`PullReader::of`].
    pub fn member(&mut self) -> Result<Option<&'t str>, Fault> {
        if !self.goes_on(b'}')? {
            return Ok(None);
        }
        let text = self.text;
        self.step(|walk, at| {
            let start = walk.scanner.find(b'"', at)?;
            let (end, _) = walk.scanner.behind_string()?;
            let name = text.get(start as usize + 1..end as usize - 1).ok_or(OffFastPath)?;
            Ok((walk.scanner.find(b':', end)? + 1, Some(name)))
        })
    }

    /// True when the list at hand has another element; its end is passed otherwise.
    ///
    /// # Errors
    /// See [`PullReader::of`].
    pub fn element(&mut self) -> Result<bool, Fault> {
        self.goes_on(b']')
    }

    /// The next value.
    ///
    /// # Errors
    /// See [`PullReader::of`].
    pub fn value(&mut self) -> Result<Value<'_>, Fault> {
        let count = self.step(|walk, at| Ok((walk.value(at)?, walk.count)))?;
        Ok(Value::of_nodes(self.text, &self.index.nodes[..count]))
    }

    /// Sees to it that the text ends here.
    ///
    /// # Errors
    /// See [`PullReader::of`].
    pub fn end(&mut self) -> Result<(), Fault> {
        let ends = self.step(|walk, at| Ok((at, walk.scanner.ends_behind(at))))?;
        if ends { Ok(()) } else { Err(Stop::OffFastPath.fault(self.text)) }
    }

    /// Goes to the next value of a container that `close` ends, or behind its end.
    fn goes_on(&mut self, close: u8) -> Result<bool, Fault> {
        let is_first = std::mem::take(&mut self.is_first);
        self.step(|walk, at| match walk.scanner.skip_whitespace(at)? {
            (at, byte) if byte == close => Ok((at + 1, false)),
            (at, b',') if !is_first => Ok((at + 1, true)),
            (at, _) if is_first => Ok((at, true)),
            _ => Err(Stop::OffFastPath),
        })
    }

    /// Takes up the walk where it stands. `take` gives the place that it has come to; it is asked again where the walk came to the
    /// end of what is noted.
    #[inline(always)]
    fn step<T>(&mut self, take: impl Fn(&mut Builder<'_, true>, u32) -> Result<(u32, T), Stop>) -> Result<T, Fault> {
        let mut bytes = NOTED_BYTES;
        loop {
            match self.index.walk(self.text, self.noted_from, self.at, |walk| take(walk, self.at)) {
                Ok((at, taken)) => {
                    self.at = at;
                    return Ok(taken);
                }
                Err(Stop::OffFastPath) if !self.pass.is_done() => self.note(bytes)?,
                Err(stop) => return Err(stop.fault(self.text)),
            }
            bytes *= 2;
        }
    }

    /// Notes the quotes of so many bytes more, in place of those passed.
    #[inline(never)]
    fn note(&mut self, bytes: usize) -> Result<(), Fault> {
        self.noted_from = self.index.quotes.forget(self.noted_from, self.at);
        self.index.quotes.note(&mut self.pass, bytes).map_err(|declined| Stop::from(declined).fault(self.text))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::de::IgnoredAny;

    use super::*;

    /// What the pieces of an object are, those of its lists apart.
    fn pieces(text: &str) -> Result<Vec<String>, Fault> {
        let mut index = StructuralIndex::default();
        let mut pieces = PullReader::of(text, &mut index)?;
        let mut found = Vec::new();
        if !pieces.enter(b'{')? {
            found.push(pieces.value()?.raw().to_owned());
            return pieces.end().map(|()| found);
        }
        while let Some(name) = pieces.member()? {
            found.push(name.to_owned());
            if pieces.enter(b'[')? {
                while pieces.element()? {
                    found.push(pieces.value()?.raw().to_owned());
                }
            } else {
                found.push(pieces.value()?.raw().to_owned());
            }
        }
        pieces.end().map(|()| found)
    }

    #[test]
    fn a_document_falls_into_its_pieces() {
        let found = pieces(" {\"a\" : {\"x\": [1]}, \n\t\"list\":[ {\"y\" : \"\\n\"} , [2],3 ],\"none\": [ ], \"b\":null }\n").unwrap();
        assert_eq!(found, ["a", "{\"x\": [1]}", "list", "{\"y\" : \"\\n\"}", "[2]", "3", "none", "b", "null"]);
        assert_eq!(pieces("{ }").unwrap(), [""; 0]);
        assert_eq!(pieces(" 7").unwrap(), ["7"]);
    }

    #[test]
    fn values_are_found_beyond_what_is_noted_at_first() {
        let list: Vec<String> = (0..5000).map(|n| format!("{{\n  \"n\": \"{n}\"\n}}")).collect();
        let found = pieces(&format!("{{\"list\": [\n{}\n]}}", list.join(",\n"))).unwrap();
        assert_eq!(found[1..], list);
    }

    #[test]
    fn members_lie_on_lines_with_any_spaces_before_them() {
        for between in ["\n", "\r\n", " \n", "\n\n", "\n\t"].map(|line| (0..40).map(move |spaces| format!("{line}{}", " ".repeat(spaces))))
        {
            for line in between {
                let text =
                    format!("{{{line}\"a\": \"x\",{line}\"b\": [{line}{{{line}\"c\": \"y\",{line}\"d\": 1{line}}}{line}]{line}}}{line}");
                let found = pieces(&text).unwrap();
                assert_eq!(found[0..3], ["a", "\"x\"", "b"], "{text:?}");
                assert!(pieces(&text.replace('x', &line)).is_err(), "{text:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_is_judged_as_serde_json_does(text in r#"[{}\[\],:"\\ntrue0-9.eE+ \n-]{0,40}"#, spaces in 0..NOTED_BYTES + 100) {
            let spread = text.replace([' ', ','], ",\n  ") + &" ".repeat(20);
            for text in [format!("{{\"a\":[{text}]}}"), format!("{{{}\"b\"{text}:[]}}", " ".repeat(spaces)), spread, text] {
                let accepted = serde_json::from_str::<IgnoredAny>(&text).is_ok();
                prop_assert_eq!(pieces(&text).is_ok(), accepted, "{:?}", text);
            }
        }
    }
}
