//! Documents that end too early, or stop being JSON or UTF-8.

use simdutf8::compat::{Utf8Error, from_utf8};

use crate::error::{AdapterError, ErrorCode};
use crate::json::is_cut;

/// A document that ends too early, or is not JSON or UTF-8 from some position on.
pub(crate) struct Broken<'b> {
    /// The text before that position.
    pub valid_prefix: &'b str,
    /// The error, if no part of the document can be converted.
    pub error: AdapterError,
}

impl<'b> Broken<'b> {
    pub fn json(text: &'b str, error: &serde_json::Error) -> Self {
        if is_cut(text, error) {
            return Broken::truncated(
                text,
                format!(
                    "the end of the document at line {}, column {}",
                    error.line(),
                    error.column()
                ),
            );
        }
        let lines = text
            .split_inclusive('\n')
            .take(error.line().saturating_sub(1))
            .map(str::len)
            .sum::<usize>();
        let valid_prefix =
            &text[..text.floor_char_boundary(lines + error.column().saturating_sub(1))];
        Broken {
            valid_prefix,
            error: AdapterError::new(ErrorCode::MalformedRecord)
                .expected("JSON")
                .found(&error.to_string()),
        }
    }

    pub fn utf8(bytes: &'b [u8], error: Utf8Error) -> Self {
        let valid_prefix = from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
        let found = format!("invalid byte at offset {}", error.valid_up_to());
        if error.error_len().is_none() {
            return Broken::truncated(valid_prefix, found);
        }
        Broken {
            valid_prefix,
            error: AdapterError::new(ErrorCode::MalformedRecord)
                .expected("UTF-8")
                .found(&found),
        }
    }

    fn truncated(valid_prefix: &'b str, found: String) -> Self {
        Broken {
            valid_prefix,
            error: AdapterError::new(ErrorCode::TruncatedInput)
                .expected("a complete document")
                .found(&found),
        }
    }
}
