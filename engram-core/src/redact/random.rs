//! Whether a value looks like random characters, as keys do, or like words and numbers, as names do.

/// Random letters and digits change their class (lower case, upper case, digit, sign) after this share of the characters, in tenths of a
/// percent; words do not.
const CHANGES: usize = 250;
/// The fewest changes, for short values.
const MIN_CHANGES: usize = 4;
/// Values of hexadecimal digits have at least this many.
const MIN_HEX: usize = 24;
/// The entropy of hexadecimal digits, in bits per digit. That of random ones is above it in all but one of a thousand values.
const MIN_HEX_ENTROPY: f64 = 2.8;

/// True for a value that no person would write as a name.
pub(super) fn is_random(value: &str) -> bool {
    let value = value.trim_end_matches(['.', '?', '!']);
    let has = |is: fn(&u8) -> bool| value.as_bytes().iter().any(is);
    if !has(u8::is_ascii_digit) || !has(u8::is_ascii_alphabetic) {
        return false;
    }
    let digits: Vec<u8> = value.bytes().filter(|byte| *byte != b'-').collect();
    if digits.iter().all(u8::is_ascii_hexdigit) {
        return digits.len() >= MIN_HEX && entropy(&digits) >= MIN_HEX_ENTROPY;
    }
    let changes = changes(value);
    changes >= MIN_CHANGES && changes * 1000 >= value.len() * CHANGES
}

/// How often the class of the characters changes. A capital before small letters begins a word, and a sign between two words is none.
fn changes(value: &str) -> usize {
    let class = |byte: u8| match byte {
        b'a'..=b'z' => 'a',
        b'A'..=b'Z' => 'A',
        b'0'..=b'9' => '0',
        b'_' | b'-' | b'.' | b'/' | b'=' => ' ',
        _ => '!',
    };
    let classes: Vec<char> = value.bytes().map(class).collect();
    classes
        .windows(2)
        .filter(|pair| pair[0] != pair[1] && !matches!(pair, [' ', _] | [_, ' '] | ['A', 'a']))
        .count()
}

/// Bits per byte.
fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    bytes
        .iter()
        .for_each(|byte| counts[usize::from(*byte)] += 1);
    let all = bytes.len() as f64;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| f64::from(*count) / all)
        .map(|share| -share * share.log2())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_random_and_names_are_not() {
        for key in [
            "9f8a1c0b7d3e4f5a6b2c8d9e0f1a2b3c",
            "550e8400-e29b-41d4-a716-446655440000",
            "aB3dE5gH7jK9mN2pQ4rS",
            "q7w2e9r4t1y8u3i6o5p0",
            "Tr0ub4dor#3x!",
            "x8K_2mPq-Zt41vLbN0",
        ] {
            assert!(is_random(key), "{key}");
        }
        for name in [
            "hunter2",
            "changeme123",
            "your_api_key_here_1",
            "build_token_v2_from_env",
            "getAccessTokenV2FromEnvironment",
            "process.env.OPENAI_API_KEY_2",
            "00000000000000000000000000000001",
            "1234567890123456",
            "2026-11-21-session-of-monday",
            "https//example.com/v2/token",
            "abcdefabcdefabcdefabcdef",
            "XXXXXXXXXXXXXXXX1x",
        ] {
            assert!(!is_random(name), "{name}");
        }
    }
}
