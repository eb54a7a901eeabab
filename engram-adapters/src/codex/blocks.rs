//! Content parts (`{"type": "input_text", "text": ...}`) and JSON string tokens.

use engram_core::emit::Fault;

use crate::shared::value::{Field, Value};

use super::schema::{Part, elements};

/// One part of the list at `list`.
///
/// # Errors
/// [`Fault::Malformed`] with the pointer of the part.
pub(super) fn part<'a>(value: Value<'a>, list: &str, index: usize) -> Result<Part<'a>, Fault> {
    // Formats a pointer only for the error.
    Part::strict(value, list).or_else(|_| Part::strict(value, &format!("{list}/{index}")))
}

/// The texts of parts as one JSON token. The tokens are joined without being decoded.
pub(super) fn joined_texts(parts: Field<'_>, separator: &str) -> Option<String> {
    let texts: Vec<&str> = elements(parts).filter_map(|part| Part::lenient(part).text()).map(|text| unquote(text.raw())).collect();
    (!texts.is_empty()).then(|| format!("\"{}\"", texts.join(separator)))
}

/// A JSON string token without its quotes.
pub(super) fn unquote(token: &str) -> &str {
    token.strip_prefix('"').and_then(|token| token.strip_suffix('"')).unwrap_or(token)
}

/// True for the token of an empty string.
pub(super) fn is_empty_token(token: &str) -> bool {
    token.len() <= "\"\"".len()
}
