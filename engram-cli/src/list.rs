//! `engram list`: which sessions there are, from logs, stores and tapes.

use std::collections::{HashMap, HashSet};
use std::io::{self, IsTerminal, Write, stderr, stdout};

use engram_adapters::Registry;
use engram_adapters::sessions::{SessionOptions, lost_sessions};
use engram_command::exit::{Exit, Tally};
use engram_command::homes::in_short;
use engram_command::inputs::is_no_session;
use engram_command::pool::in_order;
use engram_command::report::Reporter;
use engram_command::summary::count;
use engram_command::table::{self, Align, Column, Fit, Look, Screen, number, short_number, text};
use engram_core::error::AdapterError;
use engram_core::form_facts;
use engram_core::overview::{Overview, OverviewSink};
use engram_core::prices::Prices;
use engram_core::stats::{Cost, Costs, TapeCost, session_key};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use crate::args;
use crate::money;
use crate::once::{is_session, none_fits};
use crate::reading::{self, Item, Reading, Request, Sent, TapeState, TapesCount};
use crate::repeats::{Form, repeats};
use crate::roots::{Roots, SessionId};
use crate::when::ago;

/// Sessions that are listed in a terminal, unless the command line says how many.
const LISTED: usize = 40;
/// Characters of an id that are shown, unless more are needed to tell two sessions apart.
const ID_CHARS: usize = 8;

/// One session.
#[derive(Debug, Serialize)]
struct Row {
    path: String,
    tape: TapeState,
    /// The row that the session is counted from, if it is another one: its `path`.
    #[serde(skip_serializing_if = "Option::is_none")]
    repeats: Option<String>,
    /// The number of what was read; `None` for a lost session.
    #[serde(skip)]
    item: Option<usize>,
    /// Sub-agents of the session, on tapes of their own or on its own one.
    sub_agents: u64,
    /// What it cost; with its sub-agents if they have no rows of their own.
    #[serde(skip)]
    cost: Cost,
    /// What its tapes say about costs.
    #[serde(skip)]
    costs: Vec<(u64, TapeCost)>,
    #[serde(flatten)]
    overview: Overview,
}

/// Runs the command.
///
/// # Errors
/// When standard output cannot be written to.
pub fn run(args: &args::List, registry: &Registry, report: &Reporter) -> io::Result<Exit> {
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
    let request = Request {
        paths: &args.paths,
        tapes: args.tapes.as_deref(),
        filter: &args.filter,
        tapes_count: TapesCount::WhereCurrent,
    };
    let reading = match reading::find(&request, &options, report) {
        Ok(reading) => reading,
        Err(error) => return Ok(report.failure(&error)),
    };
    let (mut tally, mut rows) = (Tally::default(), Vec::new());
    report.start_progress(reading.items.iter().flatten().map(Item::bytes).sum());
    let work = |item: &Result<Item, AdapterError>| {
        item.as_ref()
            .map_err(Clone::clone)
            .and_then(|item| row(item, &options, args))
    };
    let mut number = 0;
    let done = in_order(None, &reading.items, work, |item, row| {
        match row {
            Ok(row) => {
                tally.success();
                rows.extend(row.map(|row| Row {
                    item: Some(number),
                    ..row
                }));
            }
            Err(error) if is_no_session(&error) && item.as_ref().is_ok_and(Item::is_found) => {}
            Err(error) => tally.failure(report.failure(&error)),
        }
        number += 1;
    });
    leave_out_moved(&mut rows);
    let done = done.and_then(|()| mark_repeats(&mut rows, &reading, &options, args));
    report.end_progress();
    if let Err(error) = done {
        return Ok(report.failure(&error));
    }
    let lost = lost_rows(&rows, &reading, registry);
    if tally.is_empty() && lost.is_empty() {
        return Ok(report.no_session(&reading.paths));
    }
    if !tally.has_success() && lost.is_empty() {
        return Ok(tally.exit());
    }
    rows.extend(lost);
    let all = rows.len();
    // `show` looks for the beginning of an id among all sessions and sub-agents, also those that have no row here.
    let ids = short_ids(&rows);
    let (rows, agents) = settled(rows, args, &prices);
    if !rows.is_empty() || args.output.json || args.output.csv {
        print(&rows, &ids, args, &mut stdout().lock())?;
    }
    if rows.is_empty() && all > 0 {
        report.note(&none_fits(all as u64));
    } else if stderr().is_terminal() {
        report.note(&footer(&rows, agents, limit(args)));
        let costs = shown(&rows, args).iter().map(|row| &row.cost);
        money::legend(costs, false, args.keys, report);
    }
    Ok(tally.exit())
}

/// Reads one session. `None` if the filter leaves its harness out, or the log has nothing of a session.
fn row(
    item: &Item,
    options: &SessionOptions,
    args: &args::List,
) -> Result<Option<Row>, AdapterError> {
    let overview = match item.overview() {
        Some(overview) => overview.clone(),
        None => {
            let mut sink = OverviewSink::default();
            if item.send(options, &args.filter, &mut sink)? == Sent::LeftOut {
                return Ok(None);
            }
            sink.overview()
        }
    };
    if !is_session(&overview) {
        return Ok(None);
    }
    Ok(Some(Row {
        path: item.path().to_string_lossy().into_owned(),
        tape: item.state(),
        repeats: None,
        item: None,
        sub_agents: 0,
        cost: Cost::default(),
        costs: Vec::new(),
        overview,
    }))
}

/// Sessions of which only the harness's history of prompts is left. One whose log cannot be read is not lost: the name of the log has its id.
fn lost_rows(rows: &[Row], reading: &Reading, registry: &Registry) -> Vec<Row> {
    let read: HashSet<&str> = rows
        .iter()
        .flat_map(|row| {
            let parent = row.overview.parent_session_id.as_deref();
            row.overview.sessions().chain(parent)
        })
        .collect();
    let logs: Vec<String> = reading
        .items
        .iter()
        .map(|item| match item {
            Ok(item) => item.path().to_string_lossy().into_owned(),
            Err(error) => error.path.clone().unwrap_or_default(),
        })
        .collect();
    let is_known = |id: &str| read.contains(id) || logs.iter().any(|path| path.contains(id));
    lost_sessions(registry, &reading.paths, is_known)
        .into_iter()
        .map(|lost| Row {
            path: lost.path.to_string_lossy().into_owned(),
            tape: TapeState::Lost,
            repeats: None,
            item: None,
            sub_agents: 0,
            cost: Cost::default(),
            costs: Vec::new(),
            overview: lost.overview,
        })
        .collect()
}

/// Leaves out tapes whose log is gone where another row has the session: a log that was moved is not gone.
fn leave_out_moved(rows: &mut Vec<Row>) {
    let there: HashSet<Identity> = rows
        .iter()
        .filter(|row| row.tape != TapeState::LogGone)
        .map(Row::identity)
        .collect();
    rows.retain(|row| row.tape != TapeState::LogGone || !there.contains(&row.identity()));
}

/// Marks the rows whose session is counted from another one.
fn mark_repeats(
    rows: &mut [Row],
    reading: &Reading,
    options: &SessionOptions,
    args: &args::List,
) -> Result<(), AdapterError> {
    let form = |row: &Row| {
        let item = reading.items.get(row.item?)?.as_ref().ok()?;
        Form::read(|sink| item.send(options, &args.filter, sink).ok().map(drop))
    };
    // What the filter leaves out is not counted, so nothing is counted from it.
    let of = |row: &Row| {
        let (harness, session_id, agent_id) = row.identity();
        let session_id = session_id.filter(|_| args.filter.wants(&row.overview))?;
        Some(form_facts::Identity {
            harness,
            session_id,
            agent_id,
        })
    };
    for (repeat, counts) in repeats(rows, of, form, None)? {
        rows[repeat].repeats = Some(rows[counts].path.clone());
    }
    Ok(())
}

/// The rows that are wanted, the newest first, with the numbers of their sub-agents; and how many sub-agents the filter wants in all.
///
/// A row has the calls, tokens and costs of the sub-agents of its session, unless they have rows of their own: the rows add up to the sums of
/// `engram stats`.
fn settled(mut rows: Vec<Row>, args: &args::List, prices: &Prices) -> (Vec<Row>, u64) {
    let roots = Roots::new(rows.iter().map(|row| &row.overview));
    rows.retain(|row| args.filter.wants(&row.overview));
    let (mut agents, mut all_agents) = (
        HashMap::<SessionId, HashSet<Identity>>::new(),
        HashSet::new(),
    );
    for row in &rows {
        let of_session = agents.entry(roots.of(&row.overview)).or_default();
        of_session.extend(row.agents());
        all_agents.extend(row.agents());
    }
    let mut rows = if args.agents {
        rows
    } else {
        with_their_agents(rows, &roots)
    };
    for row in rows.iter_mut() {
        if row.costs.is_empty() {
            row.costs = row
                .overview
                .cost
                .clone()
                .into_iter()
                .map(|cost| (row.own_key(), cost))
                .collect();
        }
        let mut costs = Costs::default();
        row.costs
            .drain(..)
            .for_each(|(session, cost)| costs.begin(Some(session), cost));
        row.cost = costs.cost(prices);
        if !row.is_sub_agent() {
            // Of the rows of a session, the first that counts has them.
            if row.repeats.is_some() {
                continue;
            }
            let own = agents.remove(&roots.of(&row.overview));
            row.sub_agents = own.map_or(0, |own| own.len() as u64);
        }
    }
    rows.sort_by(|one, other| {
        (&other.overview.end, &one.path).cmp(&(&one.overview.end, &other.path))
    });
    (rows, all_agents.len() as u64)
}

/// The rows without those of sub-agents, whose numbers are added to the first row of their session that counts. A sub-agent whose session has no
/// row keeps its own.
fn with_their_agents(rows: Vec<Row>, roots: &Roots) -> Vec<Row> {
    let (agents, mut rows): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(Row::is_sub_agent);
    let counts: Vec<bool> = rows.iter().map(|row| row.repeats.is_none()).collect();
    let mut of_session: HashMap<SessionId, usize> = HashMap::new();
    for (index, row) in rows.iter_mut().enumerate() {
        let cost = row.overview.cost.clone();
        row.costs = cost.into_iter().map(|cost| (row.own_key(), cost)).collect();
        let first = of_session.entry(roots.of(&row.overview)).or_insert(index);
        if !counts[*first] {
            *first = index;
        }
    }
    for agent in agents.into_iter().filter(|agent| agent.repeats.is_none()) {
        let Some(index) = of_session.get(&roots.of(&agent.overview)) else {
            rows.push(agent);
            continue;
        };
        let row = &mut rows[*index];
        row.costs.extend(
            agent
                .overview
                .cost
                .clone()
                .map(|cost| (agent.own_key(), cost)),
        );
        row.overview.prompts += agent.overview.prompts;
        row.overview.calls += agent.overview.calls;
        row.overview.tokens.add(agent.overview.tokens);
    }
    rows
}

/// Harness, session and agent.
type Identity = (String, Option<String>, Option<String>);

impl Row {
    fn identity(&self) -> Identity {
        (
            self.overview.harness.clone(),
            self.overview.session_id.clone(),
            self.overview.agent_id.clone(),
        )
    }

    /// The sub-agents of which its log or tape has events. One of a session without an id is that of its tape.
    fn agents(&self) -> impl Iterator<Item = Identity> {
        let (harness, session) = (&self.overview.harness, &self.overview.session_id);
        let session = session.as_ref().unwrap_or(&self.path);
        let agents = self.overview.agents();
        agents.map(move |agent| {
            (
                harness.clone(),
                Some(session.clone()),
                Some(agent.to_owned()),
            )
        })
    }

    fn is_sub_agent(&self) -> bool {
        self.overview.agent_id.is_some()
    }

    /// The session whose total has what this row costs.
    fn own_key(&self) -> u64 {
        let id = self.overview.session_id.as_deref().unwrap_or_default();
        session_key(&self.overview.harness, id)
    }
}

/// How many rows are printed.
fn limit(args: &args::List) -> usize {
    let is_table = !args.output.json && !args.output.csv;
    match args.limit {
        Some(0) => usize::MAX,
        Some(limit) => limit,
        None if is_table && stdout().is_terminal() => LISTED,
        None => usize::MAX,
    }
}

/// `243 sessions, 102 sub-agents`, and why the rows are more than the sessions.
fn footer<'r>(rows: &'r [Row], agents: u64, limit: usize) -> String {
    // A session with several tapes or captures counts once, as in `engram stats`. Of a lost one there is nothing to count.
    let known: Vec<&Row> = rows
        .iter()
        .filter(|row| !row.is_sub_agent() && row.tape != TapeState::Lost)
        .collect();
    let (named, unnamed): (Vec<&Row>, Vec<&Row>) = known
        .iter()
        .partition(|row| row.overview.sessions().next().is_some());
    let ids = |row: &'r Row| {
        let of_row = row.overview.sessions();
        of_row.map(move |session| (row.overview.harness.as_str(), session))
    };
    let named: HashSet<(&str, &str)> = named.into_iter().flat_map(ids).collect();
    let sessions = named.len() + unnamed.len();
    let is = |state: TapeState| rows.iter().filter(|row| row.tape == state).count() as u64;
    let (gone, lost) = (is(TapeState::LogGone), is(TapeState::Lost));
    let alone = rows.iter().filter(|row| row.is_sub_agent()).count() as u64;
    let in_rows = match known.len() != sessions {
        true => format!(" in {} rows", known.len()),
        false => String::new(),
    };
    let mut parts = vec![count(sessions as u64, "session") + &in_rows];
    parts.extend((agents > 0).then(|| {
        let apart = match alone > 0 {
            true => format!(" ({alone} in rows of their own)"),
            false => String::new(),
        };
        count(agents, "sub-agent") + &apart
    }));
    parts.extend((gone > 0).then(|| format!("{gone} whose log is gone")));
    parts.extend((lost > 0).then(|| format!("and {lost} of which only the prompts are left")));
    let more = rows.len().saturating_sub(limit);
    parts.extend((more > 0).then(|| format!("{more} more rows with `--limit 0`")));
    parts.join(", ")
}

const COLUMNS: [Column; 13] = [
    text("session").look(Look::Name),
    text("agent").fit(Fit::Start(8)).drops(4),
    text("last").look(Look::Dim),
    text("harness").drops(1),
    text("version").look(Look::Dim).drops(9),
    text("project").fit(Fit::End(10)),
    Column {
        align: Align::Right,
        ..text("prompts").drops(7)
    },
    Column {
        align: Align::Right,
        ..text("calls").drops(6)
    },
    number("agents").drops(8),
    Column {
        align: Align::Right,
        ..text("tokens").drops(3)
    },
    number("USD").drops(2),
    text("tape").drops(5),
    text("title").fit(Fit::Start(20)).look(Look::Bold),
];

/// The rows that are printed.
fn shown<'r>(rows: &'r [Row], args: &args::List) -> &'r [Row] {
    &rows[..rows.len().min(limit(args))]
}

/// What a session says of its log: unknown where only the prompts are left, and nothing for agents, who ask about the work.
pub const OF_A_LOG: [&str; 12] = [
    "schema",
    "adapter",
    "adapter_version",
    "support",
    "events",
    "records",
    "unrecognized",
    "malformed",
    "unknown_members",
    "complete",
    "input_hash",
    "input_bytes",
];
/// What is counted, where there is a log.
const COUNTED: [&str; 2] = ["calls", "tokens"];

/// A row as JSON, without what is not known.
fn json(row: &Row) -> io::Result<Value> {
    let mut value = serde_json::to_value(row)?;
    let Some(object) = value.as_object_mut() else {
        return Ok(value);
    };
    object.remove("cost");
    if let Some(tokens) = object.get_mut("tokens") {
        *tokens = money::tokens(tokens.take());
    }
    if row.tape == TapeState::Lost {
        let unknown = OF_A_LOG.iter().chain(&COUNTED);
        unknown.for_each(|name| drop(object.remove(*name)));
    }
    if object
        .get("tokens")
        .is_some_and(|tokens| tokens["responses"] == 0)
    {
        object.remove("tokens");
    }
    money::put(object, &row.cost);
    Ok(value)
}

fn print(
    rows: &[Row],
    ids: &HashMap<String, String>,
    args: &args::List,
    out: &mut impl Write,
) -> io::Result<()> {
    let shown = shown(rows, args);
    if args.output.json {
        let rows: io::Result<Vec<Value>> = shown.iter().map(json).collect();
        table::write_lines(rows?, args.keys, out)?;
    } else if args.output.csv {
        table::write_csv(&CSV, shown.iter().map(csv), args.keys, out)?;
    } else {
        let now = Timestamp::now();
        let mut columns = COLUMNS.to_vec();
        let mut cells: Vec<Vec<String>> = shown.iter().map(|row| cells(row, ids, now)).collect();
        let repeated = with_repeated_id(rows);
        if repeated
            .iter()
            .take(shown.len())
            .any(|is_repeated| *is_repeated)
        {
            // Only the path tells such sessions apart.
            columns.push(text("path").fit(Fit::End(24)).drops(4));
            for ((line, row), is_repeated) in cells.iter_mut().zip(shown).zip(repeated) {
                line.push(if is_repeated {
                    row.path.clone()
                } else {
                    String::new()
                });
            }
        }
        table::write(&columns, &cells, Screen::stdout().with_keys(args.keys), out)?;
    }
    out.flush()
}

/// For each row, whether another one has the same id.
fn with_repeated_id(rows: &[Row]) -> Vec<bool> {
    let mut times = HashMap::new();
    rows.iter()
        .for_each(|row| *times.entry(row.identity()).or_insert(0) += 1);
    rows.iter()
        .map(|row| times.get(&row.identity()).is_some_and(|times| *times > 1))
        .collect()
}

/// The shortest beginning of each id that no other session has.
fn short_ids(rows: &[Row]) -> HashMap<String, String> {
    let mut ids: Vec<&str> = rows
        .iter()
        .filter_map(|row| row.overview.session_id.as_deref())
        .collect();
    ids.sort_unstable();
    ids.dedup();
    let common = |one: &str, other: &str| {
        one.chars()
            .zip(other.chars())
            .take_while(|(a, b)| a == b)
            .count()
    };
    let own = |at: usize| {
        let before = at
            .checked_sub(1)
            .map_or(0, |before| common(ids[before], ids[at]));
        let after = ids.get(at + 1).map_or(0, |after| common(after, ids[at]));
        ids[at]
            .chars()
            .take((before.max(after) + 1).max(ID_CHARS))
            .collect()
    };
    (0..ids.len())
        .map(|at| (ids[at].to_owned(), own(at)))
        .collect()
}

/// The title, else the first prompt.
fn title(overview: &Overview) -> String {
    let title = overview
        .title
        .as_ref()
        .filter(|title| !title.trim().is_empty());
    title
        .or(overview.first_prompt.as_ref())
        .cloned()
        .unwrap_or_default()
}

fn cells(row: &Row, ids: &HashMap<String, String>, now: Timestamp) -> Vec<String> {
    let Overview {
        harness,
        version,
        end,
        project,
        prompts,
        calls,
        tokens,
        session_id,
        agent_id,
        ..
    } = &row.overview;
    let agent = agent_id.clone().filter(|_| agent_id != session_id);
    let tape = match row.tape {
        TapeState::Current | TapeState::Itself => "",
        TapeState::Old => "old",
        TapeState::None => "none",
        TapeState::LogGone => "log gone",
        TapeState::Lost => "lost",
    };
    vec![
        session_id
            .as_ref()
            .and_then(|id| ids.get(id))
            .cloned()
            .unwrap_or_else(|| "-".to_owned()),
        agent.unwrap_or_default(),
        end.as_deref()
            .map_or_else(|| "-".to_owned(), |end| ago(end, now)),
        harness.clone(),
        version.clone().unwrap_or_default(),
        project
            .as_deref()
            .map(|project| in_short(project.as_ref()))
            .unwrap_or_default(),
        prompts.to_string(),
        calls.to_string(),
        if row.sub_agents > 0 {
            row.sub_agents.to_string()
        } else {
            String::new()
        },
        tokens.all().map_or_else(
            || "-".to_owned(),
            |(all, is_partial)| short_number(all) + if is_partial { "+" } else { "" },
        ),
        money::cell(&row.cost),
        tape.to_owned(),
        title(&row.overview),
    ]
}

const CSV: [&str; 17] = [
    "session",
    "agent",
    "harness",
    "version",
    "start",
    "end",
    "project",
    "title",
    "prompts",
    "calls",
    "sub_agents",
    "tokens",
    "cost_usd",
    "cost_basis",
    "tape",
    "path",
    "repeats",
];

fn csv(row: &Row) -> Vec<String> {
    let Overview {
        harness,
        version,
        start,
        end,
        project,
        prompts,
        calls,
        tokens,
        session_id,
        agent_id,
        ..
    } = &row.overview;
    let [session, agent, version, start, end, project] =
        [session_id, agent_id, version, start, end, project]
            .map(|text| text.clone().unwrap_or_default());
    let tape = serde_json::to_value(row.tape)
        .ok()
        .and_then(|state| state.as_str().map(str::to_owned))
        .unwrap_or_default();
    let tokens_all = tokens
        .all()
        .map(|(all, _)| all.to_string())
        .unwrap_or_default();
    let [cost, basis] = money::csv(&row.cost);
    vec![
        session,
        agent,
        harness.clone(),
        version,
        start,
        end,
        project,
        title(&row.overview),
        prompts.to_string(),
        calls.to_string(),
        row.sub_agents.to_string(),
        tokens_all,
        cost,
        basis,
        tape,
        row.path.clone(),
        row.repeats.clone().unwrap_or_default(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str) -> Row {
        let overview =
            serde_json::from_value(serde_json::json!({ "harness": "codex", "session_id": id }))
                .unwrap();
        Row {
            path: String::new(),
            tape: TapeState::None,
            repeats: None,
            item: None,
            sub_agents: 0,
            cost: Cost::default(),
            costs: Vec::new(),
            overview,
        }
    }

    #[test]
    fn ids_are_as_short_as_they_can_be() {
        let rows = [
            "019a0001-aaaa-1",
            "019a0001-aaab-2",
            "08a7d153-dbf5-4299",
            "short",
        ]
        .map(row);
        let ids = short_ids(&rows);
        assert_eq!(ids["019a0001-aaaa-1"], "019a0001-aaaa");
        assert_eq!(
            [&ids["08a7d153-dbf5-4299"], &ids["short"]],
            ["08a7d153", "short"]
        );
    }
}
