//! Images and files in messages: hashed, never copied to the tape.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use engram_core::event::Attachment;
use engram_core::hash::{Hash, StreamHasher};
use engram_core::text::Text;

use super::value::Value;

/// The attachment of a URL (a JSON string): hash and size of a base64 `data:` URL, or the URL itself as the name. None if it is not a
/// string.
pub fn data_url(url: Value<'_>) -> Option<Attachment<'_>> {
    data_url_token(url.raw())
}

/// As [`data_url`], for a raw JSON value.
pub fn data_url_token(token: &str) -> Option<Attachment<'_>> {
    let name = Text::of_str(token)?;
    let data = token
        .strip_prefix("\"data:")
        .and_then(|rest| rest.strip_suffix('"'))
        .and_then(|rest| rest.split_once(";base64,"));
    let Some((media_type, data)) = data else {
        return Some(Attachment {
            media_type: None,
            hash: None,
            bytes: None,
            name: Some(name),
        });
    };
    let as_text = || hash_of(name.decode().ok()?.split_once(";base64,")?.1);
    let hashed = || decoded_hash(data).or_else(as_text);
    let (hash, bytes) = (!data.is_empty()).then(hashed).flatten().unzip();
    Some(Attachment {
        media_type: Some(Text::Plain(media_type)),
        hash,
        bytes,
        name: None,
    })
}

/// The hash and size (in bytes) of base64 data: of the decoded bytes, or of the text if it does not decode. None of an empty text: harnesses leave
/// out the bytes of a file in this way.
pub fn base64_hash(data: Text<'_>) -> Option<(Hash, u64)> {
    if data.is_empty() {
        return None;
    }
    let raw = data.raw();
    let digits = if data.token().is_some() {
        raw.get(1..raw.len().saturating_sub(1))?
    } else {
        raw
    };
    decoded_hash(digits).or_else(|| text_hash(data))
}

/// The hash and size (in bytes) of a text. None if the log has no UTF-8 for it.
pub fn text_hash(text: Text<'_>) -> Option<(Hash, u64)> {
    hash_of(&text.decode().ok()?)
}

fn hash_of(text: &str) -> Option<(Hash, u64)> {
    Some((Hash::of_bytes(text.as_bytes()), text.len() as u64))
}

/// Bytes of base64 that are decoded at once. They must still be in the cache when they are hashed.
const CHUNK_BYTES: usize = 32 << 10;

/// Standard base64, with or without padding. Ignores unused bits of the last digit, as most decoders do.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::RequireNone)
        .with_decode_allow_trailing_bits(true),
);

/// The hash and size of the decoded bytes. None if the text is not base64.
fn decoded_hash(data: &str) -> Option<(Hash, u64)> {
    let mut hasher = StreamHasher::default();
    let mut decoded = [0; CHUNK_BYTES / 4 * 3];
    for chunk in data.trim_end_matches('=').as_bytes().chunks(CHUNK_BYTES) {
        let len = BASE64.decode_slice(chunk, &mut decoded).ok()?;
        hasher.update(&decoded[..len]);
    }
    Some(hasher.finish())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn base64_is_hashed_by_its_decoded_bytes() {
        assert_eq!(base64_hash(Text::Plain("")), None);
        assert_eq!(base64_hash(Text::Token("\"\"")), None);
        let cases: [(&str, &[u8]); 8] = [
            ("Zg==", b"f"),
            ("Zm8=", b"fo"),
            ("Zm9v", b"foo"),
            ("Zm9vYmE", b"fooba"),
            // Unused bits are set.
            ("Zh==", b"f"),
            // Not base64.
            ("Zm9v!", b"Zm9v!"),
            ("Zm9vY", b"Zm9vY"),
            ("Zg==Zg==", b"Zg==Zg=="),
        ];
        for (text, bytes) in cases {
            assert_eq!(
                base64_hash(Text::Plain(text)),
                Some((Hash::of_bytes(bytes), bytes.len() as u64)),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_not_base64_is_hashed_without_its_escapes() {
        let expected = Some((Hash::of_bytes(b"a \"b\"\n"), 6));
        let token = r#""a \"b\"\n""#;
        assert_eq!(
            [
                base64_hash(Text::Token(token)),
                text_hash(Text::Token(token))
            ],
            [expected; 2]
        );
        let url = data_url_token(r#""data:text/plain;base64,a \"b\"\n""#).unwrap();
        assert_eq!(url.hash.zip(url.bytes), expected);
        assert_eq!(
            base64_hash(Text::Token(r#""Zm9v""#)),
            Some((Hash::of_bytes(b"foo"), 3))
        );
    }

    proptest! {
        #[test]
        fn chunked_hash_equals_the_hash_of_all_bytes(len in 1..3 * CHUNK_BYTES, add in any::<u8>(), wrong in any::<proptest::sample::Index>()) {
            let bytes: Vec<u8> = (0..len).map(|at| (at as u8).wrapping_mul(add)).collect();
            let mut text = BASE64.encode(&bytes);
            prop_assert_eq!(base64_hash(Text::Plain(&text)), Some((Hash::of_bytes(&bytes), bytes.len() as u64)));
            let at = wrong.index(text.len());
            text.replace_range(at..=at, "-");
            prop_assert_eq!(base64_hash(Text::Plain(&text)), Some((Hash::of_bytes(text.as_bytes()), text.len() as u64)));
        }
    }
}
