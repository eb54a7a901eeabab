//! Times as a person says them.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// `now`, `5m ago`, `3h ago`, `2d ago`, then the day. A text that is no time stays.
pub fn ago(time: &str, now: Timestamp) -> String {
    let Ok(then) = time.parse::<Timestamp>() else {
        return time.to_owned();
    };
    let past = now.duration_since(then);
    let (minutes, hours) = (past.as_mins(), past.as_hours());
    match past {
        past if past < SignedDuration::ZERO => day(time),
        _ if minutes < 1 => "now".to_owned(),
        _ if hours < 1 => format!("{minutes}m ago"),
        _ if hours < 48 => format!("{hours}h ago"),
        _ if hours < 24 * 14 => format!("{}d ago", hours / 24),
        _ => day(time),
    }
}

/// The day of a time, in UTC as in the tape.
pub fn day(time: &str) -> String {
    time.get(..10).unwrap_or(time).to_owned()
}

/// The week of a time, as ISO 8601 numbers them: `2026-W48`.
pub fn week(time: &str) -> String {
    let Ok(then) = time.parse::<Timestamp>() else {
        return day(time);
    };
    let week = then.to_zoned(TimeZone::UTC).date().iso_week_date();
    format!("{}-W{:02}", week.year(), week.week())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_relative_as_long_as_that_helps() {
        let now: Timestamp = "2026-11-26T12:00:00Z".parse().unwrap();
        let of = |time: &str| ago(time, now);
        assert_eq!(of("2026-11-26T11:59:31.5Z"), "now");
        assert_eq!(of("2026-11-26T11:15:00Z"), "45m ago");
        assert_eq!(of("2026-11-25T11:00:00Z"), "25h ago");
        assert_eq!(of("2026-11-20T11:00:00Z"), "6d ago");
        assert_eq!(
            [
                of("2026-10-20T11:00:00Z"),
                of("2027-01-01T00:00:00Z"),
                of("x")
            ],
            ["2026-10-20", "2027-01-01", "x"]
        );
    }

    #[test]
    fn weeks_are_those_of_the_standard() {
        assert_eq!(
            [week("2026-11-26T12:00:00Z"), week("2027-01-01T00:00:00Z")],
            ["2026-W48", "2026-W53"]
        );
    }
}
