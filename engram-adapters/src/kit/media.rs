//! Images and files inside a log: named and hashed, never copied.

use engram_core::event::Attachment;
use engram_core::hash::Hash;
use engram_core::text::Text;
use serde_json::value::RawValue;

/// The attachment that a `data:` URL (a JSON string token) holds; of another URL, its name.
pub fn data_url(raw: &RawValue) -> Option<Attachment<'_>> {
    let text = Text::of(raw)?;
    let Some(inner) = raw.get().strip_prefix("\"data:").and_then(|rest| rest.strip_suffix('"')) else {
        return Some(Attachment { media_type: None, hash: None, bytes: None, name: Some(text) });
    };
    let (media_type, data) = inner.split_once(";base64,")?;
    Some(base64(Some(Text::Plain(media_type)), data))
}

/// The attachment that base64 text holds. Where it does not decode, the text itself is hashed.
pub fn base64<'a>(media_type: Option<Text<'a>>, data: &str) -> Attachment<'a> {
    let decoded = decode(data);
    let bytes = decoded.as_deref().unwrap_or(data.as_bytes());
    Attachment { media_type, hash: Some(Hash::of_bytes(bytes)), bytes: Some(bytes.len() as u64), name: None }
}

/// The bytes of base64 text, padded or not, in the common or the URL alphabet.
fn decode(data: &str) -> Option<Vec<u8>> {
    let digits = data.trim_end_matches('=').as_bytes();
    let mut out = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    for group in digits.chunks(4) {
        let mut bits = 0u32;
        for digit in group {
            bits = bits << 6 | sextet(*digit)?;
        }
        match group.len() {
            4 => out.extend_from_slice(&bits.to_be_bytes()[1..]),
            3 => out.extend_from_slice(&(bits << 6).to_be_bytes()[1..3]),
            2 => out.extend_from_slice(&(bits << 12).to_be_bytes()[1..2]),
            _ => return None,
        }
    }
    Some(out)
}

fn sextet(digit: u8) -> Option<u32> {
    Some(u32::from(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_every_length() {
        for (text, bytes) in [("", &b""[..]), ("Zg==", b"f"), ("Zm8", b"fo"), ("Zm9v", b"foo"), ("_-8=", b"\xff\xef")] {
            assert_eq!(decode(text).as_deref(), Some(bytes), "{text}");
        }
        assert_eq!(decode("Z"), None);
        assert_eq!(decode("Z g="), None);
    }
}
