//! The format of times in a tape: RFC 3339 in UTC with `Z`.

/// True if the text is `YYYY-MM-DDTHH:MM:SS[.fraction]Z` with a real date and time of day. Called for every record.
pub fn is_time(text: &str) -> bool {
    let Some((time, [fraction @ .., b'Z'])) = text.as_bytes().split_first_chunk::<19>() else { return false };
    let (Some(date), Some(hour), Some(seconds)) = (time.first_chunk(), time[8..].first_chunk(), time.last_chunk()) else { return false };
    let has_form = matches_form(date, *b"0000-00-") && matches_form(hour, *b"00T00:00") && matches_form(seconds, *b"00:00:00");
    let has_fraction_form = match fraction {
        [] => true,
        [b'.', digits @ ..] => !digits.is_empty() && digits.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    // Two ASCII digits compare like the number that they form.
    let two = |at: usize| u16::from_be_bytes([time[at], time[at + 1]]);
    let is_between = |at: usize, first: [u8; 2], last: [u8; 2]| (u16::from_be_bytes(first)..=u16::from_be_bytes(last)).contains(&two(at));
    let is_day = || is_between(8, *b"01", *b"28") || is_last_of_month(time);
    let is_clock = || is_between(11, *b"00", *b"23") && is_between(14, *b"00", *b"59") && is_between(17, *b"00", *b"59");
    has_form && has_fraction_form && is_between(5, *b"01", *b"12") && is_day() && is_clock()
}

/// True for a date of digits whose day is the 29th, 30th or 31st and exists.
fn is_last_of_month(date: &[u8; 19]) -> bool {
    let number = |digits: &[u8]| digits.iter().fold(0, |number: u32, digit| number * 10 + u32::from(digit - b'0'));
    let (year, month, day) = (number(&date[..4]), number(&date[5..7]), number(&date[8..10]));
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 => 28 + u32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    (29..=days).contains(&day)
}

/// True if the bytes equal `form`, where `0` in the form matches any digit.
#[inline(always)]
fn matches_form(bytes: &[u8; 8], form: [u8; 8]) -> bool {
    // Per byte: 0 to 9 for a digit in place of `0`, and 0 for another byte that equals the form's.
    let difference = u64::from_le_bytes(*bytes) ^ u64::from_le_bytes(form);
    // Adding this sets the highest bit of a byte whose difference is too large.
    let limit = u64::from_le_bytes(form.map(|byte| if byte == b'0' { 0x7f - 9 } else { 0x7f }));
    (difference | difference.wrapping_add(limit)) & 0x8080_8080_8080_8080 == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_times_are_accepted() {
        for time in ["2026-01-31T23:59:59Z", "2024-02-29T00:00:00.1Z", "2000-02-29T00:00:00Z", "0001-12-31T00:00:00.1234567890123Z"] {
            assert!(is_time(time), "{time}");
        }
    }

    #[test]
    fn other_texts_are_rejected() {
        for time in [
            "",
            "Z",
            "2026-02-29T00:00:00Z",
            "1900-02-29T00:00:00Z",
            "2026-04-31T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-01-32T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2026-01-01T00:00:60Z",
            "2026-01-01T00:00:00",
            "2026-01-01 00:00:00Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00.xZ",
            "2026-01-01T00:00:00+00:00",
            "2026-01-0xT00:00:00Z",
            "2026-01-01T00:00:00\u{e9}Z",
            "tomorrow",
        ] {
            assert!(!is_time(time), "{time}");
        }
    }
}
