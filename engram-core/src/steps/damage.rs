//! Damaged lines: a crash leaves a record that is cut, or a run of NUL bytes, and the harness goes on writing on the same line.

use memchr::memchr_iter;

use crate::input::head::{first_value, is_blank};

/// The most places of a line where a whole record is looked for.
const MAX_TRIES: usize = 4096;

/// How many bytes may be read for it, in lengths of the line.
const MAX_LENGTHS: usize = 4;

/// The offset of the whole object that ends a line which does not begin with one. `None` if there is none.
pub(super) fn whole_record(line: &str) -> Option<usize> {
    let mut bytes_left = line.len().saturating_mul(MAX_LENGTHS);
    for at in memchr_iter(b'{', line.as_bytes()).take(MAX_TRIES) {
        let object = &line[at..];
        if !object[1..].trim_ascii_start().starts_with('"') {
            continue;
        }
        match first_value(object) {
            Ok(end) if is_blank(&object.as_bytes()[end..]) => return Some(at),
            Ok(end) => bytes_left = bytes_left.saturating_sub(end),
            // How much was read is not known: at most all of it.
            Err(true) => bytes_left = bytes_left.saturating_sub(object.len()),
            Err(false) => {}
        }
        if bytes_left == 0 {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_object_that_ends_a_line_is_found() {
        for (line, expected) in [
            (
                r#"{"a":{"b":1},"c":"cut{"d":{"e":2}}"#,
                Some(r#"{"d":{"e":2}}"#),
            ),
            ("\0\0\0{\"a\":1} ", Some("{\"a\":1} ")),
            (r#"{"a":"{\"b\":1}"#, None),
            (r#"{"a":{"b":1},"c"#, None),
            (r#"{"a":"x {"b":1}"#, Some(r#"{"b":1}"#)),
            ("{}", None),
        ] {
            assert_eq!(whole_record(line).map(|at| &line[at..]), expected, "{line}");
        }
    }

    #[test]
    fn a_hostile_line_takes_a_bounded_time() {
        assert_eq!(whole_record(&r#"{"a":"#.repeat(1 << 20)), None);
    }
}
