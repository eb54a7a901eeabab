//! `engram query`: a question in SQL, within its bounds.

use std::io::{self, BufWriter, Write};
use std::time::Duration;

use engram_adapters::Registry;
use engram_command::exit::Exit;
use engram_command::keys::Keys;
use engram_command::project::project_of;
use engram_command::report::{Reporter, one_line, printable_json};
use engram_command::table;
use engram_index::{Error, Next, VIEWS, Value};
use serde_json::json;

use super::args::Query;
use super::ask::{self, Opened};
use super::place;

/// Runs the command.
///
/// # Errors
/// When standard output cannot be written to.
pub fn run(args: &Query, registry: &Registry, report: &Reporter) -> io::Result<Exit> {
    let Some(sql) = &args.sql else {
        return views(args);
    };
    let prices = match args.prices.load() {
        Ok(prices) => prices,
        Err(error) => return Ok(report.failure(&error)),
    };
    let Opened { mut index, notes } = match ask::open(&args.source, registry, report) {
        Ok(opened) => opened,
        Err(error) => return Ok(place::failed(&error, report)),
    };
    index.set_prices(prices.into_owned());
    index.set_projects(|directory| project_of(directory).into_owned());
    notes
        .iter()
        .for_each(|note| report.note(&format!("note        {note}")));
    let mut answer = Answer {
        args,
        out: BufWriter::new(io::stdout().lock()),
        rows: 0,
        bytes: 0,
        cut: None,
        written: Ok(()),
    };
    let longest = Duration::from_secs(args.seconds);
    let asked = index.query(sql, longest, &mut |names, row| answer.take(names, row));
    answer.end(report)?;
    if let Err(error) = asked {
        if matches!(error, Error::BadQuery(_)) {
            report.note("`engram query` without a question lists the views and their columns");
        }
        return Ok(place::failed(&error, report));
    }
    Ok(Exit::Success)
}

/// Lists the views with their columns.
fn views(args: &Query) -> io::Result<Exit> {
    let rows = VIEWS.iter().flat_map(|view| {
        let row = |column: &engram_index::Column| [view.name, column.name, column.is, column.about];
        view.columns.iter().map(row).collect::<Vec<_>>()
    });
    let mut out = BufWriter::new(io::stdout().lock());
    if args.json {
        let object = |[view, column, is, meaning]: [&str; 4]| json!({"view": view, "column": column, "type": is, "meaning": meaning});
        table::write_lines(rows.map(object), Keys::SHOWN, &mut out)?;
    } else if args.csv {
        let cells = |row: [&str; 4]| row.map(str::to_owned).to_vec();
        let names = ["view", "column", "type", "meaning"];
        table::write_csv(&names, rows.map(cells), Keys::SHOWN, &mut out)?;
    } else {
        for [view, column, is, meaning] in rows {
            writeln!(out, "{view:<13} {column:<22} {is:<8} {meaning}")?;
        }
    }
    out.flush()?;
    Ok(Exit::Success)
}

/// What ended an answer before its last row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    Rows,
    Bytes,
}

impl Cut {
    const fn as_str(self) -> &'static str {
        match self {
            Cut::Rows => "rows",
            Cut::Bytes => "bytes",
        }
    }
}

/// Prints rows as they come.
struct Answer<'a, W: Write> {
    args: &'a Query,
    out: W,
    rows: u64,
    bytes: u64,
    cut: Option<Cut>,
    written: io::Result<()>,
}

impl<W: Write> Answer<'_, W> {
    /// Takes the names of the columns, then each row.
    fn take(&mut self, names: &[String], row: Option<Vec<Value>>) -> Next {
        let is_row = row.is_some();
        if is_row && self.rows == self.args.limit {
            self.cut = Some(Cut::Rows);
            return Next::Enough;
        }
        let line = match row {
            None if self.args.json => return Next::Wanted,
            None => self.cells(names.to_vec()),
            Some(row) if self.args.json => self.object(names, &row),
            Some(row) => self.cells(row.iter().map(text_of).collect()),
        };
        if self.bytes + line.len() as u64 > self.args.max_bytes {
            self.cut = Some(Cut::Bytes);
            return Next::Enough;
        }
        self.bytes += line.len() as u64;
        self.rows += u64::from(is_row);
        self.written = self.out.write_all(line.as_bytes());
        if self.written.is_ok() {
            Next::Wanted
        } else {
            Next::Enough
        }
    }

    fn object(&self, names: &[String], row: &[Value]) -> String {
        let members = names.iter().cloned().zip(row.iter().map(json_of));
        let object: serde_json::Map<String, serde_json::Value> = members.collect();
        let json = serde_json::Value::Object(object).to_string();
        let json = self.args.keys.clean_json(&json);
        format!("{}\n", printable_json(&json))
    }

    fn cells(&self, texts: Vec<String>) -> String {
        let shown = |text: &String| cell(&self.args.keys.clean(text), self.args.csv);
        let cells: Vec<String> = texts.iter().map(shown).collect();
        let separator = if self.args.csv { "," } else { "\t" };
        format!("{}\n", cells.join(separator))
    }

    /// Says that there is more, if there is.
    fn end(mut self, report: &Reporter) -> io::Result<()> {
        self.written?;
        if let Some(cut) = self.cut {
            let (rows, cut) = (self.rows, cut.as_str());
            if self.args.json {
                let end = json!({"k": "end", "returned": rows, "cut": cut});
                writeln!(self.out, "{end}")?;
            }
            report.note(&format!(
                "note        {rows} rows shown, there are more; `--limit` and `--max-bytes` allow more"
            ));
        }
        self.out.flush()
    }
}

/// A value as a cell. In CSV (RFC 4180) a cell with a comma, a quotation mark or a line end stands in quotation marks.
fn cell(text: &str, csv: bool) -> String {
    let text = one_line(text);
    if csv && text.contains([',', '"']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into_owned()
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
