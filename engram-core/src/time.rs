//! The format of times in a tape: RFC 3339 in UTC with `Z`.

/// True if the text is `YYYY-MM-DDTHH:MM:SS[.fraction]Z` with a real date and time of day.
pub fn is_time(text: &str) -> bool {
    let Some((seconds, fraction)) = text.strip_suffix('Z').and_then(|time| time.split_at_checked(19)) else {
        return false;
    };
    let format_fits =
        seconds.bytes().zip(b"0000-00-00T00:00:00").all(|(byte, form)| if *form == b'0' { byte.is_ascii_digit() } else { byte == *form });
    let number = |from: usize, to: usize| seconds.get(from..to).and_then(|digits| digits.parse::<u32>().ok()).unwrap_or(u32::MAX);
    let (year, month, day) = (number(0, 4), number(5, 7), number(8, 10));
    let fraction_fits = match fraction.strip_prefix('.') {
        Some(digits) => !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()),
        None => fraction.is_empty(),
    };
    let clock = number(11, 13) < 24 && number(14, 16) < 60 && number(17, 19) < 60;
    format_fits && fraction_fits && clock && (1..=days(year, month)).contains(&day)
}

fn days(year: u32, month: u32) -> u32 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    }
}
