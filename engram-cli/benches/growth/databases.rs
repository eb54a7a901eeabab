//! Databases that have one construct many times. Unless a name says otherwise, they have no indexes but those of their keys, as a copied
//! one may.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};

use super::Construct;

pub const ALL: &[Construct] = &[
    Construct {
        name: "parts of one message (OpenCode)",
        from: 4_000,
        write: |n, directory| opencode(directory, 1, 1, n, Keys::Primary),
    },
    Construct {
        name: "messages of one session (OpenCode)",
        from: 1_000,
        write: |n, directory| opencode(directory, 1, n, 1, Keys::Primary),
    },
    Construct {
        name: "messages of one session, indexes (OpenCode)",
        from: 1_000,
        write: |n, directory| opencode(directory, 1, n, 1, Keys::All),
    },
    Construct {
        name: "child sessions (OpenCode)",
        from: 250,
        write: |n, directory| opencode(directory, n, 1, 1, Keys::Primary),
    },
    Construct {
        name: "child sessions, indexes (OpenCode)",
        from: 250,
        write: |n, directory| opencode(directory, n, 1, 1, Keys::All),
    },
    Construct {
        name: "child sessions, no keys (OpenCode)",
        from: 250,
        write: |n, directory| opencode(directory, n, 1, 1, Keys::None),
    },
    Construct {
        name: "messages of one session (OpenCode 2)",
        from: 4_000,
        write: |n, directory| opencode_2(directory, 1, n),
    },
    Construct {
        name: "child sessions (OpenCode 2)",
        from: 250,
        write: |n, directory| opencode_2(directory, n, 1),
    },
    Construct {
        name: "child sessions in files (OpenCode)",
        from: 250,
        write: opencode_files,
    },
    Construct {
        name: "bubbles of one chat (Cursor editor)",
        from: 4_000,
        write: |n, directory| editor(directory, 1, n),
    },
    Construct {
        name: "chats of one store (Cursor editor)",
        from: 500,
        write: |n, directory| editor(directory, n, 1),
    },
    Construct {
        name: "rows of one chat (Cursor editor)",
        from: 1_000,
        write: |n, directory| editor_rows(directory, 1, n, true),
    },
    Construct {
        name: "rows of one chat, no keys (Cursor editor)",
        from: 1_000,
        write: |n, directory| editor_rows(directory, 1, n, false),
    },
    Construct {
        name: "chats in rows (Cursor editor)",
        from: 500,
        write: |n, directory| editor_rows(directory, n, 1, true),
    },
    Construct {
        name: "turns (Cursor chat store)",
        from: 1_000,
        write: |n, directory| turns(directory, n, false),
    },
    Construct {
        name: "turns with messages (Cursor chat store)",
        from: 1_000,
        write: |n, directory| turns(directory, n, true),
    },
];

/// What a database can be searched by.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keys {
    /// Nothing.
    None,
    /// The primary keys.
    Primary,
    /// The primary keys and the indexes of the harness.
    All,
}

fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../fixtures")
        .join(path)
}

/// A session, and child sessions of it that have this many messages with this many parts each.
fn opencode(directory: &Path, children: usize, messages: usize, parts: usize, keys: Keys) {
    const PARENT: &str = "ses_df9b2c870ffehVU9gNxkqqxSze";
    let path = directory.join("opencode.db");
    fs::copy(
        fixture("opencode/1.18.33/o_sub/session/opencode/opencode.db"),
        &path,
    )
    .expect("the fixture can be copied");
    let mut database = Connection::open(path).expect("a database");
    // The fixture has only the tables that a tape needs.
    database
        .pragma_update(None, "foreign_keys", false)
        .expect("outside of a transaction");
    let all = database.transaction().expect("a transaction");
    let copy = "CREATE TEMP TABLE child AS SELECT * FROM session WHERE parent_id = ?1 LIMIT 1";
    all.execute(copy, [PARENT])
        .expect("the fixture has a child session");
    let mut ids = 0;
    let mut id = |kind: &str| {
        ids += 1;
        format!("{kind}_{ids:012x}growth00000000")
    };
    for _ in 0..children {
        let session = id("ses");
        all.execute("UPDATE child SET id = ?1", [&session])
            .expect("one row");
        all.execute_batch("INSERT INTO session SELECT * FROM child")
            .expect("one row");
        for _ in 0..messages {
            let message = id("msg");
            let data = r#"{"role":"user","time":{"created":1795402054253},"agent":"build","model":{"providerID":"mock","modelID":"m"}}"#;
            let values = params![message, session, 1_795_402_054_253_i64, data];
            all.execute("INSERT INTO message (id, session_id, time_created, time_updated, data) VALUES (?1, ?2, ?3, ?3, ?4)", values)
                .expect("one row");
            for _ in 0..parts {
                let part = "INSERT INTO part (id, message_id, session_id, time_created, time_updated, data) VALUES (?1, ?2, ?3, ?4, ?4, ?5)";
                let values = params![
                    id("prt"),
                    message,
                    session,
                    1_795_402_054_253_i64,
                    r#"{"type":"text","text":"go"}"#
                ];
                all.execute(part, values).expect("one row");
            }
        }
        let started = format!(
            r#"{{"type":"tool","callID":"call_{session}","tool":"task","state":{{"status":"completed","input":{{}},"output":"done","title":"t","metadata":{{"sessionId":"{session}"}},"time":{{"start":1795402054253,"end":1795402054253}}}}}}"#
        );
        let part = "INSERT INTO part (id, message_id, session_id, time_created, time_updated, data)
                    SELECT ?1, max(id), session_id, ?3, ?3, ?4 FROM message WHERE session_id = ?2";
        all.execute(
            part,
            params![id("prt"), PARENT, 1_795_402_054_253_i64, started],
        )
        .expect("one row");
    }
    let of_harness = "CREATE INDEX message_session_idx ON message (session_id); CREATE INDEX part_message_idx ON part (message_id);
                      CREATE INDEX part_session_idx ON part (session_id);";
    let without = |table: &str| {
        format!(
            "CREATE TABLE other AS SELECT * FROM {table}; DROP TABLE {table}; ALTER TABLE other RENAME TO {table};"
        )
    };
    let change = match keys {
        Keys::None => ["session", "message", "part", "session_message"]
            .map(without)
            .concat(),
        Keys::Primary => String::new(),
        Keys::All => of_harness.to_owned(),
    };
    all.execute_batch(&format!("DROP TABLE child; {change}"))
        .and_then(|()| all.commit())
        .expect("the disk has room");
}

/// The same in the tables of 2.x: one message starts each child session.
fn opencode_2(directory: &Path, children: usize, messages: usize) {
    let path = directory.join("opencode.db");
    fs::copy(
        fixture("opencode/2.0.14/rows/session/opencode/opencode.db"),
        &path,
    )
    .expect("the fixture can be copied");
    let mut database = Connection::open(path).expect("a database");
    database
        .pragma_update(None, "foreign_keys", false)
        .expect("outside of a transaction");
    let all = database.transaction().expect("a transaction");
    let parent: String = all
        .query_row("SELECT min(id) FROM session_v2", [], |row| row.get(0))
        .expect("the fixture has sessions");
    let copy = "CREATE TEMP TABLE child AS SELECT * FROM session_v2 WHERE id = ?1; ";
    all.execute(copy, [&parent]).expect("one row");
    all.execute("UPDATE child SET parent_id = ?1", [&parent])
        .expect("one row");
    let add = "INSERT INTO session_message (id, session_id, type, seq, time_created, time_updated, data) VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6)";
    let time = 1_795_402_054_253_i64;
    let mut ids = 0;
    for child in 0..children {
        let session = format!("ses_{child:012x}growth00000000");
        all.execute("UPDATE child SET id = ?1", [&session])
            .expect("one row");
        all.execute_batch("INSERT INTO session_v2 SELECT * FROM child")
            .expect("one row");
        for seq in 0..messages {
            ids += 1;
            let values = params![
                format!("msg_{ids:012x}"),
                session,
                "user",
                seq as i64,
                time,
                r#"{"text":"go","time":{"created":1795402054253}}"#
            ];
            all.execute(add, values).expect("one row");
        }
        ids += 1;
        let started = format!(
            r#"{{"agent":"build","model":{{"id":"m","providerID":"p"}},"content":[{{"type":"tool","id":"call_{ids}","name":"subagent","state":{{"status":"completed","input":{{}},"content":[],"structured":{{"sessionID":"{session}"}}}},"time":{{"created":{time},"completed":{time}}}}}],"time":{{"created":{time},"completed":{time}}}}}"#
        );
        all.execute(
            add,
            params![
                format!("msg_{ids:012x}"),
                parent,
                "assistant",
                1_000 + child as i64,
                time,
                started
            ],
        )
        .expect("one row");
    }
    all.execute_batch("DROP TABLE child")
        .and_then(|()| all.commit())
        .expect("the disk has room");
}

/// A session whose messages each start a child session, in files.
fn opencode_files(children: usize, directory: &Path) {
    let storage = directory.join("storage");
    let write = |path: String, text: String| {
        let path = storage.join(path);
        fs::create_dir_all(path.parent().expect("a directory"))
            .and_then(|()| fs::write(path, text))
            .expect("the disk has room");
    };
    let time = r#""time":{"created":1795402054253,"updated":1795402054253}"#;
    let info = |id: &str, parent: &str| {
        format!(r#"{{"id":"{id}","version":"1.0.98",{parent}"directory":"/p","title":"t",{time}}}"#)
    };
    write("session/p/ses_parent.json".into(), info("ses_parent", ""));
    for child in 0..children {
        let session = format!("ses_{child:08}");
        write(
            format!("session/p/{session}.json"),
            info(&session, r#""parentID":"ses_parent","#),
        );
        let message = |id: &str, session: &str| {
            format!(r#"{{"id":"{id}","sessionID":"{session}","role":"user",{time}}}"#)
        };
        let (own, started) = (format!("msg_c{child:08}"), format!("msg_p{child:08}"));
        write(
            format!("message/{session}/{own}.json"),
            message(&own, &session),
        );
        write(
            format!("part/{own}/prt_1.json"),
            r#"{"type":"text","text":"go"}"#.into(),
        );
        write(
            format!("message/ses_parent/{started}.json"),
            message(&started, "ses_parent"),
        );
        let state = format!(
            r#"{{"status":"completed","input":{{}},"output":"done","title":"t","metadata":{{"sessionId":"{session}"}},"time":{{"start":1,"end":2}}}}"#
        );
        write(
            format!("part/{started}/prt_1.json"),
            format!(r#"{{"type":"tool","callID":"call_{child}","tool":"task","state":{state}}}"#),
        );
    }
}

fn editor(directory: &Path, chats: usize, bubbles: usize) {
    let path = directory.join("state.vscdb");
    fs::copy(
        fixture("cursor/2024.11/editor/session/User/workspaceStorage/0a1b/state.vscdb"),
        &path,
    )
    .expect("the fixture can be copied");
    let bubble = |chat: usize, n: usize| {
        format!(
            r#"{{"type":1,"bubbleId":"{chat:08x}-0000-4000-8000-{n:012x}","text":"prompt {n}","relevantFiles":["a.py"]}}"#
        )
    };
    let chat = |chat: usize| {
        let bubbles: Vec<String> = (0..bubbles).map(|n| bubble(chat, n)).collect();
        let bubbles = bubbles.join(",");
        format!(
            r#"{{"composerId":"{chat:08x}-0000-4000-8000-000000000000","name":"chat","text":"","conversation":[{bubbles}]}}"#
        )
    };
    let all: Vec<String> = (0..chats).map(chat).collect();
    let value = format!(r#"{{"allComposers":[{}]}}"#, all.join(","));
    let database = Connection::open(path).expect("a database");
    database
        .execute(
            "UPDATE ItemTable SET value = ?1 WHERE key = 'composer.composerData'",
            [value],
        )
        .expect("one row");
}

/// Chats with one row for each message, with or without a key.
fn editor_rows(directory: &Path, chats: usize, bubbles: usize, has_key: bool) {
    let path = directory.join("state.vscdb");
    fs::copy(
        fixture("cursor/2026.06/editor/session/User/globalStorage/state.vscdb"),
        &path,
    )
    .expect("the fixture can be copied");
    let mut database = Connection::open(path).expect("a database");
    let all = database.transaction().expect("a transaction");
    if !has_key {
        all.execute_batch(
            "DROP TABLE cursorDiskKV; CREATE TABLE cursorDiskKV (key TEXT, value BLOB)",
        )
        .expect("an empty table");
    }
    let add = |key: String, value: String| {
        all.execute("INSERT INTO cursorDiskKV VALUES (?1, ?2)", [key, value])
            .expect("one row")
    };
    for chat in 0..chats {
        let id = format!("{chat:08x}-0000-4000-8000-000000000000");
        let bubble = |n: usize| format!("{chat:08x}-0000-4000-8000-{n:012x}");
        let headers: Vec<String> = (0..bubbles)
            .map(|n| format!(r#"{{"bubbleId":"{}","type":1}}"#, bubble(n)))
            .collect();
        let headers = headers.join(",");
        let composer = format!(
            r#"{{"composerId":"{id}","name":"chat","fullConversationHeadersOnly":[{headers}]}}"#
        );
        add(format!("composerData:{id}"), composer);
        for n in 0..bubbles {
            let value = format!(
                r#"{{"type":1,"bubbleId":"{}","text":"prompt {n}"}}"#,
                bubble(n)
            );
            add(format!("bubbleId:{id}:{}", bubble(n)), value);
        }
    }
    all.commit().expect("the disk has room");
}

/// A chat whose turns have one prompt each. The messages for the model have all prompts, or none.
fn turns(directory: &Path, n: usize, has_messages: bool) {
    let path = directory.join("store.db");
    fs::copy(fixture("cursor/2026.09/store/session/.cursor/chats/0a1b/5a00000f-0000-4000-8000-00000000000f/store.db"), &path)
        .expect("the fixture can be copied");
    let mut database = Connection::open(path).expect("a database");
    let all = database.transaction().expect("a transaction");
    let meta: String = all
        .query_row("SELECT value FROM meta", [], |row| row.get(0))
        .expect("one row");
    let meta = String::from_utf8(bytes_of(&meta)).expect("the meta row is JSON");
    let meta: serde_json::Value = serde_json::from_str(&meta).expect("the meta row is JSON");
    let root = meta["latestRootBlobId"]
        .as_str()
        .expect("the meta row has a root")
        .to_owned();
    let mut data: Vec<u8> = all
        .query_row("SELECT data FROM blobs WHERE id = ?1", [&root], |row| {
            row.get(0)
        })
        .expect("the root is there");
    let mut ids = 0_usize;
    let mut add = |data: &[u8]| {
        ids += 1;
        let id = format!("{ids:064x}");
        all.execute("INSERT INTO blobs VALUES (?1, ?2)", params![id, data])
            .expect("one row");
        bytes_of(&id)
    };
    for number in 0..n {
        let message = add(&field(1, format!("prompt {number}").as_bytes()));
        let turn = add(&field(1, &field(1, &message)));
        data.extend(field(8, &turn));
        if has_messages {
            let message =
                add(format!(r#"{{"role":"user","content":"prompt {number}"}}"#).as_bytes());
            data.extend(field(1, &message));
        }
    }
    all.execute(
        "UPDATE blobs SET data = ?2 WHERE id = ?1",
        params![root, data],
    )
    .expect("one row");
    all.commit().expect("the disk has room");
}

/// A protobuf field of at most 127 bytes.
fn field(number: u8, value: &[u8]) -> Vec<u8> {
    let length = u8::try_from(value.len()).expect("a short value");
    [&[number << 3 | 2, length], value].concat()
}

fn bytes_of(hex: &str) -> Vec<u8> {
    (0..hex.len())
        .step_by(2)
        .filter_map(|at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok())
        .collect()
}
