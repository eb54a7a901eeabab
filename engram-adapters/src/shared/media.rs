//! Images and files inside messages: hashed, never copied.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use engram_core::event::Attachment;
use engram_core::hash::{Hash, StreamHasher};
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
    decoded_hash(data).unwrap_or_else(|| (Hash::of_bytes(data.as_bytes()), data.len() as u64))
}

/// Bytes of base64 that are decoded together: few enough to stay in a core's cache until they have been hashed.
const PIECE: usize = 32 << 10;

/// Standard base64. What the last digit has more than bytes need is passed over, as most decoders do.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::RequireNone).with_decode_allow_trailing_bits(true),
);

/// The hash and size of what base64, with or without padding, stands for. None where the text is something else.
fn decoded_hash(data: &str) -> Option<(Hash, u64)> {
    let mut hasher = StreamHasher::default();
    let mut room = [0; PIECE / 4 * 3];
    for piece in data.trim_end_matches('=').as_bytes().chunks(PIECE) {
        let len = BASE64.decode_slice(piece, &mut room).ok()?;
        hasher.update(&room[..len]);
    }
    Some(hasher.finish())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn base64_is_hashed_by_what_it_stands_for() {
        let cases: [(&str, &[u8]); 9] = [
            ("", b""),
            ("Zg==", b"f"),
            ("Zm8=", b"fo"),
            ("Zm9v", b"foo"),
            ("Zm9vYmE", b"fooba"),
            // More bits than the bytes need.
            ("Zh==", b"f"),
            // No base64.
            ("Zm9v!", b"Zm9v!"),
            ("Zm9vY", b"Zm9vY"),
            ("Zg==Zg==", b"Zg==Zg=="),
        ];
        for (text, bytes) in cases {
            assert_eq!(base64_hash(text), (Hash::of_bytes(bytes), bytes.len() as u64), "{text}");
        }
    }

    proptest! {
        #[test]
        fn long_data_is_hashed_piece_by_piece(len in 0..3 * PIECE, add in any::<u8>(), wrong in any::<proptest::sample::Index>()) {
            let bytes: Vec<u8> = (0..len).map(|at| (at as u8).wrapping_mul(add)).collect();
            let mut text = BASE64.encode(&bytes);
            prop_assert_eq!(base64_hash(&text), (Hash::of_bytes(&bytes), bytes.len() as u64));
            if !text.is_empty() {
                let at = wrong.index(text.len());
                text.replace_range(at..=at, "-");
                prop_assert_eq!(base64_hash(&text), (Hash::of_bytes(text.as_bytes()), text.len() as u64));
            }
        }
    }
}
