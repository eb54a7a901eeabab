//! Databases, directories and homes that no fixture shows: child sessions, damaged rows, orphans, ids, other schemas.

use std::fs;
use std::path::{Path, PathBuf};

use engram_core::error::ErrorCode;
use engram_core::limits::Limits;
use engram_core::policy::Policy;
use rusqlite::Connection;
use serde_json::Value;

use super::{open, tape_of};
use crate::registry::Registry;
use crate::sessions::{SessionFinder, SessionOptions, open_store};

/// A database with one session of two messages, changed by `sql`.
pub(super) fn database(sql: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("opencode.db");
    let connection = Connection::open(&path).unwrap();
    let schema = "
        CREATE TABLE session (id text, parent_id text, directory text, title text, version text, time_created integer, time_updated integer);
        CREATE TABLE message (id text, session_id text, time_created integer, data text);
        CREATE TABLE part (id text, message_id text, session_id text, data text);
        CREATE TABLE migration (id text, time_completed integer);
        INSERT INTO migration VALUES ('20260127222353_familiar_lady_ursula', 1);
        INSERT INTO session VALUES ('ses_1', NULL, '/p', 'Title', '1.18.34', 1000, 2000);
        INSERT INTO message VALUES ('msg_1', 'ses_1', 1001, '{\"role\":\"user\",\"time\":{\"created\":1001}}');
        INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_1', '{\"type\":\"text\",\"text\":\"the prompt\"}');
        INSERT INTO message VALUES ('msg_2', 'ses_1', 1002, '{\"role\":\"assistant\",\"time\":{\"created\":1002}}');
        INSERT INTO part VALUES ('prt_2', 'msg_2', 'ses_1', '{\"type\":\"text\",\"text\":\"the answer\"}');";
    connection.execute_batch(schema).unwrap();
    connection.execute_batch(sql).unwrap();
    (directory, path)
}

/// The number of malformed and unrecognized records, and the error of strict policy.
fn faults(sql: &str) -> (u64, Option<ErrorCode>) {
    let (_directory, path) = database(sql);
    let store = open(&path);
    let tape = tape_of(store.as_ref(), "ses_1", Policy::Permissive).unwrap();
    let texts: Vec<&str> = tape
        .iter()
        .filter(|event| event["k"] != "meta")
        .filter_map(|event| event["text"].as_str())
        .collect();
    assert_eq!(
        texts,
        ["the prompt", "the answer"],
        "the rest is converted: {sql}"
    );
    let ledger = &tape.last().unwrap()["ledger"];
    let strict = tape_of(store.as_ref(), "ses_1", Policy::Strict)
        .err()
        .map(|error| error.code);
    (
        ledger["malformed"].as_u64().unwrap() + ledger["unrecognized"].as_u64().unwrap(),
        strict,
    )
}

#[test]
fn a_damaged_row_is_unrecognized_and_an_error_in_strict_policy() {
    assert_eq!(faults(""), (0, None));
    for data in [
        "NULL",
        "''",
        "'{\"type\":\"text\",\"te'",
        "'[1]'",
        "7",
        "x'7bff7d'",
        "'{\"type\":\"text\",\"text\":7}'",
    ] {
        let sql = format!("INSERT INTO part VALUES ('prt_3', 'msg_2', 'ses_1', {data})");
        assert_eq!(
            faults(&sql),
            (1, Some(ErrorCode::MalformedRecord)),
            "{data}"
        );
        let sql = format!("INSERT INTO message VALUES ('msg_3', 'ses_1', 1003, {data})");
        assert_eq!(
            faults(&sql),
            (1, Some(ErrorCode::MalformedRecord)),
            "{data}"
        );
    }
    let unknown = "INSERT INTO part VALUES ('prt_3', 'msg_2', 'ses_1', '{\"type\":\"hologram\"}')";
    assert_eq!(faults(unknown), (1, Some(ErrorCode::UnrecognizedRecord)));
}

#[test]
fn a_part_without_its_message_is_malformed() {
    let sql = "INSERT INTO part VALUES ('prt_3', 'msg_9', 'ses_1', '{\"type\":\"text\",\"text\":\"whose?\"}')";
    assert_eq!(
        faults(sql),
        (2, Some(ErrorCode::MalformedRecord)),
        "the message, and the text without a role"
    );
}

#[test]
fn messages_and_parts_of_a_deleted_session_are_reported() {
    let (_directory, path) = database("INSERT INTO part VALUES ('prt_3', 'msg_9', 'ses_9', '{}')");
    let store = open(&path);
    assert_eq!(store.sessions().len(), 1);
    let lost: Vec<(&str, u64)> = store
        .lost()
        .iter()
        .map(|lost| (lost.table.as_str(), lost.records))
        .collect();
    assert_eq!(lost, [("part", 1)]);
}

#[test]
fn rows_without_ids_are_converted_or_reported() {
    let sql = "INSERT INTO part VALUES (NULL, 'msg_2', 'ses_1', '{\"type\":\"tool\",\"tool\":\"bash\",\"callID\":\"c\",\"state\":{\"status\":\"running\"}}')";
    assert_eq!(faults(sql), (0, None), "a part needs no id");
    let sql = "INSERT INTO message VALUES (NULL, 'ses_1', 1003, '{\"role\":\"user\"}');
               INSERT INTO part VALUES ('prt_3', NULL, 'ses_1', '{\"type\":\"text\",\"text\":\"whose?\"}');";
    assert_eq!(
        faults(sql),
        (2, Some(ErrorCode::MalformedRecord)),
        "the missing message, and its text"
    );
    let (_directory, path) = database(
        "INSERT INTO session (title) VALUES ('no id'); INSERT INTO part VALUES ('prt_3', 'msg_9', NULL, '{}');",
    );
    let store = open(&path);
    let lost: Vec<(&str, u64)> = store
        .lost()
        .iter()
        .map(|lost| (lost.table.as_str(), lost.records))
        .collect();
    assert_eq!(
        (store.sessions().len(), lost),
        (1, vec![("part", 1), ("session", 1)])
    );
}

#[test]
fn of_two_sessions_with_one_id_the_last_changed_is_converted() {
    let (_directory, path) = database(
        "INSERT INTO session VALUES ('ses_1', NULL, '/p', 'Later', '1.18.34', 1000, 3000)",
    );
    let store = open(&path);
    assert_eq!((store.sessions().len(), store.skipped().len()), (1, 1));
    assert_eq!(
        tape_of(store.as_ref(), "ses_1", Policy::Strict).unwrap()[1]["title"],
        "Later"
    );
}

#[test]
fn a_session_id_that_is_no_text_affects_no_other_session() {
    let sql = "INSERT INTO session VALUES (CAST(x'fffe' AS text), NULL, '/p', 'Title', '1.18.34', 1000, 2000)";
    let (_directory, path) = database(sql);
    let store = open(&path);
    let ids: Vec<&str> = store
        .sessions()
        .iter()
        .map(|session| session.id.as_str())
        .collect();
    let lost: Vec<(&str, u64)> = store
        .lost()
        .iter()
        .map(|lost| (lost.table.as_str(), lost.records))
        .collect();
    assert_eq!((ids, lost), (vec!["ses_1"], vec![("session", 1)]));
    assert!(tape_of(store.as_ref(), "ses_1", Policy::Strict).is_ok());
}

#[test]
fn an_id_is_never_used_as_a_path() {
    let (_directory, path) =
        database("UPDATE session SET id = '../../x'; UPDATE message SET session_id = '../../x';");
    assert_eq!(open(&path).sessions()[0].id, "../../x");
    let directory = tempfile::tempdir().unwrap();
    let storage = directory.path().join("storage");
    for (name, content) in [
        (
            "session/p/ses_1.json",
            r#"{"id":"../../x","version":"1.0.98","parentID":"../../x","time":{"created":1,"updated":2}}"#,
        ),
        (
            "message/ses_1/msg_1.json",
            r#"{"id":"../../y","sessionID":"ses_1","role":"user","time":{"created":1}}"#,
        ),
        (
            "part/msg_1/prt_1.json",
            r#"{"id":"prt_1","type":"text","text":"the prompt"}"#,
        ),
    ] {
        let path = storage.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let store = open(directory.path());
    assert_eq!(
        store.sessions()[0].id,
        "ses_1",
        "a session's id is its file name"
    );
    let export: Value =
        serde_json::from_str(&store.export(&store.sessions()[0]).unwrap().text).unwrap();
    assert_eq!(export["messages"][0]["parts"][0]["text"], "the prompt");
}

#[test]
fn a_damaged_file_does_not_affect_other_files() {
    let directory = tempfile::tempdir().unwrap();
    let storage = directory.path().join("storage");
    for (name, content) in [
        ("session/p/ses_1.json", &br#"{"version":"1.0.98","time":{"created":1000,"updated":2000}}"#[..]),
        ("message/ses_1/msg_1.json", br#"{"role":"user","time":{"created":1001}}"#),
        ("part/msg_1/prt_1.json", br#"{"type":"text","text":"the pro"#),
        ("part/msg_1/prt_2.json", b""),
        ("part/msg_1/prt_3.json", b"{\"type\":\"text\",\"text\":\"caf\xe9\"}"),
        ("part/msg_1/prt_4.json", br#"{"type":"text","text":"the rest"}"#),
        ("message/ses_1/msg_2.json", br#"{"role":"assis"#),
        ("part/msg_2/prt_5.json", br#"{"type":"tool","tool":"bash","callID":"c","state":{"status":"running","input":{}}}"#),
    ] {
        let path = storage.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let store = open(directory.path());
    assert_eq!(
        tape_of(store.as_ref(), "ses_1", Policy::Strict)
            .unwrap_err()
            .code,
        ErrorCode::MalformedRecord
    );
    let tape = tape_of(store.as_ref(), "ses_1", Policy::Permissive).unwrap();
    let texts: Vec<&str> = tape
        .iter()
        .filter(|event| event["k"] == "msg.in")
        .filter_map(|event| event["text"].as_str())
        .collect();
    assert_eq!(texts, ["the rest"]);
    assert!(
        tape.iter().any(|event| event["k"] == "tool.call"),
        "a call needs no role"
    );
    assert_eq!(
        tape.last().unwrap()["ledger"]["malformed"],
        4,
        "three parts and a message"
    );
}

#[test]
fn a_database_schema_that_is_not_recorded_makes_the_version_unknown() {
    for sql in [
        "INSERT INTO migration VALUES ('20991231235959_tomorrow', 2)",
        "CREATE TABLE session_message (id text, type text); INSERT INTO session_message VALUES ('evt_1', 'user')",
        "CREATE TABLE session_input (id text); INSERT INTO session_input VALUES ('evt_1')",
    ] {
        let (_directory, path) = database(sql);
        let store = open(&path);
        let refused = tape_of(store.as_ref(), "ses_1", Policy::Strict).unwrap_err();
        assert_eq!(refused.code, ErrorCode::UnknownHarnessVersion, "{sql}");
        assert_eq!(
            refused.expected.as_deref(),
            Some("a store with the schema of a recorded version"),
            "the version itself is recorded"
        );
        assert_eq!(
            (refused.older_recorded, refused.newer_recorded),
            (None, None)
        );
        let tape = tape_of(store.as_ref(), "ses_1", Policy::Permissive).unwrap();
        assert_eq!(tape[0]["degraded"][0], "unknown_harness_version", "{sql}");
    }
    let known = "CREATE TABLE session_message (id text, type text); INSERT INTO session_message VALUES ('evt_1', 'agent-switched')";
    let (_directory, path) = database(known);
    assert!(tape_of(open(&path).as_ref(), "ses_1", Policy::Strict).is_ok());
}

#[test]
fn another_database_is_ignored_and_one_without_a_column_is_not_whole() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("opencode.db");
    Connection::open(&path)
        .unwrap()
        .execute_batch("CREATE TABLE note (text)")
        .unwrap();
    assert!(
        open_store(&Registry::builtin(), &path, Limits::default())
            .unwrap()
            .is_none()
    );
    let (_directory, path) = database("ALTER TABLE part DROP COLUMN data");
    assert_eq!(
        open_store(&Registry::builtin(), &path, Limits::default())
            .err()
            .unwrap()
            .code,
        ErrorCode::IncompleteStore
    );
}

#[test]
fn a_database_that_cannot_be_read_does_not_hide_the_sessions_of_another() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../fixtures/opencode/1.18.34/upgrade/session/opencode/opencode.db");
    let whole = fs::read(fixture).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::write(at("opencode.db"), &whole).unwrap();
    fs::write(at("opencode-cut.db"), &whole[..whole.len() / 2]).unwrap();
    fs::write(at("opencode-empty.db"), "").unwrap();
    Connection::open(at("opencode-foreign.db"))
        .unwrap()
        .execute_batch("CREATE TABLE note (text)")
        .unwrap();
    Connection::open(at("opencode-new.db"))
        .unwrap()
        .execute_batch("CREATE TABLE migration (id text)")
        .unwrap();
    let store = open(directory.path());
    assert_eq!(store.sessions().len(), 5);
    let unreadable: Vec<_> = store
        .unreadable()
        .iter()
        .map(|error| (error.code, error.path.clone().unwrap()))
        .collect();
    let path = |name: &str| at(name).to_string_lossy().into_owned();
    let cut = (ErrorCode::TruncatedInput, path("opencode-cut.db"));
    assert_eq!(
        unreadable,
        [
            cut,
            (ErrorCode::IncompleteStore, path("opencode-foreign.db"))
        ]
    );
    for policy in [Policy::Strict, Policy::Permissive] {
        let options = SessionOptions::default().with_policy(policy);
        let mut finder = SessionFinder::new(&options);
        [directory.path(), directory.path()]
            .into_iter()
            .for_each(|path| finder.add(path));
        let found = finder.finish().locations;
        assert_eq!(found.iter().filter(|location| location.is_ok()).count(), 5);
        assert_eq!(
            found.iter().filter(|location| location.is_err()).count(),
            2,
            "each once"
        );
    }
}

#[test]
fn rows_in_the_write_ahead_log_are_converted() {
    let (_directory, path) = database("");
    let writer = Connection::open(&path).unwrap();
    let sql = "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;
               INSERT INTO part VALUES ('prt_3', 'msg_2', 'ses_1', '{\"type\":\"text\",\"text\":\"not checkpointed\"}');";
    writer.execute_batch(sql).unwrap();
    let tape = tape_of(open(&path).as_ref(), "ses_1", Policy::Strict).unwrap();
    assert!(tape.iter().any(|event| event["text"] == "not checkpointed"));
}

#[test]
fn a_home_after_four_migrations_lists_each_session_once() {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../fixtures/opencode/1.18.34/upgrade/session/opencode");
    let store = open(&home);
    assert_eq!(store.sessions().len(), 5);
    assert!(
        store
            .sessions()
            .iter()
            .all(|session| session.path.ends_with("opencode.db")),
        "the database is the newest store"
    );
    let skipped: Vec<&str> = store
        .skipped()
        .iter()
        .map(|left| left.session.id.as_str())
        .collect();
    assert_eq!(
        skipped.len(),
        4,
        "three copies in `storage`, one of them in `project` too"
    );
    let ids: std::collections::BTreeSet<&str> = skipped.into_iter().collect();
    assert!(
        ids.iter()
            .all(|id| store.sessions().iter().any(|session| session.id == *id))
    );
}

#[test]
fn a_child_session_names_the_call_that_started_it() {
    for version in ["1.0.98", "1.14.34", "1.18.34"] {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../fixtures/opencode")
            .join(version)
            .join("sub/session/opencode");
        let store = open(&fixture);
        let tapes: Vec<Vec<Value>> = store
            .sessions()
            .iter()
            .map(|session| tape_of(store.as_ref(), &session.id, Policy::Strict).unwrap())
            .collect();
        let calls: Vec<&Value> = tapes
            .iter()
            .flatten()
            .filter(|event| event["tool"] == "task" && event["k"] == "tool.call")
            .collect();
        let children: Vec<&Value> = tapes
            .iter()
            .map(|tape| &tape[1])
            .filter(|session| session.get("parent_session_id").is_some())
            .collect();
        assert!(!children.is_empty());
        for child in children {
            assert!(
                calls
                    .iter()
                    .any(|call| call["call_id"] == child["parent_call_id"]),
                "{version}: {child}"
            );
        }
    }
}

#[test]
fn a_prompt_of_a_continued_child_session_names_its_call() {
    let task = |id: &str, call: &str, prompt: &str| {
        let state = format!(
            r#"{{"status":"completed","input":{{"prompt":"{prompt}"}},"output":"x","title":"t","metadata":{{"sessionId":"ses_2"}},"time":{{"start":1003,"end":1004}}}}"#
        );
        format!(
            r#"INSERT INTO part VALUES ('{id}', 'msg_2', 'ses_1', '{{"type":"tool","tool":"task","callID":"{call}","state":{state}}}');"#
        )
    };
    let prompt = |n: u32, prompt: &str| {
        format!(
            r#"INSERT INTO message VALUES ('msg_c{n}', 'ses_2', {n}, '{{"role":"user","time":{{"created":{n}}}}}');
               INSERT INTO part VALUES ('prt_c{n}', 'msg_c{n}', 'ses_2', '{{"type":"text","text":"{prompt}"}}');"#
        )
    };
    let sql = [
        "INSERT INTO session VALUES ('ses_2', 'ses_1', '/p', 'Child', '1.18.34', 1000, 2000);"
            .to_owned(),
        task("prt_t1", "call_1", "go on")
            + &task("prt_t2", "call_2", "go on")
            + &task("prt_t3", "call_3", "more"),
        prompt(1010, "go on")
            + &prompt(1020, "go on")
            + &prompt(1030, "not from a call")
            + &prompt(1040, "more"),
    ];
    let (_directory, path) = database(&sql.concat());
    let tape = tape_of(open(&path).as_ref(), "ses_2", Policy::Strict).unwrap();
    let facts = |event: &Value| {
        event["parent_call_id"]
            .as_str()
            .or(event["text"].as_str())
            .map(str::to_owned)
    };
    let stated: Vec<String> = tape.iter().filter_map(facts).collect();
    assert_eq!(
        stated,
        [
            "call_1",
            "go on",
            "call_2",
            "go on",
            "not from a call",
            "call_3",
            "more"
        ]
    );
}
