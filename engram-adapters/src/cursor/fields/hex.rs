//! Bytes as hex digits, in which stores keep records and images.

/// The bytes of hex digits. None if the text is anything else.
pub(in crate::cursor) fn from_hex(hex: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| {
        char::from(byte)
            .to_digit(16)
            .and_then(|digit| u8::try_from(digit).ok())
    };
    let pairs = hex.chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return None;
    }
    pairs
        .map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pairs_of_digits_are_bytes() {
        assert_eq!(from_hex(b"00fF"), Some(vec![0, 255]));
        assert_eq!(from_hex(b""), Some(vec![]));
        assert_eq!([from_hex(b"0"), from_hex(b"0g")], [None, None]);
    }
}
