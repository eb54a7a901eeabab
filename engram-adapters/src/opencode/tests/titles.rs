//! Titles of a session that was renamed.

use engram_core::adapter::SideInfo;
use engram_core::policy::Policy;
use rusqlite::Connection;
use serde_json::Value;

use super::stores::database;
use super::{convert, open, tape_of};

const EVENTS: &str =
    "CREATE TABLE event (id text, aggregate_id text, seq integer, type text, data text)";

/// An event about the session, with this title.
fn titled(seq: u32, kind: &str, title: &str) -> String {
    format!(
        "INSERT INTO event VALUES ('evt_{seq}', 'ses_1', {seq}, '{kind}', '{{\"info\":{{\"id\":\"ses_1\",\"title\":\"{title}\"}}}}')"
    )
}

/// An event about the message `msg_{n}`.
fn message(seq: u32, n: u32) -> String {
    format!(
        "INSERT INTO event VALUES ('evt_{seq}', 'ses_1', {seq}, 'message.updated.1', '{{\"info\":{{\"id\":\"msg_{n}\",\"role\":\"user\"}}}}')"
    )
}

/// The titles and the texts of a tape, in their order.
fn story(tape: &[Value]) -> Vec<&str> {
    let told = |event| {
        let event: &Value = event;
        event["title"].as_str().or(event["text"].as_str())
    };
    tape.iter().filter_map(told).collect()
}

#[test]
fn a_title_that_was_replaced_stands_at_its_place() {
    let sql = [
        EVENTS.to_owned(),
        titled(
            1,
            "session.created.1",
            "New session - 2026-11-28T13:12:54.164Z",
        ),
        titled(2, "session.updated.1", "First \\\"one\\\""),
        message(3, 1),
        titled(4, "session.updated.1", "First \\\"one\\\""),
        titled(5, "session.updated.1", "Second"),
        message(6, 2),
        message(7, 1),
        titled(8, "session.updated.1", "Title"),
    ];
    let (_directory, path) = database(&sql.join(";"));
    let tape = tape_of(open(&path).as_ref(), "ses_1", Policy::Strict).unwrap();
    assert_eq!(
        story(&tape),
        [
            "First \"one\"",
            "the prompt",
            "Second",
            "the answer",
            "Title"
        ]
    );
}

#[test]
fn one_title_stands_at_the_beginning() {
    let sql = [
        EVENTS.to_owned(),
        titled(
            1,
            "session.created.1",
            "New session - 2026-11-28T13:12:54.164Z",
        ),
        message(2, 1),
        titled(3, "session.updated.1", "Title"),
    ];
    let (_directory, path) = database(&sql.join(";"));
    let tape = tape_of(open(&path).as_ref(), "ses_1", Policy::Strict).unwrap();
    assert_eq!(story(&tape), ["Title", "the prompt", "the answer"]);
    // The export is that of the harness.
    let connection = Connection::open(&path).unwrap();
    connection.execute("DROP TABLE event", []).unwrap();
    let without = tape_of(open(&path).as_ref(), "ses_1", Policy::Strict).unwrap();
    assert_eq!(tape, without);
}

#[test]
fn what_the_user_did_with_the_session_stands_at_its_end() {
    let info = r#"{"id":"ses_1","version":"1.18.34","share":{"url":"https://a/b"},"time":{"created":1000,"archived":3000}}"#;
    let message = r#"{"info":{"id":"msg_1","role":"user","time":{"created":1001}},"parts":[{"type":"text","text":"go"}]}"#;
    let text = format!(r#"{{"info":{info},"messages":[{message}]}}"#);
    let tape = convert(&text, SideInfo::default(), Policy::Permissive).unwrap();
    let end = &tape[tape.len() - 3..tape.len() - 1];
    let names = [&end[0]["name"], &end[1]["name"], &end[1]["t"]];
    assert_eq!(names, ["share", "archived", "1970-01-01T00:00:03.000Z"]);
}
