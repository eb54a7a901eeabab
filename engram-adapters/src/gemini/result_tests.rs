//! Results of calls: in the call, as a response in a message, masked, and with words of a person beside them.

use engram_core::adapter::{StreamAdapter, convert_str};
use engram_core::audit::audit;
use engram_core::pipeline::Options;
use serde_json::Value;

use super::Gemini;
use super::tests::{HEADER, TIME, events, user};

#[test]
fn a_call_id_that_another_message_used_is_that_of_a_new_call() {
    let call = |text: &str| {
        format!(
            r#"{{"id":"c1","name":"run_shell_command","args":{{"command":"ls"}},"result":[{{"functionResponse":{{"id":"c1","name":"run_shell_command","response":{{"output":"{text}"}}}}}}],"status":"success",{TIME}}}"#
        )
    };
    let turn = |id: &str, calls: &str| {
        format!(
            r#"{{"id":"{id}",{TIME},"type":"gemini","content":"","thoughts":[],"tokens":null,"toolCalls":[{calls}]}}"#
        )
    };
    let (first, second) = (
        turn("m1", &call("one")),
        turn("m2", &format!("{},{}", call("two"), call("three"))),
    );
    let rewritten = second.replace("16.010Z", "17.010Z");
    let events = events(&[&user("a", "go on"), &first, &second, &rewritten]);
    let of_kind = |kind: &str| {
        events
            .iter()
            .filter(|event| event["k"] == kind)
            .collect::<Vec<_>>()
    };
    let calls: Vec<&Value> = of_kind("tool.call")
        .iter()
        .map(|event| &event["seq"])
        .collect();
    let parents: Vec<&Value> = of_kind("tool.result")
        .iter()
        .map(|event| &event["parent"])
        .collect();
    assert_eq!((calls.len(), &calls), (3, &parents));
}

#[test]
fn a_response_is_the_result_of_a_call_without_one() {
    let response = format!(
        r#"{{"id":"r",{TIME},"type":"user","content":[{{"functionResponse":{{"id":"c","name":"t","response":{{"error":"[Operation Cancelled] Reason: User denied execution."}}}}}}]}}"#
    );
    let events = events(&[&response, &response]);
    assert_eq!(events.len(), 2);
    assert_eq!(events[0]["decision"], "deny");
    assert_eq!(
        (&events[1]["k"], &events[1]["status"]),
        (&Value::from("tool.result"), &Value::from("denied"))
    );
}

#[test]
fn a_document_may_repeat_a_result_as_a_response() {
    // The two copies have different indentation.
    let response = |gap: &str, output: &str| {
        format!(
            r#"{{"functionResponse":{{"id":"c","name":"look","response":{{{gap}"output":"{output}"}}}}}}"#
        )
    };
    let result = response("\n        ", "a lamp");
    let call = format!(
        r#"{{"id":"c","name":"look","args":{{}},"result":[{result}],"status":"success",{TIME},"resultDisplay":""}}"#
    );
    let turn = format!(
        r#"{{"id":"m",{TIME},"type":"gemini","content":"","thoughts":[],"tokens":null,"toolCalls":[{call}]}}"#
    );
    let user = |id: &str, parts: &str| {
        format!(r#"{{"id":"{id}",{TIME},"type":"user","content":[{parts}]}}"#)
    };
    let again = user(
        "u",
        &format!(r#"{{"text":"look twice"}},{}"#, response("", "a lamp")),
    );
    let (alone, other) = (
        user("v", &response("", "a lamp")),
        user("w", &response("", "no lamp")),
    );
    let source = format!(
        r#"{},"messages":[{turn},{again},{alone},{other}]}}"#,
        HEADER.strip_suffix('}').unwrap()
    );
    let tape = convert_str(&Gemini, &source, &Options::default()).unwrap();
    let report = audit(source.as_bytes(), &tape, Gemini.describe()).unwrap();
    assert_eq!(
        (report.left_over.bytes, report.disagreements.len()),
        (0, 0),
        "{report:?}"
    );
    let events: Vec<Value> = tape
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let results: Vec<&Value> = events
        .iter()
        .filter(|event| event["k"] == "tool.result")
        .map(|event| &event["stdout"])
        .collect();
    assert_eq!(results, ["a lamp", "no lamp"]);
    assert_eq!(events.last().unwrap()["ledger"]["duplicate"], 1);
}

#[test]
fn a_text_typed_while_a_tool_runs_is_one_prompt_and_not_part_of_the_result() {
    let response =
        r#"{"functionResponse":{"id":"c","name":"look","response":{"output":"a lamp"}}}"#;
    let typed = r#"{"text":"and look twice"}"#;
    let call = format!(
        r#"{{"id":"c","name":"look","args":{{}},"result":[{typed},{response}],"status":"success",{TIME},"resultDisplay":""}}"#
    );
    let turn = format!(
        r#"{{"id":"m",{TIME},"type":"gemini","content":"","thoughts":[],"tokens":null,"toolCalls":[{call}]}}"#
    );
    let user = format!(r#"{{"id":"u",{TIME},"type":"user","content":[{typed},{response}]}}"#);
    let document = format!(
        r#"{},"messages":[{turn},{user}]}}"#,
        HEADER.strip_suffix('}').unwrap()
    );
    for source in [document, format!("{HEADER}\n{turn}\n{user}\n")] {
        let tape = convert_str(&Gemini, &source, &Options::default()).unwrap();
        assert!(
            audit(source.as_bytes(), &tape, Gemini.describe())
                .unwrap()
                .holds(),
            "{tape}"
        );
        let events: Vec<Value> = tape
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let prompts: Vec<&Value> = events
            .iter()
            .filter(|event| event["k"] == "msg.in")
            .map(|event| &event["text"])
            .collect();
        let results: Vec<&Value> = events
            .iter()
            .filter(|event| event["k"] == "tool.result")
            .map(|event| &event["stdout"])
            .collect();
        assert_eq!(
            (prompts, results),
            (
                vec![&Value::from("and look twice")],
                vec![&Value::from("a lamp")]
            )
        );
    }
}

#[test]
fn a_document_with_a_response_but_no_call_claims_results() {
    let response =
        r#"{"functionResponse":{"id":"c","name":"look","response":{"output":"a lamp"}}}"#;
    let user = format!(r#"{{"id":"u",{TIME},"type":"user","content":[{response}]}}"#);
    let source = format!(
        r#"{},"messages":[{user}]}}"#,
        HEADER.strip_suffix('}').unwrap()
    );
    let tape = convert_str(&Gemini, &source, &Options::default()).unwrap();
    let start: Value = serde_json::from_str(tape.lines().next().unwrap()).unwrap();
    assert_eq!(
        (
            &start["harness"]["schema"],
            &start["coverage"]["tool.result"]
        ),
        (&"document-calls".into(), &"partial".into())
    );
}

#[test]
fn a_masked_output_has_no_read_lines_and_the_displayed_result_is_emitted() {
    let cut = r#"<tool_output_masked>\n{\n  \"output\": \"one\\ntw\n... [TRUNCATED] ...\nree\"\n}\n\nOutput too large. Full output available at: /h/tool-outputs/s/c.txt\n</tool_output_masked>"#;
    let response = |output: &str| {
        format!(
            r#"{{"functionResponse":{{"id":"c","name":"read_file","response":{{"output":"{output}"}}}}}}"#
        )
    };
    let call = format!(
        r#"{{"id":"c","name":"read_file","args":{{"file_path":"a"}},"result":[{}],"status":"success",{TIME},"resultDisplay":""}}"#,
        response(cut)
    );
    let turn = format!(
        r#"{{"id":"m",{TIME},"type":"gemini","content":"","thoughts":[],"tokens":null,"toolCalls":[{call}]}}"#
    );
    let go_on = |id: &str, shown: &str| {
        format!(
            r#"{{"id":"{id}",{TIME},"type":"user","content":[{{"text":"System: Please continue."}}],"displayContent":[{shown}]}}"#
        )
    };
    let (whole, same) = (
        go_on("u", &response(r"one\ntwo\nthree")),
        go_on("v", &response(cut)),
    );
    let document = format!(
        r#"{},"messages":[{turn},{whole},{same}]}}"#,
        HEADER.strip_suffix('}').unwrap()
    );
    for source in [document, format!("{HEADER}\n{turn}\n{whole}\n{same}\n")] {
        let tape = convert_str(&Gemini, &source, &Options::default()).unwrap();
        assert!(
            audit(source.as_bytes(), &tape, Gemini.describe())
                .unwrap()
                .holds(),
            "{tape}"
        );
        let events: Vec<Value> = tape
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let of = |kind: &str| {
            events
                .iter()
                .filter(|event| event["k"] == kind)
                .collect::<Vec<_>>()
        };
        let [result] = of("tool.result")[..] else {
            panic!("one result: {tape}")
        };
        assert_eq!(
            (&result["truncated"], &result["artifact"]["path"]),
            (&true.into(), &"/h/tool-outputs/s/c.txt".into())
        );
        assert!(of("code.read")[0]["hash"].is_null() && of("code.read")[0]["range"].is_null());
        let displayed: Vec<&Value> = events
            .iter()
            .filter(|event| event["name"] == "tool_result")
            .map(|event| &event["text"])
            .collect();
        assert_eq!(displayed, ["one\ntwo\nthree"]);
    }
}

#[test]
fn an_error_says_who_did_not_allow_a_call() {
    let status = |error: &str| {
        let events = events(&[&format!(
            r#"{{"id":"r",{TIME},"type":"user","content":[{{"functionResponse":{{"id":"c","name":"t","response":{{"error":"{error}"}}}}}}]}}"#
        )]);
        let result = events.iter().find(|event| event["k"] == "tool.result");
        result.expect("a result")["status"]
            .as_str()
            .map(str::to_owned)
    };
    for denied in [
        r#"Tool \"replace\" was canceled by the user."#,
        "Tool execution denied by policy. No network.",
        r#"Tool execution for \"Shell\" denied by policy."#,
        "Tool execution blocked: no rm",
    ] {
        assert_eq!(status(denied).as_deref(), Some("denied"), "{denied}");
    }
    for failed in [
        "Tool result blocked: hidden",
        "it was canceled by the user.",
        "rm: denied by policy.",
    ] {
        assert_eq!(status(failed).as_deref(), Some("error"), "{failed}");
    }
}

/// The events of a call of `read_file` with this output, and what the terminal shows of it.
fn read(output: &str, shown: &str) -> Vec<Value> {
    let call = format!(
        r#"{{"id":"c","name":"read_file","args":{{"file_path":"/p/a"}},"result":[{{"functionResponse":{{"id":"c","name":"read_file","response":{{"output":"{output}"}}}}}}],"status":"success","resultDisplay":"{shown}",{TIME}}}"#
    );
    events(&[&format!(
        r#"{{"id":"m",{TIME},"type":"gemini","content":"","toolCalls":[{call}]}}"#
    )])
}

/// Shortened from a recording with 0.61.0.
#[test]
fn instructions_behind_a_file_are_no_part_of_it() {
    let begin = r"\n\n--- Newly Discovered Project Context ---\n";
    let end = r"\n--- End Project Context ---";
    let found = read(&format!(r"a = 1\n{begin}no tabs{end}"), "");
    let hash = |events: &[Value]| {
        let of_read = events.iter().find(|event| event["k"] == "code.read");
        of_read.expect("a read")["hash"].clone()
    };
    assert_eq!(hash(&found), hash(&read(r"a = 1\n", "")));
    let context = found.iter().find(|event| event["label"] == "context");
    let context = context.expect("a context");
    assert_eq!(
        (&context["name"], &context["text"]),
        (&"instructions".into(), &"no tabs".into())
    );
    // The file may have such lines.
    for unsure in [
        format!(r"a = 1\n{begin}no tabs"),
        format!(r"a = 1\n{begin}no tabs{begin}nor these{end}"),
    ] {
        assert_eq!(hash(&read(&unsure, "")), Value::Null, "{unsure}");
    }
}

/// Shortened from a recording with 0.61.0.
#[test]
fn a_file_with_a_cut_line_has_lines_and_no_hash() {
    let output = r"\nIMPORTANT: The file content has been truncated.\nStatus: Showing lines 1-3 of 3 total lines.\nAction: ...\n\n--- FILE CONTENT (truncated) ---\nx... [truncated]\nb\n";
    let events = read(
        output,
        "Read all 3 lines from a (some lines were shortened)",
    );
    let find = |kind: &str| {
        events
            .iter()
            .find(|event| event["k"] == kind)
            .expect("an event")
    };
    let (read, result) = (find("code.read"), find("tool.result"));
    assert_eq!(
        (&read["range"], &read["total_lines"], &read["hash"]),
        (&serde_json::json!([1, 2]), &2.into(), &Value::Null)
    );
    assert_eq!(result["truncated"], true);
}

/// Shortened from a recording with 0.61.0.
#[test]
fn a_sub_agent_that_failed_is_an_error() {
    let status = |state: &str| {
        let shown = format!(
            r#"{{"isSubagentProgress":true,"agentName":"a","recentActivity":[],"state":"{state}"}}"#
        );
        let call = format!(
            r#"{{"id":"c","name":"invoke_agent","args":{{}},"result":[{{"functionResponse":{{"id":"c","name":"invoke_agent","response":{{"output":"x"}}}}}}],"status":"success","resultDisplay":{shown},{TIME}}}"#
        );
        let events = events(&[&format!(
            r#"{{"id":"m",{TIME},"type":"gemini","content":"","toolCalls":[{call}]}}"#
        )]);
        let result = events.iter().find(|event| event["k"] == "tool.result");
        result.expect("a result")["status"].clone()
    };
    assert_eq!([status("error"), status("completed")], ["error", "ok"]);
}

#[test]
fn a_command_that_a_check_of_the_harness_stopped_is_denied() {
    let command = |output: &str, shown: &str| {
        let call = format!(
            r#"{{"id":"c1","name":"run_shell_command","args":{{"command":"ls"}},"result":[{{"functionResponse":{{"id":"c1","name":"run_shell_command","response":{{"output":"{output}"}}}}}}],"status":"success","resultDisplay":"{shown}",{TIME}}}"#
        );
        let turn = format!(
            r#"{{"id":"m1",{TIME},"type":"gemini","content":"","thoughts":[],"tokens":null,"toolCalls":[{call}]}}"#
        );
        let found = events(&[&user("a", "go on"), &turn]);
        let of_kind = |kind: &str| found.iter().find(|event| event["k"] == kind).cloned();
        let permission = found.iter().any(|event| event["decision"] == "deny");
        (of_kind("tool.result").unwrap(), permission)
    };
    let words = "Command injection detected: command substitution syntax found.";
    let shown = "Blocked: command substitution detected in shell command.";
    let (result, is_denied) = command(words, shown);
    assert_eq!(
        (&result["status"], is_denied),
        (&Value::from("denied"), true)
    );
    assert_eq!(
        (&result["stderr"], result.get("stdout")),
        (&Value::from(words), None)
    );
    // The command printed it.
    let (result, is_denied) = command(&format!("Output: {words}"), words);
    assert_eq!((&result["status"], is_denied), (&Value::from("ok"), false));
}
