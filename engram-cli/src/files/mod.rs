//! `engram files`: which files the agents changed, when, with which calls, and for how many tokens.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write, stdout};

use engram_adapters::Registry;
use engram_adapters::sessions::SessionOptions;
use engram_command::exit::Exit;
use engram_command::homes::in_short;
use engram_command::report::Reporter;
use engram_command::summary::count;
use engram_command::table::{self, Column, Fit, Look, Screen, number, short_number, text};
use engram_core::file_path::comparable;
use engram_core::prices::Prices;
use engram_core::stats::{Cost, Stats, TokenCounts};
use jiff::Timestamp;
use serde::{Serialize, Serializer};

mod edits;

pub use self::edits::Edits;
use crate::answers;
use crate::args;
use crate::money;
use crate::once::{Counted, none_fits};
use crate::reading::{self, Request, TapesCount};
use crate::when::ago;

/// One file.
#[derive(Debug, Default, Serialize)]
struct Row {
    file: String,
    /// Changed places: one call can change several.
    edits: u64,
    /// Sessions and sub-agents that changed it. One that no log names is "".
    #[serde(serialize_with = "named")]
    sessions: BTreeSet<String>,
    first_change: Option<String>,
    last_change: Option<String>,
    harnesses: BTreeSet<String>,
    /// Edits by the tool that made them.
    tools: BTreeMap<String, u64>,
}

/// Runs the command.
///
/// # Errors
/// When standard output cannot be written to.
pub fn run(args: &args::Files, registry: &Registry, report: &Reporter) -> io::Result<Exit> {
    if let Some(fault) = args.filter.fault(registry) {
        return Ok(report.usage(&fault));
    }
    let prices = match args.prices.load() {
        Ok(prices) => prices,
        Err(error) => return Ok(report.failure(&error)),
    };
    let bar = report.bar().clone();
    let options = SessionOptions::default()
        .with_registry(registry.clone())
        .with_progress(move |bytes| bar.inc(bytes));
    let tapes_count = if args.paths.is_empty() {
        TapesCount::WhereCurrent
    } else {
        TapesCount::Never
    };
    let request = Request {
        paths: &args.paths,
        tapes: args.tapes.as_deref(),
        filter: &args.filter,
        tapes_count,
    };
    let reading = match reading::find(&request, &options, report) {
        Ok(reading) => reading,
        Err(error) => return Ok(report.failure(&error)),
    };
    let period = (args.filter.since, args.filter.until);
    let answers = match answers::read(
        &reading,
        &options,
        &args.filter,
        None,
        || Edits::new(period),
        report,
    ) {
        Ok(answers) => answers,
        Err(exit) => return Ok(exit),
    };
    let sessions = answers.once.each_once(report);
    let is_filtered_out = sessions.is_empty() && answers.filtered > 0;
    if is_filtered_out {
        report.note(&none_fits(answers.filtered));
    }
    let (last_line, cost) = last_line(&sessions, args.below.as_deref(), &prices);
    let mut rows = rows(sessions, args.below.as_deref());
    let size = |row: &Row| match args.sort {
        args::Sort::Last => 0,
        args::Sort::Edits => row.edits,
        args::Sort::Sessions => row.sessions.len() as u64,
    };
    rows.sort_by(|one, other| {
        (size(other), &other.last_change, &one.file).cmp(&(
            size(one),
            &one.last_change,
            &other.file,
        ))
    });
    let all = rows.len();
    rows.truncate(args.limit.filter(|limit| *limit > 0).unwrap_or(usize::MAX));
    let is_table = !args.output.json && !args.output.csv;
    if all > 0 || !is_table {
        print(&rows, args, &mut stdout().lock())?;
    }
    if let Some(below) = args
        .below
        .as_deref()
        .filter(|_| all == 0 && !is_filtered_out)
    {
        report.note(&format!(
            "no session changed a file whose path contains `{below}`"
        ));
    } else if is_table && !is_filtered_out {
        let more = if all > rows.len() {
            format!(", {} more files with `--limit 0`", all - rows.len())
        } else {
            String::new()
        };
        report.note(&format!(
            "{} of {last_line}{more}",
            count(all as u64, "file")
        ));
        money::legend(std::iter::once(&cost), false, args.keys, report);
    }
    Ok(answers.exit)
}

/// True for a file whose path contains the wanted text. Paths of Windows are compared in any spelling.
fn is_below(file: &str, below: &str) -> bool {
    file.contains(below) || comparable(file).contains(&*comparable(below))
}

/// The sessions that have a name.
fn named<S: Serializer>(sessions: &BTreeSet<String>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(sessions.iter().filter(|session| !session.is_empty()))
}

/// The files of all sessions.
fn rows(sessions: Vec<Counted<Edits>>, below: Option<&str>) -> Vec<Row> {
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    for Counted { overview, more, .. } in sessions {
        for (file, changes) in more.into_files() {
            if below.is_some_and(|below| !is_below(&file, below)) {
                continue;
            }
            let row = rows
                .entry(comparable(&file).into_owned())
                .or_insert_with(|| Row {
                    file,
                    ..Row::default()
                });
            row.edits += changes.edits;
            row.sessions.extend(changes.sessions);
            row.harnesses.insert(overview.harness.clone());
            changes
                .tools
                .into_iter()
                .for_each(|(tool, edits)| *row.tools.entry(tool).or_default() += edits);
            let (first, last) = (
                changes.first.or(overview.start.clone()),
                changes.last.or(overview.end.clone()),
            );
            row.first_change = row.first_change.take().into_iter().chain(first).min();
            row.last_change = row.last_change.take().max(last);
        }
    }
    rows.into_values().collect()
}

/// What the sessions with these edits took: `9 sessions, 3 sub-agents, 120 calls, 1.2M tokens, 4.20 USD`; and their cost.
fn last_line(sessions: &[Counted<Edits>], below: Option<&str>, prices: &Prices) -> (String, Cost) {
    let is_wanted = |file: &str| below.is_none_or(|below| is_below(file, below));
    let mut sum = Stats::default();
    sessions
        .iter()
        .filter(|session| session.more.has_edits(is_wanted))
        .for_each(|session| sum.add(&session.stats));
    let counts = sum.counts();
    let mut tokens = TokenCounts::default();
    counts.tokens.values().for_each(|more| tokens.add(*more));
    let calls = counts
        .calls
        .values()
        .flatten()
        .map(|(_, calls)| *calls)
        .sum();
    let mut parts = vec![count(counts.sessions, "session")];
    parts.extend((counts.sub_agents > 0).then(|| count(counts.sub_agents, "sub-agent")));
    parts.push(count(calls, "call"));
    parts.extend(tokens.all().map(|(all, is_partial)| {
        format!(
            "{}{} tokens",
            if is_partial { "at least " } else { "" },
            short_number(all)
        )
    }));
    let cost = sum.costs().cost(prices);
    parts.extend(cost.usd.map(|_| format!("{} USD", money::cell(&cost))));
    (parts.join(", "), cost)
}

const COLUMNS: [Column; 6] = [
    text("file").fit(Fit::End(24)).look(Look::Name),
    number("edits"),
    number("sessions").drops(1),
    text("last"),
    text("with").fit(Fit::Start(10)).drops(2),
    text("by").fit(Fit::Start(8)),
];

fn print(rows: &[Row], args: &args::Files, out: &mut impl Write) -> io::Result<()> {
    if args.output.json {
        table::write_lines(rows, args.keys, out)?;
    } else if args.output.csv {
        table::write_csv(
            &[
                "file",
                "edits",
                "sessions",
                "first_change",
                "last_change",
                "tools",
                "harnesses",
            ],
            rows.iter().map(csv),
            args.keys,
            out,
        )?;
    } else if !rows.is_empty() {
        let now = Timestamp::now();
        let cells: Vec<Vec<String>> = rows.iter().map(|row| cells(row, now)).collect();
        table::write(&COLUMNS, &cells, Screen::stdout().with_keys(args.keys), out)?;
    }
    out.flush()
}

/// `Edit 12, Write`.
fn tools(tools: &BTreeMap<String, u64>) -> String {
    let mut tools: Vec<(&String, &u64)> = tools.iter().collect();
    tools.sort_by_key(|(name, edits)| (std::cmp::Reverse(**edits), (*name).clone()));
    tools
        .into_iter()
        .map(|(tool, edits)| {
            if *edits > 1 {
                format!("{tool} {edits}")
            } else {
                tool.clone()
            }
        })
        .collect::<Vec<_>>()
        .join(", ")
}

fn cells(row: &Row, now: Timestamp) -> Vec<String> {
    vec![
        in_short(row.file.as_ref()),
        row.edits.to_string(),
        row.sessions.len().to_string(),
        row.last_change
            .as_deref()
            .map_or_else(|| "-".to_owned(), |time| ago(time, now)),
        tools(&row.tools),
        row.harnesses.iter().cloned().collect::<Vec<_>>().join(", "),
    ]
}

fn csv(row: &Row) -> Vec<String> {
    vec![
        row.file.clone(),
        row.edits.to_string(),
        row.sessions.len().to_string(),
        row.first_change.clone().unwrap_or_default(),
        row.last_change.clone().unwrap_or_default(),
        tools(&row.tools),
        row.harnesses.iter().cloned().collect::<Vec<_>>().join(" "),
    ]
}
