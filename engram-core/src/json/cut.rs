//! Whether a text that is no JSON only ends too early.

/// True if `text` is the beginning of JSON, and `error` is what the parser says of it. The parser takes a number whose digits are missing
/// at the end of the text for a wrong one.
pub fn is_cut(text: &str, error: &serde_json::Error) -> bool {
    error.is_eof() || (ends_in_number(text) && is_at_end(text, error))
}

/// True if the text ends inside a number: behind its sign, point or exponent.
fn ends_in_number(text: &str) -> bool {
    let without_sign = text.strip_suffix(['+', '-']).unwrap_or(text);
    let before = without_sign.strip_suffix(['.', 'e', 'E']);
    match before {
        Some(digits) => digits.ends_with(|last: char| last.is_ascii_digit()),
        None => text.strip_suffix('-').is_some_and(may_have_value),
    }
}

/// True if a value may come next.
fn may_have_value(before: &str) -> bool {
    let before = before.trim_end();
    before.is_empty() || before.ends_with(['[', ',', ':'])
}

/// True if the error is at the last character.
fn is_at_end(text: &str, error: &serde_json::Error) -> bool {
    let last_line = text.rsplit('\n').next().unwrap_or_default();
    let lines = memchr::memchr_iter(b'\n', text.as_bytes()).count() + 1;
    error.line() == lines && error.column() >= last_line.len()
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    fn is_cut_text(text: &str) -> bool {
        let error = serde_json::from_str::<&RawValue>(text).unwrap_err();
        is_cut(text, &error)
    }

    #[test]
    fn every_beginning_of_a_document_is_cut() {
        let document = "{\"a\": [-0.5e-7, 1E+2, true, null, \"x\\u00e4\"],\n \"b\": {\"c\": -1}}";
        for end in 1..document.len() {
            assert!(is_cut_text(&document[..end]), "{}", &document[..end]);
        }
    }

    #[test]
    fn wrong_text_is_not_cut() {
        for text in [
            "{\"a\": 1.}",
            "{\"a\": x-",
            "[1e]",
            "[--",
            "[.",
            "[a.\n1.",
            "[1,]",
            "{\"a\" 1.",
            "[1.\n2.",
        ] {
            assert!(!is_cut_text(text), "{text}");
        }
    }
}
