//! `engram list`: which sessions there are, from logs, stores and tapes.

use std::collections::{HashMap, HashSet};
use std::io::{self, IsTerminal, stderr, stdout};

use engram_adapters::Registry;
use engram_adapters::sessions::{SessionOptions, lost_sessions};
use engram_command::exit::{Exit, Tally};
use engram_command::inputs::is_no_session;
use engram_command::pool::in_order;
use engram_command::report::Reporter;
use engram_command::summary::count;
use engram_core::error::AdapterError;
use engram_core::form_facts;
use engram_core::overview::OverviewSink;
use engram_core::prices::Prices;
use engram_core::stats::{Cost, Costs};

mod print;
mod row;

pub use self::print::OF_A_LOG;
use self::print::{print, short_ids};
use self::row::{Identity, Row};

use crate::args;
use crate::money;
use crate::once::{is_session, none_fits};
use crate::reading::{self, Item, Reading, Request, Sent, TapeState, TapesCount};
use crate::repeats::{Form, repeats};
use crate::roots::{Roots, SessionId};

/// Sessions that are listed in a terminal, unless the command line says how many.
const LISTED: usize = 40;

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
        print(&rows, shown(&rows, args), &ids, args, &mut stdout().lock())?;
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

/// The rows that are printed.
fn shown<'r>(rows: &'r [Row], args: &args::List) -> &'r [Row] {
    &rows[..rows.len().min(limit(args))]
}
