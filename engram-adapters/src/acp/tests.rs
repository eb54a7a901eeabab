//! Connections that no fixture shows: several sessions, questions, cancellations, history, methods that nobody knows.

use engram_core::error::AdapterError;
use engram_core::pipeline::{Input, Options};
use engram_core::policy::Policy;
use serde_json::{Value, json};

pub(super) fn convert(text: &str, policy: Policy) -> Result<Vec<Value>, AdapterError> {
    let options = Options {
        policy,
        ..Options::default()
    };
    let mut tape = Vec::new();
    crate::ingest(
        Input::new(text.as_bytes(), options.limits),
        &options,
        &mut engram_core::tape::JsonLines::new(&mut tape),
    )?;
    Ok(String::from_utf8(tape)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect())
}

/// A log of these messages, behind the beginning of a session `s`. Those from the client are marked.
pub(super) fn log(messages: &[(bool, Value)]) -> String {
    let begin = [
        (
            true,
            json!({"id": 1, "method": "initialize", "params": {"protocolVersion": 1}}),
        ),
        (
            false,
            json!({"id": 1, "result": {"protocolVersion": 1, "agentInfo": {"name": "a", "version": "2"}}}),
        ),
        (
            true,
            json!({"id": 2, "method": "session/new", "params": {"cwd": "/p", "mcpServers": []}}),
        ),
        (false, json!({"id": 2, "result": {"sessionId": "s"}})),
    ];
    let line = |(n, (is_out, message)): (usize, &(bool, Value))| {
        let mut message = message.clone();
        message["jsonrpc"] = "2.0".into();
        let dir = if *is_out { "out" } else { "in" };
        format!("{{\"dir\":\"{dir}\",\"t\":1795900441.{n:06},\"m\":{message}}}\n")
    };
    begin.iter().chain(messages).enumerate().map(line).collect()
}

pub(super) fn update(session: &str, update: Value) -> (bool, Value) {
    let params = json!({"sessionId": session, "update": update});
    (false, json!({"method": "session/update", "params": params}))
}

pub(super) fn prompt(id: u64, session: &str, text: &str) -> (bool, Value) {
    let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]});
    (
        true,
        json!({"id": id, "method": "session/prompt", "params": params}),
    )
}

fn chunk(session: &str, kind: &str, text: &str) -> (bool, Value) {
    let content = json!({"type": "text", "text": text});
    update(session, json!({"sessionUpdate": kind, "content": content}))
}

pub(super) fn events<'t>(tape: &'t [Value], k: &str) -> Vec<&'t Value> {
    let is = |event: &&Value| event["k"] == k || (event["k"] == "meta" && event["label"] == k);
    tape.iter().filter(is).collect()
}

#[test]
fn sessions_of_one_connection_are_apart() {
    let second =
        json!({"id": 5, "method": "session/new", "params": {"cwd": "/q", "mcpServers": []}});
    let messages = [
        (true, second),
        (false, json!({"id": 5, "result": {"sessionId": "r"}})),
        prompt(6, "s", "one"),
        prompt(7, "r", "two"),
        chunk("s", "agent_message_chunk", "an"),
        chunk("r", "agent_message_chunk", "other"),
        chunk("s", "agent_message_chunk", "swer"),
        (
            false,
            json!({"id": 7, "result": {"stopReason": "end_turn"}}),
        ),
        (
            false,
            json!({"id": 6, "result": {"stopReason": "end_turn"}}),
        ),
    ];
    let tape = convert(&log(&messages), Policy::Strict).unwrap();
    let of = |k: &str| -> Vec<(String, String)> {
        let pair = |event: &&Value| {
            let text = event["text"]
                .as_str()
                .or(event["cwd"].as_str())
                .unwrap_or("-");
            (
                event["source"]["session_id"].as_str().unwrap().to_owned(),
                text.to_owned(),
            )
        };
        events(&tape, k).iter().map(pair).collect()
    };
    let pairs = |list: &[(&str, &str)]| -> Vec<(String, String)> {
        let owned = |(one, other): &(&str, &str)| (one.to_string(), other.to_string());
        list.iter().map(owned).collect()
    };
    assert_eq!(of("msg.out"), pairs(&[("s", "answer"), ("r", "other")]));
    assert_eq!(of("msg.in"), pairs(&[("s", "one"), ("r", "two")]));
    assert_eq!(
        of("session"),
        pairs(&[("s", "/p"), ("s", "-"), ("r", "/q"), ("r", "-")])
    );
}

#[test]
fn a_call_that_the_person_denied_is_denied() {
    let call = |more: Value| {
        let mut call = json!({"toolCallId": "c"});
        call.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        call
    };
    let options = json!([
        {"optionId": "y", "name": "Yes", "kind": "allow_once"},
        {"optionId": "n", "name": "No", "kind": "reject_once"},
    ]);
    let question = json!({"sessionId": "s", "toolCall": call(json!({})), "options": options});
    let diff = json!([{"type": "diff", "path": "/p/a", "oldText": "x", "newText": "y"}]);
    let messages = [
        prompt(3, "s", "go"),
        update(
            "s",
            call(
                json!({"sessionUpdate": "tool_call", "title": "Edit", "kind": "edit", "rawInput": {"path": "/p/a"}, "content": diff}),
            ),
        ),
        (
            false,
            json!({"id": 0, "method": "session/request_permission", "params": question}),
        ),
        (
            true,
            json!({"id": 0, "result": {"outcome": {"outcome": "selected", "optionId": "n"}}}),
        ),
        update(
            "s",
            call(
                json!({"sessionUpdate": "tool_call_update", "status": "failed", "rawOutput": "no"}),
            ),
        ),
        (
            false,
            json!({"id": 3, "result": {"stopReason": "end_turn"}}),
        ),
    ];
    let tape = convert(&log(&messages), Policy::Strict).unwrap();
    let decisions: Vec<&Value> = events(&tape, "permission")
        .iter()
        .map(|event| &event["decision"])
        .collect();
    assert_eq!(decisions, ["ask", "deny"]);
    let result = events(&tape, "tool.result")[0];
    assert_eq!(
        (&result["status"], &result["stderr"]),
        (&"denied".into(), &"no".into())
    );
    assert!(events(&tape, "code.edit").is_empty());
}

#[test]
fn a_change_of_a_completed_call_is_an_edit_of_a_snippet() {
    let diff = json!([{"type": "diff", "path": "/p/a", "oldText": "x\n", "newText": "y\nz\n"}]);
    let messages = [
        update(
            "s",
            json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "Edit", "kind": "edit", "content": []}),
        ),
        update(
            "s",
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "title": "Editing /p/a", "rawInput": {"path": "/p/a"}, "content": diff}),
        ),
        update(
            "s",
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed", "content": [{"type": "content", "content": {"type": "text", "text": "done"}}]}),
        ),
    ];
    let tape = convert(&log(&messages), Policy::Strict).unwrap();
    let call = events(&tape, "tool.call")[0];
    assert_eq!(
        (&call["tool"], &call["origin"]["line"]),
        (&"Edit".into(), &6.into())
    );
    let edit = events(&tape, "code.edit")[0];
    assert_eq!(
        (&edit["basis"], &edit["before_lines"], &edit["after_lines"]),
        (&"snippet".into(), &1.into(), &2.into())
    );
    assert!(edit.get("file_after_hash").is_none() && edit.get("after_range").is_none());
    assert_eq!(events(&tape, "tool.result")[0]["stdout"], "done");
}

#[test]
fn a_cancelled_turn_is_an_interrupt_at_its_end() {
    let cancel = (
        true,
        json!({"method": "session/cancel", "params": {"sessionId": "s"}}),
    );
    let answer = (
        false,
        json!({"id": 3, "result": {"stopReason": "cancelled"}}),
    );
    let of = |messages: &[(bool, Value)]| {
        let tape = convert(&log(messages), Policy::Strict).unwrap();
        let interrupts = events(&tape, "interrupt");
        interrupts
            .iter()
            .map(|event| event["origin"]["line"].as_u64())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        of(&[prompt(3, "s", "go"), cancel.clone(), answer]),
        [Some(7)]
    );
    assert_eq!(of(&[prompt(3, "s", "go"), cancel]), [Some(6)]);
}

#[test]
fn history_of_a_loaded_session_is_replay() {
    let load = json!({"sessionId": "old", "cwd": "/p", "mcpServers": []});
    let messages = [
        (
            true,
            json!({"id": 3, "method": "session/load", "params": load}),
        ),
        chunk("old", "user_message_chunk", "before"),
        chunk("old", "agent_message_chunk", "answer"),
        (false, json!({"id": 3, "result": null})),
        prompt(4, "old", "now"),
        chunk("old", "user_message_chunk", "now"),
        (
            false,
            json!({"id": 4, "result": {"stopReason": "end_turn"}}),
        ),
    ];
    let tape = convert(&log(&messages), Policy::Strict).unwrap();
    let prompts: Vec<_> = events(&tape, "msg.in")
        .iter()
        .map(|event| (&event["text"], &event["replay"]))
        .collect();
    assert_eq!(
        prompts,
        [
            (&"before".into(), &true.into()),
            (&"now".into(), &Value::Null)
        ]
    );
    assert_eq!(events(&tape, "msg.out")[0]["replay"], true);
}

#[test]
fn a_method_that_nobody_knows_is_kept() {
    let own = (
        false,
        json!({"method": "_own/thing", "params": {"a": "what an agent says"}}),
    );
    let unknown = (
        false,
        json!({"method": "thing/unknown", "params": {"a": "b"}}),
    );
    let tape = convert(&log(std::slice::from_ref(&own)), Policy::Strict).unwrap();
    let names: Vec<&Value> = events(&tape, "system")
        .iter()
        .map(|event| &event["name"])
        .collect();
    assert!(names.contains(&&"_own/thing".into()), "{names:?}");
    let error = convert(&log(std::slice::from_ref(&unknown)), Policy::Strict).unwrap_err();
    assert_eq!(error.code.as_str(), "unrecognized_record");
    let tape = convert(&log(&[unknown]), Policy::Permissive).unwrap();
    assert_eq!(events(&tape, "unrecognized")[0]["name"], "thing/unknown");
}

#[test]
fn a_text_that_was_redacted_has_no_hash() {
    let header = r#"{"log":"engram-acp","version":1,"engram":"0.1.0","t":1795900440.5,"cwd":"/p","command":["a"],"redacted":true}"#;
    let write = |content: &str| {
        let messages = [
            update(
                "s",
                json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "Write", "kind": "edit", "rawInput": {"path": "/p/a", "content": content}, "locations": [{"path": "/p/a"}]}),
            ),
            update(
                "s",
                json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed"}),
            ),
        ];
        let text = format!("{header}\n{}", log(&messages));
        let tape = convert(&text, Policy::Strict).unwrap();
        let edit = events(&tape, "code.edit")[0].clone();
        (edit["op"].clone(), edit.get("file_after_hash").is_some())
    };
    assert_eq!(write("a\n"), ("create".into(), true));
    assert_eq!(
        write("a [redacted:aws-access-key-id]\n"),
        ("create".into(), false)
    );
}

#[test]
fn a_prompt_has_what_came_with_it() {
    let blocks = json!([
        {"type": "text", "text": "look at "},
        {"type": "resource_link", "uri": "file:///p/a.rs", "name": "a.rs"},
        {"type": "text", "text": " and this"},
        {"type": "resource", "resource": {"uri": "file:///p/b.rs", "text": "fn b() {}"}},
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
    ]);
    let params = json!({"sessionId": "s", "prompt": blocks});
    let messages = [(
        true,
        json!({"id": 3, "method": "session/prompt", "params": params}),
    )];
    let tape = convert(&log(&messages), Policy::Strict).unwrap();
    let prompt = events(&tape, "msg.in")[0];
    assert_eq!(prompt["text"], "look at  and this");
    let names: Vec<_> = prompt["attachments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (&one["name"], &one["bytes"]))
        .collect();
    let expected = [
        (&"file:///p/a.rs".into(), &Value::Null),
        (&"file:///p/b.rs".into(), &9.into()),
        (&Value::Null, &2.into()),
    ];
    assert_eq!(names, expected);
}

#[test]
fn a_line_that_is_there_twice_is_one() {
    let once = log(&[prompt(3, "s", "go")]);
    let last = once.lines().last().unwrap();
    let tape = convert(&format!("{once}{last}\n"), Policy::Strict).unwrap();
    assert_eq!(events(&tape, "msg.in").len(), 1);
    assert_eq!(events(&tape, "tape.stop")[0]["ledger"]["duplicate"], 1);
}

#[test]
fn pieces_that_are_equal_and_of_one_time_are_all_said() {
    let piece = |text: &str| {
        let content = json!({"type": "text", "text": text});
        update(
            "s",
            json!({"sessionUpdate": "agent_message_chunk", "content": content}),
        )
    };
    let once = log(&[prompt(3, "s", "go"), piece("ha")]);
    let last = once.lines().last().unwrap();
    let tape = convert(&format!("{once}{last}\n{last}\n"), Policy::Strict).unwrap();
    assert_eq!(events(&tape, "msg.out")[0]["text"], "hahaha");
}

#[test]
fn an_image_between_pieces_is_said() {
    let image = json!({"sessionUpdate": "agent_message_chunk",
                       "content": {"type": "image", "data": "aGk=", "mimeType": "image/png"}});
    let messages = [
        chunk("s", "agent_message_chunk", "a"),
        update("s", image),
        chunk("s", "agent_message_chunk", "b"),
    ];
    let tape = convert(&log(&messages), Policy::Strict).unwrap();
    let said = events(&tape, "msg.out");
    let texts: Vec<_> = said.iter().map(|said| said["text"].clone()).collect();
    assert_eq!(texts, ["a", "b"]);
    let image = tape
        .iter()
        .find(|event| event["name"] == "content")
        .unwrap();
    let said = image["text"].as_str().unwrap();
    assert!(said.contains("blake3:") && !said.contains("aGk="), "{said}");
}

#[test]
fn a_file_that_is_as_it_was_is_not_read_again() {
    let read = |id: &str, words: &str| {
        let content = json!([{"type": "content", "content": {"type": "text", "text": words}}]);
        let call = json!({"sessionUpdate": "tool_call", "toolCallId": id, "kind": "read", "status": "completed",
                          "locations": [{"path": "/p/a"}], "rawInput": {"file_path": "/p/a"}, "content": content});
        update("s", call)
    };
    let unchanged = "[File a unchanged since last read in this session and still in context.]";
    let messages = [read("c", "a line"), read("d", unchanged)];
    let tape = convert(&log(&messages), Policy::Strict).unwrap();
    assert_eq!(events(&tape, "code.read").len(), 1);
}

#[test]
fn what_is_said_again_or_says_nothing_is_no_event() {
    let usage = || {
        update(
            "s",
            json!({"sessionUpdate": "usage_update", "used": 7, "size": 9}),
        )
    };
    let mode = json!({"sessionId": "s", "modeId": "plan"});
    let messages = [
        usage(),
        usage(),
        (
            true,
            json!({"id": 3, "method": "session/set_mode", "params": mode}),
        ),
        (false, json!({"id": 3, "result": {}})),
    ];
    let tape = convert(&log(&messages), Policy::Strict).unwrap();
    let sessions = events(&tape, "session");
    let tokens = |event: &&&Value| event.get("context_tokens").is_some();
    assert_eq!(sessions.iter().filter(tokens).count(), 1);
    assert_eq!(sessions.last().unwrap()["permission_mode"], "plan");
    let ledger = &events(&tape, "tape.stop")[0]["ledger"];
    assert_eq!(
        (&ledger["duplicate"], &ledger["bookkeeping"]),
        (&1.into(), &0.into())
    );
}

#[test]
fn the_arguments_of_a_call_may_be_in_the_question_alone() {
    let args = json!({"command": "ls"});
    let question = json!({"id": 5, "method": "session/request_permission", "params": {
        "sessionId": "s", "options": [{"optionId": "y", "name": "yes", "kind": "allow_once"}],
        "toolCall": {"toolCallId": "c", "kind": "execute", "rawInput": args}
    }});
    let begin = json!({
        "sessionUpdate": "tool_call", "toolCallId": "c", "title": "Shell", "rawInput": {"cwd": "/p"}, "_meta": {"toolName": "sh"}
    });
    let cancel = json!({"method": "session/cancel", "params": {"sessionId": "s"}});
    let failed =
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "failed"});
    let text = log(&[
        prompt(4, "s", "go"),
        update("s", begin),
        (false, question),
        (true, cancel),
        update("s", failed),
    ]);
    let tape = convert(&text, Policy::Strict).unwrap();
    let calls = events(&tape, "tool.call");
    assert_eq!(calls.len(), 1);
    assert_eq!(
        (&calls[0]["tool"], &calls[0]["args"]),
        (&"sh".into(), &args)
    );
    let asked = tape.iter().find(|event| event["label"] == "permission");
    assert_eq!(asked.unwrap()["tool"], "sh");
    assert_eq!(events(&tape, "tool.result")[0]["status"], "cancelled");
}

#[test]
fn a_call_that_the_agent_only_asks_about_has_its_title() {
    let ask = json!({"toolCallId": "c", "title": "Bash",
                     "content": [{"type": "content", "content": {"type": "text", "text": "Requesting approval to Running: echo x"}}]});
    let params = json!({"sessionId": "s", "options": [{"optionId": "y", "name": "Yes", "kind": "allow_once"}], "toolCall": ask});
    let question = json!({"id": 9, "method": "session/request_permission", "params": params});
    let tape = convert(
        &log(&[prompt(4, "s", "go"), (false, question)]),
        Policy::Strict,
    )
    .unwrap();
    let call = &events(&tape, "tool.call")[0];
    assert_eq!(
        (&call["tool"], &call["kind"]),
        (&"Bash".into(), &"execute".into())
    );
    let asked = tape.iter().find(|event| event["name"] == "asked").unwrap();
    assert_eq!(asked["text"], "Requesting approval to Running: echo x");
}

#[test]
fn the_lines_of_a_fork_are_of_the_session_that_the_answer_names() {
    let fork = json!({"id": 4, "method": "session/fork", "params": {"sessionId": "s", "cwd": "/p", "mcpServers": []}});
    let messages = [
        (true, fork),
        (false, json!({"id": 4, "result": {"sessionId": "t"}})),
        prompt(5, "t", "go"),
    ];
    // The lines of the other session, which the same connection began, are not of this tape.
    let of_fork = |line: &str| match line.contains(r#""id":2,"#) {
        true => String::new(),
        false => line.to_owned(),
    };
    let text: Vec<String> = log(&messages).lines().map(of_fork).collect();
    let tape = convert(&text.join("\n"), Policy::Strict).unwrap();
    assert!(
        tape.iter()
            .all(|event| event["source"]["session_id"] == "t"),
        "{tape:?}"
    );
    assert!(tape.iter().any(|event| event["fork_of"] == "s"));
}

#[test]
fn a_fork_that_the_agent_refuses_is_no_fork_and_the_history_of_one_is_replay() {
    let fork = |id: u64| json!({"id": id, "method": "session/fork", "params": {"sessionId": "s", "cwd": "/p", "mcpServers": []}});
    let messages = [
        (true, fork(3)),
        (
            false,
            json!({"id": 3, "error": {"code": -32601, "message": "Method not found"}}),
        ),
        (true, fork(4)),
        chunk("t", "user_message_chunk", "before"),
        (false, json!({"id": 4, "result": {"sessionId": "t"}})),
        prompt(5, "t", "now"),
    ];
    let tape = convert(&log(&messages), Policy::Strict).unwrap();
    let prompts = events(&tape, "msg.in");
    let replays: Vec<_> = prompts.iter().map(|prompt| &prompt["replay"]).collect();
    assert_eq!(replays, [&json!(true), &Value::Null]);
    let forks: Vec<_> = tape
        .iter()
        .filter(|event| event.get("fork_of").is_some())
        .collect();
    let [fork] = forks.as_slice() else {
        panic!("{forks:?}")
    };
    assert_eq!(
        (&fork["source"]["session_id"], &fork["fork_of"]),
        (&json!("t"), &json!("s"))
    );
}

/// As Vibe 3.0.3 sends it: the size of the context has the tokens of the session so far, also of connections before this one.
#[test]
fn tokens_of_a_session_so_far_give_those_of_each_response() {
    let size = |prompt: u64, output: u64| {
        let totals = json!({"steps": 1, "promptTokens": prompt, "completionTokens": output, "cachedTokens": 0, "totalTokens": prompt + output});
        update(
            "s",
            json!({"sessionUpdate": "usage_update", "used": prompt, "size": 9000, "_meta": totals}),
        )
    };
    let load = json!({"id": 3, "method": "session/load", "params": {"sessionId": "s", "cwd": "/p", "mcpServers": []}});
    let messages = [
        (true, load),
        size(500, 50),
        (false, json!({"id": 3, "result": {}})),
        prompt(4, "s", "a"),
        size(600, 60),
        size(720, 70),
        size(720, 70),
        (
            false,
            json!({"id": 4, "result": {"stopReason": "end_turn", "usage": {"inputTokens": 720, "outputTokens": 70, "totalTokens": 790}}}),
        ),
    ];
    let tape = convert(&log(&messages), Policy::Strict).unwrap();
    let usages: Vec<_> = tape
        .iter()
        .filter(|event| event["label"] == "usage")
        .map(|event| (&event["tokens"]["input"], &event["tokens"]["output"]))
        .collect();
    assert_eq!(
        usages,
        [(&json!(100), &json!(10)), (&json!(120), &json!(10))]
    );
}

#[test]
fn an_agent_that_adds_up_tokens_has_those_of_each_turn() {
    let usage = |id: u64, input: u64| {
        let usage = json!({"inputTokens": input, "outputTokens": 0, "totalTokens": input});
        let result = json!({"stopReason": "end_turn", "usage": usage});
        (false, json!({"id": id, "result": result}))
    };
    let text = log(&[
        prompt(4, "s", "a"),
        usage(4, 500),
        prompt(5, "s", "b"),
        usage(5, 600),
    ]);
    let text = text.replace(r#""name":"a","version""#, r#""name":"Copilot","version""#);
    let tape = convert(&text, Policy::Strict).unwrap();
    let inputs: Vec<_> = tape
        .iter()
        .filter_map(|event| event["tokens"]["input"].as_u64())
        .collect();
    assert_eq!(inputs, [500, 100]);
}
