//! Content parts (`{"type": "input_text", "text": ...}`) and JSON string tokens.

use std::borrow::Cow;

use engram_core::emit::Fault;

pub(super) use crate::shared::value::unquote;
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
pub(super) fn joined_texts<'a>(parts: Field<'a>, separator: &str) -> Option<Cow<'a, str>> {
    let texts: Vec<&str> = elements(parts).filter_map(|part| Part::lenient(part).text()).map(Value::raw).collect();
    match texts.as_slice() {
        [] => None,
        [only] => Some(Cow::Borrowed(only)),
        texts => Some(Cow::Owned(format!("\"{}\"", texts.iter().map(|text| unquote(text)).collect::<Vec<_>>().join(separator)))),
    }
}

/// True for the token of an empty string.
pub(super) fn is_empty_token(token: &str) -> bool {
    token.len() <= "\"\"".len()
}
