//! The model server, spoken to as a harness does.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engram_recorder::scenario::Scenario;
use engram_recorder::server::{Server, Stage};
use engram_recorder::tools::{OpTable, Place};
use engram_recorder::truth::Truth;
use serde_json::{Value, json};

struct Served {
    stage: Arc<Stage>,
    server: Server,
    _project: tempfile::TempDir,
}

fn serve(threads: Value) -> Served {
    let prompt = threads
        .as_object()
        .unwrap()
        .keys()
        .map(|key| format!("[[{key}]]"))
        .collect::<String>();
    let scenario: Scenario =
        serde_json::from_value(json!({"id": "t", "about": "t", "shows": ["t"], "runs": [{"prompt": prompt}], "threads": threads})).unwrap();
    let ops: OpTable = serde_json::from_value(
        json!({"run": [{"tool": "shell", "args": {"command": "{command}"}}]}),
    )
    .unwrap();
    let project = tempfile::tempdir().unwrap();
    let place = Place {
        project: "/p".to_owned(),
        home: "/h".to_owned(),
    };
    let stage = Arc::new(Stage::new(&scenario, ops, place, project.path().to_owned()));
    let server = Server::start(
        Arc::clone(&stage),
        vec![("api.json".to_owned(), json!({"fixed": true}))],
    )
    .unwrap();
    Served {
        stage,
        server,
        _project: project,
    }
}

/// Status, body, and whether the body came to its end.
fn post(port: u16, path: &str, body: &Value) -> (u16, String, bool) {
    let mut line = TcpStream::connect(("127.0.0.1", port)).unwrap();
    line.set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let body = body.to_string();
    write!(
        line,
        "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut bytes = Vec::new();
    // A cut is an early end.
    let _ = line.read_to_end(&mut bytes);
    let text = String::from_utf8(bytes).unwrap();
    let (head, rest) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let mut whole = !head.to_lowercase().contains("chunked");
    let (mut out, mut rest) = (String::new(), rest);
    if whole {
        return (status, rest.to_owned(), true);
    }
    while let Some((size, more)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap_or(0);
        if size == 0 {
            whole = true;
            break;
        }
        out.push_str(&more[..size.min(more.len())]);
        rest = more.get(size + 2..).unwrap_or_default();
    }
    (status, out, whole)
}

const DIALECTS: [&str; 4] = [
    "/v1/messages",
    "/v1/responses",
    "/v1/chat/completions",
    "/v1beta/models/m:streamGenerateContent",
];

fn request(path: &str, text: &str, stream: bool) -> (String, Value) {
    let parameters = json!({"type": "object", "properties": {"command": {}}});
    let function = json!({"name": "shell", "parameters": parameters});
    let body = match path {
        "/v1/messages" => {
            json!({"tools": [{"name": "shell", "input_schema": parameters}], "messages": [{"role": "user", "content": text}]})
        }
        "/v1/responses" => {
            json!({"tools": [{"type": "function", "name": "shell", "parameters": parameters}], "input": [{"role": "user", "content": [{"type": "input_text", "text": text}]}]})
        }
        "/v1/chat/completions" => {
            json!({"tools": [{"type": "function", "function": function}], "messages": [{"role": "user", "content": text}]})
        }
        _ => {
            json!({"tools": [{"functionDeclarations": [function]}], "contents": [{"role": "user", "parts": [{"text": text}]}]})
        }
    };
    let mut body = body;
    if !path.contains("enerate") {
        (body["stream"], body["model"]) = (json!(stream), json!("m"));
    }
    (
        if stream {
            path.to_owned()
        } else {
            path.replace("streamGenerate", "generate")
        },
        body,
    )
}

/// Every text in a body, joined: streams cut texts into pieces.
fn texts(body: &str) -> String {
    let values: Vec<Value> = match serde_json::from_str(body) {
        Ok(whole) => vec![whole],
        Err(_) => body
            .lines()
            .filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok())
            .collect(),
    };
    let mut out = String::new();
    for value in values {
        let is_final = [
            "response.completed",
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.created",
        ]
        .contains(&value["type"].as_str().unwrap_or_default());
        if !is_final {
            collect(&value, &mut out);
        }
    }
    out
}

fn collect(value: &Value, out: &mut String) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                match value.as_str() {
                    Some(text)
                        if ["text", "delta", "content"].contains(&name.as_str())
                            && members.get("thought").is_none() =>
                    {
                        out.push_str(text)
                    }
                    _ => collect(value, out),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, out)),
        _ => {}
    }
}

#[test]
fn four_dialects_stream_and_answer_plain() {
    for path in DIALECTS {
        for stream in [true, false] {
            let served = serve(
                json!({"main": [[{"say": "one two three, héllo 😀"}, {"run": {"command": "ls"}}]]}),
            );
            let (path, body) = request(path, "go [[main]]", stream);
            let (status, body, whole) = post(served.server.port, &path, &body);
            assert!(status == 200 && whole, "{path} {stream}: {status} {body}");
            assert!(
                texts(&body).contains("one two three, héllo 😀"),
                "{path} {stream}: {body}"
            );
            assert!(body.contains("ls"), "{path} {stream}: {body}");
            let truth: Truth = served.stage.truth();
            assert_eq!(truth.calls[0].args, json!({"command": "ls"}));
            match &truth.calls[0].id {
                Some(id) => assert!(body.contains(id.as_str()), "{path}: {id}"),
                None => assert!(path.contains("enerate")),
            }
            assert!(!truth.usage[0].cut_off, "{path} {stream}");
            assert_eq!(
                (truth.usage.len(), truth.answers[0].text.as_str()),
                (1, "one two three, héllo 😀")
            );
        }
    }
}

#[test]
fn errors_cuts_and_delays_reach_the_harness() {
    for path in DIALECTS {
        let served = serve(json!({"main": [
            [{"error": {"status": 529, "kind": "overloaded_error", "message": "too much"}}],
            [{"say": "cut here"}, {"cut": true}],
            [{"say": "slow"}, {"stall": {"ms": 400}}],
        ]}));
        let (path, body) = request(path, "go [[main]]", true);
        let (status, text, _) = post(served.server.port, &path, &body);
        assert!(
            status == 529 && text.contains("too much"),
            "{path}: {status} {text}"
        );
        let (status, text, whole) = post(served.server.port, &path, &body);
        assert!(
            status == 200 && !whole && texts(&text).contains("cut here"),
            "{path}: {status} {text}"
        );
        let begun = Instant::now();
        let (_, _, whole) = post(served.server.port, &path, &body);
        let is_slow = begun.elapsed() >= Duration::from_millis(400);
        // What stalls after its last piece ends late only where something follows.
        assert!(
            whole && (is_slow || path.contains("enerate")),
            "{path}: {:?}",
            begun.elapsed()
        );
        let truth = served.stage.truth();
        let cut: Vec<bool> = truth.usage.iter().map(|counted| counted.cut_off).collect();
        assert_eq!(cut, [true, false], "{path}");
    }
}

#[test]
fn conversations_at_once_get_their_own_answers() {
    let served = serve(
        json!({"one": [[{"say": "first"}, {"pace": {"ms": 50}}]], "two": [[{"say": "second"}, {"pace": {"ms": 50}}]]}),
    );
    let port = served.server.port;
    let threads = ["one", "two"].map(|key| {
        std::thread::spawn(move || {
            let (path, body) = request("/v1/messages", &format!("go [[{key}]]"), true);
            texts(&post(port, &path, &body).1)
        })
    });
    let [one, two] = threads.map(|thread| thread.join().unwrap());
    assert!(
        one.contains("first") && two.contains("second"),
        "{one} {two}"
    );
}

#[test]
fn steps_without_tools_are_skipped_and_noted() {
    let served = serve(json!({"main": [[{"fly": {}}], [{"say": "walked"}]]}));
    let (path, body) = request("/v1/messages", "go [[main]]", true);
    assert!(texts(&post(served.server.port, &path, &body).1).contains("walked"));
    assert_eq!(served.stage.truth().skipped_steps, ["main#0 fly"]);
}

#[test]
fn documents_and_requests_without_tools_are_no_turns() {
    let served = serve(json!({"main": [[{"say": "never"}]]}));
    let (_, text, _) = post(served.server.port, "/api.json", &json!({}));
    assert!(text.contains("fixed"), "{text}");
    let title =
        json!({"model": "m", "messages": [{"role": "user", "content": "a title for [[main]]"}]});
    assert!(
        !post(served.server.port, "/v1/messages", &title)
            .1
            .contains("never")
    );
    assert_eq!(served.stage.truth().usage[0].kind, "aux");
    assert_eq!(served.stage.begun("main"), 0);
}

#[test]
fn changes_belong_to_the_calls_that_ran() {
    let served = serve(
        json!({"main": [[{"run": {"command": "one"}}, {"run": {"command": "two"}}], [{"say": "done"}]]}),
    );
    let (path, body) = request("/v1/messages", "go [[main]]", false);
    post(served.server.port, &path, &body);
    std::fs::write(served._project.path().join("new.txt"), "new\n").unwrap();
    let calls = served.stage.truth().calls;
    let result = |at: usize| json!({"type": "tool_result", "tool_use_id": calls[at].id, "content": "ok", "is_error": at == 1});
    let mut next = body.clone();
    next["messages"]
        .as_array_mut()
        .unwrap()
        .push(json!({"role": "assistant", "content": []}));
    next["messages"]
        .as_array_mut()
        .unwrap()
        .push(json!({"role": "user", "content": [result(0), result(1)]}));
    post(served.server.port, &path, &next);
    let truth = served.stage.truth();
    assert_eq!(
        (
            truth.edits.len(),
            truth.edits[0].file.as_str(),
            truth.edits[0].call_ids.len()
        ),
        (1, "new.txt", 2)
    );
    assert_eq!(truth.edits[0].calls, [0, 1], "where the calls are");
    assert_eq!(truth.edits[0].after.as_deref(), Some("new\n"));
    assert_eq!(
        truth
            .results
            .iter()
            .map(|result| result.is_error)
            .collect::<Vec<_>>(),
        [Some(false), Some(true)]
    );
}

/// A request of Claude Code with a result, or with none.
fn with_result(served: &Served, result: Option<Value>) {
    let (path, mut body) = request("/v1/messages", "[[main]]", false);
    if let Some(mut result) = result {
        result["type"] = json!("tool_result");
        result["tool_use_id"] = served.stage.truth().calls[0].id.clone().into();
        let messages = body["messages"].as_array_mut().unwrap();
        messages.push(json!({"role": "user", "content": [result]}));
    }
    assert_eq!(post(served.server.port, &path, &body).0, 200);
}

#[test]
fn what_a_person_takes_back_after_a_turn_is_no_change_of_a_call() {
    let served = serve(json!({"main": [[{"run": {"command": "x"}}], [{"say": "done"}]]}));
    let file = served._project.path().join("a.txt");
    with_result(&served, None);
    std::fs::write(&file, "new").unwrap();
    with_result(&served, Some(json!({"content": "ran"})));
    std::fs::remove_file(&file).unwrap();
    served.stage.leave();
    let edits = served.stage.truth().edits;
    let calls: Vec<usize> = edits.iter().map(|edit| edit.call_ids.len()).collect();
    assert_eq!(calls, [1, 0]);
}

#[test]
fn call_may_have_two_outcomes() {
    let served = serve(json!({"main": [[{"run": {"command": "x"}}], [{"say": "done"}]]}));
    with_result(&served, None);
    for (text, is_error) in [("lost", true), ("ran", false), ("ran, cleared", false)] {
        with_result(
            &served,
            Some(json!({"content": text, "is_error": is_error})),
        );
    }
    let results = served.stage.truth().results;
    let texts: Vec<&str> = results.iter().map(|result| result.text.as_str()).collect();
    assert_eq!(texts, ["lost", "ran"]);
}
