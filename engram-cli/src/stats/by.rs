//! `engram stats --by`: the same counts, one row for each project, day, week, harness, model, session or tool, or for several of them together.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::sync::Arc;

use clap::ValueEnum;
use engram_command::filter::Filter;
use engram_command::homes::in_short;
use engram_command::keys::Keys;
use engram_command::report::Reporter;
use engram_command::table::{self, Column, Fit, Look, Output, Screen, number, short_number, text};
use engram_core::event::EventRef;
use engram_core::file_path::comparable;
use engram_core::overview::Overview;
use engram_core::prices::Prices;
use engram_core::sink::EventSink;
use engram_core::stats::{Breakdown, Cost, Counts, NO_TIME, Split, Stats, TokenCounts};
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use crate::money;
use crate::roots::{Roots, SessionId};
use crate::when::{day_in, month_in, week_in};
use engram_command::project::project_of;

/// What `engram stats` divides its counts by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// The directory that a session began in; worktrees of one repository are one project
    Project,
    /// The day of each event, in UTC or the zone of `--tz`
    Day,
    /// The week of each event, as ISO 8601 numbers it
    Week,
    /// The month of each event
    Month,
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
            By::Month => "month",
            By::Harness => "harness",
            By::Model => "model",
            By::Session => "session",
            By::Tool => "tool",
        }
    }

    /// How events of one session are divided, if they are.
    fn split(self, zone: &TimeZone) -> Option<Split> {
        match self {
            By::Day | By::Week | By::Month => {
                let name = self.name_of_time(zone)?;
                Some(Split::Time(Arc::new(name)))
            }
            By::Model => Some(Split::Model),
            By::Tool => Some(Split::Tool),
            By::Project | By::Harness | By::Session => None,
        }
    }

    /// How a time is named, for a division by time.
    fn name_of_time(
        self,
        zone: &TimeZone,
    ) -> Option<impl Fn(&str) -> String + Send + Sync + 'static> {
        let name: fn(&str, &TimeZone) -> String = match self {
            By::Day => day_in,
            By::Week => week_in,
            By::Month => month_in,
            _ => return None,
        };
        let zone = zone.clone();
        Some(move |time: &str| name(time, &zone))
    }
}

/// What is divided, and in which zone a day is.
#[derive(Debug, Clone)]
pub struct Division {
    pub by: Vec<By>,
    pub zone: TimeZone,
}

impl Division {
    /// What is wrong with it, if anything.
    pub fn fault(&self) -> Option<&'static str> {
        (self.by.contains(&By::Model) && self.by.contains(&By::Tool)).then_some(
            "`model` and `tool` cannot be combined: tokens belong to responses, not to calls",
        )
    }

    fn splits(&self) -> Vec<Split> {
        self.by
            .iter()
            .filter_map(|by| by.split(&self.zone))
            .collect()
    }

    /// The names of the values.
    fn names(&self) -> Vec<&'static str> {
        self.by.iter().map(|by| by.name()).collect()
    }

    /// True for what all events of this division have.
    fn has(&self, fact: Has) -> bool {
        match fact {
            Has::Calls => !self.by.contains(&By::Model),
            Has::Prompts => !self.by.contains(&By::Model) && !self.by.contains(&By::Tool),
            Has::Tokens => !self.by.contains(&By::Tool),
            Has::Sessions => true,
        }
    }
}

/// What a number is about. Not each division has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Has {
    Sessions,
    Prompts,
    Calls,
    Tokens,
}

/// The value of what no log states.
pub const UNKNOWN: &str = NO_TIME;

/// Counts by their values.
pub type Groups = BTreeMap<Vec<String>, Stats>;

/// The counts of one session by value, if its events are divided.
pub struct Parts {
    parts: Option<Breakdown>,
    /// The division is by time alone: a session of which nothing is counted has a row, too.
    has_all: bool,
}

impl Parts {
    pub fn new(division: &Division) -> Parts {
        let splits = division.splits();
        Parts {
            has_all: matches!(splits[..], [Split::Time(_)]),
            parts: (!splits.is_empty()).then(|| Breakdown::new(splits)),
        }
    }

    /// The counts by value; those of the whole session without one if its events are not divided.
    pub fn into_groups(self, whole: Stats) -> Groups {
        match self.parts.map(Breakdown::into_groups) {
            None => BTreeMap::from([(Vec::new(), whole)]),
            Some(groups) if groups.is_empty() && self.has_all => {
                BTreeMap::from([(vec![UNKNOWN.to_owned()], whole)])
            }
            Some(groups) => groups,
        }
    }
}

impl EventSink for Parts {
    fn event(&mut self, record: &EventRef<'_>) -> io::Result<()> {
        let parts = self.parts.as_mut();
        parts.map_or(Ok(()), |parts| parts.event(record))
    }

    fn finish(&mut self) -> io::Result<()> {
        self.parts.as_mut().map_or(Ok(()), EventSink::finish)
    }
}

/// The counts of one row, and what it cost.
pub struct Group {
    pub values: Vec<String>,
    pub counts: Counts,
    pub cost: Cost,
}

/// The project of each session, for its sub-agents too, wherever they worked. Of several it is the first by name; what a sub-agent says counts
/// where the session says nothing. The same in SQL (`root_project`).
fn projects(sessions: &[(Overview, Groups)], roots: &Roots) -> BTreeMap<SessionId, (bool, String)> {
    let mut projects = BTreeMap::new();
    for (overview, _) in sessions {
        let root = roots.of(overview);
        let Some(directory) = overview.project.as_deref().filter(|_| root.1.is_some()) else {
            continue;
        };
        let said = (
            overview.agent_id.is_some(),
            project_of(directory).into_owned(),
        );
        match projects.entry(root) {
            Entry::Vacant(place) => drop(place.insert(said)),
            Entry::Occupied(mut place) if said < *place.get() => drop(place.insert(said)),
            Entry::Occupied(_) => {}
        }
    }
    projects
}

/// The counts by value, in the order in which they are shown.
pub fn groups(
    division: &Division,
    sessions: Vec<(Overview, Groups)>,
    all: &Stats,
    filter: &Filter,
    prices: &Prices,
) -> Vec<Group> {
    let roots = Roots::new(sessions.iter().map(|(overview, _)| overview));
    let projects = projects(&sessions, &roots);
    // A project has the spelling of its path that was met first.
    let mut spellings: HashMap<String, String> = HashMap::new();
    let mut groups = Groups::new();
    let mut splits = division.splits().into_iter();
    let time = splits.position(|split| matches!(split, Split::Time(_)));
    for (overview, parts) in sessions {
        let mut of_session = |by: By| {
            let value = match by {
                By::Project => projects
                    .get(&roots.of(&overview))
                    .map(|(_, name)| name.clone())
                    .or_else(|| {
                        overview
                            .project
                            .as_deref()
                            .map(|project| project_of(project).into_owned())
                    }),
                By::Session => roots.of(&overview).1,
                _ => Some(overview.harness.clone()),
            };
            let value = value.unwrap_or_else(|| UNKNOWN.to_owned());
            match by {
                By::Project => spellings
                    .entry(comparable(&value).into_owned())
                    .or_insert(value)
                    .clone(),
                _ => value,
            }
        };
        // Nothing that is counted has a time, but the session has.
        let is_undated = |values: &Vec<String>| time.is_some_and(|at| values[at] == UNKNOWN);
        let begin = overview
            .start
            .as_deref()
            .filter(|_| parts.keys().all(is_undated));
        for (divided, part) in parts {
            let mut divided = divided.into_iter();
            let values = division.by.iter().map(|by| match by {
                By::Project | By::Session | By::Harness => of_session(*by),
                _ => {
                    let value = divided.next().unwrap_or_default();
                    let name = by.name_of_time(&division.zone).filter(|_| value == UNKNOWN);
                    begin.zip(name).map_or(value, |(begin, name)| name(begin))
                }
            });
            groups.entry(values.collect()).or_default().merge(part);
        }
    }
    all.costs()
        .give_totals(groups.values_mut().map(Stats::costs_mut));
    leave_out_other_times(division, &mut groups, filter);
    let groups = groups.into_iter().map(|(values, stats)| Group {
        values,
        counts: stats.counts(),
        cost: stats.costs().cost(prices),
    });
    sorted(division, groups.collect())
}

/// A session that was active in the period may have begun before it.
fn leave_out_other_times(division: &Division, groups: &mut Groups, filter: &Filter) {
    for (at, by) in division.by.iter().enumerate() {
        let Some(name) = by.name_of_time(&division.zone) else {
            continue;
        };
        let first = filter.since.map(|time| name(&time.to_string()));
        let last = filter.until.map(|time| name(&time.to_string()));
        groups.retain(|values, _| {
            first.as_ref().is_none_or(|first| values[at] >= *first)
                && last.as_ref().is_none_or(|last| values[at] <= *last)
        });
    }
}

/// Times in their order, else the most tokens first; of tools the most calls.
fn sorted(division: &Division, mut groups: Vec<Group>) -> Vec<Group> {
    let size = |group: &Group| match division.has(Has::Tokens) {
        true => all_tokens(&group.counts).all().map_or(0, |(all, _)| all),
        false => calls(&group.counts),
    };
    // What comes before the first time or after it keeps together.
    let first = division
        .by
        .iter()
        .position(|by| !matches!(by, By::Day | By::Week | By::Month));
    let times = first.unwrap_or(division.by.len());
    groups.sort_by(|one, other| {
        (
            &one.values[..times],
            std::cmp::Reverse(size(one)),
            &one.values,
        )
            .cmp(&(
                &other.values[..times],
                std::cmp::Reverse(size(other)),
                &other.values,
            ))
    });
    groups
}

/// Prints the groups, and in a table their sum.
///
/// # Errors
/// When `out` cannot be written to.
pub fn print(
    division: &Division,
    groups: &[Group],
    total: &Group,
    (output, keys): (Output, Keys),
    report: &Reporter,
    out: &mut dyn Write,
) -> io::Result<()> {
    if output.json {
        let rows: io::Result<Vec<Value>> =
            groups.iter().map(|group| json(division, group)).collect();
        return table::write_lines(rows?, keys, out);
    }
    if output.csv {
        let mut names = division.names();
        names.extend(NUMBERS.iter().map(|number| number.name));
        names.extend(["cost_usd", "cost_basis"]);
        let row = |group: &Group| {
            let number = |number: &Number| {
                let (known, _) = number.of(&group.counts);
                let known = known.filter(|_| division.has(number.has));
                known.map(|known| known.to_string()).unwrap_or_default()
            };
            let cost = money::csv(&group.cost);
            let numbers = NUMBERS.iter().map(number);
            group
                .values
                .iter()
                .cloned()
                .chain(numbers)
                .chain(cost)
                .collect()
        };
        return table::write_csv(&names, groups.iter().map(row), keys, out);
    }
    let mut rows: Vec<Vec<String>> = groups.iter().map(|group| cells(division, group)).collect();
    if rows.len() > 1 {
        rows.push(cells(division, total));
    }
    let (columns, screen) = (columns(division), Screen::stdout().with_keys(keys));
    table::write(&columns, &rows, screen, out)?;
    out.flush()?;
    let left_out = table::left_out(&columns, &rows, screen);
    if !left_out.is_empty() {
        report.note(&format!(
            "no room for {}: a wider terminal, `--csv` and `--json` have them",
            left_out.join(", ")
        ));
    }
    if division.has(Has::Tokens) {
        let is_partial = NUMBERS.iter().any(|number| number.of(&total.counts).1);
        let costs = groups.iter().map(|group| &group.cost);
        money::legend(costs, is_partial, keys, report);
    }
    Ok(())
}

/// A row as JSON. What a division does not have is left out.
fn json(division: &Division, group: &Group) -> io::Result<Value> {
    let mut row = Map::new();
    for (name, value) in division.names().into_iter().zip(&group.values) {
        row.insert(name.to_owned(), json!(value));
    }
    let Value::Object(counts) = serde_json::to_value(&group.counts)? else {
        return Ok(Value::Object(row));
    };
    for (name, value) in counts {
        let has = match name.as_str() {
            "prompts" | "answers" => Has::Prompts,
            "calls" | "files_edited" | "edits" => Has::Calls,
            "tokens" => Has::Tokens,
            _ => Has::Sessions,
        };
        if division.has(has) {
            row.insert(name, value);
        }
    }
    if division.has(Has::Tokens) {
        name_tokens(&mut row, &group.counts)?;
        money::put(&mut row, &group.cost);
    }
    Ok(Value::Object(row))
}

/// Names the tokens as every answer does: `tokens` is their sum, `by_model` has them by model.
pub fn name_tokens(row: &mut Map<String, Value>, counts: &Counts) -> io::Result<()> {
    let sum = serde_json::to_value(all_tokens(counts))?;
    let models = row.insert("tokens".to_owned(), money::tokens(sum));
    if let Some(Value::Object(mut models)) = models {
        models
            .values_mut()
            .for_each(|tokens| *tokens = money::tokens(tokens.take()));
        row.insert("by_model".to_owned(), Value::Object(models));
    }
    Ok(())
}

/// A value as a table shows it.
fn shown(by: By, value: &str) -> String {
    match by {
        By::Project => in_short(value.as_ref()),
        _ => value.to_owned(),
    }
}

/// One number of a row.
struct Number {
    name: &'static str,
    heading: &'static str,
    /// Columns with greater numbers go first when the terminal is too narrow; 0 stays.
    drops: u8,
    has: Has,
    of: Of,
}

/// How a number is taken from the counts.
enum Of {
    /// It is always known.
    Count(fn(&Counts) -> u64),
    /// A sum of tokens, if it is known, and whether it is at least so much. A table shows it in short: it may be large.
    Tokens(fn(&TokenCounts) -> (Option<u64>, bool)),
}

impl Number {
    const fn count(
        name: &'static str,
        heading: &'static str,
        drops: u8,
        has: Has,
        of: fn(&Counts) -> u64,
    ) -> Number {
        let of = Of::Count(of);
        Number {
            name,
            heading,
            drops,
            has,
            of,
        }
    }

    const fn tokens(
        name: &'static str,
        heading: &'static str,
        drops: u8,
        of: fn(&TokenCounts) -> (Option<u64>, bool),
    ) -> Number {
        let (has, of) = (Has::Tokens, Of::Tokens(of));
        Number {
            name,
            heading,
            drops,
            has,
            of,
        }
    }

    /// The number, if it is known, and whether it is at least so much.
    fn of(&self, counts: &Counts) -> (Option<u64>, bool) {
        match self.of {
            Of::Count(of) => (Some(of(counts)), false),
            Of::Tokens(of) => of(&all_tokens(counts)),
        }
    }
}

const NUMBERS: [Number; 13] = [
    Number::count("sessions", "sessions", 2, Has::Sessions, |counts| {
        counts.sessions
    }),
    Number::count("sub_agents", "agents", 10, Has::Sessions, |counts| {
        counts.sub_agents
    }),
    Number::count("prompts", "prompts", 3, Has::Prompts, |counts| {
        counts.prompts
    }),
    Number::count("calls", "calls", 4, Has::Calls, calls),
    Number::count("failed_calls", "failed", 11, Has::Calls, failed),
    Number::count("files_edited", "files", 8, Has::Calls, |counts| {
        counts.files_edited
    }),
    Number::count("edits", "edits", 9, Has::Calls, |counts| {
        counts.edits.values().sum()
    }),
    Number::count("responses", "responses", 12, Has::Tokens, |counts| {
        all_tokens(counts).responses
    }),
    Number::tokens("tokens", "tokens", 0, |tokens| {
        let all = tokens.all();
        (
            all.map(|(all, _)| all),
            all.is_some_and(|(_, is_partial)| is_partial),
        )
    }),
    Number::tokens("input", "input", 1, |tokens| {
        (tokens.input, tokens.partial.input)
    }),
    Number::tokens("cache_read", "cache read", 6, |tokens| {
        (tokens.cache_read, tokens.partial.cache_read)
    }),
    Number::tokens("cache_write", "cache write", 7, |tokens| {
        (tokens.cache_write, tokens.partial.cache_write)
    }),
    Number::tokens("output", "output", 5, |tokens| {
        (tokens.output, tokens.partial.output)
    }),
];

fn columns(division: &Division) -> Vec<Column> {
    let value = |by: &By| {
        let fit = match by {
            By::Project => Fit::End(16),
            By::Model => Fit::Start(20),
            By::Session | By::Tool => Fit::Start(12),
            By::Day | By::Week | By::Month | By::Harness => Fit::Whole,
        };
        text(by.name()).look(Look::Name).fit(fit)
    };
    let numbers = NUMBERS
        .iter()
        .map(|shown| number(shown.heading).drops(shown.drops));
    division
        .by
        .iter()
        .map(value)
        .chain(numbers)
        .chain([number("USD")])
        .collect()
}

/// The cells of a row. What a division does not have stays empty, and a column that is empty in all rows is not shown.
fn cells(division: &Division, group: &Group) -> Vec<String> {
    let values = division
        .by
        .iter()
        .zip(&group.values)
        .map(|(by, value)| shown(*by, value));
    let mut cells: Vec<String> = values.collect();
    // The row of the sum.
    cells.resize(division.by.len(), String::new());
    for shown in &NUMBERS {
        let (known, is_partial) = shown.of(&group.counts);
        let text = |number: u64| match shown.of {
            Of::Count(_) => number.to_string(),
            Of::Tokens(_) => short_number(number),
        };
        let known = known.filter(|number| *number > 0 || !is_partial);
        cells.push(match division.has(shown.has) {
            true => sum(known.map(text), is_partial),
            false => String::new(),
        });
    }
    cells.push(match division.has(Has::Tokens) {
        true => money::cell(&group.cost),
        false => String::new(),
    });
    cells
}

/// A sum in a table: `-` if it is unknown, with `+` if some of its parts are. That it is at least 0 says nothing.
pub fn sum(known: Option<String>, is_partial: bool) -> String {
    known.map_or_else(
        || "-".to_owned(),
        |sum| sum + if is_partial { "+" } else { "" },
    )
}

/// All calls.
pub fn calls(counts: &Counts) -> u64 {
    counts
        .calls
        .values()
        .flatten()
        .map(|(_, calls)| *calls)
        .sum()
}

fn failed(counts: &Counts) -> u64 {
    let calls = counts.calls.values().flatten();
    calls
        .filter(|(status, _)| !matches!(**status, "ok" | "unknown"))
        .map(|(_, calls)| *calls)
        .sum()
}

/// The tokens of all models.
pub fn all_tokens(counts: &Counts) -> TokenCounts {
    let mut sum = TokenCounts::default();
    counts.tokens.values().for_each(|tokens| sum.add(*tokens));
    sum
}
