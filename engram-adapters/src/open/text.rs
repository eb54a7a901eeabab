//! Logs that are plain text: they are opened into the document that their adapter converts.

use std::io::{self, Cursor, Read};

use engram_core::error::{AdapterError, ErrorCode};
use engram_core::limits::Limits;

use super::Content;
use super::database_header::HEAD_BYTES;
use super::store::TextForm;

/// A reader that is owned.
type Boxed = Box<dyn Read + Send>;

/// Returns the content, or the document that it is opened into if it begins as one of these forms.
///
/// # Errors
/// `limit_exceeded` for a text that is larger than a record may be, `malformed_record` for one that is not UTF-8, and those of reading it.
pub fn opened(
    mut content: Content<Boxed>,
    mut forms: impl Iterator<Item = TextForm>,
    limits: Limits,
) -> Result<Content<Boxed>, AdapterError> {
    let (first, fault) = beginning_of(&mut content);
    let Some(form) = forms.find(|form| (form.begins)(&first)) else {
        let rest: Boxed = match fault {
            Some(fault) => Box::new(Fault(Some(fault))),
            None => Box::new(content),
        };
        return Ok(Content::Plain(Cursor::new(first).chain(rest)));
    };
    if let Some(fault) = fault {
        return Err(fault.into());
    }
    let document = (form.document)(&text(Cursor::new(first).chain(content), limits)?);
    let nothing: Boxed = Box::new(io::empty());
    Ok(Content::Plain(Cursor::new(document.into_bytes()).chain(nothing)))
}

/// The text that a reader gives, which may be as large as one record.
///
/// # Errors
/// As [`opened`].
pub fn text(reader: impl Read, limits: Limits) -> Result<String, AdapterError> {
    let mut bytes = Vec::new();
    reader.take(limits.record_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limits.record_bytes {
        let expected = format!("a transcript of at most {} bytes", limits.record_bytes);
        return Err(AdapterError::new(ErrorCode::LimitExceeded).expected(expected));
    }
    String::from_utf8(bytes).map_err(|_| AdapterError::new(ErrorCode::MalformedRecord).expected("UTF-8"))
}

/// The first bytes of a content, and why there are no more, if reading failed.
pub fn beginning_of(content: &mut impl Read) -> (Vec<u8>, Option<io::Error>) {
    let mut first = Vec::new();
    let fault = content.take(HEAD_BYTES).read_to_end(&mut first).err();
    (first, fault)
}

/// Fails as reading did, then ends.
struct Fault(Option<io::Error>);

impl Read for Fault {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}
