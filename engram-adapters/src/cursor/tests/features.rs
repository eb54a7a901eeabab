//! Features that public logs show and no recording has: patches, contents that are text, messages of the harness, editor's sub-agents.

use serde_json::{Value, json};

use super::valid_tape;

/// The events of the tape of these lines, which must hold strictly, too.
fn events(lines: &[Value]) -> Vec<Value> {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let events = valid_tape(&text)
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .collect::<Vec<_>>();
    assert!(
        events[events.len() - 1]["ledger"]["unknown_members"].is_null(),
        "{events:?}"
    );
    events
}

fn of_kind<'e>(events: &'e [Value], kind: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["k"] == kind).collect()
}

fn call(tool: &str, input: &Value) -> Value {
    json!({"role":"assistant","message":{"content":[{"type":"tool_use","name":tool,"input":input}]}})
}

#[test]
fn a_patch_requests_an_edit_for_each_change() {
    let patch = "*** Begin Patch\n*** Update File: src/app.ts\n@@\n-old line\n+new line\n*** Add File: src/new.ts\n+hello\n\
                 *** Delete File: src/gone.ts\n*** Update File: a\n*** Move to: b\n@@\n-x\n+y\n*** End Patch";
    let hunk = json!({"patch":"@@ -1,1 +1,1 @@\n-old\n+new","path":"src/app.ts"});
    for input in [json!({"patch":patch}), json!(patch)] {
        let events = events(&[
            json!({"role":"user","message":{"content":[{"type":"text","text":"go"}]}}),
            call("ApplyPatch", &input),
            call("ApplyPatch", &hunk),
        ]);
        let edits: Vec<String> = of_kind(&events, "code.edit")
            .iter()
            .map(|edit| {
                format!(
                    "{} {} {} {}",
                    edit["op"].as_str().unwrap(),
                    edit["file"].as_str().unwrap(),
                    edit["before_lines"],
                    edit["after_lines"]
                )
            })
            .collect();
        let expected = [
            "update src/app.ts 1 1",
            "create src/new.ts null 1",
            "delete src/gone.ts null null",
            "move a null null",
            "update b 1 1",
            "update src/app.ts 1 1",
        ];
        assert_eq!(edits, expected);
        assert!(
            of_kind(&events, "code.edit")
                .iter()
                .all(|edit| edit["confirmed"] == false && edit["parent"].is_u64())
        );
    }
}

#[test]
fn content_may_be_text_and_an_answer_may_have_reasoning() {
    let events = events(&[
        json!({"role":"user","message":{"content":"<user_query>fix it</user_query>"}}),
        json!({"role":"assistant","message":{"content":[{"type":"thinking","thinking":"it is in line 3"},{"type":"text","text":"It is."}]}}),
        json!({"role":"assistant","message":{"content":"Fixed."}}),
    ]);
    let said: Vec<(&Value, &Value)> = events
        .iter()
        .filter(|event| event["k"] != "meta")
        .map(|event| (&event["text"], &event["channel"]))
        .collect();
    assert_eq!(said[0].0, "fix it");
    assert_eq!(
        said[1..],
        [
            (&json!("it is in line 3"), &json!("reasoning")),
            (&json!("It is."), &Value::Null),
            (&json!("Fixed."), &Value::Null)
        ]
    );
}

fn composer(more: &Value) -> Value {
    let mut composer =
        json!({"_v":16,"composerId":"c","name":"Login","createdAt":1_790_050_000_000_u64});
    composer
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    json!({"store":"composer","id":"c","composer":composer})
}

fn bubble(text: &str, more: &Value) -> Value {
    let mut bubble =
        json!({"_v":3,"type":1,"bubbleId":text,"text":text,"createdAt":"2026-09-22T05:01:00.000Z"});
    bubble
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    json!({"store":"bubble","bubble":bubble})
}

#[test]
fn simulated_messages_of_the_editor_are_the_harness_s() {
    let simulated = json!({"isSimulatedMsg":true,"simulatedMsgReason":3,"simulatedMessageMetadata":{},"startedAtMs":1,"completedAtMs":2,"agentMode":true});
    let events = events(&[
        composer(&json!({})),
        bubble("fix", &json!({"isSimulatedMsg":false})),
        bubble("go on", &simulated),
    ]);
    let by: Vec<&Value> = of_kind(&events, "msg.in")
        .iter()
        .map(|message| &message["by"])
        .collect();
    assert_eq!(by, ["person", "harness"]);
}

#[test]
fn a_conversation_that_another_one_started_is_a_sub_agent_s() {
    let started =
        json!({"subagentInfo":{"parentComposerId":"p","toolCallId":"t","typeName":"explore"}});
    let events = events(&[composer(&started), bubble("look", &json!({}))]);
    assert_eq!(events[0]["source"]["agent_id"], "c");
    let facts = events
        .iter()
        .find(|event| event["label"] == "session")
        .unwrap();
    assert_eq!(
        (
            &facts["parent_session_id"],
            &facts["parent_call_id"],
            &facts["agent"]
        ),
        (&json!("p"), &json!("t"), &json!("explore"))
    );
    assert_eq!(of_kind(&events, "msg.in")[0]["by"], "agent");
}

#[test]
fn a_command_that_took_too_long_was_not_cancelled() {
    let capture = "fixtures/cursor/2026.09/stream_shell/session/stream_shell.jsonl";
    let capture = std::fs::read_to_string(super::root().join(capture)).unwrap();
    let status = |reason: &str| {
        let stated = "\"abortReason\":\"SHELL_ABORT_REASON_USER_ABORT\"";
        let lines: Vec<Value> = capture
            .replace(stated, &format!("\"abortReason\":{reason}"))
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let events = events(&lines);
        let results = of_kind(&events, "tool.result").into_iter();
        let mut stopped = results.filter(|result| result["exit"] == 130);
        stopped.next().unwrap()["status"].clone()
    };
    assert_eq!(status("\"SHELL_ABORT_REASON_USER_ABORT\""), "cancelled");
    assert_eq!(status("\"SHELL_ABORT_REASON_TIMEOUT\""), "error");
    // As a store has it.
    assert_eq!([status("1"), status("2")], ["cancelled", "error"]);
}

#[test]
fn a_chat_of_which_nothing_is_stated_gives_no_event() {
    let chat = json!({"store": "chat", "meta": {"agentId": "a"}});
    let agent = json!({"store": "chat_agent", "agent": {"agentId": "a", "cwd": "/w", "createdAt": 1795401651709u64}});
    let events = events(&[chat, agent]);
    let sessions: Vec<_> = events
        .iter()
        .filter(|event| event["label"] == "session")
        .collect();
    assert_eq!(sessions.len(), 1);
    assert_eq!(sessions[0]["cwd"], "/w");
}

#[test]
fn the_arguments_name_the_server_of_a_call() {
    let input = json!({"server": "desk", "toolName": "notes", "arguments": {}});
    let prompt = json!({"role":"user","message":{"content":[{"type":"text","text":"go"}]}});
    let events = events(&[prompt, call("CallMcpTool", &input)]);
    assert_eq!(of_kind(&events, "tool.call")[0]["server"], "desk");
}
