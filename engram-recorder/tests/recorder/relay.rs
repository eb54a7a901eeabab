//! The relay, with a provider and a harness that are plain sockets.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use engram_recorder::server::{Provider, Relay, Server};
use serde_json::json;

const KEY: &str = "real-key-of-a-test";
const ASKED: &str = "POST /v1/messages?beta=true HTTP/1.1\r\nhost: x\r\nx-api-key: fake\r\nauthorization: Bearer fake\r\n\
                     anthropic-version: 1\r\ncontent-length: 3\r\nconnection: close\r\n\r\n\"q\"";
const STREAM: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

fn has_curl() -> bool {
    let found = std::process::Command::new("curl").arg("--version").output();
    if found.is_err() {
        println!("skipped: there is no curl");
    }
    found.is_ok()
}

/// Reads until a text has come.
fn read_to(from: &mut impl Read, end: &str) -> String {
    let (mut text, mut piece) = (String::new(), [0; 1024]);
    while !text.contains(end) {
        let length = from.read(&mut piece).unwrap();
        assert!(length > 0, "{text}");
        text.push_str(std::str::from_utf8(&piece[..length]).unwrap());
    }
    text
}

/// A provider that does this with its only request, and a relay to it.
fn relayed<T: Send + 'static>(
    answer: impl FnOnce(TcpStream, String) -> T + Send + 'static,
) -> (Relay, tempfile::TempDir, JoinHandle<T>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let thread = thread::spawn(move || {
        let (mut line, _) = listener.accept().unwrap();
        let asked = read_to(&mut line, "\"q\"");
        answer(line, asked)
    });
    let directory = tempfile::tempdir().unwrap();
    let provider = Provider::new(&url, "x-api-key: ", KEY, 20).unwrap();
    let fixed = vec![("api.json".to_owned(), json!({"fixed": true}))];
    let relay = Relay::start(&directory.path().join("relay"), provider, fixed).unwrap();
    (relay, directory, thread)
}

/// What a harness does: it asks the server on loopback.
fn ask(directory: &tempfile::TempDir, what: &str) -> (Server, TcpStream) {
    let server = Server::to_socket(directory.path().join("relay")).unwrap();
    let mut line = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    line.set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    line.write_all(what.as_bytes()).unwrap();
    (server, line)
}

#[test]
fn first_bytes_arrive_before_the_last_are_sent() {
    if !has_curl() {
        return;
    }
    let (told, seen) = std::sync::mpsc::channel::<()>();
    let (relay, directory, provider) = relayed(move |mut line, asked| {
        line.write_all(format!("{STREAM}data: first\n\n").as_bytes())
            .unwrap();
        // Without the harness's word that the first bytes are there, the last are never sent.
        seen.recv_timeout(Duration::from_secs(20)).unwrap();
        line.write_all(b"data: last\n\n").unwrap();
        asked
    });
    let (_server, mut line) = ask(&directory, ASKED);
    read_to(&mut line, "data: first");
    told.send(()).unwrap();
    read_to(&mut line, "data: last");
    let asked = provider.join().unwrap();
    let (head, _) = asked.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /v1/messages?beta=true "), "{head}");
    assert!(head.contains(&format!("x-api-key: {KEY}\r\n")), "{head}");
    assert!(
        head.contains("anthropic-version: 1") && !head.contains("fake"),
        "{head}"
    );
    let relayed = relay.relayed();
    assert_eq!(
        (relayed.requests, relayed.streamed, relayed.refused),
        (1, 1, None)
    );
}

#[test]
fn only_turns_reach_the_provider() {
    let (relay, directory, _provider) = relayed(|_, _| ());
    for (asked, answer) in [
        (ASKED.replace("messages", "event_logging"), "{}"),
        (
            ASKED.replace("messages?beta=true", "messages/count_tokens"),
            "input_tokens",
        ),
        (ASKED.replace("POST", "GET"), "serves no such path"),
        (
            ASKED.replace("/v1/messages?beta=true", "/api.json"),
            "fixed",
        ),
    ] {
        let mut text = String::new();
        ask(&directory, &asked).1.read_to_string(&mut text).unwrap();
        assert!(text.contains(answer), "{asked} {text}");
    }
    assert_eq!(relay.relayed().requests, 0);
}

#[test]
fn refusal_reaches_the_harness_and_is_kept_without_the_key() {
    if !has_curl() {
        return;
    }
    let (relay, directory, _provider) = relayed(|mut line, _| {
        let body = format!("no access for {KEY}");
        let head = "HTTP/1.1 401 Unauthorized\r\nretry-after: 7\r\nconnection: close\r\n\r\n";
        line.write_all(format!("{head}{body}").as_bytes()).unwrap();
    });
    let mut text = String::new();
    ask(&directory, ASKED).1.read_to_string(&mut text).unwrap();
    assert!(
        text.starts_with("HTTP/1.1 401") && text.contains("retry-after: 7"),
        "{text}"
    );
    assert_eq!(
        relay.relayed().refused.as_deref(),
        Some("401 Unauthorized: no access for ***")
    );
}

#[test]
fn provider_that_is_not_there_is_named_and_one_that_cuts_is_cut() {
    if !has_curl() {
        return;
    }
    let (relay, directory, provider) = relayed(|line, _| drop(line));
    let mut text = String::new();
    ask(&directory, ASKED).1.read_to_string(&mut text).unwrap();
    assert!(
        text.starts_with("HTTP/1.1 502") && text.contains("curl: "),
        "{text}"
    );
    provider.join().unwrap();
    assert!(relay.relayed().refused.unwrap().starts_with("curl: "));
    let (_relay, directory, _provider) = relayed(|mut line, _| {
        let head = STREAM.replace("connection", "content-length: 100\r\nconnection");
        line.write_all(format!("{head}data: first\n\n").as_bytes())
            .unwrap();
    });
    let mut text = String::new();
    ask(&directory, ASKED).1.read_to_string(&mut text).unwrap();
    assert!(
        text.contains("data: first") && !text.ends_with("0\r\n\r\n"),
        "{text}"
    );
}

#[test]
fn relay_that_is_dropped_ends_what_stalls() {
    if !has_curl() {
        return;
    }
    let (relay, directory, provider) = relayed(|mut line, _| {
        line.write_all(format!("{STREAM}data: first\n\n").as_bytes())
            .unwrap();
        line.set_read_timeout(Some(Duration::from_secs(15)))
            .unwrap();
        // The end of the connection, or an error when the time is over.
        line.read(&mut [0]).is_ok_and(|length| length == 0)
    });
    let mut line = UnixStream::connect(directory.path().join("relay")).unwrap();
    line.write_all(ASKED.as_bytes()).unwrap();
    read_to(&mut line, "data: first");
    drop(relay);
    assert!(provider.join().unwrap(), "curl was still there");
}
