//! Stores: databases and directories that hold many sessions, alone or in a copied home directory, and never changed.

use std::fs;

use rusqlite::Connection;

use super::*;

/// A chat of Cursor in a database of its own.
const CHAT: &str = "cursor/2026.09/store";
/// The id of [`CHAT`].
const CHAT_ID: &str = "5a00000f-0000-4000-8000-00000000000f";
/// An OpenCode home after two upgrades: a database, and the files of two older stores that the upgrades left in place.
const UPGRADED: &str = "opencode/1.2.27/upgrade";

fn chat_file() -> PathBuf {
    only_file(&fixture(CHAT), ".db")
}

/// A copy of every file below a directory.
fn copy_to(from: &Path, to: &Path) {
    for name in names(from) {
        let target = to.join(&name);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(from.join(&name), target).unwrap();
    }
}

/// The names and bytes of all files below a directory.
fn contents(directory: &Path) -> Vec<(String, Vec<u8>)> {
    names(directory)
        .into_iter()
        .map(|name| (name.clone(), fs::read(directory.join(name)).unwrap()))
        .collect()
}

fn ingest_to(out: &Path, args: &[&str]) -> Output {
    engram()
        .arg("ingest")
        .args(args)
        .arg("--out")
        .arg(out)
        .output()
        .unwrap()
}

#[test]
fn a_store_of_one_session_is_a_session() {
    let output = run(&["ingest", text(&chat_file())]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_checked(&output.stdout);
    let start: Value =
        serde_json::from_slice(output.stdout.split(|byte| *byte == b'\n').next().unwrap()).unwrap();
    assert_eq!(
        (&start["harness"]["schema"], &start["source"]["session_id"]),
        (&"store-db".into(), &CHAT_ID.into())
    );

    let out = tempfile::tempdir().unwrap();
    assert_eq!(code(&ingest_to(out.path(), &[text(&chat_file())])), 0);
    assert_eq!(tapes(out.path()), [format!("cursor/{CHAT_ID}.tape.jsonl")]);
    assert_same(
        &fs::read(out.path().join(format!("cursor/{CHAT_ID}.tape.jsonl"))).unwrap(),
        &output.stdout,
    );
}

#[test]
fn a_root_directory_of_several_sessions_needs_a_directory_for_the_tapes() {
    let root = fixture(UPGRADED).join("opencode");
    let output = run(&["ingest", text(&root)]);
    assert_eq!(
        (code(&output), output.stdout.len()),
        (2, 0),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_copied_home_directory_gives_every_session_once_and_stays_as_it_is() {
    let home = tempfile::tempdir().unwrap();
    copy_to(
        &fixture(UPGRADED).join("opencode"),
        &home.path().join(".local/share/opencode"),
    );
    copy_to(&fixture(CHAT), home.path());
    copy_to(
        &fixture("cursor/sdk-1.0.32/legacy_text"),
        &home.path().join(".cursor/projects/p"),
    );
    fs::write(home.path().join("notes.txt"), "user:\nno transcript\n").unwrap();
    fs::write(home.path().join("session.jsonl"), claude_session("a")).unwrap();
    let before = contents(home.path());
    let out = tempfile::tempdir().unwrap();
    let output = ingest_to(
        out.path(),
        &[
            "-v",
            text(home.path()),
            text(&home.path().join(".local/share/opencode/opencode.db")),
        ],
    );
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(contents(home.path()), before);
    let tapes = tapes(out.path());
    let of = |harness: &str| {
        tapes
            .iter()
            .filter(|name| name.starts_with(harness))
            .count()
    };
    assert_eq!(
        (
            of("opencode/"),
            of("cursor/"),
            of("claude-code/"),
            tapes.len()
        ),
        (4, 5, 1, 10),
        "{tapes:?}"
    );
    for file in tape_files(out.path()) {
        assert_checked(&fs::read(file).unwrap());
    }
    let said = stderr(&output);
    assert!(
        said.contains("10 new, 0 replaced, 0 unchanged, 0 failed\n"),
        "{said}"
    );
    assert!(
        said.contains("4 sessions of stores, older copies"),
        "{said}"
    );
    assert_eq!(
        said.lines()
            .filter(|line| line.starts_with("skipped: ") && line.contains("an older copy"))
            .count(),
        4,
        "{said}"
    );
}

#[test]
fn two_stores_with_a_session_of_one_id_give_two_tapes() {
    let home = tempfile::tempdir().unwrap();
    copy_to(&fixture(CHAT), &home.path().join("one"));
    copy_to(&fixture(CHAT), &home.path().join("other"));
    let other = Connection::open(only_file(&home.path().join("other"), ".db")).unwrap();
    other
        .execute(
            "DELETE FROM blobs WHERE rowid = (SELECT max(rowid) FROM blobs)",
            [],
        )
        .unwrap();
    other.close().unwrap();
    let out = tempfile::tempdir().unwrap();
    let output = ingest_to(out.path(), &[text(home.path())]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(
        tapes(out.path()),
        [
            format!("cursor/{CHAT_ID}-2.tape.jsonl"),
            format!("cursor/{CHAT_ID}.tape.jsonl")
        ]
    );
}

#[test]
fn a_store_in_use_is_read_with_its_log_and_left_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    fs::copy(chat_file(), &path).unwrap();
    let user = Connection::open(&path).unwrap();
    user.execute_batch("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE later (x); BEGIN IMMEDIATE;").unwrap();
    let before = contents(directory.path());
    assert!(before.len() >= 2, "there is a log");
    let output = run(&["ingest", text(&path)]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_same(&output.stdout, &run(&["ingest", text(&chat_file())]).stdout);
    assert_eq!(contents(directory.path()), before);
}

#[test]
fn detect_names_store_schema_and_evidence() {
    let finding: Value =
        serde_json::from_slice(&run(&["detect", "--json", text(&chat_file())]).stdout).unwrap();
    assert_eq!(
        (&finding["store"], &finding["harness"]),
        (&"Cursor chat store".into(), &"cursor".into())
    );
    assert_eq!(
        (&finding["schema"], &finding["session_id"]),
        (&"store-db".into(), &CHAT_ID.into())
    );
    assert_eq!(finding["evidence"], serde_json::json!(["store.chat"]));
    assert_eq!(finding["path"], format!("{}#{CHAT_ID}", text(&chat_file())));
    let lines =
        String::from_utf8(run(&["detect", text(&fixture(UPGRADED).join("opencode"))]).stdout)
            .unwrap();
    assert_eq!(
        lines
            .lines()
            .filter(|line| line.contains(": OpenCode database, opencode "))
            .count(),
        4,
        "{lines}"
    );
}

#[test]
fn a_database_of_another_product_is_not_recognised() {
    let directory = directory_of(&[("session.jsonl", &claude_session("a"))]);
    let path = directory.path().join("places.db");
    Connection::open(&path)
        .unwrap()
        .execute_batch("CREATE TABLE places (url TEXT)")
        .unwrap();
    for command in ["ingest", "detect", "audit"] {
        let output = run(&[command, text(&path), "--error-format", "json"]);
        assert_eq!(code(&output), 3, "{command}: {}", stderr(&output));
        assert_eq!(json_errors(&output)[0]["code"], "unknown_harness");
    }
    let out = tempfile::tempdir().unwrap();
    let output = ingest_to(out.path(), &[text(directory.path())]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(
        stderr(&output).contains("skipped     1 file without a session"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_migration_that_no_tested_version_knows_is_refused_or_degrades() {
    let directory = tempfile::tempdir().unwrap();
    copy_to(&fixture(UPGRADED).join("opencode"), directory.path());
    let path = directory.path().join("opencode.db");
    let database = Connection::open(&path).unwrap();
    database
        .execute(
            "INSERT INTO __drizzle_migrations (hash, created_at) VALUES ('x', 4000000000000)",
            [],
        )
        .unwrap();
    database
        .execute(
            "DELETE FROM session WHERE id NOT IN (SELECT max(id) FROM session)",
            [],
        )
        .unwrap();
    database.close().unwrap();
    let strict = run(&[
        "ingest",
        "--policy",
        "strict",
        "--error-format",
        "json",
        text(&path),
    ]);
    assert_eq!(code(&strict), 4, "{}", stderr(&strict));
    assert_eq!(json_errors(&strict)[0]["code"], "unknown_harness_version");
    let kept = run(&["ingest", text(&path)]);
    assert_eq!(code(&kept), 0, "{}", stderr(&kept));
    assert!(
        stderr(&kept).contains("degraded (unknown_harness_version)"),
        "{}",
        stderr(&kept)
    );
    let finding: Value =
        serde_json::from_slice(&run(&["detect", "--json", text(&path)]).stdout).unwrap();
    assert_eq!(finding["support"], "unknown");
}

#[test]
fn a_store_that_is_no_whole_database_says_what_it_is() {
    let whole = fs::read(chat_file()).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let refused = |name: &str, bytes: &[u8]| {
        let path = directory.path().join(name);
        fs::write(&path, bytes).unwrap();
        let output = run(&["ingest", "--error-format", "json", text(&path)]);
        let error = json_errors(&output).remove(0);
        assert_eq!(error["path"], text(&path), "{error}");
        (code(&output), error["code"].as_str().unwrap().to_owned())
    };
    assert_eq!(
        refused("cut.db", &whole[..whole.len() / 2]),
        (5, "truncated_input".to_owned())
    );
    assert_eq!(
        refused("encrypted.db", &[0xa7; 4096]),
        (3, "unknown_harness".to_owned())
    );
    let mut damaged = whole;
    damaged[100..2000].fill(0xff);
    assert_eq!(
        refused("damaged.db", &damaged),
        (5, "malformed_record".to_owned())
    );
}

#[test]
fn audit_accounts_for_the_sessions_of_stores() {
    let output = run(&[
        "audit",
        text(&fixture(CHAT)),
        text(&fixture(UPGRADED).join("opencode")),
    ]);
    let table = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(code(&output), 0, "{table}{}", stderr(&output));
    assert!(
        table.contains(&format!("store.db#{CHAT_ID}")) && table.contains("5 sessions"),
        "{table}"
    );
}

#[test]
fn a_named_adapter_takes_only_its_own_stores() {
    let output = run(&["ingest", "--adapter", "opencode", text(&chat_file())]);
    assert_eq!(code(&output), 3, "{}", stderr(&output));
}
