//! Control sequences of a terminal before a printed record: a program that clears the screen writes them to its output, too.

/// The most bytes of control sequences before a record.
const MAX_BYTES: usize = 64;
/// How a control sequence begins.
const INTRODUCER: &[u8] = b"\x1b[";

/// The length of the control sequences at the beginning of a line. 0 if something other than an object follows them: then they are part
/// of a text that is not JSON.
#[inline]
pub(crate) fn controls(line: &[u8]) -> usize {
    if line.first() == Some(&INTRODUCER[0]) {
        controls_before_object(line)
    } else {
        0
    }
}

#[cold]
fn controls_before_object(line: &[u8]) -> usize {
    let mut rest = line;
    while let Some(after) = without_sequence(rest) {
        rest = after;
    }
    let length = line.len() - rest.len();
    let is_blank = rest.trim_ascii().is_empty();
    if length <= MAX_BYTES && (is_blank || rest.starts_with(b"{")) {
        length
    } else {
        0
    }
}

/// The text after a complete control sequence: parameters, intermediate bytes, and the final byte that names it (ECMA-48).
fn without_sequence(text: &[u8]) -> Option<&[u8]> {
    let sequence = text[..text.len().min(MAX_BYTES)].strip_prefix(INTRODUCER)?;
    let skip = |from: usize, bytes: std::ops::RangeInclusive<u8>| {
        sequence[from..]
            .iter()
            .position(|byte| !bytes.contains(byte))
            .map(|length| from + length)
    };
    let end = skip(skip(0, 0x30..=0x3f)?, 0x20..=0x2f)?;
    (0x40..=0x7e)
        .contains(&sequence[end])
        .then(|| &text[INTRODUCER.len() + end + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complete_sequences_before_an_object_are_controls() {
        for (controls_before, rest) in [
            ("", "{\"a\":1}"),
            ("\x1b[2J\x1b[3J\x1b[H", "{\"a\":1}"),
            ("\x1b[?25l\x1b[0;31m\x1b[1 q", "{}"),
            ("\x1b[H", ""),
            ("\x1b[H", "\r"),
            ("", "\x1b[2J text"),
            ("", "\x1b[2J[1]"),
            ("", "\x1b[2"),
            ("", "\x1b[{\"a\":1}"),
            ("", "\x1b{\"a\":1}"),
            ("", "\x1b]0;title\x07{}"),
            ("", "\x1b[2é{}"),
        ] {
            assert_eq!(
                controls(format!("{controls_before}{rest}").as_bytes()),
                controls_before.len(),
                "{controls_before:?} {rest:?}"
            );
        }
    }

    #[test]
    fn controls_are_bounded() {
        let many = |count: usize| format!("{}{{}}", "\x1b[H".repeat(count));
        let fitting = MAX_BYTES / 3;
        assert_eq!(
            [fitting, fitting + 1, 1 << 20].map(|count| controls(many(count).as_bytes())),
            [fitting * 3, 0, 0]
        );
        assert_eq!(
            controls(format!("\x1b[{}H{{}}", "1".repeat(MAX_BYTES)).as_bytes()),
            0
        );
    }
}
