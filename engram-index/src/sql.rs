//! Questions in SQL. They can only read.

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};

use crate::error::Error;

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

/// Takes the names of the columns: first alone, then with each row. False ends the answer.
pub type TakeRow<'t> = &'t mut dyn FnMut(&[String], Option<Vec<Value>>) -> bool;

/// Answers one statement.
pub fn query(db: &mut Connection, sql: &str, take: TakeRow<'_>) -> Result<(), Error> {
    db.authorizer(Some(only_reads)).map_err(bad)?;
    let answered = answer(db, sql, take);
    db.authorizer(None::<fn(AuthContext<'_>) -> Authorization>)
        .map_err(bad)?;
    answered.map_err(bad)
}

fn answer(db: &Connection, sql: &str, take: TakeRow<'_>) -> rusqlite::Result<()> {
    let mut statement = db.prepare(sql)?;
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut goes_on = take(&names, None);
    let mut rows = statement.query([])?;
    while let Some(found) = rows.next()?.filter(|_| goes_on) {
        let values = (0..names.len())
            .map(|at| value(found, at))
            .collect::<Result<_, _>>()?;
        goes_on = take(&names, Some(values));
    }
    Ok(())
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

/// Other files cannot be attached, and settings cannot be changed.
fn only_reads(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => {
            Authorization::Allow
        }
        AuthAction::Function { function_name } if function_name != "load_extension" => {
            Authorization::Allow
        }
        _ => Authorization::Deny,
    }
}

fn bad(error: rusqlite::Error) -> Error {
    let what = match error {
        rusqlite::Error::SqliteFailure(_, Some(what)) => what,
        rusqlite::Error::SqlInputError { msg, .. } => msg,
        other => other.to_string(),
    };
    Error::BadQuery(what)
}
