//! What the index of many pages draws: tokens and money by day, project and model, the files that change most, and the hours of work. The
//! numbers are those of `engram stats` and `engram files`, read by the same code.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use engram_adapters::sessions::SessionOptions;
use engram_command::homes::in_short;
use engram_command::report::Reporter;
use engram_command::table::short_number;
use engram_core::event::{EventRef, TimeBasis};
use engram_core::file_path::comparable;
use engram_core::prices::Prices;
use engram_core::redact::redacted;
use engram_core::sink::EventSink;
use engram_core::stats::{Cost, Counts, Stats};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::chart::{self, Value, Week};
use super::html::line;
use crate::answers;
use crate::files::Edits;
use crate::money;
use crate::once::Counted;
use crate::reading::{self, Request, TapesCount};
use crate::show::args::Show;
use crate::show::words::count;
use crate::stats::{By, Division, Group, Parts, UNKNOWN, all_tokens, calls, groups};

/// Bars of one chart.
const BARS: usize = 12;
/// Columns of one chart. A longer time is drawn by months or by years.
const COLUMNS: usize = 93;

/// What was done in many sessions.
pub struct Work {
    total: Group,
    days: Vec<Group>,
    projects: Vec<Group>,
    models: Vec<Group>,
    /// Files with their edits, the most first.
    files: Vec<(String, u64)>,
    hours: Week,
    zone: TimeZone,
    /// Where the sessions are that are counted from another place.
    repeating: BTreeSet<PathBuf>,
}

/// What is read of one session.
struct Read {
    days: Parts,
    models: Parts,
    edits: Edits,
    hours: Hours,
}

/// Events by the hour of the week, in a zone.
struct Hours {
    zone: TimeZone,
    week: Week,
}

impl EventSink for Hours {
    fn event(&mut self, record: &EventRef<'_>) -> io::Result<()> {
        if record.replay || record.t_basis == Some(TimeBasis::Absent) {
            return Ok(());
        }
        if let Ok(time) = record.t.parse::<Timestamp>() {
            let time = time.to_zoned_datetime(self.zone.clone());
            let day = usize::from(time.weekday().to_monday_zero_offset().unsigned_abs());
            let hour = usize::from(time.hour().unsigned_abs());
            self.week[day][hour] += 1;
        }
        Ok(())
    }
}

impl EventSink for Read {
    fn event(&mut self, record: &EventRef<'_>) -> io::Result<()> {
        self.days.event(record)?;
        self.models.event(record)?;
        self.edits.event(record)?;
        self.hours.event(record)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.days.finish()?;
        self.models.finish()?;
        self.edits.finish()
    }
}

impl Work {
    /// Reads all sessions below a path that the filter wants, each once. `None` if there is nothing to count: the pages themselves say why.
    pub fn read(
        (path, args): (&Path, &Show),
        options: &SessionOptions,
        prices: &Prices,
        report: &Reporter,
    ) -> Option<Work> {
        let filter = &args.filter;
        let zone = args.tz.clone().unwrap_or(TimeZone::UTC);
        let paths = [path.to_owned()];
        let request = Request {
            paths: &paths,
            tapes: None,
            filter,
            tapes_count: TapesCount::Never,
        };
        let division = |by: By| Division {
            by: vec![by],
            zone: zone.clone(),
        };
        let new = || Read {
            days: Parts::new(&division(By::Day)),
            models: Parts::new(&division(By::Model)),
            edits: Edits::new((None, None)),
            hours: Hours {
                zone: zone.clone(),
                week: Week::default(),
            },
        };
        let reading = reading::find(&request, options, report).ok()?;
        let answers = answers::read(&reading, options, filter, None, new, report).ok()?;
        let repeating = answers.once.repeating();
        let sessions = answers.once.each_once(report);
        let mut all = Stats::default();
        sessions.iter().for_each(|session| all.add(&session.stats));
        let mut work = Work {
            total: Group {
                values: Vec::new(),
                counts: all.counts(),
                cost: all.costs().cost(prices),
            },
            days: Vec::new(),
            projects: Vec::new(),
            models: Vec::new(),
            hours: hours(&sessions),
            files: Vec::new(),
            zone: zone.clone(),
            repeating,
        };
        let (mut days, mut projects, mut models) = (Vec::new(), Vec::new(), Vec::new());
        let mut edits = Vec::new();
        for Counted {
            overview,
            stats,
            more,
            ..
        } in sessions
        {
            let mut whole = Stats::default();
            whole.add(&stats);
            days.push((overview.clone(), more.days.into_groups(whole)));
            models.push((overview.clone(), more.models.into_groups(Stats::default())));
            projects.push((
                overview,
                Parts::new(&division(By::Project)).into_groups(stats),
            ));
            edits.push(more.edits);
        }
        work.days = groups(&division(By::Day), days, &all, filter, prices);
        work.models = groups(&division(By::Model), models, &all, filter, prices);
        work.projects = groups(&division(By::Project), projects, &all, filter, prices);
        work.files = files(edits);
        Some(work)
    }

    /// True if the session of this file is counted from another one.
    pub fn is_repeated(&self, path: &Path) -> bool {
        self.repeating.contains(path)
    }

    /// `12 sessions, 40 prompts, 120 calls, 1.2M tokens, ~4.20 USD`.
    pub fn total(&self) -> String {
        let Counts {
            sessions,
            sub_agents,
            prompts,
            edits,
            ..
        } = &self.total.counts;
        let mut parts = vec![count(*sessions, "session")];
        parts.extend((*sub_agents > 0).then(|| count(*sub_agents, "sub-agent")));
        parts.push(count(*prompts, "prompt"));
        parts.push(count(calls(&self.total.counts), "call"));
        parts.push(count(edits.values().sum(), "edit"));
        parts.extend(amounts(&self.total));
        parts.join(", ")
    }

    /// Writes the charts.
    ///
    /// # Errors
    /// When `out` cannot be written to.
    pub fn write(&self, redact: bool, out: &mut impl Write) -> io::Result<()> {
        write!(out, "<section class=\"charts\">")?;
        let days = in_time(&self.days);
        let tokens = days.iter().map(|(name, sum)| sum.tokens(name));
        chart::columns("Tokens by day", &tokens.collect::<Vec<_>>(), out)?;
        if self.total.cost.usd.is_some() {
            let money = days.iter().map(|(name, sum)| sum.money(name));
            chart::columns("US dollars by day", &money.collect::<Vec<_>>(), out)?;
        }
        let name = |text: &str| match redact {
            true => redacted(text).into_owned(),
            false => text.to_owned(),
        };
        for (title, groups) in [("Projects", &self.projects), ("Models", &self.models)] {
            let bars = groups.iter().take(BARS).map(|group| Value {
                name: name(&in_short(group.values[0].as_ref())),
                amount: all(group).0 as f64,
                text: amounts(group).collect::<Vec<_>>().join(", "),
            });
            let more = groups.len().saturating_sub(BARS);
            chart::bars(title, &bars.collect::<Vec<_>>(), more, out)?;
        }
        let files = self.files.iter().take(BARS).map(|(file, edits)| Value {
            name: name(&in_short(file.as_ref())),
            amount: *edits as f64,
            text: count(*edits, "edit"),
        });
        let more = self.files.len().saturating_sub(BARS);
        let title = "Files that change most";
        chart::bars(title, &files.collect::<Vec<_>>(), more, out)?;
        let title = format!("Events by hour ({})", zone_name(&self.zone));
        chart::week(&title, &self.hours, out)?;
        writeln!(out, "</section>")?;
        for mark in money::marks(std::iter::once(&self.total.cost), all(&self.total).1) {
            writeln!(out, "<p class=\"fact\">{}</p>", line(&mark))?;
        }
        Ok(())
    }
}

/// `Europe/Berlin`, `+02`, or `local` for the zone of this machine if nothing names it.
fn zone_name(zone: &TimeZone) -> String {
    let offset = || zone.to_fixed_offset().map(|offset| offset.to_string());
    match zone.iana_name() {
        Some(name) => name.to_owned(),
        None => offset().unwrap_or_else(|_| "local".to_owned()),
    }
}

/// All tokens, and whether there are at least so many.
fn all(group: &Group) -> (u64, bool) {
    all_tokens(&group.counts).all().unwrap_or_default()
}

/// `1.2M tokens`, `~4.20 USD`; what is not known is left out.
fn amounts(group: &Group) -> impl Iterator<Item = String> {
    let tokens = all_tokens(&group.counts).all();
    let tokens = tokens.map(|(all, is_partial)| {
        let more = if is_partial { "+" } else { "" };
        format!("{}{more} tokens", short_number(all))
    });
    tokens.into_iter().chain(dollars(&group.cost))
}

fn dollars(cost: &Cost) -> Option<String> {
    cost.usd.map(|_| format!("{} USD", money::cell(cost)))
}

fn hours(sessions: &[Counted<Read>]) -> Week {
    let mut sum = Week::default();
    for session in sessions {
        let hours = session.more.hours.week.iter().flatten();
        sum.iter_mut()
            .flatten()
            .zip(hours)
            .for_each(|(sum, more)| *sum += more);
    }
    sum
}

/// The edits of each file, in any spelling of its path.
fn files(edits: Vec<Edits>) -> Vec<(String, u64)> {
    let mut files: BTreeMap<String, (String, u64)> = BTreeMap::new();
    for edits in edits {
        for (file, changes) in edits.into_files() {
            let key = comparable(&file).into_owned();
            files.entry(key).or_insert_with(|| (file, 0)).1 += changes.edits;
        }
    }
    let mut files: Vec<(String, u64)> = files.into_values().collect();
    files.sort_by(|one, other| (other.1, &one.0).cmp(&(one.1, &other.0)));
    files
}

/// The sums of one column.
#[derive(Debug, Default)]
struct Sum {
    tokens: u64,
    /// True if there are at least so many.
    is_partial: bool,
    cost: Cost,
}

impl Sum {
    fn add(&mut self, group: &Group) {
        let (tokens, is_partial) = all(group);
        self.tokens = self.tokens.saturating_add(tokens);
        self.is_partial |= is_partial;
        self.cost.add(&group.cost);
    }

    fn tokens(&self, name: &str) -> Value {
        Value {
            name: name.to_owned(),
            amount: self.tokens as f64,
            text: format!(
                "{}{} tokens",
                short_number(self.tokens),
                if self.is_partial { "+" } else { "" }
            ),
        }
    }

    fn money(&self, name: &str) -> Value {
        Value {
            name: name.to_owned(),
            amount: self.cost.usd.unwrap_or_default(),
            text: dollars(&self.cost).unwrap_or_default(),
        }
    }
}

/// The days without gaps, or the months or years of a longer time, and behind them what has no time.
fn in_time(days: &[Group]) -> Vec<(String, Sum)> {
    let mut dated = BTreeMap::new();
    let mut unknown = Sum::default();
    for group in days {
        match group.values[0].parse::<Date>() {
            Ok(date) => _ = dated.insert(date, group),
            Err(_) => unknown.add(group),
        }
    }
    let mut columns = dated_columns(&dated);
    if unknown.tokens > 0 {
        columns.push((UNKNOWN.to_owned(), unknown));
    }
    columns
}

/// The columns of what has a day. Of more years than there is room for, those that have anything.
fn dated_columns(days: &BTreeMap<Date, &Group>) -> Vec<(String, Sum)> {
    let (Some((&first, _)), Some((&last, _))) = (days.first_key_value(), days.last_key_value())
    else {
        return Vec::new();
    };
    // The length of a day in the names, of a month and of a year.
    for len in [10, 7, 4] {
        let names = names(first, last, len);
        if names.len() > COLUMNS && len > 4 {
            continue;
        }
        let mut sums: BTreeMap<String, Sum> = names
            .into_iter()
            .map(|name| (name, Sum::default()))
            .collect();
        for (date, group) in days {
            if let Some(sum) = sums.get_mut(&name(*date, len)) {
                sum.add(group);
            }
        }
        return sums.into_iter().collect();
    }
    Vec::new()
}

/// The name of a day, or of its month or year.
fn name(date: Date, len: usize) -> String {
    let mut name = date.to_string();
    name.truncate(len);
    name
}

/// The names of all days, months or years from the first to the last day; a few more than a chart has at most.
fn names(first: Date, last: Date, len: usize) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut date = first;
    while date <= last && names.len() <= COLUMNS {
        let next = match len {
            10 => date.tomorrow(),
            7 => date.last_of_month().tomorrow(),
            _ => date.last_of_year().tomorrow(),
        };
        names.push(name(date, len));
        match next {
            Ok(next) => date = next,
            Err(_) => break,
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(day: &str) -> Group {
        Group {
            values: vec![day.to_owned()],
            counts: Counts::default(),
            cost: Cost::default(),
        }
    }

    fn columns(days: &[&str]) -> Vec<String> {
        let groups: Vec<Group> = days.iter().map(|day| group(day)).collect();
        in_time(&groups).into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn a_day_without_work_has_its_place() {
        assert_eq!(
            columns(&["2026-02-27", "2026-03-02"]),
            ["2026-02-27", "2026-02-28", "2026-03-01", "2026-03-02"]
        );
        assert_eq!(columns(&[]), Vec::<String>::new());
        assert_eq!(columns(&["no day"]), Vec::<String>::new());
    }

    #[test]
    fn a_zone_has_a_name() {
        let name = |zone: &str| zone_name(&crate::when::zone(zone).expect("a zone"));
        assert_eq!(name("Europe/Berlin"), "Europe/Berlin");
        assert_eq!(name("+02:00"), "+02");
        assert_eq!(zone_name(&TimeZone::UTC), "UTC");
    }

    #[test]
    fn what_has_no_time_is_behind_the_days() {
        let mut undated = group(UNKNOWN);
        let tokens = undated.counts.tokens.entry("m".to_owned()).or_default();
        (tokens.responses, tokens.input, tokens.output) = (1, Some(3), Some(4));
        let columns = in_time(&[undated, group("2026-02-27")]);
        let amounts: Vec<_> = columns
            .iter()
            .map(|(name, sum)| (name.as_str(), sum.tokens))
            .collect();
        assert_eq!(amounts, [("2026-02-27", 0), (UNKNOWN, 7)]);
    }

    #[test]
    fn a_long_time_is_drawn_by_months_or_years() {
        assert_eq!(
            columns(&["2025-12-31", "2026-06-01"]),
            [
                "2025-12", "2026-01", "2026-02", "2026-03", "2026-04", "2026-05", "2026-06"
            ]
        );
        let years = columns(&["2000-01-01", "2026-06-01"]);
        assert_eq!((years.len(), years[0].as_str()), (27, "2000"));
        // A log may claim any time.
        assert!(columns(&["0001-01-01", "9999-12-31"]).len() <= COLUMNS + 1);
    }
}
