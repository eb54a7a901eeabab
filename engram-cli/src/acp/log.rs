//! The log of a connection: `docs/acp-log.md` describes its form. A line of it is written when a message is whole.

use std::io::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use engram_core::hash::StreamHasher;
use engram_core::redact::{redacted, redacted_json};
use serde::Serialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::queue::{From, Passed, Piece};

/// The name of the form, and its version.
const FORM: (&str, u64) = ("engram-acp", 1);
/// The longest message that the log has. Of a longer one it has the length and the hash.
pub const LONGEST: usize = 16 << 20;

/// The first line of a log.
#[derive(Debug, Serialize)]
pub struct Header {
    log: &'static str,
    version: u64,
    engram: &'static str,
    t: Box<RawValue>,
    cwd: String,
    command: Vec<String>,
    redacted: bool,
}

impl Header {
    /// A header for this command, which begins now in this directory.
    pub fn new(cwd: String, command: Vec<String>, redacted: bool) -> Header {
        let t = RawValue::from_string(seconds(SystemTime::now()));
        Header {
            log: FORM.0,
            version: FORM.1,
            engram: env!("CARGO_PKG_VERSION"),
            // Digits and a point are JSON.
            t: t.unwrap_or_default(),
            cwd,
            command,
            redacted,
        }
    }
}

/// How the agent ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By itself, with this code.
    Exit(i32),
    /// By this signal.
    Signal(i32),
}

/// What has come of a message so far.
#[derive(Default)]
struct Open {
    /// Its bytes, as long as they are no more than a log has.
    text: Vec<u8>,
    /// All its bytes, once they are more than a log has.
    long: Option<StreamHasher>,
    /// A part of it was lost: what comes until its end is no message.
    lost: u64,
}

/// Writes the log.
pub struct Log<W> {
    out: W,
    redacts: bool,
    open: [Open; 2],
    buffer: Vec<u8>,
}

impl<W: Write> Log<W> {
    /// A log with its header.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(out: W, header: &Header) -> io::Result<Log<W>> {
        let mut log = Log {
            out,
            redacts: header.redacted,
            open: Default::default(),
            buffer: Vec::new(),
        };
        let json = serde_json::to_string(header).map_err(io::Error::other)?;
        let json = log.clean(&json);
        log.line(json.as_bytes())?;
        Ok(log)
    }

    /// Takes what was passed on, and writes each message that ends with it.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn add(&mut self, passed: &Passed) -> io::Result<()> {
        let Passed { from, at, piece } = passed;
        match piece {
            Piece::Lost(bytes) => {
                let open = &mut self.open[*from as usize];
                open.lost += *bytes;
                Ok(())
            }
            Piece::End => self.message(*from, *at),
            Piece::Bytes(bytes) => {
                let mut lines = bytes.split(|byte| *byte == b'\n');
                let mut next = lines.next();
                while let Some(part) = next {
                    self.open[*from as usize].add(part);
                    next = lines.next();
                    if next.is_some() {
                        self.message(*from, *at)?;
                    }
                }
                Ok(())
            }
        }
    }

    /// Writes how the agent ended.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn end(&mut self, end: End) -> io::Result<()> {
        let (how, code) = match end {
            End::Exit(code) => ("exit", code),
            End::Signal(signal) => ("signal", signal),
        };
        let t = seconds(SystemTime::now());
        let line = format!("{{\"log\":\"end\",\"t\":{t},\"{how}\":{code}}}");
        self.line(line.as_bytes())?;
        self.flush()
    }

    /// Hands on what was written.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Writes the message that has ended. Between messages there may be nothing, or white space.
    fn message(&mut self, from: From, at: SystemTime) -> io::Result<()> {
        let open = std::mem::take(&mut self.open[from as usize]);
        let direction = match from {
            From::Client => "out",
            From::Agent => "in",
        };
        let head = format!("\"dir\":\"{direction}\",\"t\":{},", seconds(at));
        if open.lost > 0 {
            let bytes = open.lost + open.len();
            return self.line(format!("{{\"log\":\"lost\",{head}\"bytes\":{bytes}}}").as_bytes());
        }
        if let Some(hasher) = open.long {
            let (hash, bytes) = hasher.finish();
            let line = format!("{{\"log\":\"long\",{head}\"bytes\":{bytes},\"hash\":\"{hash}\"}}");
            return self.line(line.as_bytes());
        }
        let text = open.text.trim_ascii();
        if text.is_empty() {
            return Ok(());
        }
        let mut line = std::mem::take(&mut self.buffer);
        line.clear();
        self.body(&head, text, &mut line)?;
        line.push(b'}');
        let written = self.line(&line);
        // A long message does not keep its memory.
        line.clear();
        line.shrink_to(1 << 20);
        self.buffer = line;
        written
    }

    /// The message as it is, if it is JSON; else its text.
    fn body(&self, head: &str, text: &[u8], line: &mut Vec<u8>) -> io::Result<()> {
        let valid = std::str::from_utf8(text);
        if let Ok(json) = valid
            && serde_json::from_str::<IgnoredAny>(json).is_ok()
        {
            let json = self.clean(json);
            return write!(line, "{{{head}\"m\":{json}");
        }
        let decoded = String::from_utf8_lossy(text);
        let decoded = if self.redacts {
            redacted(&decoded)
        } else {
            decoded.as_ref().into()
        };
        write!(line, "{{\"log\":\"text\",{head}\"text\":")?;
        serde_json::to_writer(&mut *line, decoded.as_ref()).map_err(io::Error::other)?;
        if valid.is_err() {
            line.extend_from_slice(b",\"lossy\":true");
        }
        Ok(())
    }

    fn clean<'t>(&self, json: &'t str) -> std::borrow::Cow<'t, str> {
        if self.redacts {
            redacted_json(json)
        } else {
            json.into()
        }
    }

    fn line(&mut self, line: &[u8]) -> io::Result<()> {
        self.out.write_all(line)?;
        self.out.write_all(b"\n")
    }
}

impl Open {
    fn len(&self) -> u64 {
        let long = self.long.as_ref().map(|hasher| hasher.finish().1);
        long.unwrap_or(self.text.len() as u64)
    }

    fn add(&mut self, part: &[u8]) {
        if self.lost > 0 {
            self.lost += part.len() as u64;
            return;
        }
        if self.long.is_none() && self.text.len() + part.len() > LONGEST {
            let mut hasher = StreamHasher::default();
            hasher.update(&self.text);
            self.text = Vec::new();
            self.long = Some(hasher);
        }
        match &mut self.long {
            Some(hasher) => hasher.update(part),
            None => self.text.extend_from_slice(part),
        }
    }
}

/// Seconds since the Unix epoch, as a number with six digits behind the point.
fn seconds(at: SystemTime) -> String {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{}.{:06}", since.as_secs(), since.subsec_micros())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn log(redacts: bool, pieces: Vec<(From, Piece)>) -> Vec<String> {
        let header = Header::new("/p".to_owned(), vec!["agent".to_owned()], redacts);
        let mut written = Vec::new();
        let mut log = Log::new(&mut written, &header).unwrap();
        for (from, piece) in pieces {
            let at = UNIX_EPOCH + Duration::from_micros(1_500_000);
            log.add(&Passed { from, at, piece }).unwrap();
        }
        drop(log);
        let written = String::from_utf8(written).unwrap();
        written.lines().skip(1).map(str::to_owned).collect()
    }

    fn bytes(bytes: &[u8]) -> Piece {
        Piece::Bytes(bytes.to_vec())
    }

    #[test]
    fn a_message_is_logged_as_it_was_sent_once_it_is_whole() {
        let pieces = vec![
            (From::Agent, bytes(b"{\"a\": 1.0,")),
            (From::Client, bytes(b"{}\r\n\n")),
            (From::Agent, bytes(b" \"b\":\"\\ud800\"}\n[\xff]\n{\"cut")),
            (From::Agent, Piece::End),
        ];
        assert_eq!(
            log(false, pieces),
            [
                r#"{"dir":"out","t":1.500000,"m":{}}"#,
                r#"{"dir":"in","t":1.500000,"m":{"a": 1.0, "b":"\ud800"}}"#,
                "{\"log\":\"text\",\"dir\":\"in\",\"t\":1.500000,\"text\":\"[\u{fffd}]\",\"lossy\":true}",
                r#"{"log":"text","dir":"in","t":1.500000,"text":"{\"cut"}"#,
            ]
        );
    }

    #[test]
    fn a_message_that_is_too_long_is_its_length_and_hash() {
        let long = vec![b'x'; LONGEST + 1];
        let (first, rest) = long.split_at(10);
        let pieces = vec![
            (From::Agent, bytes(first)),
            (From::Agent, bytes(rest)),
            (From::Agent, bytes(b"\n1\n")),
        ];
        let hash = engram_core::hash::Hash::of_bytes(&long);
        let length = long.len();
        assert_eq!(
            log(false, pieces),
            [
                format!(
                    "{{\"log\":\"long\",\"dir\":\"in\",\"t\":1.500000,\"bytes\":{length},\"hash\":\"{hash}\"}}"
                ),
                r#"{"dir":"in","t":1.500000,"m":1}"#.to_owned()
            ]
        );
    }

    #[test]
    fn a_message_of_which_a_part_was_lost_is_none() {
        let pieces = vec![
            (From::Agent, bytes(b"{\"a\":")),
            (From::Agent, Piece::Lost(100)),
            (From::Agent, bytes(b"}\n2\n")),
        ];
        assert_eq!(
            log(false, pieces),
            [
                r#"{"log":"lost","dir":"in","t":1.500000,"bytes":106}"#,
                r#"{"dir":"in","t":1.500000,"m":2}"#
            ]
        );
    }

    #[test]
    fn keys_are_replaced_by_choice() {
        let key = "AKIAIOSFODNN7EXAMPLE";
        let sent = format!("{{\"k\":\"{key}\"}}\nno JSON {key}\n");
        let whole = log(false, vec![(From::Client, bytes(sent.as_bytes()))]).join("\n");
        let clean = log(true, vec![(From::Client, bytes(sent.as_bytes()))]).join("\n");
        assert_eq!(
            (whole.matches(key).count(), clean.matches(key).count()),
            (2, 0)
        );
        assert_eq!(clean.matches("[redacted:aws-access-key-id]").count(), 2);
    }
}
