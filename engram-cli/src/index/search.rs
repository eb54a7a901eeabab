//! `engram grep` and `engram query`.

use std::io::{self, BufWriter, Write};

use engram_adapters::Registry;
use engram_index::{Error, Match, Pattern, Value};
use serde_json::json;

use super::args::{Grep, Query};
use super::ask;
use super::place;
use super::print::Page;
use crate::exit::Exit;
use crate::report::{Reporter, one_line, printable, printable_json};

/// Runs `engram grep`.
///
/// # Errors
/// When standard output cannot be written to.
pub fn grep(args: &Grep, registry: &Registry, report: &Reporter) -> io::Result<Exit> {
    let (mut page, mut total, mut failures) = (Page::new(&args.bounds), 0, Vec::new());
    let found = (|| {
        let pattern = Pattern::new(&args.pattern, args.ignore_case, &args.kind)?;
        let index = ask::open(&args.source, registry, report)?;
        let wanted = args.bounds.skip.saturating_add(args.bounds.limit);
        let mut take = |found: Match| {
            if (args.bounds.skip..wanted).contains(&total) {
                let value =
                    json!({"kind": found.kind, "member": found.member, "quote": found.quote});
                page.add(&value, || text(&found));
            }
            total += 1;
            // One more than is shown says that there is more.
            total <= wanted
        };
        for tape in index.tapes()? {
            match pattern.search(&tape, &mut take) {
                Ok(()) => {}
                Err(error) => failures.push(error),
            }
        }
        Ok::<_, Error>(index)
    })();
    match found {
        Ok(index) => {
            page.end(total, index.path(), json!({}), &[])?;
            failures
                .iter()
                .for_each(|error| report.finding(error.code(), &error.to_string()));
            Ok(if failures.is_empty() {
                Exit::Success
            } else {
                Exit::PartialFailure
            })
        }
        Err(error) => Ok(place::failed(&error, report)),
    }
}

fn text(found: &Match) -> String {
    let first = found.quote.text.lines().next().unwrap_or_default();
    format!(
        "{}  {} {}\n  | {}\n",
        one_line(&found.quote.from),
        found.kind,
        found.member,
        printable(first)
    )
}

/// Runs `engram query`.
///
/// # Errors
/// When standard output cannot be written to.
pub fn query(args: &Query, registry: &Registry, report: &Reporter) -> io::Result<Exit> {
    let mut index = match ask::open(&args.source, registry, report) {
        Ok(index) => index,
        Err(error) => return Ok(place::failed(&error, report)),
    };
    let mut out = BufWriter::new(io::stdout().lock());
    let mut written = Ok(());
    let asked = index.query(&args.sql, &mut |names, row| {
        written = match (row, args.json) {
            (None, true) => Ok(()),
            (None, false) => {
                writeln!(
                    out,
                    "{}",
                    names
                        .iter()
                        .map(|name| cell(name, args.csv))
                        .collect::<Vec<_>>()
                        .join(separator(args.csv))
                )
            }
            (Some(row), true) => {
                let object: serde_json::Map<String, serde_json::Value> =
                    names.iter().cloned().zip(row.iter().map(json_of)).collect();
                writeln!(
                    out,
                    "{}",
                    printable_json(&serde_json::Value::Object(object).to_string())
                )
            }
            (Some(row), false) => {
                let cells: Vec<String> = row
                    .iter()
                    .map(|value| cell(&text_of(value), args.csv))
                    .collect();
                writeln!(out, "{}", cells.join(separator(args.csv)))
            }
        };
        written.is_ok()
    });
    if let Err(error) = asked {
        return Ok(place::failed(&error, report));
    }
    written?;
    out.flush()?;
    Ok(Exit::Success)
}

const fn separator(csv: bool) -> &'static str {
    if csv { "," } else { "\t" }
}

/// A value as a cell. In CSV (RFC 4180) a cell with a comma, a quotation mark or a line end stands in quotation marks.
fn cell(text: &str, csv: bool) -> String {
    match csv {
        true if text.contains([',', '"', '\n', '\r']) => {
            format!("\"{}\"", text.replace('"', "\"\""))
        }
        true => text.to_owned(),
        false => one_line(text).into_owned(),
    }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => number.to_string(),
        Value::Text(text) => text.clone(),
    }
}

fn json_of(value: &Value) -> serde_json::Value {
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Integer(number) => json!(number),
        Value::Real(number) => json!(number),
        Value::Text(text) => json!(text),
    }
}
