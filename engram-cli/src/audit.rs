//! `engram audit`: checks that every value of a log is accounted for.

use std::collections::BTreeMap;
use std::io::{self, Write, stdout};

use engram_adapters::Registry;
use engram_adapters::sessions::SessionOptions;
use engram_command::exit::{Exit, Tally};
use engram_command::homes;
use engram_command::inputs::{SessionInput, find, is_no_session, session_options};
use engram_command::kept::open_kept;
use engram_command::pool::in_order;
use engram_command::report::{Reporter, one_line, write_json};
use engram_command::summary::count;
use engram_core::audit::{Amount, AuditError, AuditReport, TokenMember, Tokens, audit};
use engram_core::error::{AdapterError, ErrorCode};
use engram_core::tape::JsonLines;
use serde::Serialize;

use crate::args::Audit;

#[derive(Serialize)]
struct Audited {
    path: String,
    adapter: &'static str,
    #[serde(flatten)]
    report: AuditReport,
}

/// Runs the command.
///
/// # Errors
/// When standard output cannot be written to.
pub fn run(args: &Audit, registry: &Registry, report: &Reporter) -> io::Result<Exit> {
    let options = match session_options(&args.conversion, registry, report.bar()) {
        Ok(options) => options,
        Err(error) => return Ok(report.failure(&error)),
    };
    let (mut tally, mut totals, mut tokens) =
        (Tally::default(), Totals::default(), TokenTotals::default());
    let (mut out, mut printed) = (stdout().lock(), Ok(()));
    let paths = homes::paths(&args.paths, registry, report);
    let inputs = find(&paths, &options);
    inputs.note(report);
    let found = inputs.sessions;
    let work = |input: &Result<SessionInput, AdapterError>| {
        input.clone().and_then(|input| audited(&options, &input))
    };
    let done = in_order(
        args.conversion.jobs,
        &found,
        work,
        |input, audited| match audited {
            Ok(audited) => {
                if audited.report.holds() {
                    tally.success()
                } else {
                    tally.failure(Exit::PartialFailure)
                }
                if totals.sessions == 0 && !args.json {
                    printed = writeln!(out, "{}", Row::HEADINGS);
                }
                totals.add(&audited.report);
                tokens.add(audited.adapter, &audited.report.tokens);
                if printed.is_ok() {
                    printed = if args.json {
                        write_json(&mut out, &audited)
                    } else {
                        text(&mut out, &audited)
                    };
                }
            }
            Err(error)
                if is_no_session(&error) && input.as_ref().is_ok_and(|input| !input.is_named()) => {
            }
            Err(error) => tally.failure(report.failure(&error)),
        },
    );
    printed?;
    if let Err(error) = done {
        return Ok(report.failure(&error));
    }
    if tally.is_empty() {
        return Ok(report.no_session(&paths));
    }
    if !args.json && totals.sessions > 0 {
        totals.print(&mut out)?;
        if args.tokens {
            tokens.print(&mut out)?;
        }
    }
    out.flush()?;
    Ok(tally.exit())
}

/// Converts one session and audits its tape, which is kept in memory, against the text that it was made from.
fn audited(options: &SessionOptions, input: &SessionInput) -> Result<Audited, AdapterError> {
    let at_path = |error: AdapterError| error.path(input.path().to_string_lossy());
    let (source, kept) = open_kept(input, options).map_err(at_path)?;
    let descriptor = source.registration().descriptor();
    let mut tape = Vec::new();
    source
        .convert(&mut JsonLines::new(&mut tape))
        .map_err(at_path)?;
    let tape = String::from_utf8(tape)
        .map_err(|_| AdapterError::new(ErrorCode::AdapterDefect))
        .map_err(at_path)?;
    let text = kept.into_reader().map_err(|error| at_path(error.into()))?;
    let report = audit(text, &tape, &descriptor).map_err(|error| at_path(refused(error)))?;
    Ok(Audited {
        path: input.path().to_string_lossy().into_owned(),
        adapter: descriptor.adapter_id,
        report,
    })
}

fn refused(error: AuditError) -> AdapterError {
    match error {
        AuditError::Io(error) => error.into(),
        AuditError::Tape(error) => AdapterError::new(ErrorCode::AdapterDefect)
            .expected("a tape")
            .found(&error.to_string()),
    }
}

fn text(out: &mut impl Write, audited: &Audited) -> io::Result<()> {
    let report = &audited.report;
    writeln!(out, "{}", Row::of(report).line(&audited.path))?;
    if report.leaves.unknown > 0 {
        writeln!(
            out,
            "  unknown members: {}, counted in the ledger",
            count(report.leaves.unknown, "value")
        )?;
    }
    for member in &report.unknown_members {
        let times = format!("{} times", member.count);
        let line = format!("{}, {}: {times}", member.record, member.pointer);
        writeln!(out, "  unknown member: {}", one_line(&line))?;
    }
    for left in &report.examples {
        let place = format!("line {}, {}, {}", left.line, left.record, left.pointer);
        writeln!(
            out,
            "  left over: {}",
            one_line(&format!(
                "{place}: {}: {}",
                count(left.bytes, "byte"),
                left.excerpt
            ))
        )?;
    }
    for difference in &report.disagreements {
        writeln!(out, "  ledger: {}", one_line(difference))?;
    }
    Ok(())
}

/// Values, and bytes of content strings by what became of them.
#[derive(Default)]
struct Row {
    records: u64,
    values: u64,
    lost: u64,
    in_tape: u64,
    omitted: u64,
    opaque: u64,
    cut: u64,
    left_over: u64,
}

impl Row {
    const HEADINGS: &'static str = "   records    values    lost  bytes in tape   omitted    opaque       cut  left over  session";

    fn of(report: &AuditReport) -> Row {
        let sum =
            |amounts: &BTreeMap<String, Amount>| amounts.values().map(|amount| amount.bytes).sum();
        Row {
            records: report.records,
            values: report.leaves.total,
            lost: report.leaves.left_over + report.leaves.unknown,
            in_tape: report.in_tape.bytes,
            omitted: sum(&report.omitted),
            opaque: sum(&report.opaque),
            cut: report.cut.bytes,
            left_over: report.left_over.bytes + report.unknown.bytes,
        }
    }

    fn line(&self, name: &str) -> String {
        let Row {
            records,
            values,
            lost,
            in_tape,
            omitted,
            opaque,
            cut,
            left_over,
        } = self;
        let numbers = format!(
            "{records:>10} {values:>9} {lost:>7} {in_tape:>14} {omitted:>9} {opaque:>9} {cut:>9} {left_over:>10}"
        );
        format!("{numbers}  {}", one_line(name))
    }
}

/// Sums of many sessions.
#[derive(Default)]
struct Totals {
    sessions: u64,
    row: Row,
    rules: BTreeMap<(&'static str, String), Amount>,
    values_in_tape: u64,
    values_converted: u64,
    values_unknown: u64,
    values_by_rule: BTreeMap<(&'static str, String), u64>,
}

impl Totals {
    fn add(&mut self, report: &AuditReport) {
        self.sessions += 1;
        let row = Row::of(report);
        let sums = &mut self.row;
        sums.records += row.records;
        sums.values += row.values;
        sums.lost += row.lost;
        sums.in_tape += row.in_tape;
        sums.omitted += row.omitted;
        sums.opaque += row.opaque;
        sums.cut += row.cut;
        sums.left_over += row.left_over;
        for (how, amounts) in [("omitted", &report.omitted), ("opaque", &report.opaque)] {
            for (rule, amount) in amounts {
                let sum = self.rules.entry((how, rule.clone())).or_default();
                sum.strings += amount.strings;
                sum.bytes += amount.bytes;
            }
        }
        let leaves = &report.leaves;
        self.values_in_tape += leaves.in_tape;
        self.values_converted += leaves.converted;
        self.values_unknown += leaves.unknown;
        for (how, counts) in [("omitted", &leaves.omitted), ("opaque", &leaves.opaque)] {
            for (rule, count) in counts {
                *self.values_by_rule.entry((how, rule.clone())).or_default() += count;
            }
        }
    }

    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{}", self.row.line(&count(self.sessions, "session")))?;
        writeln!(out, "\n   strings          bytes  rule")?;
        for ((how, rule), amount) in &self.rules {
            writeln!(
                out,
                "{:>10} {:>14}  {how}: {rule}",
                amount.strings, amount.bytes
            )?;
        }
        writeln!(out, "\n    values  by what became of them")?;
        writeln!(
            out,
            "{:>10}  in the tape\n{:>10}  in the tape in another form",
            self.values_in_tape, self.values_converted
        )?;
        for ((how, rule), values) in &self.values_by_rule {
            writeln!(out, "{values:>10}  {how}: {rule}")?;
        }
        if self.values_unknown > 0 {
            writeln!(out, "{:>10}  unknown members", self.values_unknown)?;
        }
        writeln!(
            out,
            "{:>10}  left over",
            self.row.lost - self.values_unknown
        )
    }
}

/// What logs call tokens, and the tokens of their tapes, by adapter.
#[derive(Default)]
struct TokenTotals(BTreeMap<&'static str, (LogTokens, BTreeMap<String, u64>)>);

/// By member and what becomes of it: how many numbers, and their sum.
type LogTokens = BTreeMap<(String, String), (u64, u64)>;

impl TokenTotals {
    fn add(&mut self, adapter: &'static str, tokens: &Tokens) {
        let (log, tape) = self.0.entry(adapter).or_default();
        for (
            name,
            TokenMember {
                count,
                sum,
                becomes,
                ..
            },
        ) in &tokens.log
        {
            let total = log.entry((name.clone(), becomes.clone())).or_default();
            *total = (total.0 + count, total.1.saturating_add(*sum));
        }
        for (name, sum) in &tokens.tape {
            let total = tape.entry(name.clone()).or_default();
            *total = total.saturating_add(*sum);
        }
    }

    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        for (adapter, (log, tape)) in &self.0 {
            writeln!(out, "\ntokens of {adapter}\n        tape  count")?;
            for (name, sum) in tape {
                writeln!(out, "{sum:>12}  {name}")?;
            }
            writeln!(out, "         log  numbers  member, and what becomes of it")?;
            for ((name, becomes), (numbers, sum)) in log {
                writeln!(
                    out,
                    "{sum:>12} {numbers:>8}  {}",
                    one_line(&format!("{name}: {becomes}"))
                )?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::sync::Once;

    use engram_adapters::sessions::SessionFinder;
    use rusqlite::Connection;

    use super::*;

    /// A copy of the one file with this ending in a fixture.
    fn copy_of(fixture: &str, ending: &str, directory: &Path) -> PathBuf {
        let mut open = vec![
            Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../fixtures")
                .join(fixture)
                .join("session"),
        ];
        while let Some(path) = open.pop() {
            if path.is_dir() {
                open.extend(
                    fs::read_dir(path)
                        .unwrap()
                        .map(|entry| entry.unwrap().path()),
                );
            } else if path.to_string_lossy().ends_with(ending) {
                let copy = directory.join(format!("copy{ending}"));
                fs::copy(path, &copy).unwrap();
                return copy;
            }
        }
        panic!("no file {ending} in {fixture}");
    }

    /// Audits the only session at a path, which changes as soon as the first of it is read.
    fn audited_while(path: &Path, change: impl Fn() + Send + Sync + 'static) -> AuditReport {
        let once = Once::new();
        let options = SessionOptions::default().with_progress(move |_| once.call_once(&change));
        let mut finder = SessionFinder::new(&options);
        finder.add(path);
        let [location] = &finder.finish().locations[..] else {
            panic!("one session")
        };
        audited(&options, &SessionInput::At(location.clone().unwrap()))
            .unwrap()
            .report
    }

    #[test]
    fn a_store_that_changes_is_audited_as_it_was_converted() {
        let directory = tempfile::tempdir().unwrap();
        let path = copy_of("cursor/2026.09/store", ".db", directory.path());
        let database = path.clone();
        let before = audited_while(&path, || {});
        let report = audited_while(&path, move || {
            let store = Connection::open(&database).unwrap();
            let deleted = store
                .execute(
                    "DELETE FROM blobs WHERE rowid = (SELECT max(rowid) FROM blobs)",
                    [],
                )
                .unwrap();
            assert_eq!(deleted, 1);
        });
        assert!(report.holds() && report == before, "{report:?}");
        assert_ne!(audited_while(&path, || {}), before, "the store has changed");
    }

    #[test]
    fn a_log_that_is_replaced_is_audited_as_it_was_converted() {
        let directory = tempfile::tempdir().unwrap();
        let path = copy_of("codex/0.169.0/main", ".jsonl", directory.path());
        let before = audited_while(&path, || {});
        let (log, other) = (path.clone(), directory.path().join("other"));
        let report = audited_while(&path, move || {
            let text = fs::read_to_string(&log).unwrap();
            fs::write(&other, text.lines().take(20).collect::<Vec<_>>().join("\n")).unwrap();
            fs::rename(&other, &log).unwrap();
        });
        assert!(report.holds() && report == before, "{report:?}");
        assert_ne!(audited_while(&path, || {}), before, "the log has changed");
    }
}
