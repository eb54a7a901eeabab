//! Times in the form of a tape: RFC 3339 in UTC with `Z`, with the fraction digits of the source.

use std::borrow::Cow;

use engram_core::text::Text;
use engram_core::time::{is_millis, utc};
use jiff::Timestamp;

use super::value::{Field, raw_str, text};

/// A time string of a source in the form of a tape. None if it is not a time.
///
/// ```
/// use engram_adapters::shared::time::rfc3339;
///
/// assert_eq!(rfc3339("2026-11-21T12:02:05.20+02:00").as_deref(), Some("2026-11-21T10:02:05.20Z"));
/// assert_eq!(rfc3339("yesterday"), None);
/// ```
pub fn rfc3339(source: &str) -> Option<Cow<'_, str>> {
    utc(source)
}

/// The time of a field in the form of a tape. None if it is absent, or is not a time.
pub fn tape_time(field: Field<'_>) -> Option<Cow<'_, str>> {
    field?;
    let source = raw_str(field);
    utc(source).or_else(|| escaped_time(text(field)?))
}

/// A time that is written with escapes.
#[cold]
fn escaped_time(source: Text<'_>) -> Option<Cow<'_, str>> {
    utc(&source.decode().ok()?).map(|time| Cow::Owned(time.into_owned()))
}

/// The time of milliseconds since the Unix epoch. None if it is out of range.
pub fn from_millis(millis: i64) -> Option<String> {
    let time = Timestamp::from_millisecond(millis)
        .ok()
        .filter(|_| is_millis(millis))?;
    Some(format!("{time:.3}"))
}

/// Milliseconds per day.
const DAY_MILLIS: i64 = 86_400_000;

/// Formats times that are given in milliseconds since the Unix epoch. Faster than [`from_millis`] for times of one day: it keeps the
/// date of the previous time.
#[derive(Debug, Default)]
pub struct MillisFormatter {
    /// The previous time.
    formatted: String,
    /// Its day since the epoch.
    day: i64,
}

impl MillisFormatter {
    /// The time in the form of a tape. None if it is out of range.
    pub fn format(&mut self, millis: i64) -> Option<&str> {
        let day = millis.div_euclid(DAY_MILLIS);
        if day != self.day || self.formatted.is_empty() {
            self.formatted = from_millis(millis)?;
            self.day = day;
            return Some(&self.formatted);
        }
        let millis = u32::try_from(millis.rem_euclid(DAY_MILLIS)).ok()?;
        let (seconds, millis) = (millis / 1000, millis % 1000);
        let mut time = *b"00:00:00.000Z";
        for (at, field) in [
            (0, seconds / 3600),
            (3, seconds / 60 % 60),
            (6, seconds % 60),
            (9, millis / 10),
        ] {
            time[at] += (field / 10) as u8;
            time[at + 1] += (field % 10) as u8;
        }
        time[11] += (millis % 10) as u8;
        self.formatted.truncate(self.formatted.len() - time.len());
        self.formatted.push_str(std::str::from_utf8(&time).ok()?);
        Some(&self.formatted)
    }
}

/// The time of seconds since the Unix epoch. None if it is out of range.
pub fn from_seconds(seconds: i64) -> Option<String> {
    let time = Timestamp::from_second(seconds)
        .ok()
        .filter(|_| seconds.checked_mul(1000).is_some_and(is_millis))?;
    Some(format!("{time:.0}"))
}

/// The milliseconds since the Unix epoch of a time in any RFC 3339 form. None if it is not a time.
pub fn millis(source: &str) -> Option<i64> {
    utc(source)?
        .parse::<Timestamp>()
        .ok()
        .map(Timestamp::as_millisecond)
}

/// True for a time in the form of a tape with at most nine digits of a fraction.
pub fn is_tape_time(text: &str) -> bool {
    matches!(utc(text), Some(Cow::Borrowed(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::value::{StructuralIndex, parse};

    #[test]
    fn canonical_times_are_unchanged() {
        for time in [
            "2026-11-21T10:02:05.223Z",
            "2026-11-21T10:02:05Z",
            "2026-12-31T23:59:59.123456789Z",
            "2024-02-29T00:00:00.0Z",
        ] {
            assert_eq!(rfc3339(time).as_deref(), Some(time));
        }
    }

    #[test]
    fn offset_becomes_utc_and_fraction_digits_are_kept() {
        assert_eq!(
            rfc3339("2026-11-21T12:02:05.20+02:00").as_deref(),
            Some("2026-11-21T10:02:05.20Z")
        );
        assert_eq!(
            from_millis(1_795_256_784_268).as_deref(),
            Some("2026-11-21T10:26:24.268Z")
        );
        assert_eq!(
            from_seconds(1_795_256_784).as_deref(),
            Some("2026-11-21T10:26:24Z")
        );
    }

    #[test]
    fn escapes_in_a_time_are_decoded() {
        let mut index = StructuralIndex::default();
        let value = parse(
            r#"["2026-11-21T10:02:05Z", "2026\u002d11-21T12:02:05+02:00", "noon", 7]"#,
            &mut index,
        )
        .unwrap();
        let times: Vec<_> = value.elements().map(|time| tape_time(Some(time))).collect();
        let expected = Some("2026-11-21T10:02:05Z");
        assert_eq!(
            times.iter().map(Option::as_deref).collect::<Vec<_>>(),
            [expected, expected, None, None]
        );
        assert_eq!(tape_time(None), None);
    }

    #[test]
    fn formatter_equals_from_millis_for_any_previous_time() {
        const FIRST: i64 = 1_795_256_784_268;
        let mut formatter = MillisFormatter::default();
        assert_eq!(formatter.format(i64::MAX), None);
        for millis in [
            0,
            1,
            -1,
            FIRST,
            FIRST + 1,
            FIRST + 59_999,
            FIRST - FIRST % DAY_MILLIS,
            FIRST - FIRST % DAY_MILLIS - 1,
            253_402_300_799_999,
            253_402_300_800_000,
        ]
        .into_iter()
        .flat_map(|time| [time, time + 7, time + 3_600_000])
        {
            assert_eq!(
                formatter.format(millis),
                from_millis(millis).as_deref(),
                "{millis}"
            );
        }
        assert_eq!(formatter.format(i64::MAX), None);
        assert_eq!(formatter.format(FIRST), Some("2026-11-21T10:26:24.268Z"));
    }

    #[test]
    fn text_that_is_not_a_time_is_none() {
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
