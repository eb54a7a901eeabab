//! Databases that have one construct many times. They have no indexes but those of their keys, as a hostile or a copied one may have.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};

use super::Construct;

pub const ALL: &[Construct] = &[
    Construct { name: "parts of one message (OpenCode)", from: 4_000, write: |n, folder| opencode(folder, 1, 1, n) },
    Construct { name: "messages of one session (OpenCode)", from: 1_000, write: |n, folder| opencode(folder, 1, n, 1) },
    Construct { name: "child sessions (OpenCode)", from: 250, write: |n, folder| opencode(folder, n, 1, 1) },
    Construct { name: "bubbles of one chat (Cursor editor)", from: 4_000, write: bubbles },
    Construct { name: "chats of one store (Cursor editor)", from: 500, write: chats },
    Construct { name: "turns (Cursor chat store)", from: 1_000, write: turns },
];

fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(path)
}

/// A session, and child sessions of it that have this many messages with this many parts each.
fn opencode(folder: &Path, children: usize, messages: usize, parts: usize) {
    const PARENT: &str = "ses_df9b2c870ffehVU9gNxkqqxSze";
    let path = folder.join("opencode.db");
    fs::copy(fixture("opencode/1.18.33/o_sub/session/opencode/opencode.db"), &path).expect("the fixture can be copied");
    let mut database = Connection::open(path).expect("a database");
    // The fixture has only the tables that a tape needs.
    database.pragma_update(None, "foreign_keys", false).expect("outside of a transaction");
    let all = database.transaction().expect("a transaction");
    let copy = "CREATE TEMP TABLE child AS SELECT * FROM session WHERE parent_id = ?1 LIMIT 1";
    all.execute(copy, [PARENT]).expect("the fixture has a child session");
    let mut ids = 0;
    let mut id = |kind: &str| {
        ids += 1;
        format!("{kind}_{ids:012x}growth00000000")
    };
    for _ in 0..children {
        let session = id("ses");
        all.execute("UPDATE child SET id = ?1", [&session]).expect("one row");
        all.execute_batch("INSERT INTO session SELECT * FROM child").expect("one row");
        for _ in 0..messages {
            let message = id("msg");
            let data = r#"{"role":"user","time":{"created":1795402054253},"agent":"build","model":{"providerID":"mock","modelID":"m"}}"#;
            let values = params![message, session, 1_795_402_054_253_i64, data];
            all.execute("INSERT INTO message (id, session_id, time_created, time_updated, data) VALUES (?1, ?2, ?3, ?3, ?4)", values)
                .expect("one row");
            for _ in 0..parts {
                let part =
                    "INSERT INTO part (id, message_id, session_id, time_created, time_updated, data) VALUES (?1, ?2, ?3, ?4, ?4, ?5)";
                let values = params![id("prt"), message, session, 1_795_402_054_253_i64, r#"{"type":"text","text":"go"}"#];
                all.execute(part, values).expect("one row");
            }
        }
        let started = format!(
            r#"{{"type":"tool","callID":"call_{session}","tool":"task","state":{{"status":"completed","input":{{}},"output":"done","title":"t","metadata":{{"sessionId":"{session}"}},"time":{{"start":1795402054253,"end":1795402054253}}}}}}"#
        );
        let part = "INSERT INTO part (id, message_id, session_id, time_created, time_updated, data)
                    SELECT ?1, max(id), session_id, ?3, ?3, ?4 FROM message WHERE session_id = ?2";
        all.execute(part, params![id("prt"), PARENT, 1_795_402_054_253_i64, started]).expect("one row");
    }
    all.execute_batch("DROP TABLE child").and_then(|()| all.commit()).expect("the disk has room");
}

fn editor(folder: &Path, chats: usize, bubbles: usize) {
    let path = folder.join("state.vscdb");
    fs::copy(fixture("cursor/2024.11/editor/session/User/workspaceStorage/0a1b/state.vscdb"), &path).expect("the fixture can be copied");
    let bubble = |chat: usize, n: usize| {
        format!(r#"{{"type":1,"bubbleId":"{chat:08x}-0000-4000-8000-{n:012x}","text":"prompt {n}","relevantFiles":["a.py"]}}"#)
    };
    let chat = |chat: usize| {
        let bubbles: Vec<String> = (0..bubbles).map(|n| bubble(chat, n)).collect();
        let bubbles = bubbles.join(",");
        format!(r#"{{"composerId":"{chat:08x}-0000-4000-8000-000000000000","name":"chat","text":"","conversation":[{bubbles}]}}"#)
    };
    let all: Vec<String> = (0..chats).map(chat).collect();
    let value = format!(r#"{{"allComposers":[{}]}}"#, all.join(","));
    let database = Connection::open(path).expect("a database");
    database.execute("UPDATE ItemTable SET value = ?1 WHERE key = 'composer.composerData'", [value]).expect("one row");
}

fn bubbles(n: usize, folder: &Path) {
    editor(folder, 1, n);
}

fn chats(n: usize, folder: &Path) {
    editor(folder, n, 1);
}

/// Chats whose turns have one prompt each that is no message.
fn turns(n: usize, folder: &Path) {
    let path = folder.join("store.db");
    fs::copy(fixture("cursor/2026.09/store/session/.cursor/chats/0a1b/5a00000f-0000-4000-8000-00000000000f/store.db"), &path)
        .expect("the fixture can be copied");
    let mut database = Connection::open(path).expect("a database");
    let all = database.transaction().expect("a transaction");
    let meta: String = all.query_row("SELECT value FROM meta", [], |row| row.get(0)).expect("one row");
    let meta = String::from_utf8(bytes_of(&meta)).expect("the meta row is JSON");
    let meta: serde_json::Value = serde_json::from_str(&meta).expect("the meta row is JSON");
    let root = meta["latestRootBlobId"].as_str().expect("the meta row has a root").to_owned();
    let mut data: Vec<u8> = all.query_row("SELECT data FROM blobs WHERE id = ?1", [&root], |row| row.get(0)).expect("the root is there");
    let mut ids = 0_usize;
    let mut add = |data: &[u8]| {
        ids += 1;
        let id = format!("{ids:064x}");
        all.execute("INSERT INTO blobs VALUES (?1, ?2)", params![id, data]).expect("one row");
        bytes_of(&id)
    };
    for turn in 0..n {
        let message = add(&field(1, format!("prompt {turn}").as_bytes()));
        let turn = add(&field(1, &field(1, &message)));
        data.extend(field(8, &turn));
    }
    all.execute("UPDATE blobs SET data = ?2 WHERE id = ?1", params![root, data]).expect("one row");
    all.commit().expect("the disk has room");
}

/// A protobuf field of at most 127 bytes.
fn field(number: u8, value: &[u8]) -> Vec<u8> {
    let length = u8::try_from(value.len()).expect("a short value");
    [&[number << 3 | 2, length], value].concat()
}

fn bytes_of(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).filter_map(|at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok()).collect()
}
