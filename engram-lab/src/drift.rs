//! `engram-lab drift`: what a new version of a harness has changed in its logs.

use std::collections::BTreeSet;
use std::io::{self, Write, stdout};

use engram_adapters::Registry;
use engram_adapters::sessions::SessionOptions;
use engram_command::exit::{Exit, Tally};
use engram_command::filter::Filter;
use engram_command::homes;
use engram_command::inputs::{SessionInput, find, is_no_session, with_adapter};
use engram_command::kept::open_kept;
use engram_command::pool::in_order;
use engram_command::report::{Reporter, one_line, shown, write_json};
use engram_command::summary::count;
use engram_core::drift::{Change, DriftGroup, DriftReport, DriftRow, Place, SessionDrift};
use engram_core::error::AdapterError;
use engram_core::overview::OverviewSink;
use serde::Serialize;

use crate::args::Drift;

/// The drift of one session, and how many of its records cannot be read.
struct Examined {
    report: DriftReport,
    malformed: u64,
}

/// Runs the command.
///
/// # Errors
/// When standard output cannot be written to.
pub fn run(args: &Drift, registry: &Registry, report: &Reporter) -> io::Result<Exit> {
    let options = match with_adapter(
        SessionOptions::default().with_registry(registry.clone()),
        args.adapter.as_deref(),
    ) {
        Ok(options) => options,
        Err(error) => return Ok(report.failure(&error)),
    };
    if let Some(fault) = args.filter.fault(registry) {
        return Ok(report.usage(&fault));
    }
    let (mut tally, mut total) = (Tally::default(), DriftReport::default());
    let paths = homes::paths(&args.paths, registry, report);
    let inputs = find(&paths, &options);
    inputs.note(report);
    let found = inputs.sessions;
    let work = |input: &Result<SessionInput, AdapterError>| {
        input
            .clone()
            .and_then(|input| examined(&options, &input, &args.filter))
    };
    let done = in_order(None, &found, work, |input, examined| match examined {
        Ok(None) => tally.success(),
        Ok(Some(examined)) => {
            tally.success();
            if let Some(path) = input
                .as_ref()
                .ok()
                .map(SessionInput::path)
                .filter(|_| examined.malformed > 0)
            {
                report.note(&format!(
                    "warning: {}: {} malformed, not compared",
                    shown(path),
                    count(examined.malformed, "record")
                ));
            }
            total.merge(examined.report);
        }
        Err(error)
            if is_no_session(&error) && input.as_ref().is_ok_and(|input| !input.is_named()) => {}
        Err(error) => tally.failure(report.failure(&error)),
    });
    if let Err(error) = done {
        return Ok(report.failure(&error));
    }
    if tally.is_empty() {
        return Ok(report.no_session(&paths));
    }
    let groups = total.groups();
    unchecked(&groups).iter().for_each(|note| report.note(note));
    let mut out = stdout().lock();
    if total.sessions() > 0 {
        print(&total, &groups, args.json, &mut out)?;
    }
    out.flush()?;
    Ok(if groups.iter().all(DriftGroup::is_empty) {
        tally.exit()
    } else {
        Exit::PartialFailure
    })
}

/// Converts one session, and compares the text that was converted with the member table. `None` for one that the filter leaves out.
fn examined(
    options: &SessionOptions,
    input: &SessionInput,
    filter: &Filter,
) -> Result<Option<Examined>, AdapterError> {
    let at_path = |error: AdapterError| error.path(input.path().to_string_lossy());
    let (source, kept) = open_kept(input, options).map_err(at_path)?;
    if !filter.wants_harness(source.harness()) {
        return Ok(None);
    }
    let (framing, descriptor) = (source.framing(), source.registration().descriptor());
    let mut sinks = (
        SessionDrift::new(input.path().to_string_lossy(), descriptor),
        OverviewSink::default(),
    );
    let summary = source.convert(&mut sinks).map_err(at_path)?;
    let (drift, overview) = sinks;
    if !filter.wants(&overview.overview()) {
        return Ok(None);
    }
    let report = kept
        .into_reader()
        .and_then(|text| drift.read(text, framing))
        .map_err(|error| at_path(error.into()))?;
    Ok(Some(Examined {
        report,
        malformed: summary.ledger.malformed,
    }))
}

/// Warnings about harnesses whose members cannot be compared.
fn unchecked(groups: &[DriftGroup]) -> Vec<String> {
    let harnesses: BTreeSet<&str> = groups
        .iter()
        .filter(|group| !group.members_checked)
        .map(|group| group.harness.as_str())
        .collect();
    harnesses
        .iter()
        .map(|harness| format!("warning: {harness}: no member table for some records; only their unknown types are listed"))
        .collect()
}

#[derive(Serialize)]
struct Wire<'g> {
    sessions: u64,
    records: u64,
    groups: &'g [DriftGroup],
}

fn print(
    total: &DriftReport,
    groups: &[DriftGroup],
    is_json: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let (sessions, records) = (total.sessions(), total.records());
    if is_json {
        return write_json(
            out,
            &Wire {
                sessions,
                records,
                groups,
            },
        );
    }
    let size = format!(
        "{}, {}",
        count(sessions, "session"),
        count(records, "record")
    );
    if groups.iter().all(DriftGroup::is_empty) {
        return writeln!(out, "nothing has changed: {size}");
    }
    for line in table(groups) {
        writeln!(out, "{line}")?;
    }
    let changes = groups.iter().map(|group| group.rows.len() as u64).sum();
    writeln!(out, "{} in {size}", count(changes, "change"))
}

const HEADINGS: [&str; 7] = [
    "harness",
    "version",
    "what",
    "type",
    "pointer",
    "count",
    "first place",
];
/// The column with numbers.
const COUNT: usize = 5;

/// The rows of all groups, aligned.
fn table(groups: &[DriftGroup]) -> Vec<String> {
    let mut rows = vec![HEADINGS.map(str::to_owned)];
    for group in groups {
        rows.extend(group.rows.iter().map(|row| cells(group, row)));
        if group.more > 0 {
            let [harness, version] = names(group);
            let more = group.more.to_string();
            rows.push([
                harness,
                version,
                "further changes".to_owned(),
                String::new(),
                String::new(),
                more,
                String::new(),
            ]);
        }
    }
    let widths: [usize; 7] = std::array::from_fn(|column| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    });
    rows.iter().map(|row| aligned(row, &widths)).collect()
}

fn names(group: &DriftGroup) -> [String; 2] {
    [
        group.harness.clone(),
        group.version.as_deref().unwrap_or("unrecorded").to_owned(),
    ]
}

fn cells(group: &DriftGroup, row: &DriftRow) -> [String; 7] {
    let [harness, version] = names(group);
    let record = if row.record.is_empty() {
        "(none)".to_owned()
    } else {
        row.record.clone()
    };
    let cells = [
        harness,
        version,
        what(&row.change),
        record,
        row.pointer.clone(),
        row.count.to_string(),
        place(&row.first),
    ];
    cells.map(|cell| shortened(one_line(&cell).into_owned()))
}

/// The longest cell, in characters. Names come from the log and can have any length; `--json` has them complete.
const CELL_CHARS: usize = 400;

fn shortened(mut cell: String) -> String {
    if let Some((end, _)) = cell.char_indices().nth(CELL_CHARS) {
        cell.truncate(end);
        cell.push('…');
    }
    cell
}

fn what(change: &Change) -> String {
    match change {
        Change::UnknownType => "unknown type".to_owned(),
        Change::UnknownMember => "unknown member".to_owned(),
        Change::TypeChange {
            expected: Some(expected),
            found,
        } => format!("{found}, not {expected}"),
        Change::TypeChange {
            expected: None,
            found,
        } => format!("{found}, not as before"),
        Change::MissingMember => "no longer there".to_owned(),
        Change::Declared => "declared, now seen".to_owned(),
    }
}

/// `path:line pointer`, as far as it is known.
fn place(place: &Place) -> String {
    let line = if place.line > 0 {
        format!(":{}", place.line)
    } else {
        String::new()
    };
    format!("{}{line} {}", place.path, place.pointer)
        .trim_end()
        .to_owned()
}

fn aligned(row: &[String; 7], widths: &[usize; 7]) -> String {
    let cell = |(column, (text, width)): (usize, (&String, &usize))| {
        if column == COUNT {
            format!("{text:>width$}")
        } else {
            format!("{text:<width$}")
        }
    };
    let cells: Vec<String> = row.iter().zip(widths).enumerate().map(cell).collect();
    cells.join("  ").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_has_words() {
        let types = |expected: Option<&str>| Change::TypeChange {
            expected: expected.map(str::to_owned),
            found: "string".to_owned(),
        };
        let changes = [
            Change::UnknownType,
            Change::UnknownMember,
            types(Some("number")),
            types(None),
            Change::MissingMember,
            Change::Declared,
        ];
        let words = changes.map(|change| what(&change));
        assert_eq!(
            words,
            [
                "unknown type",
                "unknown member",
                "string, not number",
                "string, not as before",
                "no longer there",
                "declared, now seen"
            ]
        );
    }

    #[test]
    fn a_huge_name_is_shortened() {
        let shown = shortened("é".repeat(100_000));
        assert_eq!(
            (shown.chars().count(), shown.ends_with("é…")),
            (CELL_CHARS + 1, true)
        );
        assert_eq!(shortened("short".to_owned()), "short");
    }

    #[test]
    fn a_place_has_what_is_known_of_it() {
        let at = |line, pointer: &str| {
            place(&Place {
                path: "a".to_owned(),
                line,
                part: 0,
                pointer: pointer.to_owned(),
            })
        };
        assert_eq!(
            [at(3, "/x/0"), at(3, ""), at(0, "/x/0"), at(0, "")],
            ["a:3 /x/0", "a:3", "a /x/0", "a"]
        );
    }
}
