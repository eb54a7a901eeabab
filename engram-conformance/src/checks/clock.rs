//! Finds the times in a source, in all forms that logs use.

use std::collections::HashSet;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};
use memchr::memmem;

/// Every time in a source, to the second and in UTC: `2026-01-31T23:59:59`.
///
/// Known forms: RFC 3339 with `T` or a space, in UTC, with an offset or without one; seconds, milliseconds, microseconds and
/// nanoseconds since 1970; and `Sep 29, 2026, 2:29 AM (UTC-4)`.
pub fn times_in(source: &[u8]) -> HashSet<String> {
    let mut found = HashSet::new();
    for zone in memmem::find_iter(source, b" (UTC") {
        english(source, zone, &mut found);
    }
    let mut at = 0;
    while at < source.len() {
        if !source[at].is_ascii_digit() {
            at += 1;
            continue;
        }
        let run = source[at..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        match run {
            4 => calendar(&source[at..], &mut found),
            9..=19 => since_1970(&source[at..at + run], &mut found),
            _ => {}
        }
        at += run;
    }
    found
}

/// Adds a date with a time of day, as written and in UTC.
fn calendar(source: &[u8], found: &mut HashSet<String>) {
    let Some(text) = source.get(..19).and_then(|text| str::from_utf8(text).ok()) else {
        return;
    };
    let fits = text
        .bytes()
        .zip(b"0000-00-00T00:00:00")
        .all(|(byte, form)| match form {
            b'0' => byte.is_ascii_digit(),
            b'T' => matches!(byte, b'T' | b' '),
            _ => byte == *form,
        });
    if !fits {
        return;
    }
    let end = source[19..]
        .iter()
        .take(40)
        .take_while(|byte| matches!(byte, b'0'..=b'9' | b'.' | b':' | b'+' | b'-' | b'Z'))
        .count();
    let written = String::from_utf8_lossy(&source[..19 + end]).replace(' ', "T");
    if let Ok(time) = written.parse::<Timestamp>() {
        found.insert(in_utc(time));
    }
    found.insert(text.replace(' ', "T"));
}

/// Adds a time in English words that ends before the offset of its time zone.
fn english(source: &[u8], zone: usize, found: &mut HashSet<String>) {
    let words = String::from_utf8_lossy(&source[zone.saturating_sub(40)..zone]).into_owned();
    let mut parts: Vec<&str> = words.rsplit(", ").take(3).collect();
    parts.reverse();
    let offset =
        String::from_utf8_lossy(&source[zone + 5..source.len().min(zone + 12)]).into_owned();
    let Ok(local) = DateTime::strptime("%b %d, %Y, %I:%M %p", parts.join(", ")) else {
        return;
    };
    let Some(minutes) = offset.split(')').next().and_then(minutes_of) else {
        return;
    };
    let time = Offset::from_seconds(minutes * 60).and_then(|offset| offset.to_timestamp(local));
    found.extend(time.ok().map(in_utc));
}

/// `-4` and `+5:30` in minutes.
fn minutes_of(offset: &str) -> Option<i32> {
    let (hours, minutes) = offset.split_once(':').unwrap_or((offset, "0"));
    let hours: i32 = if hours.is_empty() {
        0
    } else {
        hours.parse().ok()?
    };
    let minutes: i32 = minutes.parse().ok()?;
    Some(hours * 60 + if hours < 0 { -minutes } else { minutes })
}

fn since_1970(digits: &[u8], found: &mut HashSet<String>) {
    let Some(number) = str::from_utf8(digits)
        .ok()
        .and_then(|digits| digits.parse::<i64>().ok())
    else {
        return;
    };
    let time = match digits.len() {
        9 | 10 => Timestamp::from_second(number),
        12 | 13 => Timestamp::from_millisecond(number),
        15 | 16 => Timestamp::from_microsecond(number),
        18 | 19 => Timestamp::from_nanosecond(i128::from(number)),
        _ => return,
    };
    found.extend(time.ok().map(in_utc));
}

fn in_utc(time: Timestamp) -> String {
    time.to_zoned_datetime(TimeZone::UTC)
        .strftime("%Y-%m-%dT%H:%M:%S")
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_found_in_every_form() {
        let text = r#"{"a":"2026-01-02T03:04:05.678Z","b":1767323046000,"c":1767323047.25,"d":"2026-01-02T05:04:08+02:00"} # at 2026-01-02 03:04:09, Friday, Jan 2, 2026, 8:34 AM (UTC+5:30)"#;
        let found = times_in(text.as_bytes());
        for second in 5..=9 {
            assert!(
                found.contains(&format!("2026-01-02T03:04:0{second}")),
                "{second}: {found:?}"
            );
        }
        assert!(found.contains("2026-01-02T03:04:00"), "{found:?}");
        assert!(!found.contains("2026-01-02T03:04:04"));
    }
}
