//! A second run over sources that cannot be read any more: their tapes stay, and nothing takes them for sources without sessions.

use std::collections::BTreeMap;
use std::fs;

use rusqlite::Connection;

use super::*;

const RUN_STORE: &str =
    "projects/home-dev-proj/sdk-agent-store/2b8c70fb72d8a087e5dee109778f74cf/index.db";
/// A home, where its harness has it, and the database that breaks.
const HOMES: [(&str, &str, &str); 5] = [
    ("opencode/1.18.34/resume", "opencode", "opencode.db"),
    // Files of older stores have copies of its sessions.
    ("opencode/1.2.27/upgrade", "opencode", "opencode.db"),
    ("cursor/2026.06/editor", "User", "globalStorage/state.vscdb"),
    (
        "cursor/2026.09/store",
        ".cursor",
        "chats/0a1b/5a00000f-0000-4000-8000-00000000000f/store.db",
    ),
    ("claude-code/0.2.100/b_edit", ".claude", "__store.db"),
];

/// What happens to a database, and its name.
type Break = (&'static str, fn(&Path));

fn copy_to(from: &Path, to: &Path) {
    for name in names(from) {
        let target = to.join(&name);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::write(target, fs::read(from.join(&name)).unwrap()).unwrap();
    }
}

fn ingest(home: &Path, out: &Path) -> Output {
    run(&["ingest", text(home), "--out", text(out)])
}

fn tapes_of(out: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    tape_files(out)
        .into_iter()
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect()
}

/// The states of the entries with tapes, by source and session.
fn states(out: &Path) -> BTreeMap<String, (String, String)> {
    let with_tape = index(out)
        .into_iter()
        .filter(|entry| !entry["tape"].is_null());
    let of = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    with_tape
        .map(|entry| {
            (
                format!("{}#{}", entry["source"], entry["session"]),
                (of(&entry["state"]), of(&entry["error"]["code"])),
            )
        })
        .collect()
}

fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

fn cut(path: &Path) {
    change(path, |bytes| bytes.truncate(bytes.len() / 2));
}

fn damage(path: &Path) {
    change(path, |bytes| bytes[100..2000].fill(0xff));
}

fn clear_header(path: &Path) {
    change(path, |bytes| bytes[..16].fill(0));
}

fn empty(path: &Path) {
    fs::write(path, "").unwrap();
}

fn rename_tables(path: &Path) {
    let database = Connection::open(path).unwrap();
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
    let tables: Vec<String> = database
        .prepare(sql)
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    tables.iter().for_each(|table| {
        database
            .execute_batch(&format!(
                "ALTER TABLE \"{table}\" RENAME TO \"later_{table}\""
            ))
            .unwrap()
    });
}

#[test]
fn a_database_that_breaks_keeps_its_tapes_and_is_a_failure() {
    let ways: [Break; 5] = [
        ("cut", cut),
        ("damaged", damage),
        ("no header", clear_header),
        ("empty", empty),
        ("other tables", rename_tables),
    ];
    for (fixture_name, place, database) in HOMES {
        for (way, break_it) in ways {
            let (home, out) = (
                directory_of(&[("other/session.jsonl", &claude_session("a"))]),
                tempfile::tempdir().unwrap(),
            );
            copy_to(&fixture(fixture_name).join(place), &home.path().join(place));
            let path = home.path().join(place).join(database);
            let whole = fs::read(&path).unwrap();
            assert_eq!(code(&ingest(home.path(), out.path())), 0);
            let (before, old) = (tapes_of(out.path()), states(out.path()));

            break_it(&path);
            for _ in 0..2 {
                let output = ingest(home.path(), out.path());
                let printed = format!("{fixture_name}, {way}: {}", stderr(&output));
                assert_ne!(code(&output), 0, "{printed}");
                assert!(tapes_of(out.path()) == before, "{printed}");
                let now = states(out.path());
                assert!(
                    now.keys().eq(old.keys()) && now.values().all(|(state, _)| state != "gone"),
                    "{printed} {now:?}"
                );
                assert!(
                    now.values()
                        .any(|(state, error)| state == "failed" && !error.is_empty()),
                    "{printed} {now:?}"
                );
            }

            fs::write(&path, whole).unwrap();
            let output = ingest(home.path(), out.path());
            assert_eq!(
                code(&output),
                0,
                "{fixture_name}, {way}: {}",
                stderr(&output)
            );
            assert!(
                tapes_of(out.path()) == before && states(out.path()) == old,
                "{fixture_name}, {way}"
            );
        }
    }
}

/// The chat store has facts of the run store beside it.
#[test]
fn a_store_that_another_one_is_read_with_breaks() {
    for break_it in [cut as fn(&Path), damage] {
        let (home, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        copy_to(
            &fixture("cursor/sdk-1.0.32/interrupt").join(".cursor"),
            &home.path().join(".cursor"),
        );
        assert_eq!(code(&ingest(home.path(), out.path())), 0);
        let before = tapes_of(out.path());
        break_it(&home.path().join(".cursor").join(RUN_STORE));
        let output = ingest(home.path(), out.path());
        assert_ne!(code(&output), 0, "{}", stderr(&output));
        assert!(tapes_of(out.path()) == before, "{}", stderr(&output));
        assert!(
            states(out.path())
                .values()
                .all(|(state, _)| state == "failed"),
            "{:?}",
            states(out.path())
        );
    }
}

#[test]
fn one_of_several_databases_breaks_and_the_others_go_on() {
    let (home, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    copy_to(
        &fixture("opencode/1.18.34/resume").join("opencode"),
        &home.path().join("opencode"),
    );
    let beta = home.path().join("opencode/opencode-beta.db");
    fs::copy(
        fixture("opencode/1.18.33/o_sub").join("opencode/opencode.db"),
        &beta,
    )
    .unwrap();
    assert_eq!(code(&ingest(home.path(), out.path())), 0);
    let before = tapes_of(out.path());
    cut(&beta);
    let output = ingest(home.path(), out.path());
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    assert!(
        stderr(&output).contains("opencode-beta.db: expected a database of"),
        "{}",
        stderr(&output)
    );
    assert!(tapes_of(out.path()) == before);
    let states = states(out.path());
    let of = |state: &str| states.values().filter(|(found, _)| found == state).count();
    assert_eq!((of("current"), of("failed")), (2, 3), "{states:?}");
}

#[test]
fn a_session_that_its_store_does_not_have_any_more_is_gone() {
    let (home, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    copy_to(
        &fixture("opencode/1.18.34/resume").join("opencode"),
        &home.path().join("opencode"),
    );
    assert_eq!(code(&ingest(home.path(), out.path())), 0);
    let database = Connection::open(home.path().join("opencode/opencode.db")).unwrap();
    let sql = "PRAGMA foreign_keys = OFF; CREATE TEMP TABLE last AS SELECT max(id) AS id FROM session;
        DELETE FROM part WHERE session_id IN (SELECT id FROM last); DELETE FROM message WHERE session_id IN (SELECT id FROM last);
        DELETE FROM session WHERE id IN (SELECT id FROM last);";
    database.execute_batch(sql).unwrap();
    drop(database);
    let output = ingest(home.path(), out.path());
    let states = states(out.path());
    assert_eq!(
        states.values().filter(|(state, _)| state == "gone").count(),
        1,
        "{states:?} {}",
        stderr(&output)
    );
}

#[test]
fn a_home_that_is_missing_as_a_whole_is_a_failure_of_each_of_its_sources() {
    let home = directory_of(&[
        ("home/a.jsonl", &claude_session("a")),
        ("home/b.jsonl", &claude_session("b")),
    ]);
    let (path, out) = (home.path().join("home"), tempfile::tempdir().unwrap());
    assert_eq!(code(&ingest(&path, out.path())), 0);
    let before = tapes_of(out.path());
    fs::rename(&path, home.path().join("unmounted")).unwrap();
    let output = ingest(&path, out.path());
    assert_eq!(code(&output), 3, "{}", stderr(&output));
    assert!(tapes_of(out.path()) == before);
    assert!(
        states(out.path())
            .values()
            .all(|state| *state == ("failed".to_owned(), "not_found".to_owned())),
        "{:?}",
        states(out.path())
    );
    fs::rename(home.path().join("unmounted"), &path).unwrap();
    assert_eq!(code(&ingest(&path, out.path())), 0);
    assert!(
        tapes_of(out.path()) == before
            && states(out.path())
                .values()
                .all(|(state, _)| state == "current")
    );
}

/// A person without the right to read is not the one who runs everything: `root` may read all files.
#[cfg(unix)]
#[test]
fn what_nobody_may_read_is_a_failure() {
    use std::os::unix::fs::PermissionsExt;
    let home = directory_of(&[
        ("p/a.jsonl", &claude_session("a")),
        ("q/b.jsonl", &claude_session("b")),
    ]);
    let out = tempfile::tempdir().unwrap();
    assert_eq!(code(&ingest(home.path(), out.path())), 0);
    let before = tapes_of(out.path());
    let locked = home.path().join("p");
    let allow = |mode| fs::set_permissions(&locked, fs::Permissions::from_mode(mode)).unwrap();
    allow(0);
    let may_read = fs::read_dir(&locked).is_ok();
    let output = ingest(home.path(), out.path());
    allow(0o755);
    if may_read {
        return;
    }
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    assert!(tapes_of(out.path()) == before);
    assert_eq!(
        states(out.path())
            .values()
            .filter(|(state, error)| state == "failed" && error == "io")
            .count(),
        1
    );
}
