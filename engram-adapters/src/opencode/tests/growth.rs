//! Databases with many rows and without indexes. A search of a whole table for each row would exceed the budget of work.

use rusqlite::{Connection, params};

use super::open;
use super::stores::database;

const ROWS: usize = 10_000;
const CHILDREN: usize = 3_000;

fn fill(path: &std::path::Path, add: impl FnOnce(&Connection)) {
    let mut database = Connection::open(path).unwrap();
    let all = database.transaction().unwrap();
    add(&all);
    all.commit().unwrap();
}

#[test]
fn messages_without_indexes_are_within_the_budget() {
    let (_directory, path) = database("");
    fill(&path, |all| {
        let mut message = all
            .prepare("INSERT INTO message VALUES (?1, 'ses_1', 1003, '{}')")
            .unwrap();
        let mut part = all
            .prepare("INSERT INTO part VALUES (?1, ?1, 'ses_1', '{}')")
            .unwrap();
        for n in 0..ROWS {
            message.execute([n.to_string()]).unwrap();
            part.execute([n.to_string()]).unwrap();
        }
    });
    let store = open(&path);
    let export = store.export(&store.sessions()[0]).unwrap();
    assert_eq!(export.text.matches("\"parts\":[{").count(), ROWS + 2);
}

#[test]
fn child_sessions_without_indexes_are_within_the_budget() {
    let (_directory, path) = database("");
    fill(&path, |all| {
        let session = "INSERT INTO session VALUES (?1, 'ses_1', '/p', '', '1.18.34', 1, 1)";
        for n in 0..CHILDREN {
            let id = format!("ses_c{n}");
            let call =
                format!(r#"{{"callID":"call_{n}","state":{{"metadata":{{"sessionId":"{id}"}}}}}}"#);
            all.execute(session, [&id]).unwrap();
            all.execute("INSERT INTO message VALUES (?1, ?1, 1, '{}')", [&id])
                .unwrap();
            all.execute(
                "INSERT INTO part VALUES (?1, 'msg_2', 'ses_1', ?2)",
                params![format!("prt_c{n}"), call],
            )
            .unwrap();
        }
    });
    let store = open(&path);
    for session in store
        .sessions()
        .iter()
        .filter(|session| session.id != "ses_1")
    {
        let call = store
            .export(session)
            .unwrap()
            .context
            .parent_call_id
            .unwrap();
        assert_eq!(call, session.id.replace("ses_c", "call_"));
    }
}
