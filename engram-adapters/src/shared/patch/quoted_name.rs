//! File names as diffs have them.

use std::borrow::Cow;

/// A file name of a diff. A name with other characters than printable ASCII is in quotes, with escapes as in C. None if the quotes do not end, or an
/// escape is not known.
pub fn quoted_name(name: &str) -> Option<Cow<'_, str>> {
    let Some(quoted) = name.strip_prefix('"') else {
        return Some(name.into());
    };
    let mut left = quoted.strip_suffix('"')?.bytes();
    let mut bytes = Vec::with_capacity(quoted.len());
    while let Some(byte) = left.next() {
        bytes.push(match byte {
            b'\\' => escaped(&mut left)?,
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

/// The byte of an escape: a letter, or three octal digits.
fn escaped(left: &mut impl Iterator<Item = u8>) -> Option<u8> {
    const LETTERS: &[u8] = b"abtnvfr";
    let first = left.next()?;
    if let Some(at) = LETTERS.iter().position(|letter| *letter == first) {
        return Some(7 + at as u8);
    }
    if !first.is_ascii_digit() {
        return Some(first);
    }
    [first, left.next()?, left.next()?]
        .into_iter()
        .try_fold(0_u8, |byte, digit| {
            let digit = (b'0'..=b'7').contains(&digit).then(|| digit - b'0')?;
            byte.checked_mul(8)?.checked_add(digit)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_quotes_has_escapes() {
        let of = |name| quoted_name(name).map(Cow::into_owned);
        let name = |name: &str| Some(name.to_owned());
        assert_eq!(of("/p/a b.py"), name("/p/a b.py"));
        assert_eq!(
            of(r#""/p/pr\303\266 \"q\" \\ \t""#),
            name("/p/prö \"q\" \\ \t")
        );
        for bad in [
            r#""/p"#,
            r#"""#,
            r#""\""#,
            r#""\9""#,
            r#""\477""#,
            r#""\303""#,
        ] {
            assert_eq!(of(bad), None, "{bad}");
        }
    }
}
