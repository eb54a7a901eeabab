//! `engram stats`: counts over logs, stores and tapes.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write, stdout};
use std::path::{Path, PathBuf};

use engram_adapters::Registry;
use engram_adapters::sessions::{FormSink, SessionOptions};
use engram_core::error::AdapterError;
use engram_core::overview::OverviewSink;
use engram_core::stats::{Counts, Partial, Stats, TokenCounts};
use engram_core::tape::replay;

use crate::args;
use crate::exit::{Exit, Tally};
use crate::filter::Filter;
use crate::homes;
use crate::inputs::{SessionInput, find, is_no_session, session_options};
use crate::once::{Counted, Once};
use crate::pool::in_order;
use crate::report::{Reporter, one_line, write_json};
use crate::tape_dir::Index;
use crate::tapes::{open_tape, tapes_among, tapes_in};

/// A tape, or a possible session.
enum Item {
    Tape(PathBuf),
    Session(SessionInput),
}

impl Item {
    /// True for a file in a searched directory: it need not be a session.
    fn is_found(&self) -> bool {
        matches!(self, Item::Session(input) if !input.is_named())
    }
}

/// Runs the command.
///
/// # Errors
/// When standard output cannot be written to.
pub fn run(args: &args::Stats, registry: &Registry, report: &Reporter) -> io::Result<Exit> {
    let options = match session_options(&args.conversion, registry, report.bar()) {
        Ok(options) => options,
        Err(error) => return Ok(report.failure(&error)),
    };
    if let Some(fault) = args.filter.fault(registry) {
        return Ok(report.usage(&fault));
    }
    let (mut tally, mut counted) = (Tally::default(), Once::default());
    let paths = homes::paths(&args.paths, registry, report);
    let items = items(&paths, &options, report);
    let work =
        |item: &Result<Item, AdapterError>| item.as_ref().map_err(Clone::clone).and_then(|item| stats_of(item, &options, &args.filter));
    let done = in_order(args.conversion.jobs, &items, work, |item, stats| match stats {
        Ok(stats) => {
            tally.success();
            stats.into_iter().for_each(|stats| counted.add(stats));
        }
        Err(error) if is_no_session(&error) && item.as_ref().is_ok_and(Item::is_found) => {}
        Err(error) => tally.failure(report.failure(&error)),
    });
    if let Err(error) = done {
        return Ok(report.failure(&error));
    }
    if tally.is_empty() {
        return Ok(report.no_session(&paths));
    }
    if !tally.has_success() {
        return Ok(tally.exit());
    }
    let total = if args.conversion.every_form { counted.sum_of_all() } else { counted.sum(report) }.counts();
    let mut out = stdout().lock();
    if args.json {
        write_json(&mut out, &total)?;
    } else {
        print(&total, &mut out)?;
    }
    out.flush()?;
    Ok(tally.exit())
}

/// Everything to count. Paths that are not tapes are searched for sessions together, so that each session counts once.
fn items(paths: &[PathBuf], options: &SessionOptions, report: &Reporter) -> Vec<Result<Item, AdapterError>> {
    let (tapes, others) = tapes_among(paths, current_tapes_in);
    let mut items: Vec<_> = tapes.into_iter().map(|tape| tape.map(Item::Tape)).collect();
    let found = find(&others, options);
    found.note(report);
    items.extend(found.sessions.into_iter().map(|input| input.map(Item::Session)));
    items
}

/// The tapes in a directory without those that newer ones of the same sources supersede. Their events are on both.
fn current_tapes_in(directory: &Path) -> Vec<Result<PathBuf, AdapterError>> {
    let index = Index::load(directory).unwrap_or_default();
    let older: BTreeSet<PathBuf> = index.superseded().map(|tape| directory.join(tape)).collect();
    tapes_in(directory).into_iter().filter(|tape| tape.as_ref().map_or(true, |tape| !older.contains(tape))).collect()
}

/// The counts of one session; `None` for one that the filter leaves out.
fn stats_of(item: &Item, options: &SessionOptions, filter: &Filter) -> Result<Option<Counted>, AdapterError> {
    let mut stats = ((Stats::default(), FormSink::default()), OverviewSink::default());
    let path = match item {
        Item::Tape(path) => {
            let replayed = open_tape(path).and_then(|tape| replay(tape, &mut stats));
            replayed.map_err(|error| AdapterError::from(error).path(path.to_string_lossy()))?;
            path
        }
        Item::Session(input) => {
            let path = input.path().to_string_lossy();
            let source = input.open(options).map_err(|error| at_path(error, &path))?;
            if !filter.wants_harness(source.harness()) {
                return Ok(None);
            }
            source.convert(&mut stats).map_err(|error| at_path(error, &path))?;
            input.path()
        }
    };
    let ((stats, forms), overview) = stats;
    Ok(filter.wants(&overview.overview()).then(|| Counted { path: path.to_owned(), stats, facts: forms.facts() }))
}

fn at_path(error: AdapterError, path: &str) -> AdapterError {
    if error.path.is_some() { error } else { error.path(path) }
}

fn print(counts: &Counts, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{:<14}{:>10}", "sessions", counts.sessions)?;
    writeln!(out, "{:<14}{:>10}", "sub-agents", counts.sub_agents)?;
    writeln!(out, "{:<14}{:>10}", "prompts", counts.prompts)?;
    writeln!(out, "{:<14}{:>10}", "answers", counts.answers)?;
    writeln!(out, "{:<14}{:>10}", "files edited", counts.files_edited)?;
    writeln!(out, "\n{:<14}{:>10}  by status", "calls", "number")?;
    for (kind, statuses) in &counts.calls {
        let calls: u64 = statuses.values().sum();
        writeln!(out, "{kind:<14}{calls:>10}  {}", numbers(statuses))?;
    }
    let edits: u64 = counts.edits.values().sum();
    writeln!(out, "\n{:<14}{edits:>10}  {}", "edits", numbers(&counts.edits))?;
    writeln!(
        out,
        "\n{:>12} {:>12} {:>12} {:>12} {:>12} {:>10}  model",
        "input", "output", "cache read", "cache write", "reasoning", "USD"
    )?;
    for (model, tokens) in &counts.tokens {
        let TokenCounts { input, output, cache_read, cache_write, reasoning, cost_usd, partial, .. } = tokens;
        let [input, output, cache_read, cache_write, reasoning] = [
            (input, partial.input),
            (output, partial.output),
            (cache_read, partial.cache_read),
            (cache_write, partial.cache_write),
            (reasoning, partial.reasoning),
        ]
        .map(|(count, is_partial)| cell(count.map(|count| count.to_string()), is_partial));
        let cost = cell(cost_usd.map(|cost| format!("{cost:.4}")), partial.cost_usd);
        writeln!(out, "{input:>12} {output:>12} {cache_read:>12} {cache_write:>12} {reasoning:>12} {cost:>10}  {}", one_line(model))?;
    }
    if counts.tokens.values().any(|tokens| tokens.partial != Partial::default()) {
        writeln!(out, "\n+: some responses do not state it")?;
    }
    Ok(())
}

/// A sum in the table: `-` if it is unknown, with `+` if some of its parts are.
fn cell(sum: Option<String>, is_partial: bool) -> String {
    sum.map_or_else(|| "-".to_owned(), |sum| sum + if is_partial { "+" } else { "" })
}

/// `3 error, 5 ok`.
fn numbers(counts: &BTreeMap<&'static str, u64>) -> String {
    let named: Vec<String> = counts.iter().filter(|(_, count)| **count > 0).map(|(name, count)| format!("{count} {name}")).collect();
    named.join(", ")
}
