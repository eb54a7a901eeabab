//! `engram mcp`: what a client of the Model Context Protocol gets.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::{claude_file, text};

/// Sends requests to a server, and returns the answers by the order of the requests.
fn answers(requests: &[(&str, Value)]) -> Vec<Value> {
    let home = tempfile::tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_engram"))
        .arg("mcp")
        .env("HOME", home.path())
        .env("XDG_DATA_HOME", home.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut send = |message: Value| writeln!(stdin, "{message}").unwrap();
    let client = json!({"name": "test", "version": "1"});
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    let first = ("initialize", hello);
    let mut found = Vec::new();
    for (id, (method, params)) in [first].iter().chain(requests).enumerate() {
        send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let answer: Value = loop {
            let line: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
            if line["id"] == id {
                break line;
            }
        };
        found.push(answer);
        if id == 0 {
            send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        }
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
    found
}

fn call(tool: &str, arguments: Value) -> (&'static str, Value) {
    ("tools/call", json!({"name": tool, "arguments": arguments}))
}

#[test]
fn a_client_lists_the_tools_and_asks_them() {
    let event = format!("{}#5", text(&claude_file()));
    let found = answers(&[
        ("tools/list", json!({})),
        call("show", json!({"event": event, "before": 1})),
        call("show", json!({"event": "nothing#5"})),
        call("show", json!({"event": event, "index": "/"})),
        call("delete", json!({})),
    ]);
    assert_eq!(found[0]["result"]["serverInfo"]["name"], "engram");
    let tools = found[1]["result"]["tools"].as_array().unwrap();
    assert!(
        tools
            .iter()
            .all(|tool| tool["annotations"]["readOnlyHint"] == true)
    );
    assert!(
        tools.iter().any(|tool| tool["name"] == "explain"),
        "{tools:?}"
    );
    let shown = found[2]["result"]["content"][0]["text"].as_str().unwrap();
    let lines: Vec<Value> = shown
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(
        lines
            .iter()
            .any(|line| line["quoted"] == true && line["event"]["seq"] == 5),
        "{shown}"
    );
    for failed in &found[3..5] {
        assert_eq!(failed["result"]["isError"], true, "{failed}");
    }
    assert!(
        found[5]["error"]["message"]
            .as_str()
            .unwrap()
            .contains("delete"),
        "{}",
        found[5]
    );
}
