//! The only time that a transcript records: the `<timestamp>` section at the beginning of a prompt.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;

/// A line at the beginning of a text that replaces an image or a file of the prompt. The transcript writer joins the parts of a message by
/// line ends, in the order of the message (SDK 1.0.32, `dist/esm/34.js`).
pub(in crate::cursor) fn placeholder(text: &str) -> Option<(&str, &str)> {
    let (line, rest) = text.split_once('\n').unwrap_or((text, ""));
    let is_placeholder = matches!(line, "[Image]" | "[File]")
        || (line.starts_with("[File: ") && line.ends_with(']'));
    is_placeholder.then_some((line, rest))
}

/// The time at the beginning of a prompt, in the tape's form. It is local time with its offset, to the minute:
/// `<timestamp>Tuesday, Sep 29, 2026, 2:29 AM (UTC-4)</timestamp>` (command line 2026.09.28).
pub(in crate::cursor) fn prompt_time(prompt: &str) -> Option<String> {
    let mut prompt = prompt;
    while let Some((_, rest)) = placeholder(prompt) {
        prompt = rest;
    }
    let (section, _) = prompt
        .strip_prefix("<timestamp>")?
        .split_once("</timestamp>")?;
    let (local, zone) = section.strip_suffix(')')?.split_once(" (UTC")?;
    let local = DateTime::strptime("%A, %b %d, %Y, %I:%M %p", local).ok()?;
    let offset = Offset::from_seconds(offset_seconds(zone)?).ok()?;
    let time: Timestamp = offset.to_timestamp(local).ok()?;
    Some(format!("{time:.0}"))
}

/// `-4`, `+5:30` or nothing, in seconds.
fn offset_seconds(zone: &str) -> Option<i32> {
    if zone.is_empty() {
        return Some(0);
    }
    let (sign, digits) = match zone.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = digits.split_once(':').unwrap_or((digits, "0"));
    let seconds = hours.parse::<u8>().ok().map(i32::from)? * 3600
        + minutes.parse::<u8>().ok().map(i32::from)? * 60;
    Some(sign * seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time_of(time: &str) -> Option<String> {
        prompt_time(&format!(
            "<timestamp>{time}</timestamp>\n<user_query>\nx\n</user_query>"
        ))
    }

    #[test]
    fn local_times_become_utc() {
        assert_eq!(
            time_of("Tuesday, Sep 29, 2026, 2:29 AM (UTC-4)").as_deref(),
            Some("2026-09-29T06:29:00Z")
        );
        assert_eq!(
            time_of("Tuesday, Sep 29, 2026, 12:05 PM (UTC+5:30)").as_deref(),
            Some("2026-09-29T06:35:00Z")
        );
        assert_eq!(
            time_of("Tuesday, Sep 29, 2026, 12:05 AM (UTC)").as_deref(),
            Some("2026-09-29T00:05:00Z")
        );
    }

    #[test]
    fn an_invalid_time_is_ignored() {
        for time in [
            "",
            "now",
            "Monday, Sep 29, 2026, 2:29 AM (UTC-4)",
            "Tuesday, Sep 29, 2026, 2:29 AM",
            "Tuesday, Sep 29, 2026, 2:29 AM (UTC-99)",
        ] {
            assert_eq!(time_of(time), None, "{time}");
        }
        assert_eq!(
            prompt_time("x <timestamp>Tuesday, Sep 29, 2026, 2:29 AM (UTC-4)</timestamp>"),
            None
        );
    }
}
