//! `engram stats --by`: the same counts, one row for each project, day, week, harness, model, session or tool.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use clap::ValueEnum;
use engram_core::event::EventRef;
use engram_core::file_path::comparable;
use engram_core::overview::Overview;
use engram_core::sink::EventSink;
use engram_core::stats::{Breakdown, Counts, Split, Stats, TokenCounts};
use serde::Serialize;

use crate::filter::Filter;
use crate::homes::in_short;
use crate::keys::Keys;
use crate::once::Counted;
use crate::table::{self, Align, Column, Fit, Look, Output, Screen, short_number, text};
use crate::when::{day, week};

/// What `engram stats` divides its counts by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// The directory that a session began in
    Project,
    /// The day of each event, in UTC
    Day,
    /// The week of each event, as ISO 8601 numbers it
    Week,
    /// The harness
    Harness,
    /// The model of each response
    Model,
    /// The session, with its sub-agents
    Session,
    /// The tool of each call
    Tool,
}

impl By {
    fn name(self) -> &'static str {
        match self {
            By::Project => "project",
            By::Day => "day",
            By::Week => "week",
            By::Harness => "harness",
            By::Model => "model",
            By::Session => "session",
            By::Tool => "tool",
        }
    }

    /// How events of one session are divided, if they are.
    fn split(self) -> Option<Split> {
        match self {
            By::Day => Some(Split::Time(day)),
            By::Week => Some(Split::Time(week)),
            By::Model => Some(Split::Model),
            By::Tool => Some(Split::Tool),
            By::Project | By::Harness | By::Session => None,
        }
    }

    /// The value that a session has as a whole.
    fn of_session(self, session: &Overview) -> String {
        let value = match self {
            By::Project => session.project.clone(),
            By::Session => session.session_id.clone(),
            _ => Some(session.harness.clone()),
        };
        value.unwrap_or_else(|| "unknown".to_owned())
    }
}

/// The counts of one session by value, if its events are divided.
pub struct Parts(Option<Breakdown>);

impl Parts {
    pub fn new(by: Option<By>) -> Parts {
        Parts(by.and_then(By::split).map(Breakdown::new))
    }
}

impl EventSink for Parts {
    fn event(&mut self, record: &EventRef<'_>) -> io::Result<()> {
        self.0.as_mut().map_or(Ok(()), |parts| parts.event(record))
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.as_mut().map_or(Ok(()), EventSink::finish)
    }
}

/// The counts by value.
pub fn groups(by: By, sessions: Vec<Counted<Parts>>, filter: &Filter) -> BTreeMap<String, Counts> {
    let mut groups: BTreeMap<String, Stats> = BTreeMap::new();
    // A project has the spelling of its path that was met first.
    let mut spellings: HashMap<String, String> = HashMap::new();
    for Counted {
        stats,
        overview,
        more,
        ..
    } in sessions
    {
        match more.0 {
            Some(parts) => parts
                .into_groups()
                .into_iter()
                .for_each(|(value, part)| groups.entry(value).or_default().merge(part)),
            None => {
                let mut value = by.of_session(&overview);
                if by == By::Project {
                    let path = comparable(&value).into_owned();
                    value = spellings.entry(path).or_insert(value).clone();
                }
                groups.entry(value).or_default().merge(stats);
            }
        }
    }
    // A session that was active in the period may have begun before it.
    let name = match by {
        By::Day => Some(day as fn(&str) -> String),
        By::Week => Some(week as fn(&str) -> String),
        _ => None,
    };
    if let Some(name) = name {
        let (first, last) = (
            filter.since.map(|time| name(&time.to_string())),
            filter.until.map(|time| name(&time.to_string())),
        );
        groups.retain(|value, _| {
            first.as_ref().is_none_or(|first| value >= first)
                && last.as_ref().is_none_or(|last| value <= last)
        });
    }
    groups
        .into_iter()
        .map(|(value, stats)| (value, stats.counts()))
        .collect()
}

#[derive(Serialize)]
struct Row<'r> {
    #[serde(flatten)]
    value: BTreeMap<&'static str, &'r str>,
    #[serde(flatten)]
    counts: &'r Counts,
    /// The tokens of all models.
    all_tokens: TokenCounts,
}

/// Prints the groups, and in a table their sum.
///
/// # Errors
/// When `out` cannot be written to.
pub fn print(
    by: By,
    groups: &BTreeMap<String, Counts>,
    total: &Counts,
    (output, keys): (Output, Keys),
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut rows: Vec<(&String, &Counts)> = groups.iter().collect();
    if !matches!(by, By::Day | By::Week) {
        let size = |counts: &Counts| {
            (
                all_tokens(counts).all().map_or(0, |(all, _)| all),
                calls(counts),
            )
        };
        rows.sort_by_key(|(_, counts)| std::cmp::Reverse(size(counts)));
    }
    if output.json {
        let row = |(value, counts): (&'_ String, &'_ Counts)| {
            serde_json::to_value(Row {
                value: BTreeMap::from([(by.name(), value.as_str())]),
                counts,
                all_tokens: all_tokens(counts),
            })
        };
        let rows: Result<Vec<_>, _> = rows.into_iter().map(row).collect();
        return table::write_lines(rows?, keys, out);
    }
    if output.csv {
        let names: Vec<&str> = std::iter::once(by.name()).chain(NUMBERS).collect();
        let row = |(value, counts): (&String, &Counts)| {
            let numbers = numbers(counts)
                .map(|number| number.map(|number| number.to_string()).unwrap_or_default());
            let cost = all_tokens(counts)
                .cost_usd
                .map(|cost| cost.to_string())
                .unwrap_or_default();
            std::iter::once(value.clone())
                .chain(numbers)
                .chain([cost])
                .collect()
        };
        return table::write_csv(&names, rows.into_iter().map(row), keys, out);
    }
    let mut cells: Vec<Vec<String>> = rows
        .iter()
        .map(|(value, counts)| cells(by, &shown(by, value), counts))
        .collect();
    if cells.len() > 1 {
        cells.push(self::cells(by, "total", total));
    }
    table::write(&columns(by), &cells, Screen::stdout().with_keys(keys), out)
}

/// A value as a table shows it.
fn shown(by: By, value: &str) -> String {
    match by {
        By::Project => in_short(value.as_ref()),
        _ => value.to_owned(),
    }
}

/// The names of [`numbers`], and of the cost.
const NUMBERS: [&str; 13] = [
    "sessions",
    "sub_agents",
    "prompts",
    "calls",
    "failed_calls",
    "files_edited",
    "edits",
    "responses",
    "input",
    "cache_read",
    "cache_write",
    "output",
    "cost_usd",
];

/// The counts of one row. A number of tokens that no response has is unknown.
fn numbers(counts: &Counts) -> [Option<u64>; 12] {
    let tokens = all_tokens(counts);
    let failed = counts
        .calls
        .values()
        .flatten()
        .filter(|(status, _)| !matches!(**status, "ok" | "unknown"))
        .map(|(_, calls)| *calls)
        .sum();
    [
        Some(counts.sessions),
        Some(counts.sub_agents),
        Some(counts.prompts),
        Some(calls(counts)),
        Some(failed),
        Some(counts.files_edited),
        Some(counts.edits.values().sum()),
        Some(tokens.responses),
        tokens.input,
        tokens.cache_read,
        tokens.cache_write,
        tokens.output,
    ]
}

fn columns(by: By) -> Vec<Column> {
    let value = text(by.name()).look(Look::Name).fit(if by == By::Project {
        Fit::End(16)
    } else {
        Fit::Start(16)
    });
    let headings: [(&str, u8); 13] = [
        ("sessions", 0),
        ("agents", 5),
        ("prompts", 3),
        ("calls", 0),
        ("failed", 6),
        ("files", 1),
        ("edits", 4),
        ("responses", 9),
        ("input", 0),
        ("cache read", 7),
        ("cache write", 8),
        ("output", 0),
        ("USD", 0),
    ];
    let number = |(heading, drops): (&'static str, u8)| Column {
        align: Align::Right,
        ..text(heading).drops(drops)
    };
    std::iter::once(value).chain(headings.map(number)).collect()
}

/// The cells of a row. What a division does not have stays empty, and so does a column that is 0 everywhere for its kind.
fn cells(by: By, value: &str, counts: &Counts) -> Vec<String> {
    let tokens = all_tokens(counts);
    let partial = [
        tokens.partial.input,
        tokens.partial.cache_read,
        tokens.partial.cache_write,
        tokens.partial.output,
    ];
    let mut cells = vec![value.to_owned()];
    for (index, number) in numbers(counts).into_iter().enumerate() {
        let has_it = match by {
            By::Model => index == 0 || index >= 7,
            By::Tool => !matches!(index, 1 | 2 | 7..),
            _ => index != 7,
        };
        let is_partial = index.checked_sub(8).is_some_and(|at| partial[at]);
        cells.push(match number {
            _ if !has_it => String::new(),
            None => "-".to_owned(),
            Some(number) if index >= 8 => sum(
                Some(short_number(number)).filter(|_| number > 0 || !is_partial),
                is_partial,
            ),
            Some(number) => number.to_string(),
        });
    }
    let cost = tokens.cost_usd.map(|cost| format!("{cost:.2}"));
    cells.push(
        cost.map(|cost| cost + if tokens.partial.cost_usd { "+" } else { "" })
            .unwrap_or_default(),
    );
    cells
}

/// A sum in a table: `-` if it is unknown, with `+` if some of its parts are. That it is at least 0 says nothing.
pub fn sum(known: Option<String>, is_partial: bool) -> String {
    known.map_or_else(
        || "-".to_owned(),
        |sum| sum + if is_partial { "+" } else { "" },
    )
}

fn calls(counts: &Counts) -> u64 {
    counts
        .calls
        .values()
        .flatten()
        .map(|(_, calls)| *calls)
        .sum()
}

fn all_tokens(counts: &Counts) -> TokenCounts {
    let mut sum = TokenCounts::default();
    counts.tokens.values().for_each(|tokens| sum.add(*tokens));
    sum
}
