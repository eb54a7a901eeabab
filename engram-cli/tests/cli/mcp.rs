//! `engram mcp`: what a client of the Model Context Protocol gets.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::homes::{at_home, home};
use crate::{claude_file, text};

/// Sends requests to a server in this home, and returns the answers by the order of the requests. Before each request stands a line that no request is.
fn answers(home: &Path, requests: &[(&str, Value)]) -> Vec<Value> {
    let mut child = at_home(home, &["mcp"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut send = |message: &dyn std::fmt::Display| writeln!(stdin, "{message}").unwrap();
    let client = json!({"name": "test", "version": "1"});
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    let first = ("initialize", hello);
    let mut found = Vec::new();
    for (id, (method, params)) in [first].iter().chain(requests).enumerate() {
        send(&"no message");
        let fault: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(
            (&fault["id"], &fault["error"]["code"]),
            (&Value::Null, &json!(-32700))
        );
        send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let answer: Value = loop {
            let line: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
            if line["id"] == id {
                break line;
            }
        };
        found.push(answer);
        if id == 0 {
            send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
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
    let home = tempfile::tempdir().unwrap();
    let found = answers(
        home.path(),
        &[
            ("tools/list", json!({})),
            call("show", json!({"event": event, "before": 1})),
            call("show", json!({"event": "nothing#5"})),
            call("show", json!({"event": event, "index": "/"})),
            call("delete", json!({})),
        ],
    );
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

/// The lines of an answer of a tool.
fn lines(answer: &Value) -> Vec<Value> {
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(answer["result"]["isError"], false, "{text}");
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn lists_have_pages_and_hits_say_where_they_are_from() {
    let home = home();
    let found = answers(
        home.path(),
        &[
            call("list", json!({})),
            call("list", json!({"limit": 1})),
            call("list", json!({"skip": 1, "limit": 1})),
            call("files", json!({"limit": 1})),
            call("stats", json!({"by": "harness", "limit": 1, "skip": 1})),
            call(
                "grep",
                json!({"pattern": "LAB", "kind": "msg.in", "limit": 1}),
            ),
            call("list", json!({"since": "2100-01-01"})),
        ],
    );
    let [all, first, second, files, stats, hits, none] =
        [1, 2, 3, 4, 5, 6, 7].map(|at| lines(&found[at]));
    let count = all.len() - 1;
    assert_eq!(
        all[count],
        json!({"k": "end", "returned": count, "total": count})
    );
    assert_eq!(
        first,
        [
            all[0].clone(),
            json!({"k": "end", "returned": 1, "total": count, "next": 1})
        ]
    );
    assert_eq!(second[0], all[1]);
    assert!(
        all[0]["harness"].is_string() && all[0]["input_hash"].is_null(),
        "{}",
        all[0]
    );
    assert!(
        files[0]["file"].is_string() && files[1]["total"].is_u64(),
        "{files:?}"
    );
    assert!(
        stats[0]["harness"].is_string() && stats[1]["total"].is_u64(),
        "{stats:?}"
    );
    assert!(
        ["harness", "session", "t"]
            .iter()
            .all(|name| hits[0][name].is_string()),
        "{hits:?}"
    );
    assert_eq!(none, [json!({"k": "end", "returned": 0, "total": 0})]);
}

#[test]
fn what_a_tool_says_of_a_failure_names_no_option() {
    let home = home();
    let schema = answers(home.path(), &[("tools/list", json!({}))]);
    let tools = schema[1]["result"]["tools"].as_array().unwrap();
    let (mut asked, mut requests) = (Vec::new(), Vec::new());
    for tool in tools {
        let name = tool["name"].as_str().unwrap();
        let properties = tool["inputSchema"]["properties"].as_object().unwrap();
        let needed = tool["inputSchema"]["required"].as_array().unwrap();
        for (argument, about) in properties {
            let values = match about["type"].as_str().unwrap() {
                "string" => vec![json!("( nonsense"), json!("-x"), json!(3)],
                "integer" => vec![json!(u64::MAX), json!(-1)],
                _ => vec![json!(true), json!("yes")],
            };
            for value in values {
                let mut arguments = json!({argument: value});
                for other in needed
                    .iter()
                    .filter_map(Value::as_str)
                    .filter(|other| other != argument)
                {
                    arguments[other] = json!("nothing");
                }
                asked.push(format!("{name} {arguments}"));
                requests.push(("tools/call", json!({"name": name, "arguments": arguments})));
            }
        }
        asked.push(name.to_owned());
        requests.push(("tools/call", json!({"name": name, "arguments": {}})));
    }
    let pair = json!({"file": "a.rs", "text": "b"});
    requests.push(("tools/call", json!({"name": "explain", "arguments": pair})));
    asked.push("explain with a file and a text".to_owned());
    let mut failed = 0;
    for (asked, answer) in asked.iter().zip(&answers(home.path(), &requests)[1..]) {
        let text = answer["result"]["content"][0]["text"]
            .as_str()
            .unwrap_or_else(|| panic!("{asked}: {answer}"));
        if answer["result"]["isError"] == true {
            failed += 1;
            assert!(!text.is_empty() && !text.contains("--"), "{asked}: {text}");
            assert!(
                !text.contains("Usage") && !text.contains('\n'),
                "{asked}: {text}"
            );
        }
    }
    assert!(failed > tools.len(), "{failed}");
}
