//! Times as a person says them.

use jiff::tz::{Offset, TimeZone};
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

/// The day of a time in a zone.
pub fn day_in(time: &str, zone: &TimeZone) -> String {
    if *zone == TimeZone::UTC {
        return day(time);
    }
    match time.parse::<Timestamp>() {
        Ok(then) => then.to_zoned_datetime(zone.clone()).date().to_string(),
        Err(_) => day(time),
    }
}

/// The week of a time in a zone, as ISO 8601 numbers them: `2026-W48`.
pub fn week_in(time: &str, zone: &TimeZone) -> String {
    let Ok(then) = time.parse::<Timestamp>() else {
        return day(time);
    };
    let week = then.to_zoned_datetime(zone.clone()).date().iso_week_date();
    format!("{}-W{:02}", week.year(), week.week())
}

/// The month of a time in a zone: `2026-11`.
pub fn month_in(time: &str, zone: &TimeZone) -> String {
    let mut day = day_in(time, zone);
    day.truncate("2026-11".len());
    day
}

/// A time zone by its name: `Europe/Berlin`, `+02:00` or `local`.
///
/// # Errors
/// If there is no such zone.
pub fn zone(name: &str) -> Result<TimeZone, String> {
    if name == "local" {
        return Ok(TimeZone::system());
    }
    offset(name)
        .map(TimeZone::fixed)
        .or_else(|| TimeZone::get(name).ok())
        .ok_or_else(|| {
            "a zone is a name such as `Europe/Berlin`, an offset such as `+02:00`, or `local`"
                .to_owned()
        })
}

/// `+02:00`.
fn offset(name: &str) -> Option<Offset> {
    let sign = match name.get(..1)? {
        "+" => 1,
        "-" => -1,
        _ => return None,
    };
    let (hours, minutes) = name[1..].split_once(':')?;
    let (hours, minutes): (u8, u8) = (hours.parse().ok()?, minutes.parse().ok()?);
    if hours > 23 || minutes > 59 {
        return None;
    }
    let seconds = i32::from(hours) * 3600 + i32::from(minutes) * 60;
    Offset::from_seconds(sign * seconds).ok()
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
        let week = |time: &str| week_in(time, &TimeZone::UTC);
        assert_eq!(
            [week("2026-11-26T12:00:00Z"), week("2027-01-01T00:00:00Z")],
            ["2026-W48", "2026-W53"]
        );
    }

    #[test]
    fn a_day_is_that_of_its_zone() {
        let day = |time: &str, name: &str| day_in(time, &zone(name).unwrap());
        assert_eq!(day("2026-01-01T23:30:00.5Z", "UTC"), "2026-01-01");
        assert_eq!(day("2026-01-01T23:30:00.5Z", "+01:00"), "2026-01-02");
        assert_eq!(day("2026-01-01T00:30:00Z", "-01:30"), "2025-12-31");
        assert_eq!(
            week_in("2026-01-04T23:30:00Z", &zone("+01:00").unwrap()),
            "2026-W02"
        );
        for name in ["", "+25:00", "Nowhere/Else", "+1", "é"] {
            assert!(zone(name).is_err(), "{name}");
        }
    }
}
