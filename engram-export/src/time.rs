//! Times of events as numbers.

use jiff::Timestamp;

/// The time of an event, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Exactly this.
    Exact(i64),
    /// The log has more than nine digits of a second: the rest is cut.
    Cut(i64),
    /// Before 1677 or after 2262.
    OutOfRange,
}

impl Moment {
    /// The nanoseconds, where they fit.
    pub fn nanoseconds(self) -> Option<i64> {
        match self {
            Moment::Exact(nanoseconds) | Moment::Cut(nanoseconds) => Some(nanoseconds),
            Moment::OutOfRange => None,
        }
    }
}

/// The moment that a time of a tape means: RFC 3339, UTC, `Z`.
pub fn moment(t: &str) -> Moment {
    const SECONDS: usize = "2026-01-02T03:04:05".len();
    let digits = t.len().saturating_sub(SECONDS + ".Z".len());
    let is_cut = digits > 9 && t.is_ascii();
    let parsed: Result<Timestamp, _> = if is_cut {
        format!("{}Z", &t[..SECONDS + 10]).parse()
    } else {
        t.parse()
    };
    let nanoseconds = parsed
        .ok()
        .and_then(|time| i64::try_from(time.as_nanosecond()).ok());
    match nanoseconds {
        None => Moment::OutOfRange,
        Some(nanoseconds) if is_cut => Moment::Cut(nanoseconds),
        Some(nanoseconds) => Moment::Exact(nanoseconds),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_nanoseconds_or_out_of_range() {
        assert_eq!(
            moment("1970-01-01T00:00:01.5Z"),
            Moment::Exact(1_500_000_000)
        );
        assert_eq!(
            moment("1969-12-31T23:59:59Z"),
            Moment::Exact(-1_000_000_000)
        );
        assert_eq!(
            moment("1970-01-01T00:00:00.123456789Z"),
            Moment::Exact(123_456_789)
        );
        assert_eq!(
            moment("1970-01-01T00:00:00.1234567899Z"),
            Moment::Cut(123_456_789)
        );
        assert_eq!(moment("9999-01-01T00:00:00Z"), Moment::OutOfRange);
        assert_eq!(moment("é"), Moment::OutOfRange);
    }
}
