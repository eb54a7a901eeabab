//! Images and files inside messages: hashed, never copied.

use engram_core::event::Attachment;
use engram_core::hash::Hash;
use engram_core::text::Text;

use super::value::Value;

/// The attachment that a `data:` URL (a JSON string) holds; of any other URL, its name.
pub fn data_url(url: Value<'_>) -> Option<Attachment<'_>> {
    data_url_token(url.raw())
}

/// As [`data_url`], of a raw JSON value.
pub fn data_url_token(token: &str) -> Option<Attachment<'_>> {
    let name = Text::of_str(token)?;
    let data = token.strip_prefix("\"data:").and_then(|rest| rest.strip_suffix('"')).and_then(|rest| rest.split_once(";base64,"));
    let Some((media_type, data)) = data else {
        return Some(Attachment { media_type: None, hash: None, bytes: None, name: Some(name) });
    };
    let (hash, bytes) = base64_hash(data);
    Some(Attachment { media_type: Some(Text::Plain(media_type)), hash: Some(hash), bytes: Some(bytes), name: None })
}

/// The hash and size of base64 data: of the decoded bytes, or of the text itself where it does not decode.
pub fn base64_hash(data: &str) -> (Hash, u64) {
    let bytes = decode_base64(data);
    let bytes = bytes.as_deref().unwrap_or(data.as_bytes());
    (Hash::of_bytes(bytes), bytes.len() as u64)
}

/// Standard base64, with or without padding. None where the text is something else.
fn decode_base64(data: &str) -> Option<Vec<u8>> {
    let data = data.trim_end_matches('=').as_bytes();
    let mut out = Vec::with_capacity(data.len() / 4 * 3 + 2);
    for chunk in data.chunks(4) {
        let mut bits = 0u32;
        for byte in chunk {
            bits = bits << 6 | sextet(*byte)?;
        }
        bits <<= 6 * (4 - chunk.len());
        let [_, bytes @ ..] = bits.to_be_bytes();
        out.extend_from_slice(&bytes[..chunk.len().checked_sub(1).filter(|len| *len > 0)?]);
    }
    Some(out)
}

fn sextet(byte: u8) -> Option<u32> {
    let value = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_decodes() {
        let cases: [(&str, Option<&[u8]>); 6] = [
            ("", Some(b"")),
            ("Zg==", Some(b"f")),
            ("Zm8=", Some(b"fo")),
            ("Zm9v", Some(b"foo")),
            ("Zm9vYmE", Some(b"fooba")),
            ("Zm9v!", None),
        ];
        for (text, bytes) in cases {
            assert_eq!(decode_base64(text).as_deref(), bytes, "{text}");
        }
        assert_eq!(base64_hash("Zm9v").0, Hash::of_bytes(b"foo"));
        assert_eq!(base64_hash("no base64").0, Hash::of_bytes(b"no base64"));
    }
}
