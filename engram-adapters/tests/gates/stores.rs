//! Stores that lost a table, a column or rows: an error names it, or the tapes or the store state that something is missing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use engram_adapters::open::database::DatabaseFile;
use engram_adapters::open::store::{Export, OpenedStore, Opener, Store, StoredSession};
use engram_adapters::sessions::{SessionFinder, SessionLocation, SessionOptions};
use engram_adapters::{Registration, Registry};
use engram_core::error::AdapterError;
use engram_core::policy::Policy;
use engram_core::tape::JsonLines;
use rusqlite::Connection;
use serde_json::Value;

use crate::report;
use crate::tree::{file_name, files, fixture_cases, one_in, recording_cases};

/// Rows that others name: table, and the condition for those that are deleted one by one. Nothing in a store names its last blob.
const NAMED_ROWS: &[(&str, &str)] = &[
    ("session", "id IN (SELECT session_id FROM message)"),
    ("message", "id IN (SELECT message_id FROM part)"),
    (
        "session_v2",
        "id IN (SELECT session_id FROM session_message WHERE type IN ('user', 'assistant'))",
    ),
    ("agents", "agent_id IN (SELECT agent_id FROM runs)"),
    ("runs", "run_id IN (SELECT run_id FROM run_events)"),
    ("base_messages", "true"),
    ("user_messages", "true"),
    ("assistant_messages", "true"),
    ("meta", "key = '0'"),
    ("blobs", "rowid < (SELECT max(rowid) FROM blobs)"),
    ("cursorDiskKV", "key LIKE 'composerData:%'"),
];
/// Tables that are empty in a store without conversations. Nothing else in the store shows whether it had any.
const MAY_BE_EMPTY: &[&str] = &["cursorDiskKV", "ItemTable"];
/// The hexadecimal digits of `"latestRootBlobId":""` in the record of a chat. Beside it an empty table of blobs is that of a new chat; that
/// a chat has been there shows only in the run store beside it.
const NO_ROOT: &str = "226c6174657374526f6f74426c6f624964223a2222";
/// The most rows of one table that are deleted, evenly spread.
const ROWS: usize = 3;

/// What a search finds in a directory.
#[derive(Default)]
struct Seen {
    /// Errors, warnings, and what tapes state about losses.
    words: BTreeMap<String, usize>,
    /// How often each event occurs, without its number.
    events: BTreeMap<String, usize>,
}

impl Seen {
    fn in_directory(registry: &Registry, directory: &Path, policy: Policy) -> Seen {
        let options = SessionOptions::default()
            .with_registry(registry.clone())
            .with_policy(policy);
        let mut finder = SessionFinder::new(&options);
        finder.add(directory);
        let found = finder.finish();
        let mut seen = Seen::default();
        found
            .lost
            .iter()
            .for_each(|lost| seen.word(lost.to_string()));
        for location in found.locations {
            let tape = location.and_then(|location| tape(&location, &options));
            match tape {
                Ok(tape) => tape.lines().for_each(|line| seen.event(line)),
                Err(error) if error.code.as_str() == "unknown_harness" => {}
                Err(error) => seen.word(error.to_string()),
            }
        }
        seen
    }

    fn word(&mut self, word: String) {
        *self.words.entry(word).or_default() += 1;
    }

    fn event(&mut self, line: &str) {
        let mut event: Value = serde_json::from_str(line).expect("a tape is JSON");
        if let Some(members) = event.as_object_mut() {
            ["seq", "parent"]
                .iter()
                .for_each(|member| drop(members.remove(*member)));
        }
        match event["label"].as_str() {
            Some("tape.start") => event["degraded"]
                .as_array()
                .into_iter()
                .flatten()
                .for_each(|reason| self.word(reason.to_string())),
            Some("tape.stop") => {
                let lost = ["unrecognized", "malformed", "unknown_members"]
                    .iter()
                    .map(|what| &event["ledger"][what]);
                lost.filter(|lost| !lost.is_null() && **lost != 0)
                    .for_each(|lost| self.word(lost.to_string()));
            }
            _ => *self.events.entry(event.to_string()).or_default() += 1,
        }
    }

    /// True if something of `whole` is not here.
    fn is_thinner(&self, whole: &Seen) -> bool {
        whole
            .events
            .iter()
            .any(|(event, count)| self.events.get(event).is_none_or(|there| there < count))
    }

    /// True if it says more about losses than `whole` does.
    fn says_more(&self, whole: &Seen) -> bool {
        self.words
            .iter()
            .any(|(word, count)| whole.words.get(word).is_none_or(|there| there < count))
    }
}

fn tape(location: &SessionLocation, options: &SessionOptions) -> Result<String, AdapterError> {
    let mut tape = Vec::new();
    location
        .open(options)?
        .convert(&mut JsonLines::new(&mut tape))?;
    Ok(String::from_utf8(tape).expect("a tape is UTF-8"))
}

/// A change of a database, and the name of what it takes away.
struct Loss {
    sql: String,
    name: Option<String>,
}

/// A copy of a database, alone in a directory, with its log in it.
fn copy(database: &Path, sql: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join(file_name(database));
    let beside = PathBuf::from(format!("{}-wal", database.display()));
    fs::copy(database, &path).expect("a copy");
    if beside.is_file() {
        fs::copy(beside, format!("{}-wal", path.display())).expect("a copy");
    }
    let writer = Connection::open(&path).expect("a database");
    // Nobody needs the copy after a crash.
    writer.execute_batch("PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF; PRAGMA legacy_alter_table = ON; PRAGMA journal_mode = DELETE;").expect("a setting");
    // A table with an index on a missing column cannot be renamed.
    let drops: Vec<String> = strings(
        &path,
        "SELECT 'DROP INDEX \"' || name || '\";' FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL",
    );
    drops
        .iter()
        .for_each(|drop| writer.execute_batch(drop).expect("an index is dropped"));
    writer
        .execute_batch(sql)
        .unwrap_or_else(|error| panic!("{sql}: {error}"));
    directory
}

fn strings(database: &Path, sql: &str) -> Vec<String> {
    let reader = Connection::open(database).expect("a database");
    let mut query = reader.prepare(sql).expect("a query");
    let rows = query.query_map([], |row| row.get(0)).expect("rows");
    rows.collect::<Result<_, _>>().expect("text")
}

/// What is taken away of one table: columns, all rows, rows that others name.
fn losses_of(database: &Path, table: &str) -> Vec<Loss> {
    let columns = strings(
        database,
        &format!("SELECT name FROM pragma_table_info('{table}')"),
    );
    let renamed = |column: String| Loss {
        sql: format!("ALTER TABLE \"{table}\" RENAME COLUMN \"{column}\" TO \"other\";"),
        name: Some(column),
    };
    let mut losses: Vec<Loss> = columns.into_iter().map(renamed).collect();
    let has_no_root = || {
        !strings(
            database,
            &format!(
                "SELECT 'chat' FROM meta WHERE instr(lower(CAST(value AS TEXT)), '{NO_ROOT}')"
            ),
        )
        .is_empty()
    };
    if !MAY_BE_EMPTY.contains(&table) && (table != "blobs" || !has_no_root()) {
        losses.push(Loss {
            sql: format!("DELETE FROM \"{table}\";"),
            name: None,
        });
    }
    for (_, condition) in NAMED_ROWS.iter().filter(|(named, _)| *named == table) {
        let reader = Connection::open(database).expect("a database");
        // A condition may name a table that this version does not have.
        let Ok(mut query) = reader.prepare(&format!(
            "SELECT CAST(rowid AS TEXT) FROM \"{table}\" WHERE {condition}"
        )) else {
            continue;
        };
        let ids: Vec<String> = query
            .query_map([], |row| row.get(0))
            .expect("rows")
            .map(Result::unwrap)
            .collect();
        let spread = ids.iter().step_by(ids.len().div_ceil(ROWS).max(1));
        losses.extend(spread.map(|id| Loss {
            sql: format!("DELETE FROM \"{table}\" WHERE rowid = {id};"),
            name: None,
        }));
    }
    losses
}

/// The losses of a database that nothing says.
fn findings(registry: &Registry, database: &Path, tried: &mut usize) -> Vec<String> {
    let whole = copy(database, "");
    let path = whole.path().join(file_name(database));
    let seen = [Policy::Permissive, Policy::Strict]
        .map(|policy| (policy, Seen::in_directory(registry, whole.path(), policy)));
    let mut found = Vec::new();
    let mut examine = |loss: &Loss| {
        let directory = copy(&path, &loss.sql);
        let mut is_lost = false;
        *tried += 1;
        for (policy, whole) in &seen {
            let now = Seen::in_directory(registry, directory.path(), *policy);
            is_lost |= now.is_thinner(whole);
            if now.is_thinner(whole) && !now.says_more(whole) {
                found.push(format!(
                    "{}, {}: {}: nothing has the loss",
                    database.display(),
                    policy.as_str(),
                    loss.sql
                ));
            }
            let incomplete = now
                .words
                .keys()
                .find(|word| word.starts_with("incomplete_store") && now.events.is_empty());
            if let (Some(word), Some(name)) = (incomplete, &loss.name)
                && !word.contains(&format!("`{name}`"))
                && !word.contains("the tables of sessions")
                // A column may be what shows the version of a database, and with it the tables that it needs.
                && !word.contains("expected the table")
            {
                found.push(format!(
                    "{}: {}: the error does not name it: {word}",
                    database.display(),
                    loss.sql
                ));
            }
        }
        is_lost
    };
    let tables = strings(
        &path,
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
    );
    for table in &tables {
        let dropped = Loss {
            sql: format!("DROP TABLE \"{table}\";"),
            name: Some(table.clone()),
        };
        // A database without tables is empty.
        if tables.len() == 1 || examine(&dropped) {
            examine(&Loss {
                sql: format!("ALTER TABLE \"{table}\" RENAME TO \"{table}_other\";"),
                name: Some(table.clone()),
            });
            for loss in losses_of(&path, table) {
                examine(&loss);
            }
        }
    }
    found
}

/// The databases of all fixtures and of a sample of the recordings, one of each schema; without a sample those of all recordings.
fn databases() -> Vec<PathBuf> {
    let is_database = |path: &PathBuf| {
        path.extension()
            .is_some_and(|end| end == "db" || end == "vscdb" || end == "sqlite")
    };
    let of_fixtures = fixture_cases()
        .into_iter()
        .flat_map(|case| files(&case.directory))
        .filter(is_database);
    let mut schemas = BTreeSet::new();
    let mut is_new = |database: &PathBuf| {
        let copied = copy(database, "");
        let schema = strings(
            &copied.path().join(file_name(database)),
            "SELECT coalesce(sql, '') FROM sqlite_schema ORDER BY name",
        );
        schemas.insert((file_name(database).to_owned(), schema))
    };
    let of_recordings = recording_cases()
        .into_iter()
        .flat_map(|case| files(&case.directory))
        .filter(is_database);
    let all = one_in() == 1;
    let chosen: Vec<PathBuf> = of_fixtures.filter(|database| is_new(database)).collect();
    let recorded = of_recordings.filter(|database| is_new(database) || all);
    chosen.into_iter().chain(recorded).collect()
}

#[test]
fn a_store_that_lost_something_says_so() {
    let mut tried = 0;
    let found: Vec<String> = databases()
        .iter()
        .flat_map(|database| findings(&Registry::builtin(), database, &mut tried))
        .collect();
    report::assert_none("stores", &found);
    assert!(tried > 200, "{tried}");
}

#[test]
fn a_chat_without_its_blobs_says_so_if_its_run_store_names_one() {
    let chat = |path: &PathBuf| {
        file_name(path) == "store.db"
            && path
                .components()
                .any(|part| part.as_os_str() == "sdk-agent-store")
    };
    let is_named = |case: &PathBuf| {
        files(case).iter().any(|path| file_name(path) == "index.db") && files(case).iter().any(chat)
    };
    let cases: Vec<PathBuf> = fixture_cases()
        .into_iter()
        .map(|case| case.directory)
        .filter(is_named)
        .collect();
    assert!(cases.len() > 2, "{cases:?}");
    for case in cases {
        let directory = tempfile::tempdir().expect("a temporary directory");
        for file in files(&case) {
            let target = directory
                .path()
                .join(file.strip_prefix(&case).expect("a file of the case"));
            fs::create_dir_all(target.parent().expect("a directory")).expect("a directory is made");
            fs::copy(file, target).expect("a copy");
        }
        for policy in [Policy::Permissive, Policy::Strict] {
            let whole = Seen::in_directory(&Registry::builtin(), directory.path(), policy);
            assert!(
                whole.words.keys().all(|word| !word.contains("blob")),
                "{}: {:?}",
                case.display(),
                whole.words
            );
        }
        for path in files(directory.path()).iter().filter(|path| chat(path)) {
            Connection::open(path)
                .and_then(|writer| writer.execute_batch("DELETE FROM blobs;"))
                .expect("the blobs are deleted");
        }
        for policy in [Policy::Permissive, Policy::Strict] {
            let now = Seen::in_directory(&Registry::builtin(), directory.path(), policy);
            assert!(
                !now.words.is_empty(),
                "{}, {}",
                case.display(),
                policy.as_str()
            );
        }
    }
}

/// A store that names nothing that it lost.
struct Silent(Box<dyn Store>);

impl Store for Silent {
    fn kind(&self) -> &'static str {
        self.0.kind()
    }

    fn sessions(&self) -> &[StoredSession] {
        self.0.sessions()
    }

    fn export(&self, session: &StoredSession) -> Result<Export, AdapterError> {
        self.0.export(session)
    }

    fn verify_unchanged(&self) -> Result<(), AdapterError> {
        self.0.verify_unchanged()
    }
}

fn builtin() -> &'static Registration {
    Registry::builtin()
        .by_id("claude-code")
        .expect("a built-in adapter")
}

/// Takes a database that lacks something for one without sessions.
fn open_silently(database: DatabaseFile<'_>) -> OpenedStore {
    let opened = (builtin().store_opener().open_database)(database).unwrap_or_default();
    Ok(opened.map(|store| Box::new(Silent(store)) as Box<dyn Store>))
}

static SILENT: Opener = Opener {
    has_tables: |database| (builtin().store_opener().has_tables)(database),
    open_database: open_silently,
    ..Opener::NOTHING
};

#[test]
fn an_opener_that_says_nothing_is_found() {
    let database = databases()
        .into_iter()
        .find(|database| file_name(database) == "__store.db")
        .expect("a fixture");
    let registration: &'static Registration =
        Box::leak(Box::new((*builtin()).with_store_opener(&SILENT)));
    let found = findings(&Registry::empty().with(registration), &database, &mut 0);
    for what in [
        "DROP TABLE \"user_messages\"",
        "RENAME COLUMN \"cwd\"",
        "DELETE FROM \"base_messages\" WHERE",
        "DELETE FROM \"base_messages\";",
    ] {
        assert!(
            found.iter().any(|finding| finding.contains(what)),
            "{what}: {found:#?}"
        );
    }
}
