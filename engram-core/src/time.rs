//! The format of times in a tape, RFC 3339 in UTC with `Z`, and the forms of times in logs that become it.

use std::borrow::Cow;

/// The most digits of a second's fraction.
const MAX_FRACTION: usize = 9;
/// Milliseconds from the Unix epoch to the last time with a year of four digits. No session is older than the epoch.
const MILLIS: std::ops::RangeInclusive<i64> = 0..=253_402_300_799_999;

/// A time in any RFC 3339 form in the form of a tape, with its digits of a fraction. None if it is not such a time, or if its second is 60:
/// a tape has no leap seconds.
///
/// ```
/// use engram_core::time::utc;
///
/// assert_eq!(utc("2026-11-21T12:02:05.20+02:00").as_deref(), Some("2026-11-21T10:02:05.20Z"));
/// assert_eq!(utc("2026-11-21t10:02:05z").as_deref(), Some("2026-11-21T10:02:05Z"));
/// assert_eq!(utc("2026-06-30T23:59:60Z"), None);
/// assert_eq!(utc("yesterday"), None);
/// ```
#[inline]
pub fn utc(source: &str) -> Option<Cow<'_, str>> {
    const LONGEST: usize = "2026-01-30T23:59:59.123456789Z".len();
    if source.len() <= LONGEST && is_time(source) {
        Some(Cow::Borrowed(source))
    } else {
        convert(source).map(Cow::Owned)
    }
}

/// True for milliseconds since the Unix epoch that are a time of a tape.
pub fn is_millis(millis: i64) -> bool {
    MILLIS.contains(&millis)
}

/// Converts a time in another RFC 3339 form.
#[cold]
fn convert(source: &str) -> Option<String> {
    let (date, rest) = source.split_at_checked("2026-01-30".len())?;
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let (clock, rest) = rest.split_at_checked("23:59:59".len())?;
    let local = format!("{date}T{clock}Z");
    if !is_time(&local) {
        return None;
    }
    let digits = rest.strip_prefix('.').map_or(0, |rest| {
        rest.bytes().take_while(u8::is_ascii_digit).count()
    });
    if rest.starts_with('.') && !(1..=MAX_FRACTION).contains(&digits) {
        return None;
    }
    let (fraction, zone) = rest.split_at_checked(if digits > 0 { digits + 1 } else { 0 })?;
    shifted(local.as_bytes(), fraction, offset_minutes(zone)?)
}

/// The minutes that a time zone is ahead of UTC.
fn offset_minutes(zone: &str) -> Option<i64> {
    if matches!(zone, "Z" | "z") {
        return Some(0);
    }
    let sign = match zone.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let digits = zone.get(1..).filter(|rest| {
        matches!(rest.len(), 2 | 4) || (rest.len() == 5 && rest.as_bytes()[2] == b':')
    })?;
    let digits = digits.replacen(':', "", 1);
    let digits = Some(digits).filter(|digits| {
        digits.len() % 2 == 0 && digits.bytes().all(|byte| byte.is_ascii_digit())
    })?;
    let (hours, minutes): (i64, i64) =
        (digits[..2].parse().ok()?, digits[2..].parse().unwrap_or(0));
    (hours < 24 && minutes < 60).then_some(sign * (60 * hours + minutes))
}

/// A local time, which has the form of a tape without a fraction, as UTC.
fn shifted(local: &[u8], fraction: &str, offset: i64) -> Option<String> {
    let number = |at: std::ops::Range<usize>| {
        local.get(at).map(|digits| {
            digits
                .iter()
                .fold(0, |sum, digit| 10 * sum + i64::from(digit - b'0'))
        })
    };
    let day = day_of(number(0..4)?, number(5..7)?, number(8..10)?);
    let minutes = 1440 * day + 60 * number(11..13)? + number(14..16)? - offset;
    let (year, month, day) = date_of(minutes.div_euclid(1440));
    let (minute, second) = (minutes.rem_euclid(1440), number(17..19)?);
    let is_of_tape = (0..=9999).contains(&year);
    is_of_tape.then(|| {
        format!(
            "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{second:02}{fraction}Z",
            minute / 60,
            minute % 60
        )
    })
}

// Years begin in March here, so that a leap day is the last day of its year.

/// The days of 400 years.
const ERA: i64 = 146_097;
/// The day 1970-01-01, counted from 0000-03-01.
const EPOCH: i64 = 719_468;

/// The days from the Unix epoch to a date.
fn day_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * ERA + of_era * 365 + of_era / 4 - of_era / 100 + of_year - EPOCH
}

/// The date that is this many days after the Unix epoch.
fn date_of(days: i64) -> (i64, i64, i64) {
    let (era, of_era) = (
        (days + EPOCH).div_euclid(ERA),
        (days + EPOCH).rem_euclid(ERA),
    );
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    (era * 400 + year + next, month, day)
}

/// True if the text is `YYYY-MM-DDTHH:MM:SS[.fraction]Z` with a real date and time of day. Called for every record.
pub fn is_time(text: &str) -> bool {
    let Some((time, [fraction @ .., b'Z'])) = text.as_bytes().split_first_chunk::<19>() else {
        return false;
    };
    let (Some(date), Some(hour), Some(seconds)) = (
        time.first_chunk(),
        time[8..].first_chunk(),
        time.last_chunk(),
    ) else {
        return false;
    };
    let has_form = matches_form(date, *b"0000-00-")
        && matches_form(hour, *b"00T00:00")
        && matches_form(seconds, *b"00:00:00");
    let has_fraction_form = match fraction {
        [] => true,
        [b'.', digits @ ..] => !digits.is_empty() && digits.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    // Two ASCII digits compare like the number that they form.
    let two = |at: usize| u16::from_be_bytes([time[at], time[at + 1]]);
    let is_between = |at: usize, first: [u8; 2], last: [u8; 2]| {
        (u16::from_be_bytes(first)..=u16::from_be_bytes(last)).contains(&two(at))
    };
    let is_day = || is_between(8, *b"01", *b"28") || is_last_of_month(time);
    let is_clock = || {
        is_between(11, *b"00", *b"23")
            && is_between(14, *b"00", *b"59")
            && is_between(17, *b"00", *b"59")
    };
    has_form && has_fraction_form && is_between(5, *b"01", *b"12") && is_day() && is_clock()
}

/// True for a date of digits whose day is the 29th, 30th or 31st and exists.
fn is_last_of_month(date: &[u8; 19]) -> bool {
    let number = |digits: &[u8]| {
        digits.iter().fold(0, |number: u32, digit| {
            number * 10 + u32::from(digit - b'0')
        })
    };
    let (year, month, day) = (
        number(&date[..4]),
        number(&date[5..7]),
        number(&date[8..10]),
    );
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
        for time in [
            "2026-01-31T23:59:59Z",
            "2024-02-29T00:00:00.1Z",
            "2000-02-29T00:00:00Z",
            "0001-12-31T00:00:00.1234567890123Z",
        ] {
            assert!(is_time(time), "{time}");
        }
    }

    #[test]
    fn other_forms_become_the_form_of_a_tape() {
        for (source, expected) in [
            (
                "2026-11-21T10:02:05.123456789Z",
                Some("2026-11-21T10:02:05.123456789Z"),
            ),
            ("2026-11-21t10:02:05.5z", Some("2026-11-21T10:02:05.5Z")),
            ("2026-11-21 10:02:05Z", Some("2026-11-21T10:02:05Z")),
            (
                "2026-01-01T01:02:05.20+05:30",
                Some("2025-12-31T19:32:05.20Z"),
            ),
            ("2024-02-28T23:30:00-0100", Some("2024-02-29T00:30:00Z")),
            ("2024-12-31T23:30:00-01", Some("2025-01-01T00:30:00Z")),
            ("1900-03-01T00:00:00+00:01", Some("1900-02-28T23:59:00Z")),
            ("2026-11-21T10:02:05-00:00", Some("2026-11-21T10:02:05Z")),
            ("0000-01-01T00:00:00+00:01", None),
            ("9999-12-31T23:59:59-00:01", None),
            ("2026-11-21T10:02:60Z", None),
            ("2026-06-30T23:59:60+00:00", None),
            ("2026-11-21T10:02:05.1234567890Z", None),
            ("2026-11-21T10:02:05.Z", None),
            ("2026-11-21T10:02:05", None),
            ("2026-11-21T10:02:05+5:30", None),
            ("2026-11-21T10:02:05+05:3", None),
            ("2026-11-21T10:02:05+24:00", None),
            ("2026-11-21T10:02:05+05:60", None),
            ("2026-11-21T10:02:05+\u{e9}a", None),
            ("2026-11-21T10:02:0\u{e9}", None),
            ("2026-02-30T10:02:05+01:00", None),
            ("yesterday", None),
            ("", None),
        ] {
            assert_eq!(utc(source).as_deref(), expected, "{source}");
        }
    }

    #[test]
    fn days_have_dates() {
        let mut day = day_of(1896, 1, 1);
        for (year, month) in (1896..2105).flat_map(|year| (1..=12).map(move |month| (year, month)))
        {
            for of_month in (1..=31)
                .filter(|of_month| is_time(&format!("{year}-{month:02}-{of_month:02}T00:00:00Z")))
            {
                assert_eq!(
                    (day_of(year, month, of_month), date_of(day)),
                    (day, (year, month, of_month))
                );
                day += 1;
            }
        }
        assert_eq!(day_of(1970, 1, 1), 0);
    }

    #[test]
    fn milliseconds_up_to_years_of_four_digits_are_times() {
        for (json, expected) in [
            ("0", true),
            ("-1", false),
            ("253402300799999", true),
            ("253402300800000", false),
            ("1e12", false),
            ("1795256784268.5", false),
            ("99999999999999999999", false),
            ("", false),
        ] {
            assert_eq!(json.parse().is_ok_and(is_millis), expected, "{json}");
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
