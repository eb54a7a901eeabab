//! Tables of answers: fitted to a terminal, as CSV, or one JSON object per line.

use std::borrow::Cow;
use std::env;
use std::io::{self, IsTerminal, Write, stdout};

use clap::Args;
use serde::Serialize;
use textwrap::core::display_width;

use crate::keys::Keys;
use crate::report::{one_line, printable_json};

/// Columns of a table that nobody looks at in a terminal.
const WIDTH_WITHOUT_TERMINAL: usize = 120;
/// Between two columns.
const GAP: usize = 2;

/// The form of an answer.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct Output {
    /// Print one JSON object per line
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// Print comma-separated values
    #[arg(long)]
    pub csv: bool,
}

/// How a cell that is too long is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// Never.
    Whole,
    /// Its beginning stays, at least so many columns of it.
    Start(usize),
    /// Its end stays, at least so many columns of it.
    End(usize),
}

/// Where a cell is in its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// At the left.
    Left,
    /// At the right.
    Right,
}

/// The colour of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// As any text.
    Plain,
    /// Less than other text.
    Dim,
    /// More than other text.
    Bold,
    /// A name to be used again, such as an id.
    Name,
}

/// One column.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// The first line.
    pub heading: &'static str,
    /// Where cells stand.
    pub align: Align,
    /// How a cell that is too long is cut.
    pub fit: Fit,
    /// How cells look on a terminal with colours.
    pub look: Look,
    /// Columns with greater numbers go first when the terminal is too narrow; 0 stays.
    pub drops: u8,
}

/// A column of text whose cells stay whole.
pub const fn text(heading: &'static str) -> Column {
    Column {
        heading,
        align: Align::Left,
        fit: Fit::Whole,
        look: Look::Plain,
        drops: 0,
    }
}

/// A column of numbers.
pub const fn number(heading: &'static str) -> Column {
    Column {
        align: Align::Right,
        ..text(heading)
    }
}

impl Column {
    /// The column with cells that are cut like this.
    pub const fn fit(self, fit: Fit) -> Column {
        Column { fit, ..self }
    }

    /// The column with this look.
    pub const fn look(self, look: Look) -> Column {
        Column { look, ..self }
    }

    /// The column with its turn to go when the terminal is too narrow.
    pub const fn drops(self, drops: u8) -> Column {
        Column { drops, ..self }
    }
}

/// What a table is printed on.
#[derive(Debug, Clone, Copy)]
pub struct Screen {
    /// Characters in a line.
    pub width: usize,
    /// Whether colours are shown.
    pub has_colours: bool,
    /// Whether keys and tokens are shown.
    pub keys: Keys,
}

impl Screen {
    /// Standard output.
    pub fn stdout() -> Screen {
        let is_terminal = stdout().is_terminal();
        let named = env::var("COLUMNS")
            .ok()
            .and_then(|columns| columns.parse().ok())
            .filter(|columns| *columns > 0);
        let width = terminal_size::terminal_size()
            .filter(|_| is_terminal)
            .map(|(width, _)| usize::from(width.0));
        let has_colours =
            is_terminal && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Screen {
            width: width.or(named).unwrap_or(WIDTH_WITHOUT_TERMINAL),
            has_colours,
            keys: Keys::default(),
        }
    }
}

impl Screen {
    /// The same screen, with keys and tokens as the command line says.
    pub fn with_keys(self, keys: Keys) -> Screen {
        Screen { keys, ..self }
    }
}

/// Writes rows as a table that fits the screen. A column without any content is left out.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write(
    columns: &[Column],
    rows: &[Vec<String>],
    screen: Screen,
    out: &mut dyn Write,
) -> io::Result<()> {
    let rows = shown_cells(rows, screen);
    let (shown, widths) = layout(columns, &rows, screen);
    let headings: Vec<Cow<'_, str>> = columns
        .iter()
        .map(|column| Cow::Borrowed(column.heading))
        .collect();
    let line = |row: &[Cow<'_, str>], is_heading: bool| {
        let mut line = String::new();
        for (column, width) in shown.iter().zip(&widths) {
            let Column {
                align, fit, look, ..
            } = columns[*column];
            let text = cut(&row[*column], fit, *width);
            let space = " ".repeat(width - display_width(&text));
            let (begin, end) = if screen.has_colours {
                look_codes(if is_heading { Look::Dim } else { look })
            } else {
                ("", "")
            };
            let gap = if line.is_empty() { "" } else { &"    "[..GAP] };
            line.push_str(&match align {
                Align::Left => format!("{gap}{begin}{text}{end}{space}"),
                Align::Right => format!("{gap}{space}{begin}{text}{end}"),
            });
        }
        line.trim_end().to_owned()
    };
    writeln!(out, "{}", line(&headings, true))?;
    rows.iter()
        .try_for_each(|row| writeln!(out, "{}", line(row, false)))
}

/// The headings of the columns that have content and for which the screen has no room.
pub fn left_out(columns: &[Column], rows: &[Vec<String>], screen: Screen) -> Vec<&'static str> {
    let rows = shown_cells(rows, screen);
    let headings = |screen: Screen| -> Vec<&'static str> {
        let (shown, _) = layout(columns, &rows, screen);
        shown
            .iter()
            .map(|column| columns[*column].heading)
            .collect()
    };
    let shown = headings(screen);
    let mut all = headings(Screen {
        width: usize::MAX,
        ..screen
    });
    all.retain(|heading| !shown.contains(heading));
    all
}

/// Cells as a table has them: one line each, with what the command line says of keys.
fn shown_cells(rows: &[Vec<String>], screen: Screen) -> Vec<Vec<Cow<'static, str>>> {
    let cell = |cell: &String| one_line(&screen.keys.clean(cell)).into_owned().into();
    rows.iter()
        .map(|row| row.iter().map(cell).collect())
        .collect()
}

/// The columns that are shown, and their widths.
fn layout(
    columns: &[Column],
    rows: &[Vec<Cow<'_, str>>],
    screen: Screen,
) -> (Vec<usize>, Vec<usize>) {
    let has_content =
        |column: &usize| rows.is_empty() || rows.iter().any(|row| !row[*column].is_empty());
    let mut shown: Vec<usize> = (0..columns.len()).filter(has_content).collect();
    let natural: Vec<usize> = (0..columns.len())
        .map(|column| {
            rows.iter()
                .map(|row| display_width(&row[column]))
                .chain([display_width(columns[column].heading)])
                .max()
                .unwrap_or(0)
        })
        .collect();
    let widths = loop {
        let widths = fitted(columns, &shown, &natural, screen.width);
        let last = shown
            .iter()
            .copied()
            .filter(|column| columns[*column].drops > 0)
            .max_by_key(|column| columns[*column].drops);
        match (widths, last) {
            (Some(widths), _) => break widths,
            (None, Some(last)) => shown.retain(|column| *column != last),
            (None, None) => {
                break shown
                    .iter()
                    .map(|column| least(&columns[*column], natural[*column]))
                    .collect();
            }
        }
    };
    (shown, widths)
}

fn look_codes(look: Look) -> (&'static str, &'static str) {
    match look {
        Look::Plain => ("", ""),
        Look::Dim => ("\u{1b}[2m", "\u{1b}[0m"),
        Look::Bold => ("\u{1b}[1m", "\u{1b}[0m"),
        Look::Name => ("\u{1b}[36m", "\u{1b}[0m"),
    }
}

fn least(column: &Column, natural: usize) -> usize {
    match column.fit {
        Fit::Whole => natural,
        Fit::Start(least) | Fit::End(least) => {
            natural.min(least.max(display_width(column.heading)))
        }
    }
}

/// The widths of the shown columns, if they fit. The widest column that may be cut gives way first.
fn fitted(
    columns: &[Column],
    shown: &[usize],
    natural: &[usize],
    width: usize,
) -> Option<Vec<usize>> {
    let mut widths: Vec<usize> = shown.iter().map(|column| natural[*column]).collect();
    let room = width.saturating_sub(GAP * shown.len().saturating_sub(1));
    loop {
        let over = widths.iter().sum::<usize>().saturating_sub(room);
        if over == 0 {
            return Some(widths);
        }
        let spare =
            |index: usize| widths[index] - least(&columns[shown[index]], natural[shown[index]]);
        let widest = (0..shown.len())
            .filter(|index| spare(*index) > 0)
            .max_by_key(|index| widths[*index])?;
        // Others that can be cut share what is missing as soon as they are as wide.
        let next = (0..shown.len())
            .filter(|index| *index != widest && spare(*index) > 0)
            .map(|index| widths[index])
            .max()
            .unwrap_or(0);
        let step = (widths[widest] + 1)
            .saturating_sub(next)
            .max(1)
            .min(over)
            .min(spare(widest));
        widths[widest] -= step;
    }
}

fn cut(text: &str, fit: Fit, width: usize) -> Cow<'_, str> {
    if display_width(text) <= width {
        return Cow::Borrowed(text);
    }
    let room = width.saturating_sub(1);
    let of = |text: &mut dyn Iterator<Item = char>| {
        let (mut kept, mut used) = (Vec::new(), 0);
        for c in text {
            used += display_width(c.encode_utf8(&mut [0; 4]));
            if used > room {
                break;
            }
            kept.push(c);
        }
        kept
    };
    match fit {
        Fit::End(_) => {
            let kept = of(&mut text.chars().rev());
            format!("…{}", kept.into_iter().rev().collect::<String>()).into()
        }
        Fit::Whole | Fit::Start(_) => {
            format!("{}…", of(&mut text.chars()).into_iter().collect::<String>()).into()
        }
    }
}

/// Writes rows as CSV, with the names of the columns first.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_csv(
    names: &[&str],
    rows: impl IntoIterator<Item = Vec<String>>,
    keys: Keys,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(names)?;
    for row in rows {
        csv.write_record(
            row.iter()
                .map(|cell| one_line(&keys.clean(cell)).into_owned()),
        )?;
    }
    csv.flush()
}

/// Writes rows as JSON objects, one per line.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_lines(
    rows: impl IntoIterator<Item = impl Serialize>,
    keys: Keys,
    out: &mut dyn Write,
) -> io::Result<()> {
    rows.into_iter().try_for_each(|row| {
        let json = serde_json::to_string(&row)?;
        writeln!(out, "{}", printable_json(&keys.clean_json(&json)))
    })
}

/// `950`, `12k`, `3.4M`.
pub fn short_number(number: u64) -> String {
    let tenths = |unit: u64| {
        let tenths = number.saturating_add(unit / 20) / (unit / 10);
        format!("{}.{}", tenths / 10, tenths % 10)
    };
    // What would be rounded to 1000 of a unit is 1.0 of the next one.
    match number {
        0..1_000 => number.to_string(),
        1_000..999_500 => format!("{}k", (number + 500) / 1_000),
        999_500..999_950_000 => format!("{}M", tenths(1_000_000)),
        _ => format!("{}G", tenths(1_000_000_000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 4] = [
        text("when"),
        text("file").fit(Fit::End(8)),
        number("edits"),
        text("title").fit(Fit::Start(10)).drops(1),
    ];

    fn shown(width: usize, rows: &[[&str; 4]]) -> String {
        let rows: Vec<Vec<String>> = rows
            .iter()
            .map(|row| row.iter().map(|&cell| cell.to_owned()).collect())
            .collect();
        let mut out = Vec::new();
        write(
            &COLUMNS,
            &rows,
            Screen {
                width,
                has_colours: false,
                keys: Keys::default(),
            },
            &mut out,
        )
        .unwrap();
        String::from_utf8(out).unwrap()
    }

    const ROW: [&str; 4] = [
        "2d ago",
        "/home/dev/project/src/main.rs",
        "12",
        "a long title that says what the session is about",
    ];

    #[test]
    fn a_table_fits_every_width_that_has_room_for_what_stays() {
        for width in 24..140 {
            let table = shown(
                width,
                &[ROW, ["now", "a", "3", "日本語のタイトルはここにあります"]],
            );
            assert!(
                table.lines().all(|line| display_width(line) <= width),
                "{width}:\n{table}"
            );
            assert!(
                table.contains("ain.rs") && table.contains("12"),
                "{width}:\n{table}"
            );
        }
        assert!(!shown(30, &[ROW]).contains("title") && shown(60, &[ROW]).contains("title"));
    }

    #[test]
    fn a_column_that_is_empty_is_left_out_and_nothing_controls_the_terminal() {
        let table = shown(80, &[["now", "a\u{1b}[2J\nb", "3", ""]]);
        assert!(
            !table.contains("title") && !table.contains('\u{1b}') && table.lines().count() == 2,
            "{table}"
        );
    }

    #[test]
    fn csv_quotes_what_needs_it() {
        let mut out = Vec::new();
        write_csv(
            &["a", "b"],
            [vec!["x,y".to_owned(), "\"q\"".to_owned()]],
            Keys::default(),
            &mut out,
        )
        .unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "a,b\n\"x,y\",\"\"\"q\"\"\"\n"
        );
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [
                999,
                1_000,
                15_754,
                999_499,
                999_500,
                3_866_825,
                999_949_999,
                999_950_000,
                u64::MAX
            ]
            .map(short_number),
            [
                "999",
                "1k",
                "16k",
                "999k",
                "1.0M",
                "3.9M",
                "999.9M",
                "1.0G",
                "18446744073.7G"
            ]
        );
    }
}
