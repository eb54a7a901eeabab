//! Questions in SQL. They can only read, only the views, and only for so long.

use std::sync::Arc;
use std::time::{Duration, Instant};

use engram_core::prices::Prices;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, Row};

use crate::error::Error;
use crate::views::Projects;
use crate::{costs, views};

/// Longest value that a question may make, in bytes.
const MAX_VALUE: i32 = 64 << 20;
/// Most memory that SQLite may take for a question, in bytes. What it sorts beyond that goes to a temporary file.
const MAX_MEMORY: i64 = 512 << 20;
/// After so many steps of SQLite the clock is read.
const STEPS: i32 = 10_000;

/// A value of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing.
    Null,
    /// A whole number.
    Integer(i64),
    /// A number.
    Real(f64),
    /// Text; bytes are hexadecimal digits.
    Text(String),
}

/// Whether the next row is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// It is.
    Wanted,
    /// The answer ends here.
    Enough,
}

/// Takes the names of the columns: first alone, then with each row. No two columns have the same name.
pub type TakeRow<'t> = &'t mut dyn FnMut(&[String], Option<Vec<Value>>) -> Next;

/// Answers one statement.
pub fn query(
    db: &mut Connection,
    (prices, projects): (&Arc<Prices>, Projects),
    sql: &str,
    longest: Duration,
    take: TakeRow<'_>,
) -> Result<(), Error> {
    prepare(db, prices, projects).map_err(|error| bad(error, longest))?;
    let begun = Instant::now();
    let is_late = move || begun.elapsed() > longest;
    db.progress_handler(STEPS, Some(is_late))
        .and_then(|()| db.authorizer(Some(only_reads)))
        .map_err(|error| bad(error, longest))?;
    let answered = answer(db, sql, take);
    db.authorizer(None::<fn(AuthContext<'_>) -> Authorization>)
        .and_then(|()| db.progress_handler(0, None::<fn() -> bool>))
        .map_err(|error| bad(error, longest))?;
    answered.map_err(|error| bad(error, longest))
}

/// Gives the connection the views and the limits.
fn prepare(db: &Connection, prices: &Arc<Prices>, projects: Projects) -> rusqlite::Result<()> {
    db.pragma_update(None, "query_only", false)?;
    let made = views::make(db, projects).and_then(|()| costs::make(db, prices));
    db.pragma_update(None, "query_only", true)?;
    made?;
    db.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE)?;
    let sql = format!("PRAGMA hard_heap_limit = {MAX_MEMORY}");
    db.query_row(&sql, [], |_| Ok(()))
}

fn answer(db: &Connection, sql: &str, take: TakeRow<'_>) -> rusqlite::Result<()> {
    let mut statement = db.prepare(sql)?;
    let names = told_apart(statement.column_names().collect());
    let mut next = take(&names, None);
    let mut rows = statement.query([])?;
    while next == Next::Wanted
        && let Some(found) = rows.next()?
    {
        let values = (0..names.len())
            .map(|at| value(found, at))
            .collect::<Result<_, _>>()?;
        next = take(&names, Some(values));
    }
    Ok(())
}

/// The second column with a name gets `_2`, and so on.
fn told_apart(columns: Vec<&str>) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(columns.len());
    for column in &columns {
        let mut name = (*column).to_owned();
        let mut nth = 2;
        while names.contains(&name) || (nth > 2 && columns.contains(&name.as_str())) {
            name = format!("{column}_{nth}");
            nth += 1;
        }
        names.push(name);
    }
    names
}

fn value(row: &Row<'_>, at: usize) -> rusqlite::Result<Value> {
    Ok(match row.get_ref(at)? {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Integer(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => {
            Value::Text(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
        }
    })
}

/// The views can be read, and the list of them. The tables below are read by the views alone. Other files cannot be attached, and settings
/// cannot be changed.
fn only_reads(context: AuthContext<'_>) -> Authorization {
    let is_in_view = context.accessor.is_some_and(views::is_view);
    let is_allowed = match context.action {
        AuthAction::Select | AuthAction::Recursive => true,
        // Without a column: only the rows of a table are counted. SQLite asks so too, when it has made one question of a view and what
        // asks it.
        AuthAction::Read {
            column_name: "", ..
        } => true,
        AuthAction::Read { table_name, .. } => {
            is_in_view
                || (views::is_view(table_name) && context.database_name != Some("main"))
                || table_name.starts_with("json_")
                || table_name.ends_with("_schema")
                || table_name.ends_with("_master")
        }
        AuthAction::Function { function_name } => {
            is_in_view
                || !(views::FUNCTIONS.contains(&function_name)
                    || costs::FUNCTIONS.contains(&function_name)
                    || function_name == "load_extension")
        }
        _ => false,
    };
    if is_allowed {
        Authorization::Allow
    } else {
        Authorization::Deny
    }
}

fn bad(error: rusqlite::Error, longest: Duration) -> Error {
    let what = match error {
        rusqlite::Error::SqliteFailure(failure, _)
            if failure.code == ErrorCode::OperationInterrupted =>
        {
            format!(
                "it took longer than {} s; `--seconds` allows more",
                longest.as_secs()
            )
        }
        rusqlite::Error::SqliteFailure(_, Some(what)) => what,
        rusqlite::Error::SqlInputError { msg, .. } => msg,
        other => other.to_string(),
    };
    Error::BadQuery(what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_one_name_are_told_apart() {
        let named = |columns: &[&str]| told_apart(columns.to_vec());
        assert_eq!(named(&["a", "b", "a", "a"]), ["a", "b", "a_2", "a_3"]);
        assert_eq!(named(&["a", "a", "a_2"]), ["a", "a_3", "a_2"]);
    }
}
