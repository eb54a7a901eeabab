//! Source times in the tape's form: RFC 3339, UTC, `Z`, with the fraction digits that the source had.

use std::borrow::Cow;

use jiff::Timestamp;

use super::value::{Field, raw_str, text};

/// A source time string in the tape's form, or none when it is no time.
pub fn rfc3339(source: &str) -> Option<Cow<'_, str>> {
    if is_tape_time(source) { Some(Cow::Borrowed(source)) } else { other_form(source).map(Cow::Owned) }
}

/// The time of a field in the tape's form. A time needs no escapes, though it may have some.
pub fn tape_time(field: Field<'_>) -> Option<Cow<'_, str>> {
    field?;
    let source = raw_str(field);
    if is_tape_time(source) { Some(Cow::Borrowed(source)) } else { other_form(&text(field)?.decode().ok()?).map(Cow::Owned) }
}

/// A time of any form in the tape's.
#[cold]
fn other_form(source: &str) -> Option<String> {
    let time: Timestamp = source.parse().ok()?;
    let digits = source.split_once('.').map_or(0, |(_, rest)| rest.bytes().take_while(u8::is_ascii_digit).count());
    Some(format!("{time:.digits$}", digits = digits.min(9)))
}

/// Milliseconds since the epoch in the tape's form.
pub fn from_millis(millis: i64) -> Option<String> {
    Timestamp::from_millisecond(millis).ok().map(|time| format!("{time:.3}"))
}

/// Milliseconds of a day.
const DAY: i64 = 86_400_000;

/// Spells times that are given in milliseconds since the epoch. Most are of the same day as the one before: then its date stands.
#[derive(Debug, Default)]
pub struct Clock {
    /// The last time that was spelled.
    spelled: String,
    /// Its day, counted from the epoch.
    day: i64,
}

impl Clock {
    /// The time in the tape's form.
    pub fn spell(&mut self, millis: i64) -> Option<&str> {
        let day = millis.div_euclid(DAY);
        if day != self.day || self.spelled.is_empty() {
            self.spelled = from_millis(millis)?;
            self.day = day;
            return Some(&self.spelled);
        }
        let millis = u32::try_from(millis.rem_euclid(DAY)).ok()?;
        let (seconds, millis) = (millis / 1000, millis % 1000);
        let mut time = *b"00:00:00.000Z";
        for (at, field) in [(0, seconds / 3600), (3, seconds / 60 % 60), (6, seconds % 60), (9, millis / 10)] {
            time[at] += (field / 10) as u8;
            time[at + 1] += (field % 10) as u8;
        }
        time[11] += (millis % 10) as u8;
        self.spelled.truncate(self.spelled.len() - time.len());
        self.spelled.push_str(std::str::from_utf8(&time).ok()?);
        Some(&self.spelled)
    }
}

/// Seconds since the epoch in the tape's form.
pub fn from_seconds(seconds: i64) -> Option<String> {
    Timestamp::from_second(seconds).ok().map(|time| format!("{time:.0}"))
}

/// The milliseconds since the epoch of a time in any RFC 3339 form.
pub fn millis(source: &str) -> Option<i64> {
    source.parse::<Timestamp>().ok().map(Timestamp::as_millisecond)
}

/// True for a time in the tape's form: `2026-01-30T23:59:59Z`, and the same with a fraction. Whether a month has a day 31, or a
/// February more than 28 days, the calendar must tell: such times are not known to be any.
pub fn is_tape_time(text: &str) -> bool {
    let Some((time, [fraction @ .., b'Z'])) = text.as_bytes().split_first_chunk::<19>() else { return false };
    let (Some(date), Some(hour), Some(seconds)) = (time.first_chunk(), time[8..].first_chunk(), time.last_chunk()) else { return false };
    let has_form = fits(date, *b"0000-00-") && fits(hour, *b"00T00:00") && fits(seconds, *b"00:00:00");
    let fraction_fits = match fraction {
        [] => true,
        [b'.', digits @ ..] => (1..=9).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    // Two digits are as large as they are spelled.
    let two = |at: usize| u16::from_be_bytes([time[at], time[at + 1]]);
    let within = |at: usize, first: [u8; 2], last: [u8; 2]| (u16::from_be_bytes(first)..=u16::from_be_bytes(last)).contains(&two(at));
    let is_day = || within(8, *b"01", *b"28") || (within(8, *b"29", *b"30") && !within(5, *b"02", *b"02"));
    let is_clock = || within(11, *b"00", *b"23") && within(14, *b"00", *b"59") && within(17, *b"00", *b"59");
    has_form && fraction_fits && within(5, *b"01", *b"12") && is_day() && is_clock()
}

/// True when the bytes are those of `form`, which has a zero where any digit may stand.
#[inline(always)]
fn fits(bytes: &[u8; 8], form: [u8; 8]) -> bool {
    let others = u64::from_le_bytes(*bytes) ^ u64::from_le_bytes(form);
    // What reaches no byte's highest bit when it is added: a digit is up to nine more than zero, and another byte is the form's.
    let room = u64::from_le_bytes(form.map(|byte| if byte == b'0' { 0x7f - 9 } else { 0x7f }));
    (others | others.wrapping_add(room)) & 0x8080_8080_8080_8080 == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::value::{StructuralIndex, parse};

    #[test]
    fn canonical_times_stand_as_they_are() {
        for time in ["2026-11-21T10:02:05.223Z", "2026-11-21T10:02:05Z", "2026-12-31T23:59:59.123456789Z", "2024-02-29T00:00:00.0Z"] {
            assert_eq!(rfc3339(time).as_deref(), Some(time));
        }
    }

    #[test]
    fn offsets_become_utc_and_keep_their_digits() {
        assert_eq!(rfc3339("2026-11-21T12:02:05.20+02:00").as_deref(), Some("2026-11-21T10:02:05.20Z"));
        assert_eq!(from_millis(1_795_256_784_268).as_deref(), Some("2026-11-21T10:26:24.268Z"));
        assert_eq!(from_seconds(1_795_256_784).as_deref(), Some("2026-11-21T10:26:24Z"));
    }

    #[test]
    fn the_time_of_a_field_may_have_escapes() {
        let mut index = StructuralIndex::default();
        let value = parse(r#"["2026-11-21T10:02:05Z", "2026\u002d11-21T12:02:05+02:00", "noon", 7]"#, &mut index).unwrap();
        let times: Vec<_> = value.elements().map(|time| tape_time(Some(time))).collect();
        let expected = Some("2026-11-21T10:02:05Z");
        assert_eq!(times.iter().map(Option::as_deref).collect::<Vec<_>>(), [expected, expected, None, None]);
        assert_eq!(tape_time(None), None);
    }

    #[test]
    fn a_clock_spells_each_time_whatever_it_spelled_before() {
        const FIRST: i64 = 1_795_256_784_268;
        let mut clock = Clock::default();
        assert_eq!(clock.spell(i64::MAX), None);
        for millis in [0, 1, -1, FIRST, FIRST + 1, FIRST + 59_999, FIRST - FIRST % DAY, FIRST - FIRST % DAY - 1, -62_135_596_800_001]
            .into_iter()
            .flat_map(|time| [time, time + 7, time + 3_600_000])
        {
            assert_eq!(clock.spell(millis), from_millis(millis).as_deref(), "{millis}");
        }
        assert_eq!(clock.spell(i64::MAX), None);
        assert_eq!(clock.spell(FIRST), Some("2026-11-21T10:26:24.268Z"));
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            "yesterday",
            "2026-11-21T10:02:0:Z",
            "2026-11-21T10:02:0/Z",
            "2026-11\u{80}1T10:02:05Z",
            "2026-13-01T00:00:00Z",
            "2026-02-30T00:00:00Z",
            "2026-11-21T10:02:05.Z",
            "2026-11-21",
        ] {
            assert_eq!(rfc3339(text), None, "{text}");
        }
    }
}
