//! Questions in SQL: the views have what they say, and nothing else can be read or done.

use std::time::Duration;

use engram_index::{Index, Next, VIEWS, Value};

use crate::recorded::{fixtures, made};

const LONG: Duration = Duration::from_secs(60);

/// The columns and rows of an answer.
fn rows(index: &mut Index, sql: &str) -> (Vec<String>, Vec<Vec<Value>>) {
    let (mut columns, mut rows) = (Vec::new(), Vec::new());
    index
        .query(sql, LONG, &mut |names, row| {
            columns = names.to_vec();
            rows.extend(row);
            Next::Wanted
        })
        .unwrap_or_else(|error| panic!("{sql}: {error}"));
    (columns, rows)
}

fn text(value: &str) -> Value {
    Value::Text(value.to_owned())
}

#[test]
fn each_view_has_its_columns_and_rows() {
    let made = made(&[
        &fixtures("claude-code/2.1.329/b_edit")[0],
        &fixtures("codex/0.169.0/main")[0],
        // A sub-agent on the tape of its session.
        &fixtures("copilot/1.0.102/sub")[0],
    ]);
    let mut index = made.open();
    for view in &VIEWS {
        let (columns, found) = rows(&mut index, &format!("SELECT * FROM {}", view.name));
        let named: Vec<&str> = view.columns.iter().map(|column| column.name).collect();
        assert_eq!(columns, named, "{}", view.name);
        assert!(!found.is_empty(), "{}", view.name);
        for (at, column) in view.columns.iter().enumerate() {
            for row in &found {
                let fits = match &row[at] {
                    Value::Null => true,
                    Value::Integer(_) => column.is == "integer",
                    Value::Real(_) => column.is == "real",
                    Value::Text(text) => match column.is {
                        "time" => text.ends_with('Z') && text.contains('T'),
                        is => is == "text",
                    },
                };
                assert!(fits, "{}.{}: {:?}", view.name, column.name, row[at]);
            }
        }
    }
    let (_, prompts) = rows(
        &mut index,
        "SELECT text, by, harness FROM prompts WHERE text LIKE 'LAB please%' AND harness = 'claude-code'",
    );
    assert!(
        prompts.contains(&vec![
            text("LAB please do many edits"),
            text("person"),
            text("claude-code")
        ]),
        "{prompts:?}"
    );
    let (_, sessions) = rows(
        &mut index,
        "SELECT project, cwd = project, version, prompts > 0, calls >= failed_calls, edits > 0 FROM sessions WHERE harness = 'claude-code'",
    );
    let yes = Value::Integer(1);
    assert_eq!(
        sessions,
        [vec![
            text("/home/dev/proj"),
            yes.clone(),
            text("2.1.329"),
            yes.clone(),
            yes.clone(),
            yes
        ]]
    );
    let (_, joined) = rows(
        &mut index,
        "SELECT count(*) FROM calls JOIN sessions USING (tape) JOIN prompts ON prompts.tape = calls.tape AND prompts.seq = calls.turn",
    );
    assert!(
        matches!(joined[0][0], Value::Integer(count) if count > 5),
        "{joined:?}"
    );
    let tokens = rows(&mut index, "SELECT * FROM tokens");
    assert_eq!(tokens, rows(&mut index, "SELECT * FROM usage"));
}

#[test]
fn sql_can_only_read_the_views() {
    let made = made(&[&fixtures("claude-code/2.1.329/b_edit")[0]]);
    let mut index = made.open();
    let attach = format!(
        "ATTACH '{}' AS other",
        made.directory.path().join("other").display()
    );
    for sql in [
        "DELETE FROM tape",
        "SELECT * FROM tape",
        "SELECT * FROM main.usage",
        "SELECT * FROM sessions, name",
        "SELECT text_of_prompt('/etc/passwd', 0, 0)",
        "PRAGMA journal_mode = DELETE",
        "SELECT load_extension('x')",
        "CREATE TABLE x (y)",
        "CREATE TEMP TABLE x (y)",
        &attach,
    ] {
        let asked = index.query(sql, LONG, &mut |_, _| Next::Wanted);
        let error = asked.expect_err(sql);
        assert_eq!(error.code(), "bad_query", "{sql}");
    }
    assert!(!made.directory.path().join("other").exists());
    // What is no table of the index can be used.
    for sql in [
        "WITH x AS (SELECT 1 AS a) SELECT count(a), max(a) FROM x",
        "SELECT value FROM json_each('[1]')",
        "SELECT count(*) FROM (SELECT harness, count(*) FROM calls GROUP BY 1)",
        "SELECT name FROM sqlite_temp_schema WHERE type = 'view'",
    ] {
        assert!(!rows(&mut index, sql).1.is_empty(), "{sql}");
    }
}

#[test]
fn a_question_ends_in_time_and_memory() {
    let made = made(&[&fixtures("claude-code/2.1.329/b_edit")[0]]);
    let mut index = made.open();
    let endless =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    let mut ask = |sql: &str, longest| {
        index
            .query(sql, longest, &mut |_, _| Next::Wanted)
            .unwrap_err()
            .to_string()
    };
    let error = ask(endless, Duration::from_secs(1));
    assert!(error.contains("longer than 1 s"), "{error}");
    let error = ask("SELECT length(hex(randomblob(100000000)))", LONG);
    assert!(
        error.contains("too big") || error.contains("memory"),
        "{error}"
    );
}

#[test]
fn an_answer_ends_where_its_reader_has_enough_and_columns_have_names_of_their_own() {
    let made = made(&[&fixtures("claude-code/2.1.329/b_edit")[0]]);
    let mut index = made.open();
    let (mut names, mut count) = (Vec::new(), 0);
    index
        .query("SELECT seq, seq FROM calls", LONG, &mut |columns, row| {
            names = columns.to_vec();
            count += usize::from(row.is_some());
            if count == 2 {
                Next::Enough
            } else {
                Next::Wanted
            }
        })
        .unwrap();
    assert_eq!(
        (names, count),
        (vec!["seq".to_owned(), "seq_2".to_owned()], 2)
    );
}
