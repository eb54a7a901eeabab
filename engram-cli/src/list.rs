//! `engram list`: which sessions there are, from logs, stores and tapes.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::io::{self, Write, stdout};
use std::path::{Path, PathBuf};

use engram_adapters::Registry;
use engram_adapters::sessions::SessionOptions;
use engram_core::error::AdapterError;
use engram_core::overview::{Overview, OverviewSink};
use engram_core::tape::replay;
use serde::Serialize;

use crate::args;
use crate::exit::{Exit, Tally};
use crate::homes;
use crate::inputs::{SessionInput, find_changed, is_no_session};
use crate::pool::in_order;
use crate::report::{Reporter, one_line, write_json};
use crate::tape_dir::{Index, Known, Setup, State, source_of};
use crate::tapes::{open_tape, tapes_among, tapes_in};

/// The widest cell of a column, in characters.
const CELL_CHARS: usize = 40;

/// Whether a session has a tape that is as new as the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum TapeState {
    /// It has.
    Current,
    /// Its tape is older than the log, or was made by another version.
    Old,
    /// It has none.
    None,
    /// It is a tape itself.
    Itself,
}

/// One session.
#[derive(Debug, Serialize)]
struct Row {
    path: String,
    tape: TapeState,
    #[serde(flatten)]
    overview: Overview,
}

/// Something to list.
enum Item {
    Tape(PathBuf),
    Session(SessionInput, TapeState),
}

/// Runs the command.
///
/// # Errors
/// When standard output cannot be written to.
pub fn run(args: &args::List, registry: &Registry, report: &Reporter) -> io::Result<Exit> {
    if let Some(fault) = args.filter.fault(registry) {
        return Ok(report.usage(&fault));
    }
    let bar = report.bar().clone();
    let options = SessionOptions::default().with_registry(registry.clone()).with_progress(move |bytes| bar.inc(bytes));
    let index = match Index::load(&args.tapes) {
        Ok(index) => index,
        Err(error) => return Ok(report.failure(&AdapterError::from(error).path(args.tapes.to_string_lossy()))),
    };
    let paths = homes::paths(&args.paths, registry, report);
    let (mut rows, items) = collect(args, &paths, &options, &index, report);
    let mut tally = Tally::default();
    rows.iter().for_each(|_| tally.success());
    report.start_progress(items.iter().flatten().map(Item::bytes).sum());
    let work = |item: &Result<Item, AdapterError>| item.as_ref().map_err(Clone::clone).and_then(|item| row(item, &options, args));
    let done = in_order(None, &items, work, |item, row| match row {
        Ok(row) => {
            tally.success();
            rows.extend(row);
        }
        Err(error) if is_no_session(&error) && item.as_ref().is_ok_and(Item::is_found) => {}
        Err(error) => tally.failure(report.failure(&error)),
    });
    report.end_progress();
    if let Err(error) = done {
        return Ok(report.failure(&error));
    }
    if tally.is_empty() {
        return Ok(report.no_session(&paths));
    }
    if !tally.has_success() {
        return Ok(tally.exit());
    }
    rows.retain(|row| (args.agents || row.overview.agent_id.is_none()) && args.filter.wants(&row.overview));
    rows.sort_by(|one, other| (&one.overview.start, &one.path).cmp(&(&other.overview.start, &other.path)));
    print(&rows, args.json, &mut stdout().lock())?;
    Ok(tally.exit())
}

/// The rows that the index has, and what must be read for the others.
fn collect(
    args: &args::List,
    paths: &[PathBuf],
    options: &SessionOptions,
    index: &Index,
    report: &Reporter,
) -> (Vec<Row>, Vec<Result<Item, AdapterError>>) {
    let (tapes, others) = tapes_among(paths, tapes_in);
    let mut items: Vec<_> = tapes.into_iter().map(|tape| tape.map(Item::Tape)).collect();
    // The options of the conversion do not change what is listed.
    let setup = Setup::new(options.registry(), String::new());
    let known = Known {
        index,
        root: &args.tapes,
        registry: options.registry(),
        setup: &setup,
        wants: &|session| args.filter.wants(session),
        named: HashSet::new(),
        changed: RefCell::default(),
    };
    let found = find_changed(&others, options, &known);
    found.note(report);
    let of_path = |path: &PathBuf| source_of(path).into_iter().flat_map(|source| index.of_source(&source).collect::<Vec<_>>());
    let current = found.unchanged.iter().flat_map(of_path).filter(|entry| entry.state == State::Current);
    let rows = current.filter_map(|entry| {
        let id = entry.session.as_deref().map(|id| format!("#{id}")).unwrap_or_default();
        Some(Row { path: format!("{}{id}", entry.source), tape: TapeState::Current, overview: entry.overview.clone()? })
    });
    let rows = rows.collect();
    let state = |input: &SessionInput| {
        let key = input.container().and_then(source_of).map(|source| (source, input.id_in_store()));
        let has_tape = key.and_then(|key| index.get(&key)).is_some_and(|entry| entry.tape.is_some());
        if has_tape { TapeState::Old } else { TapeState::None }
    };
    let session = |input: SessionInput| {
        let state = state(&input);
        Item::Session(input, state)
    };
    items.extend(found.sessions.into_iter().map(|input| input.map(session)));
    (rows, items)
}

impl Item {
    /// True for a file in a searched directory: it need not be a session.
    fn is_found(&self) -> bool {
        matches!(self, Item::Session(input, _) if !input.is_named())
    }

    fn bytes(&self) -> u64 {
        match self {
            Item::Tape(_) => 0,
            Item::Session(input, _) => input.bytes(),
        }
    }
}

/// Reads one session. `None` if the filter leaves its harness out.
fn row(item: &Item, options: &SessionOptions, args: &args::List) -> Result<Option<Row>, AdapterError> {
    let mut sink = OverviewSink::default();
    let (path, tape): (&Path, _) = match item {
        Item::Tape(path) => {
            let read = open_tape(path).and_then(|tape| replay(tape, &mut sink));
            read.map_err(|error| AdapterError::from(error).path(path.to_string_lossy()))?;
            (path, TapeState::Itself)
        }
        Item::Session(input, tape) => {
            let source = input.open(options)?;
            if !args.filter.wants_harness(source.harness()) {
                return Ok(None);
            }
            source.convert(&mut sink)?;
            (input.path(), *tape)
        }
    };
    Ok(Some(Row { path: path.to_string_lossy().into_owned(), tape, overview: sink.overview() }))
}

const HEADINGS: [&str; COLUMNS] = ["start", "harness", "version", "project", "prompts", "calls", "tokens", "tape", "session", "title"];
const COLUMNS: usize = 10;
/// The columns with numbers.
const NUMBERS: std::ops::Range<usize> = 4..7;

fn print(rows: &[Row], is_json: bool, out: &mut impl Write) -> io::Result<()> {
    if is_json {
        rows.iter().try_for_each(|row| write_json(out, row))?;
        return out.flush();
    }
    let mut table = vec![HEADINGS.map(str::to_owned).to_vec()];
    table.extend(rows.iter().map(|row| cells(row).to_vec()));
    let repeated = with_repeated_id(rows);
    if repeated.contains(&true) {
        table[0].push("path".to_owned());
        for ((line, row), is_repeated) in table[1..].iter_mut().zip(rows).zip(repeated) {
            line.push(if is_repeated { one_line(&end_of(&row.path)).into_owned() } else { String::new() });
        }
    }
    let widths: Vec<usize> =
        (0..table[0].len()).map(|column| table.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)).collect();
    for row in &table {
        let cell = |(column, (text, width)): (usize, (&String, &usize))| {
            if NUMBERS.contains(&column) { format!("{text:>width$}") } else { format!("{text:<width$}") }
        };
        let line: Vec<String> = row.iter().zip(&widths).enumerate().map(cell).collect();
        writeln!(out, "{}", line.join("  ").trim_end())?;
    }
    out.flush()
}

/// For each row, whether another one has the same id: only its path distinguishes it.
fn with_repeated_id(rows: &[Row]) -> Vec<bool> {
    let id = |row: &'_ Row| (row.overview.harness.clone(), row.overview.session_id.clone(), row.overview.agent_id.clone());
    let mut times = HashMap::new();
    rows.iter().for_each(|row| *times.entry(id(row)).or_insert(0) += 1);
    rows.iter().map(|row| times.get(&id(row)).is_some_and(|times| *times > 1)).collect()
}

fn cells(row: &Row) -> [String; COLUMNS] {
    let Overview { harness, version, start, project, title, prompts, calls, tokens, session_id, agent_id, .. } = &row.overview;
    let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let minutes = |time: &String| time.get(..16).unwrap_or(time).replace('T', " ");
    let tape = match row.tape {
        TapeState::Current => "current",
        TapeState::Old => "old",
        TapeState::None => "none",
        TapeState::Itself => "-",
    };
    let session = match agent_id {
        Some(agent) if Some(agent) != session_id.as_ref() => format!("{} {agent}", text(session_id)),
        _ => text(session_id),
    };
    let cells = [
        start.as_ref().map_or_else(|| "-".to_owned(), minutes),
        harness.clone(),
        text(version),
        project.as_deref().map_or_else(|| "-".to_owned(), end_of),
        prompts.to_string(),
        calls.to_string(),
        tokens.all().map_or_else(|| "-".to_owned(), |(all, is_partial)| short_number(all) + if is_partial { "+" } else { "" }),
        tape.to_owned(),
        session,
        text(title),
    ];
    cells.map(|cell| shortened(&one_line(&cell)))
}

/// The end of a long path, which identifies it better than its beginning.
fn end_of(path: &str) -> String {
    let characters = path.chars().count();
    match characters.checked_sub(CELL_CHARS) {
        None | Some(0) => path.to_owned(),
        Some(more) => format!("…{}", path.chars().skip(more + 1).collect::<String>()),
    }
}

fn shortened(cell: &str) -> String {
    match cell.char_indices().nth(CELL_CHARS) {
        Some((end, _)) => format!("{}…", &cell[..end]),
        None => cell.to_owned(),
    }
}

/// `950`, `12k`, `3.4M`.
fn short_number(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..1_000_000 => format!("{}k", number / 1_000),
        _ => format!("{}.{}M", number / 1_000_000, number / 100_000 % 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_short_and_on_one_line() {
        assert_eq!([999, 1_000, 25_999, 3_450_000].map(short_number), ["999", "1k", "25k", "3.4M"]);
        assert_eq!(shortened(&"é".repeat(100)).chars().count(), CELL_CHARS + 1);
        let long = format!("/home/dev/{}/proj", "x".repeat(100));
        let end = end_of(&long);
        assert!(end.starts_with('…') && end.ends_with("/proj") && end.chars().count() == CELL_CHARS, "{end}");
    }
}
