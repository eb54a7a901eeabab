//! Small pictures of numbers: inline SVG that needs no script, with every value as text beside it.

use std::io::{self, Write};

use super::html::escaped;
use crate::show::safe::visible_line;
use crate::stats::UNKNOWN;

/// One value of a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    pub name: String,
    pub amount: f64,
    /// The amount as a person reads it.
    pub text: String,
}

/// Hours of a day, for each day of a week from Monday on.
pub type Week = [[u64; 24]; 7];

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// The height of a chart with columns, and the width of one column, in units of the picture.
const HEIGHT: f64 = 100.0;
const COLUMN: f64 = 10.0;
/// The greatest width of one column, in percent of the chart.
const COLUMN_PERCENT: usize = 8;
/// So many values are shown without a click.
const FEW: usize = 12;
/// The end of a name that is shown beside a bar.
const NAME_CHARS: usize = 28;
/// The side of the square of one hour.
const HOUR: usize = 20;

/// A bar for each value, with its name before and its amount after it; and how many more there are.
///
/// # Errors
/// When `out` cannot be written to.
pub fn bars(title: &str, values: &[Value], more: usize, out: &mut impl Write) -> io::Result<()> {
    let largest = largest(values);
    write!(
        out,
        "<figure class=\"chart\"><figcaption>{}</figcaption><table class=\"bars\">",
        escaped(title)
    )?;
    for value in values {
        let percent = 100.0 * share(value.amount, largest);
        write!(
            out,
            "<tr><th title=\"{}\"><bdi>{}</bdi></th><td><svg aria-hidden=\"true\"><rect width=\"{percent:.1}%\" height=\"100%\"/></svg></td><td>{}</td></tr>",
            escaped(&visible_line(&value.name)),
            escaped(&end_of(&visible_line(&value.name))),
            escaped(&value.text)
        )?;
    }
    write!(out, "</table>")?;
    if more > 0 {
        write!(out, "<p class=\"fact\">and {more} more</p>")?;
    }
    writeln!(out, "</figure>")
}

/// A column for each value, in their order, with a table of the values.
///
/// # Errors
/// When `out` cannot be written to.
pub fn columns(title: &str, values: &[Value], out: &mut impl Write) -> io::Result<()> {
    let largest = largest(values);
    write!(
        out,
        "<figure class=\"chart\"><figcaption>{}</figcaption><svg class=\"columns-chart\" width=\"{}%\" viewBox=\"0 0 {} {HEIGHT}\" \
         preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}\">",
        escaped(title),
        (values.len() * COLUMN_PERCENT).min(100),
        COLUMN * values.len() as f64,
        escaped(title)
    )?;
    for (index, value) in values.iter().enumerate() {
        let height = HEIGHT * share(value.amount, largest);
        write!(
            out,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\"><title>{} {}</title></rect>",
            COLUMN * index as f64 + COLUMN / 10.0,
            HEIGHT - height,
            COLUMN * 0.8,
            escaped(&visible_line(&value.name)),
            escaped(&value.text)
        )?;
    }
    write!(out, "</svg>")?;
    let mut named = values.iter().filter(|value| value.name != UNKNOWN);
    if let (Some(first), Some(last)) = (named.next(), named.next_back()) {
        let most = values.iter().find(|value| value.amount >= largest);
        let most = most.map_or_else(String::new, |most| {
            format!("; most: {} ({})", most.text, most.name)
        });
        write!(
            out,
            "<p class=\"fact\">{} to {}{}</p>",
            escaped(&visible_line(&first.name)),
            escaped(&visible_line(&last.name)),
            escaped(&visible_line(&most))
        )?;
    }
    let known = values
        .iter()
        .filter(|value| value.amount > 0.0)
        .map(|value| (value.name.clone(), value.text.clone()));
    table(known, values.len() <= FEW, out)?;
    writeln!(out, "</figure>")
}

/// A square for each hour of a week, the darker the more happened in it, with a table of the hours.
///
/// # Errors
/// When `out` cannot be written to.
pub fn week(title: &str, week: &Week, out: &mut impl Write) -> io::Result<()> {
    let largest = week.iter().flatten().copied().max().unwrap_or_default() as f64;
    let (left, top) = (2 * HOUR, HOUR);
    write!(
        out,
        "<figure class=\"chart\"><figcaption>{}</figcaption><svg class=\"week\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">",
        escaped(title),
        left + 24 * HOUR,
        top + 7 * HOUR,
        escaped(title)
    )?;
    for hour in (0..24).step_by(6) {
        write!(
            out,
            "<text x=\"{}\" y=\"14\">{hour}</text>",
            left + hour * HOUR
        )?;
    }
    for (day, hours) in week.iter().enumerate() {
        let y = top + day * HOUR;
        write!(out, "<text x=\"0\" y=\"{}\">{}</text>", y + 14, DAYS[day])?;
        for (hour, count) in hours.iter().enumerate() {
            // The least that is seen, so that an hour with one event is not as empty as an hour without.
            let opacity = match count {
                0 => 0.06,
                count => 0.25 + 0.75 * share(*count as f64, largest),
            };
            write!(
                out,
                "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill-opacity=\"{opacity:.2}\"><title>{} {hour}:00 {count}</title></rect>",
                left + hour * HOUR + 1,
                y + 1,
                HOUR - 2,
                HOUR - 2,
                DAYS[day]
            )?;
        }
    }
    write!(out, "</svg>")?;
    let hours = week.iter().enumerate().flat_map(|(day, hours)| {
        let known = hours.iter().enumerate().filter(|(_, count)| **count > 0);
        known.map(move |(hour, count)| (format!("{} {hour}:00", DAYS[day]), count.to_string()))
    });
    table(hours, false, out)?;
    writeln!(out, "</figure>")
}

/// The end of a long name, which says most of a path: whole parts of it, if one begins there.
fn end_of(name: &str) -> String {
    let chars = name.chars().count();
    if chars <= NAME_CHARS {
        return name.to_owned();
    }
    let cut = name.char_indices().nth(chars - NAME_CHARS);
    let end = cut.map_or(name, |(at, _)| &name[at..]);
    let part = end.find(['/', '\\']).map_or(end, |at| &end[at..]);
    format!("…{part}")
}

/// Names and amounts, folded unless they are few.
fn table(
    rows: impl Iterator<Item = (String, String)>,
    is_open: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let open = if is_open { " open" } else { "" };
    write!(
        out,
        "<details{open}><summary class=\"fact\">values</summary><table class=\"values\">"
    )?;
    for (name, text) in rows {
        write!(
            out,
            "<tr><th>{}</th><td>{}</td></tr>",
            escaped(&visible_line(&name)),
            escaped(&text)
        )?;
    }
    write!(out, "</table></details>")
}

fn largest(values: &[Value]) -> f64 {
    values.iter().map(|value| value.amount).fold(0.0, f64::max)
}

/// The part of the largest amount, from 0 to 1.
fn share(amount: f64, largest: f64) -> f64 {
    let share = amount / largest;
    if share.is_finite() {
        share.clamp(0.0, 1.0)
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(name: &str, amount: f64) -> Value {
        Value {
            name: name.to_owned(),
            amount,
            text: format!("{amount} USD"),
        }
    }

    fn svg(write: impl Fn(&mut Vec<u8>) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_largest_value_fills_its_place_and_each_value_is_a_text() {
        let values = [value("a", 4.0), value("b", 1.0), value("none", 0.0)];
        let chart = svg(|out| bars("USD", &values, 3, out));
        for part in [
            "width=\"100.0%\"",
            "width=\"25.0%\"",
            "width=\"0.0%\"",
            "<td>1 USD</td>",
            "and 3 more",
        ] {
            assert!(chart.contains(part), "{part} in {chart}");
        }
        let chart = svg(|out| columns("USD", &values, out));
        assert!(
            chart.contains("y=\"75.0\"") && chart.contains("height=\"25.0\""),
            "{chart}"
        );
        assert!(
            chart.contains("<tr><th>b</th><td>1 USD</td></tr>"),
            "{chart}"
        );
        assert!(!chart.contains("<th>none</th>"), "{chart}");
    }

    #[test]
    fn amounts_that_are_no_amounts_draw_nothing() {
        for amount in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let chart = svg(|out| bars("x", &[value("a", amount)], 0, out));
            assert!(
                !chart.contains("NaN%") && !chart.contains("inf%"),
                "{chart}"
            );
        }
    }

    #[test]
    fn names_of_logs_are_no_markup() {
        let evil = [value("</text><script>alert(1)</script>\u{202e}\"'", 1.0)];
        for chart in [
            svg(|out| bars("x", &evil, 0, out)),
            svg(|out| columns("x", &evil, out)),
        ] {
            assert!(
                !chart.contains("<script") && !chart.contains('\u{202e}'),
                "{chart}"
            );
            assert!(chart.contains("&lt;script&gt;"), "{chart}");
        }
    }

    #[test]
    fn a_long_path_is_shown_by_its_end() {
        assert_eq!(end_of("/p/src/a.rs"), "/p/src/a.rs");
        assert_eq!(
            end_of("/home/dev/a/long/way/to/project/src/main.rs"),
            "…/way/to/project/src/main.rs"
        );
        assert_eq!(end_of(&"é".repeat(40)), format!("…{}", "é".repeat(28)));
    }

    #[test]
    fn an_hour_of_a_week_has_its_square() {
        let mut hours: Week = Default::default();
        hours[6][23] = 3;
        let chart = svg(|out| week("work", &hours, out));
        assert_eq!(chart.matches("<rect").count(), 7 * 24);
        assert!(
            chart.contains("fill-opacity=\"1.00\"><title>Sun 23:00 3</title>"),
            "{chart}"
        );
        assert!(chart.contains("<th>Sun 23:00</th><td>3</td>"), "{chart}");
    }
}
