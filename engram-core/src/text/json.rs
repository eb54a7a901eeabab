//! JSON values in the canonical form of a tape.

use std::borrow::Cow;

use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch, u8x64};

use super::block::{BLOCK, escaped, pad_block, prefix_xor};
use super::canonical::{Push, is_canonical_escape, push_token};
use super::decode::{Unit, read_escape};
use super::escapes::{backslash, quote_or_backslash};
use crate::limits::LimitExceeded;

/// A JSON value in canonical form, for a hash of it. A JSON parser must have accepted `raw`.
pub fn canonical_json(raw: &str) -> Cow<'_, str> {
    if is_canonical(raw, usize::MAX) {
        return Cow::Borrowed(raw);
    }
    let mut out = String::new();
    match push_json(&mut out, raw, usize::MAX) {
        Ok(()) => Cow::Owned(out),
        Err(_) => Cow::Borrowed(raw),
    }
}

/// Appends a JSON value in canonical form: without white space, strings in canonical form. Key order and number format stay the same.
///
/// A JSON parser must have accepted `raw`.
///
/// # Errors
/// [`LimitExceeded`] if the value nests deeper than `max_depth`; `out` then contains part of it.
pub fn push_json(out: &mut impl Push, raw: &str, max_depth: usize) -> Result<(), LimitExceeded> {
    if is_canonical(raw, max_depth) {
        out.push_str(raw);
        return Ok(());
    }
    push_by_token(out, raw, max_depth)
}

/// True if a JSON value nests deeper than `max_depth`.
pub(crate) fn nests_deeper(raw: &str, max_depth: usize) -> bool {
    // Each level takes two bytes, so short values cannot nest that deep.
    raw.len() > max_depth.saturating_mul(2) && push_json(&mut Discard, raw, max_depth).is_err()
}

/// Discards all text.
struct Discard;

impl Push for Discard {
    fn push_str(&mut self, _: &str) {}
}

/// JSON with U+FFFD in place of lone surrogates, so that every parser accepts it.
pub fn replace_lone_surrogates(json: &str) -> Cow<'_, str> {
    let bytes = json.as_bytes();
    let (mut replaced, mut start, mut at) = (String::new(), 0, 0);
    while let Some(escape) = backslash(bytes, at) {
        let (unit, len) = read_escape(bytes, escape);
        at = escape + len;
        if matches!(unit, Unit::Lone(_)) {
            replaced.push_str(&json[start..escape]);
            replaced.push_str("\\ufffd");
            start = at;
        }
    }
    if start == 0 {
        return Cow::Borrowed(json);
    }
    replaced.push_str(&json[start..]);
    Cow::Owned(replaced)
}

/// As [`push_json`], token by token.
fn push_by_token(out: &mut impl Push, raw: &str, max_depth: usize) -> Result<(), LimitExceeded> {
    let bytes = raw.as_bytes();
    let (mut at, mut start, mut depth) = (0, 0, 0usize);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                let (end, is_canonical) = string_end(bytes, at).unwrap_or((bytes.len(), false));
                if !is_canonical {
                    out.push_str(&raw[start..at]);
                    push_token(out, &raw[at..end]);
                    start = end;
                }
                at = end;
                continue;
            }
            b' ' | b'\n' | b'\r' | b'\t' => {
                out.push_str(&raw[start..at]);
                start = at + 1;
            }
            b'{' | b'[' => {
                depth += 1;
                if depth > max_depth {
                    return Err(LimitExceeded {
                        limit: "nesting",
                        allowed: max_depth as u64,
                    });
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    out.push_str(&raw[start..]);
    Ok(())
}

/// A fast check. True if the value is in canonical form and nests at most `max_depth` deep; may be false for such a value too.
fn is_canonical(raw: &str, max_depth: usize) -> bool {
    let (blocks, last) = raw.as_bytes().as_chunks::<BLOCK>();
    dispatch!(Level::new(), simd => {
        let mut scan = CanonicalScan { max_opened: max_depth, ..CanonicalScan::default() };
        blocks.iter().all(|block| scan.block(u8x64::load_array_ref(simd, block), BLOCK))
            && scan.block(u8x64::load_array_ref(simd, &pad_block(last)), last.len())
    })
}

/// The state of [`is_canonical`] between two blocks.
#[derive(Default)]
struct CanonicalScan {
    begins_escaped: bool,
    begins_in_string: bool,
    /// The number of objects and arrays so far: an upper bound for the nesting.
    opened: usize,
    max_opened: usize,
}

impl CanonicalScan {
    /// False if the first `len` bytes of the block contain white space between tokens or an escape that may not be canonical, or if the
    /// value may nest too deep.
    #[inline(always)]
    fn block<S: Simd>(&mut self, bytes: u8x64<S>, len: usize) -> bool {
        let equal = |byte: u8| bytes.simd_eq(byte).to_bitmask();
        let (quotes, backslashes) = (equal(b'"'), equal(b'\\'));
        let (escaped, begins_escaped) = escaped(backslashes, self.begins_escaped);
        let usual = quotes | backslashes | equal(b'n');
        if escaped & !usual != 0
            && escaped & !(usual | equal(b't') | equal(b'r') | equal(b'b') | equal(b'f')) != 0
        {
            return false;
        }
        let in_strings =
            prefix_xor(quotes & !escaped) ^ if self.begins_in_string { u64::MAX } else { 0 };
        let present = u64::MAX
            .checked_shr((BLOCK - len) as u32)
            .unwrap_or_default();
        self.opened += ((equal(b'{') | equal(b'[')) & !in_strings & present).count_ones() as usize;
        (self.begins_escaped, self.begins_in_string) =
            (begins_escaped, in_strings >> (BLOCK - 1) == 1);
        bytes.simd_le(b' ').to_bitmask() & !in_strings & present == 0
            && self.opened <= self.max_opened
    }
}

/// The index after the closing quote of the string token that begins at `at`, and whether all its escapes are canonical. `None` if the
/// bytes end before it.
pub(crate) fn string_end(bytes: &[u8], at: usize) -> Option<(usize, bool)> {
    let (mut from, mut is_canonical) = (at + 1, true);
    loop {
        let found = quote_or_backslash(bytes, from)?;
        if bytes[found] == b'"' {
            return Some((found + 1, is_canonical));
        }
        is_canonical &= bytes.get(found + 1..).is_some_and(is_canonical_escape);
        from = found + 2;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn white_space_is_removed_and_nothing_else() {
        let mut out = String::new();
        push_json(
            &mut out,
            "{ \"b\" : [1.0, 1e3,\n12345678901234567890 ] , \"a\":\"x  y\\/\" }",
            8,
        )
        .unwrap();
        assert_eq!(out, r#"{"b":[1.0,1e3,12345678901234567890],"a":"x  y/"}"#);
    }

    #[test]
    fn nesting_has_a_limit() {
        let mut out = String::new();
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(push_json(&mut out, &deep, 100).is_err());
        assert!(push_json(&mut out, &deep, 200_000).is_ok());
        // As without a limit.
        assert!(push_json(&mut out, &deep, usize::MAX).is_ok() && !nests_deeper(&deep, usize::MAX));
    }

    fn by_token(raw: &str, max_depth: usize) -> Result<String, u64> {
        let mut out = String::new();
        push_by_token(&mut out, raw, max_depth)
            .map(|()| out)
            .map_err(|limit| limit.allowed)
    }

    /// Fragments of strings.
    const FRAGMENTS: [&str; 10] = [
        r"\n",
        r"\/",
        r"\u001b",
        r"\u0041",
        r"\\",
        r#"\""#,
        "a",
        " ",
        "{[",
        "nineteen plain bytes",
    ];

    proptest! {
        #[test]
        fn canonical_json_is_not_changed(
            strings in proptest::collection::vec(proptest::collection::vec(proptest::sample::select(&FRAGMENTS[..]), 0..12), 0..6),
            canonical in any::<bool>(),
            max_depth in 0usize..5,
        ) {
            let is_kept = |fragment: &&str| !canonical || !["\\/", "\\u0041"].contains(fragment);
            let strings = strings.into_iter().map(|fragments| format!("\"{}\"", fragments.into_iter().filter(is_kept).collect::<String>()));
            let list = strings.collect::<Vec<_>>().join(",");
            for raw in [format!("[{list}]"), format!("[[{list}], []]"), format!("{{\"a\":[{list}]}}"), format!("{{\"a\":[{list}]\n}}")] {
                prop_assert!(!is_canonical(&raw, max_depth) || by_token(&raw, max_depth).as_ref() == Ok(&raw), "{raw}");
            }
        }

        #[test]
        fn output_of_serde_json_is_canonical(texts in proptest::collection::vec("[ -~é\n]{0,90}", 0..5)) {
            let raw = serde_json::json!({"a": texts, "b": [1, {"c": texts}]}).to_string();
            prop_assert!(is_canonical(&raw, 5), "{raw}");
            prop_assert!(!is_canonical(&raw, 4), "{raw}");
        }
    }
}
