//! The database of 0.2.96: export of its sessions, unknown schemas and broken rows.

use engram_core::adapter::convert_str;
use engram_core::check::check;
use engram_core::error::ErrorCode;
use engram_core::limits::Limits;
use engram_core::pipeline::Options;
use engram_core::policy::Policy;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::claude_code::REGISTRATION;
use crate::claude_code::source::legacy_db::MIGRATIONS;
use crate::open::store::Store;
use crate::registry::Registry;
use crate::sessions::open_store;

/// A database of 0.2.96 with the rows that these statements insert.
fn database(rows: &str) -> (TempDir, Result<Option<Box<dyn Store>>, ErrorCode>) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("__store.db");
    let database = Connection::open(&path).unwrap();
    let tables = "
        CREATE TABLE __drizzle_migrations (id SERIAL PRIMARY KEY, hash text NOT NULL, created_at numeric);
        CREATE TABLE base_messages (uuid text PRIMARY KEY, parent_uuid text, session_id text, timestamp integer,
            message_type text, cwd text, user_type text, version text, isSidechain integer);
        CREATE TABLE user_messages (uuid text PRIMARY KEY, message text, tool_use_result text, timestamp integer);
        CREATE TABLE assistant_messages (uuid text PRIMARY KEY, cost_usd real, duration_ms integer, message text,
            is_api_error_message integer, timestamp integer, model text);
        CREATE TABLE conversation_summaries (leaf_uuid text PRIMARY KEY, summary text, updated_at integer);";
    database.execute_batch(tables).unwrap();
    database.execute_batch(rows).unwrap();
    database.close().unwrap();
    let opened = open_store(&Registry::builtin(), &path, Limits::default())
        .map(|opened| opened.map(|(_, store)| store))
        .map_err(|error| error.code);
    (directory, opened)
}

fn known_migration() -> String {
    format!(
        "INSERT INTO __drizzle_migrations (hash) VALUES ('{}');",
        MIGRATIONS[0]
    )
}

fn prompt(uuid: &str, session: &str, message: &str) -> String {
    format!(
        "INSERT INTO base_messages VALUES ('{uuid}', NULL, '{session}', 1795257314, 'user', '/p', 'external', '0.2.96', 0);
         INSERT INTO user_messages VALUES ('{uuid}', {message}, NULL, 1795257314);"
    )
}

fn convert(store: &dyn Store, nth: usize, policy: Policy) -> Result<String, ErrorCode> {
    let export = store
        .export(&store.sessions()[nth])
        .map_err(|error| error.code)?;
    let options = Options {
        policy,
        context: export.context,
        ..Options::default()
    };
    convert_str(REGISTRATION.stream().unwrap(), &export.text, &options).map_err(|error| error.code)
}

#[test]
fn session_is_exported_as_lines_of_the_next_version() {
    let (one, two) = (
        prompt("u1", "s1", r#"'{"role":"user","content":"one"}'"#),
        prompt("u2", "s2", r#"'{"role":"user","content":"two"}'"#),
    );
    let answer = r#"
        INSERT INTO base_messages VALUES ('a1', 'u1', 's1', 1795257315, 'assistant', '/p', 'external', '0.2.96', 1);
        INSERT INTO assistant_messages VALUES ('a1', 0.25, 40, '{"role":"assistant","content":[]}', 1, 1795257315, 'm');
        INSERT INTO conversation_summaries VALUES ('a1', 'A title', 1795257316);
        INSERT INTO user_messages VALUES ('gone', '{}', NULL, 1);"#;
    let (_directory, opened) = database(&[known_migration(), one, two, answer.to_owned()].concat());
    let store = opened.unwrap().unwrap();
    let ids: Vec<&str> = store
        .sessions()
        .iter()
        .map(|session| session.id.as_str())
        .collect();
    assert_eq!(ids, ["s1", "s2"]);
    let lost: Vec<_> = store
        .lost()
        .iter()
        .map(|lost| (lost.table.as_str(), lost.records))
        .collect();
    assert_eq!(lost, [("user_messages", 1)]);
    let export = store.export(&store.sessions()[0]).unwrap();
    let expected = concat!(
        r#"{"parentUuid":null,"isSidechain":false,"userType":"external","cwd":"/p","sessionId":"s1","version":"0.2.96","type":"user","#,
        r#""message":{"role":"user","content":"one"},"uuid":"u1","timestamp":"2026-11-21T10:35:14Z"}"#,
        "\n",
        r#"{"parentUuid":"u1","isSidechain":true,"userType":"external","cwd":"/p","sessionId":"s1","version":"0.2.96","type":"assistant","#,
        r#""message":{"role":"assistant","content":[]},"costUSD":0.25,"durationMs":40,"isApiErrorMessage":true,"uuid":"a1","#,
        r#""timestamp":"2026-11-21T10:35:15Z"}"#,
        "\n",
        r#"{"type":"summary","summary":"A title","leafUuid":"a1"}"#,
        "\n",
    );
    assert_eq!(export.text, expected);
}

#[test]
fn row_without_a_message_is_malformed() {
    for message in ["NULL", "'{\"role\":'", "'[]'", "x'ff00'"] {
        let whole = prompt("u1", "s1", r#"'{"role":"user","content":"one"}'"#);
        let (_directory, opened) =
            database(&[known_migration(), whole, prompt("u2", "s1", message)].concat());
        let store = opened.unwrap().unwrap();
        assert_eq!(
            convert(store.as_ref(), 0, Policy::Strict),
            Err(ErrorCode::MalformedRecord),
            "{message}"
        );
        let tape = convert(store.as_ref(), 0, Policy::Permissive).unwrap();
        assert_eq!(check(&tape), [], "{message}");
        assert!(
            tape.contains("\"malformed\":1") && tape.contains("\"text\":\"one\""),
            "{message}: {tape}"
        );
    }
}

#[test]
fn unknown_migration_is_refused_or_degrades() {
    let prompt = prompt("u1", "s1", r#"'{"role":"user","content":"one"}'"#);
    for migrations in [
        "",
        "INSERT INTO __drizzle_migrations (hash) VALUES ('later');",
    ] {
        let (_directory, opened) = database(&format!("{migrations}{prompt}"));
        let store = opened.unwrap().unwrap();
        assert_eq!(
            convert(store.as_ref(), 0, Policy::Strict),
            Err(ErrorCode::UnknownHarnessVersion)
        );
        assert!(
            convert(store.as_ref(), 0, Policy::Permissive)
                .unwrap()
                .contains("\"degraded\":[\"unknown_harness_version\"]")
        );
    }
}

#[test]
fn missing_column_is_an_incomplete_store() {
    let (_directory, opened) = database(&format!(
        "{}ALTER TABLE base_messages DROP COLUMN cwd;",
        prompt("u1", "s1", "'{}'")
    ));
    assert_eq!(opened.err(), Some(ErrorCode::IncompleteStore));
}
