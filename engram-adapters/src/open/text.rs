//! Logs that are plain text: they are opened into the document that their adapter converts.

use std::io::{self, Cursor, Read, Seek as _, SeekFrom};

use engram_core::error::{AdapterError, ErrorCode};
use engram_core::limits::Limits;
use engram_core::pipeline::Source;

use super::Content;
use super::database_header::HEAD_BYTES;
use super::store::TextForm;

/// Returns the content, or the document that it is opened into if it begins as one of these forms.
///
/// # Errors
/// `limit_exceeded` for a text that is larger than a record may be, `malformed_record` for one that is not UTF-8, and those of reading it.
pub fn opened(
    mut content: Content<Box<dyn Source + Send>>,
    mut forms: impl Iterator<Item = TextForm>,
    limits: Limits,
) -> Result<Content<Box<dyn Source + Send>>, AdapterError> {
    let (first, fault) = beginning_of(&mut content);
    content.seek(SeekFrom::Start(0))?;
    let Some(form) = forms.find(|form| (form.begins)(&first)) else {
        return Ok(content);
    };
    if let Some(fault) = fault {
        return Err(fault.into());
    }
    let document = (form.document)(&text(content, limits)?);
    Ok(Content::Plain(Box::new(Cursor::new(document.into_bytes()))))
}

/// The text that a reader gives, which may be as large as one record.
///
/// # Errors
/// As [`opened`].
pub fn text(reader: impl Read, limits: Limits) -> Result<String, AdapterError> {
    let mut bytes = Vec::new();
    reader
        .take(limits.record_bytes.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limits.record_bytes {
        let expected = format!("a transcript of at most {} bytes", limits.record_bytes);
        return Err(AdapterError::new(ErrorCode::LimitExceeded).expected(expected));
    }
    String::from_utf8(bytes)
        .map_err(|_| AdapterError::new(ErrorCode::MalformedRecord).expected("UTF-8"))
}

/// The first bytes of a content, and why there are no more, if reading failed.
pub fn beginning_of(content: &mut impl Read) -> (Vec<u8>, Option<io::Error>) {
    let mut first = Vec::new();
    let fault = content.take(HEAD_BYTES).read_to_end(&mut first).err();
    (first, fault)
}
