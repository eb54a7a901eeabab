//! Content parts (`{"type": "input_text", "text": ...}`) and JSON string tokens.

use std::borrow::Cow;

use engram_core::emit::Fault;

pub(super) use crate::shared::value::unquote;
use crate::shared::value::{Field, Value, elements};

use super::readers::Part;

/// One part of the list at `list`.
///
/// # Errors
/// [`Fault::Malformed`] with the pointer of the part.
pub(super) fn part<'a>(value: Value<'a>, list: &str, index: usize) -> Result<Part<'a>, Fault> {
    // Formats a pointer only for the error.
    Part::strict(value, list).or_else(|_| Part::strict(value, &format!("{list}/{index}")))
}

/// The image or sound of a part: its URL, or the id of a file that the provider keeps.
pub(super) fn media<'a>(part: &Part<'a>) -> Field<'a> {
    part.image_url().or(part.audio_url()).or(part.file_id())
}

/// The texts of parts as one JSON token. The tokens are joined without being decoded.
pub(super) fn joined_texts<'a>(parts: Field<'a>, separator: &str) -> Option<Cow<'a, str>> {
    let texts: Vec<&str> = elements(parts)
        .filter_map(|part| Part::lenient(part).text())
        .map(Value::raw)
        .collect();
    match texts.as_slice() {
        [] => None,
        [only] => Some(Cow::Borrowed(only)),
        texts => Some(Cow::Owned(format!(
            "\"{}\"",
            texts
                .iter()
                .map(|text| unquote(text))
                .collect::<Vec<_>>()
                .join(separator)
        ))),
    }
}

/// The texts of a list as one JSON token, each on lines of its own.
pub(super) fn joined_lines(list: Value<'_>) -> Option<Cow<'_, str>> {
    let mut texts = list
        .elements()
        .map(Part::lenient)
        .filter_map(|part| part.text())
        .filter(|text| text.text().is_some());
    if let (Some(only), None) = (texts.next(), texts.next()) {
        return Some(Cow::Borrowed(only.raw()));
    }
    let mut joined = String::from("\"");
    let mut has_text = false;
    for text in list
        .elements()
        .map(Part::lenient)
        .filter_map(|part| part.text())
        .map(|text| unquote(text.raw()))
    {
        if has_text && !joined.ends_with("\\n") && !text.is_empty() {
            joined.push_str("\\n");
        }
        joined.push_str(text);
        has_text = true;
    }
    joined.push('"');
    has_text.then_some(Cow::Owned(joined))
}

/// True for the token of an empty string.
pub(super) fn is_empty_token(token: &str) -> bool {
    token.len() <= "\"\"".len()
}
