//! `--unicode replace`: a tape without halves of surrogate pairs, which strict parsers refuse.
//!
//! It works on the lines of a tape. In canonical form a surrogate is there only as `\udxxx`, and only because its other half is missing.

use std::io::{self, Write};

use clap::ValueEnum;
use engram_core::event::UNICODE_REPLACED;

/// What becomes of half a surrogate pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Unicode {
    /// It stays, as `\ud83d`; DuckDB and other strict readers refuse it
    #[default]
    Keep,
    /// U+FFFD stands for it, and `tape.start` says so
    Replace,
}

/// Passes the lines of a tape on.
pub struct Lines<W> {
    out: W,
    unicode: Unicode,
    line: Vec<u8>,
    is_past_start: bool,
}

impl<W: Write> Lines<W> {
    /// A writer that passes on what `unicode` wants.
    pub fn new(out: W, unicode: Unicode) -> Lines<W> {
        Lines {
            out,
            unicode,
            line: Vec::new(),
            is_past_start: false,
        }
    }

    /// Passes on a complete line.
    fn end_line(&mut self) -> io::Result<()> {
        if !self.is_past_start {
            self.is_past_start = true;
            mark(&mut self.line);
        }
        let mut rest = &self.line[..];
        while let Some(at) = surrogate(rest) {
            self.out.write_all(&rest[..at])?;
            self.out.write_all("\u{fffd}".as_bytes())?;
            rest = &rest[at + ESCAPE_BYTES..];
        }
        self.out.write_all(rest)?;
        self.line.clear();
        Ok(())
    }
}

impl<W: Write> Write for Lines<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.unicode == Unicode::Keep {
            return self.out.write(bytes);
        }
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.end_line()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The length of `\ud83d`.
const ESCAPE_BYTES: usize = 6;

/// Where the next escape of a surrogate is.
fn surrogate(line: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += line[at..].iter().position(|byte| *byte == b'\\')?;
        match &line[at + 1..] {
            [
                b'u',
                b'd' | b'D',
                b'8' | b'9' | b'a'..=b'f' | b'A'..=b'F',
                _,
                _,
                ..,
            ] => return Some(at),
            // The escaped character is no begin of another escape.
            [_, ..] => at += 2,
            [] => return None,
        }
    }
}

/// Adds the mark to `tape.start`, in its place among the members. Between members there is no quotation mark that a text could have.
fn mark(line: &mut Vec<u8>) {
    const AFTER: &[u8] = br#","support":""#;
    if let Some(at) = line.windows(AFTER.len()).position(|part| part == AFTER) {
        line.splice(
            at..at,
            format!(r#","unicode":"{UNICODE_REPLACED}""#).into_bytes(),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str, unicode: Unicode) -> String {
        let mut out = Vec::new();
        let mut lines = Lines::new(&mut out, unicode);
        for part in text.as_bytes().chunks(7) {
            lines.write_all(part).unwrap();
        }
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn halves_of_pairs_are_replaced_and_nothing_else() {
        let tape = "{\"a\":1,\"support\":\"x\"}\n{\"t\":\"a\\ud83d \\udc00b\\\\ud83d \\n\\\\\\ud83dé\\u001f\",\"support\":\"x\"}\n";
        let replaced = "{\"a\":1,\"unicode\":\"replace\",\"support\":\"x\"}\n\
                        {\"t\":\"a\u{fffd} \u{fffd}b\\\\ud83d \\n\\\\\u{fffd}é\\u001f\",\"support\":\"x\"}\n";
        assert_eq!(written(tape, Unicode::Replace), replaced);
        assert_eq!(written(tape, Unicode::Keep), tape);
    }
}
